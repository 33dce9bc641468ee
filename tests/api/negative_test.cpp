// SPDX-License-Identifier: Apache-2.0
// Wrong arguments, generated from reflection for every field of every operator. Each case starts from a right call,
// damages one thing, and demands: the status, a sentence that names the field, err.field, and untouched device memory.

#include <cstring>
#include <limits>

#include "damage.h"

namespace {

void presence(const spark_op_desc& d, uint32_t f) {
    if (api::field(d, f).flags & SPARK_FIELD_OPTIONAL) return;
    damaged(d, f, "absent", {SPARK_ERR_INVALID_NULL},
            [f](auto& e) { std::memset(&e.tensor(f), 0, sizeof(spark_tensor)); });
    damaged(d, f, "data 0", {SPARK_ERR_INVALID_NULL}, [f](auto& e) { e.tensor(f).data = 0; });
}

void dtypes(const spark_op_desc& d, uint32_t f) {
    const Wanted wrong = {SPARK_ERR_INVALID_DTYPE, SPARK_ERR_UNSUPPORTED_DTYPE};
    for (uint32_t dtype : {0u, 6u, 15u, 30u, 47u, 49u, 63u, 64u, 1000u, 0xffffffffu})
        damaged(d, f, "no dtype", wrong, [=](auto& e) {
            e.tensor(f).dtype = static_cast<spark_dtype>(dtype);
            e.tensor(f).size_bytes = 0;
        });
    for (uint32_t dtype = 1; dtype < 64; ++dtype) {
        if (!std::strcmp(spark_dtype_name(static_cast<spark_dtype>(dtype)), "UNKNOWN")) continue;
        if (api::field(d, f).dtype_mask >> dtype & 1) continue;
        bool may_be_right = false; // see `pairs`
        for (uint32_t as = api::field(d, f).dtype_as; as != 0xffffffffu; as = api::field(d, as).dtype_as)
            may_be_right |= (api::field(d, as).dtype_mask >> dtype & 1) != 0;
        if (may_be_right) continue;
        damaged(d, f, "dtype of another kind", wrong, [=](auto& e) {
            e.tensor(f).dtype = static_cast<spark_dtype>(dtype);
            e.tensor(f).size_bytes = 0;
        });
    }
}

// A field whose dtype follows another's must be refused when it differs from it.
void pairs(const spark_op_desc& d, uint32_t f) {
    const uint32_t as = api::field(d, f).dtype_as;
    if (as == 0xffffffffu) return;
    for (uint32_t dtype = 1; dtype < 64; ++dtype) {
        if (!(api::field(d, as).dtype_mask >> dtype & 1) || api::field(d, f).dtype_mask >> dtype & 1) continue;
        api::Arena probe(nullptr);
        api::Example right(d, probe);
        if (right.tensor(as).dtype == static_cast<spark_dtype>(dtype)) continue;
        damaged(d, f, "dtype unlike its partner's", {SPARK_ERR_INVALID_DTYPE}, [=](auto& e) {
            e.tensor(f).dtype = static_cast<spark_dtype>(dtype);
            e.tensor(f).size_bytes = 0;
        });
    }
}

void ranks(const spark_op_desc& d, uint32_t f) {
    const Wanted wrong = {SPARK_ERR_INVALID_SHAPE};
    std::vector<uint32_t> bad = {0, 7, 8, 0xffffffffu};
    if (api::field(d, f).min_ndim > 0) bad.push_back(api::field(d, f).min_ndim - 1);
    if (api::field(d, f).max_ndim < SPARK_MAX_NDIM) bad.push_back(api::field(d, f).max_ndim + 1);
    for (uint32_t ndim : bad) damaged(d, f, "rank", wrong, [=](auto& e) { e.tensor(f).ndim = ndim; });
}

void dimensions(const spark_op_desc& d, uint32_t f) {
    api::Arena probe(nullptr);
    api::Example right(d, probe);
    const uint32_t ndim = right.tensor(f).ndim;
    for (uint32_t dim = 0; dim < ndim; ++dim) {
        for (int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::min()})
            damaged(d, f, "negative dimension", {SPARK_ERR_INVALID_SHAPE},
                    [=](auto& e) { e.tensor(f).shape[dim] = bad; });
        for (int64_t huge : {int64_t{1} << 62, std::numeric_limits<int64_t>::max()})
            damaged(d, f, "overflowing dimension",
                    {SPARK_ERR_INVALID_SHAPE, SPARK_ERR_INVALID_BOUNDS, SPARK_ERR_INVALID_STRIDE,
                     SPARK_ERR_UNSUPPORTED_SHAPE},
                    [=](auto& e) {
                        e.tensor(f).shape[dim] = huge;
                        e.tensor(f).size_bytes = 0;
                    });
    }
    if (ndim < SPARK_MAX_NDIM) {
        const Wanted unused = {SPARK_ERR_INVALID_RESERVED, SPARK_ERR_INVALID_SHAPE, SPARK_ERR_INVALID_STRIDE};
        damaged(d, f, "shape beyond ndim", unused, [=](auto& e) { e.tensor(f).shape[ndim] = 1; });
        damaged(d, f, "stride beyond ndim", unused, [=](auto& e) { e.tensor(f).stride[ndim] = 1; });
    }
}

