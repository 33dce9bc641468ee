// SPDX-License-Identifier: Apache-2.0
// What a call may ask of its execution, and what the library chooses for it: spark_exec, the workspace, kernels by id,
// the order of sums.
#include <algorithm>
#include <cstdlib>
#include <fnmatch.h>
#include <set>
#include <string>

#include "outcome.h"

namespace {

void exec_rules(void**) {
    spark_context* ctx = api::make_context();
    api::Arena arena(ctx);
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        api::Example e(*spark_op_at(i), arena);
        const auto with = [&](const char* what, spark_status wanted, auto change) {
            spark_exec exec{};
            exec.struct_size = sizeof exec;
            change(exec);
            spark_error err = fresh_error();
            refused(spark_op_launch(ctx, e.head(), &exec, &err), wanted, err, what);
        };
        with("exec.struct_size 0", SPARK_ERR_INVALID_STRUCT_SIZE, [](auto& x) { x.struct_size = 0; });
        with("exec.struct_size 4", SPARK_ERR_INVALID_STRUCT_SIZE, [](auto& x) { x.struct_size = 4; });
        with("exec.flags", SPARK_ERR_INVALID_RESERVED, [](auto& x) { x.flags = 1; });
        with("exec.kernel_id", SPARK_ERR_INVALID_VALUE, [](auto& x) { x.kernel_id = 12345; });
        with("exec.workspace misaligned", SPARK_ERR_INVALID_ALIGNMENT,
             [](auto& x) { x.workspace = 8, x.workspace_size = 8; });
        spark_op_info info{};
        info.struct_size = sizeof info;
        assert_int_equal(spark_op_query(ctx, e.head(), &info, nullptr), SPARK_OK);
        if (info.workspace_size == 0) continue;
        with("workspace one byte short", SPARK_ERR_WORKSPACE_TOO_SMALL, [&](auto& x) {
            x.workspace = arena.take(info.workspace_size);
            x.workspace_size = info.workspace_size - 1;
        });
        with("no workspace", SPARK_ERR_WORKSPACE_TOO_SMALL, [](auto&) {});
    }
    assert_true(arena.untouched());
    spark_context_destroy(ctx);
}

// The workspace is memory that a launch writes and reads: sharing a byte of what it needs with any tensor is refused,
// naming both; what it does not need may be anything. These two calls need one and have every kind of tensor.
void workspace_apart(spark_context* ctx, api::Example& e, api::Arena& arena) {
    spark_op_info info{};
    info.struct_size = sizeof info;
    spark_error err = fresh_error();
    if (spark_op_query(ctx, e.head(), &info, &err) != SPARK_OK) fail_msg("%s", err.message);
    assert_true(info.workspace_size > 256);
    const auto launch = [&](uint64_t workspace, uint64_t size) {
        spark_exec exec{};
        exec.struct_size = sizeof exec;
        exec.workspace = workspace, exec.workspace_size = size;
        return spark_op_launch(ctx, e.head(), &exec, &err);
    };
    for (uint32_t f = 0; f < e.desc().num_fields; ++f) {
        if (api::field(e.desc(), f).kind != SPARK_KIND_TENSOR || e.tensor(f).ndim == 0) continue;
        spark_tensor& t = e.tensor(f);
        const spark_tensor original = t;
        const uint64_t needed = (info.workspace_size + 255) / 256 * 256, all = needed + t.size_bytes + 512;
        const uint64_t place = arena.take(all); // workspace and tensor share this
        const auto shared = [&](uint64_t workspace, uint64_t data, const char* what) {
            t.data = data;
            refused(launch(workspace, info.workspace_size), SPARK_ERR_INVALID_OVERLAP, err, what);
            if (!std::strstr(err.message, api::field(e.desc(), f).name) ||
                !std::strstr(err.message, "exec.workspace") || err.field != f)
                fail_msg("%s: \"%s\"", what, err.message);
        };
        shared(place, place, "the workspace on a tensor");
        shared(place, place + (info.workspace_size - 1) / 16 * 16, "a tensor on the workspace's last bytes");
        t.data = place;
        shared(place + (t.size_bytes - 1) / 256 * 256, place, "the workspace on a tensor's last bytes");
        assert_true(arena.untouched());
        t.data = place + needed; // inside workspace_size, behind what is needed
        if (launch(place, all) != SPARK_OK) fail_msg("%s behind the workspace: %s", e.desc().name, err.message);
        assert_int_equal(spark_stream_synchronize(ctx, 0, nullptr), SPARK_OK);
        t = original;
        for (uint32_t g = 0; g < e.desc().num_fields; ++g) // poison again what the call wrote
            if ((api::field(e.desc(), g).flags & SPARK_FIELD_OUT) && e.tensor(g).ndim != 0)
                spark_mem_set(ctx, e.tensor(g).data, api::Arena::poison, e.tensor(g).size_bytes, 0, nullptr);
        spark_mem_set(ctx, place, api::Arena::poison, all, 0, nullptr);
    }
    refused(launch(0 - uint64_t{256}, info.workspace_size), SPARK_ERR_INVALID_BOUNDS, err, "beyond the last address");
}

