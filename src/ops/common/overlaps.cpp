// SPDX-License-Identifier: Apache-2.0
// What an operator writes may be read nowhere else: pairs of an output and another tensor, after each alone is sound.
// The last of validate's rules.
#include "ops/common/validate.h"

namespace spark {
namespace {

unsigned long long ull(uint64_t value) { return static_cast<unsigned long long>(value); }

bool may_alias(const spark_field& out, uint32_t in) { return (out.alias_mask >> in & 1) != 0; }

// The same elements in the same places.
bool congruent(const View& a, const View& b) {
    if (a.data != b.data || a.dtype != b.dtype || a.ndim != b.ndim) return false;
    for (uint32_t d = 0; d < a.ndim; ++d) {
        if (a.shape[d] != b.shape[d] || (a.shape[d] > 1 && a.stride[d] != b.stride[d])) return false;
    }
    return true;
}

bool in_memory(const View& v) { return v.present && v.bytes != 0 && v.data != 0; }

// What stands beside a quantised tensor.
struct Beside {
    uint32_t field;
    const char* what;
    spark_devptr data;
    uint64_t bytes;
    bool written;

    bool meets(spark_devptr other, uint64_t count) const { return data < other + count && other < data + bytes; }
};
constexpr uint32_t MOST_BESIDE = 3 * MAX_FIELDS;

uint32_t all_beside(const ValidatedArgs& bound, Beside* list) {
    std::span<const spark_field> fields = bound.spec->fields;
    uint32_t count = 0;
    for (uint32_t i = 0; i < fields.size(); ++i) {
        const View& v = bound.view[i];
        if (fields[i].num_forms == 0 || !in_memory(v) || v.quant.form == nullptr) continue;
        const QuantView& q = v.quant;
        const bool written = (fields[i].flags & SPARK_FIELD_OUT) != 0;
        const Beside found[] = {{i, "scale", q.scale, q.scale_bytes, written},
                                {i, "zero_point", q.zero_point, q.zero_bytes, written},
                                {i, "global_scale", q.global_scale, q.global_bytes, written}};
        for (const Beside& b : found) {
            if (b.data != 0 && b.bytes != 0) list[count++] = b;
        }
    }
    return count;
}

spark_status fail(const ValidatedArgs& bound, Report& report, const Beside& b, uint32_t other, const char* part) {
    const spark_field* fields = bound.spec->fields.data();
    return report.fail_field(SPARK_ERR_INVALID_OVERLAP, b.field,
                             "%s.quant.%s at 0x%llx (%llu bytes) overlaps %s%s; it must not", fields[b.field].name,
                             b.what, ull(b.data), ull(b.bytes), fields[other].name, part);
}

// Scales that are written lie apart from everything, those that are read from every output.
spark_status check_beside(const ValidatedArgs& bound, Report& report) {
    Beside list[MOST_BESIDE];
    const uint32_t count = all_beside(bound, list);
    for (uint32_t i = 0; i < count; ++i) {
        const Beside& b = list[i];
        for (uint32_t f = 0; f < bound.spec->fields.size(); ++f) {
            const View& v = bound.view[f];
            const bool matters = b.written || (bound.spec->fields[f].flags & SPARK_FIELD_OUT) != 0;
            if (matters && in_memory(v) && b.meets(v.data, v.bytes)) return fail(bound, report, b, f, "");
        }
        for (uint32_t j = 0; j < i; ++j) {
            const bool matters = b.written || list[j].written;
            if (matters && b.meets(list[j].data, list[j].bytes)) return fail(bound, report, b, list[j].field, ".quant");
        }
    }
    return SPARK_OK;
}

} // namespace

View memory_of_scales(const View& v) {
    View scales{};
    if (v.quant.form == nullptr || v.quant.scale == 0) return scales;
    scales.present = true;
    scales.ndim = 1, scales.elem_bits = 8;
    scales.data = v.quant.scale, scales.bytes = v.quant.scale_bytes;
    scales.shape[0] = scales.count = static_cast<int64_t>(scales.bytes);
    scales.stride[0] = 1;
    return scales;
}

spark_status check_overlaps(const ValidatedArgs& bound, Report& report) {
    std::span<const spark_field> fields = bound.spec->fields;
    for (uint32_t o = 0; o < fields.size(); ++o) {
        const View& out = bound.view[o];
        if (!in_memory(out) || (fields[o].flags & SPARK_FIELD_OUT) == 0) continue;
        for (uint32_t i = 0; i < fields.size(); ++i) {
            const View& other = bound.view[i];
            const bool earlier_output = (fields[i].flags & SPARK_FIELD_OUT) != 0 && i < o;
            if (i == o || earlier_output || !in_memory(other) || disjoint(out, other)) continue;
            const bool alias = may_alias(fields[o], i);
            if (alias && congruent(out, other)) continue;
            return report.fail_field(
                SPARK_ERR_INVALID_OVERLAP, o, "%s at 0x%llx (%llu bytes) overlaps %s at 0x%llx (%llu bytes)%s",
                fields[o].name, ull(out.data), ull(out.bytes), fields[i].name, ull(other.data), ull(other.bytes),
                alias ? "; in place wants equal address, dtype, shape and strides" : "; it must not");
        }
    }
    return check_beside(bound, report);
}

} // namespace spark