// Sizes shared by two fields must agree: one more in one of them is refused, and the sentence names a field.
void agreement(const spark_op_desc& d, uint32_t f) {
    const api::Shape shape = api::parse_shape(api::field(d, f).shape);
    api::Arena probe(nullptr);
    api::Example right(d, probe);
    const uint32_t lead = right.tensor(f).ndim - static_cast<uint32_t>(shape.names.size());
    for (uint32_t k = 0; k < shape.names.size(); ++k) {
        if (shape.names[k].back() == '?') return; // absent in the example, so positions would not match
        const bool constant = shape.names[k].find_first_not_of("0123456789") == std::string::npos;
        bool shared = constant;
        for (uint32_t g = 0; g < d.num_fields && !shared; ++g) {
            if (g == f || api::field(d, g).kind != SPARK_KIND_TENSOR) continue;
            for (const std::string& name : api::parse_shape(api::field(d, g).shape).names)
                shared |= name == shape.names[k];
        }
        if (!shared) continue;
        api::Arena arena(g_ctx);
        api::Example e(d, arena);
        spark_tensor& t = e.tensor(f);
        t.shape[lead + k] += 1;
        std::memset(t.stride, 0, sizeof t.stride);
        t.size_bytes = 0;
        expect(e, 0xffffffffu, "a size that disagrees", {SPARK_ERR_INVALID_SHAPE});
        if (!arena.untouched()) fail_msg("%s: memory written", d.name);
    }
}

void strides(const spark_op_desc& d, uint32_t f) {
    api::Arena probe(nullptr);
    api::Example right(d, probe);
    const uint32_t ndim = right.tensor(f).ndim;
    const Wanted wrong = {SPARK_ERR_INVALID_STRIDE, SPARK_ERR_UNSUPPORTED_LAYOUT};
    const auto set = [=](api::Example& e, uint32_t dim, int64_t value) {
        spark_tensor& t = e.tensor(f);
        t.stride[dim] = value;
        t.size_bytes = 0;
    };
    for (uint32_t dim = 0; dim < ndim; ++dim) {
        if (right.tensor(f).shape[dim] < 2) continue; // the stride of one element is not read
        damaged(d, f, "negative stride", wrong, [=](auto& e) { set(e, dim, -right.tensor(f).stride[dim]); });
        damaged(d, f, "least stride", {SPARK_ERR_INVALID_STRIDE, SPARK_ERR_UNSUPPORTED_LAYOUT, SPARK_ERR_INVALID_SHAPE},
                [=](auto& e) { set(e, dim, std::numeric_limits<int64_t>::min()); });
        damaged(
            d, f, "overflowing stride",
            {SPARK_ERR_INVALID_STRIDE, SPARK_ERR_UNSUPPORTED_LAYOUT, SPARK_ERR_INVALID_SHAPE, SPARK_ERR_INVALID_BOUNDS},
            [=](auto& e) { set(e, dim, std::numeric_limits<int64_t>::max()); });
        const bool output = api::field(d, f).flags & SPARK_FIELD_OUT;
        if (output && dim + 1 < ndim && right.tensor(f).stride[dim] != 1)
            damaged(d, f, "rows of an output on top of each other", wrong, [=](auto& e) { set(e, dim, 1); });
    }
    if ((api::field(d, f).flags & SPARK_FIELD_UNIT_STRIDE) && right.tensor(f).shape[ndim - 1] > 1)
        damaged(d, f, "last stride 2", wrong, [=](auto& e) {
            spark_tensor& t = e.tensor(f);
            for (uint32_t dim = 0; dim < ndim; ++dim) t.stride[dim] *= 2;
            t.size_bytes = 0;
        });
    if ((api::field(d, f).flags & SPARK_FIELD_PACKED) && ndim > 1)
        damaged(d, f, "a gap where there may be none", wrong,
                [=](auto& e) { set(e, 0, right.tensor(f).stride[0] + 1); });
}

