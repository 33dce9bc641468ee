/* SPDX-License-Identifier: Apache-2.0 */
/* The first half of model.h: from a GGUF file to weights on the device, and which pages a sequence has. */
#include "model.h"

#include <stdlib.h>

/* Gives out pieces of one allocation; with base 0 it only counts. */
typedef struct Arena {
    spark_devptr base;
    uint64_t used;
} Arena;

static spark_devptr piece(Arena *arena, int64_t elements, uint64_t bytes_each) {
    const spark_devptr at = arena->base + arena->used;
    arena->used += ((uint64_t)elements * bytes_each + 255) / 256 * 256;
    return at;
}

enum { BF16 = 2, FLOAT = 4 }; /* bytes */

static void lay_out_weights(Model *m, Arena *arena) {
    const Shape *s = &m->shape;
    const int64_t q = s->heads * s->head_width, k = s->groups * s->head_width;
    m->embedding = piece(arena, s->vocabulary * s->width, BF16);
    m->output = s->tied ? m->embedding : piece(arena, s->vocabulary * s->width, BF16);
    m->last_norm = piece(arena, s->width, FLOAT);
    for (int64_t i = 0; i < s->layers; ++i) {
        Layer *l = &m->layers[i];
        l->attn_norm = piece(arena, s->width, FLOAT);
        l->ffn_norm = piece(arena, s->width, FLOAT);
        l->qkv = piece(arena, (q + 2 * k) * s->width, BF16);
        l->out = piece(arena, s->width * q, BF16);
        l->gate_up = piece(arena, 2 * s->inner * s->width, BF16);
        l->down = piece(arena, s->width * s->inner, BF16);
    }
}

static void lay_out_caches(Model *m, Arena *arena) {
    const Cache *c = &m->cache;
    const int64_t elements = c->sequences * model_pages(c) * c->page * m->shape.groups * m->shape.head_width;
    const uint64_t size = spark_dtype_bits(m->cache.dtype) / 8;
    for (int64_t i = 0; i < m->shape.layers; ++i) {
        m->layers[i].keys = piece(arena, elements, size);
        m->layers[i].values = piece(arena, elements, size);
    }
}

static void lay_out_scratch(Model *m, Arena *arena) {
    const Shape *s = &m->shape;
    m->ids = piece(arena, MOST_TOKENS, 4);
    m->x = piece(arena, MOST_TOKENS * s->width, BF16);
    m->h = piece(arena, MOST_TOKENS * s->width, BF16);
    m->qkv = piece(arena, MOST_TOKENS * (s->heads + 2 * s->groups) * s->head_width, BF16);
    m->attended = piece(arena, MOST_TOKENS * s->heads * s->head_width, BF16);
    m->gate_up = piece(arena, MOST_TOKENS * 2 * s->inner, BF16);
    m->logits = piece(arena, s->vocabulary, FLOAT);
    m->counting = piece(arena, m->cache.context + 1, 8);
    m->table = piece(arena, model_pages(&m->cache), 4);
    m->owners = piece(arena, MOST_TOKENS, 4);
    m->now = piece(arena, 2, 8);
    m->refused = piece(arena, 1, 4);
}

/* Lays out twice: to count, and to give out. */
static spark_devptr allocate(Model *m, void lay_out(Model *, Arena *)) {
    Arena arena = {0, 0};
    lay_out(m, &arena);
    arena = (Arena){device_alloc(m->device, arena.used), 0};
    lay_out(m, &arena);
    return arena.base;
}

/* Copies the records of a matrix to the device as they are, and expands them there into BF16. */
static void expand(Model *m, const GgufTensor *t, spark_devptr records, spark_devptr to) {
    const int64_t rows = (int64_t)t->shape[1], columns = (int64_t)t->shape[0];
    device_write(m->device, records, t->data, t->bytes);
    spark_dequantize_args args = {.hdr = {.struct_size = sizeof args, .op = SPARK_OP_DEQUANTIZE}};
    args.x = tensor(records, SPARK_DTYPE_U8, rows, (int64_t)t->bytes / rows, 0, 0);
    args.x.quant.scheme = SPARK_QUANT_RECORD;
    args.x.quant.record = t->type == GGUF_Q8_0 ? SPARK_RECORD_Q8_0 : SPARK_RECORD_Q4_1;
    args.y = tensor(to, SPARK_DTYPE_BF16, rows, columns, 0, 0);
    launch(m->device, "dequantize", &args.hdr);
}

