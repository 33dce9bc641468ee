// SPDX-License-Identifier: Apache-2.0
// What serving needs beside operators, through spark.hpp: priorities, events without a time, pinned memory and copies
// that do not wait, allocation in stream order, modes of capture, updates of a graph, peers.
#include "cxx_expect.h"

#include <algorithm>
#include <numeric>
#include <thread>

namespace {

using spark::buffer;

constexpr std::size_t COUNT = 1024;

struct Fixture {
    spark::context ctx;
    spark::stream stream{ctx, -1}; // more urgent than others
    buffer<float> x{buffer<float>::zeros(stream, COUNT)};

    float at(std::size_t index) const { return x.to_vector(stream)[index]; }
};

void priorities_and_events_without_a_time(void**) {
    Fixture f;
    expect(SPARK_ERR_INVALID_VALUE, [&] { spark::stream(f.ctx, 1); });
    expect(SPARK_ERR_INVALID_VALUE, [&] { spark::stream(f.ctx, -1000); });
    const spark::stream blocking(f.ctx, 0, SPARK_STREAM_BLOCKING);
    spark::event timed(f.ctx, SPARK_EVENT_BLOCKING_SYNC), untimed(f.ctx, SPARK_EVENT_NO_TIMING);
    timed.record(f.stream);
    untimed.record(f.stream);
    blocking.wait(untimed);
    blocking.synchronize();
    assert_true(untimed.is_done());
    assert_true(timed.since(timed) >= 0);
    expect(SPARK_ERR_INVALID_VALUE, [&] { untimed.since(timed); });
}

void a_tuning_file_of_a_context(void**) {
    const auto missing = thrown([] { spark::context(0, std::string_view("/no/such/file?", 13)); });
    assert_true(missing && missing->status() == SPARK_ERR_INVALID_VALUE);
    assert_true(std::strstr(missing->what(), "desc.tuning_path: No such file or directory: /no/such/file"));
    expect(SPARK_ERR_INVALID_VALUE, [] { spark::context::offline(120, "/dev/null"); });
    spark::context::offline(120, "");
}

void pinned_memory_there_and_back(void**) {
    Fixture f;
    spark::pinned<float> there(f.ctx, COUNT), back(f.ctx, COUNT);
    std::iota(there.begin(), there.end(), 1.0f);
    f.x.write_async(f.stream, there);
    f.x.read_async(f.stream, back);
    f.stream.synchronize();
    assert_true(std::equal(there.begin(), there.end(), back.begin()));
    f.x.write_async(f.stream, there.data() + 7, 1, COUNT - 1);
    f.x.read_async(f.stream, back.data(), 1, COUNT - 1);
    f.stream.synchronize();
    assert_float_equal(back.data()[0], 8, 0);

    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.x.write_async(f.stream, there, 1); });
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.x.read_async(f.stream, back, 1); });
    expect(SPARK_ERR_INVALID_VALUE, [&] { spark::pinned<float>(f.ctx, std::numeric_limits<std::size_t>::max()); });
    expect(SPARK_ERR_HOST_MEMORY, [&] { spark::pinned<float>(f.ctx, std::size_t{1} << 58); });
    const spark::pinned<float> taken = std::move(there);
    assert_true(there.size() == 0 && there.data() == nullptr && taken.data()[7] == 8);
    assert_true(spark::pinned<float>(f.ctx, 0).begin() == nullptr);
}

void a_recorded_copy_reads_pinned_memory_at_every_launch(void**) {
    Fixture f;
    spark::pinned<float> step(f.ctx, 1);
    const auto graph = f.stream.capture([&] { f.x.write_async(f.stream, step); });
    for (const float value : {3.0f, 4.0f}) {
        step.data()[0] = value;
        graph.launch(f.stream);
        assert_float_equal(f.at(0), value, 0);
    }
}

void allocation_in_stream_order(void**) {
    Fixture f;
    auto scratch = buffer<float>::ordered(f.stream, COUNT);
    scratch.fill_bytes(f.stream, 0);
    scratch.copy_from(f.stream, f.x);
    scratch.free_async(f.stream);
    assert_true(scratch.size() == 0 && scratch.get() == 0);
    scratch.free_async(f.stream);            // nothing
    f.x.free_async(f.stream);                // of whatever origin
    buffer<float>::ordered(f.stream, COUNT); // ends as others do
    expect(SPARK_ERR_DEVICE_MEMORY, [&] { buffer<std::byte>::ordered(f.stream, std::size_t{1} << 60); });
    f.x = buffer<float>::ordered(f.stream, COUNT);
    f.stream.capture([&] {
        expect(SPARK_ERR_INVALID_CAPTURE, [&] { buffer<float>::ordered(f.stream, 1); });
        expect(SPARK_ERR_INVALID_CAPTURE, [&] { f.x.free_async(f.stream); });
    });
    assert_int_equal(f.x.size(), COUNT);
}