void addresses(const spark_op_desc& d, uint32_t f) {
    api::Arena probe(nullptr);
    api::Example right(d, probe);
    uint64_t align = api::field(d, f).align ? api::field(d, f).align : spark_dtype_bits(right.tensor(f).dtype) / 8;
    for (uint64_t by : {1, 2, 4, 8})
        if (align > 1 && by % align != 0)
            damaged(d, f, "data misaligned", {SPARK_ERR_INVALID_ALIGNMENT}, [=](auto& e) { e.tensor(f).data += by; });
    if (right.allocated(f) >= 16) // the second half would lie beyond the last address
        damaged(d, f, "data at the end of the address space", {SPARK_ERR_INVALID_BOUNDS, SPARK_ERR_INVALID_SHAPE},
                [=](auto& e) { e.tensor(f).data = 0 - (right.allocated(f) / 2 / 8 * 8); });
    damaged(d, f, "size_bytes one short", {SPARK_ERR_INVALID_BOUNDS}, [=](auto& e) { e.tensor(f).size_bytes -= 1; });
    if (!(api::field(d, f).flags & SPARK_FIELD_OUT)) return;
    for (uint32_t g = 0; g < d.num_fields; ++g) { // the output's first element on the last element of another tensor
        if (g == f || api::field(d, g).kind != SPARK_KIND_TENSOR) continue;
        damaged(d, 0xffffffffu, "data overlaps at its first element", {SPARK_ERR_INVALID_OVERLAP}, [=](auto& e) {
            const uint64_t unit =
                std::max(spark_dtype_bits(e.tensor(f).dtype), spark_dtype_bits(e.tensor(g).dtype)) / 8;
            e.tensor(f).data = e.tensor(g).data + e.allocated(g) - std::min(unit, e.allocated(g));
        });
        if (api::field(d, f).alias_mask >> g & 1) continue;
        damaged(d, 0xffffffffu, "data in place where it may not be", {SPARK_ERR_INVALID_OVERLAP},
                [=](auto& e) { e.tensor(f).data = e.tensor(g).data; });
    }
}

void reserved(const spark_op_desc& d, uint32_t f) {
    const Wanted wrong = {SPARK_ERR_INVALID_RESERVED};
    damaged(d, f, "flags", wrong, [=](auto& e) { e.tensor(f).flags = 1; });
    damaged(d, f, "reserved", wrong, [=](auto& e) { e.tensor(f).reserved = 1; });
    // Where a quant is read, the example has one that is right, and no member of it may be another.
    const Wanted quant = {SPARK_ERR_INVALID_RESERVED, SPARK_ERR_UNSUPPORTED_DTYPE, SPARK_ERR_INVALID_VALUE};
    if (has_scales(d, f)) return;
    for (size_t byte = 0; byte < sizeof(spark_quant); byte += 2)
        damaged(d, f, "quant set where there is none", quant,
                [=](auto& e) { reinterpret_cast<unsigned char*>(&e.tensor(f).quant)[byte] = 1; });
}

void scalar(const spark_op_desc& d, uint32_t f) {
    const spark_field& field = api::field(d, f);
    const auto store = [=](api::Example& e, const void* value) { std::memcpy(e.at(f), value, field.size); };
    if (field.kind == SPARK_KIND_RESERVED)
        damaged(d, f, "reserved", {SPARK_ERR_INVALID_RESERVED}, [=](auto& e) {
            const uint32_t one = 1;
            store(e, &one);
        });
    if (field.kind == SPARK_KIND_ENUM)
        for (uint32_t bad : {999u, 0x7fffffffu, 0xffffffffu})
            damaged(d, f, "no such choice", {SPARK_ERR_INVALID_VALUE}, [=](auto& e) { store(e, &bad); });
}

