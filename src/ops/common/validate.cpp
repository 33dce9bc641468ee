// SPDX-License-Identifier: Apache-2.0
// Checks every field of an operator's arguments against its description. One function per rule; each failing
// sentence names the argument, the value found and the value wanted.
#include "ops/common/validate.h"

#include <cstdio>
#include <cstring>

#include "core/dtype.h"
#include "ops/common/letters.h"

namespace spark {
namespace {

// 8 PiB, more than a process can address: sizes of one tensor may be multiplied with small numbers without a look.
constexpr int64_t MAX_BITS = int64_t{1} << 56;

// By memcmp, which takes 32 bytes at a time: most tensors of a call are absent, and a loop took a third of its check.
template <class T> bool all_zero(const T& object) {
    static constexpr T ZERO{};
    return memcmp(&object, &ZERO, sizeof object) == 0;
}

// "2 to 3", or "1" where there is no other.
const char* ranks(const spark_field& f, char (&text)[24]) {
    if (f.min_ndim == f.max_ndim) snprintf(text, sizeof text, "%u", f.min_ndim);
    else snprintf(text, sizeof text, "%u to %u", f.min_ndim, f.max_ndim);
    return text;
}

long long ll(int64_t value) { return static_cast<long long>(value); }
unsigned long long ull(uint64_t value) { return static_cast<unsigned long long>(value); }

class Validator {
public:
    Validator(const OpSpec& spec, std::byte* args, bool at_launch, ValidatedArgs& out, Report& report)
        : spec_(spec), fields_(spec.fields.data()), args_(args), at_launch_(at_launch), out_(out), report_(report) {}

    spark_status run() {
        if (spark_status s = head()) return s;
        uint32_t count = spec_.desc->num_fields;
        for (uint32_t i = 0; i < count; ++i) {
            if (spark_status s = field(i)) return s;
        }
        for (uint32_t i = 0; i < count; ++i) {
            if (fields_[i].kind != SPARK_KIND_TENSOR || !out_.view[i].present) continue;
            if (spark_status s = relations(i)) return s;
        }
        return check_overlaps(out_, report_);
    }

private:
    const OpSpec& spec_;
    const spark_field* fields_;
    std::byte* args_;
    bool at_launch_;
    ValidatedArgs& out_;
    Report& report_;
    ShapeLetters letters_{spec_, out_, report_};
    uint32_t given_ = 0;

    uint32_t scalar(uint32_t i) const {
        uint32_t value;
        memcpy(&value, args_ + fields_[i].offset, sizeof value);
        return value;
    }

    spark_status head() {
        spark_args h;
        memcpy(&h, args_, sizeof h);
        if (uint32_t unknown = h.given & ~spec_.desc->given_mask) {
            return report_.fail(SPARK_ERR_INVALID_RESERVED, "hdr.given has the unknown bits 0x%x; allowed are 0x%x",
                                unknown, spec_.desc->given_mask);
        }
        if (h.next != 0) return report_.fail(SPARK_ERR_INVALID_RESERVED, "hdr.next is %llu; 0 wanted", ull(h.next));
        if (uint32_t unknown = h.flags & ~spec_.desc->flags_mask) {
            return report_.fail(SPARK_ERR_INVALID_RESERVED, "hdr.flags has the unknown bits 0x%x; allowed are 0x%x",
                                unknown, spec_.desc->flags_mask);
        }
        out_.spec = &spec_;
        out_.args = args_;
        out_.flags = h.flags;
        out_.defaulted = 0;
        given_ = h.given;
        out_.at_launch = at_launch_;
        return SPARK_OK;
    }

    spark_status field(uint32_t i) {
        const spark_field& f = fields_[i];
        if (f.kind == SPARK_KIND_TENSOR) return tensor(i);
        out_.view[i].present = false;
        if (f.kind == SPARK_KIND_RESERVED && scalar(i) != 0) {
            return report_.fail_field(SPARK_ERR_INVALID_RESERVED, i, "%s is %u; 0 wanted", f.name, scalar(i));
        }
        if (f.given != 0) fill_default(i);
        if (f.kind == SPARK_KIND_ENUM) return enumeration(i);
        return SPARK_OK;
    }

