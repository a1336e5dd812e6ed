/* SPDX-License-Identifier: MIT */
/* What a take of a pool would encounter now, and what to do about it. Pure functions. */
#ifndef CENOTE_TOOL_EXPLAIN_ADVICE_H
#define CENOTE_TOOL_EXPLAIN_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/model.h"

typedef enum explain_verdict {
    VERDICT_WELL = 0, /* it finds an object, or opens one */
    VERDICT_WAITS,    /* it would wait */
    VERDICT_FAILS,    /* it would be refused, or never be served */
} explain_verdict;

explain_verdict explain_judge(const model_pool *pool);

/* Write the advice, one sentence. */
void explain_advise(const model *m, const model_pool *pool, char *text, size_t room);

#endif
