/* SPDX-License-Identifier: Apache-2.0 */
/* Reads GGUF files: the values and tensors by name, nothing copied. Every length in the file is checked against the
 * file's size before it is used, so that a damaged file gives a sentence and no crash. Knows nothing of models. */
#ifndef GENERATE_GGUF_H_
#define GENERATE_GGUF_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why something cannot be done, for the user. */
typedef struct Failure {
    char text[320];
} Failure;
/* Writes the sentence; always false. */
bool fail(Failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes in the file; not ended by a zero. */
typedef struct Text {
    const char *data;
    uint64_t size;
} Text;
bool text_is(Text text, const char *other);
/* How many bytes of a name an error shows, for %.*s. */
int gguf_shown(Text name);

enum { GGUF_F32 = 0, GGUF_Q4_1 = 3, GGUF_Q8_0 = 8 }; /* tensor types, as the file numbers them */

typedef struct GgufTensor {
    Text name;
    uint32_t type;
    uint32_t ndim;
    uint64_t shape[4]; /* the fastest dimension first, as in the file; 1 from ndim on */
    const uint8_t *data;
    uint64_t bytes; /* 0, and data NULL, for any other type */
} GgufTensor;

typedef struct GgufValue {
    Text key;
    uint32_t type; /* of the value, or of the elements if it is an array */
    uint32_t is_array;
    uint64_t count; /* elements; 1 if it is no array */
    const uint8_t *data;
} GgufValue;

typedef struct Gguf {
    const uint8_t *file;
    uint64_t size;
    GgufValue *values;
    uint64_t value_count;
    GgufTensor *tensors;
    uint64_t tensor_count;
} Gguf;

bool gguf_open(Gguf *gguf, const char *path, Failure *failure);
void gguf_close(Gguf *gguf);
/* As gguf_open, of bytes that stay the caller's; end with gguf_forget. */
bool gguf_parse(Gguf *gguf, const uint8_t *file, uint64_t size, Failure *failure);
void gguf_forget(Gguf *gguf);

/* NULL if there is none. */
const GgufValue *gguf_find(const Gguf *gguf, const char *key);
/* Each of these fails, by name, where the key is missing or of another type. */
bool gguf_integer(const Gguf *gguf, const char *key, int64_t least, int64_t most, int64_t *out, Failure *failure);
bool gguf_real(const Gguf *gguf, const char *key, float *out, Failure *failure);
bool gguf_text(const Gguf *gguf, const char *key, Text *out, Failure *failure);
/* The texts of an array, to be freed; NULL on failure. */
Text *gguf_texts(const Gguf *gguf, const char *key, uint64_t *count, Failure *failure);
/* The tensor of this name and shape, of one of the three types; columns are the fastest dimension. NULL on failure. */
const GgufTensor *gguf_tensor(const Gguf *gguf, const char *name, uint64_t rows, uint64_t columns, Failure *failure);

const char *gguf_type_name(uint32_t type);

#endif
