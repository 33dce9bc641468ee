/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. */
#include "options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_PAGE = 16 };

static const char usage[] =
    "usage: spark-generate --model FILE [options]\n"
    "\n"
    "Generates text with a language model in a GGUF file (Llama layout; Q4_1, Q8_0 and F32), on the GPU or, without\n"
    "one, on the emulator. The text goes to standard output, everything else to standard error.\n"
    "\n"
    "  --model FILE        the GGUF file\n"
    "  --prompt TEXT       what to answer\n"
    "  --then TEXT         what to answer afterwards, as a conversation of its own\n"
    "  --share-prefix      keep the pages of what both prompts begin with, the system message for one, instead of\n"
    "                      computing their keys and values again\n"
    "  --system TEXT       the system message (default: what the file's chat template names)\n"
    "  --raw               continue the prompt itself, without the form of a chat\n"
    "  --max-tokens N      the longest answer (default 128)\n"
    "  --context N         room for prompt and answer together (default: what both need)\n"
    "  --page N            tokens of a page of the cache (default 16)\n"
    "  --cache TYPE        what keys and values are kept in: bf16, or e4m3, half as large (default bf16)\n"
    "  --temperature T     0 is the most likely token each time (default 0)\n"
    "  --top-k K           choose among the K most likely (default: all)\n"
    "  --top-p P           choose among the most likely that together have probability P (default: all)\n"
    "  --seed N            another seed, another answer, if the temperature is above 0\n"
    "  --ignore-end        go on after the token that ends an answer\n"
    "  --no-graph          launch each operator of each step, instead of one recorded graph\n"
    "  --json FILE         write the times of the first answer as JSON\n"
    "  --check FILE        generate nothing; compare with the reference in FILE, exit code 1 on a difference\n"
    "  --check-prompts N   only the first N prompts of the reference (and --max-tokens of each)\n"
    "  --help              this text\n";

static void refuse(const char *what, const char *why) {
    fprintf(stderr, "spark-generate: %s %s; --help lists the options\n", what, why);
    exit(2);
}

static double number(const char *name, const char *text, double least, double most) {
    char *end;
    const double value = strtod(text, &end);
    char range[80];
    snprintf(range, sizeof range, "takes a number from %g to %g, not '%.20s'", least, most, text);
    if (end == text || *end || !(value >= least && value <= most)) refuse(name, range);
    return value;
}

static int64_t whole(const char *name, const char *text, double least, double most) {
    const double value = number(name, text, least, most);
    if (value != floor(value)) refuse(name, "takes a whole number");
    return (int64_t)value;
}

static spark_dtype cache_type(const char *value) {
    if (strcmp(value, "bf16") == 0) return SPARK_DTYPE_BF16;
    if (strcmp(value, "e4m3") != 0) refuse("--cache", "takes bf16 or e4m3");
    return SPARK_DTYPE_E4M3;
}

/* An option with a value. */
static void set(Options *o, const char *name, const char *value) {
    const double most = 1 << 24;
    if (strcmp(name, "--model") == 0) o->model = value;
    else if (strcmp(name, "--prompt") == 0) o->prompt = value;
    else if (strcmp(name, "--then") == 0) o->then = value;
    else if (strcmp(name, "--system") == 0) o->system = value;
    else if (strcmp(name, "--check") == 0) o->check = value;
    else if (strcmp(name, "--json") == 0) o->json = value;
    else if (strcmp(name, "--max-tokens") == 0) o->max_tokens = whole(name, value, 1, most);
    else if (strcmp(name, "--context") == 0) o->context = whole(name, value, 1, most);
    else if (strcmp(name, "--page") == 0) o->page = whole(name, value, 1, 1 << 16);
    else if (strcmp(name, "--cache") == 0) o->cache = cache_type(value);
    else if (strcmp(name, "--check-prompts") == 0) o->prompts = whole(name, value, 1, most);
    else if (strcmp(name, "--temperature") == 0) o->sampling.temperature = (float)number(name, value, 0, 100);
    else if (strcmp(name, "--top-k") == 0) o->sampling.top_k = (int32_t)whole(name, value, 0, most);
    else if (strcmp(name, "--top-p") == 0) o->sampling.top_p = (float)number(name, value, 0, 1);
    else if (strcmp(name, "--seed") == 0)
        o->sampling.seed = (uint64_t)whole(name, value, 0, 9007199254740992.0); /* 2^53: exact in a double */
    else refuse(name, "is no option");
}

Options options_read(int argc, char **argv) {
    Options o = {.prompt = "What is a GPU? Answer in two sentences.", .page = USUAL_PAGE, .cache = SPARK_DTYPE_BF16};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            exit(0);
        }
        if (strcmp(argv[i], "--no-graph") == 0) o.no_graph = true;
        else if (strcmp(argv[i], "--raw") == 0) o.raw = true;
        else if (strcmp(argv[i], "--ignore-end") == 0) o.ignore_end = true;
        else if (strcmp(argv[i], "--share-prefix") == 0) o.share = true;
        else if (i + 1 == argc) refuse(argv[i], "is no option, or lacks its value");
        else {
            set(&o, argv[i], argv[i + 1]);
            ++i;
        }
    }
    if (!o.model) refuse("--model", "is missing");
    if (o.share && !o.then) refuse("--share-prefix", "takes a second prompt, --then");
    return o;
}
