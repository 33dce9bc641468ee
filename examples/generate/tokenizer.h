/* SPDX-License-Identifier: Apache-2.0 */
/* Byte-level byte-pair encoding, from the vocabulary and the merges in a GGUF file. */
#ifndef GENERATE_TOKENIZER_H_
#define GENERATE_TOKENIZER_H_

#include "gguf.h"

typedef struct Tokenizer Tokenizer;

/* NULL on failure. The file may be closed afterwards. */
Tokenizer *tokenizer_create(const Gguf *gguf, Failure *failure);
void tokenizer_destroy(Tokenizer *tokenizer);

int64_t tokenizer_size(const Tokenizer *tokenizer);
/* The token that ends an answer. */
int32_t tokenizer_end(const Tokenizer *tokenizer);
/* The number of a special token, -1 if there is none. */
int32_t tokenizer_special(const Tokenizer *tokenizer, const char *name);

/* A piece of a text. Names of special tokens, as <|im_end|>, stand for these tokens in a piece with `special`, and are
 * plain text in others: what a user has typed must not end his own message. */
typedef struct Part {
    Text text;
    bool special;
} Part;
/* The tokens of the parts together, which are one text: a word may begin in one and end in the next. False if they are
 * more than `capacity`. */
bool tokenizer_encode(const Tokenizer *tokenizer, const Part *parts, int part_count, int32_t *ids, int64_t *count,
                      int64_t capacity);

/* The bytes of a token; a character may be spread over several. Lives as long as the tokenizer. */
Text tokenizer_decode(const Tokenizer *tokenizer, int32_t id);

#endif
