// SPDX-License-Identifier: Apache-2.0
// Cases of attention: from a row of shapes.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ref/attention.h"

#include "ops/attention/shape.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <tuple>

namespace check::attention {

namespace {

const Shape SHAPES[] = {
#include "ops/attention/shapes.inc"

#include "ops/attention/numbers.inc"
};

// Lengths of the sequences: one has the most; a later one may be empty.
std::vector<int64_t> lengths(int64_t count, int64_t most, bool with_zero, Random& random, int64_t longest) {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < count; ++i) {
        out.push_back(i == longest          ? most
                      : with_zero && i == 1 ? 0
                                            : random.between(with_zero || most == 0 ? 0 : 1, most));
    }
    return out;
}

} // namespace

Problem numbers(const Shape& s, ref::Type type, Random& random) {
    Problem p{};
    p.codes = s.caches != Caches::as_q || (s.queries != Codes::none && s.queries != Codes::i8);
    p.type = type_of_numbers(s, type), p.out = type_of_results(s, type);
    p.h = s.h, p.hkv = s.hkv, p.d = s.d, p.dv = s.width_of_values(), p.causal = s.causal, p.left = s.left,
    p.right = s.right;
    const bool zero = s.lens == Lens::with_zero;
    p.q_len = s.list_q ? lengths(s.seqs, s.sq, zero, random, s.longest)
                       : std::vector<int64_t>(static_cast<size_t>(s.seqs), s.sq);
    p.k_len = s.list_k ? lengths(s.seqs, s.sk, false, random, s.longest)
                       : std::vector<int64_t>(static_cast<size_t>(s.seqs), s.sk);
    int64_t q_all = 0, k_all = 0;
    for (int64_t b = 0; b < s.seqs; ++b) {
        const auto i = static_cast<size_t>(b);
        p.q_first.push_back(s.list_q ? q_all : b * s.sq);
        p.k_first.push_back(s.list_k ? k_all : b * s.sk);
        q_all += p.q_len[i];
        k_all += p.k_len[i];
    }
    p.s = s.list_q ? q_all : s.sq;
    p.t = s.list_k ? k_all : s.sk;
    p.by_token = by_tokens(s, s.query_scales, p.s, false) || by_tokens(s, s.scales, p.t, s.page != 0);
    p.computed = s.max_q != 0 ? s.max_q : p.s;
    p.scale = s.scale != 0 || s.scale_given ? static_cast<double>(s.scale)
                                            : static_cast<double>(static_cast<float>(1 / std::sqrt(s.d)));
    p.cap = static_cast<double>(s.softcap);
    p.tokens = s.list_q ? q_all : s.seqs * s.sq;
    draw_pages(s, p, random);
    return p;
}

