/* SPDX-License-Identifier: MIT */
/* A pool from inside. Only the room's own files include this. */
#ifndef CENI_POOL_INSIDE_H
#define CENI_POOL_INSIDE_H

#include <cenote/ask.h>
#include <cenote/pool.h>

#include "pool/gate.h"
#include "pool/line.h"
#include "pool/map.h"
#include "pool/own.h"
#include "pool/slot.h"
#include "record/directory.h"
#include "record/histogram.h"
#include "runtime/runtime.h"

/* Slots that were made together, in one piece of memory with this. They never move. */
typedef struct ceni_chunk {
    /* fixed before it is published */
    uint32_t first, count; /* indexes */
    ceni_slot *slots;
    ceni_map listed; /* any thread: slots worth a look */
    ceni_map vacant; /* under the lock: slots that are EMPTY */
    uint64_t *seen;  /* under the looking lock: words of the first of two readings */
    _Atomic uint64_t *traces; /* CENI_TRACE_ROOM for each slot, by its holder; NULL: the pool notes none */
    struct ceni_chunk *former; /* of those that forks have left behind: the next */
    size_t bytes;
} ceni_chunk;

enum {
    CENI_CHUNKS = 32, /* each beyond the first at least half as large as all before it */
    CENI_POOL_NAME = 32,
    CENI_TRACE_ROOM = CEN_TRACE_MOST + 1, /* the generation it belongs to, and the addresses */
};

/* Numbers that change only under the lock, and so agree with one another. */
typedef struct ceni_pool_tally {
    uint64_t opened, open_failed, adopted, closed, discarded;
    uint64_t waited, served, timed_out, sent_away, failed, shed;
    uint64_t closed_before; /* of those closed: before the pool was, or because they were idle then */
    uint64_t refused, refused_late, tested, test_failed, reset, reset_failed, leaked, reclaimed, expired;
} ceni_pool_tally;

/* What helpers do for a pool whose driver blocks. */
typedef enum ceni_chore {
    CENI_CHORE_OPEN,
    CENI_CHORE_RESET,
    CENI_CHORE_CLOSE,
    CENI_CHORE_TEST,
    CENI_CHORES
} ceni_chore;

/* What an opening changed. */
typedef struct ceni_opening_news {
    bool overdue; /* it goes on, and takes too long */
    bool breaker_opened, breaker_closed;
    uint32_t failures; /* in a row */
} ceni_opening_news;

/* How a call of the driver's ended, which may have gone on after its function returned. */
typedef struct ceni_outcome {
    cen_status status;
    void *object;           /* what was opened */
    const cen_error *said;  /* what else the driver said */
    bool unwanted;          /* nobody wants the object: it came too late */
    bool for_minimum;       /* it was opened though nobody waited for it */
    int64_t began;          /* an opening, on the pool's clock; 0: its slot says when */
} ceni_outcome;

/* How quickly those in line are served, on the pool's clock. */
typedef struct ceni_pace {
    int64_t from;    /* of whoever waits: when the last was served, or the first came */
    int64_t between; /* two servings while somebody waits, on average, the latest counting most; 0: not known yet */
} ceni_pace;

/* How long things took, of all of them or of some. */
typedef struct ceni_times {
    ceni_histogram use;    /* any thread: leases, one in CENI_SAMPLED_ONE_IN, or all with exact_times */
    cen_durations wait;    /* under the pool's lock: takes that had to wait, however that ended */
    cen_durations create;  /* likewise: openings that succeeded */
    uint64_t instant;      /* likewise: takes that did not wait, the most that anybody was told */
} ceni_times;

/* Who listens to a pool, and what it is still to be told. */
typedef struct ceni_listening ceni_listening;

