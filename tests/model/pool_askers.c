/* SPDX-License-Identifier: MIT */
#include "model/pool_askers.h"

#include <cenote/inbox.h>
#include <cenote/pool_async.h>

#include "support/world.h"

typedef struct record {
    cen_take_op take;
    outcome end;
    int64_t told_at;
    unsigned told; /* calls of done */
    bool by_inbox;
    bool asked, shown; /* since it was made ready; and its end was shown to the model */
    bool cancelled;
} record;

static record records[ASKERS];
static cen_inbox *inbox;
static int posted[ASKERS], ran[ASKERS]; /* who is in the inbox by the model, and who was told there, in order */
static unsigned posted_count, ran_count;

static record *record_of(int who)
{
    return &records[who - FIBERS - 1];
}

static void hear(cen_take_op *take)
{
    record *m = (record *)(void *)take;
    m->told++;
    m->told_at = cen_clock();
    if (m->by_inbox) ran[ran_count++ % ASKERS] = FIBERS + 1 + (int)(m - records);
}

void askers_start(void)
{
    for (int i = 0; i < ASKERS; i++) records[i] = (record){.told = 0};
    posted_count = ran_count = 0;
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
}

void askers_end(void)
{
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

bool asker_is_free(int who)
{
    const record *m = record_of(who);
    return !m->asked || m->cancelled || m->told > 0;
}

cen_status asker_asks(int who, cen_pool *pool, cen_deadline deadline, bool by_inbox, const char *where)
{
    record *m = record_of(who);
    *m = (record){.by_inbox = by_inbox, .asked = true};
    cen_take_op_init(&m->take, hear, by_inbox ? cen_inbox_executor(inbox) : cen_inline());
    return cen_pool_take_async_at(pool, deadline, &m->take, where);
}

bool asker_cancels(int who)
{
    record *m = record_of(who);
    m->cancelled = cen_future_cancel(&m->take.future) && m->asked;
    return m->cancelled;
}

bool asker_has_outcome(int who)
{
    const record *m = record_of(who);
    return m->asked && !m->shown && cen_future_is_done(&m->take.future);
}

const outcome *asker_outcome(int who, int64_t now)
{
    record *m = record_of(who);
    if (!asker_has_outcome(who)) return NULL;
    m->shown = true;
    m->end = outcome_of_take(m->take.future.status, &m->take.lease);
    m->end.moment = m->by_inbox ? now : m->told_at;
    if (m->by_inbox) posted[posted_count++] = who;
    return &m->end;
}

const char *askers_poll(unsigned most)
{
    unsigned expected = most > 0 && most < posted_count ? most : posted_count;
    ran_count = 0;
    size_t count = cen_inbox_poll(inbox, most);
    /* With a limit it may stop where an earlier poll had stopped. */
    bool few = most > 0 && count > 0 && count < expected;
    if ((count != expected && !few) || ran_count != count)
        return wrong("%zu asks were told by the inbox, the model says %u", count, expected);
    expected = (unsigned)count;
    for (unsigned i = 0; i < expected; i++) {
        if (ran[i] != posted[i]) return wrong("actor %d was told in the turn of actor %d", ran[i], posted[i]);
        if (record_of(ran[i])->told != 1) return wrong("actor %d was told %u times", ran[i], record_of(ran[i])->told);
    }
    posted_count -= expected;
    for (unsigned i = 0; i < posted_count; i++) posted[i] = posted[i + expected];
    for (int i = 0; i < ASKERS; i++)
        if (records[i].told + records[i].cancelled > 1)
            return wrong("actor %d was told more than once", FIBERS + 1 + i);
    return NULL;
}
