/* SPDX-License-Identifier: Apache-2.0 */
/* See tokenizer.h. A text is cut at special tokens and digits, then into words by the pattern of GPT-2:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * and each word is merged from bytes to tokens, the earliest merge of the list first. */
#include "tokenizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct Merge {
    uint64_t pair; /* left token << 32 | right token, + 1; 0 = an empty place */
    int32_t rank, result;
} Merge;

struct Tokenizer {
    Text *tokens; /* their bytes */
    int64_t count;
    int32_t *specials; /* their numbers */
    int64_t special_count;
    int32_t end;
    char *bytes;      /* what tokens point into */
    int32_t *by_text; /* hash table of the other tokens' numbers; -1 = an empty place */
    Merge *merges;    /* hash table */
    uint64_t places;  /* of both, a power of two */
};

static const struct {
    uint32_t first, last;
} letters[] =
    {
#define L(first, last) {first, last},
#define N(first, last)
#include "classes.inc"
#undef L
#undef N
},
  numbers[] = {
#define L(first, last)
#define N(first, last) {first, last},
#include "classes.inc"
#undef L
#undef N
};

typedef enum Class { OTHER, SPACE, LETTER, NUMBER } Class;

#define IN(ranges, code) in_ranges(&(ranges)[0].first, sizeof(ranges) / sizeof *(ranges), code)
static bool in_ranges(const uint32_t *pairs, size_t count, uint32_t code) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code > pairs[2 * middle + 1]) low = middle + 1;
        else high = middle;
    }
    return low < count && code >= pairs[2 * low];
}

