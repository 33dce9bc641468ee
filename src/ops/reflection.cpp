// SPDX-License-Identifier: Apache-2.0
// Written by tools/specgen from src/ops/<family>/op.toml; do not edit.
#include "ops/common/spec.h"

namespace spark {
namespace {

constexpr spark_field gemm_fields[] = {
    {"a", "The left matrix.", "[B?, M, K]", nullptr,
     0xc, 1, 33, 24, 256, 2, 3, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
    {"b", "The right matrix, transposed.", "[B?, N, K]", nullptr,
     0x0, 1, 33, 280, 256, 2, 3, 0, 0, NO_FIELD, NO_FIELD, {0, 0}},
    {"c", "The addend, times beta.", "[B?, M, N]", nullptr,
     0x0, 1, 45, 536, 256, 2, 3, 0, 3, NO_FIELD, NO_FIELD, {0, 0}},
    {"d", "The result.", "[B?, M, N]", nullptr,
     0xe, 1, 10, 792, 256, 2, 3, 0, NO_FIELD, 2, NO_FIELD, {0, 0}},
    {"bias", "Added to every row, before the activation.", "[N]", nullptr,
     0x2, 1, 13, 1048, 256, 1, 1, 0, 3, NO_FIELD, NO_FIELD, {0, 0}},
    {"alpha", "Factor of the product. 0 stands for 1.", nullptr, nullptr,
     0x0, 2, 1, 1304, 4, 0, 0, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
    {"beta", "Factor of c.", nullptr, nullptr,
     0x0, 2, 1, 1308, 4, 0, 0, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
    {"activation", "Applied last.", nullptr, "NONE=0 SILU=1 GELU_ERF=2 GELU_TANH=3",
     0x0, 7, 1, 1312, 4, 0, 0, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
    {"reserved", "0.", nullptr, nullptr,
     0x0, 8, 0, 1316, 4, 0, 0, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
};
constexpr Dim gemm_a[] = {{Dim::optional, 0}, {Dim::symbol, 1}, {Dim::symbol, 2}};
constexpr Dim gemm_b[] = {{Dim::optional, 0}, {Dim::symbol, 3}, {Dim::symbol, 2}};
constexpr Dim gemm_c[] = {{Dim::optional, 0}, {Dim::symbol, 1}, {Dim::symbol, 3}};
constexpr Dim gemm_d[] = {{Dim::optional, 0}, {Dim::symbol, 1}, {Dim::symbol, 3}};
constexpr Dim gemm_bias[] = {{Dim::symbol, 3}};
constexpr std::span<const Dim> gemm_dims[] = {gemm_a, gemm_b, gemm_c, gemm_d, gemm_bias, {}, {}, {}, {}};
constexpr const char* gemm_symbols[] = {"B", "M", "K", "N"};
constexpr spark_op_desc gemm_desc = {
    "gemm", "Matrix product, optionally batched, with addend, bias and activation.", "gemm", nullptr,
    gemm_fields, 1, 9, 1320, 1320, 0x3, 100, {0, 0}};
static_assert(sizeof(spark_gemm_args) == 1320);

constexpr spark_field rmsnorm_fields[] = {
    {"x", "The rows to normalise.", "[..., N]", nullptr,
     0xe, 1, 9, 24, 256, 1, 6, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
    {"weight", "One factor per column. Absent: none is applied.", "[N]", nullptr,
     0x2, 1, 13, 280, 256, 1, 1, 0, 0, NO_FIELD, NO_FIELD, {0, 0}},
    {"residual", "Added to x before the norm.", "[..., N]", nullptr,
     0x0, 1, 13, 536, 256, 1, 6, 0, 0, NO_FIELD, NO_FIELD, {0, 0}},
    {"y", "The result.", "[..., N]", nullptr,
     0x0, 1, 10, 792, 256, 1, 6, 0, 0, 0, NO_FIELD, {0, 0}},
    {"residual_out", "The rounded sum x + residual. Absent: not stored.", "[..., N]", nullptr,
     0x0, 1, 14, 1048, 256, 1, 6, 0, 0, 2, 2, {0, 0}},
    {"eps", "Added to the mean square; finite, not negative. 0 is 0: models use 1e-5 or 1e-6.", nullptr, nullptr,
     0x0, 2, 1, 1304, 4, 0, 0, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
    {"reserved", "0.", nullptr, nullptr,
     0x0, 8, 0, 1308, 4, 0, 0, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
};
constexpr Dim rmsnorm_x[] = {{Dim::rest, 0}, {Dim::symbol, 0}};
constexpr Dim rmsnorm_weight[] = {{Dim::symbol, 0}};
constexpr Dim rmsnorm_residual[] = {{Dim::rest, 0}, {Dim::symbol, 0}};
constexpr Dim rmsnorm_y[] = {{Dim::rest, 0}, {Dim::symbol, 0}};
constexpr Dim rmsnorm_residual_out[] = {{Dim::rest, 0}, {Dim::symbol, 0}};
constexpr std::span<const Dim> rmsnorm_dims[] = {rmsnorm_x, rmsnorm_weight, rmsnorm_residual, rmsnorm_y, rmsnorm_residual_out, {}, {}};
constexpr const char* rmsnorm_symbols[] = {"N"};
constexpr spark_op_desc rmsnorm_desc = {
    "rmsnorm", "Root-mean-square norm over the last dimension, with an optional residual sum.", "norm", "NORMALIZE_ROUNDED=256 ROUND_BEFORE_WEIGHT=512 WEIGHT_PLUS_ONE=1024",
    rmsnorm_fields, 4, 7, 1312, 1312, 0x703, 100, {0, 0}};
static_assert(sizeof(spark_rmsnorm_args) == 1312);

constexpr spark_field embedding_fields[] = {
    {"table", "The rows to choose from.", "[V, D]", nullptr,
     0xe, 1, 9, 24, 256, 2, 2, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
    {"ids", "Row numbers.", "[...]", nullptr,
     0x140000, 1, 17, 280, 256, 1, 6, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
    {"y", "The chosen rows.", "[..., D]", nullptr,
     0x0, 1, 10, 536, 256, 1, 6, 0, 0, NO_FIELD, NO_FIELD, {0, 0}},
    {"invalid_count", "Counts the indices outside the table.", "[1]", nullptr,
     0x40000, 1, 23, 792, 256, 1, 1, 0, NO_FIELD, NO_FIELD, NO_FIELD, {0, 0}},
};
constexpr Dim embedding_table[] = {{Dim::symbol, 0}, {Dim::symbol, 1}};
constexpr Dim embedding_ids[] = {{Dim::rest, 0}};
constexpr Dim embedding_y[] = {{Dim::rest, 0}, {Dim::symbol, 1}};
constexpr Dim embedding_invalid_count[] = {{Dim::literal, 1}};
constexpr std::span<const Dim> embedding_dims[] = {embedding_table, embedding_ids, embedding_y, embedding_invalid_count};
constexpr const char* embedding_symbols[] = {"V", "D"};
constexpr spark_op_desc embedding_desc = {
    "embedding", "Copies rows of a table by index; an index outside the table is never followed.", "embedding", "ZERO_INVALID=256",
    embedding_fields, 7, 4, 1048, 1048, 0x103, 100, {0, 0}};
static_assert(sizeof(spark_embedding_args) == 1048);

constexpr OpSpec TABLE[] = {
    {&gemm_desc, gemm_dims, gemm_symbols},
    {&rmsnorm_desc, rmsnorm_dims, rmsnorm_symbols},
    {&embedding_desc, embedding_dims, embedding_symbols},
};

}  // namespace

std::span<const OpSpec> op_specs() { return TABLE; }

}  // namespace spark
