// SPDX-License-Identifier: Apache-2.0
// A situation of attention, a row of shapes.inc, and the numbers of it; shared by the cases and their twins.
#pragma once

#include "ops/families.h"

namespace check::attention {

enum class Layout { bshd, bhsd, qkv };                    // qkv: q, k and v are slices of one packed projection
enum class Lens { none, full, ragged, with_zero, wrong }; // wrong: negative, and beyond the cache
enum class Strange { none, q, k, v };                     // the tensor that has the strange row
enum class Pages { whole, torn, shared, wrong }; // torn: k and v are halves of a page; wrong: entries that are no pages
enum class Listed { none, rest, whole };         // pages of all sequences in one list; rest: it also tells lengths
// Of keys: chunks of 50 tokens; documents of random lengths, told by first keys or by both ends; a prefix of some keys;
// anything, also what is no range.
enum class Ranges { none, chunks, documents, both_ends, prefix, any };
// tree: of drafts; full: bits of all keys; some: of any stretch, and queries that see none of it.
enum class Bits { none, tree, full, some };
enum class Slopes { none, paper, zero, steep };        // steep: of either sign
enum class Caches { as_q, e4m3, scaled, e5m2, nvfp4 }; // the type of k and v; scaled: E4M3 with one scale for each
// Of codes: how many share one; blocks: some tokens of a head.
enum class Scales { none, whole, rows, heads, batch_heads, blocks };
enum class Codes { none, e4m3, e5m2, i8, nvfp4 };    // of queries; i8, nvfp4: of k too, and k and v
enum class Out { as_q, bf16, f16, f32, e4m3, e5m2 }; // the type of o; as_q: of queries that are no codes
// Of scores: a number for each; the same for all sequences, for all heads and queries; of fewer keys than there are.
enum class Bias { none, each, sequences, keys, few };
enum class Sinks { none, finite, large, some }; // large: above every score; some: every second is -infinity

struct Shape {
    const char* name = "";
    int64_t seqs = 1, sq = 1, sk = 1, h = 1, hkv = 1, d = 64, dv = 0; // dv: of values and results, 0: as d
    Layout layout = Layout::bshd;
    bool causal = false, lse = true;
    Lens lens = Lens::none;
    int64_t page = 0; // tokens of a page; 0: no pages
    Pages pages = Pages::whole;
    Listed listed = Listed::none;
    bool list_q = false, list_k = false; // sequences one after the other, told by cu_seqlens
    int64_t spare = 0;                   // more rows of k and v, and more lengths, than sequences
    int64_t pad = 0;                     // elements after each token
    int64_t q_misalign = 0, k_misalign = 0, v_misalign = 0, o_misalign = 0; // elements off the 16-byte boundary
    float scale = 0;
    bool scale_given = false;      // a 0 is 0, not the default
    int64_t left = -1, right = -1; // the window
    Ranges ranges = Ranges::none;
    Bits bits = Bits::none;
    Sinks sinks = Sinks::none;
    Slopes slopes = Slopes::none;
    Caches caches = Caches::as_q;
    Scales scales = Scales::none; // of k and v
    int64_t block = 64;           // tokens of one
    Codes queries = Codes::none;
    Out values = Out::as_q; // beside keys of I8: BF16 or F16, as the case's type is, or codes
    Scales query_scales = Scales::none;
    Out out = Out::as_q;
    bool out_scale = false;
    Bias bias = Bias::none;
    unsigned bias_type = F32;
    float softcap = 0;
    double spread = 1; // of q: large logits
    int64_t max_q = 0, max_k = 0;
    Special special = Special::none;
    Strange strange = Strange::none;
    bool far_nan = false; // k and v are NaN where no query of the sequence sees them, but for the 64 keys beside
    unsigned types = BF16, flags = 0;
    Tier tier = Tier::quick;
    int64_t longest = 0; // the sequence that has sq queries and sk keys
    bool twins = false;  // batch-invariant: add_twins
    bool amax = false;   // of codes

