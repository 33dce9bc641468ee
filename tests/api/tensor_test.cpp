// SPDX-License-Identifier: Apache-2.0
// What a tensor's descriptor says, for every tensor of every operator: without elements it is present all the same,
// wherever it lies; a stride of 0 repeats elements; strides that lead nowhere do not matter.

#include <cstring>
#include <set>

#include "outcome.h"

namespace {

using Outputs = std::vector<std::vector<unsigned char>>;

constexpr uint32_t SEED = 3;

bool is_tensor(const api::Example& e, uint32_t f) {
    return api::field(e.desc(), f).kind == SPARK_KIND_TENSOR && e.tensor(f).ndim != 0;
}

bool empty(const spark_tensor& t) {
    for (uint32_t d = 0; d < t.ndim; ++d)
        if (t.shape[d] == 0) return true;
    return false;
}

// One call on freshly filled memory: its status, and what the outputs hold afterwards.
struct Answer {
    spark_status status;
    spark_error err{};
    uint64_t kernel_id = 0;
    Outputs outputs;
    bool operator==(const Answer& other) const { return status == other.status && outputs == other.outputs; }
};

// memory: the same call with the addresses of all that was allocated.
Answer answer(const api::Example& e, const api::Example& memory, uint64_t kernel_id = 0) {
    Answer a{};
    a.err.struct_size = sizeof a.err;
    spark_op_info info{};
    info.struct_size = sizeof info;
    a.status = spark_op_query(g_ctx, e.head(), &info, &a.err);
    a.kernel_id = info.kernel_id;
    spark_exec exec{};
    exec.struct_size = sizeof exec;
    exec.kernel_id = kernel_id;
    const spark_status launched = spark_op_launch(g_ctx, e.head(), &exec, &a.err);
    if (kernel_id == 0 && launched != a.status) fail_msg("%s: query and launch disagree", e.desc().name);
    a.status = launched;
    assert_int_equal(spark_stream_synchronize(g_ctx, 0, nullptr), SPARK_OK);
    a.outputs = api::outputs(g_ctx, memory);
    return a;
}

// The letters of the operator's shapes, with their marks.
std::set<std::string> letters(const spark_op_desc& d) {
    std::set<std::string> all;
    for (uint32_t f = 0; f < d.num_fields; ++f) {
        if (api::field(d, f).kind != SPARK_KIND_TENSOR) continue;
        for (const std::string& name : api::parse_shape(api::field(d, f).shape).names)
            if (name.find_first_of("0123456789") == std::string::npos) all.insert(name);
    }
    return all;
}

// Makes every dimension of that letter 0, in all tensors. Memory stays what it was; only descriptors change.
void without(api::Example& e, const std::string& letter) {
    for (uint32_t f = 0; f < e.desc().num_fields; ++f) {
        if (!is_tensor(e, f)) continue;
        const std::vector<std::string> names = api::parse_shape(api::field(e.desc(), f).shape).names;
        spark_tensor& t = e.tensor(f);
        for (size_t back = 0; back < names.size() && back < t.ndim; ++back)
            if (names[names.size() - 1 - back] == letter) t.shape[t.ndim - 1 - back] = 0;
    }
}

// Every letter that an operator knows becomes 0 in turn. The right answer is asked for with addresses that are real;
// any other address of a tensor without elements, and any strides, must give the same.
void empty_tensors_lie_anywhere(void**) {
    int cases = 0;
    for (uint32_t i = 0; i < spark_op_count(); ++i)
        for (const std::string& letter : letters(*spark_op_at(i)))
            for (bool optional_fields : {true, false}) {
                api::Options options;
                options.optional_fields = optional_fields;
                api::Arena arena(g_ctx);
                api::Example e(*spark_op_at(i), arena, options);
                const api::Example whole = e; // has the addresses of all memory
                const auto run = [&](auto change) {
                    api::Example fresh = whole;
                    api::fill_tensors(g_ctx, fresh, SEED);
                    change();
                    return answer(e, whole);
                };
                without(e, letter);
                const Answer real = run([] {});
                if (real.status != SPARK_OK && real.err.message[0] == 0)
                    fail_msg("%s without %s: no sentence", e.desc().name, letter.c_str());
                for (uint64_t address : {0, 1, 256}) {
                    const Answer other = run([&] {
                        for (uint32_t f = 0; f < e.desc().num_fields; ++f) {
                            if (!is_tensor(e, f) || !empty(e.tensor(f))) continue;
                            e.tensor(f).data = address;
                            for (uint32_t d = 0; d < e.tensor(f).ndim; ++d)
                                e.tensor(f).stride[d] = address == 0 ? 0 : d == 0 ? -5 : 0;
                        }
                    });
                    if (!(other == real))
                        fail_msg("%s without %s, at address %d: %s, \"%s\"; at a real one: %s", e.desc().name,
                                 letter.c_str(), static_cast<int>(address), spark_status_name(other.status),
                                 other.err.message, spark_status_name(real.status));
                    ++cases;
                }
            }
    print_message("%d calls with tensors without elements\n", cases);
}

// The one operator with an optional tensor that may be empty while there is work: every position is outside the table.
void rope_with_an_empty_table(void**) {
    for (uint64_t address : {0, 256}) {
        api::Arena arena(g_ctx);
        api::Example e(*spark_op_describe(SPARK_OP_ROPE), arena);
        auto& args = *reinterpret_cast<spark_rope_args*>(e.head());
        api::fill_tensors(g_ctx, e, SEED);
        const int64_t width = args.table.shape[1], head = args.x.shape[args.x.ndim - 1];
        args.table.shape[0] = 0, args.table.data = address;
        const int32_t before = 7;
        assert_int_equal(spark_mem_copy_to_device(g_ctx, args.invalid_count.data, &before, 4, 0, nullptr), SPARK_OK);
        spark_error err{};
        err.struct_size = sizeof err;
        if (spark_rope(g_ctx, &args, nullptr, &err) != SPARK_OK) fail_msg("%s", err.message);
        int32_t count = 0;
        assert_int_equal(spark_mem_copy_to_host(g_ctx, &count, args.invalid_count.data, 4, 0, nullptr), SPARK_OK);
        int64_t tokens = 1;
        for (uint32_t d = 0; d < args.positions.ndim; ++d) tokens *= args.positions.shape[d];
        assert_int_equal(count, before + tokens);
        assert_int_equal(args.y.dtype, SPARK_DTYPE_F32);
        const std::vector<unsigned char> x = api::fetch(g_ctx, args.x), y = api::fetch(g_ctx, args.y);
        for (size_t k = 0; k * 4 < y.size(); ++k) {
            float is, was;
            std::memcpy(&is, &y[k * 4], 4), std::memcpy(&was, &x[k * 4], 4);
            if (static_cast<int64_t>(k) % head < width ? is == is : is != was)
                fail_msg("element %zu is %g and was %g", k, static_cast<double>(is), static_cast<double>(was));
        }
    }
}

// The elements that strides name, in row-major order without gaps.
std::vector<unsigned char> gathered(const spark_tensor& t, const std::vector<unsigned char>& bytes) {
    const size_t size = spark_dtype_bits(t.dtype) / 8;
    std::vector<unsigned char> out;
    int64_t count = 1;
    for (uint32_t d = 0; d < t.ndim; ++d) count *= t.shape[d];
    for (int64_t i = 0; i < count; ++i) {
        int64_t at = 0, rest = i;
        for (uint32_t d = t.ndim; d-- > 0; rest /= t.shape[d]) at += rest % t.shape[d] * t.stride[d];
        const auto from = bytes.begin() + at * static_cast<int64_t>(size);
        out.insert(out.end(), from, from + static_cast<int64_t>(size));
    }
    return out;
}

// Field f repeats along dimension d. Refused for a layout that no kernel takes, or right: what a copy without the
// repetition gives, with the same kernel.
bool repeats_rightly(const spark_op_desc& desc, uint32_t f, uint32_t d, bool optional_dims) {
    api::Arena arena(g_ctx);
    api::Options options;
    options.optional_dims = optional_dims;
    api::Example repeated(desc, arena, options);
    const api::Example whole = repeated;
    const char* name = api::field(desc, f).name;
    spark_tensor& t = repeated.tensor(f);
    if (d >= t.ndim || t.shape[d] < 2) return false;
    t.stride[d] = 0;
    if (std::vector<int64_t>(t.stride, t.stride + t.ndim) == std::vector<int64_t>(t.ndim, 0)) return false; // packed
    api::fill_tensors(g_ctx, repeated, SEED);
    const std::vector<unsigned char> expanded = gathered(t, api::fetch(g_ctx, t));
    const Answer got = answer(repeated, whole);
    if (got.status == SPARK_ERR_UNSUPPORTED_LAYOUT && std::strstr(got.err.message, name)) return false;
    if (got.status != SPARK_OK) fail_msg("%s.%s.stride[%u] = 0: %s", desc.name, name, d, got.err.message);
    api::Example copied = whole;
    api::fill_tensors(g_ctx, copied, SEED);
    api::store(g_ctx, copied.tensor(f), expanded);
    const Answer wanted = answer(copied, whole, got.kernel_id);
    if (wanted.status != SPARK_OK) fail_msg("%s: the copy: %s", desc.name, wanted.err.message);
    if (!(got == wanted)) fail_msg("%s.%s.stride[%u] = 0: not as a copy", desc.name, name, d);
    return true;
}

void a_stride_of_0_repeats(void**) {
    int cases = 0;
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        const spark_op_desc& desc = *spark_op_at(i);
        for (uint32_t f = 0; f < desc.num_fields; ++f)
            for (uint32_t d = 0; d < SPARK_MAX_NDIM; ++d)
                for (bool optional_dims : {false, true})
                    if (api::field(desc, f).kind == SPARK_KIND_TENSOR &&
                        (api::field(desc, f).flags & SPARK_FIELD_BROADCAST))
                        cases += repeats_rightly(desc, f, d, optional_dims);
    }
    print_message("%d strides of 0\n", cases);
    assert_in_range(static_cast<uint64_t>(cases), 20, 1000);
}

