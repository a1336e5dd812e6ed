/* SPDX-License-Identifier: MIT */
/*
 * Those who ask and do not wait: takes that main asks for, and that are told
 * inline, by whichever thread serves them, or through an inbox that main polls.
 */
#ifndef TESTS_MODEL_POOL_ASKERS_H
#define TESTS_MODEL_POOL_ASKERS_H

#include "model/pool_twin.h"

void askers_start(void);
void askers_end(void);

/* Whether an actor is one of these. */
static inline bool is_asker(int who)
{
    return who > FIBERS;
}

/* Asks; `inbox`: it is told there. Only if asker_is_free. */
cen_status asker_asks(int who, cen_pool *pool, cen_deadline deadline, bool inbox, const char *where);
bool asker_is_free(int who);

/* What the system answers. */
bool asker_cancels(int who);

/* How it ended, once: NULL if it has not, or was asked for before. `now` is the moment of one that an inbox tells. */
const outcome *asker_outcome(int who, int64_t now);
bool asker_has_outcome(int who);

/* Polls the inbox, and compares what ran with what asker_outcome has shown to be in it, in that order. */
const char *askers_poll(unsigned most);

#endif
