// SPDX-License-Identifier: Apache-2.0
// spark.hpp: failures throw with the library's sentence, what ends in any order ends well, and nothing leaks. Compiled
// as C++17, the oldest that the header promises to work with.
#include "cxx_expect.h"

#include <cmath>
#include <limits>

namespace {

using spark::buffer;

// A context, a stream, four numbers, and the norm of them in place.
struct Fixture {
    spark::context ctx;
    spark::stream stream{ctx};
    buffer<float> x{stream, std::vector<float>(4, 3.0f)};
    spark::ops::rmsnorm norm{0.0f};

    Fixture() { norm.x = norm.y = x.view({1, 4}); }
};

void an_error_says_what_was_wrong(void**) {
    Fixture f;
    f.norm.y = f.x.view({1, 3});
    const auto found = thrown([&] { f.norm.launch(f.stream); });
    assert_true(found.has_value());
    assert_int_equal(found->status(), SPARK_ERR_INVALID_SHAPE);
    assert_string_equal(found->op(), "rmsnorm");
    assert_string_equal(found->field(), "y");
    assert_true(found->is_invalid() && !found->is_unsupported() && found->driver_code() == 0);
    assert_ptr_equal(std::strstr(found->what(), "SPARK_ERR_INVALID_SHAPE: rmsnorm: y.shape[1] is 3"), found->what());
    assert_null(thrown([] { spark::context(999); })->op());
    expect(SPARK_ERR_INVALID_NULL, [&] { spark::ops::gemm().launch(f.stream); });
}

void bounds(void**) {
    Fixture f;
    f.norm.x = f.norm.y = f.x.view({2, 4});
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.norm.launch(f.stream); });
    f.norm.x = f.norm.y = f.x.view({1, 2}, {}, 3);
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.norm.launch(f.stream); });
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.x.view({1}, {}, 5); });
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.x.write(f.stream, {1, 2}, 3); });
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.x.write(f.stream, {1}, std::numeric_limits<std::size_t>::max()); });
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.x.copy_from(f.stream, buffer<float>(f.ctx, 5)); });
    expect(SPARK_ERR_INVALID_VALUE, [&] { buffer<float>(f.ctx, std::numeric_limits<std::size_t>::max()); });
    f.x.write(f.stream, {7}, 3);
    assert_float_equal(f.x.to_vector(f.stream)[3], 7, 0);
}

void shapes_that_are_none(void**) {
    Fixture f;
    expect(SPARK_ERR_INVALID_STRIDE, [&] { f.x.view({2, 2}, {1}); });
    expect(SPARK_ERR_INVALID_SHAPE, [&] { spark::extents(std::vector<std::int64_t>(7)); });
    f.norm.x = f.norm.y = f.x.view({});
    expect(SPARK_ERR_INVALID_SHAPE, [&] { f.norm.query(f.ctx); });
    f.norm.x = f.norm.y = f.x.view({1, -4});
    expect(SPARK_ERR_INVALID_SHAPE, [&] { f.norm.query(f.ctx); });
}

void what_was_moved_from_is_empty(void**) {
    Fixture f;
    buffer<float> taken = std::move(f.x);
    assert_int_equal(f.x.size(), 0);
    assert_int_equal(f.x.get(), 0);
    assert_true(f.x.to_vector(f.stream).empty());
    expect(SPARK_ERR_INVALID_BOUNDS, [&] { f.x.write(f.stream, {1}); });
    f.x = buffer<float>(f.stream, {1, 2});
    f.x = std::move(taken);
    assert_int_equal(taken.size(), 0);
    assert_int_equal(f.x.size(), 4);
    assert_float_equal(f.x.to_vector(f.stream)[0], 3, 0);
}

void things_end_in_any_order(void**) {
    for (int first = 0; first < 4; ++first) {
        std::optional<spark::context> ctx(std::in_place);
        std::optional<spark::stream> stream(*ctx);
        std::optional<buffer<float>> x(buffer<float>::zeros(*stream, 64));
        std::optional<spark::graph> graph(stream->capture([&] { x->fill_bytes(*stream, 0); }));
        graph->launch(*stream);
        stream->synchronize();
        if (first == 0) ctx.reset();
        if (first == 1) stream.reset();
        if (first == 2) x.reset();
        if (first == 3) graph.reset();
        ctx.reset();
        stream.reset();
    }
}

