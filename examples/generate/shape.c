/* SPDX-License-Identifier: Apache-2.0 */
/* See shape.h. */
#include "shape.h"

#include <inttypes.h>
#include <stdio.h>

static bool optional_integer(const Gguf *gguf, const char *key, int64_t least, int64_t most, int64_t usual,
                             int64_t *out, Failure *failure) {
    *out = usual;
    return !gguf_find(gguf, key) || gguf_integer(gguf, key, least, most, out, failure);
}

static bool read_sizes(const Gguf *gguf, Shape *s, Failure *failure) {
    const int64_t most = 1 << 20;
    int64_t experts;
    s->theta = 10000;
    if (!gguf_integer(gguf, "llama.block_count", 1, 1000, &s->layers, failure) ||
        !gguf_integer(gguf, "llama.embedding_length", 32, most, &s->width, failure) ||
        !gguf_integer(gguf, "llama.feed_forward_length", 32, most, &s->inner, failure) ||
        !gguf_integer(gguf, "llama.attention.head_count", 1, 1024, &s->heads, failure) ||
        !gguf_integer(gguf, "llama.context_length", 1, INT64_C(1) << 30, &s->trained, failure) ||
        !gguf_real(gguf, "llama.attention.layer_norm_rms_epsilon", &s->eps, failure) ||
        !optional_integer(gguf, "llama.attention.head_count_kv", 1, s->heads, s->heads, &s->groups, failure) ||
        !optional_integer(gguf, "llama.attention.key_length", 1, 256, s->width / s->heads, &s->head_width, failure) ||
        !optional_integer(gguf, "llama.rope.dimension_count", 2, 256, s->head_width, &s->rotary, failure) ||
        !optional_integer(gguf, "llama.expert_count", 0, most, 0, &experts, failure) ||
        (gguf_find(gguf, "llama.rope.freq_base") && !gguf_real(gguf, "llama.rope.freq_base", &s->theta, failure)))
        return false;
    Text scaling;
    if (gguf_find(gguf, "llama.rope.scaling.type") &&
        (!gguf_text(gguf, "llama.rope.scaling.type", &scaling, failure) || !text_is(scaling, "none")))
        return fail(failure, "llama.rope.scaling is not supported: only plain rotary angles are");
    if (experts > 0) return fail(failure, "a mixture of %" PRId64 " experts is not supported", experts);
    if (s->heads % s->groups != 0 || s->rotary % 2 != 0 || s->rotary > s->head_width)
        return fail(failure,
                    "%" PRId64 " heads, %" PRId64 " key/value heads and %" PRId64 " rotated of %" PRId64
                    " elements do not go together",
                    s->heads, s->groups, s->rotary, s->head_width);
    return true;
}

const GgufTensor *shape_tensor(const Gguf *gguf, int64_t layer, const char *name, int64_t rows, int64_t columns,
                               Failure *failure) {
    char full[96];
    if (layer < 0) snprintf(full, sizeof full, "%s.weight", name);
    else snprintf(full, sizeof full, "blk.%" PRId64 ".%s.weight", layer, name);
    const GgufTensor *t = gguf_tensor(gguf, full, (uint64_t)rows, (uint64_t)columns, failure);
    const bool is_norm = rows == 1;
    if (t && is_norm != (t->type == GGUF_F32)) {
        fail(failure, "tensor %s is %s; %s", full, gguf_type_name(t->type),
             is_norm ? "a norm is F32" : "matrices of Q4_1 and Q8_0 can be expanded");
        return NULL;
    }
    return t;
}

bool shape_layer(const Shape *s, const Gguf *gguf, int64_t layer, const GgufTensor *parts[LAYER_PARTS],
                 Failure *failure) {
    const int64_t q = s->heads * s->head_width, k = s->groups * s->head_width;
    const struct {
        const char *name;
        int64_t rows, columns;
    } wanted[LAYER_PARTS] = {
        [ATTN_NORM] = {"attn_norm", 1, s->width},
        [FFN_NORM] = {"ffn_norm", 1, s->width},
        [Q] = {"attn_q", q, s->width},
        [K] = {"attn_k", k, s->width},
        [V] = {"attn_v", k, s->width},
        [OUT] = {"attn_output", s->width, q},
        [GATE] = {"ffn_gate", s->inner, s->width},
        [UP] = {"ffn_up", s->inner, s->width},
        [DOWN] = {"ffn_down", s->width, s->inner},
    };
    for (int i = 0; i < LAYER_PARTS; ++i)
        if (!(parts[i] = shape_tensor(gguf, layer, wanted[i].name, wanted[i].rows, wanted[i].columns, failure)))
            return false;
    return true;
}

bool shape_read(Shape *s, const Gguf *gguf, Failure *failure) {
    *s = (Shape){0};
    Text architecture;
    if (!gguf_text(gguf, "general.architecture", &architecture, failure)) return false;
    if (!text_is(architecture, "llama"))
        return fail(failure, "architecture %.*s is not supported; llama is", (int)(architecture.size & 63),
                    architecture.data);
    const GgufValue *tokens = gguf_find(gguf, "tokenizer.ggml.tokens");
    if (!tokens) return fail(failure, "the file does not say tokenizer.ggml.tokens");
    s->vocabulary = (int64_t)tokens->count;
    if (!read_sizes(gguf, s, failure)) return false;
    const GgufTensor *parts[LAYER_PARTS];
    if (!shape_tensor(gguf, -1, "token_embd", s->vocabulary, s->width, failure) ||
        !shape_tensor(gguf, -1, "output_norm", 1, s->width, failure))
        return false;
    Failure none;
    s->tied = !shape_tensor(gguf, -1, "output", s->vocabulary, s->width, &none);
    for (int64_t i = 0; i < s->layers; ++i)
        if (!shape_layer(s, gguf, i, parts, failure)) return false;
    /* A tensor beyond these (a bias, factors of the rotary angles) would change the results. */
    const uint64_t known = (uint64_t)(s->layers * LAYER_PARTS + 2 + !s->tied);
    if (gguf->tensor_count != known)
        return fail(failure, "the file has %" PRIu64 " tensors; a Llama of this shape has %" PRIu64, gguf->tensor_count,
                    known);
    return true;
}
