// SPDX-License-Identifier: Apache-2.0
// spark_kv_append_args and spark_kv_gather_args -> KvRows, spark_kv_copy_args -> KvPages. What can be refused is in
// the description; here heads that lie side by side in all four tensors are folded into one wide head, and
// so are rows of pages. The contract is which way and the size of an element, where rows are copied bit by bit, or
// else which codes the caches have.
#include <algorithm>

#include "ops/common/coded.h"
#include "ops/kv/problem.h"

namespace spark {
namespace {

// The contracts for elements of one, two and four bytes.
struct BySize {
    Contract b8, b16, b32;
    Contract of(uint32_t bytes) const { return bytes == 1 ? b8 : bytes == 2 ? b16 : b32; }
};

// Two codes of E2M1 are moved as the byte that they are.
int64_t per_unit(const View& v) { return v.elem_bits < 8 ? 8 / v.elem_bits : 1; }
uint32_t unit_bytes(const View& v) { return v.elem_bits < 8 ? 1 : v.elem_bits / 8; }

int64_t stride_of(const View& v, uint32_t dim) { return v.shape[dim] > 1 ? v.stride[dim] / per_unit(v) : 0; }

// That rows are whole bytes.
spark_status check_bytes(const ValidatedArgs& bound, std::initializer_list<uint32_t> fields, Report& report) {
    for (uint32_t field : fields) {
        const View& v = bound.view[field];
        if (!v.present || v.elem_bits >= 8) continue;
        if (spark_status s = check_codes(bound, field, report)) return s;
        if (v.last(0) % 2 == 0) continue;
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, field,
                                 "%s.shape[%u] is %lld; an even number wanted, since two of E2M1 share a byte",
                                 bound.spec->fields[field].name, v.ndim - 1, static_cast<long long>(v.last(0)));
    }
    return SPARK_OK;
}

int64_t alignment(const View& v, std::initializer_list<int64_t> strides) {
    int64_t align = v.alignment();
    for (int64_t stride : strides) {
        int64_t bytes = stride * unit_bytes(v);
        if (bytes != 0) align = std::min(align, bytes & -bytes);
    }
    return align;
}

KvRows::Side side_of(const View& tokens, const View& cache) {
    return {tokens.data,         cache.data,          stride_of(tokens, 0), stride_of(tokens, 1),
            stride_of(cache, 0), stride_of(cache, 1), stride_of(cache, 2),  {}};
}

// Heads that follow one another without a gap, everywhere, are one head of all their elements.
void fold_heads(KvRows& p) {
    for (const KvRows::Side* side : {&p.k, &p.v}) {
        if (p.heads > 1 && (side->head != p.width || side->cache_head != p.width)) return;
    }
    p.width *= p.heads;
    p.heads = 1;
    p.k.head = p.v.head = p.k.cache_head = p.v.cache_head = 0;
}

// The fields of all three operators, in the order that they share.
namespace append = kv_append_field;
namespace gather = kv_gather_field;
using namespace kv_append_field;
#define SAME(field)                                          \
    static_assert(int{gather::field} == int{append::field}); \
    static_assert(int{rope_append_field::field} == int{append::field})
SAME(K);
SAME(V);
SAME(POSITIONS);
SAME(BATCH);
SAME(K_CACHE);
SAME(V_CACHE);
SAME(INVALID_COUNT);
SAME(BLOCK_TABLE);
SAME(KV_INDPTR);
SAME(KV_INDICES);
#undef SAME

// The pages of sequences: rows of a table, or a list with the first of each.
void add_pages(const ValidatedArgs& bound, KvRows& p) {
    const View &table = bound.view[BLOCK_TABLE], &list = bound.view[KV_INDICES], &firsts = bound.view[KV_INDPTR];
    if (list.present) {
        p.table = list.data, p.table_first = firsts.data, p.entries = list.shape[0];
        p.sequences = std::max<int64_t>(firsts.shape[0] - 1, 0);
    } else if (table.present) {
        p.table = table.data, p.table_seq = table.stride[0];
        p.sequences = table.shape[0], p.entries = table.shape[1];
    }
}

// Bytes of a token's numbers and codes, or of its bits twice, and of its scales.
uint64_t bytes_of_token(const KvRows& p, const View& k, const View& cache) {
    const auto elements = static_cast<uint64_t>(k.shape[1] * k.shape[2]);
    uint64_t bytes = 2 * elements * (k.elem_bits + cache.elem_bits) / 8;
    for (const KvRows::Side* side : {&p.k, &p.v}) {
        if (p.codes == SPARK_DTYPE_E2M1) {
            bytes += elements / 16;
        } else if (side->scales.row != 0 || side->scales.made) {
            bytes += static_cast<uint64_t>(k.shape[1]) * sizeof(float);
        }
    }
    return bytes;
}

struct Contracts {
    BySize bits;
    Contract fp8, nvfp4;
    bool gathers;
    Contract of(const KvRows& p) const {
        return p.codes == 0 ? bits.of(p.elem_bytes) : p.codes == SPARK_DTYPE_E2M1 ? nvfp4 : fp8;
    }
};

spark_status check_rows(const ValidatedArgs& bound, CheckedOp& work, const Contracts& contracts, Report& report) {
    const View &k = bound.view[K], &v = bound.view[V], &k_cache = bound.view[K_CACHE], &v_cache = bound.view[V_CACHE];
    KvRows& p = work.as<KvRows>();
    if (spark_status s = fill_kv_rows(bound, contracts.gathers, p, report)) return s;
    work.empty = k.count == 0;
    work.bytes = bytes_of_kv_rows(bound, p);
    if (!work.empty && p.codes == 0) fold_heads(p);

    int64_t facts[KV_FACTS] = {p.tokens,
                               p.heads,
                               p.width,
                               p.width * p.elem_bytes,
                               alignment(k, {p.k.token, p.k.head}),
                               alignment(v, {p.v.token, p.v.head}),
                               alignment(k_cache, {p.k.cache_batch, p.k.cache_row, p.k.cache_head}),
                               alignment(v_cache, {p.v.cache_batch, p.v.cache_row, p.v.cache_head})};
    memcpy(work.facts, facts, sizeof facts);
    work.contract = contracts.of(p);
    return SPARK_OK;
}

KvPages::Cache cache_of(const View& v) { return {v.data, stride_of(v, 0), stride_of(v, 1), stride_of(v, 2)}; }

// A dimension over which all four caches step without a gap becomes part of their rows.
void fold(KvPages& p, int64_t KvPages::*size, int64_t KvPages::Cache::*stride) {
    KvPages::Cache* const caches[] = {&p.k, &p.v, &p.k_cache, &p.v_cache};
    const auto has_gap = [&](const KvPages::Cache* cache) { return cache->*stride != p.width; };
    if (p.*size > 1 && std::any_of(std::begin(caches), std::end(caches), has_gap)) return;
    p.width *= p.*size;
    p.*size = 1;
    for (KvPages::Cache* cache : caches) cache->*stride = 0;
}

} // namespace