// Reflection tells where 0 is allowed: everywhere else a stride of 0 is refused, with the field's name.
void elsewhere_a_stride_of_0_is_refused(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        const spark_op_desc& desc = *spark_op_at(i);
        for (uint32_t f = 0; f < desc.num_fields; ++f) {
            if (api::field(desc, f).kind != SPARK_KIND_TENSOR || (api::field(desc, f).flags & SPARK_FIELD_BROADCAST))
                continue;
            api::Arena arena(g_ctx);
            api::Example e(desc, arena);
            spark_tensor& t = e.tensor(f);
            if (t.ndim < 2 || t.shape[0] < 2) continue; // alone, or of no meaning
            t.stride[0] = 0;
            const Answer a = answer(e, e);
            if (a.status != SPARK_ERR_INVALID_STRIDE || !std::strstr(a.err.message, api::field(desc, f).name))
                fail_msg("%s.%s: %s \"%s\"", desc.name, api::field(desc, f).name, spark_status_name(a.status),
                         a.err.message);
        }
    }
}

// The stride of a dimension of one element leads nowhere, whatever it is.
void strides_of_one_element_do_not_matter(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i)
        for (const std::string& letter : letters(*spark_op_at(i))) {
            api::Arena arena(g_ctx);
            api::Example e(*spark_op_at(i), arena);
            for (uint32_t f = 0; f < e.desc().num_fields; ++f) {
                if (!is_tensor(e, f)) continue;
                const std::vector<std::string> names = api::parse_shape(api::field(e.desc(), f).shape).names;
                spark_tensor& t = e.tensor(f);
                int64_t next = 1;
                for (uint32_t d = t.ndim; d-- > 0; next *= t.shape[d]) {
                    const size_t back = t.ndim - 1 - d;
                    if (back < names.size() && names[names.size() - 1 - back] == letter) t.shape[d] = 1;
                    t.stride[d] = next;
                }
            }
            api::fill_tensors(g_ctx, e, SEED);
            const Answer usual = answer(e, e);
            for (int64_t odd : {int64_t{0}, int64_t{3}, int64_t{-7}, INT64_MIN, INT64_MAX}) {
                for (uint32_t f = 0; f < e.desc().num_fields; ++f)
                    for (uint32_t d = 0; is_tensor(e, f) && d < e.tensor(f).ndim; ++d)
                        if (e.tensor(f).shape[d] == 1 && e.tensor(f).ndim > 1) e.tensor(f).stride[d] = odd;
                api::fill_tensors(g_ctx, e, SEED);
                const Answer a = answer(e, e);
                if (!(a == usual))
                    fail_msg("%s with %s = 1: %s \"%s\"", e.desc().name, letter.c_str(), spark_status_name(a.status),
                             a.err.message);
            }
        }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(empty_tensors_lie_anywhere),
        cmocka_unit_test(rope_with_an_empty_table),
        cmocka_unit_test(a_stride_of_0_repeats),
        cmocka_unit_test(elsewhere_a_stride_of_0_is_refused),
        cmocka_unit_test(strides_of_one_element_do_not_matter),
    };
    return cmocka_run_group_tests_name("api.tensor", tests, set_up, tear_down);
}
