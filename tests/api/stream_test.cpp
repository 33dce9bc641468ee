// SPDX-License-Identifier: Apache-2.0
// What serving needs beside operators: descriptions of streams, events and captures, pinned memory and copies that do
// not wait, allocation in stream order, peers, graphs that are updated, and captures that misuse does not end.
#include <thread>

#include "outcome.h"

namespace {

spark_stream make_stream(const spark_stream_desc* desc = nullptr) {
    spark_stream made = 0;
    ok(spark_stream_create(g_ctx, desc, &made, &g_err));
    return made;
}

spark_event make_event(uint32_t flags = 0) {
    const spark_event_desc desc{sizeof desc, flags};
    spark_event made = 0;
    ok(spark_event_create(g_ctx, &desc, &made, &g_err));
    return made;
}

uint8_t byte_at(spark_devptr data) {
    uint8_t found = 0;
    ok(spark_mem_copy_to_host(g_ctx, &found, data, 1, 0, &g_err));
    return found;
}

// struct_size, flags and reserved words of a description, through whichever function reads it.
template <class Desc, class Call> void check_desc(Desc desc, Call&& call) {
    desc.struct_size = 0;
    refused(call(&desc), SPARK_ERR_INVALID_STRUCT_SIZE, "struct_size");
    desc.struct_size = sizeof desc - 1;
    refused(call(&desc), SPARK_ERR_INVALID_STRUCT_SIZE, "struct_size");
    struct {
        Desc known;
        uint32_t newer[2];
    } longer{desc, {0, 7}};
    longer.known.struct_size = sizeof longer;
    refused(call(&longer.known), SPARK_ERR_INVALID_STRUCT_SIZE, "desc");
    desc.struct_size = sizeof desc;
    desc.flags = 0x40000000;
    refused(call(&desc), SPARK_ERR_INVALID_RESERVED, "flags");
}

void descriptions(void**) {
    uint64_t out = 77;
    check_desc(spark_stream_desc{}, [&](auto* d) { return spark_stream_create(g_ctx, d, &out, &g_err); });
    check_desc(spark_event_desc{}, [&](auto* d) { return spark_event_create(g_ctx, d, &out, &g_err); });
    check_desc(spark_graph_desc{}, [&](auto* d) { return spark_graph_begin(g_ctx, 2, d, &g_err); });
    spark_stream_desc desc{sizeof desc, 0, 0, 1};
    refused(spark_stream_create(g_ctx, &desc, &out, &g_err), SPARK_ERR_INVALID_RESERVED, "reserved");
    desc = {sizeof desc, 0, 1, 0};
    refused(spark_stream_create(g_ctx, &desc, &out, &g_err), SPARK_ERR_INVALID_VALUE, "priority is 1");
    desc = {sizeof desc, 0, -1000, 0};
    refused(spark_stream_create(g_ctx, &desc, &out, &g_err), SPARK_ERR_INVALID_VALUE, "to 0 wanted");
    spark_graph_desc graph{sizeof graph, 0, 3, 0};
    refused(spark_graph_begin(g_ctx, 2, &graph, &g_err), SPARK_ERR_INVALID_VALUE, "mode is 3");
    graph = {sizeof graph, 0, 0, 1};
    refused(spark_graph_begin(g_ctx, 2, &graph, &g_err), SPARK_ERR_INVALID_RESERVED, "reserved");
    assert_int_equal(out, 77);
    desc = {sizeof desc, SPARK_STREAM_BLOCKING, -1, 0};
    ok(spark_stream_destroy(g_ctx, make_stream(&desc), &g_err));
}

void untimed_events(void**) {
    const spark_stream stream = make_stream();
    const spark_event timed = make_event(SPARK_EVENT_BLOCKING_SYNC), untimed = make_event(SPARK_EVENT_NO_TIMING);
    float took = -1;
    ok(spark_event_record(g_ctx, timed, stream, &g_err));
    ok(spark_event_record(g_ctx, untimed, stream, &g_err));
    ok(spark_event_synchronize(g_ctx, untimed, &g_err));
    ok(spark_event_elapsed(g_ctx, timed, timed, &took, &g_err));
    took = -1;
    refused(spark_event_elapsed(g_ctx, timed, untimed, &took, &g_err), SPARK_ERR_INVALID_VALUE, "NO_TIMING");
    assert_true(took == -1);
    ok(spark_event_destroy(g_ctx, timed, &g_err));
    ok(spark_event_destroy(g_ctx, untimed, &g_err));
    ok(spark_stream_destroy(g_ctx, stream, &g_err));
}

void pinned_and_ordered_memory(void**) {
    constexpr uint64_t BYTES = 4096;
    const spark_stream stream = make_stream();
    void *there = nullptr, *back = nullptr;
    spark_devptr data = 0;
    ok(spark_host_alloc(g_ctx, BYTES, &there, &g_err));
    ok(spark_host_alloc(g_ctx, BYTES, &back, &g_err));
    memset(there, 5, BYTES);
    ok(spark_mem_alloc_async(g_ctx, BYTES, stream, &data, &g_err));
    ok(spark_mem_copy_to_device_async(g_ctx, data, there, BYTES, stream, &g_err));
    ok(spark_mem_copy_to_host_async(g_ctx, back, data, BYTES, stream, &g_err));
    ok(spark_mem_free_async(g_ctx, data, stream, &g_err));
    ok(spark_stream_synchronize(g_ctx, stream, &g_err));
    assert_memory_equal(there, back, BYTES);
    ok(spark_host_free(g_ctx, there, &g_err));
    ok(spark_host_free(g_ctx, back, &g_err));
    ok(spark_host_free(g_ctx, nullptr, &g_err));
    ok(spark_mem_free_async(g_ctx, 0, stream, &g_err));
    void* none = &data;
    ok(spark_host_alloc(g_ctx, 0, &none, &g_err));
    ok(spark_mem_alloc_async(g_ctx, 0, stream, &data, &g_err));
    assert_null(none);
    assert_int_equal(data, 0);
    refused(spark_host_alloc(g_ctx, 1, nullptr, &g_err), SPARK_ERR_INVALID_NULL, "out");
    refused(spark_mem_alloc_async(g_ctx, 1, 0, nullptr, &g_err), SPARK_ERR_INVALID_NULL, "out");
    refused(spark_mem_copy_to_device_async(g_ctx, 0, nullptr, 1, 0, &g_err), SPARK_ERR_INVALID_NULL, "src");
    refused(spark_mem_copy_to_host_async(g_ctx, nullptr, 0, 1, 0, &g_err), SPARK_ERR_INVALID_NULL, "dst");
    ok(spark_stream_destroy(g_ctx, stream, &g_err));
}

void full_devices(void**) {
    constexpr uint64_t MUCH = uint64_t{1} << 60;
    spark_devptr data = 77;
    void* host = &data;
    refused(spark_mem_alloc(g_ctx, MUCH, &data, &g_err), SPARK_ERR_DEVICE_MEMORY, "OUT_OF_MEMORY");
    refused(spark_mem_alloc_async(g_ctx, MUCH, 0, &data, &g_err), SPARK_ERR_DEVICE_MEMORY, "OUT_OF_MEMORY");
    refused(spark_host_alloc(g_ctx, MUCH, &host, &g_err), SPARK_ERR_HOST_MEMORY, "pin");
    assert_int_equal(g_err.driver_code, 2);
    assert_int_equal(data, 77);
    assert_ptr_equal(host, &data);
}

void peers(void**) {
    spark_context* other = api::make_context();
    spark_context* offline = api::make_context(120);
    spark_devptr data = 0;
    uint32_t can = 7;
    ok(spark_peer_can_access(g_ctx, other, &can, &g_err));
    assert_int_equal(can, 0); // the same device
    refused(spark_peer_enable(g_ctx, other, &g_err), SPARK_ERR_INVALID_DEVICE, "device 0");
    refused(spark_peer_enable(g_ctx, offline, &g_err), SPARK_ERR_NO_DEVICE, "offline");
    refused(spark_peer_enable(g_ctx, nullptr, &g_err), SPARK_ERR_INVALID_HANDLE, "ctx");
    refused(spark_peer_can_access(g_ctx, other, nullptr, &g_err), SPARK_ERR_INVALID_NULL, "can");
    refused(spark_mem_copy_peer(nullptr, 0, g_ctx, 0, 1, 0, &g_err), SPARK_ERR_INVALID_HANDLE, "ctx");
    ok(spark_mem_alloc(g_ctx, 512, &data, &g_err));
    ok(spark_mem_set(g_ctx, data, 3, 256, 0, &g_err));
    ok(spark_mem_copy_peer(other, data + 256, g_ctx, data, 256, 0, &g_err));
    assert_int_equal(byte_at(data + 511), 3);
    ok(spark_mem_free(g_ctx, data, &g_err));
    spark_context_destroy(other);
    spark_context_destroy(offline);
}

// A device address of 0 is named, and does not reach the driver, which would end a capture by it.
void missing_addresses(void**) {
    const spark_status none = SPARK_ERR_INVALID_NULL;
    const char *no_dst = "dst is 0; a device address", *no_src = "src is 0; a device address";
    const spark_stream stream = make_stream();
    spark_devptr data = 0;
    spark_graph graph = 0;
    uint8_t byte = 0;
    ok(spark_mem_alloc(g_ctx, 64, &data, &g_err));
    ok(spark_graph_begin(g_ctx, stream, nullptr, &g_err));
    refused(spark_mem_copy_to_device(g_ctx, 0, &byte, 1, stream, &g_err), none, no_dst);
    refused(spark_mem_copy_to_host_async(g_ctx, &byte, 0, 1, stream, &g_err), none, no_src);
    refused(spark_mem_copy(g_ctx, 0, data, 1, stream, &g_err), none, no_dst);
    refused(spark_mem_copy(g_ctx, data, 0, 1, stream, &g_err), none, no_src);
    refused(spark_mem_copy_peer(g_ctx, 0, g_ctx, data, 1, stream, &g_err), none, no_dst);
    refused(spark_mem_copy_peer(g_ctx, data, g_ctx, 0, 1, stream, &g_err), none, no_src);
    refused(spark_mem_set(g_ctx, 0, 1, 1, stream, &g_err), none, no_dst);
    ok(spark_mem_set(g_ctx, 0, 1, 0, stream, &g_err));
    ok(spark_graph_end(g_ctx, stream, &graph, &g_err));
    ok(spark_graph_destroy(g_ctx, graph, &g_err));
    ok(spark_mem_free(g_ctx, data, &g_err));
    ok(spark_stream_destroy(g_ctx, stream, &g_err));
}

// Everything that cannot be recorded, tried on a stream that captures and on another one.
void misuse(spark_stream capturing, spark_stream other, spark_event event) {
    const spark_status wanted = SPARK_ERR_INVALID_CAPTURE;
    const char* advice = "the capture goes on";
    uint8_t byte = 0;
    uint32_t done = 0;
    spark_devptr data = 0;
    void* host = nullptr;
    refused(spark_mem_alloc(g_ctx, 64, &data, &g_err), wanted, advice);
    refused(spark_mem_free(g_ctx, 256, &g_err), wanted, advice);
    refused(spark_host_alloc(g_ctx, 64, &host, &g_err), wanted, advice);
    refused(spark_host_free(g_ctx, &byte, &g_err), wanted, advice);
    refused(spark_event_synchronize(g_ctx, event, &g_err), wanted, advice);
    refused(spark_event_query(g_ctx, event, &done, &g_err), wanted, advice);
    for (const spark_stream stream : {capturing, other}) {
        refused(spark_stream_synchronize(g_ctx, stream, &g_err), wanted, advice);
        refused(spark_stream_query(g_ctx, stream, &done, &g_err), wanted, advice);
        refused(spark_mem_copy_to_host(g_ctx, &byte, 256, 1, stream, &g_err), wanted, advice);
        refused(spark_mem_copy_to_device(g_ctx, 256, &byte, 1, stream, &g_err), wanted, advice);
        refused(spark_mem_alloc_async(g_ctx, 64, stream, &data, &g_err), wanted, advice);
        refused(spark_mem_free_async(g_ctx, 256, stream, &g_err), wanted, advice);
    }
    refused(spark_graph_begin(g_ctx, capturing, nullptr, &g_err), wanted, "already");
}

void captures_survive_misuse(void**) {
    const spark_stream stream = make_stream(), other = make_stream();
    const spark_event event = make_event(), fork = make_event(), join = make_event();
    spark_devptr data = 0;
    spark_graph graph = 0;
    ok(spark_mem_alloc(g_ctx, 512, &data, &g_err));
    ok(spark_mem_set(g_ctx, data, 0, 512, stream, &g_err));
    ok(spark_stream_synchronize(g_ctx, stream, &g_err));
    refused(spark_graph_end(g_ctx, stream, &graph, &g_err), SPARK_ERR_INVALID_CAPTURE, "not capturing");
    refused(spark_graph_end(g_ctx, 0, &graph, &g_err), SPARK_ERR_INVALID_CAPTURE, "not capturing");
    refused(spark_graph_begin(g_ctx, 0, nullptr, &g_err), SPARK_ERR_INVALID_CAPTURE, "legacy");
    ok(spark_graph_begin(g_ctx, stream, nullptr, &g_err));
    misuse(stream, other, event);
    ok(spark_event_record(g_ctx, fork, stream, &g_err));
    ok(spark_stream_wait_event(g_ctx, other, fork, &g_err));
    ok(spark_mem_set(g_ctx, data, 9, 256, other, &g_err));
    refused(spark_graph_end(g_ctx, other, &graph, &g_err), SPARK_ERR_INVALID_CAPTURE, "joined");
    std::thread([&] {
        spark_error err{};
        err.struct_size = sizeof err;
        spark_devptr own = 0;
        if (spark_graph_end(g_ctx, stream, &graph, &err) != SPARK_ERR_INVALID_CAPTURE) fail_msg("another thread");
        if (spark_mem_alloc(g_ctx, 64, &own, &err) != SPARK_OK) fail_msg("another thread: %s", err.message);
        spark_mem_free(g_ctx, own, &err);
    }).join();
    ok(spark_event_record(g_ctx, join, other, &g_err));
    ok(spark_stream_wait_event(g_ctx, stream, join, &g_err));
    ok(spark_graph_end(g_ctx, stream, &graph, &g_err));
    ok(spark_graph_launch(g_ctx, graph, stream, &g_err));
    ok(spark_stream_synchronize(g_ctx, stream, &g_err));
    assert_int_equal(byte_at(data + 255), 9);
    assert_int_equal(byte_at(data + 256), 0);
    ok(spark_graph_destroy(g_ctx, graph, &g_err));
    for (const spark_event old : {event, fork, join}) ok(spark_event_destroy(g_ctx, old, &g_err));
    ok(spark_mem_free(g_ctx, data, &g_err));
    ok(spark_stream_destroy(g_ctx, other, &g_err));
    ok(spark_stream_destroy(g_ctx, stream, &g_err));
}

// What is asked of an event that was recorded in a capture, from the outside.
void ask_of_captured(spark_event event, spark_stream other, const char* advice) {
    const spark_status wanted = SPARK_ERR_INVALID_CAPTURE;
    uint32_t done = 0;
    float took = 0;
    refused(spark_event_synchronize(g_ctx, event, &g_err), wanted, advice);
    refused(spark_event_query(g_ctx, event, &done, &g_err), wanted, advice);
    refused(spark_event_elapsed(g_ctx, event, event, &took, &g_err), wanted, advice);
    if (other != 0) refused(spark_stream_wait_event(g_ctx, other, event, &g_err), wanted, advice);
}

void events_of_captures(void**) {
    const spark_stream stream = make_stream(), other = make_stream(), second = make_stream();
    const spark_event outside = make_event(), inside = make_event(), elsewhere = make_event(), never = make_event();
    spark_devptr data = 0;
    spark_graph graph = 0, unwanted = 0;
    const spark_graph_desc relaxed{sizeof relaxed, 0, SPARK_CAPTURE_RELAXED, 0};
    ok(spark_mem_alloc(g_ctx, 64, &data, &g_err));
    ok(spark_event_record(g_ctx, outside, other, &g_err));
    ok(spark_graph_begin(g_ctx, stream, nullptr, &g_err));
    ok(spark_mem_set(g_ctx, data, 4, 64, stream, &g_err));
    ok(spark_event_record(g_ctx, inside, stream, &g_err));
    refused(spark_stream_wait_event(g_ctx, stream, outside, &g_err), SPARK_ERR_INVALID_CAPTURE,
            "outside of the capture");
    ok(spark_stream_wait_event(g_ctx, stream, never, &g_err));
    refused(spark_stream_wait_event(g_ctx, 0, inside, &g_err), SPARK_ERR_INVALID_CAPTURE, "which cannot join");
    std::thread([&] { ask_of_captured(inside, 0, "the capture goes on"); }).join();
    ok(spark_graph_begin(g_ctx, second, &relaxed, &g_err));
    ok(spark_event_record(g_ctx, elsewhere, second, &g_err));
    refused(spark_stream_wait_event(g_ctx, stream, elsewhere, &g_err), SPARK_ERR_INVALID_CAPTURE, "in another capture");
    refused(spark_stream_wait_event(g_ctx, second, inside, &g_err), SPARK_ERR_INVALID_CAPTURE, "in another capture");
    ok(spark_graph_end(g_ctx, second, &unwanted, &g_err));
    ok(spark_graph_end(g_ctx, stream, &graph, &g_err));
    ok(spark_graph_launch(g_ctx, graph, stream, &g_err));
    ok(spark_stream_synchronize(g_ctx, stream, &g_err));
    assert_int_equal(byte_at(data), 4);
    ask_of_captured(inside, other, "record it again");
    ok(spark_event_record(g_ctx, inside, other, &g_err));
    ok(spark_event_synchronize(g_ctx, inside, &g_err));
    for (const spark_event old : {outside, inside, elsewhere, never}) ok(spark_event_destroy(g_ctx, old, &g_err));
    for (const spark_graph old : {graph, unwanted}) ok(spark_graph_destroy(g_ctx, old, &g_err));
    for (const spark_stream old : {stream, other, second}) ok(spark_stream_destroy(g_ctx, old, &g_err));
    ok(spark_mem_free(g_ctx, data, &g_err));
}

// A card makes the one graph a part of the other; the emulator cannot, and the capture goes on.
void graphs_in_captures(void**) {
    const spark_stream stream = make_stream();
    spark_device_info info{};
    info.struct_size = sizeof info;
    spark_devptr data = 0;
    spark_graph inner = 0, outer = 0;
    ok(spark_context_device(g_ctx, &info, &g_err));
    ok(spark_mem_alloc(g_ctx, 64, &data, &g_err));
    ok(spark_graph_begin(g_ctx, stream, nullptr, &g_err));
    ok(spark_mem_set(g_ctx, data, 5, 32, stream, &g_err));
    ok(spark_graph_end(g_ctx, stream, &inner, &g_err));
    ok(spark_graph_begin(g_ctx, stream, nullptr, &g_err));
    if (info.emulated != 0)
        refused(spark_graph_launch(g_ctx, inner, stream, &g_err), SPARK_ERR_INVALID_CAPTURE, "the capture goes on");
    ok(spark_mem_set(g_ctx, data + 32, 6, 32, stream, &g_err));
    ok(spark_graph_end(g_ctx, stream, &outer, &g_err));
    ok(spark_graph_launch(g_ctx, inner, stream, &g_err));
    ok(spark_graph_launch(g_ctx, outer, stream, &g_err));
    ok(spark_stream_synchronize(g_ctx, stream, &g_err));
    assert_int_equal(byte_at(data), 5);
    assert_int_equal(byte_at(data + 32), 6);
    for (const spark_graph old : {inner, outer}) ok(spark_graph_destroy(g_ctx, old, &g_err));
    ok(spark_mem_free(g_ctx, data, &g_err));
    ok(spark_stream_destroy(g_ctx, stream, &g_err));
}

void capture_modes(void**) {
    const spark_stream stream = make_stream();
    spark_devptr data = 0;
    spark_graph graph = 0;
    spark_graph_desc desc{sizeof desc, 0, SPARK_CAPTURE_RELAXED, 0};
    ok(spark_graph_begin(g_ctx, stream, &desc, &g_err));
    ok(spark_mem_alloc(g_ctx, 64, &data, &g_err)); // allowed to every thread
    std::thread([&] { ok(spark_graph_end(g_ctx, stream, &graph, nullptr)); }).join();
    ok(spark_graph_destroy(g_ctx, graph, &g_err));
    ok(spark_mem_free(g_ctx, data, &g_err));
    desc.mode = SPARK_CAPTURE_GLOBAL;
    ok(spark_graph_begin(g_ctx, stream, &desc, &g_err));
    spark_status got = SPARK_OK;
    std::thread([&] { got = spark_mem_alloc(g_ctx, 64, &data, nullptr); }).join();
    assert_int_equal(got, SPARK_ERR_INVALID_CAPTURE);
    ok(spark_graph_end(g_ctx, stream, &graph, &g_err));
    ok(spark_graph_destroy(g_ctx, graph, &g_err));
    ok(spark_graph_begin(g_ctx, stream, nullptr, &g_err)); // ends with its stream
    ok(spark_stream_destroy(g_ctx, stream, &g_err));
    ok(spark_mem_alloc(g_ctx, 64, &data, &g_err));
    ok(spark_mem_free(g_ctx, data, &g_err));
}

void default_stream_and_blocking_captures(void**) {
    const spark_stream_desc desc{sizeof desc, SPARK_STREAM_BLOCKING, 0, 0};
    const spark_stream stream = make_stream(&desc);
    spark_devptr data = 0;
    spark_graph graph = 0;
    ok(spark_mem_alloc(g_ctx, 64, &data, &g_err));
    ok(spark_graph_begin(g_ctx, stream, nullptr, &g_err));
    refused(spark_mem_set(g_ctx, data, 1, 64, 0, &g_err), SPARK_ERR_INVALID_CAPTURE, "SPARK_STREAM_BLOCKING");
    refused(spark_stream_synchronize(g_ctx, 0, &g_err), SPARK_ERR_INVALID_CAPTURE, "default stream");
    ok(spark_mem_set(g_ctx, data, 2, 64, stream, &g_err));
    ok(spark_graph_end(g_ctx, stream, &graph, &g_err));
    ok(spark_graph_destroy(g_ctx, graph, &g_err));
    ok(spark_mem_free(g_ctx, data, &g_err));
    ok(spark_stream_destroy(g_ctx, stream, &g_err));
}

void updated_graphs(void**) {
    const spark_stream stream = make_stream();
    spark_devptr data = 0;
    spark_graph graph = 0;
    ok(spark_mem_alloc(g_ctx, 512, &data, &g_err));
    ok(spark_mem_set(g_ctx, data, 0, 512, stream, &g_err));
    const auto record = [&](uint32_t value, uint64_t at, bool twice) {
        ok(spark_graph_begin(g_ctx, stream, nullptr, &g_err));
        ok(spark_mem_set(g_ctx, data + at, value, 256, stream, &g_err));
        if (twice) ok(spark_mem_set(g_ctx, data + at, value, 256, stream, &g_err));
    };
    const auto run = [&] {
        ok(spark_graph_launch(g_ctx, graph, stream, &g_err));
        ok(spark_stream_synchronize(g_ctx, stream, &g_err));
    };
    record(1, 0, false);
    ok(spark_graph_end(g_ctx, stream, &graph, &g_err));
    run();
    refused(spark_graph_end_update(g_ctx, stream, graph, &g_err), SPARK_ERR_INVALID_CAPTURE, "not capturing");
    record(2, 256, false);
    refused(spark_graph_end_update(g_ctx, stream, 0, &g_err), SPARK_ERR_INVALID_NULL, "graph");
    ok(spark_graph_end_update(g_ctx, stream, graph, &g_err));
    run();
    assert_int_equal(byte_at(data), 1);
    assert_int_equal(byte_at(data + 256), 2);
    record(3, 256, true);
    refused(spark_graph_end_update(g_ctx, stream, graph, &g_err), SPARK_ERR_INVALID_CAPTURE, "more or fewer");
    ok(spark_graph_begin(g_ctx, stream, nullptr, &g_err));
    ok(spark_mem_copy(g_ctx, data + 256, data, 256, stream, &g_err));
    refused(spark_graph_end_update(g_ctx, stream, graph, &g_err), SPARK_ERR_INVALID_CAPTURE, "node 0");
    ok(spark_mem_set(g_ctx, data, 0, 512, stream, &g_err));
    run(); // as it was
    assert_int_equal(byte_at(data + 256), 2);
    ok(spark_graph_destroy(g_ctx, graph, &g_err));
    ok(spark_mem_free(g_ctx, data, &g_err));
    ok(spark_stream_destroy(g_ctx, stream, &g_err));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(descriptions),
        cmocka_unit_test(untimed_events),
        cmocka_unit_test(pinned_and_ordered_memory),
        cmocka_unit_test(full_devices),
        cmocka_unit_test(peers),
        cmocka_unit_test(missing_addresses),
        cmocka_unit_test(captures_survive_misuse),
        cmocka_unit_test(events_of_captures),
        cmocka_unit_test(graphs_in_captures),
        cmocka_unit_test(capture_modes),
        cmocka_unit_test(default_stream_and_blocking_captures),
        cmocka_unit_test(updated_graphs),
    };
    return cmocka_run_group_tests_name("api.stream", tests, set_up, tear_down);
}
