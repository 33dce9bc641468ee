// SPDX-License-Identifier: Apache-2.0
// Checks how a quantised tensor is scaled. One function per rule, as in validate.cpp.
#include "ops/common/quant.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "core/divide.h"
#include "core/dtype.h"

namespace spark {
namespace {

constexpr int64_t TILE_ROWS = 128, TILE_COLUMNS = 4;
constexpr int64_t MOST_SCALES = int64_t{1} << 51; // 8 PiB of F32

unsigned long long ull(uint64_t value) { return static_cast<unsigned long long>(value); }
// What GGUF files call the types that stand in a record's number. Most have a form here, and no operator takes all; the
// others (IQ1 to IQ3, TQ, and those that only products make on their way) are refused by these names.
constexpr const char* GGUF_TYPES[] = {
    nullptr, nullptr,  "Q4_0",  "Q4_1",  nullptr, nullptr,   "Q5_0",   "Q5_1",    "Q8_0",  "Q8_1",   "Q2_K",
    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S",
    "IQ2_S", "IQ4_XS", nullptr, nullptr, nullptr, nullptr,   nullptr,  "IQ1_M",   nullptr, nullptr,  nullptr,
    nullptr, "TQ1_0",  "TQ2_0", nullptr, nullptr, nullptr,   "MXFP4",  "NVFP4"};
const char* gguf_type(uint32_t record) { return record < std::size(GGUF_TYPES) ? GGUF_TYPES[record] : nullptr; }

bool has(uint64_t mask, uint32_t bit) { return bit < 64 && (mask >> bit & 1) != 0; }

class QuantValidator {
public:
    QuantValidator(const OpSpec& spec, uint32_t field, const spark_tensor& t, bool at_launch, QuantView& out,
                   Report& report)
        : forms_(spec.forms[field]), name_(spec.fields[field].name), op_(spec.desc->name), field_(field), t_(t),
          q_(t.quant), written_((spec.fields[field].flags & SPARK_FIELD_OUT) != 0), at_launch_(at_launch), out_(out),
          report_(report) {}

    spark_status run() {
        out_.form = nullptr;
        if (is_zero()) return SPARK_OK;
        out_ = {};
        if (forms_.empty()) {
            return report_.fail_field(SPARK_ERR_INVALID_RESERVED, field_,
                                      "%s.quant is set; %s takes no quantised %s, all of it must be 0", name_, op_,
                                      name_);
        }
        if (spark_status s = unused()) return s;
        for (const spark_quant_form& form : forms_) {
            if (broken(form) == NOTHING) out_.form = &form;
        }
        if (out_.form == nullptr) return no_form();
        if (raw(q_.scheme) == SPARK_QUANT_RECORD) return SPARK_OK;
        if (spark_status s = grid()) return s;
        return memory();
    }

private:
    std::span<const spark_quant_form> forms_;
    const char *name_, *op_;
    uint32_t field_;
    const spark_tensor& t_;
    const spark_quant& q_;
    bool written_, at_launch_;
    QuantView& out_;
    Report& report_;

    bool is_zero() const {
        uint64_t words[sizeof q_ / sizeof(uint64_t)], any = 0;
        memcpy(words, &q_, sizeof words);
        for (uint64_t word : words) any |= word;
        return any == 0;
    }

    // What the scheme and the layout leave without a meaning must be 0.
    spark_status unused() {
        bool record = raw(q_.scheme) == SPARK_QUANT_RECORD, block = raw(q_.scheme) == SPARK_QUANT_BLOCK;
        bool tiled = raw(q_.scale_layout) == SPARK_SCALE_TILED_128X4;
        const char* what = nullptr;
        for (uint32_t d = 0; d < SPARK_MAX_NDIM; ++d) {
            if (q_.block[d] != 0 && (!block || d >= t_.ndim)) what = "block";
            if (q_.scale_stride[d] != 0 && (record || d >= t_.ndim)) what = "scale_stride";
        }
        if (!record && q_.record != 0) what = "record";
        if (!tiled && (q_.tile[0] | q_.tile[1]) != 0) what = "tile";
        if (raw(q_.zero_dtype) == 0 && (q_.zero_point | q_.zero_bytes) != 0) what = "zero_point without zero_dtype";
        if (q_.global_scale == 0 && q_.global_stride != 0) what = "global_stride without global_scale";
        if (record && (q_.scale | q_.scale_bytes | q_.global_scale | raw(q_.scale_dtype) | raw(q_.scale_layout) |
                       raw(q_.zero_dtype)) != 0) {
            what = "a scale although the scales stand in the records";
        }
        if (what == nullptr) return SPARK_OK;
        return report_.fail_field(SPARK_ERR_INVALID_RESERVED, field_,
                                  "%s.quant sets %s, which its scheme %u does not "
                                  "read; 0 wanted",
                                  name_, what, raw(q_.scheme));
    }

