// SPDX-License-Identifier: Apache-2.0
// spark_dequantize_args, spark_quantize_args -> Records or Scaled, spark_amax_args -> Amax. What the description cannot
// say: how many bytes a row of records has, and which row strides the kernels take.
//
// A format of records is an entry of core/formats.toml and one axis value of the kernel; what its bytes mean is drawn
// in docs/layouts.md. Rows without gaps are folded into one. A form of scales is an entry there and a Contract here.
// Scales are folded with the rows, as a third tensor; those of an output are checked as one, for overlap among
// themselves and with others (ops/common). ScalePlaces says where each stands, in rows and in tiles alike.
#include "core/dtype.h"
#include "ops/common/coded.h"
#include "ops/quant/fields.h"
#include "ops/quant/written.h"

namespace spark {
namespace {

// The contracts of a format of records; which operator reads or writes it, its op.toml says.
struct Format {
    uint32_t record;
    Contract read, written;
};
constexpr Format FORMATS[] = {
#define RECORD(NAME, F) {SPARK_RECORD_##NAME, "dequantize_" #F, "quantize_" #F},
#include "core/records.inc"
#undef RECORD
};

long long ll(int64_t value) { return static_cast<long long>(value); }

const Format& format_of(uint32_t record) {
    for (const Format& f : FORMATS) {
        if (f.record == record) return f;
    }
    __builtin_unreachable(); // the forms of op.toml are these
}

// Rows of x and y, and of the scales beside one of them.
spark_status fold_scaled(const ValidatedArgs& bound, uint32_t x, uint32_t y, uint32_t quantised, Scaled& p,
                         Report& report) {
    const uint32_t fields[] = {x, y};
    RowTensor tensors[2];
    if (spark_status s = fold_coded(bound, fields, quantised, p, tensors, report)) return s;
    p.x = tensors[0], p.y = tensors[1];
    put_form(bound.view[quantised], p);
    return SPARK_OK;
}

void put_facts(const ValidatedArgs& bound, uint32_t x, uint32_t y, const Scaled& p, CheckedOp& work) {
    const View &from = bound.view[x], &to = bound.view[y];
    work.facts[QUANT_N] = p.n;
    work.facts[QUANT_ROWS] = p.rows_scaled * p.rows1;
    work.facts[QUANT_X_ALIGN] = row_alignment(from, p.x);
    work.facts[QUANT_Y_ALIGN] = row_alignment(to, p.y);
    work.facts[QUANT_NF4] = to.dtype == SPARK_DTYPE_NF4;
    const QuantView& quant = from.quant.form != nullptr ? from.quant : to.quant;
    work.flops = static_cast<uint64_t>(to.count);
    work.bytes =
        static_cast<uint64_t>(to.count) * (from.elem_bits + to.elem_bits) / 8 + quant.scale_bytes + quant.zero_bytes;
}

spark_status check_scaled_dequantize(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace dequantize_field;
    constexpr Contract BYTE = {"dequantize_byte"};
    static constexpr ScaledContract BLOCKS[] = {
#define SCALED(CODES, SCALES, F, W) {SPARK_DTYPE_##CODES, SPARK_DTYPE_##SCALES, "dequantize_" #F},
#include "core/scaled.inc"
#undef SCALED
    };
    const View &x = bound.view[X], &y = bound.view[Y];
    if (x.last(0) != y.last(0)) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, X,
                                 "x.shape[%u] is %lld but y.shape[%u] is %lld; %s wants both equal", x.ndim - 1,
                                 ll(x.last(0)), y.ndim - 1, ll(y.last(0)), x.quant.form->name);
    }
    Scaled& p = work.as<Scaled>();
    p = {};
    work.empty = y.count == 0;
    work.contract = contract_of_blocks(BLOCKS, x, BYTE);
    if (spark_status s = work.empty ? SPARK_OK : fold_scaled(bound, X, Y, X, p, report)) return s;
    p.whole = x.quant.global_scale, p.dtype = y.dtype;
    p.zeros = x.quant.zero_point;
    put_facts(bound, X, Y, p, work);
    return SPARK_OK;
}

