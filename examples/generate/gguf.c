/* SPDX-License-Identifier: Apache-2.0 */
/* See gguf.h. The format: "GGUF", version, two counts; then keys with values; then the names, shapes, types and offsets
 * of tensors; then, aligned, their data. Numbers are little-endian, as on every machine that this runs on. */
#define _POSIX_C_SOURCE 200809L
#include "gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64, VALUE_TYPES };
static const uint8_t value_bytes[VALUE_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static const char *const tensor_types[] = {
    "F32",   "F16",    "Q4_0", "Q4_1", "Q4_2", "Q4_3",    "Q5_0",   "Q5_1",    "Q8_0",  "Q8_1",   "Q2_K",
    "Q3_K",  "Q4_K",   "Q5_K", "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S",
    "IQ2_S", "IQ4_XS", "I8",   "I16",  "I32",  "I64",     "F64",    "IQ1_M",   "BF16"};

bool fail(Failure *failure, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    return false;
}

bool text_is(Text text, const char *other) {
    return text.size == strlen(other) && memcmp(text.data, other, text.size) == 0;
}

const char *gguf_type_name(uint32_t type) {
    return type < sizeof tensor_types / sizeof *tensor_types ? tensor_types[type] : "of an unknown number";
}

/* ---- reading on, never past the end ------------------------------------------------------------------------------ */

typedef struct Cursor {
    const uint8_t *file;
    uint64_t at, size;
    Failure *failure;
} Cursor;

/* The next n bytes, or NULL with a sentence. */
static const uint8_t *take(Cursor *in, uint64_t n, const char *what) {
    if (n > in->size - in->at) {
        fail(in->failure, "the file ends in %s: %" PRIu64 " bytes are needed at %" PRIu64 ", and the file has %" PRIu64,
             what, n, in->at, in->size);
        return NULL;
    }
    const uint8_t *p = in->file + in->at;
    in->at += n;
    return p;
}

static bool take_u32(Cursor *in, uint32_t *out, const char *what) {
    const uint8_t *p = take(in, sizeof *out, what);
    return p && memcpy(out, p, sizeof *out);
}

static bool take_u64(Cursor *in, uint64_t *out, const char *what) {
    const uint8_t *p = take(in, sizeof *out, what);
    return p && memcpy(out, p, sizeof *out);
}

static bool take_text(Cursor *in, Text *out, const char *what) {
    if (!take_u64(in, &out->size, what)) return false;
    out->data = (const char *)take(in, out->size, what);
    return out->data != NULL;
}

int gguf_shown(Text name) { return (int)(name.size < 64 ? name.size : 64); }

static bool take_value(Cursor *in, GgufValue *value) {
    if (!take_text(in, &value->key, "a key") || !take_u32(in, &value->type, "the type of a value")) return false;
    value->count = 1;
    value->is_array = value->type == ARRAY;
    if (value->is_array && (!take_u32(in, &value->type, "an array") || !take_u64(in, &value->count, "an array")))
        return false;
    if (value->type >= VALUE_TYPES || value->type == ARRAY)
        return fail(in->failure, "the value of %.*s has type %u, which is none", gguf_shown(value->key),
                    value->key.data, value->type);
    value->data = in->file + in->at;
    if (value->type != TEXT) {
        const uint64_t size = value_bytes[value->type];
        const uint64_t most = (in->size - in->at) / size; /* count * size may not fit 64 bits */
        return take(in, value->count > most ? UINT64_MAX : value->count * size, "a value") != NULL;
    }
    Text text;
    for (uint64_t i = 0; i < value->count; ++i)
        if (!take_text(in, &text, "a text")) return false;
    return true;
}

/* Everything but where the data are: data holds the offset until place() turns it into an address. */
static bool take_tensor(Cursor *in, GgufTensor *tensor, uint64_t *offset) {
    static const char what[] = "the list of tensors";
    if (!take_text(in, &tensor->name, what) || !take_u32(in, &tensor->ndim, what)) return false;
    if (tensor->ndim < 1 || tensor->ndim > 4)
        return fail(in->failure, "tensor %.*s has %u dimensions; 1 to 4 can be", gguf_shown(tensor->name),
                    tensor->name.data, tensor->ndim);
    uint64_t count = 1;
    for (uint32_t i = 0; i < 4; ++i) {
        tensor->shape[i] = 1;
        if (i < tensor->ndim && !take_u64(in, &tensor->shape[i], what)) return false;
        if (tensor->shape[i] == 0 || tensor->shape[i] > (UINT64_C(1) << 40) / count)
            return fail(in->failure, "tensor %.*s has an impossible size", gguf_shown(tensor->name), tensor->name.data);
        count *= tensor->shape[i];
    }
    if (!take_u32(in, &tensor->type, what) || !take_u64(in, offset, what)) return false;
    const uint64_t block = tensor->type == GGUF_F32 ? 1 : 32;
    const uint64_t size = tensor->type == GGUF_F32    ? 4
                          : tensor->type == GGUF_Q4_1 ? 20
                          : tensor->type == GGUF_Q8_0 ? 34
                                                      : 0;
    if (size != 0 && tensor->shape[0] % block != 0)
        return fail(in->failure, "tensor %.*s is %s with rows of %" PRIu64 ", no multiple of 32",
                    gguf_shown(tensor->name), tensor->name.data, gguf_type_name(tensor->type), tensor->shape[0]);
    tensor->bytes = count / block * size;
    return true;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool read_counts(Cursor *in, Gguf *gguf) {
    const uint8_t *magic = take(in, 4, "the first word");
    uint32_t version;
    if (!magic) return false;
    if (memcmp(magic, "GGUF", 4) != 0)
        return fail(in->failure, "this is no GGUF file: it begins with %02x %02x %02x %02x, not with \"GGUF\"",
                    magic[0], magic[1], magic[2], magic[3]);
    if (!take_u32(in, &version, "the version")) return false;
    if (version < 2 || version > 3) return fail(in->failure, "GGUF version %u is not supported; 2 and 3 are", version);
    if (!take_u64(in, &gguf->tensor_count, "the counts") || !take_u64(in, &gguf->value_count, "the counts"))
        return false;
    /* A value takes 13 bytes or more, a tensor 24: more of them than the file can hold is a damaged count. */
    if (gguf->value_count > in->size / 13 || gguf->tensor_count > in->size / 24)
        return fail(in->failure, "%" PRIu64 " values and %" PRIu64 " tensors do not fit a file of %" PRIu64 " bytes",
                    gguf->value_count, gguf->tensor_count, in->size);
    return true;
}

static bool read_all(Cursor *in, Gguf *gguf) {
    if (!read_counts(in, gguf)) return false;
    gguf->values = calloc(gguf->value_count + 1, sizeof *gguf->values);
    gguf->tensors = calloc(gguf->tensor_count + 1, sizeof *gguf->tensors);
    uint64_t *offsets = calloc(gguf->tensor_count + 1, sizeof *offsets);
    bool good = gguf->values && gguf->tensors && offsets;
    if (!good) fail(in->failure, "the host is out of memory");
    for (uint64_t i = 0; good && i < gguf->value_count; ++i) good = take_value(in, &gguf->values[i]);
    for (uint64_t i = 0; good && i < gguf->tensor_count; ++i) good = take_tensor(in, &gguf->tensors[i], &offsets[i]);
    int64_t alignment = 32;
    if (good && gguf_find(gguf, "general.alignment"))
        good = gguf_integer(gguf, "general.alignment", 1, 1 << 20, &alignment, in->failure);
    if (good) {
        const uint64_t begin = (in->at + (uint64_t)alignment - 1) / (uint64_t)alignment * (uint64_t)alignment;
        for (uint64_t i = 0; good && i < gguf->tensor_count; ++i) {
            GgufTensor *t = &gguf->tensors[i];
            const uint64_t room =
                begin <= in->size && offsets[i] <= in->size - begin ? in->size - begin - offsets[i] : 0;
            if (t->bytes > room)
                good = fail(in->failure, "the file ends in tensor %.*s: %" PRIu64 " of its %" PRIu64 " bytes are there",
                            gguf_shown(t->name), t->name.data, room, t->bytes);
            else if (t->bytes) t->data = in->file + begin + offsets[i];
        }
    }
    free(offsets);
    return good;
}

bool gguf_parse(Gguf *gguf, const uint8_t *file, uint64_t size, Failure *failure) {
    *gguf = (Gguf){.file = file, .size = size};
    Cursor in = {file, 0, size, failure};
    if (read_all(&in, gguf)) return true;
    gguf_forget(gguf);
    return false;
}

void gguf_forget(Gguf *gguf) {
    free(gguf->values);
    free(gguf->tensors);
    *gguf = (Gguf){0};
}

bool gguf_open(Gguf *gguf, const char *path, Failure *failure) {
    const int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        fail(failure, "%s: %s", path, strerror(errno));
        if (file >= 0) close(file);
        return false;
    }
    void *bytes = status.st_size > 0 ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (bytes == MAP_FAILED) return fail(failure, "%s: the file is empty, or no file", path);
    Failure inner;
    if (gguf_parse(gguf, bytes, (uint64_t)status.st_size, &inner)) return true;
    munmap(bytes, (size_t)status.st_size);
    return fail(failure, "%.100s: %.200s", path, inner.text);
}

void gguf_close(Gguf *gguf) {
    if (gguf->file) munmap((void *)(uintptr_t)gguf->file, gguf->size);
    gguf_forget(gguf);
}

/* ---- by name ----------------------------------------------------------------------------------------------------- */

const GgufValue *gguf_find(const Gguf *gguf, const char *key) {
    for (uint64_t i = 0; i < gguf->value_count; ++i)
        if (text_is(gguf->values[i].key, key)) return &gguf->values[i];
    return NULL;
}

static const GgufValue *need(const Gguf *gguf, const char *key, bool good_type(uint32_t), bool is_array,
                             const char *wanted, Failure *failure) {
    const GgufValue *value = gguf_find(gguf, key);
    if (!value) fail(failure, "the file does not say %s", key);
    else if (!good_type(value->type) || (value->is_array != 0) != is_array) fail(failure, "%s is not %s", key, wanted);
    else return value;
    return NULL;
}

static bool is_integer(uint32_t type) { return type <= I32 || type == U64 || type == I64; }
static bool is_real(uint32_t type) { return type == F32; }
static bool is_text(uint32_t type) { return type == TEXT; }

bool gguf_integer(const Gguf *gguf, const char *key, int64_t least, int64_t most, int64_t *out, Failure *failure) {
    const GgufValue *value = need(gguf, key, is_integer, false, "an integer", failure);
    if (!value) return false;
    const uint32_t bits = value_bytes[value->type] * 8u;
    uint64_t raw = 0;
    memcpy(&raw, value->data, bits / 8);
    const bool is_signed = value->type == I8 || value->type == I16 || value->type == I32;
    if (is_signed && raw >> (bits - 1)) raw |= UINT64_MAX << (bits - 1); /* the sign, to 64 bits */
    memcpy(out, &raw, sizeof raw);
    if (*out >= least && *out <= most) return true;
    return fail(failure, "%s is %" PRId64 "; %" PRId64 " to %" PRId64 " can be", key, *out, least, most);
}

bool gguf_real(const Gguf *gguf, const char *key, float *out, Failure *failure) {
    const GgufValue *value = need(gguf, key, is_real, false, "a 32-bit real number", failure);
    return value && memcpy(out, value->data, sizeof *out);
}

static Text text_at(const uint8_t *data) {
    Text text;
    memcpy(&text.size, data, sizeof text.size);
    text.data = (const char *)data + sizeof text.size;
    return text;
}

bool gguf_text(const Gguf *gguf, const char *key, Text *out, Failure *failure) {
    const GgufValue *value = need(gguf, key, is_text, false, "a text", failure);
    if (value) *out = text_at(value->data);
    return value != NULL;
}

Text *gguf_texts(const Gguf *gguf, const char *key, uint64_t *count, Failure *failure) {
    const GgufValue *value = need(gguf, key, is_text, true, "a list of texts", failure);
    if (!value) return NULL;
    Text *texts = calloc(value->count + 1, sizeof *texts);
    if (!texts) fail(failure, "the host is out of memory");
    const uint8_t *at = value->data;
    for (uint64_t i = 0; texts && i < value->count; ++i) {
        texts[i] = text_at(at);
        at = (const uint8_t *)texts[i].data + texts[i].size;
    }
    *count = value->count;
    return texts;
}

const GgufTensor *gguf_tensor(const Gguf *gguf, const char *name, uint64_t rows, uint64_t columns, Failure *failure) {
    const GgufTensor *t = NULL;
    for (uint64_t i = 0; i < gguf->tensor_count && !t; ++i)
        if (text_is(gguf->tensors[i].name, name)) t = &gguf->tensors[i];
    if (!t) fail(failure, "tensor %s is missing", name);
    else if (t->shape[0] != columns || t->shape[1] != rows || t->shape[2] * t->shape[3] != 1)
        fail(failure, "tensor %s is %" PRIu64 " x %" PRIu64 "; %" PRIu64 " x %" PRIu64 " is needed", name, t->shape[1],
             t->shape[0], rows, columns);
    else if (!t->data)
        fail(failure, "tensor %s is %s (type %u); F32, Q4_1 and Q8_0 can be read", name, gguf_type_name(t->type),
             t->type);
    else return t;
    return NULL;
}