spark_status fill_kv_rows(const ValidatedArgs& bound, bool gathers, KvRows& p, Report& report) {
    if (spark_status s = check_bytes(bound, {K, V, K_CACHE, V_CACHE}, report)) return s;
    const View &k = bound.view[K], &v = bound.view[V], &k_cache = bound.view[K_CACHE], &v_cache = bound.view[V_CACHE],
               &positions = bound.view[POSITIONS], &batch = bound.view[BATCH];
    p = {};
    p.k = side_of(k, k_cache), p.v = side_of(v, v_cache);
    p.positions = positions.data, p.positions64 = positions.dtype == SPARK_DTYPE_I64;
    if (batch.present) p.batch = batch.data, p.batch64 = batch.dtype == SPARK_DTYPE_I64;
    add_pages(bound, p);
    p.invalid_count = bound.view[INVALID_COUNT].data;
    p.tokens = k.shape[0], p.heads = k.shape[1], p.width = k.shape[2] / per_unit(k);
    p.batches = k_cache.shape[0], p.rows = k_cache.shape[1];
    p.elem_bytes = unit_bytes(k);
    return check_kv_codes(bound, gathers, p, report);
}

uint64_t bytes_of_kv_rows(const ValidatedArgs& bound, const KvRows& p) {
    const View& batch = bound.view[BATCH];
    const uint64_t moved = static_cast<uint64_t>(p.tokens) * bytes_of_token(p, bound.view[K], bound.view[K_CACHE]);
    return bound.view[POSITIONS].bytes + (batch.present ? batch.bytes : 0) + moved;
}