struct cen_pool {
    /* fixed before start; the quick path reads these */
    uint64_t id;    /* never used again by another pool of this process */
    _Atomic uint64_t epoch; /* of the process that made it, or made it anew: then written last of all */
    ceni_line *line;
    ceni_slot *base;     /* the slots of the first chunk */
    _Atomic uint32_t quick_give; /* so many of them have the quick path: all, or none; a setting ... */
    _Atomic uint32_t quick_take; /* ... for each, this one in bytes */
    _Atomic uint32_t quick_check; /* and of a give that asks the driver first; at most one of the two is not none */
    uint32_t mark;       /* the low half of id, never 0: names the pool where a guess will do */
    _Atomic uint32_t hint_at; /* fixed: where a thread's hint for this pool is */
    uint64_t first_note; /* of its first slot: ceni_note(mark, 0) */
    /* fixed before start, or before the epoch was written */
    uint32_t base_count; /* slots of the first chunk: in a pool that never grew, all */
    bool traced; /* options.backtraces */
    cen_runtime *asked; /* options.runtime */
    cen_fork_policy on_fork;
    bool renews; /* the child of a fork makes it anew */
    bool helped; /* the driver blocks, or is done later: helpers open, reset, test and close, or begin to */
    cen_driver driver; /* its argument is what the driver prepared for this pool, if it does */
    void *described;   /* the argument that the program gave */
    cen_driver_calls calls; /* the driver's, those it does not know zero; all zero without one */
    const cen_allocator *allocator;
    char name[CENI_POOL_NAME];
    ceni_entry entry;
    ceni_entry freed_entry; /* while something of the freed pool is out */
    ceni_times *times; /* how long things took; in memory of its own */
    ceni_chunk *former; /* slots of before a fork: kept, so that their leases are told from others */
    _Atomic uint64_t renewer; /* the epoch of the process one of whose threads makes it anew; 0: none */
    /* any thread reads; written under the lock; all from here on is made anew after a fork */
    _Alignas(CENI_LINE) _Atomic uint32_t chunk_count;
    ceni_chunk *chunks[CENI_CHUNKS];
    _Atomic uint32_t max;
    _Atomic uint32_t openable; /* objects that a take may make now, on its own thread */
    _Atomic(cen_runtime *) runtime; /* NULL: nothing needs one yet; written once */
    /* settings that are read off the lock, each by itself */
    _Atomic bool exact_order; /* LIFO or FIFO: idle slots are in `idle` */
    _Atomic bool exact_times;
    _Atomic bool trace_takes;
    _Atomic bool strict; /* nobody is overtaken */
    _Atomic bool by_line; /* that, or the pool is paused: nothing is taken past the line */
    _Atomic int64_t overtake_ns;
    _Atomic int64_t patience; /* a cen_deadline */
    _Atomic int64_t max_uses;
    _Atomic bool fails_self_wait;
    _Atomic uint32_t places;   /* slots in all chunks */
    _Atomic uint64_t shifts;   /* places claimed and vacated, ever */
    _Atomic(ceni_listening *) listening; /* NULL: nobody ever listened */
    /* under the lock */
    uint32_t live;    /* slots that are not EMPTY */
    uint32_t leaving; /* of these, on their way out: they make room, but not yet */
    uint32_t revoked; /* of these, taken away from their holders and not back */
    uint32_t opening; /* of these, OPENING */
    uint32_t overdue; /* of these, for so long that another may be tried beside them */
    uint32_t opening_for_pending;
    bool closed;   /* as the line says too, whom a forked child cannot ask */
    bool freed;    /* the last that goes gives the memory back */
    bool paused;
    cen_pool_options options; /* as they are now, defaults filled in */
    ceni_gate gate;
    ceni_list chores[CENI_CHORES];    /* slots that wait for a helper; none to be opened, those are claimed later */
    uint32_t waiting[CENI_CHORES];    /* how many there are */
    uint32_t busy[CENI_CHORES];       /* such calls of the driver that go on, on helpers or after these have left them */
    uint32_t hired;                   /* errands posted that have not begun */
    uint32_t top_up;                  /* objects to be opened though nobody waits for them ... */
    uint32_t opening_for_minimum;     /* ... and openings of such that are under way */
    uint32_t testing_for_waiters;     /* slots that are tested because somebody waits, and not for too long */
    uint32_t tests_given_up;          /* tests that were cancelled and are not done yet */
    uint32_t hands; /* errands posted or running, alarms set or ringing, calls to be done later: the memory stays */
    _Atomic int64_t alarm_at; /* when the keeper is to come; also read by whoever sets the alarm */
    bool alarm_refused;       /* it was set and nobody was there to ring it: whoever plans next sets it again */
    int64_t next_round;       /* when all slots are to be looked at again */
    int64_t rounds_until;     /* a reload is spread until then: rounds go on ... */
    int64_t rounds_period;    /* ... with this period at most */
    int64_t next_overdue;     /* when the first call of the driver may have taken too long */
    bool shaken;              /* the next round marks all that is idle, however short a time it has been */
    int64_t shaken_at;        /* when that was asked for last; 0: never */
    bool tests_due;           /* more idle ones are to be tested than may be at a time */
    cen_closing *closing;     /* under way, and to be told; NULL: none */
    int64_t closing_at;       /* its deadline */
    struct ceni_patience *patient; /* deadlines of those who ask; NULL: nobody had one yet */
    ceni_alarm alarm;
    ceni_errand errand;
    ceni_list idle; /* exact orders: slots, the next to be lent first */
    bool reordered; /* the order was changed since the pool was made */
    ceni_pool_tally tally;
    ceni_pace pace;
    int64_t wait_told_at; /* when the last that waited was told the news */
    /* any thread, atomically */
    _Atomic int64_t refusal_told_at; /* the same of one that was refused; 0: none was */
    _Atomic uint64_t refusals;       /* takes that were since then */
    ceni_mutex looking; /* one cen_pool_look at a time */
};

/* What a take has got hold of. */
typedef struct ceni_grant {
    ceni_slot *slot;
    uint64_t generation;
    uint32_t index;
    bool stale; /* it was idle for long: to be tested before it is lent */
} ceni_grant;

