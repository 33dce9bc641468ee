/* SPDX-License-Identifier: Apache-2.0 */
/* See check.h. */
#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IDS = 4096 };

typedef struct Check {
    Model *model;
    const Tokenizer *tokenizer;
    int64_t prompts, tokens; /* the most of each, 0 = no limit */
    bool replay;
    bool codes; /* the cache is E4M3 */
    double bound, tie;
    /* Of the present prompt: */
    int32_t ids[MOST_IDS];
    int64_t id_count;
    float *logits;
    int64_t compared, steps;
    double worst;
    int32_t next; /* what the device has chosen */
    /* Of all: */
    int64_t prompt_count, near_ties;
    bool wrong;
} Check;

static void complain(Check *c, const char *what, double found, double wanted) {
    printf("  WRONG: %s: found %g, the reference has %g\n", what, found, wanted);
    c->wrong = true;
}

/* Undoes \xHH, in place. */
static Text unescape(char *text) {
    char *out = text;
    for (const char *at = text; *at && *at != '\n';) {
        unsigned byte;
        const bool escaped = at[0] == '\\' && at[1] == 'x' && sscanf(at + 2, "%2x", &byte) == 1;
        *out++ = escaped ? (char)byte : *at;
        at += escaped ? 4 : 1;
    }
    return (Text){text, (uint64_t)(out - text)};
}

static void report(const Check *c) {
    if (c->prompt_count == 0) return;
    printf("prompt %" PRId64 ": %" PRId64 " tokens; %" PRId64 " logits off by at most %.4f (bound %.4f); %" PRId64
           " tokens generated\n",
           c->prompt_count, c->id_count, c->compared, c->worst, c->bound, c->steps);
    fflush(stdout);
}

static void begin_prompt(Check *c, char *text) {
    report(c);
    ++c->prompt_count;
    c->compared = c->steps = c->id_count = 0;
    c->worst = 0;
    const Part part = {unescape(text), true};
    if (!tokenizer_encode(c->tokenizer, &part, 1, c->ids, &c->id_count, MOST_IDS))
        complain(c, "the prompt has too many tokens", (double)c->id_count, 0);
}

/* The tokens are known: the prompt runs, and the first logits are there. */
static bool run_prompt(Check *c, char *numbers, Progress progress, Failure *failure) {
    int64_t n = 0;
    bool same = true;
    for (char *end; n < MOST_IDS; numbers = end, ++n) {
        const long id = strtol(numbers, &end, 10);
        if (end == numbers) break;
        same = same && n < c->id_count && c->ids[n] == id;
        c->ids[n] = (int32_t)id;
    }
    if (!same || n != c->id_count) complain(c, "tokens of the prompt", (double)c->id_count, (double)n);
    c->id_count = n;
    if (!model_begin(c->model, 0, 0, failure) || !model_append(c->model, c->ids, n, progress, failure)) return false;
    model_logits(c->model, c->logits);
    const Sampling greedy = {0};
    c->next = model_choose(c->model, &greedy);
    return true;
}

static void compare(Check *c, long id, double wanted) {
    const double off = fabs(c->logits[id] - wanted);
    ++c->compared;
    if (!(off <= c->worst)) c->worst = off; /* a NaN is the worst */
    if (!(off <= c->bound)) complain(c, "a logit", c->logits[id], wanted);
}

static bool compare_logit(Check *c, const char *fact, Failure *failure) {
    long id;
    double wanted;
    if (sscanf(fact, "%ld %lf", &id, &wanted) != 2 || id < 0 || id >= c->model->shape.vocabulary)
        return fail(failure, "the reference has no logit %.40s", fact);
    compare(c, id, wanted);
    return true;
}

/* With a cache of codes the choice is not the reference's, whose tokens are appended: logits show what they cost. */
static bool compare_token(Check *c, const char *fact, Failure *failure) {
    long first, second;
    double highest, next_highest;
    const int64_t all = c->model->shape.vocabulary;
    if (sscanf(fact, "%ld %lf %ld %lf", &first, &highest, &second, &next_highest) != 4 || first < 0 || first >= all ||
        second < 0 || second >= all)
        return fail(failure, "the reference has no token %.40s", fact);
    if (c->tokens && c->steps >= c->tokens) return true;
    const Sampling greedy = {0};
    if (c->steps++ > 0 && !model_step(c->model, &greedy, c->replay, &c->next, failure)) return false;
    if (c->codes) {
        model_logits(c->model, c->logits);
        compare(c, first, highest);
        compare(c, second, next_highest);
    } else if (c->next == first) {
        return true;
    } else if (c->next == second && highest - next_highest < c->tie) {
        printf("  a near tie at token %" PRId64 ": %ld (%g) and %ld (%g)\n", c->steps, first, highest, second,
               next_highest);
        ++c->near_ties;
    } else {
        complain(c, "a generated token", c->next, (double)first);
    }
    model_put(c->model, (int32_t)first);
    return true;
}

/* How far off a logit may be, and how near to each other two are. */
static void limit(Check *c, const char *name, double value) {
    if (strcmp(name, "tie") == 0) c->tie = value;
    else if (strcmp(name, c->codes ? "bound.e4m3" : "bound") == 0) c->bound = value;
}

static bool fact(Check *c, char *line, Progress progress, Failure *failure) {
    char *rest = strchr(line, ' ');
    if (line[0] == '#' || !rest) return true;
    *rest++ = 0;
    if (strncmp(line, "bound", 5) == 0 || strncmp(line, "tie", 3) == 0) limit(c, line, strtod(rest, NULL));
    else if (c->bound <= 0) return fail(failure, "the reference has no bound for a cache of this type");
    else if (strcmp(line, "prompt") == 0) begin_prompt(c, rest);
    else if (strcmp(line, "ids") == 0) return run_prompt(c, rest, progress, failure);
    else if (strcmp(line, "logit") == 0) return compare_logit(c, rest, failure);
    else if (strcmp(line, "token") == 0) return compare_token(c, rest, failure);
    else return fail(failure, "the reference has a line '%.20s'", line);
    return true;
}

bool check_run(Model *model, const Tokenizer *tokenizer, const char *path, int64_t prompts, int64_t tokens, bool replay,
               Progress progress, Failure *failure) {
    static char line[1 << 16];
    FILE *file = fopen(path, "r");
    if (!file) return fail(failure, "the reference %s cannot be read", path);
    Check *c = calloc(1, sizeof *c);
    if (c) *c = (Check){.model = model, .tokenizer = tokenizer, .tokens = tokens, .replay = replay};
    if (c) c->codes = model->cache.dtype == SPARK_DTYPE_E4M3;
    if (c) c->logits = malloc((size_t)model->shape.vocabulary * sizeof *c->logits);
    bool good = c && c->logits;
    if (!good) fail(failure, "the host is out of memory");
    while (good && fgets(line, sizeof line, file)) {
        if (prompts && c->prompt_count == prompts && strncmp(line, "prompt ", 7) == 0) break;
        good = fact(c, line, progress, failure);
    }
    fclose(file);
    if (good) {
        report(c);
        if (c->prompt_count == 0) c->wrong = !fail(failure, "the reference %s has no prompt", path);
        else if (c->wrong) fail(failure, "the reference is not met");
        good = !c->wrong;
        if (good) printf("the reference is met; near ties: %" PRId64 "\n", c->near_ties);
    }
    if (c) free(c->logits);
    free(c);
    return good;
}
