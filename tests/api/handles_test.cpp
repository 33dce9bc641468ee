// SPDX-License-Identifier: Apache-2.0
// Handles: every kind, in every argument of every function that takes one, destroyed, of another kind, of another
// context, made up, and outlived by the next thing in its place. Each is refused before the driver is reached.
#include "emulator.h"

#include <functional>
#include <string>
#include <vector>

#include "outcome.h"

namespace {

// Things that live for the whole test, and a tensor for launches.
struct Live {
    spark_stream stream = 0;
    spark_event event = 0;
    spark_graph graph = 0;
    spark_devptr data = 0;
    spark_context* other = nullptr; // another context of the same device
};
Live g_live;

spark_stream make_stream(spark_context* ctx) {
    spark_stream made = 0;
    ok(spark_stream_create(ctx, nullptr, &made, &g_err));
    return made;
}

spark_event make_event(spark_context* ctx) {
    spark_event made = 0;
    ok(spark_event_create(ctx, nullptr, &made, &g_err));
    return made;
}

spark_graph make_graph(spark_context* ctx) {
    spark_graph made = 0;
    const spark_stream stream = make_stream(ctx);
    ok(spark_graph_begin(ctx, stream, nullptr, &g_err));
    ok(spark_graph_end(ctx, stream, &made, &g_err));
    ok(spark_stream_destroy(ctx, stream, &g_err));
    return made;
}

spark_status launch_on(spark_stream stream) {
    api::Arena arena(g_ctx);
    api::Example e(*spark_op_describe(SPARK_OP_RMSNORM), arena);
    spark_exec exec{};
    exec.struct_size = sizeof exec;
    exec.stream = stream;
    return spark_rmsnorm(g_ctx, reinterpret_cast<spark_rmsnorm_args*>(e.head()), &exec, &g_err);
}

// One argument of one function: what messages call it, and the call with it.
struct Argument {
    const char* name;
    std::function<spark_status(uint64_t)> call;
};

struct Kind {
    const char* name; // as messages say it
    std::function<uint64_t(spark_context*)> make;
    std::function<spark_status(uint64_t)> destroy;
    const char* destroyed_by; // the driver's function
    std::vector<Argument> arguments;
};

uint64_t g_out = 77;
uint32_t g_done = 77;
uint8_t g_byte;

std::vector<Argument> stream_arguments() {
    const spark_devptr data = g_live.data;
    return {
        {"stream", [](uint64_t h) { return spark_stream_native(g_ctx, h, &g_out, &g_err); }},
        {"stream", [](uint64_t h) { return spark_stream_synchronize(g_ctx, h, &g_err); }},
        {"stream", [](uint64_t h) { return spark_stream_query(g_ctx, h, &g_done, &g_err); }},
        {"stream", [](uint64_t h) { return spark_stream_wait_event(g_ctx, h, g_live.event, &g_err); }},
        {"stream", [](uint64_t h) { return spark_event_record(g_ctx, g_live.event, h, &g_err); }},
        {"stream", [](uint64_t h) { return spark_graph_begin(g_ctx, h, nullptr, &g_err); }},
        {"stream", [](uint64_t h) { return spark_graph_end(g_ctx, h, &g_out, &g_err); }},
        {"stream", [](uint64_t h) { return spark_graph_end_update(g_ctx, h, g_live.graph, &g_err); }},
        {"stream", [](uint64_t h) { return spark_graph_launch(g_ctx, g_live.graph, h, &g_err); }},
        {"stream", [=](uint64_t h) { return spark_mem_copy_to_device(g_ctx, data, &g_byte, 1, h, &g_err); }},
        {"stream", [=](uint64_t h) { return spark_mem_copy_to_host(g_ctx, &g_byte, data, 1, h, &g_err); }},
        {"stream", [=](uint64_t h) { return spark_mem_copy_to_device_async(g_ctx, data, &g_byte, 1, h, &g_err); }},
        {"stream", [=](uint64_t h) { return spark_mem_copy_to_host_async(g_ctx, &g_byte, data, 1, h, &g_err); }},
        {"stream", [=](uint64_t h) { return spark_mem_copy(g_ctx, data, data + 8, 8, h, &g_err); }},
        {"stream", [=](uint64_t h) { return spark_mem_copy_peer(g_ctx, data, g_ctx, data + 8, 8, h, &g_err); }},
        {"stream", [=](uint64_t h) { return spark_mem_set(g_ctx, data, 1, 8, h, &g_err); }},
        {"stream", [](uint64_t h) { return spark_mem_alloc_async(g_ctx, 64, h, &g_out, &g_err); }},
        {"stream", [=](uint64_t h) { return spark_mem_free_async(g_ctx, data, h, &g_err); }},
        {"exec.stream", launch_on},
    };
}

std::vector<Argument> event_arguments() {
    static float milliseconds;
    return {
        {"event", [](uint64_t h) { return spark_event_native(g_ctx, h, &g_out, &g_err); }},
        {"event", [](uint64_t h) { return spark_event_record(g_ctx, h, 0, &g_err); }},
        {"event", [](uint64_t h) { return spark_event_synchronize(g_ctx, h, &g_err); }},
        {"event", [](uint64_t h) { return spark_event_query(g_ctx, h, &g_done, &g_err); }},
        {"event", [](uint64_t h) { return spark_stream_wait_event(g_ctx, 0, h, &g_err); }},
        {"begin", [](uint64_t h) { return spark_event_elapsed(g_ctx, h, g_live.event, &milliseconds, &g_err); }},
        {"end", [](uint64_t h) { return spark_event_elapsed(g_ctx, g_live.event, h, &milliseconds, &g_err); }},
    };
}

std::vector<Argument> graph_arguments() {
    return {
        {"graph", [](uint64_t h) { return spark_graph_end_update(g_ctx, g_live.stream, h, &g_err); }},
        {"graph", [](uint64_t h) { return spark_graph_launch(g_ctx, h, 0, &g_err); }},
        {"graph", [](uint64_t h) { return spark_graph_native(g_ctx, h, &g_out, &g_err); }},
    };
}

// Every kind, the destroying function being an argument like the others.
std::vector<Kind> kinds() {
    std::vector<Kind> all = {
        {"a stream", make_stream, [](uint64_t h) { return spark_stream_destroy(g_ctx, h, &g_err); },
         "cuStreamDestroy_v2", stream_arguments()},
        {"an event", make_event, [](uint64_t h) { return spark_event_destroy(g_ctx, h, &g_err); }, "cuEventDestroy_v2",
         event_arguments()},
        {"a graph", make_graph, [](uint64_t h) { return spark_graph_destroy(g_ctx, h, &g_err); }, "cuGraphExecDestroy",
         graph_arguments()},
    };
    for (Kind& kind : all) kind.arguments.push_back({std::strchr(kind.name, ' ') + 1, kind.destroy});
    return all;
}

// Every argument refuses the handle, says `part` of it, and changes nothing; and the driver destroys nothing.
void check_refused(const Kind& kind, uint64_t handle, const std::string& part) {
    const int64_t destroyed = api::driver_calls(kind.destroyed_by);
    char number[32];
    std::snprintf(number, sizeof number, " is 0x%llx", static_cast<unsigned long long>(handle));
    for (const Argument& argument : kind.arguments) {
        refused(argument.call(handle), SPARK_ERR_INVALID_HANDLE, part.c_str());
        refused(SPARK_OK, SPARK_OK, (argument.name + std::string(number)).c_str());
    }
    assert_int_equal(g_out, 77);
    assert_int_equal(g_done, 77);
    assert_int_equal(api::driver_calls(kind.destroyed_by), destroyed);
}

void destroyed_ones(void**) {
    for (const Kind& kind : kinds()) {
        const uint64_t old = kind.make(g_ctx);
        ok(kind.destroy(old));
        check_refused(kind, old, std::string(kind.name) + " that was destroyed");
        for (int i = 0; i < 50; ++i) { // what has its place now is another one, and lives on
            const uint64_t younger = kind.make(g_ctx);
            assert_true(younger != old);
            check_refused(kind, old, "that was destroyed");
            ok(kind.destroy(younger));
        }
    }
}

void of_another_kind(void**) {
    const uint64_t context = reinterpret_cast<uint64_t>(g_ctx);
    const struct {
        const char* name;
        uint64_t handle;
    } things[] = {
        {"a context", context}, {"a stream", g_live.stream}, {"an event", g_live.event}, {"a graph", g_live.graph}};
    for (const Kind& kind : kinds())
        for (const auto& thing : things)
            if (std::strcmp(kind.name, thing.name) != 0)
                check_refused(kind, thing.handle, std::string(thing.name) + ", not " + kind.name);
    for (const auto& thing : things) {
        if (thing.handle == context) continue;
        auto* ctx = reinterpret_cast<spark_context*>(thing.handle);
        refused(spark_context_preload(ctx, SPARK_OP_RMSNORM, &g_err), SPARK_ERR_INVALID_HANDLE, "not a context");
        spark_context_destroy(ctx); // ignored
    }
    ok(spark_graph_launch(g_ctx, g_live.graph, g_live.stream, &g_err));
    ok(spark_event_record(g_ctx, g_live.event, g_live.stream, &g_err));
}

void of_another_context(void**) {
    for (const Kind& kind : kinds()) check_refused(kind, kind.make(g_live.other), "of another context");
    // A copy between two devices may run on a stream of either.
    const spark_stream theirs = make_stream(g_live.other);
    const spark_devptr data = g_live.data;
    ok(spark_mem_copy_peer(g_ctx, data, g_live.other, data + 8, 8, theirs, &g_err));
    ok(spark_mem_copy_peer(g_live.other, data, g_ctx, data + 8, 8, theirs, &g_err));
}

void made_up_ones(void**) {
    for (const Kind& kind : kinds()) {
        const uint64_t live = kind.make(g_ctx);
        const uint64_t numbers[] = {
            3,                            // no default stream any more
            4095,                         // not on the first page
            0x7fff'dead'beef,             // odd
            uint64_t{1} << 63,            // the kernel's half
            ~uint64_t{0},                 //
            0xffff'8000'0000'1000,        //
            live | 0xfffff,               // no such slot
            live | 0x7fff'fff0'0000,      // a count that was never given
            live & ~(uint64_t{15} << 48), // no kind
            live | uint64_t{15} << 48,
            live ^ uint64_t{1} << 60, // another mark
        };
        for (const uint64_t number : numbers) check_refused(kind, number, "is no handle of this library");
        ok(kind.destroy(live));
    }
    for (const uint64_t graph : {uint64_t{4096}, uint64_t{0x5555'0000'1000}}) // graphs are the library's alone
        refused(spark_graph_launch(g_ctx, graph, 0, &g_err), SPARK_ERR_INVALID_HANDLE, "is no handle of this library");
}

void none(void**) {
    ok(spark_stream_destroy(g_ctx, 0, &g_err));
    ok(spark_stream_destroy(g_ctx, 2, &g_err));
    ok(spark_event_destroy(g_ctx, 0, &g_err));
    ok(spark_graph_destroy(g_ctx, 0, &g_err));
    for (const Argument& argument : event_arguments())
        refused(argument.call(0), SPARK_ERR_INVALID_NULL, "is 0; an event wanted");
    for (const Argument& argument : graph_arguments())
        refused(argument.call(0), SPARK_ERR_INVALID_NULL, "is 0; a graph wanted");
}

// The driver's own handles pass as they are, but are not the library's to destroy.
void of_the_driver(void**) {
    uint64_t stream = 0, event = 0, graph = 0, same = 0;
    ok(spark_stream_native(g_ctx, g_live.stream, &stream, &g_err));
    ok(spark_event_native(g_ctx, g_live.event, &event, &g_err));
    ok(spark_graph_native(g_ctx, g_live.graph, &graph, &g_err));
    assert_true(stream != g_live.stream && event != g_live.event && graph != g_live.graph);
    for (const uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{2}, stream}) {
        ok(spark_stream_native(g_ctx, number, &same, &g_err));
        assert_int_equal(same, number);
        ok(launch_on(number));
    }
    ok(spark_event_record(g_ctx, event, stream, &g_err));
    ok(spark_stream_wait_event(g_ctx, g_live.stream, event, &g_err));
    ok(spark_stream_synchronize(g_ctx, stream, &g_err));
    refused(spark_stream_destroy(g_ctx, stream, &g_err), SPARK_ERR_INVALID_HANDLE, "did not make");
    refused(spark_event_destroy(g_ctx, event, &g_err), SPARK_ERR_INVALID_HANDLE, "did not make");
    ok(spark_event_synchronize(g_ctx, g_live.event, &g_err));
    refused(spark_stream_native(g_ctx, stream, nullptr, &g_err), SPARK_ERR_INVALID_NULL, "native");
    refused(spark_event_native(g_ctx, event, nullptr, &g_err), SPARK_ERR_INVALID_NULL, "native");
    refused(spark_graph_native(g_ctx, g_live.graph, nullptr, &g_err), SPARK_ERR_INVALID_NULL, "native");
}

