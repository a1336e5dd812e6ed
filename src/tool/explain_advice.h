/* SPDX-License-Identifier: MIT */
/* What a take of a pool would meet now, and what to do about it. Pure. */
#ifndef CENOTE_TOOL_EXPLAIN_ADVICE_H
#define CENOTE_TOOL_EXPLAIN_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/model.h"

typedef enum explain_verdict {
    VERDICT_WELL = 0, /* it finds an object, or makes one */
    VERDICT_WAITS,    /* it would wait */
    VERDICT_FAILS,    /* it would be refused, or could not be served at all */
} explain_verdict;

explain_verdict explain_judge(const model_pool *pool);

/* One sentence. */
void explain_advise(const model *m, const model_pool *pool, char *text, size_t room);

#endif