void resize(api::Example& e, api::Arena& arena, uint32_t f, std::vector<int64_t> shape) {
    spark_tensor& t = e.tensor(f);
    int64_t count = 1;
    for (uint32_t d = 0; d < shape.size(); ++d) t.shape[d] = shape[d], t.stride[d] = 0, count *= shape[d];
    t.size_bytes = static_cast<uint64_t>(count) * spark_dtype_bits(t.dtype) / 8;
    t.data = arena.take(t.size_bytes);
}

// Of codes the scales count too.
void workspace_apart_from_scales(spark_context* ctx, api::Example& gemm, api::Arena& arena) {
    for (uint32_t f : {0u, 1u}) {
        spark_tensor& t = gemm.tensor(f);
        t.dtype = SPARK_DTYPE_E4M3;
        t.quant.scheme = SPARK_QUANT_PER_TENSOR, t.quant.scale_dtype = SPARK_DTYPE_F32;
        t.quant.scale = arena.take(sizeof(float));
    }
    spark_op_info info{};
    info.struct_size = sizeof info;
    spark_error err = fresh_error();
    assert_int_equal(spark_op_query(ctx, gemm.head(), &info, &err), SPARK_OK);
    spark_exec exec{};
    exec.struct_size = sizeof exec;
    exec.workspace = arena.take(info.workspace_size + 16), exec.workspace_size = info.workspace_size;
    gemm.tensor(1).quant.scale = exec.workspace + (info.workspace_size - 1) / 4 * 4;
    refused(spark_op_launch(ctx, gemm.head(), &exec, &err), SPARK_ERR_INVALID_OVERLAP, err, "scales in the workspace");
    if (!std::strstr(err.message, "b.quant.scale") || err.field != 1) fail_msg("\"%s\"", err.message);
    gemm.tensor(1).quant.scale = exec.workspace + (info.workspace_size + 3) / 4 * 4;
    assert_int_equal(spark_op_launch(ctx, gemm.head(), &exec, &err), SPARK_OK);
    assert_int_equal(spark_stream_synchronize(ctx, 0, nullptr), SPARK_OK);
}

