// SPDX-License-Identifier: Apache-2.0
// The twin's problems, its model, and its rows.
#include "twin.h"

#include "ceilings.h"
#include "ref/quantize.h"
#include "spark_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <random>

extern "C" const char spark_bench_twin_128x64_ptx[], spark_bench_twin_64x64_ptx[]; // ceilings.S

namespace bench {
namespace {

using Params = spark::kernels::attention_generic_params;
constexpr int64_t D = 128, KEY_TILE = 32, LONGEST_TILE = 128;
constexpr uint32_t BLOCK = 128;
// Of random codes, whose products have this deviation, scores then lie as far apart as those of other rows.
const double SCALE_LOG2 = 0.84 / (std::sqrt(double(D)) * 74 * 74);

// A variant, as its header has it: queries of a block, bytes of shared memory.
struct Tile {
    const char* text;
    const char* kernel;
    int64_t queries;
    int smem;
};
const Tile TILES[] = {{spark_bench_twin_128x64_ptx, "attention_twin__d128_128x64", 128, 49216},
                      {spark_bench_twin_64x64_ptx, "attention_twin__d128_64x64", 64, 41024}};

struct Shape {
    int64_t seqs, tokens;
    uint32_t heads, kv_heads;
    bool causal;
};

Params params_of(const Shape& s, uint64_t q, uint64_t k, uint64_t v, uint64_t o) {
    const int64_t heads = s.heads, kv_heads = s.kv_heads, whole = int64_t{1} << 62;
    Params p{};
    p.q = q, p.k = k, p.v = v, p.o = o;
    p.q_seq = p.o_seq = s.tokens * heads * D, p.q_token = p.o_token = heads * D, p.q_head = p.o_head = D;
    p.k_seq = p.v_seq = s.tokens * kv_heads * D, p.k_token = kv_heads * D, p.k_head = D;
    p.v_head = s.tokens * D, p.v_token = s.tokens; // a column
    p.s = p.t = p.sq = s.tokens, p.seqs = s.seqs;
    p.left = whole, p.right = s.causal ? 0 : whole;
    p.h = s.heads, p.hkv = s.kv_heads, p.d = D, p.scale = static_cast<float>(SCALE_LOG2);
    return p;
}

uint32_t grid_of(const Shape& s, const Tile& tile) {
    return static_cast<uint32_t>(s.seqs * s.heads * ((s.tokens + tile.queries - 1) / tile.queries));
}

using Codes = std::vector<int8_t>;

// A row of o as the kernel makes it: m is raised where a score of 32 keys is more than 2^8 above it.
std::array<double, D> model(const Shape& s, const Codes& q, const Codes& k, const Codes& v, int64_t token,
                            int64_t head) {
    const int64_t kv_head = head * s.kv_heads / s.heads, keys = s.causal ? token + 1 : s.tokens;
    std::array<double, D> sums{};
    double total = 0, base = -1e30;
    for (int64_t first = 0; first < keys; first += KEY_TILE) {
        const int64_t count = std::min(KEY_TILE, keys - first);
        std::array<double, KEY_TILE> scores{};
        double top = -1e30;
        for (int64_t i = 0; i < count; ++i) {
            for (int64_t c = 0; c < D; ++c)
                scores[i] += double(q[(token * s.heads + head) * D + c]) *
                             k[((first + i) * s.kv_heads + kv_head) * D + c] * SCALE_LOG2;
            top = std::max(top, scores[i]);
        }
        if (top - base > 8) {
            const double alpha = std::exp2(base - (top - 7));
            base = top - 7, total *= alpha;
            for (double& sum : sums) sum *= alpha;
        }
        for (int64_t i = 0; i < count; ++i) {
            const double weight = std::exp2(scores[i] - base);
            const int code = ref::to_e4m3(weight);
            total += weight;
            const int64_t key = first + i, pair = key % 16 % 8 / 2, // where it stands among 16
                place = key / 16 * 16 + pair * 4 + key % 16 / 8 * 2 + key % 2;
            for (int64_t c = 0; c < D; ++c) sums[c] += code * v[(kv_head * D + c) * s.tokens + place];
        }
    }
    for (double& sum : sums) sum /= total;
    return sums;
}

// A weight may round to a code beside the model's, one of 8 to 15 steps apart; such errors are as often up as down.
constexpr double TOLERANCE = 1.0 / 64;

void check(const Ceilings& ceilings, Buffers& buffers, size_t which, bool causal) {
    const Shape s = {1, 2 * LONGEST_TILE, 2, 1, causal};
    std::mt19937 generator(7);
    Codes q(s.tokens * s.heads * D), k(s.tokens * D), v(s.tokens * D);
    for (Codes* codes : {&q, &k, &v})
        for (int8_t& code : *codes) code = static_cast<int8_t>(generator());
    const auto placed = [&](const Codes& codes) { return buffers.copied({codes.begin(), codes.end()}); };
    const uint64_t bytes = q.size() * 2, o = buffers.result(bytes);
    const Params p = params_of(s, placed(q), placed(k), placed(v), o);
    ceilings.twin(which, &p, sizeof p, grid_of(s, TILES[which]), BLOCK, 0);
    std::vector<uint16_t> results(q.size());
    spark_error err{};
    err.struct_size = sizeof err;
    if (spark_mem_copy_to_host(buffers.context(), results.data(), o, bytes, 0, &err) != SPARK_OK)
        throw std::runtime_error(err.message);
    for (int64_t row = 0; row < s.tokens * s.heads; row += 3) {
        const std::array<double, D> wanted = model(s, q, k, v, row / s.heads, row % s.heads);
        double most = 0, worst = 0;
        for (int64_t c = 0; c < D; ++c) {
            const float found = std::bit_cast<float>(uint32_t{results[row * D + c]} << 16);
            most = std::max(most, std::abs(wanted[c])), worst = std::max(worst, std::abs(found - wanted[c]));
        }
        if (!(worst <= TOLERANCE * most))
            throw std::runtime_error(std::string(TILES[which].kernel) + " is wrong in row " + std::to_string(row));
    }
}

Item row_of(const Ceilings& ceilings, Buffers& buffers, size_t which, const Shape& s) {
    const uint64_t queries = s.seqs * s.tokens * s.heads * D, keys = s.seqs * s.tokens * s.kv_heads * D;
    buffers.next_row();
    const uint64_t q = buffers.random(SPARK_DTYPE_I8, queries), k = buffers.random(SPARK_DTYPE_I8, keys),
                   v = buffers.random(SPARK_DTYPE_I8, keys);
    const Params p = params_of(s, q, k, v, buffers.result(queries * 2));
    const double pairs = s.causal ? double(s.tokens) * (s.tokens + 1) / 2 : double(s.tokens) * s.tokens;
    Item item;
    item.name = "attention_twin";
    item.shape = "b=" + std::to_string(s.seqs) + " q=" + std::to_string(s.tokens) + " h=" + std::to_string(s.heads) +
                 "/" + std::to_string(s.kv_heads) + " d=128 I8" + (s.causal ? " causal" : "");
    item.works = {{Unit::flops, 4.0 * double(s.seqs) * s.heads * D * pairs, "mma_s8"}};
    item.ways.emplace_back().kernel = TILES[which].kernel;
    item.ways[0].run = [&ceilings, ctx = buffers.context(), p, which,
                        grid = grid_of(s, TILES[which])](spark_stream to) {
        uint64_t native = 0;
        if (spark_stream_native(ctx, to, &native, nullptr) != SPARK_OK) throw std::runtime_error("the stream is gone");
        ceilings.twin(which, &p, sizeof p, grid, BLOCK, native);
    };
    return item;
}

} // namespace

std::vector<Item> twin_items(Ceilings& ceilings, Buffers& buffers, bool small) {
    for (const Tile& tile : TILES) ceilings.load_twin(tile.text, tile.kernel, tile.smem);
    std::vector<Item> items;
    for (const bool causal : {false, true}) {
        const Shape shape = small ? Shape{1, 256, 2, 1, causal} : Shape{2, 4096, 32, 8, causal};
        for (size_t which = 0; which < std::size(TILES); ++which) {
            check(ceilings, buffers, which, causal);
            items.push_back(row_of(ceilings, buffers, which, shape));
        }
    }
    return items;
}

} // namespace bench