/* ---- slots.c: chunks, and which slot is which --------------------------------- */

/* Makes room for `count` slots beginning with index `first`. NULL without memory. */
ceni_chunk *ceni_chunk_make(const cen_allocator *allocator, uint32_t first, uint32_t count, bool traces);
void ceni_chunk_free(ceni_chunk *chunk, const cen_allocator *allocator);
void ceni_chunk_publish_locked(cen_pool *pool, ceni_chunk *chunk);

/* How many there are, with all that is in them. */
uint32_t ceni_chunk_count(cen_pool *pool);
uint32_t ceni_place_count(cen_pool *pool);

/* The chunk that has a slot, or NULL if there is no such slot. */
ceni_chunk *ceni_chunk_of(cen_pool *pool, uint32_t index);
ceni_slot *ceni_slot_beyond_base(cen_pool *pool, uint32_t index);

/* The index of what may be a slot of the pool; CENI_NO_INDEX if it is none. */
uint32_t ceni_slot_index(cen_pool *pool, const void *slot);

static inline ceni_slot *ceni_slot_at(cen_pool *pool, uint32_t index)
{
    return __builtin_expect(index < pool->base_count, 1) ? &pool->base[index] : ceni_slot_beyond_base(pool, index);
}

/* What is with a slot that is not the caller's. */
static inline uint64_t ceni_word_at(cen_pool *pool, uint32_t index)
{
    return ceni_slot_word(ceni_slot_at(pool, index));
}

static inline uint64_t ceni_slot_generation(cen_pool *pool, uint32_t index)
{
    return ceni_word_generation(ceni_load_relaxed(&ceni_slot_at(pool, index)->word)); /* the caller's own; carries nothing */
}

/* ---- new.c: what renew.c does too ------------------------------------------------- */

/* A number that no pool of this process or of its parents has or had. */
uint64_t ceni_pool_number(void);

/* Gives a zeroed pool its number, its slots, and its lists. */
void ceni_pool_furnish(cen_pool *pool, uint64_t id, ceni_chunk *chunk);

/* What is in force, by its options; it has a line and a runtime. */
void ceni_pool_set_up(cen_pool *pool);

/* From now on it is in the directory. */
void ceni_pool_enlist(cen_pool *pool);

/* The first round, if there is anything to see to. */
void ceni_pool_start_keeping(cen_pool *pool);

/* ---- renew.c: in the child of a fork ------------------------------------------------ */

/* Whether it is this process': only then may anything else of it be read. */
bool ceni_pool_is_ours(const cen_pool *pool);

/* Makes a pool that is not this process' anew, if it is to be. Errors: FORKED, NO_MEMORY, SYSTEM. */
cen_status ceni_renew(cen_pool *pool, cen_error *error);
cen_status ceni_renew_refuse(const cen_pool *pool, cen_error *error);

/* Whether the slot was one of the pool's before a fork. */
bool ceni_renew_is_former(const cen_pool *pool, const void *slot);

/* Gives the memory of such slots back. */
void ceni_renew_forget(cen_pool *pool);

/* ---- idle.c: idle slots, found, taken and made --------------------------------- */

/* Takes an idle slot; `hint` is looked at first. The second: for one who is not in line. The third: and is no thread
 * that could test it. */