    // A scalar that is 0 and not marked as given takes its default: here where that is a number, in the operator's own
    // check where it follows from shapes.
    void fill_default(uint32_t i) {
        const spark_field& f = fields_[i];
        std::byte* at = args_ + f.offset;
        uint64_t value = 0;
        memcpy(&value, at, f.size);
        if ((given_ & f.given) != 0 || value != 0) return;
        out_.defaulted |= uint64_t{1} << i;
        switch (f.kind) {
        case SPARK_KIND_F32: put(at, static_cast<float>(f.default_value)); break;
        case SPARK_KIND_I32:
        case SPARK_KIND_U32:
        case SPARK_KIND_ENUM: put(at, static_cast<uint32_t>(static_cast<int64_t>(f.default_value))); break;
        default: put(at, static_cast<int64_t>(f.default_value)); break;
        }
    }

    template <class T> static void put(std::byte* at, T value) { memcpy(at, &value, sizeof value); }

    // choices is "NONE=0 SILU=1": the value must stand behind one of the '='.
    spark_status enumeration(uint32_t i) {
        uint32_t value = scalar(i);
        for (const char* p = strchr(fields_[i].choices, '='); p != nullptr; p = strchr(p + 1, '=')) {
            uint32_t known = 0;
            for (const char* d = p + 1; *d >= '0' && *d <= '9'; ++d)
                known = known * 10 + static_cast<uint32_t>(*d - '0');
            if (known == value) return SPARK_OK;
        }
        return report_.fail_field(SPARK_ERR_INVALID_VALUE, i, "%s is %u; wanted one of %s", fields_[i].name, value,
                                  fields_[i].choices);
    }

    spark_status tensor(uint32_t i) {
        const spark_field& f = fields_[i];
        const auto& t = *reinterpret_cast<const spark_tensor*>(args_ + f.offset);
        View& v = out_.view[i];
        v.present = t.ndim != 0;
        if (!v.present) {
            if (!all_zero(t)) {
                char wanted[24];
                return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i, "%s.ndim is 0; %s wanted (absent: all zero)",
                                          f.name, ranks(f, wanted));
            }
            v.data = 0, v.count = 0, v.bytes = 0, v.quant.form = nullptr; // the rest has no meaning
            if ((f.flags & SPARK_FIELD_OPTIONAL) != 0) return SPARK_OK;
            return report_.fail_field(SPARK_ERR_INVALID_NULL, i, "%s is absent; %s wanted", f.name, f.shape);
        }
        if (spark_status s = unused(i, t)) return s;
        if (spark_status s = dtype(i, t)) return s;
        if (spark_status s = shape(i, t)) return s;
        if (spark_status s = strides(i, t)) return s;
        if (spark_status s = letters_.bind(i, t.quant)) return s;
        if (spark_status s = memory(i, t)) return s;
        if (spark_status s = validate_quant(spec_, i, t, at_launch_, v.quant, report_)) return s;
        return layout(i);
    }

    spark_status unused(uint32_t i, const spark_tensor& t) {
        const char* name = fields_[i].name;
        if (t.flags != 0) {
            return report_.fail_field(SPARK_ERR_INVALID_RESERVED, i, "%s.flags is %u; 0 wanted", name, t.flags);
        }
        if (t.reserved != 0) {
            return report_.fail_field(SPARK_ERR_INVALID_RESERVED, i, "%s.reserved is %u; 0 wanted", name, t.reserved);
        }
        return SPARK_OK;
    }

    spark_status dtype(uint32_t i, const spark_tensor& t) {
        const spark_field& f = fields_[i];
        DtypeInfo info = dtype_info(raw(t.dtype));
        char list[96];
        if (info.name == nullptr) {
            return report_.fail_field(SPARK_ERR_INVALID_DTYPE, i, "%s.dtype is %u, which is no dtype; wanted %s%s%s",
                                      f.name, raw(t.dtype), dtype_list(f.dtype_mask, list, sizeof list),
                                      f.dtype_as == NO_FIELD ? ""
                                      : f.dtype_mask != 0    ? " or as "
                                                             : "the same as ",
                                      f.dtype_as == NO_FIELD ? "" : fields_[f.dtype_as].name);
        }
        View& v = out_.view[i];
        v.dtype = raw(t.dtype);
        v.elem_bits = info.bits;
        if (f.dtype_as == NO_FIELD && (f.dtype_mask >> v.dtype & 1) == 0) {
            return report_.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, i, "%s.dtype is %s; wanted %s", f.name, info.name,
                                      dtype_list(f.dtype_mask, list, sizeof list));
        }
        return SPARK_OK;
    }