static void load_layer(Model *m, const GgufTensor *const parts[LAYER_PARTS], spark_devptr records, const Layer *l) {
    const Shape *s = &m->shape;
    const uint64_t row = (uint64_t)s->width * BF16;
    const uint64_t q = (uint64_t)(s->heads * s->head_width) * row, k = (uint64_t)(s->groups * s->head_width) * row;
    device_write(m->device, l->attn_norm, parts[ATTN_NORM]->data, parts[ATTN_NORM]->bytes);
    device_write(m->device, l->ffn_norm, parts[FFN_NORM]->data, parts[FFN_NORM]->bytes);
    expand(m, parts[Q], records, l->qkv);
    expand(m, parts[K], records, l->qkv + q);
    expand(m, parts[V], records, l->qkv + q + k);
    expand(m, parts[OUT], records, l->out);
    expand(m, parts[GATE], records, l->gate_up);
    expand(m, parts[UP], records, l->gate_up + (uint64_t)s->inner * row);
    expand(m, parts[DOWN], records, l->down);
}

/* The numbers that positions and lengths are read from, so that no step has to upload one. */
static bool write_counting(Model *m, Failure *failure) {
    int64_t *numbers = malloc((size_t)(m->cache.context + 1) * sizeof *numbers);
    if (!numbers) return fail(failure, "the host is out of memory");
    for (int64_t i = 0; i <= m->cache.context; ++i) numbers[i] = i;
    device_write(m->device, m->counting, numbers, (uint64_t)(m->cache.context + 1) * sizeof *numbers);
    free(numbers);
    const int32_t none = 0;
    device_write(m->device, m->refused, &none, sizeof none);
    static const int32_t first[MOST_TOKENS];
    device_write(m->device, m->owners, first, sizeof first);
    return true;
}

int64_t model_pages(const Cache *cache) { return (cache->context + cache->page - 1) / cache->page; }

/* Which page a sequence has for its i-th tokens, in its own part of the cache; the last one first: any order serves. */
static int32_t page_of(const Cache *cache, int64_t sequence, int64_t i) {
    return (int32_t)((sequence + 1) * model_pages(cache) - 1 - i);
}

bool model_begin(Model *m, int64_t sequence, int64_t same, Failure *failure) {
    const Cache *c = &m->cache;
    const int64_t pages = model_pages(c), shared = same / c->page;
    int32_t *table = malloc((size_t)pages * sizeof *table);
    if (!table) return fail(failure, "the host is out of memory");
    for (int64_t i = 0; i < pages; ++i) table[i] = page_of(c, i < shared ? 0 : sequence, i);
    device_write(m->device, m->table, table, (uint64_t)pages * sizeof *table);
    free(table);
    m->position = shared * c->page;
    return true;
}

bool model_load(Model *m, Device *device, const Gguf *gguf, const Shape *shape, const Cache *cache, Progress progress,
                Failure *failure) {
    *m = (Model){.device = device, .shape = *shape, .cache = *cache};
    const Shape *s = &m->shape;
    m->layers = calloc((size_t)s->layers, sizeof *m->layers);
    if (!m->layers) return fail(failure, "the host is out of memory");
    m->weights = allocate(m, lay_out_weights);
    m->caches = allocate(m, lay_out_caches);
    m->scratch = allocate(m, lay_out_scratch);
    uint64_t largest = 0;
    for (uint64_t i = 0; i < gguf->tensor_count; ++i)
        if (gguf->tensors[i].bytes > largest) largest = gguf->tensors[i].bytes;
    const spark_devptr records = device_alloc(device, largest);
    progress("loading", 0, s->layers);
    expand(m, shape_tensor(gguf, -1, "token_embd", s->vocabulary, s->width, failure), records, m->embedding);
    if (!s->tied) expand(m, shape_tensor(gguf, -1, "output", s->vocabulary, s->width, failure), records, m->output);
    const GgufTensor *norm = shape_tensor(gguf, -1, "output_norm", 1, s->width, failure);
    device_write(device, m->last_norm, norm->data, norm->bytes);
    for (int64_t i = 0; i < s->layers; ++i) {
        const GgufTensor *parts[LAYER_PARTS];
        if (!shape_layer(s, gguf, i, parts, failure)) return false;
        load_layer(m, parts, records, &m->layers[i]);
        progress("loading", i + 1, s->layers);
    }
    const bool written = write_counting(m, failure) && model_begin(m, 0, 0, failure);
    device_wait(device);
    device_free(device, records);
    return written;
}

void model_free(Model *m) {
    spark_error err = NEW_ERROR;
    TRY(err, spark_graph_destroy(m->device->ctx, m->graph, &err));
    device_free(m->device, m->weights);
    device_free(m->device, m->caches);
    device_free(m->device, m->scratch);
    free(m->layers);
    *m = (Model){0};
}