bool ceni_idle_take(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_as_newcomer(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_as_asker(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Only that very one; never in an exact order. */
bool ceni_idle_take_hinted_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Takes one that need not be tested before. If there is none, but one that has to be, `out` has its index and
 * generation, and says that it is stale. */
bool ceni_idle_take_fresh_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Whether there is one. */
bool ceni_idle_any_locked(cen_pool *pool);

/* Makes the slot idle that the caller owns in state `from`, and sees to those
 * in line. False if it is in another state by now, or marked. Otherwise the pool may be
 * gone when it returns. */
bool ceni_idle_offer(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Another order from now on: see idle.c. */
void ceni_idle_reorder_locked(cen_pool *pool);

/* What follows a publication: those in line are seen to, and a pool that is closed or too large takes the slot back. */
void ceni_idle_heed(ceni_line *line, uint64_t id, uint32_t index, uint64_t generation);

/* Only makes it idle: for one who pumps afterwards, and sees to CLOSED and SURPLUS. */
bool ceni_idle_publish_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);
bool ceni_idle_publish(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Makes an idle slot the caller's, in another state; false if it is not idle, or lent again since. */
bool ceni_idle_hold_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state state);

/* Takes an idle slot out of use, to be closed; false if it is not idle, or lent again since. */
bool ceni_idle_withdraw_locked(cen_pool *pool, uint32_t index, uint64_t generation);

/* ---- places.c: EMPTY slots, opening and closing ---------------------------------- */

/* Claims an EMPTY slot, now OPENING, for an object to be made; false if none may be. */
bool ceni_place_claim(cen_pool *pool, uint32_t *index);
bool ceni_place_claim_locked(cen_pool *pool, uint32_t *index);

/* The same for an object that the caller has; false if max are there. */
bool ceni_place_claim_for_adopted_locked(cen_pool *pool, uint32_t *index);

/* Claims one for an opening that somebody else than a take began. */
bool ceni_place_claim_for_helper_locked(cen_pool *pool, uint32_t *index);

/* Opens an object in a claimed place, on this thread, and tells the gate how it
 * went. On failure the place is still claimed. */
cen_status ceni_place_open(cen_pool *pool, uint32_t index, cen_error *error);

/* The two halves of it: the call, and what is noted of its outcome. */
cen_status ceni_place_call_open(cen_pool *pool, void **object, cen_error *error);
void ceni_place_note_opened(cen_pool *pool, uint32_t index, const ceni_outcome *how, cen_error *error);

/* The place is OPENING no more, but not EMPTY: the gate may admit another now, so it ends in the pump. */
void ceni_place_opened_locked(cen_pool *pool, ceni_call *call);

/* Makes what was opened, or adopted, idle; or ends it, if it was marked meanwhile. */
void ceni_place_publish_opened(cen_pool *pool, uint32_t index, uint64_t generation);

/* How many more openings may begin now, whoever makes them. */
uint32_t ceni_place_room_locked(const cen_pool *pool);

/* A slot has become CLOSING; the second, one whose object was revoked. */
void ceni_revoked_is_back(cen_pool *pool);
void ceni_place_leaves_locked(cen_pool *pool);

/* Makes the slot that is the caller's in state `from` EMPTY, and drops the lock
 * without telling anybody in line: for one who pumps afterwards. */
void ceni_place_vacate_quietly_locked(cen_pool *pool, uint32_t index, ceni_slot_state from);

/* The same, and tells those in line. Both, at the end of a freed pool, give its
 * memory back: the pool may be gone afterwards. */
void ceni_place_vacate_locked(cen_pool *pool, uint32_t index, ceni_slot_state from);

/* Closes the object of a slot in state CLOSING that leaves, and vacates it: on a
 * helper if the driver blocks, otherwise on this thread. `why` is for the event stream. */
void ceni_place_end(cen_pool *pool, uint32_t index, const char *why);

/* The same on this thread, whatever the driver; abandoned: without a word to whoever is at the other end. */
void ceni_place_end_here(cen_pool *pool, uint32_t index, bool abandoned);

/* Ends an object whose slot is CLOSING, on this thread, and pumps nothing: its caller does. */
void ceni_place_end_quietly(cen_pool *pool, uint32_t index, const char *why);

/* What follows when the driver has closed the object. */
void ceni_place_ended(cen_pool *pool, uint32_t index);

/* Ends the slot that is the caller's in state `from`, whatever its mark; false if it is in another by now. */
bool ceni_place_end_from(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from, const char *why);

/* Makes the slot that is the caller's in state `from` idle, or ends it if it is
 * marked. False if it is in another state by now. The pool may be gone then. */
bool ceni_place_return(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Brings openable and SURPLUS up to date after live or max changed, or the pool was closed. */
void ceni_places_counted_locked(cen_pool *pool);

/* Turns a claimed place with its new object into a lease. */
void ceni_place_lend(cen_pool *pool, uint32_t index, ceni_grant *out);

/* The end: the driver's fini, and all memory is given back. The second: only memory, in a forked child. */
void ceni_pool_release(cen_pool *pool);
void ceni_pool_release_memory(cen_pool *pool);

/* The driver's functions and visitors are called between these. */
struct ceni_callout {
    uint64_t pool_id;
    const struct ceni_callout *outer; /* in which it happens */
    int cancel;
};
void ceni_callout_begin(ceni_callout *callout, const cen_pool *pool);
void ceni_callout_end(const ceni_callout *callout);
bool ceni_callout_inside(const cen_pool *pool);

/* ---- hands.c: what keeps a pool's memory, and letting go ---------------------------- */

/* The last hand of a freed, empty pool gives the memory back. Drops the lock. */
void ceni_hand_drop_locked(cen_pool *pool);

/* Sets the alarm to the moment that was planned, which others may be changing; has a hand, and drops it. */
void ceni_hand_alarm(cen_pool *pool);

/* Posts so many errands; each has a hand. */
void ceni_hand_hire(cen_pool *pool, uint32_t count);

/* ---- chores.c: what helpers do --------------------------------------------------------- */

void ceni_chores_init(cen_pool *pool);

/* Writes into `call` how many helpers there is work for. Every event that makes work ends here, or in the pump. */
void ceni_chores_plan_locked(cen_pool *pool, ceni_call *call);

/* Somebody who does not wait would like an object: one is opened, if that may be. */
void ceni_chores_wish(cen_pool *pool);

/* Does what is to be done, on this thread, with a hand; drops the lock meanwhile. */
void ceni_chores_work_locked(cen_pool *pool);

/* Queues a slot, in the state that the chore needs; plan afterwards. */
void ceni_chores_add_locked(cen_pool *pool, ceni_chore chore, ceni_slot *slot);

/* Checks what was given, RESETTING by now, and makes it idle, resets or ends it. */
void ceni_chores_check(cen_pool *pool, uint32_t index, uint64_t generation);

/* What follows when the driver has said in which condition it is. */
void ceni_chores_checked(cen_pool *pool, uint32_t index, uint64_t generation, cen_condition condition);

/* Tests a slot that is TESTING, here or on a helper; then it is idle, or ends. */
void ceni_chores_test(cen_pool *pool, uint32_t index);

/* Whether a test that is queued now can begin at once: if the driver blocks, whether a helper is left for it. */
bool ceni_chores_may_test_locked(const cen_pool *pool);

/* Nobody waits any longer for the test of that slot: true if somebody did. */
bool ceni_chores_unwant_locked(cen_pool *pool, ceni_slot *slot);

/* Tests an object on this thread. */
bool ceni_chores_works(cen_pool *pool, ceni_slot *slot);

/* The call with that slot is over: what follows, whoever made it, and however long ago. The last: another may begin. */
void ceni_chores_follow(cen_pool *pool, ceni_chore chore, uint32_t index, const ceni_outcome *how);
void ceni_chores_replan(cen_pool *pool, ceni_chore done);

/* ---- trust.c: tests for who cannot test ------------------------------------------------------ */

/* Whether what was idle for long must be tested before it is handed to the first in line: a thread can do it itself,
 * if the driver lets it. */
bool ceni_trust_needs_test(const cen_pool *pool, bool pending);

/* For one who cannot test: takes what is idle and need not be tested. If there are only others, one of them is put to
 * the test, unless as many are as wait, and newcomers; whoever waits gets it when it has passed. */
bool ceni_trust_take_locked(cen_pool *pool, uint32_t hint, uint32_t newcomers, ceni_grant *out, ceni_call *call);

/* One was found broken, or failed its test: what is idle now may be, too, and is tested before it is lent. */
void ceni_trust_shaken(cen_pool *pool);

/* Tests a slot that the pump has put to the test, on this thread. Its caller pumps again. */
void ceni_trust_test_for_pending(cen_pool *pool, uint32_t index);

/* ---- opening.c: how openings went ----------------------------------------------------------- */

/* The opening in that place has ended, or, for the second, takes too long: the gate is told, of each once, and
 * how it changed is answered for the event stream. */
ceni_opening_news ceni_opening_ended_locked(cen_pool *pool, uint32_t index, int64_t began, const ceni_outcome *how,
                                            const cen_error *why);
ceni_opening_news ceni_opening_overdue_locked(cen_pool *pool, uint32_t index, const cen_error *why);

/* Tells the event stream how an opening went. */
void ceni_opening_tell(cen_pool *pool, uint32_t index, cen_status status, ceni_opening_news news, const cen_error *why);

/* An object has been opened in a claimed place: what is noted about it. */
void ceni_opening_done(cen_pool *pool, ceni_slot *slot);

/* A place was claimed for an opening, and counts. */
void ceni_opening_begins_locked(cen_pool *pool);

/* Lets one more be tried, if its moment has come: true then. */
bool ceni_opening_pass_time_locked(cen_pool *pool, int64_t now);

/* Whether nothing will come but what is opened, and that fails, and one who came then, with that deadline, both on the
 * pool's clock, has no time left for another try: it need not wait. */
bool ceni_opening_is_vain_locked(const cen_pool *pool, int64_t came, int64_t deadline);

/* One in line of whom that is true; NULL if there is none. */
ceni_pool_waiter *ceni_opening_vain_waiter_locked(const cen_pool *pool);

/* When it will be true of the next of them; CENI_FOREVER if it will not. */
int64_t ceni_opening_hope_ends_locked(const cen_pool *pool);

/* ---- later.c: calls that are done later --------------------------------------------------- */

/* Whether the driver does that later. */
bool ceni_later_does(const cen_pool *pool, ceni_chore chore);

/* Issues a ticket for the chore that was picked, with a hand on the pool. */
cen_ticket ceni_later_issue_locked(cen_pool *pool, ceni_chore chore, uint32_t index, bool for_minimum);

/* Calls the driver's start. The slot is not the caller's any more. */
void ceni_later_start(cen_pool *pool, ceni_chore chore, uint32_t index, cen_ticket ticket);

/* Nobody wants what the call with that slot will bring: false if there is none, or it has been said before. The second
 * tells the driver, with no lock held, by one who keeps the pool. */
bool ceni_later_withdraw_locked(cen_pool *pool, uint32_t index, cen_ticket *out);
void ceni_later_cancel(cen_pool *pool, cen_ticket ticket);

/* The pool is closed: the same for all that open, test or reset. */
void ceni_later_cancel_all(cen_pool *pool);

/* What a driver has, in either form. */
static inline bool ceni_pool_opens(const cen_pool *pool)
{
    return pool->calls.open || pool->calls.open_start;
}

static inline bool ceni_pool_tests(const cen_pool *pool)
{
    return pool->calls.test || pool->calls.test_start;
}

static inline bool ceni_calls_are_helped(const cen_driver_calls *calls)
{
    return calls->blocks || calls->open_start || calls->reset_start || calls->test_start || calls->close_start;
}

/* ---- keeper.c: rounds ------------------------------------------------------------------- */

void ceni_keeper_init(cen_pool *pool);

/* Plans when the keeper is to come next, and writes it into `call`. */
void ceni_keeper_plan_locked(cen_pool *pool, ceni_call *call);

/* After a time of calm an object is new, or out again: rounds go on. */
void ceni_keeper_nudge(cen_pool *pool);

/* Takes the alarm back, if it has not rung: the pool is closed. */
void ceni_keeper_retire(cen_pool *pool);

/* How long the slot has been seen with that word, on the pool's clock; 0 the first time. (look.c) */
int64_t ceni_slot_age(cen_pool *pool, ceni_slot *slot, uint64_t word);

/* Fills in what one slot has; false if it has no object to show. (look.c) */
bool ceni_slot_holding(cen_pool *pool, uint32_t index, cen_holding *out);

/* One round over all slots, on this thread. */
void ceni_keeper_round(cen_pool *pool);

/* ---- new.c: the runtime, if something needs one ------------------------------------------- */

/* Errors: NO_MEMORY, SYSTEM. */
cen_status ceni_pool_need_runtime(cen_pool *pool);

/* The same, and its alarm will ring: for one who promises to keep a deadline. */
cen_status ceni_pool_need_timekeeper(cen_pool *pool);

/* Whether rounds, back-off or helpers may be needed with these options. */
bool ceni_keeper_is_needed(const cen_pool *pool, const cen_pool_options *options);

/* ---- settings.c --------------------------------------------------------------------------- */

/* Checks options and fills in defaults; `call` begins the text of an error. */
cen_status ceni_settings_check(const cen_pool_options *given, cen_pool_options *filled, cen_driver_calls *calls,
                               const char *call, cen_error *error);

/* Sets another max and, unless it is NULL, all other options, in one step. (resize.c) */
cen_status ceni_pool_resize(cen_pool *pool, uint32_t max, const cen_pool_options *options, cen_error *error);

/* Puts all but max in force; whoever calls this pumps. */
void ceni_settings_take_locked(cen_pool *pool, const cen_pool_options *options);

/* What the quick path reads, by what is set now. */
void ceni_settings_apply_locked(cen_pool *pool);

/* ---- events.c ------------------------------------------------------------------------------- */

/* Tells whoever listens, and never waits for it. With no lock held, by one who
 * keeps the pool. `event` has kind and what else is known; the rest is filled
 * in. The text is made as by printf, after the pool's name. */
void ceni_event_tell(cen_pool *pool, cen_event event, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Tries again what no thread could be had for. */
void ceni_event_resume(cen_pool *pool);

/* The pool is being freed: tells what is still to be told, on this thread, and nobody listens any more. */
void ceni_event_finish(cen_pool *pool);

/* Gives the memory back; also in a forked child. */
void ceni_event_end(cen_pool *pool);

/* ---- owners.c ------------------------------------------------------------------------------- */

/* What the pools say at the seam of owners. */
extern const ceni_owner_calls ceni_owner_of_pools;

/* "thread" or "task", and its number, for a text. */
static inline const char *ceni_owner_word(uint64_t owner)
{
    return owner & CENI_OWNER_TASK ? "task" : "thread";
}

static inline unsigned long long ceni_owner_figure(uint64_t owner)
{
    return owner & ~CENI_OWNER_TASK;
}

/* The calling thread has taken something for the first time: when it ends, what it holds is taken back. */
void ceni_owner_arm(void);

/* The lease outlives its owner. */
cen_status ceni_owner_detach(cen_pool *pool, uint32_t index, uint64_t generation);

/* Whether the lease was taken back from an owner that has ended, and its object is to be tested. */
bool ceni_owner_has_ended(ceni_slot *slot, uint64_t generation);

/* Whether all objects that the pool may have are held by that owner. */
bool ceni_owner_has_all(cen_pool *pool, uint64_t owner);

/* ---- trace.c -------------------------------------------------------------------------------- */

/* Notes from where the calling thread came, beginning with the return address `from`, if the pool has room for it. */
void ceni_trace_note(cen_pool *pool, const cen_lease *lease, const void *from);

/* Fills in the trace of the lease that `out` shows, if there is one. */
void ceni_trace_read(cen_pool *pool, uint32_t index, cen_holding *out);

/* ---- admission.c: who may join the line -------------------------------------------------- */

/* Whether a take may go on, and if not: which rule says so, if one does, when to try again, and, of a limit that was
 * reached, how many there were and may be. */
typedef struct ceni_verdict {
    cen_status status;
    cen_rule rule;
    int64_t retry_after_ns;
    int64_t current, max;
} ceni_verdict;

/* The one place where it is decided whether a waiter, thread or pending, may
 * join. `now` is ceni_clock_now(); `moment` its deadline on the pool's clock,
 * CENI_FOREVER without one. What is refused is counted here. */
ceni_verdict ceni_admit_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now, int64_t moment);

/* What the pool's clock shows at that moment of the system's. */
int64_t ceni_pool_moment(const cen_pool *pool, int64_t now);

/* Somebody waits from now on, or begins to be served again; somebody was served. */
void ceni_pace_begin_locked(cen_pool *pool, int64_t now);
void ceni_pace_served_locked(cen_pool *pool, int64_t now);

/* How long one that comes now would wait until it is served; 0 if nothing is known. */
int64_t ceni_pace_estimate_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now);

/* In which time it is worth while to try again what nothing can be opened for. */
int64_t ceni_retry_opening_locked(const cen_pool *pool);

/* Whether the first in line, for whom something is there, is to be sent away instead. */
bool ceni_shedding_is_due_locked(cen_pool *pool, ceni_call *call);

/* One was served, or left; what that means for its class. */
void ceni_shedding_served_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now, ceni_call *call);
void ceni_shedding_left_locked(cen_pool *pool, const ceni_pool_waiter *waiter, ceni_call *call);

/* Nothing is shed any more: it was switched off. */
void ceni_shedding_stop_locked(cen_pool *pool);
bool ceni_shedding_is_active_locked(const cen_pool *pool);

/* Tells the event stream; drops the hands. */
void ceni_shedding_tell(cen_pool *pool, const ceni_call *call);

/* ---- explain.c ------------------------------------------------------------------------------ */

/* The text of a take that got nothing: one that a rule refused, and any other. */
cen_status ceni_explain_refusal(cen_pool *pool, ceni_verdict verdict, int64_t waited_ns, uint64_t owner, cen_error *error);
cen_status ceni_explain_failure(cen_pool *pool, cen_status status, int64_t waited_ns, uint64_t owner, cen_error *error);

/* ---- close.c: the parts of a close ---------------------------------------------------------- */

/* Marks the pool closed; false if it was before. True: the caller has a hand. */
bool ceni_close_mark(cen_pool *pool);

/* Sends those who wait away and closes what is idle; later what is still out is revoked. */
void ceni_close_begin(cen_pool *pool, cen_close_report *report);
void ceni_close_revoke_all(cen_pool *pool);

/* Fills in what became of the rest; OK if nothing is left, else TIMEOUT with its text. */
void ceni_close_count_locked(const cen_pool *pool, cen_close_report *report);
cen_status ceni_close_answer(const cen_pool *pool, const cen_close_report *report, cen_error *error);

/* ---- outcome.c: gives and closes that are told when they are over ----------------------------- */

/* Who is to be told about what follows a give, if anybody: the caller owns the slot, and tells after it has let go of it.
 * The last only writes why it failed, while the pool's name is there: completing it is left to the caller. */
cen_future *ceni_giving_claim(ceni_slot *slot, uint64_t generation);
void ceni_giving_succeed(cen_future *giving);
void ceni_giving_fail(cen_future *giving, const char *name, const char *why);

/* The close that is under way, if nobody has taken it before; it has a hand, which tell drops. */
cen_closing *ceni_closing_claim_locked(cen_pool *pool);
void ceni_closing_tell(cen_pool *pool, cen_closing *closing);

/* If its deadline has come, what is out is revoked, and it is told. */
void ceni_closing_pass(cen_pool *pool, int64_t now);

/* ---- patience.c: the deadlines of those who ask -------------------------------------------- */

/* What keeps deadlines is there afterwards. Errors: NO_MEMORY, SYSTEM. */
cen_status ceni_patience_need(cen_pool *pool);

/* The waiter has joined, or has been taken out of the line. */
void ceni_patience_set_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment);
void ceni_patience_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter);