void nothing_leaks(void**) {
    Fixture f;
    std::uint64_t before = 0, after = 0, total = 0;
    assert_int_equal(spark_mem_info(f.ctx.get(), &before, &total, nullptr), SPARK_OK);
    for (int i = 0; i < 100; ++i) { // more than the contexts that may live at a time
        Fixture other;
        auto y = buffer<float>::zeros(other.stream, 1 << 18);
        y = buffer<float>::zeros(other.stream, 1 << 18);
        const auto graph = other.stream.capture([&] { y.fill_bytes(other.stream, 1); });
        spark::event event(other.ctx);
        graph.launch(other.stream);
        event.record(other.stream);
        event.synchronize();
    }
    assert_int_equal(spark_mem_info(f.ctx.get(), &after, &total, nullptr), SPARK_OK);
    assert_true(after + (10u << 20) > before);
}

void a_capture_that_throws_has_ended(void**) {
    Fixture f;
    bool caught = false;
    try {
        f.stream.capture([] { throw 5; });
    } catch (int) {
        caught = true;
    }
    assert_true(caught);
    expect(SPARK_ERR_INVALID_SHAPE, [&] {
        f.stream.capture([&] {
            f.norm.y = f.x.view({1, 3});
            f.norm.launch(f.stream);
        });
    });
    f.stream.capture([&] { f.x.fill_bytes(f.stream, 0); }).launch(f.stream);
    assert_float_equal(f.x.to_vector(f.stream)[0], 0, 0);
}

void a_capture_loads_no_code(void**) {
    Fixture f;
    const auto outcome = thrown([&] { f.stream.capture([&] { f.norm.launch(f.stream); }); });
    assert_true(!outcome || outcome->status() == SPARK_ERR_NOT_PREPARED);
    assert_true(f.norm.prepare(f.ctx).flags & SPARK_OP_INFO_LOADED);
    f.stream.capture([&] { f.norm.launch(f.stream); }).launch(f.stream);
    assert_float_equal(f.x.to_vector(f.stream)[0], 1, 0);
}

void a_workspace_that_is_missing_or_too_small(void**) {
    Fixture f;
    const int m = 128, n = 128, k = 2048; // few tiles, long sums: the library splits the sums over the device
    const auto a = buffer<spark::bfloat16>::zeros(f.stream, std::size_t{m} * k);
    const buffer<float> d(f.ctx, std::size_t{m} * n);
    spark::ops::gemm gemm;
    gemm.a = gemm.b = a.view({m, k});
    gemm.d = d.view({m, n});
    const std::uint64_t needed = gemm.query(f.ctx).workspace_size;
    assert_int_not_equal(needed, 0);
    expect(SPARK_ERR_WORKSPACE_TOO_SMALL, [&] { gemm.launch(f.stream); });
    expect(SPARK_ERR_WORKSPACE_TOO_SMALL, [&] { gemm.launch(f.stream, spark::workspace(f.ctx, needed - 1)); });
    const spark::workspace enough(f.ctx, needed);
    gemm.launch(f.stream, enough);
    gemm.launch(f.stream, enough, gemm.kernels(f.ctx).back().kernel_id);
    assert_true(gemm.kernels(f.ctx, needed - 1).front().workspace_size < needed);
    assert_float_equal(d.to_vector(f.stream)[0], 0, 0);
}

// What is not set has its usual value; a 0 that is set is 0.
void scalars_that_are_given(void**) {
    Fixture f;
    const buffer<float> bias(f.stream, std::vector<float>{-1, 5});
    buffer<float> d(f.ctx, 2);
    const auto a = buffer<spark::bfloat16>(f.stream, std::vector<spark::bfloat16>(16, spark::bfloat16(1)));
    spark::ops::gemm gemm;
    gemm.a = a.view({1, 8});
    gemm.b = a.view({2, 8});
    gemm.bias = bias.view({2});
    gemm.d = d.view({1, 2});
    gemm.activation = SPARK_ACTIVATION_RELU;
    gemm.launch(f.stream);
    assert_true((d.to_vector(f.stream) == std::vector<float>{7, 13}));
    gemm.set_alpha(0);
    spark::ops::gemm copy = gemm;
    copy.launch(f.stream);
    assert_true((d.to_vector(f.stream) == std::vector<float>{0, 5}));
    gemm.set_alpha(0.5f);
    gemm.launch(f.stream);
    assert_true((d.to_vector(f.stream) == std::vector<float>{3, 9}));
    assert_int_equal(static_cast<const spark_gemm_args&>(gemm).hdr.given, SPARK_GEMM_GIVEN_ALPHA);

    spark::ops::softmax softmax;
    softmax.x = softmax.y = f.x.view({1, 4});
    f.x.write(f.stream, {0, 1, 2, 3});
    softmax.set_scale(0);
    softmax.launch(f.stream);
    assert_true((f.x.to_vector(f.stream) == std::vector<float>(4, 0.25f)));
}

