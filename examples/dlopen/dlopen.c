/* SPDX-License-Identifier: Apache-2.0 */
/* libspark as an option of a program: nothing is linked, the library is opened when it is wanted, and a computer that
 * does not have it gets a sentence. The header alone is needed to compile.
 *
 *     cc dlopen.c $(pkg-config --cflags libspark)          (-ldl with a glibc before 2.34) */
#include <dlfcn.h>
#include <spark.h>
#include <stdio.h>

/* What this program calls. The symbols keep their names and types as long as the number in the SONAME stays. */
#define WANTED(X) \
    X(version) X(context_create) X(context_destroy) X(mem_alloc) X(mem_free) X(mem_set) X(mem_copy_to_host) X(rmsnorm)

typedef struct Spark {
#define MEMBER(name) __typeof__(spark_##name) *name;
    WANTED(MEMBER)
#undef MEMBER
} Spark;

/* NULL, or what is missing. */
static const char *open_library(Spark *spark) {
    void *library = dlopen("libspark.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) return dlerror();
#define FIND(name) \
    if (!(*(void **)&spark->name = dlsym(library, "spark_" #name))) return dlerror();
    WANTED(FIND)
#undef FIND
    return NULL; /* the library stays open until the program ends */
}

/* Normalises 64 equal numbers, which gives ones. */
static spark_status normalise(const Spark *spark, spark_context *ctx, uint16_t *first, spark_error *err) {
    spark_rmsnorm_args args = {.hdr = {.struct_size = sizeof args, .op = SPARK_OP_RMSNORM}};
    args.x = (spark_tensor){.dtype = SPARK_DTYPE_BF16, .ndim = 2, .shape = {1, 64}};
    spark_status status = spark->mem_alloc(ctx, 128, &args.x.data, err);
    if (status) return status;
    args.y = args.x; /* in place */
    status = spark->mem_set(ctx, args.x.data, 0x3f, 128, 0, err);
    if (!status) status = spark->rmsnorm(ctx, &args, NULL, err);
    if (!status) status = spark->mem_copy_to_host(ctx, first, args.y.data, sizeof *first, 0, err);
    spark->mem_free(ctx, args.x.data, NULL);
    return status;
}

int main(void) {
    Spark spark;
    const char *missing = open_library(&spark);
    if (missing) return printf("without libspark: %s\n", missing), 2;
    printf("libspark %u\n", spark.version());

    spark_error err = {.struct_size = sizeof err};
    spark_context_desc desc = {.struct_size = sizeof desc};
    spark_context *ctx = NULL;
    uint16_t first = 0;
    spark_status status = spark.context_create(&desc, &ctx, &err);
    if (!status) status = normalise(&spark, ctx, &first, &err);
    spark.context_destroy(ctx);
    if (status) return puts(err.message), 1;
    printf("y[0] = 0x%04x in bfloat16\n", first);
}
