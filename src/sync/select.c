/* SPDX-License-Identifier: MIT */
/*
 * Select: waits for one of several operations; exactly one of them happens. A blocking push or pop is a select with
 * one case.
 *
 *     try ──▶ done                            (without joining a list)
 *      │ blocked
 *      ▼
 *     join every list ──▶ try again ───▶ park ──▶ called, expired or withdrawn
 *      ▲                     │ may go             │
 *      └──── leave all ◀─────┴────────────────────┘
 *
 * If the select was called from a rendezvous, the element has been passed and the operation is done. If it was called
 * from any other list, it is that list's heir: it tries again, then resigns, and wakes the next waiter if something
 * is left (I3 of waitlist.c). One word settles a call, so a select is never called from two lists.
 *
 * An operation is carried out either by the select itself while it is in no list, or by the partner in a rendezvous
 * that has settled the select. So two never happen.
 *
 * Order table
 * [X1] wait | load of verdict | acquire | W5 in waitlist.c | the verdict (a passed element comes through the lock, I4 there) | a settled verdict is taken for open
 * [X2] join | store of verdict, before the check of the stop token | seq_cst | S5 in stop.c | that this thread may sleep | a stopped thread sleeps on
 *
 * A stop token settles the verdict as WITHDRAWN, as a deadline does. A stopped select tries once more, as after its
 * deadline, because it may have been called before.
 */
#include <assert.h>

#include "base/plant.h"
#include "port/deadline.h"
#include "port/port.h"
#include "sync/backoff.h"
#include "sync/queue_internal.h"

/* Checks before parking: the first after 2^FIRST pauses, then after twice as many each time, up to 2^(PAUSES - 1),
 * then after each of YIELDS yields. The first gap determines the speed of a busy queue. A thread that checks too soon
 * finds one element, takes the cache line from the other side for it, and checks too soon again. Under the controlled
 * scheduler spinning would only make schedules longer. */
#ifdef CENI_WATCHED
enum { SPIN_FIRST = 0, SPIN_PAUSES = 0, SPIN_YIELDS = 0 };
#else
enum { SPIN_FIRST = 5, SPIN_PAUSES = 8, SPIN_YIELDS = 4 };
#endif

/* The contents of cen_case.reserved while a select runs. */
typedef struct case_standing {
    ceni_place place;
    cen_case *later; /* the next case in the order of the queues' addresses */
    bool joined;
} case_standing;

static_assert(sizeof(case_standing) <= sizeof(((cen_case *)0)->reserved), "a case has room for its standing");

static case_standing *standing_of(cen_case *one)
{
    return (case_standing *)(void *)one->reserved;
}

typedef struct selection {
    cen_case *cases;
    size_t count;
    bool fair;
    cen_case *first; /* in the order of the queues' addresses */
    int64_t moment;  /* the deadline, once it is known */
    cen_deadline deadline;
    bool moment_known;
    ceni_waiter waiter;
    ceni_stop_wait stop;
} selection;

/* ---- Trying ---------------------------------------------------------------------- */

static bool valid(const cen_case *one)
{
    if (!one->queue) return true;
    if (!one->element || (unsigned)one->direction > CEN_POP) return false;
    return one->direction == CEN_POP || one->queue->form != CENI_FORM_SOURCE;
}

/* Try the cases in turn, beginning with `start`, until one is decided. */
static ceni_attempt try_from(selection *s, size_t start, size_t *out)
{
    ceni_attempt worst = CENI_BLOCKED;
    for (size_t i = 0; i < s->count; i++) {
        size_t which = start + i < s->count ? start + i : start + i - s->count;
        cen_case *one = &s->cases[which];
        if (!one->queue) continue;
        ceni_attempt attempt = ceni_queue_attempt(one->queue, one->direction, one->element);
        if (attempt == CENI_IN_BETWEEN) worst = CENI_IN_BETWEEN;
        if (attempt == CENI_IN_BETWEEN || attempt == CENI_BLOCKED) continue;
        *out = which;
        return attempt;
    }
    return worst;
}

/* Choose a start among the cases that may go, each equally likely. A plain rotation would favour the case after a run
 * of blocked cases. */
static size_t fair_start(const selection *s)
{
    size_t ready = 0, chosen = 0;
    for (size_t i = 0; i < s->count; i++) {
        const cen_case *one = &s->cases[i];
        if (!one->queue || !ceni_queue_may(one->queue, one->direction)) continue;
        ready++;
        if (ceni_random() % ready == 0) chosen = i;
    }
    return chosen;
}

static ceni_attempt try_all(selection *s, size_t *out)
{
    return try_from(s, s->fair && s->count > 1 ? fair_start(s) : 0, out);
}

/* ---- Joining and leaving ------------------------------------------------------------ */