/* When the next deadline passes, and what is done then: those who asked are taken out and put into `call`. Pump afterwards. */
int64_t ceni_patience_next_locked(const cen_pool *pool);
void ceni_patience_pass_locked(cen_pool *pool, int64_t now, ceni_call *call);

/* Gives the memory back. */
void ceni_patience_end(cen_pool *pool);

/* ---- pending.c -------------------------------------------------------------------- */

/* Opens an object, in the claimed place, for whoever is first in line. */
void ceni_pending_open(cen_pool *pool, uint32_t index);

/* ---- take.c ----------------------------------------------------------------------- */

/* Writes down who holds a slot, for those who list holders. */
void ceni_slot_note(const cen_pool *pool, ceni_slot *slot, uint64_t generation, uint64_t owner, const char *where);

/* A give. If something follows it that may take its time, `giving` is told when that is over, and *kept is true;
 * NULL: nobody is. */
cen_status ceni_give_noting(cen_lease *lease, cen_future *giving, bool *kept);

/* Opens an object in the claimed place of the grant, on this thread, and lends it. If the pool was closed meanwhile it
 * is closed again. `waited`: the one it is for was counted as served. */
cen_status ceni_take_open(cen_pool *pool, ceni_grant *grant, bool waited, cen_error *error);

/* An object that close had taken away comes back; false if it had not. The pool may be gone then. */
bool ceni_slot_take_back(cen_pool *pool, uint32_t index, uint64_t generation);