    // The block of dimension d as BLOCK would say it; 0 = the whole dimension.
    uint32_t block_of(uint32_t d) const {
        switch (raw(q_.scheme)) {
        case SPARK_QUANT_PER_ROW: return d + 1 < t_.ndim ? 1 : 0;
        case SPARK_QUANT_BLOCK: return q_.block[d];
        default: return 0;
        }
    }

    // What a form asks for, in the order in which it is looked at; NOTHING that is not there: it is this form.
    enum Rule { SCHEME, PARTS, DTYPE, SCALE_DTYPE, LAYOUT, ZERO_DTYPE, GLOBAL_SCALE, NOTHING };
    Rule broken(const spark_quant_form& form) const {
        if (form.scheme != raw(q_.scheme)) return SCHEME;
        if (form.scheme == SPARK_QUANT_RECORD && form.record != q_.record) return PARTS;
        if (form.scheme == SPARK_QUANT_BLOCK && other_blocks(form) != 0) return PARTS;
        if (!has(form.dtype_mask, raw(t_.dtype))) return DTYPE;
        if (form.scheme == SPARK_QUANT_RECORD) return NOTHING;
        if (!has(form.scale_dtype_mask, raw(q_.scale_dtype))) return SCALE_DTYPE;
        if (!has(form.layout_mask, raw(q_.scale_layout))) return LAYOUT;
        if (raw(q_.zero_dtype) != 0 && !has(form.zero_dtype_mask, raw(q_.zero_dtype))) return ZERO_DTYPE;
        return q_.global_scale != 0 && (form.flags & SPARK_FORM_GLOBAL_SCALE) == 0 ? GLOBAL_SCALE : NOTHING;
    }

    // The block that a form has along dimension d, and along how many there is another.
    uint32_t block_wanted(const spark_quant_form& form, uint32_t d) const {
        const uint32_t first = t_.ndim - form.num_blocks;
        return d < first ? 1 : form.block[d - first];
    }
    uint32_t other_blocks(const spark_quant_form& form) const {
        if (t_.ndim < form.num_blocks) return SPARK_MAX_NDIM;
        uint32_t others = 0;
        for (uint32_t d = 0; d < t_.ndim; ++d) others += q_.block[d] != block_wanted(form, d);
        return others;
    }
    // How near it is to a form: how much of what the form asks for is there.
    uint32_t nearness(const spark_quant_form& form) const {
        const Rule rule = broken(form);
        const bool blocks = rule == PARTS && form.scheme == SPARK_QUANT_BLOCK;
        return (rule + 1) * (SPARK_MAX_NDIM + 1) - (blocks ? other_blocks(form) : 0);
    }

    // A field that is not what a form asks for: its name, its value and what is wanted, as text.
    struct Broken {
        char field[32], value[32], wanted[96];
    };
    static void put(Broken& text, const char* field, const char* value, const char* wanted) {
        snprintf(text.field, sizeof text.field, "%s", field);
        snprintf(text.value, sizeof text.value, "%s", value);
        snprintf(text.wanted, sizeof text.wanted, "%s", wanted);
    }
    static void put(Broken& text, const char* field, uint32_t value, uint32_t wanted) {
        snprintf(text.field, sizeof text.field, "%s", field);
        snprintf(text.value, sizeof text.value, "%u", value);
        snprintf(text.wanted, sizeof text.wanted, "%u", wanted);
    }
    static void put_dtypes(Broken& text, const char* field, uint32_t value, uint64_t mask) {
        const char* name = value == 0 ? "0" : dtype_info(value).name;
        char list[sizeof text.wanted];
        put(text, field, name != nullptr ? name : "no dtype", mask == 0 ? "0" : dtype_list(mask, list, sizeof list));
    }