    int64_t width_of_values() const { return dv == 0 ? d : dv; }
};

// Everything the oracle needs: values in the order [token, head, d], tokens of all rows of a tensor counted through.
struct Problem {
    ref::Type type, out;
    int64_t h, hkv, d, dv, s, t, computed; // s, t: tokens of a row; computed: the bound of queries
    double scale, cap, out_scale;
    bool causal, strange_v, codes; // codes: of k and v
    bool by_token;                 // scales of tokens, or of pages, are among theirs or those of queries
    int64_t left, right;
    std::vector<int64_t> q_first, q_len, k_first, k_len;
    std::vector<double> q, k, v, sinks, slopes; // sinks, slopes: one a head
    std::vector<double> bias;                   // [row of tokens, head, token of it, key], of bias_keys; none: no bias
    int64_t bias_keys;
    std::vector<int64_t> starts, ends; // of each query, tokens of all rows counted through; none: no ranges
    std::vector<uint64_t> mask;        // `words` of each query, likewise
    int64_t words, mask_first;         // mask_first: -1 is where the queries begin
    int64_t tokens;                    // rows of o and lse, times heads
    int64_t page, pages, entries;      // as in Shape, 0: none; how many there are, and how many a sequence has
    std::vector<int64_t> table;        // of all sequences

    // Where key j of sequence b stands among the tokens of all rows, or pages, of k.
    int64_t key(size_t b, int64_t j) const {
        if (page == 0) {
            return k_first[b] + j;
        }
        const int64_t entry = table[b * static_cast<size_t>(entries) + static_cast<size_t>(j / page)];
        return (entry < 0 || entry >= pages ? pages - 1 : entry) * page + j % page;
    }
};

// What is stored where the shape's type is `type`.
ref::Type type_of_queries(const Shape& s, ref::Type type);
ref::Type type_of_caches(const Shape& s, ref::Type type); // of NVFP4 bytes, of two numbers each
ref::Type type_of_values(const Shape& s, ref::Type type);
ref::Type type_of_results(const Shape& s, ref::Type type);
// What tensor cores multiply, of 16 bits: codes of queries leave it to results.
ref::Type type_of_numbers(const Shape& s, ref::Type type);
// Whether q, k or v (operand 0, 1, 2) is bytes of two numbers each.
bool is_pairs(const Shape& s, size_t index);
void fill_tensors(Case& c, const Shape& s, Random& random);
// After the tensors have been added: bytes become pairs of E2M1 in what describes them.
void describe_pairs(Case& c, const Shape& s);
// Of FP8's scales, in magnitude.
constexpr double LEAST_SCALE = 20.0 / 128, MOST_SCALE = 300.0 / 128;
// Scales of q, k or v (operand 0, 1, 2), NaN for tokens that are not `used`, and the numbers of the operand times them.
std::vector<double> add_scales(Case& c, const Shape& s, size_t index, const std::vector<bool>& used, Random& random);
// Whether some of a row's `tokens`, or pages, have scales of their own.
bool by_tokens(const Shape& s, Scales scales, int64_t tokens, bool paged);
double add_result_scale(Case& c, const Shape& s, Random& random);
void add_bias(Case& c, const Shape& s, Problem& p, Random& random);
// What a result may be, which is rounded to a type that may be one of codes.
Allowed allow_result(ref::Type type, double value, double error);
void draw_numbers(Shape& s, Random& r);
void draw_kinds(Shape& s, Random& r); // of the numbers drawn: other widths, or codes everywhere

// The sizes of a case that `build` makes with a Random of the same seed and name.
Problem numbers(const Shape& s, ref::Type type, Random& random);
void add_list(Case& c, const char* field, size_t offset, const std::vector<int64_t>& numbers);
// Pages of a problem, which is otherwise complete; and what names them to the call, once lengths are known.
void draw_pages(const Shape& s, Problem& p, Random& random);
void add_table(Case& c, const Shape& s, const Problem& p, Random& random);
// Lists of what queries see, to the case and the problem, whose lengths are known by then.
void add_ranges(Case& c, const Shape& s, Problem& p, Random& random);
void add_bits(Case& c, const Shape& s, Problem& p, Random& random);
Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed);

// Calls of which sequence 0 of the case is a part: alone, among others, cut and placed differently. The case has one
// sequence, packed tensors, no lengths.
void add_twins(Case& c, const Shape& s, ref::Type type, const Seed& seed);

} // namespace check::attention
