// SPDX-License-Identifier: Apache-2.0
// Binds letters to sizes; each failing sentence names both fields.
#include "ops/common/letters.h"

namespace spark {
namespace {

long long ll(int64_t value) { return static_cast<long long>(value); }

} // namespace

ShapeLetters::ShapeLetters(const OpSpec& spec, ValidatedArgs& out, Report& report)
    : spec_(spec), out_(out), report_(report) {
    for (int64_t& v : out_.symbol) v = -1;
}

spark_status ShapeLetters::bind(uint32_t i) {
    std::span<const Dim> dims = spec_.dims[i];
    View& v = out_.view[i];
    uint32_t fixed = static_cast<uint32_t>(dims.size()) - (dims[0].kind == Dim::rest);
    if (dims[0].kind == Dim::rest) {
        if (spark_status s = bind_rest(i, v.ndim - fixed)) return s;
    }
    uint32_t back =
        static_cast<uint32_t>(dims.size()); // position from the end, so that missing leading ones do not matter
    for (const Dim& dim : dims) {
        --back;
        if (dim.kind == Dim::rest || (dim.kind == Dim::optional && !v.has_optional)) continue;
        uint32_t d = v.ndim - 1 - back;
        if (dim.kind == Dim::literal) {
            if (v.shape[d] == dim.value) continue;
            return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i, "%s.shape[%u] is %lld; %d wanted",
                                      spec_.fields[i].name, d, ll(v.shape[d]), dim.value);
        }
        int64_t& bound = out_.symbol[dim.value];
        if (bound < 0) {
            bound = v.shape[d];
            owner_[dim.value] = i;
            dim_[dim.value] = d;
        } else if (bound != v.shape[d]) {
            return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i,
                                      "%s.shape[%u] is %lld but %s.shape[%u] is %lld; both "
                                      "are %s",
                                      spec_.fields[i].name, d, ll(v.shape[d]), spec_.fields[owner_[dim.value]].name,
                                      dim_[dim.value], ll(bound), spec_.symbols[static_cast<size_t>(dim.value)]);
        }
    }
    return SPARK_OK;
}

spark_status ShapeLetters::bind_rest(uint32_t i, uint32_t length) {
    uint32_t owner = rest_owner_;
    const View& v = out_.view[i];
    if (owner == NO_FIELD) {
        rest_owner_ = i;
        return SPARK_OK;
    }
    const View& first = out_.view[owner];
    uint32_t wanted = first.ndim - static_cast<uint32_t>(spec_.dims[owner].size()) + 1;
    if (length != wanted) {
        return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i, "%s.ndim is %u; %u wanted, since %s.ndim is %u",
                                  spec_.fields[i].name, v.ndim, v.ndim - length + wanted, spec_.fields[owner].name,
                                  first.ndim);
    }
    for (uint32_t d = 0; d < length; ++d) {
        if (v.shape[d] == first.shape[d]) continue;
        return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i,
                                  "%s.shape[%u] is %lld but %s.shape[%u] is %lld; they must "
                                  "be equal",
                                  spec_.fields[i].name, d, ll(v.shape[d]), spec_.fields[owner].name, d,
                                  ll(first.shape[d]));
    }
    return SPARK_OK;
}

} // namespace spark