// What would be a surprise does not compile.
template <class Op, class = void> struct takes_alpha : std::false_type {};
template <class Op> struct takes_alpha<Op, std::void_t<decltype(std::declval<Op&>().alpha = 0)>> : std::true_type {};
static_assert(takes_alpha<spark_gemm_args>::value && !takes_alpha<spark::ops::gemm>::value);
template <class Norm>
constexpr bool asks_for_eps = std::is_constructible_v<Norm, float> && !std::is_default_constructible_v<Norm> &&
                              !std::is_convertible_v<float, Norm>;
static_assert(asks_for_eps<spark::ops::rmsnorm> && asks_for_eps<spark::ops::layernorm> &&
              asks_for_eps<spark::ops::l2norm>);

void an_offline_context_answers_what_it_can(void**) {
    const auto ctx = spark::context::offline(121);
    assert_int_equal(ctx.device().cc_minor, 1);
    expect(SPARK_ERR_NO_DEVICE, [&] { buffer<float>(ctx, 1); });
    expect(SPARK_ERR_NO_DEVICE, [&] { spark::stream stream(ctx); });
    expect(SPARK_ERR_UNSUPPORTED_ARCH, [] { spark::context::offline(50); });
    spark::ops::softmax softmax;
    softmax.x = softmax.y = spark::tensor(0, 0, spark::dtype_of<float>::value, {5, 64});
    assert_true(softmax.query(ctx).kernel[0] != 0);
    assert_true(softmax.explain(ctx).find('*') != std::string::npos);
    assert_true(softmax.explain(ctx).back() != 0);
    assert_false(softmax.kernels(ctx).empty());
}

void what_is_borrowed_stays(void**) {
    Fixture f;
    {
        const auto ctx = spark::context::borrow(f.ctx.get());
        const auto stream = spark::stream::borrow(ctx, f.stream.get());
        f.norm.launch(stream);
        const auto theirs = spark::stream::borrow(ctx, f.stream.native()); // a CUstream
        assert_true(theirs.native() == theirs.get() && theirs.get() != f.stream.get());
        f.norm.launch(theirs);
    }
    f.stream.synchronize();
    assert_true(f.stream.is_done());
    f.norm.launch(spark::stream::borrow(f.ctx, 0));
    assert_float_equal(f.x.to_vector(f.stream)[0], 1, 0);
}

void events_order_streams(void**) {
    Fixture f;
    const spark::stream second(f.ctx);
    spark::event begin(f.ctx), end(f.ctx);
    begin.record(f.stream);
    f.norm.launch(f.stream);
    end.record(f.stream);
    second.wait(end);
    buffer<float> y(f.ctx, 4);
    y.copy_from(second, f.x);
    assert_float_equal(y.to_vector(second)[0], 1, 0);
    end.synchronize();
    assert_true(end.is_done());
    assert_true(end.since(begin) >= 0);
    assert_true(spark::device_count() >= 1);
}

void bfloat16_rounds_to_nearest_even(void**) {
    const std::pair<float, int> wanted[] = {{1.0f, 0x3f80},          {-2.0f, 0xc000},
                                            {1.00390625f, 0x3f80},   // half way: down to even
                                            {1.01171875f, 0x3f82},   // half way: up to even
                                            {1.0039063692f, 0x3f81}, // just above
                                            {3.4e38f, 0x7f80},       {std::numeric_limits<float>::infinity(), 0x7f80},
                                            {-0.0f, 0x8000},         {std::numeric_limits<float>::denorm_min(), 0}};
    for (const auto& [value, bits] : wanted) assert_int_equal(spark::bfloat16(value).bits, bits);
    float nan;
    const std::uint32_t smallest_nan = 0x7f800001;
    std::memcpy(&nan, &smallest_nan, sizeof nan);
    assert_true(std::isnan(static_cast<float>(spark::bfloat16(nan))));
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        spark::bfloat16 number;
        number.bits = static_cast<std::uint16_t>(bits);
        const auto value = static_cast<float>(number);
        if (!std::isnan(value)) assert_int_equal(spark::bfloat16(value).bits, bits);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(an_error_says_what_was_wrong),
        cmocka_unit_test(bounds),
        cmocka_unit_test(shapes_that_are_none),
        cmocka_unit_test(what_was_moved_from_is_empty),
        cmocka_unit_test(things_end_in_any_order),
        cmocka_unit_test(nothing_leaks),
        cmocka_unit_test(a_capture_that_throws_has_ended),
        cmocka_unit_test(a_capture_loads_no_code),
        cmocka_unit_test(a_workspace_that_is_missing_or_too_small),
        cmocka_unit_test(scalars_that_are_given),
        cmocka_unit_test(an_offline_context_answers_what_it_can),
        cmocka_unit_test(what_is_borrowed_stays),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(bfloat16_rounds_to_nearest_even),
    };
    return cmocka_run_group_tests_name("spark.hpp", tests, nullptr, nullptr);
}