namespace {

// [rows, tokens, heads, d] in one of the layouts; `all` is how many heads lie side by side (more than `heads` for qkv).
View tokens_view(const Shape& s, int64_t d, ref::Type type, int64_t rows, int64_t tokens, int64_t heads, int64_t all) {
    View view{type, {rows, tokens, heads, d}, {}};
    const int64_t width = d + (s.layout == Layout::bhsd ? s.pad : 0), row = all * d + s.pad;
    if (s.layout == Layout::bhsd) {
        view.stride = {heads * tokens * width, width, tokens * width, 1};
    } else {
        view.stride = {tokens * row, row, d, 1};
    }
    for (int64_t& stride : view.stride) {
        stride = std::max<int64_t>(stride, 1);
    }
    return view;
}

std::vector<int64_t> firsts(const std::vector<int64_t>& first, const std::vector<int64_t>& len) {
    std::vector<int64_t> list = first;
    list.push_back(first.empty() ? 0 : first.back() + len.back());
    return list;
}

void add_tensors(Case& c, const Shape& s, const Problem& p, Random& random) {
    using Args = spark_attention_args;
    const int64_t q_rows = s.list_q ? 1 : s.seqs, k_rows = s.page ? p.pages : s.list_k ? 1 : s.seqs + s.spare;
    const int64_t all = s.layout == Layout::qkv ? s.h + 2 * s.hkv : 0;
    const ref::Type of_q = type_of_queries(s, p.type), stored = type_of_caches(s, p.type);
    const ref::Type of_v = type_of_values(s, p.type);
    const auto bytes = [&](size_t index, int64_t d) { return is_pairs(s, index) ? (d + 1) / 2 : d; };
    const View q = tokens_view(s, bytes(0, s.d), of_q, q_rows, p.s, s.h, all ? all : s.h);
    const int64_t kv_tokens = s.page ? s.page : p.t;
    const auto cache = [&](size_t index, ref::Type type) {
        const int64_t d = bytes(index, index == 1 ? s.d : p.dv);
        return tokens_view(s, d, type, k_rows, kv_tokens, s.hkv, all ? all : s.hkv);
    };
    View kv = cache(1, stored);
    const auto base = [](int64_t misalign, ref::Type type) {
        return 16 + static_cast<size_t>(misalign) * ref::size_of(type);
    };
    if (s.layout == Layout::qkv) {
        View whole = q;
        whole.shape[2] = all;
        c.add("q", offsetof(Args, q), whole, base(s.q_misalign, of_q), false);
        const size_t head = static_cast<size_t>(s.d) * 2;
        const Operand projection = c.operands[0];
        c.operands.clear();
        c.operands.push_back(projection);
        c.add_slice("k", offsetof(Args, k), kv, 0, static_cast<size_t>(s.h) * head);
        c.add_slice("v", offsetof(Args, v), kv, 0, static_cast<size_t>(s.h + s.hkv) * head);
        c.add_slice("q", offsetof(Args, q), q, 0, 0);
        c.operands[0] = c.operands.back(); // the narrower view of the same bytes
        c.operands.pop_back();
    } else if (s.pages == Pages::torn && of_v == stored) {
        const int64_t half = kv.stride[0];
        kv.stride[0] *= 2;
        c.add("q", offsetof(Args, q), q, base(s.q_misalign, of_q), false);
        c.add("k", offsetof(Args, k), kv, base(s.k_misalign, stored), false);
        c.add_slice("v", offsetof(Args, v), kv, 1, static_cast<size_t>(half) * ref::size_of(stored));
    } else {
        c.add("q", offsetof(Args, q), q, base(s.q_misalign, of_q), false);
        c.add("k", offsetof(Args, k), kv, base(s.k_misalign, stored), false);
        c.add("v", offsetof(Args, v), cache(2, of_v), base(s.v_misalign, of_v), false);
    }
    fill_tensors(c, s, random);
    Shape whole = s;
    whole.layout = s.layout == Layout::qkv ? Layout::bshd : s.layout;
    const View o = tokens_view(whole, p.dv, p.out, q_rows, p.s, s.h, s.h);
    c.add("o", offsetof(Args, o), o, base(s.o_misalign, p.out), true);
    if (s.lse) { // in memory [row, head, token], as attention libraries have it
        const View lse{ref::Type::f32, {q_rows, p.s, s.h}, {s.h * p.s, 1, std::max<int64_t>(p.s, 1)}};
        c.add("lse", offsetof(Args, lse), lse, 20, true);
    }
    if (s.amax) {
        c.add("amax", offsetof(Args, amax), packed(ref::Type::f32, {1}), 4, true);
    }
}

// A sink of each head.
void add_sinks(Case& c, const Shape& s, Problem& p, Random& random) {
    p.sinks.assign(static_cast<size_t>(s.h), ref::NO_SINK);
    if (s.sinks == Sinks::none) {
        return;
    }
    const Operand& sinks =
        c.add("sinks", offsetof(spark_attention_args, sinks), packed(ref::Type::f32, {s.h}), 4, false);
    for (int64_t head = 0; head < s.h; ++head) {
        const double finite = (s.sinks == Sinks::large ? 60 : 0) + static_cast<double>(random.between(-64, 64)) / 16;
        double& sink = p.sinks[static_cast<size_t>(head)];
        sink = s.sinks == Sinks::some && head % 2 == 0 ? ref::NO_SINK : finite;
        ref::store(ref::Type::f32, sink, c.element(sinks, head));
    }
}

// A slope of each head: those of the paper, zero, or steep ones of either sign.
void add_slopes(Case& c, const Shape& s, Problem& p) {
    p.slopes.assign(static_cast<size_t>(s.h), 0);
    if (s.slopes == Slopes::none) {
        return;
    }
    const Operand& slopes =
        c.add("alibi_slopes", offsetof(spark_attention_args, alibi_slopes), packed(ref::Type::f32, {s.h}), 4, false);
    for (int64_t head = 0; head < s.h; ++head) {
        double& slope = p.slopes[static_cast<size_t>(head)];
        if (s.slopes != Slopes::zero) {
            const double paper = std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(s.h));
            slope = static_cast<double>(static_cast<float>(s.slopes == Slopes::steep ? (head % 2 ? 3 : -3) : paper));
        }
        ref::store(ref::Type::f32, slope, c.element(slopes, head));
    }
}

