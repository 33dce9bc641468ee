// SPDX-License-Identifier: Apache-2.0
// A situation of kv_append and kv_gather, and what its caches are where they have codes of the tokens' numbers: their
// scales, and the right results (codes.cpp); which rows tokens have (places.cpp). The rest is in rows.cpp.
#pragma once

#include "ops/kv/caches.h"
#include "ops/quant/coded.h"
#include "ref/kv_append.h"

namespace check::kv {

enum class Codes { none, e4m3, e5m2, nvfp4 };              // of the caches; none: they are of the tokens' type
enum class Scales { none, tensor, head, batch_head, row }; // of FP8; row: made, where tokens are appended
enum class Whole { none, one, each };                      // of NVFP4: the second scale; each: of each sequence
enum class Numbers { usual, strange, bits };               // of tokens: normal; some of each kind; random bits

struct Shape {
    const char* name = "";
    int64_t t = 1, h = 1, d = 64, b = 1, s = 8;
    int64_t token_pad = 0, head_pad = 0, row_pad = 0, cache_head_pad = 0; // elements; of E2M1 bytes
    bool heads_outside = false;                                           // caches are [B, H, S, D] in memory
    int64_t misalign = 0, cache_misalign = 0, v_misalign = 0;             // elements off the 16-byte boundary
    unsigned types = KINDS;
    Said coded = Said::as_type;
    bool named = true, wide = true, wide_batch = true; // a batch tensor is given; positions, batch are I64
    int64_t sequences = 0;                             // caches are pages, which a table gives to so many; 0: none
    bool listed = false;                               // or a list of all
    Bad bad = Bad::none;
    Codes codes = Codes::none;
    Scales k_scales = Scales::none, v_scales = Scales::none;
    int64_t scale_pad = 0; // scales between rows
    Whole whole = Whole::one;
    Numbers numbers = Numbers::strange;
    Tier tier = Tier::quick;
};

// Which rows tokens have: positions, or slots, batch where it is told, and a table of pages.
struct Where {
    std::vector<int64_t> positions, batch;
    ref::KvTable table;
};

// Different rows for all tokens, as kv_append demands: a random step through the cache. repeats: some are named again.
Where draw_places(const Shape& s, bool repeats, Random& r);
// The table, or the list, of pages, if there is one. The operators have all their fields in kv_append's places.
void add_table(Case& c, const Shape& s, const ref::KvTable& table);

View caches_view(const Shape& s, ref::Type type);
View tokens_view(const Shape& s, ref::Type type, int64_t heads);

ref::Type cache_type(const Shape& s, ref::Type tokens);
int64_t cache_width(const Shape& s); // elements, of E2M1 bytes

// Numbers of k or v.
void fill_numbers(Case& c, const Operand& operand, Numbers kind, Random& r);
// The scales of a cache, "k_cache" or "v_cache", whose descriptor stands at `at`: given, or written.
void add_scales(Case& c, const Shape& s, const char* cache, size_t at, bool gathers, Random& r);
// What is at `field` afterwards, one of k, v, the caches and their scales, where slot[t] is the row of token t or -1.
std::vector<Allowed> expect_codes(const Case& before, const Shape& s, std::span<const int64_t> slot,
                                  const std::string& field, bool gathers);
// The same of rope_append, whose numbers of that head of that token are known to an interval.
using HeadNumbers = std::function<check::Numbers(int64_t token, int64_t head)>;
std::vector<Allowed> expect_codes(const Case& before, const Shape& s, std::span<const int64_t> slot,
                                  const std::string& field, const HeadNumbers& numbers);
// Codes for a random situation.
void draw_codes(Shape& s, Random& r);

} // namespace check::kv
