/* SPDX-License-Identifier: Apache-2.0 */
/* The GGUF reader, the shape of a model and the tokenizer on damaged files: each must end in a sentence or in a file
 * that can be used, and read nothing beyond its bytes: a file lies alone in memory, so that the address sanitizer sees.
 * usage: gguf_test SYNTHETIC.gguf */
#include "shape.h"
#include "tokenizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;
#define EXPECT(condition) \
    ((condition) ? (void)0 : (void)(printf("line %d: not so: %s\n", __LINE__, #condition), ++wrong))

/* Everything that the example does with a file before it opens a device; true if all of it is accepted. */
static bool use(const uint8_t *bytes, uint64_t size, Failure *failure) {
    Gguf gguf;
    Shape shape;
    failure->text[0] = 0;
    if (!gguf_parse(&gguf, bytes, size, failure)) return false;
    const bool shaped = shape_read(&shape, &gguf, failure);
    Tokenizer *tokenizer = tokenizer_create(&gguf, failure);
    const bool good = shaped && tokenizer;
    if (tokenizer) {
        const Part part = {{"the (thing) <|im_end|> 12\xff", 26}, true};
        int32_t ids[64];
        int64_t count;
        tokenizer_encode(tokenizer, &part, 1, ids, &count, 64);
        for (int32_t id = -1; id <= tokenizer_size(tokenizer); ++id) tokenizer_decode(tokenizer, id);
    }
    tokenizer_destroy(tokenizer);
    gguf_forget(&gguf);
    return good;
}

/* A copy of the first bytes, alone in memory. */
static bool use_first(const uint8_t *bytes, uint64_t size, Failure *failure) {
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    const bool good = use(copy, size, failure);
    free(copy);
    return good;
}

static void test_good_file(const uint8_t *bytes, uint64_t size) {
    Failure failure;
    Gguf gguf;
    EXPECT(gguf_parse(&gguf, bytes, size, &failure));
    int64_t number;
    float real;
    Text text;
    uint64_t count;
    EXPECT(gguf_integer(&gguf, "llama.block_count", 1, 9, &number, &failure) && number == 2);
    EXPECT(!gguf_integer(&gguf, "llama.block_count", 3, 9, &number, &failure) && strstr(failure.text, "3 to 9"));
    EXPECT(!gguf_integer(&gguf, "no.such", 0, 1, &number, &failure) && strstr(failure.text, "no.such"));
    EXPECT(!gguf_integer(&gguf, "general.architecture", 0, 1, &number, &failure));
    EXPECT(!gguf_integer(&gguf, "tokenizer.ggml.token_type", 0, 9, &number, &failure));
    EXPECT(gguf_real(&gguf, "llama.attention.layer_norm_rms_epsilon", &real, &failure) && real == 1e-5f);
    EXPECT(!gguf_real(&gguf, "llama.block_count", &real, &failure));
    EXPECT(gguf_text(&gguf, "general.architecture", &text, &failure) && text_is(text, "llama"));
    EXPECT(!gguf_text(&gguf, "tokenizer.ggml.tokens", &text, &failure));
    EXPECT(!gguf_texts(&gguf, "general.architecture", &count, &failure));
    EXPECT(gguf_tensor(&gguf, "blk.1.attn_k.weight", 64, 128, &failure));
    EXPECT(!gguf_tensor(&gguf, "blk.1.attn_k.weight", 65, 128, &failure) && strstr(failure.text, "65 x 128"));
    EXPECT(!gguf_tensor(&gguf, "blk.2.attn_k.weight", 64, 128, &failure) && strstr(failure.text, "missing"));
    gguf_forget(&gguf);
    Shape shape;
    EXPECT(gguf_parse(&gguf, bytes, size, &failure) && shape_read(&shape, &gguf, &failure));
    EXPECT(shape.layers == 2 && shape.heads == 4 && shape.groups == 2 && shape.head_width == 32 && !shape.tied);
    EXPECT(shape.theta == 10000 && shape.rotary == 32 && shape.trained == 96);
    gguf_forget(&gguf);
    EXPECT(use(bytes, size, &failure));
}

/* Cut at every length of the head, and at some within the data. */
static void test_every_length(const uint8_t *bytes, uint64_t size, uint64_t head) {
    Failure failure;
    for (uint64_t n = 0; n < size; n += n < head ? 1 : 4099) {
        const bool good = use_first(bytes, n, &failure);
        if (good || failure.text[0] == 0) {
            printf("cut to %" PRIu64 " of %" PRIu64 " bytes: %s\n", n, size, good ? "accepted" : "no sentence");
            ++wrong;
        }
    }
    EXPECT(!use_first(bytes, size - 1, &failure) && strstr(failure.text, "the file ends in tensor"));
}

/* Each byte of the head replaced: sizes and counts that are far too large, types that are none. */
static void test_every_byte(const uint8_t *bytes, uint64_t size, uint64_t head) {
    static const uint8_t others[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    Failure failure;
    uint64_t refused = 0;
    uint8_t *copy = malloc(size);
    memcpy(copy, bytes, size);
    for (uint64_t i = 0; i < head; ++i) {
        for (size_t k = 0; k < sizeof others; ++k) {
            copy[i] = others[k];
            refused += !use(copy, size, &failure);
        }
        copy[i] = bytes[i];
    }
    free(copy);
    printf("%" PRIu64 " of %" PRIu64 " damaged heads refused\n", refused, head * sizeof others);
    EXPECT(refused > head);
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) return puts("usage: gguf_test SYNTHETIC.gguf"), 2;
    static uint8_t bytes[1 << 20];
    const uint64_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    Failure failure;
    Gguf gguf;
    if (!gguf_parse(&gguf, bytes, size, &failure)) return puts(failure.text), 1;
    uint64_t head = size;
    for (uint64_t i = 0; i < gguf.tensor_count; ++i) {
        const uint64_t at = (uint64_t)(gguf.tensors[i].data - bytes);
        if (at < head) head = at;
    }
    gguf_forget(&gguf);
    test_good_file(bytes, size);
    test_every_length(bytes, size, head);
    test_every_byte(bytes, size, head);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