void workspaces(void**) {
    spark_context* ctx = api::make_context();
    {
        api::Arena arena(ctx);
        api::Example gemm(*spark_op_describe(SPARK_OP_GEMM), arena);
        const int64_t m = 64, n = 48, k = 4096;
        const std::vector<int64_t> shapes[] = {{m, k}, {n, k}, {m, n}, {m, n}, {n}};
        for (uint32_t f = 0; f < 5; ++f) {
            gemm.tensor(f).dtype = SPARK_DTYPE_BF16; // of F32 k is not split
            resize(gemm, arena, f, shapes[f]);
        }
        auto& args = *reinterpret_cast<spark_gemm_args*>(gemm.head());
        args.beta = 1, args.kept = {};
        workspace_apart(ctx, gemm, arena);
        workspace_apart_from_scales(ctx, gemm, arena);
    }
    {
        api::Arena arena(ctx);
        api::Options options;
        options.optional_fields = false;
        api::Example sample(*spark_op_describe(SPARK_OP_SAMPLE), arena, options);
        resize(sample, arena, 0, {24, 16384}); // few enough for the SMs of any chip: cut in parts
        resize(sample, arena, 1, {24});
        workspace_apart(ctx, sample, arena);
    }
    spark_context_destroy(ctx);
}

// A kernel of another operator, or one whose limits the problem fails, is refused by its id.
void foreign_kernels(void**) {
    spark_context* ctx = api::make_context();
    api::Arena arena(ctx);
    if (spark_op_count() < 2) return;
    api::Example first(*spark_op_at(0), arena), second(*spark_op_at(1), arena);
    spark_op_info info{};
    info.struct_size = sizeof info;
    assert_int_equal(spark_op_query(ctx, second.head(), &info, nullptr), SPARK_OK);
    spark_exec exec{};
    exec.struct_size = sizeof exec;
    exec.kernel_id = info.kernel_id;
    spark_error err = fresh_error();
    refused(spark_op_launch(ctx, first.head(), &exec, &err), SPARK_ERR_INVALID_VALUE, err,
            "a kernel of another operator");
    spark_context_destroy(ctx);
}

// With SPARK_FLAG_BATCH_INVARIANT the number of rows does not choose the order of sums, which a row's bits could follow
// from: k is in as many parts for all of them, whose sums stand in a workspace or meet within the kernel. Kernels named
// by three sizes and stages add in one order (launch_test.cpp computes it). How many of them the rows choose.
size_t batch_invariance(spark_context* ctx, spark_dtype a, spark_dtype b, int64_t k) {
    constexpr int64_t COLUMNS = 576;
    const int64_t parts = a == SPARK_DTYPE_BF16 && k == 4096 ? 2 : 0;
    std::set<std::string> kernels;
    for (int64_t rows : {1, 8, 9, 16, 17, 64, 65, 200, 5000}) {
        spark_gemm_args gemm{};
        gemm.hdr.struct_size = sizeof gemm, gemm.hdr.op = SPARK_OP_GEMM, gemm.hdr.flags = SPARK_FLAG_BATCH_INVARIANT;
        gemm.a.dtype = a, gemm.b.dtype = b, gemm.d.dtype = SPARK_DTYPE_BF16;
        gemm.a.ndim = gemm.b.ndim = gemm.d.ndim = 2;
        gemm.a.shape[0] = gemm.d.shape[0] = rows;
        gemm.b.shape[0] = gemm.d.shape[1] = COLUMNS;
        gemm.a.shape[1] = gemm.b.shape[1] = k;
        spark_op_info info{};
        info.struct_size = sizeof info;
        assert_int_equal(spark_op_query(ctx, &gemm.hdr, &info, nullptr), SPARK_OK);
        if (info.workspace_size != 0) assert_int_equal(info.workspace_size, parts * rows * COLUMNS * sizeof(float));
        if (fnmatch("gemm_*_tn__*x*x*_[sb]*", info.kernel, 0) != 0)
            fail_msg("%lld rows, k %lld: %s", static_cast<long long>(rows), static_cast<long long>(k), info.kernel);
        kernels.insert(info.kernel);
    }
    return kernels.size();
}

