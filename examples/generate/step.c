/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of model.h: what runs for each token. Everything that changes from token to token (the token, its
 * position, the number of keys) is read from device memory, so that one recorded step serves for all of them. */
#include "model.h"

#include <inttypes.h>
#include <string.h>

#define ARGS(type, op_)                                    \
    {                                                      \
        .hdr = {.struct_size = sizeof(type), .op = (op_) } \
    }

/* Rows and columns of BF16; the rows lie `stride` elements apart. */
static spark_tensor rows_of(spark_devptr data, int64_t rows, int64_t columns, int64_t stride) {
    spark_tensor t = tensor(data, SPARK_DTYPE_BF16, rows, columns, 0, 0);
    t.stride[0] = stride;
    t.stride[1] = 1;
    return t;
}

/* Some heads out of the rows of the projection of Q, K and V. */
static spark_tensor heads_of(const Model *m, int64_t rows, int64_t first, int64_t heads) {
    const Shape *s = &m->shape;
    const uint64_t before = (uint64_t)(first * s->head_width) * spark_dtype_bits(SPARK_DTYPE_BF16) / 8;
    spark_tensor t = tensor(m->qkv + before, SPARK_DTYPE_BF16, rows, heads, s->head_width, 0);
    t.stride[0] = (s->heads + 2 * s->groups) * s->head_width;
    t.stride[1] = s->head_width;
    t.stride[2] = 1;
    return t;
}

/* The same with a leading dimension of one sequence, as attention has it. */
static spark_tensor one_sequence(spark_tensor t) {
    spark_tensor r = t;
    r.ndim = 4;
    for (int i = 0; i < 3; ++i) {
        r.shape[i + 1] = t.shape[i];
        r.stride[i + 1] = t.stride[i];
    }
    r.shape[0] = 1;
    r.stride[0] = t.shape[0] * t.stride[0];
    return r;
}

static void norm(Model *m, spark_devptr x, spark_devptr weight, int64_t rows) {
    spark_rmsnorm_args args = ARGS(spark_rmsnorm_args, SPARK_OP_RMSNORM);
    args.x = tensor(x, SPARK_DTYPE_BF16, rows, m->shape.width, 0, 0);
    args.weight = tensor(weight, SPARK_DTYPE_F32, m->shape.width, 0, 0, 0);
    args.y = tensor(m->h, SPARK_DTYPE_BF16, rows, m->shape.width, 0, 0);
    args.eps = m->shape.eps;
    launch(m->device, "rmsnorm", &args.hdr);
}

/* d = a times the transpose of a weight; with `added`, d += that. */
static void project(Model *m, const char *label, spark_tensor a, spark_devptr weight, spark_tensor d, bool added) {
    spark_gemm_args args = ARGS(spark_gemm_args, SPARK_OP_GEMM);
    args.a = a;
    args.b = tensor(weight, SPARK_DTYPE_BF16, d.shape[1], a.shape[1], 0, 0);
    args.d = d;
    if (added) {
        args.c = d;
        args.beta = 1;
    }
    launch(m->device, label, &args.hdr);
}

/* Where n tokens stand: their positions (I64), how many keys they see (the low half of an I64), and a bound of that. */
typedef struct Place {
    int64_t n;
    spark_devptr positions, keys;
    int64_t most_keys;
} Place;

/* The pages of one layer's keys or values. */
static spark_tensor pages_of(const Model *m, spark_devptr data) {
    const Cache *c = &m->cache;
    return tensor(data, c->dtype, c->sequences * model_pages(c), c->page, m->shape.groups, m->shape.head_width);
}

/* Turns the queries of these tokens where they are, and brings their keys, turned, and their values into the pages that
 * the table names; as codes, where the cache holds those. */