// Nothing is rounded at random by a rule that makes, or compares, nearest codes.
spark_status check_random(const ValidatedArgs& bound, const spark_quantize_args& args, Report& report) {
    using namespace quantize_field;
    const QuantView& quant = bound.view[Y].quant;
    if ((bound.flags & SPARK_QUANTIZE_STOCHASTIC) == 0) return SPARK_OK;
    if (is_record(quant)) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED, Y,
                                 "y.quant is %s, whose own rule makes its codes; without STOCHASTIC wanted",
                                 quant.form->name);
    }
    if (is_int4(bound.view[Y])) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED, Y,
                                 "y.quant is %s, whose codes are the nearest; without STOCHASTIC wanted",
                                 quant.form->name);
    }
    if (args.rule == SPARK_SCALE_RULE_FOUR_OVER_SIX) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED, RULE,
                                 "rule is FOUR_OVER_SIX, which compares nearest codes; with STOCHASTIC USUAL wanted");
    }
    return SPARK_OK;
}

// The nearest codes and, of the same form, those rounded at random.
Contract contract_of(const View& y, const spark_quantize_args& args) {
    constexpr Contract BYTE = {"quantize_stochastic_byte"}, FOUR_OVER_SIX = {"quantize_four6"};
    static constexpr ScaledContract BLOCKS[] = {
#define SCALED(CODES, SCALES, F, W) {SPARK_DTYPE_##CODES, SPARK_DTYPE_##SCALES, "quantize_stochastic_" #W},
#include "core/scaled.inc"
#undef SCALED
    };
    if (args.rule == SPARK_SCALE_RULE_FOUR_OVER_SIX) return FOUR_OVER_SIX;
    if ((args.hdr.flags & SPARK_QUANTIZE_STOCHASTIC) == 0) return contract_of_codes(y);
    return contract_of_blocks(BLOCKS, y, BYTE);
}

// Rows of records and of their numbers, which are the fields 0 and 1 of the operator in one order or the other.
spark_status fold_records(const ValidatedArgs& bound, uint32_t records, CheckedOp& work, Report& report) {
    constexpr uint32_t FIELDS[] = {0, 1};
    const uint32_t numbers = 1 - records;
    const View &r = bound.view[records], &v = bound.view[numbers];
    Records& p = work.as<Records>();
    p = {};
    p.dtype = v.dtype;
    work.empty = v.count == 0;
    RowSet rows{};
    if (spark_status s = work.empty ? SPARK_OK : fold_to_two(bound, FIELDS, rows, report)) return s;
    int64_t width[2]; // a weight without gaps is one row
    width[records] = r.last(0), width[numbers] = v.last(0);
    join_rows(rows, width);
    p.records = rows.tensor[records], p.numbers = rows.tensor[numbers];
    p.n = width[numbers], p.rows1 = rows.rows1, p.rows0 = rows.rows0;
    work.facts[QUANT_N] = p.n;
    work.facts[QUANT_ROWS] = p.rows0 * p.rows1;
    work.facts[QUANT_X_ALIGN] = row_alignment(bound.view[0], rows.tensor[0]);
    work.facts[QUANT_Y_ALIGN] = row_alignment(bound.view[1], rows.tensor[1]);
    work.flops = static_cast<uint64_t>(v.count);
    work.bytes = static_cast<uint64_t>(r.count) + static_cast<uint64_t>(v.count) * (v.elem_bits / 8);
    return SPARK_OK;
}

} // namespace

