/* SPDX-License-Identifier: Apache-2.0 */
/* A Llama on a device: its weights, its cache of keys and values, and the two things that are done with them: appending
 * tokens (prefill), and choosing the next one and appending that (decode). */
#ifndef GENERATE_MODEL_H_
#define GENERATE_MODEL_H_

#include "device.h"
#include "shape.h"

typedef struct Layer {
    spark_devptr attn_norm, ffn_norm; /* F32 */
    spark_devptr qkv, out;            /* BF16; the rows of Q, K and V one below the other */
    spark_devptr gate_up, down;       /* BF16; the rows of gate, then those of up */
    spark_devptr keys, values;        /* [pages, tokens of a page, groups, head_width], of the cache's type */
} Layer;

/* How the next token is chosen; zeros: the most likely one. */
typedef struct Sampling {
    float temperature, top_p;
    int32_t top_k;
    uint64_t seed;
} Sampling;

/* What the keys and values of all layers are kept in. */
typedef struct Cache {
    int64_t context;   /* tokens that there is room for */
    int64_t page;      /* tokens of a page */
    spark_dtype dtype; /* BF16, or E4M3 with a scale of 1 */
    int64_t sequences; /* that have pages for so many tokens each; they are at work one at a time */
} Cache;

typedef struct Model {
    Device *device;
    Shape shape;
    Cache cache;
    int64_t position; /* tokens of the sequence at work that the cache holds */
    Layer *layers;
    spark_devptr embedding, output, last_norm;
    spark_devptr weights, caches, scratch; /* one allocation each; what is above points into them */
    /* Of one call, for at most MOST_TOKENS: */
    spark_devptr ids, x, h, qkv, attended, gate_up, logits;
    spark_devptr counting; /* I64: 0, 1, 2 and so on to the context */
    spark_devptr table;    /* I32: the pages of the sequence at work, in order */
    spark_devptr owners;   /* I32: 0 for each token of a call, the sequence that it belongs to */
    spark_devptr now;      /* I64: the position of the token in a decode step, and how many there are with it */
    spark_devptr refused;  /* I32: counts rows outside the cache; stays 0 */
    spark_graph graph;     /* a decode step; 0 = not recorded */
    uint64_t graph_moves;  /* workspace_moves when it was */
    Sampling graph_sampling;
} Model;

enum { MOST_TOKENS = 256 }; /* in one call; a longer prompt is appended in several */

/* Called now and then during long work. */
typedef void (*Progress)(const char *what, int64_t done, int64_t all);

/* Moves the weights to the device and expands them there. The file may be closed afterwards. */
bool model_load(Model *model, Device *device, const Gguf *gguf, const Shape *shape, const Cache *cache,
                Progress progress, Failure *failure);
void model_free(Model *model);

/* Pages of a sequence, which hold so many tokens. */
int64_t model_pages(const Cache *cache);

/* Begins a sequence, which is then the one at work: in pages of its own, but for those that hold the first `same`
 * tokens of the first sequence, which it shares as far as these fill whole pages. Nothing is written to those, so that
 * the first sequence stays as it is. model->position says how many tokens there are then. */
bool model_begin(Model *model, int64_t sequence, int64_t same, Failure *failure);
/* Appends tokens; the logits after the last one are then on the device. Fails if the context has no room for them. */
bool model_append(Model *model, const int32_t *ids, int64_t count, Progress progress, Failure *failure);
/* A token chosen from these logits, -1 if they hold no number. It becomes the one that the next model_step appends. */
int32_t model_choose(Model *model, const Sampling *sampling);
/* Makes another token the one that the next model_step appends. */
void model_put(Model *model, int32_t id);
/* Appends that token and chooses the next. Fails if the context is full. With `replay` the step is recorded in a graph
 * the first time, and launched as one from then on. */
bool model_step(Model *model, const Sampling *sampling, bool replay, int32_t *id, Failure *failure);
/* Loads what model_step will need, and runs nothing. */
void model_prepare(Model *model, const Sampling *sampling);
void model_logits(Model *model, float *logits);

#endif
