/* SPDX-License-Identifier: Apache-2.0 */
/* spark-generate: reads a model, appends the prompt, and prints token after token. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "options.h"
#include "tokenizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_TOKENS = 128, CHECK_CONTEXT = 1024 };

enum { FIRST, THEN, MOST_PROMPTS };

typedef struct Prompt {
    int32_t *ids;
    int64_t count;
} Prompt;

/* Where the time went. */
typedef struct Times {
    double load, prefill, decode;
    int64_t prompt, generated; /* tokens that ran */
    int64_t timed;             /* steps in `decode` */
    Profile profile;           /* one step of decoding */
} Times;

static int stop(const char *text) {
    fprintf(stderr, "spark-generate: %s\n", text);
    return 1;
}

/* One line that is rewritten on a terminal; elsewhere one every few seconds. Silent for the first second. */
static void show_progress(const char *what, int64_t done, int64_t all) {
    static double began, spoke;
    const double now = seconds();
    if (done <= 1) began = spoke = now;
    const bool live = isatty(STDERR_FILENO);
    if (live && done == all) fputs("\r\x1b[K", stderr);
    if (now - began < 1 || (now - spoke < (live ? 0.1 : 5)) || done == all) return;
    spoke = now;
    fprintf(stderr, live ? "\r\x1b[K%s %" PRId64 " of %" PRId64 ", %.0f s" : "%s %" PRId64 " of %" PRId64 ", %.0f s\n",
            what, done, all, now - began);
    fflush(stderr);
}

/* The system message that the chat template puts in when there is none: the text between its marks, if it has one. */
static Text default_system(const Gguf *gguf) {
    static const char before[] = "<|im_start|>system\n", after[] = "<|im_end|>";
    Text template;
    Failure none;
    if (!gguf_text(gguf, "tokenizer.chat_template", &template, &none)) return (Text){"", 0};
    const char *end = template.data + template.size, *begin = NULL;
    for (const char *at = template.data; at + sizeof before < end; ++at) {
        if (!begin && memcmp(at, before, sizeof before - 1) == 0) begin = at + sizeof before - 1;
        if (begin && memcmp(at, after, sizeof after - 1) == 0 && at >= begin)
            return (Text){begin, (uint64_t)(at - begin)};
    }
    return (Text){"", 0};
}

/* A prompt as tokens, in the form of a chat where the vocabulary knows it; false if there are more than `capacity`. */
static bool encode_prompt(const Tokenizer *t, const Gguf *gguf, const Options *o, const char *text, int64_t capacity,
                          Prompt *out) {
#define FORM(text) \
    { {text, sizeof(text) - 1}, true }
    const Part prompt = {{text, strlen(text)}, false};
    const Part system = {o->system ? (Text){o->system, strlen(o->system)} : default_system(gguf), false};
    const Part with_system[] = {FORM("<|im_start|>system\n"), system, FORM("<|im_end|>\n"),
                                FORM("<|im_start|>user\n"),   prompt, FORM("<|im_end|>\n<|im_start|>assistant\n")};
#undef FORM
    const bool chat = !o->raw && tokenizer_special(t, "<|im_start|>") >= 0 && tokenizer_special(t, "<|im_end|>") >= 0;
    const Part *parts = !chat ? &prompt : system.text.size ? with_system : with_system + 3;
    const int part_count = !chat ? 1 : system.text.size ? 6 : 3;
    out->ids = malloc((size_t)capacity * sizeof *out->ids);
    return out->ids && tokenizer_encode(t, parts, part_count, out->ids, &out->count, capacity);
}

static void write_text(Text text) {
    fwrite(text.data, 1, text.size, stdout);
    fflush(stdout);
}

/* Prints the answer as it comes. The first step is launched operator by operator and timed; its time counts for the
 * list of operators, and not for the tokens per second. */
static bool answer(Model *m, const Tokenizer *t, const Options *o, int64_t most, Times *times, Failure *failure) {
    int32_t id = model_choose(m, &o->sampling);
    for (times->generated = 0;; ++times->generated) {
        if (id < 0) return fail(failure, "the logits hold no number to choose by");
        if (id == tokenizer_end(t) && !o->ignore_end) return true;
        write_text(tokenizer_decode(t, id));
        if (times->generated + 1 == most) return ++times->generated;
        const bool first = times->generated == 0;
        if (first) {
            model_prepare(m, &o->sampling);
            profile_begin(m->device, &times->profile);
        }
        const double began = seconds();
        if (!model_step(m, &o->sampling, !first && !o->no_graph, &id, failure)) return false;
        if (first) {
            profile_end(m->device);
        } else {
            times->decode += seconds() - began;
            ++times->timed;
        }
    }
}

static void write_json(const char *path, const Device *device, const Options *o, const Times *times) {
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "spark-generate: %s cannot be written\n", path);
        exit(1);
    }
    fprintf(file,
            "{\"device\": \"%s\", \"emulated\": %s, \"graph\": %s, \"load_s\": %.6f, \"prefill_s\": %.6f, "
            "\"prompt_tokens\": %" PRId64 ", \"generated_tokens\": %" PRId64 ", \"timed_steps\": %" PRId64
            ", \"decode_s\": %.6f}\n",
            device->info.name, device->info.emulated ? "true" : "false", o->no_graph ? "false" : "true", times->load,
            times->prefill, times->prompt, times->generated, times->timed, times->decode);
    fclose(file);
}