/* Takes the object away from its holder, if it is held: true then. (close.c) */
bool ceni_slot_revoke(cen_pool *pool, uint32_t index, uint64_t generation);

/* NULL if nothing needed one yet. One that comes later has the same clock. */
static inline cen_runtime *ceni_pool_runtime(const cen_pool *pool)
{
    return ceni_setting(&((cen_pool *)(uintptr_t)pool)->runtime);
}

static inline int64_t ceni_pool_now(const cen_pool *pool)
{
    return cen_runtime_now(ceni_pool_runtime(pool));
}

static inline bool ceni_pool_has(const _Atomic bool *setting)
{
    return ceni_setting((_Atomic bool *)(uintptr_t)setting);
}

/* ---- times.c: how long things took ----------------------------------------------------- */

/* The pool's record, made with it; NULL without memory. The second: made anew in the child of a fork. */
ceni_times *ceni_times_make(const cen_allocator *allocator);
void ceni_times_renew(ceni_times *times);
void ceni_times_free(ceni_times *times, const cen_allocator *allocator);

/* Whether it is noted when a lease begins, and taken how long it was when it ends. */
static inline bool ceni_use_is_timed(const cen_pool *pool, uint64_t generation)
{
    return ceni_pool_has(&pool->exact_times) || ceni_word_is_sampled(ceni_word(generation, CENI_HELD | CENI_LISTED));
}

