// SPDX-License-Identifier: Apache-2.0
// src/runtime/launch: clusters and tensor maps from a kernel's header to the device; enqueued, from a graph, and from
// one that was updated. The kernel is this test's own, in the place of one of the library's.
#include "runtime/launch.h"

#include <vector>

#include "launch_kernels.h"

// Last: cmocka defines fail() as a macro, which the C++ headers must not see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace spark;

namespace spark::kernels {
const char* tiles__swap_text(uint32_t arch);
}

namespace {

spark_context* handle;
Context* ctx;
spark_error err{};

void ok(spark_status got) {
    if (got != SPARK_OK) fail_msg("%s: %s", spark_status_name(got), err.message);
}

// The kernel's code, which is not in the library, where the library's would be.
void load_kernel() {
    const Kernel& kernel = kernels::tiles__swap;
    const char* text = kernels::tiles__swap_text(ctx->info.cc_major == 9 ? 90 : 120);
    const Current current(*ctx);
    void*& library = ctx->libraries[kernel.index];
    void* loaded = nullptr;
    const Driver& d = *ctx->driver;
    assert_int_equal(d.library_load(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0), DRIVER_OK);
    assert_int_equal(d.library_kernel(&loaded, library, kernel.name), DRIVER_OK);
    ctx->kernels[kernel.index].store(loaded);
}

int open(void**) {
    spark_context_desc desc{};
    desc.struct_size = sizeof desc;
    err.struct_size = sizeof err;
    ok(spark_context_create(&desc, &handle, &err));
    Report report;
    UsedContext used;
    ok(report.store(used.find(handle, true, report), &err));
    ctx = &*used;
    load_kernel();
    return 0;
}

int close(void**) {
    spark_context_destroy(handle);
    return 0;
}

// Rows of COLUMNS words; the last tile reaches beyond them.
constexpr uint32_t COLUMNS = 56, ROWS = 4, WIDTH = 16, TILE = WIDTH * ROWS, TILES = 3;

struct Words {
    spark_devptr data = 0;
    explicit Words(const std::vector<uint32_t>& words) {
        ok(spark_mem_alloc(handle, words.size() * 4, &data, &err));
        ok(spark_mem_copy_to_device(handle, data, words.data(), words.size() * 4, 0, &err));
    }
    ~Words() { ok(spark_mem_free(handle, data, &err)); }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
};

std::vector<uint32_t> numbers(uint32_t from) {
    std::vector<uint32_t> words(COLUMNS * ROWS);
    for (uint32_t& word : words) word = from++;
    return words;
}

Plan plan_of(spark_devptr x, spark_devptr y, const Context* encoder, uint64_t pitch = COLUMNS * 4) {
    Plan plan{};
    plan.encoder = encoder;
    const TensorMap map = plan.map({.data = x,
                                    .elem_bytes = 4,
                                    .rank = 2,
                                    .shape = {COLUMNS, ROWS},
                                    .stride = {pitch},
                                    .box = {WIDTH, ROWS},
                                    .swizzle = 0});
    plan.add(kernels::tiles__swap, {.y = y, .x = map, .n = TILES});
    return plan;
}

spark_status enqueue(const Plan& plan, spark_stream stream) {
    Report report;
    Stream found;
    if (spark_status s = found.find(*ctx, stream, "stream", report)) return report.store(s, &err);
    return report.store(launch(*ctx, found, plan, report), &err);
}

// y[i] is tile i ^ 1 of numbers that count up from `from`.
void check(spark_devptr y, uint32_t from, spark_stream stream) {
    std::vector<uint32_t> found(TILES * TILE);
    ok(spark_stream_synchronize(handle, stream, &err));
    ok(spark_mem_copy_to_host(handle, found.data(), y, found.size() * 4, 0, &err));
    for (uint32_t i = 0; i < found.size(); ++i) {
        const uint32_t column = (i / TILE ^ 1) * WIDTH + i % WIDTH, row = i % TILE / WIDTH;
        const uint32_t wanted = column < COLUMNS ? from + row * COLUMNS + column : 0;
        if (found[i] != wanted) fail_msg("word %u is %u, not %u", i, found[i], wanted);
    }
}

void says_what_the_header_says(void**) {
    const Plan plan = plan_of(0, 0, nullptr);
    const Launch& work = plan.launches[0];
    assert_int_equal(work.kernel->cluster.x, 2);
    assert_int_equal(work.grid.x, 4); // of whole clusters
    assert_false(work.kernel->dependent);
    assert_int_equal(reinterpret_cast<uintptr_t>(work.params) % alignof(TensorMap), 0);
    const auto* params = reinterpret_cast<const kernels::tiles_params*>(work.params);
    for (const uint64_t word : params->x.words) assert_int_equal(word, 0); // no driver, no map
    assert_int_equal(params->n, TILES);
}

void copies_tiles_within_clusters(void**) {
    const Words x(numbers(7)), y(std::vector<uint32_t>(TILES * TILE));
    ok(enqueue(plan_of(x.data, y.data, ctx), 0));
    check(y.data, 7, 0);
}

void a_map_the_driver_refuses_is_not_launched(void**) {
    const Words x(numbers(7)), y(std::vector<uint32_t>(TILES * TILE));
    assert_int_equal(enqueue(plan_of(x.data, y.data, ctx, 20), 0), SPARK_ERR_DRIVER);
    assert_non_null(strstr(err.message, "encoding a tensor map"));
}

void graphs_keep_maps_and_an_update_brings_others(void**) {
    const Words x(numbers(7)), other(numbers(1000)), y(std::vector<uint32_t>(TILES * TILE));
    spark_stream stream = 0;
    spark_graph graph = 0;
    ok(spark_stream_create(handle, nullptr, &stream, &err));
    ok(enqueue(plan_of(x.data, y.data, ctx), stream));
    ok(spark_graph_begin(handle, stream, nullptr, &err));
    ok(enqueue(plan_of(x.data, y.data, ctx), stream)); // the plan ends here, with its map
    ok(spark_graph_end(handle, stream, &graph, &err));
    ok(spark_mem_set(handle, y.data, 0xff, TILES * TILE * 4, stream, &err));
    ok(spark_graph_launch(handle, graph, stream, &err));
    check(y.data, 7, stream);
    ok(spark_graph_begin(handle, stream, nullptr, &err));
    ok(enqueue(plan_of(other.data, y.data, ctx), stream));
    ok(spark_graph_end_update(handle, stream, graph, &err));
    ok(spark_graph_launch(handle, graph, stream, &err));
    check(y.data, 1000, stream);
    ok(spark_graph_destroy(handle, graph, &err));
    ok(spark_stream_destroy(handle, stream, &err));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(says_what_the_header_says),
                                cmocka_unit_test(copies_tiles_within_clusters),
                                cmocka_unit_test(a_map_the_driver_refuses_is_not_launched),
                                cmocka_unit_test(graphs_keep_maps_and_an_update_brings_others)};
    return cmocka_run_group_tests(tests, open, close);
}
