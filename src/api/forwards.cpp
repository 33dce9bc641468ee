// SPDX-License-Identifier: Apache-2.0
// Written by tools/specgen from src/ops/<family>/op.toml; do not edit.
#include <spark.h>

extern "C" spark_status spark_gemm(spark_context* ctx, const spark_gemm_args* args,
    const spark_exec* exec, spark_error* err) {
    return spark_op_launch(ctx, reinterpret_cast<const spark_args*>(args), exec, err);
}

extern "C" spark_status spark_rmsnorm(spark_context* ctx, const spark_rmsnorm_args* args,
    const spark_exec* exec, spark_error* err) {
    return spark_op_launch(ctx, reinterpret_cast<const spark_args*>(args), exec, err);
}

extern "C" spark_status spark_embedding(spark_context* ctx, const spark_embedding_args* args,
    const spark_exec* exec, spark_error* err) {
    return spark_op_launch(ctx, reinterpret_cast<const spark_args*>(args), exec, err);
}