/* The lease has ended, in whatever way, and its slot is the caller's: how long it was is noted, if it is one of those. */
void ceni_use_ends(cen_pool *pool, ceni_slot *slot, uint64_t generation);

/* Others are counted from now on: what was counted so far is forgotten. */
void ceni_use_begins_anew(cen_pool *pool);

/* As cen_thing_durations; the pool is an object of the directory. */
bool ceni_times_durations(const void *object, size_t index, cen_timing *timing, cen_durations *out);

/* ---- tell.c: what the news of the process hear ------------------------------------------ */

/* Whether anything is told at all. */
#ifdef CENI_WATCHED
extern bool ceni_pool_tells; /* false, unless a test asks for it */
#else
#define ceni_pool_tells true
#endif

void ceni_tell_event(const cen_pool *pool, const cen_event *event, const char *text);

/* A waiter is served; one that asked has waited for all of its time. */
void ceni_tell_waited_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now);
void ceni_tell_expired_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now);

/* As ceni_explain_refusal, and tells it. */
cen_status ceni_tell_refusal(cen_pool *pool, ceni_verdict verdict, int64_t waited_ns, uint64_t owner, cen_error *error);

/* A lease begins; one has ended, after so long. */
void ceni_tell_taken(const cen_pool *pool, uint32_t index, const char *where);
void ceni_tell_given(const cen_pool *pool, int64_t held_ns, const char *where);