static Class class_of(uint32_t code) {
    if ((code >= 9 && code <= 13) || code == 32 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
        (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
        code == 0x3000)
        return SPACE;
    return IN(letters, code) ? LETTER : IN(numbers, code) ? NUMBER : OTHER;
}

/* The code point at a place in front of end, and its length; a byte that is no UTF-8 stands for itself. */
static uint32_t code_at(const char *at, const char *end, int *length) {
    const uint8_t *p = (const uint8_t *)at;
    const int n = p[0] < 0xc2 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 1;
    uint32_t code = n == 1 ? p[0] : p[0] & (0x7fu >> n);
    *length = 1;
    if (n > end - at) return 0xfffd;
    for (int i = 1; i < n; ++i) {
        if ((p[i] & 0xc0) != 0x80) return 0xfffd;
        code = code << 6 | (p[i] & 0x3fu);
    }
    *length = n;
    return n == 1 && code >= 0x80 ? 0xfffd : code;
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

static uint64_t hash_text(Text text) { /* FNV-1a */
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < text.size; ++i) h = (h ^ (uint8_t)text.data[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 29;
}

static uint64_t hash_pair(uint64_t pair) {
    pair *= UINT64_C(0x9e3779b97f4a7c15);
    return pair ^ pair >> 29;
}

static int32_t find_text(const Tokenizer *t, Text text) {
    for (uint64_t i = hash_text(text) & (t->places - 1);; i = (i + 1) & (t->places - 1)) {
        const int32_t id = t->by_text[i];
        if (id < 0) return -1;
        if (t->tokens[id].size == text.size && memcmp(t->tokens[id].data, text.data, text.size) == 0) return id;
    }
}

/* Of equal tokens the first is found; the others are left out, or a list of them would be searched again and again. */
static void add_text(Tokenizer *t, int32_t id) {
    if (find_text(t, t->tokens[id]) >= 0) return;
    uint64_t i = hash_text(t->tokens[id]) & (t->places - 1);
    while (t->by_text[i] >= 0) i = (i + 1) & (t->places - 1);
    t->by_text[i] = id;
}

static Merge *merge_place(const Tokenizer *t, int32_t left, int32_t right) {
    const uint64_t pair = ((uint64_t)left << 32 | (uint32_t)right) + 1;
    uint64_t i = hash_pair(pair) & (t->places - 1);
    while (t->merges[i].pair != 0 && t->merges[i].pair != pair) i = (i + 1) & (t->places - 1);
    return &t->merges[i];
}

/* The file spells bytes as printable characters: those of Latin-1 that are printable as themselves, the others, in
 * order, as U+0100 and up. Turns a token back into bytes; the number of bytes, or -1 if that is not its alphabet. */
static int64_t spelled(Text token, char *out) {
    static int16_t byte_of[0x144];
    if (byte_of['A'] == 0) {
        int others = 0x100;
        for (int i = 0; i < 0x144; ++i) byte_of[i] = -1;
        for (int b = 0; b < 256; ++b) {
            const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
            byte_of[printable ? b : others++] = (int16_t)b;
        }
    }
    int64_t n = 0;
    int length;
    for (const char *at = token.data, *end = at + token.size; at < end; at += length) {
        const uint32_t code = code_at(at, end, &length);
        if (code >= 0x144 || byte_of[code] < 0) return -1;
        out[n++] = (char)byte_of[code];
    }
    return n;
}

static bool add_tokens(Tokenizer *t, const Text *texts, const GgufValue *types, Failure *failure) {
    uint64_t total = 0;
    for (int64_t i = 0; i < t->count; ++i) total += texts[i].size;
    t->bytes = malloc(total + 1);
    if (!t->bytes) return fail(failure, "the host is out of memory");
    char *out = t->bytes;
    for (int64_t i = 0; i < t->count; ++i) {
        int32_t type;
        memcpy(&type, types->data + 4 * i, sizeof type);
        int64_t size = (int64_t)texts[i].size;
        const bool special = type == 3 || type == 4; /* control, user defined: spelled as they are */
        if (special) memcpy(out, texts[i].data, texts[i].size);
        else if ((size = spelled(texts[i], out)) < 0)
            return fail(failure, "token %" PRId64 " is not spelled in bytes: this is no byte-level vocabulary", i);
        t->tokens[i] = (Text){out, (uint64_t)size};
        if (special) t->specials[t->special_count++] = (int32_t)i;
        else add_text(t, (int32_t)i);
        out += size;
    }
    return true;
}

static bool add_merges(Tokenizer *t, const Text *texts, uint64_t count, Failure *failure) {
    char spelling[3][512];
    for (uint64_t i = 0; i < count; ++i) {
        const char *space = memchr(texts[i].data, ' ', texts[i].size);
        int32_t ids[3] = {-1, -1, -1};
        if (space && texts[i].size < sizeof *spelling) {
            const Text left = {texts[i].data, (uint64_t)(space - texts[i].data)};
            const Text right = {space + 1, texts[i].size - left.size - 1};
            const int64_t a = spelled(left, spelling[0]), b = spelled(right, spelling[1]);
            if (a > 0 && b > 0) {
                memcpy(spelling[2], spelling[0], (size_t)a);
                memcpy(spelling[2] + a, spelling[1], (size_t)b);
                ids[0] = find_text(t, (Text){spelling[0], (uint64_t)a});
                ids[1] = find_text(t, (Text){spelling[1], (uint64_t)b});
                ids[2] = find_text(t, (Text){spelling[2], (uint64_t)(a + b)});
            }
        }
        if (ids[0] < 0 || ids[1] < 0 || ids[2] < 0)
            return fail(failure, "merge %" PRIu64 " of tokenizer.ggml.merges is not made of two tokens", i);
        Merge *place = merge_place(t, ids[0], ids[1]);
        if (place->pair == 0) *place = (Merge){((uint64_t)ids[0] << 32 | (uint32_t)ids[1]) + 1, (int32_t)i, ids[2]};
    }
    return true;
}

/* ---- from a file ------------------------------------------------------------------------------------------------- */

/* Refuses by name what would be encoded wrongly. */
static bool check_kind(const Gguf *gguf, Failure *failure) {
    static const char *const splits_digits[] = {"smollm", "starcoder", "refact", "command-r", "codeshell"};
    Text model, pre;
    if (!gguf_text(gguf, "tokenizer.ggml.model", &model, failure)) return false;
    if (!text_is(model, "gpt2"))
        return fail(failure, "tokenizer model %.*s is not supported; gpt2 is", gguf_shown(model), model.data);
    if (!gguf_text(gguf, "tokenizer.ggml.pre", &pre, failure)) return false;
    for (size_t i = 0; i < sizeof splits_digits / sizeof *splits_digits; ++i)
        if (text_is(pre, splits_digits[i])) return true;
    return fail(failure, "pre-tokenizer %.*s is not supported; smollm is", gguf_shown(pre), pre.data);
}

static bool fill(Tokenizer *t, const Gguf *gguf, const Text *tokens, const Text *merges, uint64_t merge_count,
                 Failure *failure) {
    const GgufValue *types = gguf_find(gguf, "tokenizer.ggml.token_type");
    if (!types || !types->is_array || types->type != 5 || types->count != (uint64_t)t->count)
        return fail(failure, "tokenizer.ggml.token_type is not a list of one I32 for each token");
    t->places = 16;
    while (t->places < 2 * ((uint64_t)t->count + merge_count)) t->places *= 2;
    t->tokens = calloc((size_t)t->count, sizeof *t->tokens);
    t->specials = calloc((size_t)t->count, sizeof *t->specials);
    t->by_text = malloc(t->places * sizeof *t->by_text);
    t->merges = calloc(t->places, sizeof *t->merges);
    if (!t->tokens || !t->specials || !t->by_text || !t->merges) return fail(failure, "the host is out of memory");
    memset(t->by_text, 0xff, t->places * sizeof *t->by_text);
    int64_t end;
    if (!gguf_integer(gguf, "tokenizer.ggml.eos_token_id", 0, t->count - 1, &end, failure)) return false;
    t->end = (int32_t)end;
    return add_tokens(t, tokens, types, failure) && add_merges(t, merges, merge_count, failure);
}

Tokenizer *tokenizer_create(const Gguf *gguf, Failure *failure) {
    if (!check_kind(gguf, failure)) return NULL;
    uint64_t count = 0, merge_count = 0;
    Text *tokens = gguf_texts(gguf, "tokenizer.ggml.tokens", &count, failure);
    Text *merges = tokens ? gguf_texts(gguf, "tokenizer.ggml.merges", &merge_count, failure) : NULL;
    Tokenizer *t = merges ? calloc(1, sizeof *t) : NULL;
    if (t) {
        t->count = (int64_t)count;
        const bool good = count > 0 && count <= INT32_MAX ? fill(t, gguf, tokens, merges, merge_count, failure)
                                                          : fail(failure, "%" PRIu64 " tokens cannot be", count);
        if (!good) {
            tokenizer_destroy(t);
            t = NULL;
        }
    }
    free(tokens);
    free(merges);
    return t;
}

void tokenizer_destroy(Tokenizer *t) {
    if (!t) return;
    free(t->tokens);
    free(t->specials);
    free(t->bytes);
    free(t->by_text);
    free(t->merges);
    free(t);
}

int64_t tokenizer_size(const Tokenizer *t) { return t->count; }

int32_t tokenizer_end(const Tokenizer *t) { return t->end; }

int32_t tokenizer_special(const Tokenizer *t, const char *name) {
    for (int64_t i = 0; i < t->special_count; ++i)
        if (text_is(t->tokens[t->specials[i]], name)) return t->specials[i];
    return -1;
}

Text tokenizer_decode(const Tokenizer *t, int32_t id) {
    return id >= 0 && id < t->count ? t->tokens[id] : (Text){"", 0};
}

/* ---- encoding ---------------------------------------------------------------------------------------------------- */

/* The special token that a place begins with, the longest one; -1 if none. */
static int32_t special_at(const Tokenizer *t, const char *at, const char *end) {
    int32_t best = -1;
    for (int64_t i = 0; i < t->special_count; ++i) {
        const int32_t id = t->specials[i];
        const Text name = t->tokens[id];
        if (name.size > 0 && name.size <= (uint64_t)(end - at) && memcmp(at, name.data, name.size) == 0 &&
            (best < 0 || name.size > t->tokens[best].size))
            best = id;
    }
    return best;
}

/* The length of 's, 't, 're, 've, 'm, 'll or 'd at a place, 0 if it is none. */
static int contraction(const char *at, const char *end) {
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i) {
        const size_t n = strlen(endings[i]);
        if ((size_t)(end - at) > n && memcmp(at + 1, endings[i], n) == 0) return (int)n + 1;
    }
    return 0;
}

/* The end of a run of one class; *last is where its last character begins. */
static const char *run_end(const char *at, const char *end, Class class, const char **last) {
    int length;
    for (; at < end && class_of(code_at(at, end, &length)) == class; at += length) *last = at;
    return at;
}

/* The end of the word that begins at a place, by the pattern above. */
static const char *word_end(const char *begin, const char *end) {
    int length;
    Class class = class_of(code_at(begin, end, &length));
    const char *at = begin + length, *last = begin;
    if (class == NUMBER) return at; /* each digit alone */
    if (*begin == '\'' && contraction(begin, end)) return begin + contraction(begin, end);
    if (*begin == ' ' && at < end) { /* " ?": a word takes the one space before it */
        const Class after = class_of(code_at(at, end, &length));
        if (after == LETTER || after == OTHER) class = after;
    }
    if (class != SPACE) return run_end(at, end, class, &last);
    at = run_end(begin, end, SPACE, &last);
    /* \s+(?!\S): of several spaces the last is left to the word behind them; a digit takes none */
    const bool before_word = at < end && class_of(code_at(at, end, &length)) != NUMBER;
    return before_word && last > begin ? last : at;
}

/* Merges the bytes of one word, in place in ids. The time grows with the square of a word's length. */
static int64_t merge_word(const Tokenizer *t, const char *at, const char *end, int32_t *ids) {
    int64_t n = 0;
    for (; at < end; ++at) {
        const int32_t id = find_text(t, (Text){at, 1});
        if (id >= 0) ids[n++] = id; /* a byte that the vocabulary lacks is dropped, as everywhere */
    }
    for (;;) {
        const Merge *best = NULL;
        int64_t place = 0;
        for (int64_t i = 0; i + 1 < n; ++i) {
            const Merge *merge = merge_place(t, ids[i], ids[i + 1]);
            if (merge->pair != 0 && (!best || merge->rank < best->rank)) {
                best = merge;
                place = i;
            }
        }
        if (!best) return n;
        ids[place] = best->result;
        memmove(&ids[place + 1], &ids[place + 2], (size_t)(n - place - 2) * sizeof *ids);
        --n;
    }
}

static bool encode_plain(const Tokenizer *t, const char *at, const char *end, int32_t *ids, int64_t *count,
                         int64_t capacity) {
    while (at < end) {
        const char *stop = word_end(at, end);
        int32_t *word = malloc((size_t)(stop - at) * sizeof *word);
        const int64_t n = word ? merge_word(t, at, stop, word) : INT64_MAX;
        const bool fits = n <= capacity - *count;
        if (fits && n > 0) memcpy(ids + *count, word, (size_t)n * sizeof *word);
        free(word);
        if (!fits) return false;
        *count += n;
        at = stop;
    }
    return true;
}

bool tokenizer_encode(const Tokenizer *t, const Part *parts, int part_count, int32_t *ids, int64_t *count,
                      int64_t capacity) {
    uint64_t size = 0;
    for (int i = 0; i < part_count; ++i) size += parts[i].text.size;
    char *text = malloc(size + 1), *plain = text, *at = text; /* plain: where the text since the last special begins */
    if (!text) return false;
    bool fits = true;
    *count = 0;
    for (int i = 0; i < part_count; ++i) {
        if (parts[i].text.size > 0) memcpy(at, parts[i].text.data, parts[i].text.size);
        char *end = at + parts[i].text.size;
        for (; fits && at < end; ++at) {
            const int32_t id = parts[i].special ? special_at(t, at, end) : -1;
            if (id < 0) continue;
            fits = encode_plain(t, plain, at, ids, count, capacity) && *count < capacity;
            if (fits) ids[(*count)++] = id;
            plain = at + t->tokens[id].size;
            at = plain - 1;
        }
        at = end;
    }
    fits = fits && encode_plain(t, plain, at, ids, count, capacity);
    free(text);
    return fits;
}