    void put_block(const spark_quant_form& form, Broken& text) const {
        if (t_.ndim < form.num_blocks) return put(text, "ndim", t_.ndim, form.num_blocks);
        for (uint32_t d = 0; d < t_.ndim; ++d) {
            const uint32_t wanted = block_wanted(form, d);
            if (q_.block[d] == wanted) continue;
            put(text, "", q_.block[d], wanted);
            snprintf(text.field, sizeof text.field, "quant.block[%u]", d);
            return;
        }
    }

    void put_zero_dtype(const spark_quant_form& form, Broken& text) const {
        const uint32_t dtype = raw(q_.zero_dtype);
        put_dtypes(text, "quant.zero_dtype", dtype, form.zero_dtype_mask);
        if (dtype < SPARK_DTYPE_F32 || dtype > SPARK_DTYPE_BF16) return;
        snprintf(text.value, sizeof text.value, "%s, as HQQ has zeros", dtype_info(dtype).name);
    }

    void put_broken(const spark_quant_form& form, Broken& text) const {
        switch (broken(form)) {
        case SCHEME: return put(text, "quant.scheme", raw(q_.scheme), form.scheme);
        case PARTS: return put_block(form, text);
        case DTYPE: return put_dtypes(text, "dtype", raw(t_.dtype), form.dtype_mask);
        case SCALE_DTYPE: return put_dtypes(text, "quant.scale_dtype", raw(q_.scale_dtype), form.scale_dtype_mask);
        case LAYOUT:
            return put(text, "quant.scale_layout", raw(q_.scale_layout),
                       has(form.layout_mask, SPARK_SCALE_LINEAR) ? SPARK_SCALE_LINEAR : SPARK_SCALE_TILED_128X4);
        case ZERO_DTYPE: return put_zero_dtype(form, text);
        case GLOBAL_SCALE: return put(text, "quant.global_scale", "an address", "0");
        case NOTHING: return;
        }
    }

    // Names the field that keeps it from being the form that is nearest: the one that is broken last.
    spark_status no_form() {
        char list[256];
        size_t used = 0;
        list[0] = 0;
        const spark_quant_form* nearest = &forms_.front();
        for (const spark_quant_form& form : forms_) {
            if (nearness(form) > nearness(*nearest)) nearest = &form;
            if (used >= sizeof list) continue;
            int n = snprintf(list + used, sizeof list - used, "%s%s", used == 0 ? "" : ", ", form.name);
            used += n > 0 ? static_cast<size_t>(n) : 0;
        }
        Broken text{};
        if (raw(q_.scheme) == SPARK_QUANT_RECORD && broken(*nearest) == PARTS) {
            const char* type = gguf_type(q_.record);
            return report_.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, field_,
                                      "%s.quant.record is %u, %s%s, which is none of the forms that %s reads: %s "
                                      "(spark_op_form says what each is)",
                                      name_, q_.record, type != nullptr ? "GGUF's " : "no type of GGUF's",
                                      type != nullptr ? type : "", op_, list);
        }
        put_broken(*nearest, text);
        return report_.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, field_,
                                  "%s.%s is %s; %s wants %s, the nearest of the forms that %s reads: %s (spark_op_form "
                                  "says what each is)",
                                  name_, text.field, text.value, nearest->name, text.wanted, op_, list);
    }