    spark_status shape(uint32_t i, const spark_tensor& t) {
        const spark_field& f = fields_[i];
        View& v = out_.view[i];
        if (t.ndim < f.min_ndim || t.ndim > f.max_ndim) {
            char wanted[24];
            return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i, "%s.ndim is %u; %s wanted: %s", f.name, t.ndim,
                                      ranks(f, wanted), f.shape);
        }
        v.ndim = t.ndim;
        v.count = 1;
        int64_t product = 1; // as if empty dimensions had one element: no stride may overflow either
        for (uint32_t d = 0; d < SPARK_MAX_NDIM; ++d) {
            v.shape[d] = t.shape[d];
            if (d < t.ndim ? t.shape[d] < 0 : t.shape[d] != 0) {
                return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i, "%s.shape[%u] is %lld; %s", f.name, d,
                                          ll(t.shape[d]), d < t.ndim ? "0 or more wanted" : "0 wanted from ndim on");
            }
            if (d >= t.ndim) continue;
            v.count *= t.shape[d] != 0;
            if (__builtin_mul_overflow(product, t.shape[d] == 0 ? 1 : t.shape[d], &product) ||
                product > MAX_BITS / static_cast<int64_t>(v.elem_bits)) {
                return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i, "%s.shape[0..%u] has a product above 2^56 bits",
                                          f.name, d);
            }
        }
        v.count *= product;
        return SPARK_OK;
    }

    // A stride that leads from no element to another has no meaning: the view gets that of a packed tensor.
    spark_status strides(uint32_t i, const spark_tensor& t) {
        const spark_field& f = fields_[i];
        View& v = out_.view[i];
        v.has_optional = spec_.dims[i][0].kind == Dim::optional && v.ndim == spec_.dims[i].size();
        const bool packed = v.count == 0 || all_zero(t.stride);
        int64_t next = 1, reach = 1;
        for (uint32_t d = SPARK_MAX_NDIM; d-- > 0;) {
            if (d >= v.ndim && t.stride[d] != 0) {
                return report_.fail_field(SPARK_ERR_INVALID_STRIDE, i, "%s.stride[%u] is %lld; 0 wanted from ndim on",
                                          f.name, d, ll(t.stride[d]));
            }
            v.stride[d] = d >= v.ndim ? 0 : packed || v.shape[d] == 1 ? next : t.stride[d];
            if (d >= v.ndim) continue;
            next *= v.shape[d] == 0 ? 1 : v.shape[d];
            if (spark_status s = stride(i, d, reach)) return s;
        }
        v.bytes = v.count == 0 ? 0 : (static_cast<uint64_t>(reach) * v.elem_bits + 7) / 8;
        return SPARK_OK;
    }

    // One stride; reach: elements from the first to one beyond the last.
    spark_status stride(uint32_t i, uint32_t d, int64_t& reach) {
        const spark_field& f = fields_[i];
        const View& v = out_.view[i];
        const int64_t stride = v.stride[d], steps = v.shape[d] > 0 ? v.shape[d] - 1 : 0;
        if (stride < 0) {
            return report_.fail_field(SPARK_ERR_INVALID_STRIDE, i, "%s.stride[%u] is %lld; 0 or more wanted", f.name, d,
                                      ll(stride));
        }
        if (stride == 0 && (f.flags & SPARK_FIELD_BROADCAST) == 0) {
            return report_.fail_field(SPARK_ERR_INVALID_STRIDE, i,
                                      "%s.stride[%u] is 0 with %lld elements; 1 or more wanted (all strides 0: packed)",
                                      f.name, d, ll(v.shape[d]));
        }
        int64_t span;
        if (__builtin_mul_overflow(stride, steps, &span) || __builtin_add_overflow(reach, span, &reach) ||
            reach > MAX_BITS / static_cast<int64_t>(v.elem_bits)) {
            return report_.fail_field(SPARK_ERR_INVALID_STRIDE, i,
                                      "%s.stride[%u] is %lld; with %lld elements it reaches beyond 2^56 bits", f.name,
                                      d, ll(stride), ll(v.shape[d]));
        }
        return SPARK_OK;
    }

    spark_status memory(uint32_t i, const spark_tensor& t) {
        const spark_field& f = fields_[i];
        View& v = out_.view[i];
        v.data = v.count == 0 ? NOWHERE : t.data;
        if (v.count == 0) return SPARK_OK;
        uint64_t align = f.align != 0 ? f.align : v.elem_bits >= 8 ? v.elem_bits / 8 : 1;
        if (t.data % align != 0) {
            return report_.fail_field(SPARK_ERR_INVALID_ALIGNMENT, i,
                                      "%s.data is 0x%llx, %llu-byte aligned; %llu wanted", f.name, ull(t.data),
                                      ull(t.data & -t.data), ull(align));
        }
        if (t.data == 0 && at_launch_) {
            return report_.fail_field(SPARK_ERR_INVALID_NULL, i, "%s.data is 0; a device address wanted", f.name);
        }
        if (t.size_bytes != 0 && t.size_bytes < v.bytes) {
            return report_.fail_field(SPARK_ERR_INVALID_BOUNDS, i,
                                      "%s.size_bytes is %llu; its shape and strides reach "
                                      "%llu",
                                      f.name, ull(t.size_bytes), ull(v.bytes));
        }
        if (v.bytes > UINT64_MAX - t.data) {
            return report_.fail_field(SPARK_ERR_INVALID_BOUNDS, i,
                                      "%s.data is 0x%llx and its %llu bytes pass the end of "
                                      "the address space",
                                      f.name, ull(t.data), ull(v.bytes));
        }
        return SPARK_OK;
    }

    spark_status layout(uint32_t i) {
        const spark_field& f = fields_[i];
        const View& v = out_.view[i];
        int64_t packed = 1;
        for (uint32_t d = v.ndim; d-- > 0;) {
            bool tied =
                (f.flags & SPARK_FIELD_PACKED) != 0 || ((f.flags & SPARK_FIELD_UNIT_STRIDE) != 0 && d + 1 == v.ndim);
            if (tied && v.shape[d] > 1 && v.stride[d] != packed) {
                return report_.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, i, "%s.stride[%u] is %lld; %lld wanted", f.name,
                                          d, ll(v.stride[d]), ll(packed));
            }
            packed *= v.shape[d] == 0 ? 1 : v.shape[d];
        }
        return (f.flags & SPARK_FIELD_OUT) != 0 && v.count != 0 ? self_overlap(i) : SPARK_OK;
    }

    spark_status self_overlap(uint32_t i) {
        const View& v = out_.view[i];
        int64_t reach = 0;
        uint32_t d = overlapping_dim(v.shape, v.stride, v.ndim, reach);
        if (d == v.ndim) return SPARK_OK;
        return report_.fail_field(SPARK_ERR_INVALID_STRIDE, i,
                                  "%s.stride[%u] is %lld; more than %lld wanted, or elements of this output overlap",
                                  fields_[i].name, d, ll(v.stride[d]), ll(reach));
    }

    // What ties one tensor to another: equal dtypes, needs, and the batch dimension of outputs.
    spark_status relations(uint32_t i) {
        const spark_field& f = fields_[i];
        const View& v = out_.view[i];
        if (f.dtype_as != NO_FIELD && out_.view[f.dtype_as].present && v.dtype != out_.view[f.dtype_as].dtype &&
            (f.dtype_mask >> v.dtype & 1) == 0) {
            char list[96];
            const char* other = fields_[f.dtype_as].name;
            return report_.fail_field(SPARK_ERR_INVALID_DTYPE, i, "%s.dtype is %s; wanted %s, as %s%s%s", f.name,
                                      dtype_info(v.dtype).name, dtype_info(out_.view[f.dtype_as].dtype).name, other,
                                      f.dtype_mask != 0 ? ", or " : "", dtype_list(f.dtype_mask, list, sizeof list));
        }
        for (uint64_t needed = f.needs_mask; needed != 0; needed &= needed - 1) {
            auto other = static_cast<uint32_t>(__builtin_ctzll(needed));
            if (out_.view[other].present) continue;
            return report_.fail_field(SPARK_ERR_INVALID_NULL, other, "%s is absent; wanted, since %s is given",
                                      fields_[other].name, f.name);
        }
        const Dim& first = spec_.dims[i][0];
        if (first.kind == Dim::optional && !v.has_optional && (f.flags & SPARK_FIELD_OUT) != 0 &&
            out_.symbol[first.value] >= 0) {
            return report_.fail_field(SPARK_ERR_INVALID_SHAPE, i, "%s.ndim is %u; %u wanted, since %s.ndim is %u",
                                      f.name, v.ndim, v.ndim + 1, fields_[letters_.owner(first.value)].name,
                                      out_.view[letters_.owner(first.value)].ndim);
        }
        return SPARK_OK;
    }
};

} // namespace

int64_t View::alignment() const {
    uint64_t bits = data | 256;
    return static_cast<int64_t>(bits & -bits);
}

spark_status validate(const OpSpec& spec, std::byte* args, bool at_launch, ValidatedArgs& out, Report& report) {
    return Validator(spec, args, at_launch, out, report).run();
}

} // namespace spark