// Which tokens of k and v are some sequence's keys.
std::vector<bool> used_tokens(const Shape& s, const Problem& p, const View& view) {
    std::vector<bool> used(static_cast<size_t>(view.shape[0] * view.shape[1]));
    for (size_t b = 0; b < p.k_len.size(); ++b) {
        const int64_t near = ref::first_visible_key(0, p.q_len[b], p.k_len[b], p.left) - 64;
        for (int64_t j = s.far_nan ? std::max<int64_t>(near, 0) : 0; j < p.k_len[b]; ++j) {
            used[static_cast<size_t>(p.key(b, j))] = true;
        }
    }
    return used;
}

// Lengths in use, and NaN in every key and value that is not: a kernel that reads them shows.
void add_lengths(Case& c, const Shape& s, Problem& p, Random& random) {
    using Args = spark_attention_args;
    if (s.list_q) {
        add_list(c, "cu_seqlens_q", offsetof(Args, cu_seqlens_q), firsts(p.q_first, p.q_len));
    }
    if (s.list_k) {
        add_list(c, "cu_seqlens_k", offsetof(Args, cu_seqlens_k), firsts(p.k_first, p.k_len));
    }
    const std::vector<int64_t> have = p.k_len;
    if (s.lens != Lens::none) {
        std::vector<int64_t> told = lengths(s.seqs, s.sk, s.lens == Lens::with_zero, random, s.longest);
        for (size_t i = 0; i < told.size(); ++i) {
            told[i] = s.lens == Lens::full ? s.sk : s.lens != Lens::wrong ? told[i] : i % 2 ? s.sk + 100000 : -5;
            p.k_len[i] = std::clamp<int64_t>(told[i], 0, have[i]);
        }
        told.insert(told.end(), static_cast<size_t>(s.spare), 3);
        if (s.listed != Listed::rest) {
            add_list(c, "seq_lens", offsetof(Args, seq_lens), told);
        }
    }
    if (s.layout == Layout::qkv || c.outline || s.caches == Caches::nvfp4) {
        return; // q is there too, or a NaN is none: the scales are
    }
    const std::vector<bool> used = used_tokens(s, p, c.operands[1].view);
    for (size_t index : {size_t{1}, size_t{2}}) {
        const Operand& operand = c.operands[index];
        const int64_t token = s.hkv * (index == 1 ? s.d : p.dv);
        for (int64_t i = 0; i < operand.view.count(); ++i) {
            if (!used[static_cast<size_t>(i / token)]) {
                constexpr double NO_NUMBER = 127; // of I8, which has no NaN
                const bool integer = operand.view.type == ref::Type::i8;
                ref::store(operand.view.type, integer ? NO_NUMBER : NAN, c.element(operand, i));
            }
        }
    }
}

// What one row may err by, u = 2^-24. Relative errors of the weights:
//   score     (d/16 + 8) steps of at most 2u of sum|qk| scale; scaling, and the distance to the maximum, 8u of the
//             largest score; of a cap, which lets no error grow, 2^-20 of it: the tanh, and its argument's rounding
//   2^x       2 ulp; and as much again for each new maximum, of which there is at most one a key, or a tile of 16.
//             Below 2^-126 it is 0, as is what a part is scaled with when parts are merged: an absolute error, which
//             shows where all heavier keys have values of 0
//   sums      one rounding a key in the total, (keys/16 + 8) 2u or keys u in the weighted sum
//   rounding  kernels on tensor cores round the weight to the element type, or to FP16 where v is of codes: 2^-8 or
//             2^-11; FP16 weights below 2^-14 lose up to 2^-25 of the largest, with a token's scale of v in them.
//             Where codes of queries are multiplied as such, to E4M3: 2^-4, but of a scale of 0 nothing, as all weights
//             are 2^7 there; the largest is 2^7 or more, so that those whose last bit is 2^-9 lose up to 2^-17 of it
//   tokens    codes with such scales, of keys, values and queries, become numbers of the element type first, but where
//             heads share keys: 2^-9 or 2^-12 of each
// and 2^-20 for the division, and for merging parts.
struct Errors {
    double relative, lse;
};