    // Blocks along each dimension, and the strides between their scales.
    spark_status grid() {
        out_.scale_dtype = raw(q_.scale_dtype), out_.zero_dtype = raw(q_.zero_dtype);
        out_.layout = raw(q_.scale_layout);
        for (uint32_t d = 0; d < t_.ndim; ++d) {
            uint32_t block = block_of(d);
            out_.block[d] = block != 0 ? block : t_.shape[d] > 0 ? t_.shape[d] : 1;
            out_.blocks[d] = ceil_div(t_.shape[d], out_.block[d]);
        }
        bool tiled = out_.layout == SPARK_SCALE_TILED_128X4;
        if (tiled) {
            if (spark_status s = tile()) return s;
        }
        bool packed = true;
        for (int64_t stride : q_.scale_stride) packed = packed && stride == 0;
        int64_t next = tiled ? tile_area() : 1, reach = next;
        for (uint32_t d = t_.ndim; d-- > 0;) {
            bool inside = tiled && (d == out_.tile_rows || d == out_.tile_columns);
            if (spark_status s = step(d, inside, packed, next, reach)) return s;
        }
        if (reach > MOST_SCALES) {
            return report_.fail_field(SPARK_ERR_INVALID_STRIDE, field_,
                                      "%s.quant.scale_stride reaches beyond 2^51 scales", name_);
        }
        bool empty = false;
        for (uint32_t d = 0; d < t_.ndim; ++d) empty = empty || t_.shape[d] == 0;
        if (spark_status s = written_ && !empty ? apart() : SPARK_OK) return s;
        uint64_t count = empty ? 0 : static_cast<uint64_t>(reach);
        out_.scale_bytes = (count * dtype_info(out_.scale_dtype).bits + 7) / 8;
        out_.zero_bytes = (count * dtype_info(out_.zero_dtype).bits + 7) / 8;
        return globals(empty);
    }

    // Scales that are written have a place each.
    spark_status apart() {
        if (out_.layout == SPARK_SCALE_TILED_128X4) return tiles_apart();
        int64_t reach = 0;
        uint32_t d = overlapping_dim(out_.blocks, out_.stride, t_.ndim, reach);
        if (d == t_.ndim) return SPARK_OK;
        return report_.fail_field(SPARK_ERR_INVALID_STRIDE, field_,
                                  "%s.quant.scale_stride[%u] is %lld; more than %lld wanted, or scales of this output "
                                  "overlap",
                                  name_, d, static_cast<long long>(out_.stride[d]), static_cast<long long>(reach));
    }

    // The same of matrices in tiles: the places of whole ones, counted in their size.
    spark_status tiles_apart() {
        int64_t blocks[SPARK_MAX_NDIM], stride[SPARK_MAX_NDIM], reach = 0;
        const int64_t area = std::max<int64_t>(tile_area(), 1);
        for (uint32_t d = 0; d < t_.ndim; ++d) {
            blocks[d] = d == out_.tile_rows || d == out_.tile_columns ? 1 : out_.blocks[d];
            stride[d] = out_.stride[d] / area;
        }
        uint32_t d = overlapping_dim(blocks, stride, t_.ndim, reach);
        if (d == t_.ndim) return SPARK_OK;
        return report_.fail_field(SPARK_ERR_INVALID_STRIDE, field_,
                                  "%s.quant.scale_stride[%u] is %lld; %lld or more wanted, or tiles of scales of this "
                                  "output overlap",
                                  name_, d, static_cast<long long>(out_.stride[d]),
                                  static_cast<long long>((reach + 1) * area));
    }

    spark_status tile() {
        if (t_.ndim < 2) {
            return report_.fail_field(SPARK_ERR_INVALID_SHAPE, field_,
                                      "%s.ndim is %u; 2 or more wanted, since %s.quant.scale_layout is TILED_128X4",
                                      name_, t_.ndim, name_);
        }
        bool usual = (q_.tile[0] | q_.tile[1]) == 0;
        out_.tile_rows = usual ? t_.ndim - 2 : q_.tile[0];
        out_.tile_columns = usual ? t_.ndim - 1 : q_.tile[1];
        if (out_.tile_rows < t_.ndim && out_.tile_columns < t_.ndim && out_.tile_rows != out_.tile_columns)
            return SPARK_OK;
        return report_.fail_field(SPARK_ERR_INVALID_VALUE, field_,
                                  "%s.quant.tile is {%u, %u}; two dimensions below %u "
                                  "wanted",
                                  name_, q_.tile[0], q_.tile[1], t_.ndim);
    }

