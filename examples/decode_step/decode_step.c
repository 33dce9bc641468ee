/* SPDX-License-Identifier: Apache-2.0 */
/* One decode step of a small transformer layer, captured in a graph and replayed: each replay appends a token to the
 * caches of two sequences. The first step also runs without the graph, and must give the same bits.
 *
 *     cc decode_step.c $(pkg-config --cflags --libs libspark)
 *
 * and LIBSPARK_DRIVER=emu on a computer without a GPU. */
#include <inttypes.h>
#include <spark.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEQUENCES = 2,
    HIDDEN = 64,
    HEADS = 2, /* of queries; one head of keys and values serves both */
    HEAD = 32,
    QKV = (HEADS + 2) * HEAD,
    INNER = 96, /* behind the gate; the projection before it has twice as many */
    VOCABULARY = 128,
    ROWS = 16, /* of a sequence in the cache */
    STEPS = 4,
    SCRATCH = 1 << 20 /* more than any of these calls asks for (spark_op_query says how much) */
};

typedef struct Layer {
    spark_context *ctx;
    spark_exec exec;
    spark_tensor norm, weight_qkv, weight_inner, weight_logits; /* what stays */
    spark_tensor x, h, qkv, keys, values, mixed, gates, inner, logits, tokens;
    spark_tensor positions; /* of the new tokens */
    spark_tensor lengths;   /* with them */
    spark_tensor draws;     /* which of the seed's random numbers */
    spark_tensor sequence, invalid;
} Layer;

static spark_error err = {.struct_size = sizeof err};

static void check(spark_status status) {
    if (status == SPARK_OK) return;
    fprintf(stderr, "%s: %s\n", spark_status_name(status), err.message);
    exit(EXIT_FAILURE);
}

/* Small numbers that every language can make: a linear congruence, its upper bits as multiples of 2^-10. */
static void fill(uint16_t *bf16, uint32_t seed, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        const float value = (float)((int32_t)(seed >> 24) - 128) / 1024.0f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bf16[i] = (uint16_t)(bits >> 16); /* exact: no such number has more than eight significant bits */
    }
}

static void upload(const Layer *l, spark_devptr to, const void *from, size_t bytes) {
    check(spark_mem_copy_to_device(l->ctx, to, from, bytes, l->exec.stream, &err));
}

static void download(const Layer *l, void *to, const spark_tensor *from, size_t bytes) {
    check(spark_mem_copy_to_host(l->ctx, to, from->data, bytes, l->exec.stream, &err));
}

/* A packed tensor on memory of its own, filled with zeros. Columns 0: one dimension. */
static spark_tensor zeros(const Layer *l, spark_dtype dtype, size_t element, int64_t rows, int64_t columns) {
    spark_tensor made = {.dtype = dtype, .ndim = columns ? 2 : 1, .shape = {rows, columns}};
    made.size_bytes = element * (uint64_t)(rows * (columns ? columns : 1));
    check(spark_mem_alloc(l->ctx, made.size_bytes, &made.data, &err));
    check(spark_mem_set(l->ctx, made.data, 0, made.size_bytes, l->exec.stream, &err));
    return made;
}

static spark_tensor weights(const Layer *l, uint32_t seed, int64_t rows, int64_t columns) {
    const size_t count = (size_t)(rows * columns);
    uint16_t *host = malloc(count * sizeof *host);
    if (!host) exit(EXIT_FAILURE);
    fill(host, seed, count);
    spark_tensor made = zeros(l, SPARK_DTYPE_BF16, sizeof *host, rows, columns);
    upload(l, made.data, host, count * sizeof *host);
    free(host);
    return made;
}

/* Another look at the memory of a tensor of bfloat16, `offset` elements further on. */
static spark_tensor look(spark_tensor on, int64_t offset, uint32_t ndim, const int64_t *shape, const int64_t *stride) {
    on.data += 2 * (uint64_t)offset;
    on.size_bytes -= 2 * (uint64_t)offset;
    on.ndim = ndim;
    memcpy(on.shape, shape, ndim * sizeof *shape);
    if (stride) memcpy(on.stride, stride, ndim * sizeof *stride);
    return on;
}

