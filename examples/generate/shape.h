/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of a Llama in a GGUF file, and its tensors: each is there, of the right size and type, and no other is.
 * Whatever a file may not be is refused here, before there is a device. */
#ifndef GENERATE_SHAPE_H_
#define GENERATE_SHAPE_H_

#include "gguf.h"

typedef struct Shape {
    int64_t layers, width, heads, groups, head_width, inner, vocabulary;
    int64_t trained; /* the longest context that it has been trained for */
    int64_t rotary;  /* elements of a head that are rotated */
    float eps, theta;
    bool tied; /* the output layer is the table of embeddings */
} Shape;

bool shape_read(Shape *shape, const Gguf *gguf, Failure *failure);

/* A tensor of one layer, or with layer -1 of the model; one row stands for a norm. NULL on failure. */
const GgufTensor *shape_tensor(const Gguf *gguf, int64_t layer, const char *name, int64_t rows, int64_t columns,
                               Failure *failure);
/* The tensors of one layer. */
enum { ATTN_NORM, FFN_NORM, Q, K, V, OUT, GATE, UP, DOWN, LAYER_PARTS };
bool shape_layer(const Shape *shape, const Gguf *gguf, int64_t layer, const GgufTensor *parts[LAYER_PARTS],
                 Failure *failure);

#endif
