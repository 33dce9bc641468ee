/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of spark-generate. */
#ifndef GENERATE_OPTIONS_H_
#define GENERATE_OPTIONS_H_

#include "model.h"

typedef struct Options {
    const char *model, *prompt, *system, *check, *json;
    const char *then;   /* another prompt, or NULL */
    int64_t max_tokens; /* 0: the usual number */
    int64_t context;    /* 0: what prompt and answer need */
    int64_t prompts;    /* of a check; 0 = all */
    int64_t page;       /* tokens of a page of the cache */
    spark_dtype cache;  /* its type */
    Sampling sampling;
    bool share; /* pages of what both prompts begin with */
    bool no_graph, raw, ignore_end;
} Options;

/* Ends the program after --help, and after what it does not understand. */
Options options_read(int argc, char **argv);

#endif