static Layer make(spark_context *ctx) {
    Layer l = {.ctx = ctx, .exec = {.struct_size = sizeof l.exec, .workspace_size = SCRATCH}};
    check(spark_stream_create(ctx, NULL, &l.exec.stream, &err));
    check(spark_mem_alloc(ctx, SCRATCH, &l.exec.workspace, &err));

    l.norm = zeros(&l, SPARK_DTYPE_BF16, 2, HIDDEN, 0);
    uint16_t ones[HIDDEN];
    for (int i = 0; i < HIDDEN; ++i) ones[i] = 0x3f80;
    upload(&l, l.norm.data, ones, sizeof ones);
    l.weight_qkv = weights(&l, 1, QKV, HIDDEN);
    l.weight_inner = weights(&l, 2, 2 * INNER, HEADS * HEAD);
    l.weight_logits = weights(&l, 3, VOCABULARY, INNER);

    l.x = zeros(&l, SPARK_DTYPE_BF16, 2, SEQUENCES, HIDDEN);
    l.h = zeros(&l, SPARK_DTYPE_BF16, 2, SEQUENCES, HIDDEN);
    l.qkv = zeros(&l, SPARK_DTYPE_BF16, 2, SEQUENCES, QKV);
    l.keys = zeros(&l, SPARK_DTYPE_BF16, 2, SEQUENCES * ROWS, HEAD);
    l.values = zeros(&l, SPARK_DTYPE_BF16, 2, SEQUENCES * ROWS, HEAD);
    l.mixed = zeros(&l, SPARK_DTYPE_BF16, 2, SEQUENCES, HEADS * HEAD);
    l.gates = zeros(&l, SPARK_DTYPE_BF16, 2, SEQUENCES, 2 * INNER);
    l.inner = zeros(&l, SPARK_DTYPE_BF16, 2, SEQUENCES, INNER);
    l.logits = zeros(&l, SPARK_DTYPE_F32, 4, SEQUENCES, VOCABULARY);
    l.tokens = zeros(&l, SPARK_DTYPE_I32, 4, SEQUENCES, 0);
    l.positions = zeros(&l, SPARK_DTYPE_I32, 4, SEQUENCES, 0);
    l.lengths = zeros(&l, SPARK_DTYPE_I32, 4, SEQUENCES, 0);
    l.draws = zeros(&l, SPARK_DTYPE_U64, 8, SEQUENCES, 0);
    l.sequence = zeros(&l, SPARK_DTYPE_I32, 4, SEQUENCES, 0);
    l.invalid = zeros(&l, SPARK_DTYPE_I32, 4, 1, 0);
    const int32_t numbers[SEQUENCES] = {0, 1};
    upload(&l, l.sequence.data, numbers, sizeof numbers);
    return l;
}

static void release(Layer *l) {
    const spark_tensor all[] = {l->norm,    l->weight_qkv, l->weight_inner, l->weight_logits, l->x,
                                l->h,       l->qkv,        l->keys,         l->values,        l->mixed,
                                l->gates,   l->inner,      l->logits,       l->tokens,        l->positions,
                                l->lengths, l->draws,      l->sequence,     l->invalid};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) check(spark_mem_free(l->ctx, all[i].data, &err));
    check(spark_mem_free(l->ctx, l->exec.workspace, &err));
    check(spark_stream_destroy(l->ctx, l->exec.stream, &err));
    spark_context_destroy(l->ctx);
}

/* Puts the tokens of a step in: what they are and where they stand. */
static void feed(const Layer *l, const int32_t *tokens, int step) {
    uint16_t x[SEQUENCES][HIDDEN];
    int32_t positions[SEQUENCES], lengths[SEQUENCES];
    uint64_t draws[SEQUENCES];
    for (int i = 0; i < SEQUENCES; ++i) {
        fill(x[i], 1000u + (uint32_t)tokens[i], HIDDEN);
        positions[i] = step;
        lengths[i] = step + 1;
        draws[i] = (uint64_t)step;
    }
    upload(l, l->x.data, x, sizeof x);
    upload(l, l->positions.data, positions, sizeof positions);
    upload(l, l->lengths.data, lengths, sizeof lengths);
    upload(l, l->draws.data, draws, sizeof draws);
}

static void product(const Layer *l, spark_tensor a, spark_tensor b, spark_tensor d) {
    spark_gemm_args args = {.hdr = {.struct_size = sizeof args, .op = SPARK_OP_GEMM}, .a = a, .b = b, .d = d};
    check(spark_gemm(l->ctx, &args, &l->exec, &err));
}