// k of 4096 and 96: rows that begin on 128 bytes, and on 32 at least, which fewer kernels take.
void batch_invariance(void**) {
    spark_context* ctx = api::make_context();
    size_t chosen = 0; // at most: what is cheapest for all rows differs from chip to chip
    for (int64_t k : {4096, 96}) {
        chosen = std::max(chosen, batch_invariance(ctx, SPARK_DTYPE_BF16, SPARK_DTYPE_BF16, k));
        chosen = std::max(chosen, batch_invariance(ctx, SPARK_DTYPE_E4M3, SPARK_DTYPE_E4M3, k));
        batch_invariance(ctx, SPARK_DTYPE_E4M3, SPARK_DTYPE_E5M2, k);
    }
    assert_true(chosen > 1);
    spark_context_destroy(ctx);
}

spark_attention_args attention(int64_t seqs, int64_t queries, int64_t keys, int64_t h, int64_t hkv, int64_t d,
                               uint32_t flags) {
    spark_attention_args a{};
    a.hdr.struct_size = sizeof a, a.hdr.op = SPARK_OP_ATTENTION, a.hdr.flags = flags;
    a.q.dtype = a.k.dtype = a.v.dtype = a.o.dtype = SPARK_DTYPE_BF16;
    a.q.ndim = a.k.ndim = a.v.ndim = a.o.ndim = 4;
    const int64_t q[] = {seqs, queries, h, d}, k[] = {seqs, keys, hkv, d};
    std::copy_n(q, 4, a.q.shape), std::copy_n(q, 4, a.o.shape);
    std::copy_n(k, 4, a.k.shape), std::copy_n(k, 4, a.v.shape);
    return a;
}

spark_op_info asked(spark_context* ctx, const spark_attention_args& a) {
    spark_op_info info{};
    info.struct_size = sizeof info;
    assert_int_equal(spark_op_query(ctx, &a.hdr, &info, nullptr), SPARK_OK);
    return info;
}

// Products of sizes that 32 bits do not hold: the workspace has room for all parts, or another kernel takes over, or
// the call is refused. Nothing wraps.
void vast_attention(void**) {
    spark_context* ctx = api::make_context();
    constexpr int64_t MOST = 2147483392, PARTS = MOST / 1024 + 1;
    for (uint32_t flags : {0u, static_cast<uint32_t>(SPARK_FLAG_BATCH_INVARIANT)}) {
        const spark_op_info most = asked(ctx, attention(1, 1, MOST, 16, 1, 64, flags));
        assert_int_equal(most.launches, 2);
        const bool wide = std::strstr(most.kernel, "__wide_") != nullptr;
        const int64_t width = std::atoi(std::strstr(most.kernel, "_d") + 2); // of its sums
        const int64_t part_bytes = 16 * (width + 2) * 4;
        assert_int_equal(most.workspace_size % part_bytes, 0);
        const auto parts = static_cast<int64_t>(most.workspace_size) / part_bytes;
        const bool free = wide || std::strstr(most.kernel, "__split") != nullptr; // one wave of parts of any length
        if (flags != 0) assert_false(free);
        if (free) assert_in_range(parts, 2, 256);
        else assert_int_equal(parts, PARTS);
        assert_non_null(std::strstr(asked(ctx, attention(1, 1, MOST + 1, 16, 1, 64, flags)).kernel, "__generic"));
        assert_non_null(std::strstr(asked(ctx, attention(1, 200, MOST + 1, 1, 1, 64, flags)).kernel, "__generic"));
        const spark_op_info units = asked(ctx, attention(1 << 24, 1, 300000, 1, 1, 64, flags));
        assert_int_equal(units.launches, 1);
        // Sums of a block between parts, if the kernel has any: 18 pairs a thread or more.
        if (flags != 0) assert_true(units.workspace_size != 0);
        if (units.workspace_size != 0) assert_true(units.workspace_size >= (uint64_t{1} << 24) * 18 * 128 * 8);
        const spark_op_info rows = asked(ctx, attention(1 << 24, 1 << 10, 5, 1, 1, 64, flags));
        assert_non_null(std::strstr(rows.kernel, "__generic"));
        spark_attention_args list = attention(1, 1, 5, 1 << 14, 1 << 14, 64, flags);
        list.cu_seqlens_q.dtype = list.cu_seqlens_k.dtype = SPARK_DTYPE_I32;
        list.cu_seqlens_q.ndim = list.cu_seqlens_k.ndim = 1;
        list.cu_seqlens_q.shape[0] = list.cu_seqlens_k.shape[0] = (int64_t{1} << 50) + 1;
        spark_op_info info{};
        info.struct_size = sizeof info;
        spark_error err = fresh_error();
        refused(spark_op_query(ctx, &list.hdr, &info, &err), SPARK_ERR_UNSUPPORTED_SHAPE, err,
                "1125899906842624 sequences");
        spark_attention_args heads = attention(1, 1, 5, 1, int64_t{1} << 32, 8, flags);
        err = fresh_error();
        refused(spark_op_query(ctx, &heads.hdr, &info, &err), SPARK_ERR_UNSUPPORTED_SHAPE, err, "hkv<=2147483647");
    }
    spark_context_destroy(ctx);
}