// Without what it needs, and without what else needs that.
void needs(const spark_op_desc& d, uint32_t f) {
    for (uint32_t other = 0; other < d.num_fields; ++other)
        if (api::field(d, f).needs_mask >> other & 1)
            damaged(d, f, "without the field it needs", {SPARK_ERR_INVALID_NULL, SPARK_ERR_INVALID}, [=, &d](auto& e) {
                for (uint32_t g = 0; g < d.num_fields; ++g)
                    if (g == other || (g != f && (api::field(d, g).needs_mask >> other & 1)))
                        std::memset(e.at(g), 0, sizeof(spark_tensor));
            });
}

void head(const spark_op_desc& d) {
    const uint32_t none = 0xffffffffu;
    const auto size = [&](const char* what, uint32_t value) {
        damaged(d, none, what, {SPARK_ERR_INVALID_STRUCT_SIZE}, [=](auto& e) { e.head()->struct_size = value; });
    };
    size("struct_size 0", 0);
    size("struct_size 8", 8);
    size("struct_size below the first", d.first_size - 1);
    damaged(d, none, "struct_size over 8192", {SPARK_ERR_INVALID_STRUCT_SIZE}, [](auto& e) {
        e.bytes().resize(9000);
        e.head()->struct_size = 8193;
    });
    for (uint32_t tail = 0; tail < 64; ++tail)
        damaged(d, none, "a newer caller's field is set", {SPARK_ERR_INVALID_STRUCT_SIZE}, [&](auto& e) {
            e.bytes().resize(d.args_size + 64);
            e.head()->struct_size = d.args_size + 64;
            e.bytes()[d.args_size + tail] = std::byte{1};
        });
    for (uint32_t bit = 0; bit < 32; ++bit)
        if (!(d.given_mask >> bit & 1))
            damaged(d, none, "unknown bit of given", {SPARK_ERR_INVALID_RESERVED},
                    [=](auto& e) { e.head()->given = 1u << bit; });
    damaged(d, none, "next", {SPARK_ERR_INVALID_RESERVED}, [](auto& e) { e.head()->next = 1; });
    for (uint32_t bit = 0; bit < 32; ++bit)
        if (!(d.flags_mask >> bit & 1))
            damaged(d, none, "unknown flag", {SPARK_ERR_INVALID_RESERVED},
                    [=](auto& e) { e.head()->flags |= 1u << bit; });
    for (uint32_t op : {0u, 3000u, 0x8000u, 0xffffffffu})
        damaged(d, none, "no such operator", {SPARK_ERR_UNSUPPORTED_OP}, [=](auto& e) { e.head()->op = op; });
}

void every_field_of_every_operator(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        const spark_op_desc& d = *spark_op_at(i);
        head(d);
        for (uint32_t f = 0; f < d.num_fields; ++f) {
            if (api::field(d, f).kind != SPARK_KIND_TENSOR) {
                scalar(d, f);
                continue;
            }
            presence(d, f), dtypes(d, f), pairs(d, f), ranks(d, f), dimensions(d, f), agreement(d, f), strides(d, f);
            addresses(d, f), reserved(d, f), needs(d, f);
        }
    }
    print_message("%d damaged calls, each refused with a sentence\n", g_cases);
}

// The undamaged calls must pass, or every refusal above would prove nothing.
void right_calls_pass(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i)
        for (bool optional_fields : {true, false})
            for (bool optional_dims : {false, true}) {
                api::Arena arena(g_ctx);
                api::Options options;
                options.optional_fields = optional_fields;
                options.optional_dims = optional_dims;
                api::Example e(*spark_op_at(i), arena, options);
                const Verdict v = call(e.head(), false);
                // An operator may demand an optional tensor through its flags; it then says which.
                if (v.status != SPARK_OK && !(v.status == SPARK_ERR_INVALID_NULL && !optional_fields))
                    fail_msg("%s: %s", spark_op_at(i)->name, v.err.message);
                if (v.status != SPARK_OK) continue;
                e.bytes().resize(e.bytes().size() + 64); // a newer caller that sets nothing new
                e.head()->struct_size += 64;
                assert_int_equal(call(e.head(), true).status, SPARK_OK);
                assert_int_equal(spark_stream_synchronize(g_ctx, 0, nullptr), SPARK_OK);
            }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(right_calls_pass), cmocka_unit_test(every_field_of_every_operator)};
    return cmocka_run_group_tests_name("api.negative", tests, set_up, tear_down);
}