    int64_t tile_area() const {
        int64_t rows = ceil_div(out_.blocks[out_.tile_rows], TILE_ROWS) * TILE_ROWS;
        int64_t columns = ceil_div(out_.blocks[out_.tile_columns], TILE_COLUMNS) * TILE_COLUMNS, area;
        return __builtin_mul_overflow(rows, columns, &area) ? MOST_SCALES + 1 : area;
    }

    // One dimension of the strides; `next`: the packed one, `reach`: scales from the first to the last.
    spark_status step(uint32_t d, bool inside, bool packed, int64_t& next, int64_t& reach) {
        int64_t given = q_.scale_stride[d];
        if (given < 0 || (inside && given != 0)) {
            return report_.fail_field(SPARK_ERR_INVALID_STRIDE, field_, "%s.quant.scale_stride[%u] is %lld; %s", name_,
                                      d, static_cast<long long>(given),
                                      inside ? "0 wanted, since tiles say where its scales stand" : "0 or more wanted");
        }
        out_.stride[d] = inside ? 0 : packed ? next : given;
        if (inside) return SPARK_OK;
        int64_t most = out_.blocks[d] > 0 ? out_.blocks[d] - 1 : 0, span;
        if (__builtin_mul_overflow(out_.stride[d], most, &span) || __builtin_add_overflow(reach, span, &reach) ||
            __builtin_mul_overflow(next, most + 1, &next)) {
            reach = MOST_SCALES + 1, next = 1;
        }
        return SPARK_OK;
    }

    spark_status globals(bool empty) {
        out_.global_stride = q_.global_stride;
        int64_t count = t_.ndim > 0 && t_.shape[0] > 0 ? t_.shape[0] : 1, span;
        if (q_.global_stride < 0 || __builtin_mul_overflow(q_.global_stride, count - 1, &span) || span > MOST_SCALES) {
            return report_.fail_field(SPARK_ERR_INVALID_STRIDE, field_,
                                      "%s.quant.global_stride is %lld; 0 to 2^51 "
                                      "elements wanted in all",
                                      name_, static_cast<long long>(q_.global_stride));
        }
        if (q_.global_scale != 0 && !empty) out_.global_bytes = (static_cast<uint64_t>(span) + 1) * sizeof(float);
        return SPARK_OK;
    }

    spark_status memory() {
        out_.scale = q_.scale, out_.zero_point = q_.zero_point, out_.global_scale = q_.global_scale;
        if (spark_status s = array("scale", q_.scale, out_.scale_bytes, q_.scale_bytes, out_.scale_dtype)) return s;
        if (out_.zero_dtype != 0) {
            if (spark_status s = array("zero_point", q_.zero_point, out_.zero_bytes, q_.zero_bytes, out_.zero_dtype))
                return s;
        }
        return out_.global_scale == 0 ? SPARK_OK
                                      : array("global_scale", q_.global_scale, out_.global_bytes, 0, SPARK_DTYPE_F32);
    }

    spark_status array(const char* what, spark_devptr data, uint64_t needed, uint64_t told, uint32_t dtype) {
        uint64_t align = dtype_info(dtype).bits >= 8 ? dtype_info(dtype).bits / 8 : 1;
        if (data % align != 0) {
            return report_.fail_field(SPARK_ERR_INVALID_ALIGNMENT, field_,
                                      "%s.quant.%s is 0x%llx; a multiple of %llu "
                                      "wanted",
                                      name_, what, ull(data), ull(align));
        }
        if (data == 0 && at_launch_ && needed != 0) {
            return report_.fail_field(SPARK_ERR_INVALID_NULL, field_, "%s.quant.%s is 0; a device address wanted",
                                      name_, what);
        }
        if (needed > UINT64_MAX - data || (told != 0 && told < needed)) {
            return report_.fail_field(SPARK_ERR_INVALID_BOUNDS, field_,
                                      "%s.quant.%s is told to have %llu bytes at 0x%llx; "
                                      "%llu are read",
                                      name_, what, ull(told), ull(data), ull(needed));
        }
        return SPARK_OK;
    }
};

} // namespace

spark_status validate_quant(const OpSpec& spec, uint32_t field, const spark_tensor& t, bool at_launch, QuantView& out,
                            Report& report) {
    return QuantValidator(spec, field, t, at_launch, out, report).run();
}

} // namespace spark