static void sort_cases(selection *s)
{
    s->first = NULL;
    for (size_t i = 0; i < s->count; i++) {
        cen_case *one = &s->cases[i], **at = &s->first;
        if (!one->queue) continue;
        while (*at && (uintptr_t)(*at)->queue <= (uintptr_t)one->queue) at = &standing_of(*at)->later;
        standing_of(one)->later = *at;
        standing_of(one)->joined = false;
        *at = one;
    }
}

/* Join one list and check again. BLOCKED: this case allows parking. */
static ceni_attempt join_one(selection *s, cen_case *one)
{
    case_standing *standing = standing_of(one);
    uint32_t number = (uint32_t)(one - s->cases);
    standing->place.heir = false;
    ceni_list_init(&standing->place.link);
    if (one->queue->form == CENI_FORM_MEET) {
        standing->joined = true;
        return ceni_meet_join(one->queue, one->direction, &standing->place, &s->waiter, number, one->element);
    }
    if (ceni_planted(look_before_joining) && ceni_queue_may(one->queue, one->direction)) return CENI_IN_BETWEEN;
    ceni_waitlist_join(ceni_queue_list(one->queue, one->direction), &standing->place, &s->waiter, number, one->element);
    standing->joined = true;
    if (ceni_planted(look_before_joining)) return CENI_BLOCKED;
    return ceni_queue_may(one->queue, one->direction) ? CENI_IN_BETWEEN : CENI_BLOCKED;
}

/* DONE: a rendezvous took place, in case *out. BLOCKED: all lists were joined. */
static ceni_attempt join_all(selection *s, size_t *out)
{
    ceni_store_seq_cst(&s->waiter.verdict, (uint32_t)CENI_VERDICT_OPEN); /* [X2] */
    for (cen_case *one = s->first; one; one = standing_of(one)->later) {
        ceni_attempt joined = join_one(s, one);
        if (joined == CENI_DONE) *out = (size_t)(one - s->cases);
        if (joined != CENI_BLOCKED) return joined;
    }
    return CENI_BLOCKED;
}

/* Leave all lists. Returns the case from whose list this waiter was called as the heir, or NULL. */
static cen_case *leave_all(selection *s)
{
    cen_case *heir_of = NULL;
    for (cen_case *one = s->first; one; one = standing_of(one)->later) {
        case_standing *standing = standing_of(one);
        if (!standing->joined) continue;
        standing->joined = false;
        if (ceni_planted(select_stays_behind) && one != s->first) continue;
        if (ceni_waitlist_leave(ceni_queue_list(one->queue, one->direction), &standing->place)) heir_of = one;
    }
    return heir_of;
}

/* Resign as the heir, and wake the next waiter if something was published meanwhile. */
static void resign(cen_case *one)
{
    ceni_waitlist *list = ceni_queue_list(one->queue, one->direction);
    ceni_waitlist_resign(list);
    if (ceni_planted(resign_without_look)) return;
    if (ceni_queue_may(one->queue, one->direction)) ceni_waitlist_nudge(list);
}

/* ---- Waiting --------------------------------------------------------------------------- */

static int64_t deadline_of(selection *s)
{
    if (s->deadline.ns_ == CEN_NEVER.ns_) return CENI_FOREVER;
    if (!s->moment_known) s->moment = ceni_deadline_moment(s->deadline, ceni_clock_now());
    s->moment_known = true;
    return s->moment;
}

/* The end of the park: the deadline, or the moment when the first source is due. */
static int64_t park_until(selection *s)
{
    int64_t until = deadline_of(s);
    for (cen_case *one = s->first; one; one = standing_of(one)->later) {
        if (one->queue->form != CENI_FORM_SOURCE) continue;
        int64_t due = ceni_source_next(&one->queue->source);
        if (due < until) until = due;
    }
    return until;
}

/* Join all lists, park if all cases allow it, and leave all lists. DONE: a rendezvous took place. Otherwise the
 * caller tries again, and then resigns from the list of *heir_of if that is not NULL. */
static ceni_attempt wait_once(selection *s, size_t *out, cen_case **heir_of)
{
    ceni_attempt joined = join_all(s, out);
    bool stopped = ceni_stop_is_hit(&s->stop) && !ceni_planted(stopped_select_does_not_look);
    if (joined == CENI_BLOCKED && !stopped) ceni_waiter_park(&s->waiter, park_until(s));
    bool withdrawn = ceni_waiter_settle(&s->waiter, CENI_VERDICT_WITHDRAWN);
    *heir_of = leave_all(s);
    if (joined == CENI_DONE) return CENI_DONE;
    uint32_t verdict = ceni_load_acquire(&s->waiter.verdict); /* [X1] */
    if (withdrawn || verdict < CENI_VERDICT_CASE) return CENI_BLOCKED;
    size_t which = verdict - CENI_VERDICT_CASE;
    if (s->cases[which].queue->form != CENI_FORM_MEET) return CENI_BLOCKED;
    *out = which;
    return CENI_DONE;
}