// What an allocation gives while a stream captures: on the thread of the capture, and on another one.
void while_capturing(spark_capture_mode mode, spark_status here, spark_status elsewhere) {
    Fixture f;
    const auto allocate = [&](spark_status wanted) { expect(wanted, [&] { buffer<float>(f.ctx, 1); }); };
    const auto graph = f.stream.capture(
        [&] {
            allocate(here);
            std::thread([&] { allocate(elsewhere); }).join();
            f.x.fill_bytes(f.stream, 0x40);
        },
        mode);
    graph.launch(f.stream);
    assert_float_equal(f.at(COUNT - 1), 3.0039215f, 1e-6);
}

void modes_of_capture(void**) {
    while_capturing(SPARK_CAPTURE_THREAD_LOCAL, SPARK_ERR_INVALID_CAPTURE, SPARK_OK);
    while_capturing(SPARK_CAPTURE_GLOBAL, SPARK_ERR_INVALID_CAPTURE, SPARK_ERR_INVALID_CAPTURE);
    while_capturing(SPARK_CAPTURE_RELAXED, SPARK_OK, SPARK_OK);
}

void a_graph_is_updated_or_stays(void**) {
    Fixture f;
    const auto y = buffer<float>::zeros(f.stream, COUNT), wide = buffer<float>::zeros(f.stream, COUNT + 1);
    const auto fill = [&](std::uint8_t value) { return [&, value] { f.x.fill_bytes(f.stream, value); }; };
    auto graph = f.stream.capture(fill(0));
    assert_true(graph.update(f.stream, fill(0x40)));
    assert_false(graph.update(f.stream, [&] { f.x.copy_from(f.stream, y); }));
    assert_false(graph.update(
        f.stream, [] {}, SPARK_CAPTURE_RELAXED));
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { graph.update(f.stream, [&] { f.x.copy_from(f.stream, wide); }); });
    const spark::stream side(f.ctx);
    spark::event fork(f.ctx, SPARK_EVENT_NO_TIMING);
    expect(SPARK_ERR_INVALID_CAPTURE, [&] { // what never joins is another mistake
        graph.update(f.stream, [&] {
            fork.record(f.stream);
            side.wait(fork);
            f.x.fill_bytes(side, 1);
        });
    });
    graph.launch(f.stream);
    assert_float_equal(f.at(0), 3.0039215f, 1e-6);
    const spark::graph taken = std::move(graph);
    expect(SPARK_ERR_INVALID_NULL, [&] { graph.update(f.stream, fill(0)); });
    f.stream.synchronize(); // no capture is left
}

void peers_on_one_device(void**) {
    Fixture f, other;
    assert_false(f.ctx.can_access(other.ctx));
    expect(SPARK_ERR_INVALID_DEVICE, [&] { f.ctx.enable_peer(other.ctx); });
    expect(SPARK_ERR_NO_DEVICE, [&] { f.ctx.can_access(spark::context::offline(120)); });
    other.x.fill_bytes(other.stream, 0x40);
    other.stream.synchronize();
    f.x.copy_from_peer(f.stream, other.x);
    assert_float_equal(f.at(COUNT - 1), 3.0039215f, 1e-6);
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.x.copy_from_peer(f.stream, buffer<float>(other.ctx, COUNT + 1)); });
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(priorities_and_events_without_a_time),
        cmocka_unit_test(a_tuning_file_of_a_context),
        cmocka_unit_test(pinned_memory_there_and_back),
        cmocka_unit_test(a_recorded_copy_reads_pinned_memory_at_every_launch),
        cmocka_unit_test(allocation_in_stream_order),
        cmocka_unit_test(modes_of_capture),
        cmocka_unit_test(a_graph_is_updated_or_stays),
        cmocka_unit_test(peers_on_one_device),
    };
    return cmocka_run_group_tests_name("spark.hpp for serving", tests, nullptr, nullptr);
}