/* From the normalised rows to the output of the attention. */
static void attend(const Layer *l) {
    const int64_t stride[] = {QKV, HEAD, 1}, cache[] = {SEQUENCES, ROWS, 1, HEAD},
                  rows[] = {ROWS * HEAD, HEAD, HEAD, 1};
    const int64_t one_head[] = {SEQUENCES, 1, HEAD};
    const spark_tensor k_cache = look(l->keys, 0, 4, cache, rows), v_cache = look(l->values, 0, 4, cache, rows);

    /* Queries and keys are neighbours in a row of the projection: one call turns both. */
    spark_rope_args rope = {.hdr = {.struct_size = sizeof rope, .op = SPARK_OP_ROPE}, .positions = l->positions};
    rope.x = look(l->qkv, 0, 3, (const int64_t[]){SEQUENCES, HEADS + 1, HEAD}, stride);
    rope.y = rope.x;
    check(spark_rope(l->ctx, &rope, &l->exec, &err));

    spark_kv_append_args append = {.hdr = {.struct_size = sizeof append, .op = SPARK_OP_KV_APPEND}};
    append.k = look(l->qkv, HEADS * HEAD, 3, one_head, stride);
    append.v = look(l->qkv, (HEADS + 1) * HEAD, 3, one_head, stride);
    append.positions = l->positions;
    append.batch = l->sequence;
    append.k_cache = k_cache;
    append.v_cache = v_cache;
    append.invalid_count = l->invalid;
    check(spark_kv_append(l->ctx, &append, &l->exec, &err));

    spark_attention_args attention = {.hdr = {.struct_size = sizeof attention, .op = SPARK_OP_ATTENTION}};
    const int64_t queries[] = {SEQUENCES, 1, HEADS, HEAD};
    attention.q = look(l->qkv, 0, 4, queries, (const int64_t[]){QKV, QKV, HEAD, 1});
    attention.k = k_cache;
    attention.v = v_cache;
    attention.o = look(l->mixed, 0, 4, queries, NULL);
    attention.seq_lens = l->lengths;
    check(spark_attention(l->ctx, &attention, &l->exec, &err));
}

/* The operators of a step, in order. */
static void enqueue(const Layer *l) {
    spark_rmsnorm_args norm = {.hdr = {.struct_size = sizeof norm, .op = SPARK_OP_RMSNORM}, .eps = 1e-5f};
    norm.x = l->x;
    norm.weight = l->norm;
    norm.y = l->h;
    check(spark_rmsnorm(l->ctx, &norm, &l->exec, &err));
    product(l, l->h, l->weight_qkv, l->qkv);
    attend(l);
    product(l, l->mixed, l->weight_inner, l->gates);

    const int64_t half[] = {SEQUENCES, INNER}, stride[] = {2 * INNER, 1};
    spark_glu_args glu = {.hdr = {.struct_size = sizeof glu, .op = SPARK_OP_GLU}, .activation = SPARK_ACTIVATION_SILU};
    glu.gate = look(l->gates, 0, 2, half, stride);
    glu.up = look(l->gates, INNER, 2, half, stride);
    glu.y = l->inner;
    check(spark_glu(l->ctx, &glu, &l->exec, &err));
    product(l, l->inner, l->weight_logits, l->logits);

    spark_sample_args sample = {.hdr = {.struct_size = sizeof sample, .op = SPARK_OP_SAMPLE}, .seed = 42};
    sample.logits = l->logits;
    sample.ids = l->tokens;
    sample.offsets = l->draws;
    sample.temperature = 0.8f;
    sample.top_k = 20;
    check(spark_sample(l->ctx, &sample, &l->exec, &err));
}

int main(void) {
    spark_context *ctx;
    check(spark_context_create(&(spark_context_desc){.struct_size = sizeof(spark_context_desc)}, &ctx, &err));
    Layer l = make(ctx);

    /* Once without a graph: this also loads the code, which a capture does not. */
    int32_t tokens[SEQUENCES] = {5, 77};
    uint8_t direct[SEQUENCES * VOCABULARY * sizeof(float)], logits[sizeof direct];
    feed(&l, tokens, 0);
    enqueue(&l);
    download(&l, direct, &l.logits, sizeof direct);

    spark_graph graph;
    check(spark_graph_begin(ctx, l.exec.stream, NULL, &err));
    enqueue(&l);
    check(spark_graph_end(ctx, l.exec.stream, &graph, &err));
    for (int step = 0; step < STEPS; ++step) {
        feed(&l, tokens, step);
        check(spark_graph_launch(ctx, graph, l.exec.stream, &err));
        download(&l, logits, &l.logits, sizeof logits);
        if (step == 0 && memcmp(direct, logits, sizeof logits) != 0) return puts("the graph gives other bits"), 1;
        download(&l, tokens, &l.tokens, sizeof tokens);
        printf("step %d: tokens [%" PRId32 ", %" PRId32 "]\n", step, tokens[0], tokens[1]);
    }
    int32_t invalid;
    download(&l, &invalid, &l.invalid, sizeof invalid);
    if (invalid != 0) return puts("a token has no row in the cache"), 1;

    /* FNV-1a over the bits of the last logits: on one device the same in every language. */
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof logits; ++i) sum = (sum ^ logits[i]) * 0x100000001b3u;
    printf("logits %016" PRIx64 "\n", sum);

    spark_device_info device = {.struct_size = sizeof device};
    check(spark_context_device(ctx, &device, &err));
    printf("on %s\n", device.name);
    check(spark_graph_destroy(ctx, graph, &err));
    release(&l);
    return 0;
}