static bool any_may(const selection *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const cen_case *one = &s->cases[i];
        if (one->queue && one->queue->form < CENI_FORM_MEET && ceni_queue_may(one->queue, one->direction)) return true;
    }
    return false;
}

/* Spin: a few checks before parking, further and further apart. The other side often needs only a moment, and a sleep
 * and a wake-up cost as much as a thousand checks. But every check takes the cache line that the other side is
 * writing to. */
static bool worth_a_look(const selection *s)
{
    int first = ceni_cpu_count() > 1 ? SPIN_FIRST : SPIN_PAUSES;
    for (int step = first; step < SPIN_PAUSES + SPIN_YIELDS; step++) {
        if (step < SPIN_PAUSES)
            for (unsigned i = 0; i < 1u << step; i++) ceni_pause();
        else ceni_thread_yield();
        if (any_may(s)) return true;
    }
    return false;
}

static bool expired(selection *s)
{
    return s->deadline.ns_ != CEN_NEVER.ns_ && ceni_clock_now() >= deadline_of(s);
}

static cen_status status_of(ceni_attempt decided)
{
    return decided == CENI_DONE ? CEN_OK : decided == CENI_SHUT ? CEN_CLOSED : CEN_NO_MEMORY;
}

/* The reason to end the wait without an operation; OK: the wait goes on. */
static cen_status end_of_wait(selection *s)
{
    if (ceni_stop_is_hit(&s->stop)) return CEN_INTERRUPTED;
    return expired(s) ? CEN_TIMEOUT : CEN_OK;
}

static cen_status wait_until_done(selection *s, size_t *out)
{
    ceni_backoff backoff = {0};
    cen_case *heir_of = NULL;
    cen_status end = ceni_deadline_is_now(s->deadline) ? CEN_TIMEOUT : CEN_OK;
    sort_cases(s);
    for (;;) {
        ceni_attempt attempt = try_all(s, out);
        bool keeps = (ceni_planted(expired_heir_keeps_role) && end == CEN_TIMEOUT) ||
                     (ceni_planted(stopped_heir_keeps_role) && end == CEN_INTERRUPTED);
        if (heir_of && !keeps) resign(heir_of);
        heir_of = NULL;
        if (attempt != CENI_BLOCKED && attempt != CENI_IN_BETWEEN) return status_of(attempt);
        if (end != CEN_OK) return end;
        if (attempt == CENI_IN_BETWEEN) {
            ceni_backoff_wait(&backoff);
            end = end_of_wait(s);
            continue;
        }
        backoff.step = 0;
        if (!worth_a_look(s) && wait_once(s, out, &heir_of) == CENI_DONE) return CEN_OK;
        end = end_of_wait(s);
    }
}

cen_status ceni_wait_for_any(cen_case *cases, size_t count, cen_deadline deadline, bool fair, cen_stop_token *stop,
                             size_t *out)
{
    selection s = {.cases = cases, .count = count, .fair = fair, .deadline = deadline};
    ceni_waiter_init_thread(&s.waiter);
    cen_status status = ceni_stop_join(&s.stop, stop, &s.waiter.verdict, CENI_VERDICT_OPEN, CENI_VERDICT_WITHDRAWN);
    if (status != CEN_OK) return status;
    status = wait_until_done(&s, out);
    ceni_stop_leave(&s.stop);
    return status;
}

/* ---- The public functions ------------------------------------------------------------------ */

static cen_status checked_select(cen_case *cases, size_t count, cen_deadline deadline, bool fair, cen_stop_token *stop,
                                 size_t *out)
{
    if ((!cases && count) || !out || count > UINT32_MAX - CENI_VERDICT_CASE) return CEN_INVALID;
    deadline = ceni_deadline_or(deadline, CEN_NEVER);
    bool can_end = deadline.ns_ != CEN_NEVER.ns_ || stop;
    for (size_t i = 0; i < count; i++) {
        if (!valid(&cases[i])) return CEN_INVALID;
        can_end = can_end || cases[i].queue;
    }
    if (!can_end) return CEN_INVALID;
    size_t which = 0;
    cen_status status = ceni_wait_for_any(cases, count, deadline, fair, stop, &which);
    bool decided = status == CEN_OK || status == CEN_CLOSED || status == CEN_NO_MEMORY;
    if (decided) *out = which;
    return status;
}

cen_status cen_select(cen_case *cases, size_t count, cen_deadline deadline, size_t *out)
{
    return checked_select(cases, count, deadline, true, NULL, out);
}

cen_status cen_select_stoppable(cen_case *cases, size_t count, cen_deadline deadline, cen_stop_token *stop, size_t *out)
{
    return checked_select(cases, count, deadline, true, stop, out);
}

cen_status cen_select_biased(cen_case *cases, size_t count, cen_deadline deadline, size_t *out)
{
    return checked_select(cases, count, deadline, false, NULL, out);
}

cen_status cen_try_select(cen_case *cases, size_t count, size_t *out)
{
    return checked_select(cases, count, CEN_NOW, true, NULL, out);
}