void ends_with_its_context(void**) {
    for (const Kind& kind : kinds()) {
        spark_context* ctx = api::make_context();
        const uint64_t made = kind.make(ctx), beside = kind.make(g_ctx);
        const int64_t destroyed = api::driver_calls(kind.destroyed_by);
        spark_context_destroy(ctx);
        assert_int_equal(api::driver_calls(kind.destroyed_by), destroyed < 0 ? destroyed : destroyed + 1);
        check_refused(kind, made, "that was destroyed");
        ok(kind.destroy(beside));
    }
}

// More than the table grows by at a time.
void many(void**) {
    std::vector<spark_event> events(3000);
    for (spark_event& event : events) event = make_event(g_ctx);
    for (spark_event event : events) ok(spark_event_record(g_ctx, event, g_live.stream, &g_err));
    for (spark_event event : events) ok(spark_event_destroy(g_ctx, event, &g_err));
    for (spark_event event : events) refused(spark_event_destroy(g_ctx, event, &g_err), SPARK_ERR_INVALID_HANDLE, "");
}

int begin(void** state) {
    if (set_up(state) != 0) return 1;
    g_live.other = api::make_context();
    g_live.stream = make_stream(g_ctx);
    g_live.event = make_event(g_ctx);
    g_live.graph = make_graph(g_ctx);
    ok(spark_mem_alloc(g_ctx, 64, &g_live.data, &g_err));
    ok(spark_mem_set(g_ctx, g_live.data, 0, 64, 0, &g_err));
    return 0;
}

int end(void** state) {
    spark_context_destroy(g_live.other);
    spark_mem_free(g_ctx, g_live.data, nullptr);
    return tear_down(state);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(destroyed_ones),
        cmocka_unit_test(of_another_kind),
        cmocka_unit_test(of_another_context),
        cmocka_unit_test(made_up_ones),
        cmocka_unit_test(none),
        cmocka_unit_test(of_the_driver),
        cmocka_unit_test(many),
        cmocka_unit_test(ends_with_its_context),
    };
    return cmocka_run_group_tests_name("api.handles", tests, begin, end);
}