spark_status check_kv_copy(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    namespace copy = kv_copy_field;
    if (spark_status s = check_bytes(bound, {copy::K_CACHE, copy::V_CACHE, copy::K_FROM, copy::V_FROM}, report)) {
        return s;
    }
    const View &pairs = bound.view[copy::PAIRS], &k_cache = bound.view[copy::K_CACHE],
               &v_cache = bound.view[copy::V_CACHE];
    const bool within = !bound.view[copy::K_FROM].present;
    const View &k = within ? k_cache : bound.view[copy::K_FROM], &v = within ? v_cache : bound.view[copy::V_FROM];
    KvPages& p = work.as<KvPages>();
    p = {};
    p.k = cache_of(k), p.v = cache_of(v), p.k_cache = cache_of(k_cache), p.v_cache = cache_of(v_cache);
    p.pairs = pairs.data, p.pairs64 = pairs.dtype == SPARK_DTYPE_I64;
    p.invalid_count = bound.view[copy::INVALID_COUNT].data;
    p.count = pairs.shape[0], p.sources = k.shape[0], p.batches = k_cache.shape[0];
    p.rows = k_cache.shape[1], p.heads = k_cache.shape[2], p.width = k_cache.shape[3] / per_unit(k_cache);
    p.elem_bytes = unit_bytes(k_cache);
    work.empty = p.count == 0 || p.rows == 0 || p.heads == 0 || p.width == 0;
    static constexpr BySize CONTRACTS = {"kv_copy_b8", "kv_copy_b16", "kv_copy_b32"};
    work.contract = CONTRACTS.of(p.elem_bytes);
    if (work.empty) return SPARK_OK;
    fold(p, &KvPages::heads, &KvPages::Cache::head);
    fold(p, &KvPages::rows, &KvPages::Cache::row);
    fold(p, &KvPages::heads, &KvPages::Cache::head); // of [B, H, S, D]

    const auto aligned = [](const View& view, const KvPages::Cache& cache) {
        return alignment(view, {cache.batch, cache.row, cache.head});
    };
    int64_t facts[KV_FACTS] = {p.count,
                               p.heads,
                               p.width,
                               p.width * p.elem_bytes,
                               aligned(k, p.k),
                               aligned(v, p.v),
                               aligned(k_cache, p.k_cache),
                               aligned(v_cache, p.v_cache)};
    memcpy(work.facts, facts, sizeof facts);
    const auto moved = static_cast<uint64_t>(p.rows * p.heads * p.width) * p.elem_bytes;
    work.bytes = pairs.bytes + 4 * static_cast<uint64_t>(p.count) * moved;
    return SPARK_OK;
}

spark_status check_kv_append(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    static constexpr Contracts CONTRACTS = {
        {"kv_append_b8", "kv_append_b16", "kv_append_b32"}, "kv_append_fp8", "kv_append_nvfp4", false};
    return check_rows(bound, work, CONTRACTS, report);
}

spark_status check_kv_gather(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    static constexpr Contracts CONTRACTS = {
        {"kv_gather_b8", "kv_gather_b16", "kv_gather_b32"}, "kv_gather_fp8", "kv_gather_nvfp4", true};
    return check_rows(bound, work, CONTRACTS, report);
}

} // namespace spark