// Heads of 65 to 96 share the keys of a cache as others do.
void decoding_is_split(void**) {
    spark_context* ctx = api::make_context();
    for (int64_t d : {64, 80, 96, 128, 256}) {
        for (int64_t queries : {1, 8}) {
            const spark_op_info free = asked(ctx, attention(1, queries, 32768, 32, 8, d, 0));
            bool shared = false; // the keys, among blocks
            for (const char* way : {"__split_", "__parts_", "__wide_"})
                shared |= std::strstr(free.kernel, way) != nullptr;
            assert_true(shared);
            const auto flag = static_cast<uint32_t>(SPARK_FLAG_BATCH_INVARIANT);
            assert_non_null(std::strstr(asked(ctx, attention(1, queries, 32768, 32, 8, d, flag)).kernel, "__parts_"));
        }
    }
    spark_context_destroy(ctx);
}

// How many rows a table of pages has to have; pools that 32 bits do not reach.
void attention_in_pages(void**) {
    spark_context* ctx = api::make_context();
    spark_attention_args pages = attention(3, 1, 16, 4, 2, 64, 0);
    pages.k.shape[0] = pages.v.shape[0] = 1000;
    pages.block_table.dtype = SPARK_DTYPE_I32, pages.block_table.ndim = 2;
    pages.block_table.shape[0] = 3, pages.block_table.shape[1] = 128;
    assert_non_null(std::strstr(asked(ctx, pages).kernel, "__split_"));

    spark_op_info info{};
    info.struct_size = sizeof info;
    const auto refuse = [&](const spark_attention_args& a, spark_status status, const char* words) {
        spark_error err = fresh_error();
        refused(spark_op_query(ctx, &a.hdr, &info, &err), status, err, words);
    };
    spark_attention_args wrong = pages;
    wrong.block_table.shape[0] = 2;
    refuse(wrong, SPARK_ERR_INVALID_SHAPE, "block_table.shape[0] is 2; at least 3 wanted");
    wrong = pages;
    wrong.k.shape[1] = wrong.v.shape[1] = int64_t{1} << 31;
    refuse(wrong, SPARK_ERR_UNSUPPORTED_SHAPE, "k.shape[1] is 2147483648");

    wrong = pages;
    wrong.kv_indices.dtype = wrong.kv_indptr.dtype = SPARK_DTYPE_I32, wrong.kv_indices.ndim = wrong.kv_indptr.ndim = 1;
    wrong.kv_indices.shape[0] = 384, wrong.kv_indptr.shape[0] = 4;
    wrong.max_seqlen_k = 2048;
    assert_non_null(std::strstr(asked(ctx, wrong).kernel, "__split_"));
    wrong.kv_indptr.shape[0] = 3;
    refuse(wrong, SPARK_ERR_INVALID_SHAPE, "kv_indptr.shape[0] is 3; at least 4 wanted");
    wrong = pages;
    wrong.k.shape[2] = wrong.v.shape[2] = 0;
    refuse(wrong, SPARK_ERR_INVALID_SHAPE, "k.shape[2] is 0; 1 or more wanted");

    constexpr int64_t REACHED = (int64_t{1} << 36) / (16 * 2 * 64 * 2); // pages in 64 GiB
    pages.k.shape[0] = pages.v.shape[0] = REACHED;
    assert_non_null(std::strstr(asked(ctx, pages).kernel, "__split_"));
    pages.k.shape[0] = pages.v.shape[0] = REACHED + 1;
    assert_null(std::strstr(asked(ctx, pages).kernel, "__split_")); // but any problem's kernel, or rows made of pages
    spark_context_destroy(ctx);
}