// What multiplies: warps with a key at a time; tensor cores codes as they are, or numbers of 16 bits made of them; or
// codes of queries too, with weights that are codes.
enum class Way { generic, products, widened, codes };

bool has_half_weights(const Problem& p, Way way) {
    return p.type == ref::Type::f16 || (p.codes && way != Way::widened);
}

Errors errors_of(const Problem& p, const ref::AttentionRow& row, double keys, Way way) {
    constexpr double u = 0x1p-24;
    const bool tensor_cores = way != Way::generic;
    const double made = way != Way::widened ? 0 : p.type == ref::Type::f16 ? 0x1p-12 : 0x1p-9;
    const double score = ((static_cast<double>(p.d) / 16 + 8) * 2 * u + 2 * made + made * made) * row.score_terms +
                         (p.cap == 0 ? 8 : 24) * u * row.largest_score;
    const double maxima = (tensor_cores ? keys / 16 : keys) * (0x1p-22 + 2 * u * row.largest_score);
    const double weight = std::expm1(2 * score) + 0x1p-21 + maxima;
    const double rounding = !tensor_cores       ? 0
                            : way == Way::codes ? (p.scale == 0 ? 0 : 0x1p-4)
                                                : made + (has_half_weights(p, way) ? 0x1p-11 : 0x1p-8);
    return {2 * weight + keys * 4 * u + 0x1p-20 + rounding,
            score + weight + keys * 2 * u + 0x1p-20 + 4 * u * (std::fabs(row.lse) + row.largest_score)};
}

class Expected {
public:
    Expected(const Problem& p, Way way) : p_(p), way_(way) {
        o.resize(static_cast<size_t>(p.tokens * p.h * p.dv), {Allowed::unchanged});
        lse.resize(static_cast<size_t>(p.tokens * p.h), {Allowed::unchanged});
        for (size_t b = 0; b < p.q_len.size(); ++b) {
            for (int64_t i = 0; i < std::min(p.q_len[b], p.computed); ++i) {
                for (int64_t head = 0; head < p.h; ++head) {
                    checked(b, i, head) ? row(b, i, head) : skip(b, i, head);
                }
            }
        }
    }
    std::vector<Allowed> o, lse;

    std::vector<Allowed> amax() const {
        return {unknown_ ? Allowed{Allowed::any}
                : nan_   ? allow(ref::Type::f32, NAN, 0)
                         : Allowed{Allowed::range, low_, high_}};
    }

private:
    const double* kv(const std::vector<double>& x, int64_t d, size_t b, int64_t j, int64_t head) const {
        return &x[static_cast<size_t>((p_.key(b, j) * p_.hkv + head) * d)];
    }

    // Of a problem this large some rows are checked: the edges of tiles, the ends, some between.
    bool checked(size_t b, int64_t i, int64_t head) const {
        const int64_t work = p_.tokens * p_.h * p_.k_len[b] * p_.d;
        const bool edge = i < 2 || i + 2 >= p_.q_len[b] || i % 128 == 127 || i % 61 == 0;
        return work < int64_t{1} << 32 || (edge && (head < 2 || head + 1 == p_.h));
    }
    void skip(size_t b, int64_t i, int64_t head) {
        const int64_t place = (p_.q_first[b] + i) * p_.h + head;
        std::fill_n(o.begin() + place * p_.dv, p_.dv, Allowed{Allowed::any});
        lse[static_cast<size_t>(place)] = {Allowed::any};
    }