static void rotate_and_append(Model *m, const Layer *l, const Place *at) {
    const Shape *s = &m->shape;
    spark_rope_append_args args = ARGS(spark_rope_append_args, SPARK_OP_ROPE_APPEND);
    /* GGUF keeps the rows of Q and K of a Llama in the order in which the two elements of a pair are neighbours. */
    args.hdr.flags = SPARK_ROPE_APPEND_INTERLEAVED;
    args.q = args.q_out = heads_of(m, at->n, 0, s->heads);
    args.k = heads_of(m, at->n, s->heads, s->groups);
    args.v = heads_of(m, at->n, s->heads + s->groups, s->groups);
    args.positions = tensor(at->positions, SPARK_DTYPE_I64, at->n, 0, 0, 0);
    args.theta = s->theta;
    args.rotary_dim = (uint32_t)s->rotary;
    args.batch = tensor(m->owners, SPARK_DTYPE_I32, at->n, 0, 0, 0);
    args.block_table = tensor(m->table, SPARK_DTYPE_I32, 1, model_pages(&m->cache), 0, 0);
    args.k_cache = pages_of(m, l->keys);
    args.v_cache = pages_of(m, l->values);
    args.invalid_count = tensor(m->refused, SPARK_DTYPE_I32, 1, 0, 0, 0);
    launch(m->device, "rope_append", &args.hdr);
}

static void attend(Model *m, const Layer *l, const Place *at) {
    const Shape *s = &m->shape;
    rotate_and_append(m, l, at);

    spark_attention_args args = ARGS(spark_attention_args, SPARK_OP_ATTENTION);
    args.hdr.flags = SPARK_ATTENTION_CAUSAL;
    args.q = one_sequence(heads_of(m, at->n, 0, s->heads));
    args.k = pages_of(m, l->keys);
    args.v = pages_of(m, l->values);
    args.o = tensor(m->attended, SPARK_DTYPE_BF16, 1, at->n, s->heads, s->head_width);
    args.seq_lens = tensor(at->keys, SPARK_DTYPE_I32, 1, 0, 0, 0);
    args.block_table = tensor(m->table, SPARK_DTYPE_I32, 1, model_pages(&m->cache), 0, 0);
    args.max_seqlen_k = at->most_keys;
    launch(m->device, "attention", &args.hdr);
}

static void layer(Model *m, const Layer *l, const Place *at) {
    const Shape *s = &m->shape;
    const int64_t q = s->heads * s->head_width, all = q + 2 * s->groups * s->head_width;
    const spark_tensor x = rows_of(m->x, at->n, s->width, s->width), h = rows_of(m->h, at->n, s->width, s->width);
    norm(m, m->x, l->attn_norm, at->n);
    project(m, "gemm qkv", h, l->qkv, rows_of(m->qkv, at->n, all, all), false);
    attend(m, l, at);
    project(m, "gemm out", rows_of(m->attended, at->n, q, q), l->out, x, true);
    norm(m, m->x, l->ffn_norm, at->n);
    project(m, "gemm gate, up", h, l->gate_up, rows_of(m->gate_up, at->n, 2 * s->inner, 2 * s->inner), false);
    spark_glu_args glu = ARGS(spark_glu_args, SPARK_OP_GLU);
    glu.gate = glu.y = rows_of(m->gate_up, at->n, s->inner, 2 * s->inner);
    glu.up = rows_of(m->gate_up + (uint64_t)s->inner * 2, at->n, s->inner, 2 * s->inner);
    glu.activation = SPARK_ACTIVATION_SILU;
    launch(m->device, "glu", &glu.hdr);
    project(m, "gemm down", glu.y, l->down, x, true);
}

/* The tokens in m->ids through the model; with `last`, up to the logits of the last of them. */
static void forward(Model *m, const Place *at, bool last, Progress progress) {
    const Shape *s = &m->shape;
    spark_embedding_args args = ARGS(spark_embedding_args, SPARK_OP_EMBEDDING);
    args.hdr.flags = SPARK_EMBEDDING_ZERO_INVALID;
    args.table = tensor(m->embedding, SPARK_DTYPE_BF16, s->vocabulary, s->width, 0, 0);
    args.ids = tensor(m->ids, SPARK_DTYPE_I32, at->n, 0, 0, 0);
    args.y = tensor(m->x, SPARK_DTYPE_BF16, at->n, s->width, 0, 0);
    launch(m->device, "embedding", &args.hdr);
    for (int64_t i = 0; i < s->layers; ++i) {
        layer(m, &m->layers[i], at);
        if (progress && m->device->info.emulated) { /* an emulated layer takes a while: wait, and say so */
            device_wait(m->device);
            progress("prefill, layer", i + 1, s->layers);
        }
    }
    if (!last) return;
    norm(m, m->x + (uint64_t)((at->n - 1) * s->width * 2), m->last_norm, 1);
    const spark_tensor logits = tensor(m->logits, SPARK_DTYPE_F32, 1, s->vocabulary, 0, 0);
    project(m, "gemm vocabulary", rows_of(m->h, 1, s->width, s->width), m->output, logits, false);
}

