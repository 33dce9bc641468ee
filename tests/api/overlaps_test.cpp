// SPDX-License-Identifier: Apache-2.0
// Tensors that share bytes are refused, and those that lie between each other's are not: small layouts, against all of
// their bytes.
#include <algorithm>
#include <random>
#include <set>

#include "outcome.h"

namespace {

using Bytes = std::set<spark_devptr>;

constexpr spark_devptr FAR = spark_devptr{1} << 40; // no memory is there: query only asks

Bytes bytes_of(const spark_tensor& t) {
    const int64_t size = spark_dtype_bits(t.dtype);
    Bytes all;
    std::vector<int64_t> at(t.ndim, 0);
    for (;;) {
        int64_t bit = 0;
        for (uint32_t d = 0; d < t.ndim; ++d) bit += at[d] * t.stride[d] * size;
        for (int64_t byte = bit / 8; byte <= (bit + size - 1) / 8; ++byte)
            all.insert(t.data + static_cast<spark_devptr>(byte));
        uint32_t d = t.ndim;
        while (d > 0 && ++at[d - 1] == t.shape[d - 1]) at[--d] = 0;
        if (d == 0) return all;
    }
}

bool share(const spark_tensor& a, const spark_tensor& b) {
    const Bytes of_a = bytes_of(a), of_b = bytes_of(b);
    return std::any_of(of_a.begin(), of_a.end(), [&](spark_devptr byte) { return of_b.count(byte) != 0; });
}

class Draw {
public:
    int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine_); }

    // Dimensions around each other in any order, with gaps in which something else may lie.
    void strides(spark_tensor& t) {
        std::vector<uint32_t> order(t.ndim - 1);
        for (uint32_t d = 0; d < order.size(); ++d) order[d] = d;
        std::shuffle(order.begin(), order.end(), engine_);
        int64_t next = t.shape[t.ndim - 1];
        t.stride[t.ndim - 1] = 1;
        for (uint32_t d : order) {
            next = below(2) != 0 ? next * 2 : next + below(3);
            next += next % 2; // of E2M1 rows begin on whole bytes
            t.stride[d] = next;
            next *= t.shape[d];
        }
    }

private:
    std::mt19937 engine_{7};
};

spark_tensor tensor(spark_dtype dtype, const std::vector<int64_t>& shape, spark_devptr data) {
    spark_tensor t{};
    t.dtype = dtype, t.ndim = static_cast<uint32_t>(shape.size()), t.data = data;
    std::copy(shape.begin(), shape.end(), t.shape);
    return t;
}

spark_status asked(const spark_kv_gather_args& args) {
    g_err = fresh_error();
    return spark_op_query(g_ctx, &args.hdr, nullptr, &g_err);
}

spark_kv_gather_args gather(spark_dtype dtype, const std::vector<int64_t>& cache) {
    const int64_t h = cache[2], d = cache[3];
    spark_kv_gather_args args{};
    args.hdr.struct_size = sizeof args, args.hdr.op = SPARK_OP_KV_GATHER;
    args.k = tensor(dtype, {2, h, d}, FAR), args.v = tensor(dtype, {2, h, d}, 2 * FAR);
    args.k_cache = tensor(dtype, cache, 3 * FAR), args.v_cache = tensor(dtype, cache, 4 * FAR);
    args.positions = tensor(SPARK_DTYPE_I32, {2}, 5 * FAR);
    args.invalid_count = tensor(SPARK_DTYPE_I32, {1}, 6 * FAR);
    return args;
}

void small_layouts(void**) {
    Draw draw;
    int shared = 0, between = 0;
    for (int n = 0; n < 4000; ++n) {
        const spark_dtype dtype = n % 3 == 0 ? SPARK_DTYPE_F16 : n % 3 == 1 ? SPARK_DTYPE_E4M3 : SPARK_DTYPE_E2M1;
        auto args = gather(dtype, {1 + draw.below(3), 1 + draw.below(3), 1 + draw.below(3), 2 + 2 * draw.below(3)});
        draw.strides(args.k), draw.strides(args.k_cache);
        const int64_t room = 2 + args.k_cache.stride[0] * args.k_cache.shape[0];
        args.k_cache.data = args.k.data + static_cast<spark_devptr>(2 * draw.below(room)) - 8;
        const spark_status wanted = share(args.k, args.k_cache) ? SPARK_ERR_INVALID_OVERLAP : SPARK_OK;
        const spark_status got = asked(args);
        if (got != wanted)
            fail_msg("draw %d: %s, %s wanted: %s", n, spark_status_name(got), spark_status_name(wanted), g_err.message);
        ++(wanted == SPARK_OK ? between : shared);
    }
    assert_in_range(shared, 500, 3500);
    assert_in_range(between, 500, 3500);
}

// Caches whose k and v are slices of one tensor, a dimension of 2 anywhere before d.
void slices_of_one_cache(void**) {
    const std::vector<int64_t> cache = {5, 16, 3, 64};
    std::vector<int> order = {0, 1, 2, 3}; // dimensions 0 to 2 of the cache, and the slices, 3
    do {
        int64_t stride[4], next = cache[3];
        for (size_t i = order.size(); i-- > 0; next *= order[i] == 3 ? 2 : cache[static_cast<size_t>(order[i])])
            stride[order[i]] = next;
        spark_kv_append_args args{};
        static_assert(sizeof args == sizeof(spark_kv_gather_args)); // the fields are those of kv_append
        const auto like = gather(SPARK_DTYPE_BF16, cache);
        std::memcpy(&args, &like, sizeof args);
        args.hdr.op = SPARK_OP_KV_APPEND;
        for (spark_tensor* t : {&args.k_cache, &args.v_cache}) {
            std::copy(stride, stride + 3, t->stride);
            t->stride[3] = 1;
        }
        for (int64_t off : {int64_t{0}, int64_t{-1}, int64_t{1}}) {
            args.v_cache.data = args.k_cache.data + static_cast<spark_devptr>(2 * (stride[3] + off));
            const spark_status got = spark_op_query(g_ctx, &args.hdr, nullptr, &g_err);
            const bool apart = off == 0 || (off == 1 && order[0] == 3); // behind all of k one element more is free
            if (got != (apart ? SPARK_OK : SPARK_ERR_INVALID_OVERLAP))
                fail_msg("strides %lld %lld %lld, slices %lld apart: %s", static_cast<long long>(stride[0]),
                         static_cast<long long>(stride[1]), static_cast<long long>(stride[2]),
                         static_cast<long long>(stride[3] + off), spark_status_name(got));
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(small_layouts), cmocka_unit_test(slices_of_one_cache)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