    void row(size_t b, int64_t i, int64_t head) {
        const int64_t g = ref::kv_head(head, p_.h, p_.hkv), keys = p_.k_len[b];
        const int64_t token = p_.q_first[b] + i, place = token * p_.h + head;
        const int64_t most = p_.hkv == 0 ? 0 : ref::visible_keys(i, p_.q_len[b], keys, p_.causal, p_.right);
        const int64_t least = std::min(most, ref::first_visible_key(i, p_.q_len[b], keys, p_.left));
        const auto query = static_cast<size_t>(token);
        const ref::KeyRange own =
            p_.starts.empty() ? ref::KeyRange{0, keys} : ref::KeyRange{p_.starts[query], p_.ends[query]};
        const auto [first, end] = ref::within({least, most}, own);
        const int64_t visible = end - first, start = first; // what a lambda may take
        const auto hidden = [&](int64_t j) { return hides(b, i, start + j); };
        const double* q = &p_.q[static_cast<size_t>(place * p_.d)];
        const auto row = ref::attention_row(
            q, static_cast<size_t>(p_.d), static_cast<size_t>(p_.dv),
            [&](int64_t j) { return kv(p_.k, p_.d, b, start + j, g); },
            [&](int64_t j) { return kv(p_.v, p_.dv, b, start + j, g); }, visible, p_.scale,
            p_.sinks[static_cast<size_t>(head)], p_.cap, p_.slopes[static_cast<size_t>(head)],
            i + keys - p_.q_len[b] - first, hidden, [&](int64_t j) { return bias(token, head, start + j); });
        const Errors errors = errors_of(p_, row, static_cast<double>(visible), way_);
        lse[static_cast<size_t>(place)] = allow(ref::Type::f32, row.lse, errors.lse);
        for (int64_t e = 0; e < p_.dv; ++e) {
            const auto at = static_cast<size_t>(e);
            const double of_scales = p_.by_token ? MOST_SCALE / LEAST_SCALE : 1;
            const bool halves = way_ != Way::generic && has_half_weights(p_, way_);
            const double lost = way_ == Way::codes ? 0x1p-17 : halves ? 0x1p-25 * of_scales : 0x1p-125;
            const double least = lost * row.flat[at];
            const double error = errors.relative * row.magnitude[at] + least + 0x1p-140;
            Allowed allowed = allow_result(p_.out, row.o[at] / p_.out_scale, error / std::fabs(p_.out_scale));
            if (p_.strange_v && !(reaches_all(b, g, 0, first, e) && reaches_all(b, g, end, keys, e) &&
                                  (p_.mask.empty() || reaches_all(b, g, first, end, e)))) {
                allowed.kind = Allowed::any;
            }
            count(allowed, row.o[at], error);
            o[static_cast<size_t>(place * p_.dv + e)] = allowed;
        }
    }

    double bias(int64_t token, int64_t head, int64_t j) const {
        const int64_t row = token / std::max<int64_t>(p_.s, 1), i = token % std::max<int64_t>(p_.s, 1);
        return p_.bias.empty() || j >= p_.bias_keys
                   ? 0
                   : p_.bias[static_cast<size_t>(((row * p_.h + head) * p_.s + i) * p_.bias_keys + j)];
    }

    bool hides(size_t b, int64_t i, int64_t j) const {
        const int64_t first = p_.mask_first < 0 ? p_.k_len[b] - p_.q_len[b] : p_.mask_first;
        return !p_.mask.empty() &&
               ref::hidden_by(&p_.mask[static_cast<size_t>((p_.q_first[b] + i) * p_.words)], p_.words, first, j);
    }

    // False where one of the hidden values from..end-1 is not finite: it may have got into the row, and the definition
    // says so.
    bool reaches_all(size_t b, int64_t g, int64_t from, int64_t end, int64_t e) const {
        for (int64_t j = from; j < end; ++j) {
            if (!std::isfinite(kv(p_.v, p_.dv, b, j, g)[e])) {
                return false;
            }
        }
        return true;
    }

    void count(const Allowed& allowed, double value, double error) {
        unknown_ = unknown_ || allowed.kind == Allowed::any;
        nan_ = nan_ || std::isnan(value);
        const double by = std::isinf(value) ? 0 : error;
        low_ = std::max(low_, static_cast<float>(std::fabs(value) - by));
        high_ = std::max(high_, static_cast<float>(std::fabs(value) + by));
    }

