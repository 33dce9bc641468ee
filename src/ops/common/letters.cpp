// SPDX-License-Identifier: Apache-2.0
// Binds letters to sizes; each failing sentence names both fields.
#include "ops/common/letters.h"

namespace spark {
namespace {

long long ll(int64_t value) { return static_cast<long long>(value); }

// The form of a field's records; nullptr: it is none.
const spark_quant_form* records_of(std::span<const spark_quant_form> forms, const spark_quant& quant) {
    if (quant.scheme != SPARK_QUANT_RECORD) return nullptr;
    for (const spark_quant_form& form : forms) {
        if (form.scheme == SPARK_QUANT_RECORD && form.record == quant.record) return &form;
    }
    return nullptr;
}

// Elements in so many bytes of whole records; -1 where they are not whole.
int64_t elements_in(const spark_quant_form& form, int64_t bytes) {
    int64_t elements;
    const bool whole = bytes % form.record_bytes == 0;
    return whole && !__builtin_mul_overflow(bytes / form.record_bytes, form.record_elements, &elements) ? elements : -1;
}

// -1 where nothing could have so many; shapes are below 2^56.
int64_t doubled(int64_t size) { return size < 0 ? -1 : 2 * size; }

} // namespace

ShapeLetters::ShapeLetters(const OpSpec& spec, ValidatedArgs& out, Report& report)
    : spec_(spec), out_(out), report_(report) {
    for (int64_t& v : out_.symbol) v = -1;
}

spark_status ShapeLetters::bind(uint32_t i, const spark_quant& quant) {
    const spark_quant_form* records = records_of(spec_.forms[i], quant);
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
        if (back == 0 && records == nullptr && quant.scheme == SPARK_QUANT_RECORD) continue; // refused by its format
        const int64_t found = records != nullptr && back == 0 ? elements_in(*records, v.shape[d]) : v.shape[d];
        const int64_t size = (out_.flags & dim.halved) == 0 ? found : doubled(found);
        int64_t& bound = out_.symbol[dim.value];
        if (bound < 0) {
            bound = size < 0 ? v.shape[d] : size;
            owner_[dim.value] = i;
            dim_[dim.value] = d;
        } else if (bound != size) {
            return differ(i, d, dim, back == 0 ? records : nullptr);
        }
    }
    return SPARK_OK;
}

spark_status ShapeLetters::differ(uint32_t i, uint32_t d, const Dim& dim, const spark_quant_form* records) const {
    const int64_t found = out_.view[i].shape[d], bound = out_.symbol[dim.value];
    const char *name = spec_.fields[i].name, *owner = spec_.fields[owner_[dim.value]].name;
    const char* letter = spec_.symbols[static_cast<size_t>(dim.value)];
    if (records != nullptr) {
        return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i,
                                  "%s.shape[%u] is %lld but %s.shape[%u] is %lld, which is %s; whole records of %s "
                                  "wanted, %u bytes for %u elements each",
                                  name, d, ll(found), owner, dim_[dim.value], ll(bound), letter, records->name,
                                  records->record_bytes, records->record_elements);
    }
    if ((out_.flags & dim.halved) != 0 && bound % 2 != 0) {
        return report_.fail_field(SPARK_ERR_INVALID_SHAPE, owner_[dim.value],
                                  "%s.shape[%u] is %lld; an even number wanted, of which %s.shape[%u] is half", owner,
                                  dim_[dim.value], ll(bound), name, d);
    }
    if ((out_.flags & dim.halved) != 0) {
        return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i,
                                  "%s.shape[%u] is %lld but %s.shape[%u] is %lld; half of it wanted", name, d,
                                  ll(found), owner, dim_[dim.value], ll(bound));
    }
    return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i, "%s.shape[%u] is %lld but %s.shape[%u] is %lld; both are %s",
                              name, d, ll(found), owner, dim_[dim.value], ll(bound), letter);
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