spark_status check_dequantize(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace dequantize_field;
    const View &x = bound.view[X], &y = bound.view[Y];
    const spark_quant_form* form = x.quant.form;
    if (form == nullptr) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, X,
                                 "x.quant.scheme is 0; that of a form that spark_op_form lists wanted");
    }
    if (form->scheme != SPARK_QUANT_RECORD) return check_scaled_dequantize(bound, work, report);
    const int64_t n = y.last(0), records = n / form->record_elements;
    if (n % form->record_elements != 0) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, Y,
                                 "y.shape[%u] is %lld; a multiple of %u wanted, since records are whole", y.ndim - 1,
                                 ll(n), form->record_elements);
    }
    int64_t bytes;
    if (__builtin_mul_overflow(records, form->record_bytes, &bytes) || x.last(0) != bytes) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, X,
                                 "x.shape[%u] is %lld; wanted %lld records of %s, %lld bytes each, since y.shape[%u] "
                                 "is %lld",
                                 x.ndim - 1, ll(x.last(0)), ll(records), form->name, ll(form->record_bytes), y.ndim - 1,
                                 ll(n));
    }
    work.contract = format_of(form->record).read;
    return fold_records(bound, X, work, report);
}

spark_status check_quantize(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace quantize_field;
    const auto& args = bound.arguments<spark_quantize_args>();
    const View &x = bound.view[X], &y = bound.view[Y], &amax = bound.view[AMAX];
    const spark_quant_form* form = y.quant.form;
    if (form == nullptr) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, Y,
                                 "y.quant.scheme is 0; that of a form that spark_op_form lists wanted");
    }
    const ScaleRule rule = {args.rule, args.amax_floor, RULE, AMAX_FLOOR};
    if (spark_status s = check_scale_rule(y, rule, report)) return s;
    if (spark_status s = check_scale_of_all(bound, Y, AMAX, report)) return s;
    if (spark_status s = check_random(bound, args, report)) return s;
    if (spark_status s = check_no_zeros(bound, Y, report)) return s;
    if (form->scheme == SPARK_QUANT_RECORD) {
        work.contract = format_of(form->record).written;
        return fold_records(bound, Y, work, report);
    }
    Scaled& p = work.as<Scaled>();
    p = {};
    work.empty = y.count == 0;
    work.contract = contract_of(y, args);
    if (spark_status s = work.empty ? SPARK_OK : fold_scaled(bound, X, Y, Y, p, report)) return s;
    p.amax = amax.present ? amax.data : 0;
    p.own_amax = (bound.flags & SPARK_QUANTIZE_OWN_AMAX) != 0;
    p.amax_floor = args.amax_floor, p.dtype = x.dtype;
    p.bump = bump_of(args.rule, y);
    const View &seeds = bound.view[SEEDS], &offsets = bound.view[OFFSETS];
    p.seeds = seeds.present ? seeds.data : 0, p.offsets = offsets.present ? offsets.data : 0;
    p.seed = args.seed, p.offset = args.offset;
    put_facts(bound, X, Y, p, work);
    if (p.own_amax) work.bytes += static_cast<uint64_t>(x.count) * (x.elem_bits / 8); // x is read twice
    return SPARK_OK;
}

spark_status check_amax(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace amax_field;
    constexpr uint32_t FIELDS[] = {X};
    const View &x = bound.view[X], &all = bound.view[ALL];
    Amax& p = work.as<Amax>();
    p = {};
    work.empty = x.count == 0;
    RowSet rows{};
    if (spark_status s = work.empty ? SPARK_OK : fold_to_two(bound, FIELDS, rows, report)) return s;
    p.x = rows.tensor[X], p.y = bound.view[Y].data, p.all = all.present ? all.data : 0;
    p.n = x.last(0), p.rows1 = rows.rows1, p.rows0 = rows.rows0;
    work.facts[QUANT_N] = p.n;
    work.facts[QUANT_ROWS] = p.rows0 * p.rows1;
    work.facts[QUANT_X_ALIGN] = row_alignment(x, p.x);
    work.facts[QUANT_Y_ALIGN] = bound.view[Y].alignment();
    p.dtype = x.dtype;
    work.contract = {"amax"};
    work.bytes = static_cast<uint64_t>(x.count) * (x.elem_bits / 8) + bound.view[Y].bytes;
    return SPARK_OK;
}

} // namespace spark