    const Problem& p_;
    const Way way_;
    bool unknown_ = false, nan_ = false; // a result may be anything, is NaN
    float low_ = 0, high_ = 0;           // what the largest of the others may be
};

Way way_of(const Problem& p, const std::string& kernel) {
    if (kernel.find("__generic") != std::string::npos) {
        return Way::generic;
    }
    const auto is = [&](const char* what) { return kernel.find(what) != std::string::npos; };
    if (is("_e4m3__") || is("_i8")) {
        return is("_i8") ? Way::products : Way::codes;
    }
    const bool scaled = p.by_token || (p.codes && (is("__d256_64x32") || ref::size_of(p.out) == 1));
    return scaled && !is("__split") && !is("__parts") ? Way::widened : Way::products;
}

} // namespace

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    Case c = make_case<spark_attention_args>("attention", name, SPARK_OP_ATTENTION, seed);
    Random random(seed, name);
    auto p = std::make_shared<Problem>(numbers(s, type, random));
    add_tensors(c, s, *p, random);
    describe_pairs(c, s);
    add_lengths(c, s, *p, random);
    add_table(c, s, *p, random);
    add_sinks(c, s, *p, random);
    add_slopes(c, s, *p);
    add_ranges(c, s, *p, random);
    add_bits(c, s, *p, random);
    add_bias(c, s, *p, random);
    const std::vector<bool> used = used_tokens(s, *p, c.operands[1].view),
                            all(static_cast<size_t>(c.operands[0].view.shape[0] * p->s), true);
    p->q = add_scales(c, s, 0, all, random);
    p->k = add_scales(c, s, 1, used, random);
    p->v = add_scales(c, s, 2, used, random);
    p->out_scale = add_result_scale(c, s, random);
    auto& args = c.as<spark_attention_args>();
    args.scale = s.scale;
    args.softcap = s.softcap;
    args.hdr.given |= (s.scale_given ? SPARK_ATTENTION_GIVEN_SCALE : 0) |
                      (s.left == 0 ? SPARK_ATTENTION_GIVEN_WINDOW_LEFT : 0) |
                      (s.right == 0 ? SPARK_ATTENTION_GIVEN_WINDOW_RIGHT : 0);
    args.window_left = s.left == -1 ? 0 : s.left; // not given is -1
    args.window_right = s.right;
    args.max_seqlen_q = s.max_q;
    args.max_seqlen_k = s.max_k;
    args.hdr.flags = s.flags | (s.causal ? static_cast<unsigned>(SPARK_ATTENTION_CAUSAL) : 0u);
    c.large = s.tier == Tier::card;
    c.note = std::to_string(s.seqs) + " sequences, " + std::to_string(s.sq) + " x " + std::to_string(s.sk) +
             ", heads " + std::to_string(s.h) + "/" + std::to_string(s.hkv) + ", D " + std::to_string(s.d) +
             (s.dv ? "/" + std::to_string(s.dv) : "") + (s.page ? ", pages of " + std::to_string(s.page) : "");
    p->strange_v = s.strange == Strange::v;
    std::vector<std::string> fields;
    for (const Operand& operand : c.operands) {
        fields.push_back(operand.field);
    }
    // Both outputs come from the same rows: what is asked for second is there already.
    const auto last = std::make_shared<std::pair<Way, std::unique_ptr<Expected>>>();
    c.kind = [p](const std::string& kernel) {
        const Way way = way_of(*p, kernel);
        return way == Way::generic   ? "generic"
               : way == Way::widened ? "numbers of 16 bits"
               : way == Way::codes   ? "products of codes"
                                     : "tensor cores";
    };
    c.expect = [p, fields, last](size_t index, const std::string& kernel) {
        const Way way = way_of(*p, kernel);
        if (!last->second || last->first != way) {
            *last = {way, std::make_unique<Expected>(*p, way)};
        }
        return fields[index] == "lse"    ? last->second->lse
               : fields[index] == "amax" ? last->second->amax()
                                         : last->second->o;
    };
    return c;
}