/* From the logits to m->ids. The position makes the random numbers of each token its own. */
static void choose(Model *m, const Sampling *sampling, spark_devptr position) {
    spark_sample_args args = ARGS(spark_sample_args, SPARK_OP_SAMPLE);
    args.logits = tensor(m->logits, SPARK_DTYPE_F32, 1, m->shape.vocabulary, 0, 0);
    args.ids = tensor(m->ids, SPARK_DTYPE_I32, 1, 0, 0, 0);
    args.offsets = tensor(position, SPARK_DTYPE_I64, 1, 0, 0, 0);
    args.temperature = sampling->temperature;
    args.top_k = sampling->top_k;
    args.top_p = sampling->top_p;
    args.seed = sampling->seed;
    launch(m->device, "sample", &args.hdr);
}

static int32_t chosen(const Model *m) {
    int32_t id;
    device_read(m->device, &id, m->ids, sizeof id);
    return id;
}

static spark_devptr counted(const Model *m, int64_t number) { return m->counting + (uint64_t)number * 8; }

bool model_append(Model *m, const int32_t *ids, int64_t count, Progress progress, Failure *failure) {
    if (count < 1) return fail(failure, "there is no token to append");
    if (count > m->cache.context - m->position)
        return fail(failure, "%" PRId64 " tokens do not fit: the context holds %" PRId64 " and has room for %" PRId64,
                    count, m->cache.context, m->cache.context - m->position);
    for (int64_t done = 0; done < count;) {
        const int64_t n = count - done < MOST_TOKENS ? count - done : MOST_TOKENS, end = m->position + n;
        device_write(m->device, m->ids, ids + done, (uint64_t)n * sizeof *ids);
        const Place at = {n, counted(m, m->position), counted(m, end), end};
        done += n;
        forward(m, &at, done == count, progress);
        m->position = end;
    }
    return true;
}

int32_t model_choose(Model *m, const Sampling *sampling) {
    choose(m, sampling, counted(m, m->position - 1));
    return chosen(m);
}

void model_put(Model *m, int32_t id) { device_write(m->device, m->ids, &id, sizeof id); }

static void decode(Model *m, const Sampling *sampling) {
    const Place at = {1, m->now, m->now + 8, m->cache.context};
    forward(m, &at, true, NULL);
    choose(m, sampling, m->now);
}

void model_prepare(Model *m, const Sampling *sampling) {
    m->device->mode = PREPARE;
    decode(m, sampling);
    m->device->mode = RUN;
}

/* Records a decode step, unless the recorded one is still good. */
static void record(Model *m, const Sampling *sampling) {
    Device *device = m->device;
    const Sampling *in = &m->graph_sampling;
    const bool same = in->temperature == sampling->temperature && in->top_p == sampling->top_p &&
                      in->top_k == sampling->top_k && in->seed == sampling->seed;
    if (m->graph && same && m->graph_moves == device->workspace_moves) return;
    spark_error err = NEW_ERROR;
    TRY(err, spark_graph_destroy(device->ctx, m->graph, &err));
    model_prepare(m, sampling);
    TRY(err, spark_graph_begin(device->ctx, device->stream, NULL, &err));
    decode(m, sampling);
    TRY(err, spark_graph_end(device->ctx, device->stream, &m->graph, &err));
    m->graph_sampling = *sampling;
    m->graph_moves = device->workspace_moves;
}

bool model_step(Model *m, const Sampling *sampling, bool replay, int32_t *id, Failure *failure) {
    Device *device = m->device;
    spark_error err = NEW_ERROR;
    if (m->position == m->cache.context)
        return fail(failure, "the context is full: it holds %" PRId64 " tokens", m->cache.context);
    if (replay) record(m, sampling);
    TRY(err, spark_mem_copy(device->ctx, m->now, counted(m, m->position), 16, device->stream, &err));
    if (replay) TRY(err, spark_graph_launch(device->ctx, m->graph, device->stream, &err));
    else decode(m, sampling);
    ++m->position;
    *id = chosen(m);
    return true;
}

void model_logits(Model *m, float *logits) {
    device_read(m->device, logits, m->logits, (uint64_t)m->shape.vocabulary * sizeof *logits);
}
