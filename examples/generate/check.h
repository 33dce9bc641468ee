/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a model on a device with a reference that another implementation has written. */
#ifndef GENERATE_CHECK_H_
#define GENERATE_CHECK_H_

#include "model.h"
#include "tokenizer.h"

/* The reference is text, a fact a line, and # comments:
 *
 *     bound E                  no logit may be further off
 *     tie G                    two logits that are nearer to each other may change places
 *     prompt TEXT              the text as it is encoded; bytes may stand as \xHH
 *     ids ID...                its tokens
 *     logit ID VALUE           some of the logits after the prompt
 *     token ID VALUE ID VALUE  for each step: the largest logit, and the one after it
 *
 * Where a step takes the second token at such a near tie, the check shows the two and goes on with the first. True if
 * everything agrees. */
bool check_run(Model *model, const Tokenizer *tokenizer, const char *path, int64_t prompts, int64_t tokens, bool replay,
               Progress progress, Failure *failure);

#endif