namespace {

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"attention", name, s.tier, [=](const Seed& seed) {
                Case c = build(s, type, name, seed);
                if (s.twins) {
                    add_twins(c, s, type, seed);
                }
                return c;
            }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(s.types)) {
        out.push_back(entry(s, type, name + "." + ref::name_of(type)));
    }
}

void named(std::vector<Entry>& all) { add_table("attention", SHAPES, expand, all); }

// sequences, queries, keys, heads, key/value heads, d
void sized(const std::vector<int64_t>& dims, std::vector<Entry>& all) {
    if (dims.size() != 6) {
        return;
    }
    Shape s{.seqs = dims[0], .sq = dims[1], .sk = dims[2], .h = dims[3], .hkv = dims[4], .d = dims[5], .lse = false};
    for (bool causal : {false, true}) {
        s.causal = causal;
        all.push_back(entry(s, ref::Type::bf16, dims_name(dims) + (causal ? ".causal" : ".dense")));
    }
}

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "attention." + name);
    Shape s;
    s.seqs = r.between(1, 3);
    s.hkv = r.pick<int64_t>({1, 1, 2, 3});
    s.h = r.chance(0.85) ? s.hkv * r.pick<int64_t>({1, 2, 3, 4, 7}) : r.between(1, 5);
    s.sq =
        r.chance(0.4) ? r.between(1, 8) : r.between(1, r.chance(0.2) ? 140 : 40); // few are large: the generic kernel
    s.sk = r.chance(0.3) ? s.sq : r.chance(0.05) ? 0 : r.between(1, r.chance(0.3) ? 200 : 70); // takes long on these
    s.d = r.chance(0.3)   ? r.pick<int64_t>({64, 96, 128, 256})
          : r.chance(0.8) ? 8 * r.between(4, 32)
                          : r.between(1, 256);
    s.layout = r.pick<Layout>({Layout::bshd, Layout::bshd, Layout::bhsd, Layout::qkv});
    s.causal = r.chance(0.5);
    s.lse = r.chance(0.6);
    s.lens = r.pick<Lens>({Lens::none, Lens::none, Lens::full, Lens::ragged, Lens::with_zero, Lens::wrong});
    s.list_q = r.chance(0.25);
    s.list_k = r.chance(0.25);
    s.spare = r.chance(0.2) ? 2 : 0;
    if (s.layout == Layout::qkv) { // one projection: as many keys as queries
        s.sk = s.sq;
        s.list_k = s.list_q = false;
        s.spare = 0;
    }
    s.pad = r.pick<int64_t>({0, 0, 8, 16, 64, 1, 3});
    for (int64_t* misalign : {&s.q_misalign, &s.k_misalign, &s.v_misalign, &s.o_misalign}) {
        *misalign = r.chance(0.06) ? r.between(1, 7) : 0;
    }
    s.scale = r.pick<float>({0, 0, 0.05f, 1});
    s.scale_given = r.chance(0.5);
    s.spread = r.pick<double>({1, 1, 4});
    s.max_q = s.list_q && r.chance(0.7) ? s.sq : 0;
    s.max_k = r.chance(0.3) ? std::max<int64_t>(s.sk, 1) : 0;
    s.special = r.chance(0.1) ? Special::nan_row : Special::none;
    s.strange =
        s.special == Special::none || s.sk == 0 ? Strange::none : r.pick<Strange>({Strange::q, Strange::k, Strange::v});
    s.flags = r.pick<unsigned>({0, 0, SPARK_FLAG_DETERMINISTIC, SPARK_FLAG_BATCH_INVARIANT});
    s.left = r.chance(0.3) ? r.between(0, r.chance(0.5) ? 20 : 150) : -1;
    s.right = r.chance(0.2) ? r.between(0, 30) : -1;
    if (s.layout != Layout::qkv && r.chance(0.2)) {
        s.page = r.pick<int64_t>({1, 2, 3, 5, 8, 16, 16, 32, 61, 64, 128, 256});
        s.pages = r.pick<Pages>({Pages::whole, Pages::torn, Pages::shared, Pages::wrong});
    }
    const ref::Type type = r.pick(types_of(BF16 | F16));
    s.sinks = r.pick<Sinks>({Sinks::none, Sinks::none, Sinks::finite, Sinks::large, Sinks::some});
    s.softcap = r.chance(0.25) ? r.pick<float>({50, 30, 2, 0.1f, 1e-4f, 1e5f}) : 0;
    const std::vector<Ranges> kinds = {Ranges::chunks, Ranges::documents, Ranges::both_ends, Ranges::prefix,
                                       Ranges::any};
    s.ranges = r.chance(0.3) ? r.pick(kinds) : Ranges::none;
    s.bits = r.chance(0.15) ? r.pick<Bits>({Bits::tree, Bits::full, Bits::some}) : Bits::none;
    s.slopes = r.chance(0.2) ? r.pick<Slopes>({Slopes::paper, Slopes::zero, Slopes::steep}) : Slopes::none;
    if (s.layout != Layout::qkv && r.chance(0.2)) {
        s.caches = r.chance(0.7) ? Caches::scaled : Caches::e4m3;
    }
    draw_numbers(s, r);
    s.listed = s.page == 0 ? Listed::none : r.pick<Listed>({Listed::none, Listed::none, Listed::rest, Listed::whole});
    draw_kinds(s, r);
    return entry(s, type, name);
}

