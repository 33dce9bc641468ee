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

static spark_status apart_from_scales(const Bound& bound, uint32_t o, uint32_t i, Report& report) {
    const View &out = bound.view[o], scales = memory_of_scales(bound.view[i]);
    if (scales.bytes == 0 || disjoint(out, scales)) return SPARK_OK;
    std::span<const spark_field> fields = bound.spec->fields;
    return report.fail_field(SPARK_ERR_INVALID_OVERLAP, o,
                             "%s at 0x%llx (%llu bytes) overlaps %s.quant.scale at 0x%llx (%llu bytes); it must not",
                             fields[o].name, ull(out.data), ull(out.bytes), fields[i].name, ull(scales.data),
                             ull(scales.bytes));
}

spark_status check_overlaps(const Bound& bound, Report& report) {
    std::span<const spark_field> fields = bound.spec->fields;
    for (uint32_t o = 0; o < fields.size(); ++o) {
        const View& out = bound.view[o];
        if (!in_memory(out) || (fields[o].flags & SPARK_FIELD_OUT) == 0) continue;
        for (uint32_t i = 0; i < fields.size(); ++i) {
            const View& other = bound.view[i];
            const bool earlier_output = (fields[i].flags & SPARK_FIELD_OUT) != 0 && i < o;
            if (in_memory(other) && other.quant.form != nullptr) {
                if (spark_status s = apart_from_scales(bound, o, i, report)) return s;
            }
            if (i == o || earlier_output || !in_memory(other) || disjoint(out, other)) continue;
            const bool alias = may_alias(fields[o], i);
            if (alias && congruent(out, other)) continue;
            return report.fail_field(SPARK_ERR_INVALID_OVERLAP, o,
                                     "%s at 0x%llx (%llu bytes) overlaps %s at 0x%llx (%llu bytes)%s", fields[o].name,
                                     ull(out.data), ull(out.bytes), fields[i].name, ull(other.data), ull(other.bytes),
                                     alias ? "; in place wants equal address, shape and strides" : "; it must not");
        }
    }
    return SPARK_OK;
}

} // namespace spark
