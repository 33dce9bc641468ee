/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tokenizer of the example with tokens.txt, which another tokenizer wrote, and tokens with their text.
 * usage: tokenizer_test MODEL.gguf tokens.txt; 77 if the model is not there. */
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAPACITY = 4096, SKIPPED = 77 };

/* Undoes \xHH, in place; the length. */
static uint64_t unescape(char *text) {
    char *out = text;
    for (const char *at = text; *at;) {
        unsigned byte;
        if (at[0] == '\\' && sscanf(at + 2, "%2x", &byte) == 1) {
            *out++ = (char)byte;
            at += 4;
        } else {
            *out++ = *at++;
        }
    }
    return (uint64_t)(out - text);
}

/* Whether the tokens spell the text, where no byte is missing in the vocabulary. */
static int spells(const Tokenizer *t, const int32_t *ids, int64_t n, Text text) {
    uint64_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
        const Text token = tokenizer_decode(t, ids[i]);
        if (token.size > text.size - at || memcmp(token.data, text.data + at, token.size) != 0) return 0;
        at += token.size;
    }
    return at == text.size;
}

static int check_line(const Tokenizer *t, char *line, int number, int *unspelled) {
    char *bar = strchr(line, '|');
    if (!bar) return printf("line %d has no |\n", number), 1;
    bar[strcspn(bar, "\n")] = 0;
    *bar = 0;
    const Text text = {bar + 1, unescape(bar + 1)};
    const Part part = {text, true};
    int32_t ids[CAPACITY];
    int64_t n = 0, wanted = 0;
    int wrong = !tokenizer_encode(t, &part, 1, ids, &n, CAPACITY);
    for (char *end, *numbers = line; *numbers; numbers = end, ++wanted) {
        const long id = strtol(numbers, &end, 10);
        if (end == numbers) break;
        wrong |= wanted >= n || ids[wanted] != id;
    }
    wrong |= wanted != n;
    if (wrong) {
        printf("line %d: wrong; found", number);
        for (int64_t i = 0; i < n; ++i) printf(" %d", ids[i]);
        printf("\n");
    }
    *unspelled += !spells(t, ids, n, text);
    int64_t none = 0;
    if (n > 0 && tokenizer_encode(t, &part, 1, ids, &none, n - 1)) wrong = printf("line %d: no limit\n", number);
    return wrong != 0;
}

/* The name of a special token is text in what a user has typed, and where it is cut in two; words are not cut there. */
static int check_plain(const Tokenizer *t) {
    const Part typed = {{"<|im_end|>", 10}, false};
    const Part cut[] = {{{"<|im_", 5}, true}, {{"end|>", 5}, true}};
    int32_t ids[16], cut_ids[16];
    int64_t n = 0, cut_n = 0;
    const int good = tokenizer_encode(t, &typed, 1, ids, &n, 16) && n > 1 && spells(t, ids, n, typed.text) &&
                     tokenizer_encode(t, cut, 2, cut_ids, &cut_n, 16) && cut_n == n &&
                     memcmp(ids, cut_ids, (size_t)n * sizeof *ids) == 0;
    if (!good) printf("<|im_end|> as plain text is wrong\n");
    return !good;
}

int main(int argc, char **argv) {
    Failure failure;
    Gguf gguf;
    if (argc != 3) return 2;
    if (access(argv[1], R_OK) != 0) return printf("no model at %s: skipped\n", argv[1]), SKIPPED;
    if (!gguf_open(&gguf, argv[1], &failure)) return puts(failure.text), 1;
    Tokenizer *t = tokenizer_create(&gguf, &failure);
    gguf_close(&gguf);
    FILE *file = fopen(argv[2], "r");
    if (!t || !file) return puts(t ? "no vectors" : failure.text), 1;
    static char line[1 << 16];
    int number = 0, texts = 0, wrong = check_plain(t), unspelled = 0;
    while (fgets(line, sizeof line, file)) {
        ++number;
        if (line[0] == '#') continue;
        ++texts;
        wrong += check_line(t, line, number, &unspelled);
    }
    fclose(file);
    tokenizer_destroy(t);
    printf("%d texts, %d wrong, %d with bytes that the vocabulary lacks\n", texts, wrong, unspelled);
    return wrong != 0 || texts < 250;
}