Entry worded(Words& words) {
    Shape s{.seqs = words.number("b"), .sq = words.number("q"), .sk = words.number("k"), .lse = false};
    std::tie(s.h, s.hkv) = words.pair("h", "HEADS/KV_HEADS");
    s.d = words.number("d");
    const std::string values = words.value("dv"); // of values and results
    s.dv = values.empty() ? 0 : words.count(values, "dv");
    s.causal = words.take("causal");
    const std::string window = words.value("window"); // keys, the query's own among them
    s.left = window.empty() ? -1 : words.count(window, "window") - 1;
    const std::string page = words.value("page"); // tokens; listed: in a list instead of a table
    s.page = page.empty() ? 0 : words.count(page, "page");
    s.listed = words.take("listed") ? Listed::rest : Listed::none;
    s.max_k = s.listed == Listed::none ? 0 : s.sk; // else all pages may be one sequence's
    const std::string softcap = words.value("softcap");
    s.softcap = softcap.empty() ? 0 : static_cast<float>(words.count(softcap, "softcap"));
    s.sinks = words.take("sinks") ? Sinks::finite : Sinks::none;
    s.slopes = words.take("alibi") ? Slopes::paper : Slopes::none;
    s.bits = words.take("tree") ? Bits::tree : Bits::none;
    s.caches = words.take("FP8-cache")     ? Caches::scaled
               : words.take("E5M2-cache")  ? Caches::e5m2
               : words.take("NVFP4-cache") ? Caches::nvfp4
                                           : Caches::as_q;
    s.scales = s.caches == Caches::e5m2 ? Scales::whole : Scales::none;
    s.scale = s.caches == Caches::nvfp4 ? 0x1p-13f : 0;     // scores as far apart as of others
    const std::string blocks = words.value("token-blocks"); // tokens of each
    s.block = blocks.empty() ? 1 : words.count(blocks, "token-blocks");
    if (s.block > 1 || words.take("token-scales")) {
        s.caches = Caches::e4m3, s.scales = s.block > 1 ? Scales::blocks : Scales::rows;
    } else if (words.take("page-scales")) {
        s.caches = Caches::e4m3, s.scales = Scales::batch_heads;
    }
    if (words.take("FP8-queries")) {
        s.queries = Codes::e4m3, s.query_scales = words.take("head-scales") ? Scales::heads : Scales::whole;
    }
    if (words.take("I8-queries")) { // and keys, with a scale for each token and head; scores as far apart as of others
        s.queries = Codes::i8, s.scales = Scales::rows, s.scale = 0x1p-16f;
    }
    if (words.take("FP8-results")) {
        s.out = Out::e4m3, s.out_scale = true, s.amax = words.take("amax");
    }
    s.flags = words.take("batch-invariant") ? SPARK_FLAG_BATCH_INVARIANT : 0;
    return entry(s, words.type(BF16 | F16 | F32), words.name());
}

constexpr OpCases CASES{"attention", named, random, sized, "sequences,queries,keys,H,G,D", worded};

} // namespace
} // namespace check::attention

const check::OpCases check::ATTENTION = check::attention::CASES;
