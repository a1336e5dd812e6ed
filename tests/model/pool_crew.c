/* SPDX-License-Identifier: MIT */
#include "model/pool_crew.h"

#include "base/atomic.h"
#include "support/world.h"

enum { LOG = 8, NOTHING_TO_DO = 0, TASK = 1, GO_HOME = 2 };

typedef struct member {
    ceni_thread thread;
    _Atomic uint32_t word; /* a futex */
    task task;
    outcome log[LOG];
    _Atomic uint32_t written; /* whoever knows of an outcome comes after what led to it */
    uint32_t read;
    uint64_t number;
} member;

static member members[FIBERS + 1];

static void leave_outcome(member *m, outcome o)
{
    uint32_t written = ceni_load_relaxed(&m->written);
    expect(written - m->read < LOG);
    m->log[written % LOG] = o;
    ceni_store_release(&m->written, written + 1);
}

static void do_task(member *m)
{
    task what = m->task;
    cen_lease lease = {0};
    cen_status status = cen_pool_take_at(what.pool, what.deadline, &lease, NULL, what.where);
    leave_outcome(m, outcome_of_take(status, &lease));
    if (status != CEN_OK || what.hold_ns == KEEP) return;
    ceni_sleep_until(moment_of(cen_clock() + what.hold_ns, WHEN_GIVES + (int)(m - members)));
    cen_lease before = lease;
    status = what.discards ? cen_pool_discard(&lease) : cen_pool_give(&lease);
    leave_outcome(m, (outcome){.status = status, .lease = before, .moment = cen_clock()});
}

static void work(void *argument)
{
    member *m = argument;
    m->number = cen_thread_number();
    for (;;) {
        uint32_t word = ceni_load_acquire(&m->word);
        if (word == GO_HOME) return;
        if (word == TASK) {
            do_task(m);
            ceni_store_release(&m->word, NOTHING_TO_DO);
        } else {
            ceni_futex_wait(&m->word, NOTHING_TO_DO, CENI_FOREVER);
        }
    }
}

static void tell(member *m, uint32_t word)
{
    ceni_store_release(&m->word, word);
    ceni_futex_wake(&m->word, 1);
}

void crew_start(void)
{
    for (int i = 1; i <= FIBERS; i++) {
        members[i] = (member){.read = 0};
        members[i].thread = start("fiber", work, &members[i]);
    }
    ceni_world_settle();
}

void crew_end(void)
{
    for (int i = 1; i <= FIBERS; i++) tell(&members[i], GO_HOME);
    for (int i = 1; i <= FIBERS; i++) join(members[i].thread);
}

void crew_send(int fiber, task what)
{
    members[fiber].task = what;
    tell(&members[fiber], TASK);
}

bool crew_has_outcome(int fiber)
{
    return members[fiber].read < ceni_load_acquire(&members[fiber].written);
}

const outcome *crew_outcome(int fiber)
{
    member *m = &members[fiber];
    return crew_has_outcome(fiber) ? &m->log[m->read++ % LOG] : NULL;
}

uint64_t crew_number(int fiber)
{
    return members[fiber].number;
}