static void print_times(Device *device, const Options *o, const Times *times) {
    fprintf(stderr, "\n\nload       %8.2f s\n", times->load);
    fprintf(stderr, "prefill    %8.2f s   %" PRId64 " tokens, %.1f a second\n", times->prefill, times->prompt,
            (double)times->prompt / times->prefill);
    if (times->timed > 0)
        fprintf(stderr, "per token  %8.2f ms  %.2f tokens a second, %s\n", 1e3 * times->decode / (double)times->timed,
                (double)times->timed / times->decode,
                o->no_graph ? "each operator launched" : "one recorded graph each");
    if (times->profile.count == 0) return;
    enum { MOST = 16, SHOWN = 5 };
    Share shares[MOST];
    double total;
    const int count = profile_shares(device, &times->profile, shares, MOST, &total);
    fprintf(stderr, "\nThe first step, operator by operator: %.2f ms, measured between events; most of it:\n", total);
    for (int i = 0; i < count && i < SHOWN; ++i)
        fprintf(stderr, "  %-18s %3d launches %10.3f ms %5.1f %%\n", shares[i].label, shares[i].launches,
                shares[i].milliseconds, 100 * shares[i].milliseconds / total);
}

/* What of a prompt the sequence does not hold yet, and its answer. */
static bool run_prompt(Model *m, const Tokenizer *t, const Options *o, const Prompt *prompt, int64_t most, Times *times,
                       Failure *failure) {
    const double began = seconds();
    times->prompt = prompt->count - m->position;
    if (!model_append(m, prompt->ids + m->position, times->prompt, show_progress, failure)) return false;
    device_wait(m->device);
    times->prefill = seconds() - began;
    const bool good = answer(m, t, o, most, times, failure);
    print_times(m->device, o, times);
    return good;
}

/* Tokens that both begin with; the last of the second is not among them, since its logits are wanted. */
static int64_t common(const Prompt *one, const Prompt *other) {
    int64_t n = 0;
    while (n < one->count && n + 1 < other->count && one->ids[n] == other->ids[n]) ++n;
    return n;
}

/* With the model on the device. */
static bool run(Model *m, const Tokenizer *t, const Options *o, const Prompt *prompts, int64_t most, Times *times,
                Failure *failure) {
    if (o->check) return check_run(m, t, o->check, o->prompts, o->max_tokens, !o->no_graph, show_progress, failure);
    bool good = run_prompt(m, t, o, &prompts[FIRST], most, times, failure);
    if (o->json) write_json(o->json, m->device, o, times);
    if (good && o->then) {
        Times then = {.load = times->load};
        fputc('\n', stdout);
        good = model_begin(m, THEN, o->share ? common(&prompts[FIRST], &prompts[THEN]) : 0, failure);
        if (o->share) fprintf(stderr, "\nshared     %8" PRId64 " tokens of both prompts\n", m->position);
        good = good && run_prompt(m, t, o, &prompts[THEN], most, &then, failure);
        profile_free(m->device, &then.profile);
    }
    profile_free(m->device, &times->profile);
    return good;
}

int main(int argc, char **argv) {
    const Options o = options_read(argc, argv);
    const int64_t most = o.max_tokens ? o.max_tokens : USUAL_TOKENS;
    /* static: they last as long as the program, also where it stops early */
    static Gguf gguf;
    static Shape shape;
    static Tokenizer *tokenizer;
    static Device device;
    static Model model;
    static Times times;
    Failure failure;
    if (!gguf_open(&gguf, o.model, &failure) || !shape_read(&shape, &gguf, &failure)) return stop(failure.text);
    if (!(tokenizer = tokenizer_create(&gguf, &failure))) return stop(failure.text);

    /* All that can be refused is refused before the device is opened. */
    const int64_t room = o.context ? o.context : shape.trained;
    static Prompt prompts[MOST_PROMPTS];
    const char *texts[MOST_PROMPTS] = {o.prompt, o.then};
    int64_t longest = 0, sequences = 0;
    for (; sequences < MOST_PROMPTS && texts[sequences]; ++sequences) {
        Prompt *prompt = &prompts[sequences];
        if (!encode_prompt(tokenizer, &gguf, &o, texts[sequences], room, prompt) || prompt->count >= room) {
            fail(&failure, "the prompt is too long: it leaves no room in a context of %" PRId64 " tokens", room);
            return stop(failure.text);
        }
        if (prompt->count > longest) longest = prompt->count;
    }
    const int64_t needed = o.check ? CHECK_CONTEXT : longest + most;
    const Cache cache = {o.context || room < needed ? room : needed, o.page, o.cache, sequences};

    device_open(&device);
    fprintf(stderr, "device     %s, compute capability %u.%u%s\n", device.info.name, device.info.cc_major,
            device.info.cc_minor, device.info.emulated ? "; the times are those of this computer" : "");
    const double began = seconds();
    if (!model_load(&model, &device, &gguf, &shape, &cache, show_progress, &failure)) return stop(failure.text);
    times.load = seconds() - began;
    gguf_close(&gguf);
    const bool good = run(&model, tokenizer, &o, prompts, most, &times, &failure);
    model_free(&model);
    device_close(&device);
    tokenizer_destroy(tokenizer);
    for (int i = 0; i < MOST_PROMPTS; ++i) free(prompts[i].ids);
    return good ? 0 : stop(failure.text);
}
