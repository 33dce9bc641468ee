/* SPDX-License-Identifier: Apache-2.0 */
/* Do two drivers compute the same bits with a real model? One run writes what each launch of a prefill has written;
 * another follows: after each launch it compares, then takes over the other's bits, so that what differs later is that
 * operator's own doing and not handed down. With --alone nothing is taken over: the difference that a user has.
 *
 * usage: generate-bits --model FILE (--write FILE | --follow FILE | --alone FILE)
 * prints one line for each kind of launch, and one for the logits; exit code 1 if the two runs are not the same run. */
#include "model.h"
#include "tokenizer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prompt[] = "The first thing that a visitor of this city sees is the harbour, and in the morning";

typedef struct Kind {
    const char *label;
    int64_t launches, equal; /* equal: those whose outputs are the other run's, bit for bit */
} Kind;

typedef enum Way { WRITE, FOLLOW, ALONE } Way;

static struct {
    Way way;
    FILE *file;
    Kind kinds[32];
    int kind_count;
    double logits_off;
    int64_t logits, logits_equal;
    bool sizes_differ;
} run;

static Kind *kind_of(const char *label) {
    for (int i = 0; i < run.kind_count; ++i)
        if (strcmp(run.kinds[i].label, label) == 0) return &run.kinds[i];
    run.kinds[run.kind_count] = (Kind){.label = label};
    return &run.kinds[run.kind_count++];
}

static uint64_t element_size(uint32_t dtype) {
    return dtype == SPARK_DTYPE_BF16 ? 2 : dtype == SPARK_DTYPE_I64 ? 8 : 4; /* what the model has */
}

static uint64_t bytes_of(const spark_tensor *t) {
    int64_t last = 0;
    for (uint32_t i = 0; i < t->ndim; ++i) last += (t->shape[i] - 1) * t->stride[i];
    return (uint64_t)(last + 1) * element_size(t->dtype);
}

static void compare_logits(const float *mine, const float *others, uint64_t bytes) {
    run.logits = (int64_t)(bytes / sizeof *mine);
    for (int64_t i = 0; i < run.logits; ++i) {
        run.logits_equal += memcmp(mine + i, others + i, sizeof *mine) == 0;
        const double off = fabs((double)mine[i] - (double)others[i]);
        if (!(off <= run.logits_off)) run.logits_off = off;
    }
}

/* One output after its launch; true if it is the other run's. */
static bool take(Device *device, const char *label, const spark_tensor *packed) {
    spark_tensor t = *packed;
    if (t.stride[t.ndim - 1] == 0) { /* strides left out: row-major */
        int64_t step = 1;
        for (uint32_t i = t.ndim; i-- > 0; step *= t.shape[i]) t.stride[i] = step;
    }
    const uint64_t bytes = bytes_of(&t);
    void *mine = malloc(bytes), *others = malloc(bytes);
    uint64_t others_bytes = bytes;
    device_read(device, mine, t.data, bytes);
    bool same = true;
    if (run.way == WRITE) {
        fwrite(&bytes, sizeof bytes, 1, run.file);
        fwrite(mine, 1, bytes, run.file);
    } else if (fread(&others_bytes, sizeof bytes, 1, run.file) != 1 || others_bytes != bytes ||
               fread(others, 1, bytes, run.file) != bytes) {
        run.sizes_differ = true;
    } else {
        same = memcmp(mine, others, bytes) == 0;
        if (strcmp(label, "gemm vocabulary") == 0) compare_logits(mine, others, bytes);
        if (run.way == FOLLOW && !same) device_write(device, t.data, others, bytes);
    }
    free(mine);
    free(others);
    return same;
}

/* In the place of launch of device.h, by the linker's --wrap. */
void __real_launch(Device *device, const char *label, const spark_args *args);
void __wrap_launch(Device *device, const char *label, const spark_args *args);
void __wrap_launch(Device *device, const char *label, const spark_args *args) {
    __real_launch(device, label, args);
    if (!run.file || run.sizes_differ) return;
    const spark_op_desc *op = spark_op_describe(args->op);
    bool same = true;
    for (uint32_t i = 0; i < op->num_fields; ++i) {
        const spark_field *field = spark_op_field(args->op, i);
        const spark_tensor *t = (const spark_tensor *)((const char *)args + field->offset);
        if (field->kind == SPARK_KIND_TENSOR && (field->flags & SPARK_FIELD_OUT) && t->data)
            same = take(device, label, t) && same;
    }
    Kind *kind = kind_of(label);
    ++kind->launches;
    kind->equal += same;
}

static int stop(const char *why) {
    fprintf(stderr, "generate-bits: %s\n", why);
    return 2;
}

static void silent(const char *what, int64_t done, int64_t all) { (void)what, (void)done, (void)all; }

static void report(void) {
    for (int i = 0; i < run.kind_count; ++i)
        printf("launches %3" PRId64 " equal %3" PRId64 " %s\n", run.kinds[i].launches, run.kinds[i].equal,
               run.kinds[i].label);
    printf("logits %" PRId64 " equal %" PRId64 " off %.6g\n", run.logits, run.logits_equal, run.logits_off);
}

static bool prefill(Model *model, const Gguf *gguf, Failure *failure) {
    enum { MOST = 128 };
    int32_t ids[MOST];
    int64_t count;
    Tokenizer *tokenizer = tokenizer_create(gguf, failure);
    const Part part = {{prompt, sizeof prompt - 1}, false};
    if (!tokenizer || !tokenizer_encode(tokenizer, &part, 1, ids, &count, MOST)) return false;
    const bool good = model_append(model, ids, count, NULL, failure);
    tokenizer_destroy(tokenizer);
    return good;
}

int main(int argc, char **argv) {
    static Gguf gguf;
    static Shape shape;
    static Device device;
    static Model model;
    Failure failure = {"the prompt has no tokens"};
    if (argc != 5 || strcmp(argv[1], "--model") != 0)
        return stop("--model FILE, then --write, --follow or --alone FILE");
    run.way = strcmp(argv[3], "--write") == 0 ? WRITE : strcmp(argv[3], "--follow") == 0 ? FOLLOW : ALONE;
    if (run.way == ALONE && strcmp(argv[3], "--alone") != 0) return stop("--write, --follow or --alone?");
    if (!gguf_open(&gguf, argv[2], &failure) || !shape_read(&shape, &gguf, &failure)) return stop(failure.text);
    FILE *file = fopen(argv[4], run.way == WRITE ? "wb" : "rb");
    if (!file) return stop("the file of the other run cannot be opened");
    device_open(&device);
    const Cache cache = {.context = 128, .page = 16, .dtype = SPARK_DTYPE_BF16, .sequences = 1};
    if (!model_load(&model, &device, &gguf, &shape, &cache, silent, &failure)) return stop(failure.text);
    run.file = file;
    const bool good = prefill(&model, &gguf, &failure);
    device_wait(&device);
    if (good && run.way != WRITE) report();
    model_free(&model);
    device_close(&device);
    gguf_close(&gguf);
    if (fclose(file) != 0 || !good) return stop(failure.text);
    if (run.sizes_differ) puts("not the same launches: another file, or another model");
    return run.sizes_differ;
}