/* ---- thing.c, sketch.c: the pool as those see it who watch ------------------------------ */

/* Fills in its entry in the directory, which it has not joined. */
void ceni_pool_describe(cen_pool *pool);

/* As cen_thing_sketch. */
void ceni_pool_sketch(const void *object, const cen_sketch *sketch, size_t most);

/* Retires a slot that was just made idle in a pool that is closed or has too
 * many; false if it is not to be retired, or not idle any more. */
bool ceni_pool_retire(ceni_line *line, uint64_t pool_id, uint32_t index, uint64_t generation);

/* Errors that several calls have. Check: INVALID, FORKED, or OK. */
cen_status ceni_pool_check(const cen_pool *pool, const char *call, cen_error *error);
cen_status ceni_pool_is_closed(const char *name, cen_error *error);
cen_status ceni_pool_misuse(const cen_pool *pool, const char *what, cen_error *error);

/* ---- wait.c ------------------------------------------------------------------------- */

/* One look: an idle slot, or a claimed place for a new object (out->slot is NULL then). */
bool ceni_pool_find(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Waits in line until `moment`. OK: something was found or granted. After CLOSED
 * the pool may be gone; DRIVER: what the last opening said. */
ceni_verdict ceni_pool_wait(cen_pool *pool, cen_priority priority, int64_t moment, const char *where, ceni_grant *out);

#endif