// Values of another width than keys, and heads above 256: what takes them, and what refuses them.
void widths_of_heads(void**) {
    spark_context* ctx = api::make_context();
    const auto of = [](int64_t queries, int64_t d, int64_t dv) {
        spark_attention_args a = attention(2, queries, 300, 4, 2, d, 0);
        a.v.shape[3] = a.o.shape[3] = dv;
        return a;
    };
    const struct {
        int64_t queries, d, dv;
        const char* kernel;
    } cases[] = {
        {300, 192, 128, "__d192_"},        {1, 192, 128, "__d192_"},          {300, 8, 16, "__d192_"},
        {300, 512, 512, "__parts_d512"},   {1, 264, 264, "__parts_d512"},     {300, 256, 256, "__d256_"},
        {300, 192, 136, "__generic_d576"}, {300, 576, 512, "__generic_d576"}, {300, 257, 257, "__generic_d576"},
        {300, 192, 127, "__generic_d576"}, {300, 99, 99, "__generic"}};
    for (const auto& c : cases) {
        const spark_op_info info = asked(ctx, of(c.queries, c.d, c.dv));
        if (std::strstr(info.kernel, c.kernel) == nullptr) fail_msg("%s, %s wanted", info.kernel, c.kernel);
    }
    spark_op_info info{};
    info.struct_size = sizeof info;
    const auto refuse = [&](const spark_attention_args& a, spark_status status, const char* words) {
        spark_error err = fresh_error();
        refused(spark_op_query(ctx, &a.hdr, &info, &err), status, err, words);
    };
    refuse(of(1, 577, 512), SPARK_ERR_UNSUPPORTED_SHAPE, "d is 577");
    refuse(of(1, 576, 513), SPARK_ERR_UNSUPPORTED_SHAPE, "dv is 513");
    spark_attention_args a = of(1, 192, 128);
    a.o.shape[3] = 192;
    refuse(a, SPARK_ERR_INVALID_SHAPE, "o.shape[3] is 192");
    const char* const alike = "v.shape[3] is 128, k.shape[3] 192; the same wanted";
    a = of(1, 192, 128);
    a.k.dtype = a.v.dtype = SPARK_DTYPE_E4M3;
    refuse(a, SPARK_ERR_UNSUPPORTED_SHAPE, alike);
    a = of(1, 192, 128);
    a.o.dtype = SPARK_DTYPE_F32;
    refuse(a, SPARK_ERR_UNSUPPORTED_SHAPE, alike);
    spark_context_destroy(ctx);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(exec_rules),         cmocka_unit_test(workspaces),      cmocka_unit_test(foreign_kernels),
        cmocka_unit_test(batch_invariance),   cmocka_unit_test(vast_attention),  cmocka_unit_test(decoding_is_split),
        cmocka_unit_test(attention_in_pages), cmocka_unit_test(widths_of_heads),
    };
    return cmocka_run_group_tests_name("api.exec", tests, nullptr, nullptr);
}
