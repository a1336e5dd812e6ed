/* SPDX-License-Identifier: MIT */
/* What a pool is made of. */
#ifndef CENI_POOL_POOL_H
#define CENI_POOL_POOL_H

#include <cenote/pool.h>
#include <cenote/pool_async.h>

#include "pool/gate.h"
#include "pool/waiters.h"
#include "pool/map.h"
#include "pool/own.h"
#include "pool/slot.h"
#include "port/eventcount.h"
#include "record/compact.h"
#include "record/directory.h"
#include "runtime/runtime.h"

/* Slots that were made together, in one piece of memory with this. They never move. */
/* What chunks have beside their slots: room for backtraces (options.backtraces), for identities (the driver's identify). */
typedef struct ceni_chunk_extras {
    bool traces, identities;
} ceni_chunk_extras;

typedef struct ceni_chunk {
    /* fixed before it is published */
    uint32_t first, count; /* indexes */
    ceni_slot *slots;
    ceni_map listed;       /* any thread: slots worth a look */
    ceni_map vacant;       /* under the lock: slots that are EMPTY */
    ceni_map filled;       /* changed under the lock, read by any thread: slots that are not EMPTY (visit.c) */
    uint64_t *seen;        /* under the looking lock: words of the first of two readings */
    uint64_t *seen_filled; /* likewise: level 0 of `filled` between the two */
    /* under the lock: blocks of slots with one that was not EMPTY since the block was given back; bits */
    uint64_t *used;
    uint64_t floor;           /* under the lock: the generation before the first lease of a slot whose word is 0 */
    _Atomic uint64_t *traces; /* CENI_TRACE_ROOM for each slot, by its holder; NULL: the pool notes none */
    _Atomic uint64_t
        *identities; /* of objects, by the driver; written by a slot's only holder, read by any thread; NULL: none */
    struct ceni_chunk *former; /* of those that forks have left behind: the next */
    size_t bytes, align;
    bool gives_back; /* pages of it may be given back: they are from the process-wide allocator */
} ceni_chunk;

#ifdef CENI_WATCHED
enum { CENI_BLOCK = 1 };
#else
enum { CENI_BLOCK = 512 }; /* slots whose memory is given back together: 64 KiB */
#endif

enum {
    CENI_CHUNKS = 32, /* each beyond the first at least half as large as all before it */
    CENI_POOL_NAME = 32,
    CENI_TRACE_ROOM = CEN_BACKTRACE_MAX + 1, /* the generation it belongs to, and the addresses */
    CENI_LEFT_SITES = 64,
    CENI_REAPINGS = 4,    /* with different times that overlap; of more the longest time counts */
    CENI_USE_STRIPES = 4, /* so that threads rarely write to the same lines for the leases that are timed */
};

/* Numbers that change only under the lock, and so agree with one another. */
typedef struct ceni_pool_tally {
    uint64_t opened, open_failed, adopted, closed, discarded;
    uint64_t waited, served, timed_out, sent_away, failed, shed, cancelled;
    uint64_t closed_before; /* of those closed: before the pool was, or because they were idle then */
    uint64_t refused, refused_late, refused_breaker, tested, test_failed, reset, reset_failed, leaked, reclaimed,
        expired;
    uint64_t stale_gives;
    uint64_t orphaned;
} ceni_pool_tally;

/* What is left of a cen_pool_reap: until then whatever has been idle for so long is closed. */
typedef struct ceni_reaping {
    int64_t idle_ns; /* 0: none */
    int64_t until;
} ceni_reaping;

/* What helpers do for a pool whose driver blocks. */
typedef enum ceni_chore {
    CENI_CHORE_OPEN,
    CENI_CHORE_RESET,
    CENI_CHORE_CLOSE,
    CENI_CHORE_TEST,
    CENI_CHORES
} ceni_chore;

/* What an opening changed. */
typedef struct ceni_opening_events {
    bool overdue; /* it goes on, and takes too long */
    bool breaker_opened, breaker_closed;
    uint32_t failures; /* in a row */
} ceni_opening_events;

/* How a call of the driver's ended, which may have gone on after its function returned. */
typedef struct ceni_call_outcome {
    cen_status status;
    void *object;          /* what was opened */
    const cen_error *said; /* what else the driver said */
    bool unwanted;         /* nobody wants the object: it came too late */
    bool for_minimum;      /* it was opened though nobody waited for it */
    int64_t began;         /* an opening, on the pool's clock; 0: its slot says when */
} ceni_call_outcome;

enum { CENI_CHECK_SAID = 200 };

/* The tests of objects that a take has found, and that these failed; and one that went on at the take's deadline. */
typedef struct ceni_checks {
    uint32_t failed;
    bool goes_on;               /* the last one */
    uint32_t index;             /* the object of the last */
    int64_t last_ns, spent_ns;  /* how long the last took, and all that failed */
    char said[CENI_CHECK_SAID]; /* what the driver said of the last that failed */
} ceni_checks;

/* How quickly those in line are served, on the pool's clock. */
typedef struct ceni_pace {
    int64_t from;    /* of whoever waits: when the last was served, or the first came */
    int64_t between; /* two servings while somebody waits, on average, the latest counting most; 0: not known yet */
} ceni_pace;

/* How long things took, of all of them or of some. */
typedef struct ceni_times {
    /* any thread: leases, one in CENI_SAMPLED_ONE_IN, or all with exact_times; one stripe is its own ... */
    ceni_compact use;
    ceni_compact_stripe use_stripes[CENI_USE_STRIPES - 1]; /* ... and these are the others; each thread writes to one */
    ceni_stock use_stock;
    ceni_compact wait;   /* under the pool's lock: takes that had to wait, however that ended */
    ceni_compact create; /* likewise: openings that succeeded */
    ceni_stock stock;    /* likewise, of these two */
    uint64_t instant;    /* likewise: takes that did not wait, the most that anybody was told */
} ceni_times;

/* Why a take got nothing, in words (reason.c). */
typedef struct ceni_kept_reason {
    int64_t made_at;                /* on the pool's clock */
    int64_t suspect_ns;             /* a leak is suspected if a take has waited for less ... */
    bool suspects;                  /* ... and so it was for the one that it was made for */
    uint64_t sole;                  /* the holder who holds all that was met; 0: there is no such one */
    int code;                       /* of the cen_error ... */
    cen_cause cause;                /* ... likewise */
    char text[CEN_ERROR_TEXT_SIZE]; /* what follows the outcome */
} ceni_kept_reason;

/* A round of the housekeeper, done in pieces (keeper.c). */
typedef struct ceni_tour {
    int64_t now; /* when it began */
    cen_pool_options limits;
    enum { CENI_TOUR_OVER, CENI_TOUR_COUNTS, CENI_TOUR_TENDS, CENI_TOUR_OPENS } part;
    uint32_t at;      /* slots below are still to be looked at, or so many objects are to be opened */
    uint32_t spent;   /* of what one piece may cost */
    uint32_t idle;    /* when it began, less those closed since */
    uint32_t soon;    /* being tested or reset when it began, or taken to be tested since */
    uint32_t testing; /* when it began, or since: those above are met before those below */
    bool tests_left;
    bool shaken; /* nothing that is idle is trusted */
    bool calm;
    bool reaps; /* something is in `reaping` */
    int64_t next_overdue;
    int64_t next_end; /* of those that were met: when the first is too old */
    ceni_reaping reaping[CENI_REAPINGS];
} ceni_tour;

/* Who listens to a pool, and what it is still to be told. */
typedef struct ceni_pool_listener ceni_pool_listener;

struct cen_pool {
    /* fixed before start; the quick path reads these */
    uint64_t id;            /* never used again by another pool of this process */
    _Atomic uint64_t epoch; /* of the process that made it, or made it anew: then written last of all */
    ceni_waiters *line;
    ceni_slot *base;              /* the slots of the first chunk; NULL when the pool is gone */
    _Atomic uint32_t quick_give;  /* so many of them have the quick path: all, or none; a setting ... */
    _Atomic uint32_t quick_take;  /* ... for each, this one in bytes */
    _Atomic uint32_t quick_check; /* and of a give that asks the driver first; at most one of the two is not none */
    uint32_t mark;                /* the low half of id, never 0: names the pool where a guess will do */
    _Atomic uint32_t hint_at;     /* fixed: where a thread's hint for this pool is */
    uint64_t first_note;          /* of its first slot: ceni_note(mark, 0) */
    /* the struct's own, which outlive the pool (heads.c); all above and these are read by a give that comes too late */
    _Atomic uint64_t first_generation; /* of its slots; leases of former pools have no greater one */
    _Atomic bool lent;                 /* to a pool */
    /* fixed before start, or before the epoch was written */
    uint32_t base_count; /* slots of the first chunk: in a pool that never grew, all */
    ceni_chunk_extras extras;
    cen_runtime *asked; /* options.runtime */
    cen_fork_policy on_fork;
    bool renews;            /* the child of a fork makes it anew */
    bool helped;            /* the driver blocks, or is done later: helpers open, reset, test and close, or begin to */
    cen_driver driver;      /* its argument is what the driver prepared for this pool, if it does */
    void *described;        /* the argument that the program gave */
    cen_driver_calls calls; /* the driver's, those it does not know zero; all zero without one */
    const cen_allocator *allocator;
    char name[CENI_POOL_NAME];
    ceni_directory_entry entry;
    ceni_directory_entry freed_entry; /* while something of the freed pool is out */
    ceni_times *times;                /* how long things took; in memory of its own */
    ceni_chunk *former;               /* slots of before a fork: kept, so that their leases are told from others */
    /* The options as a forked child finds them: one copy is whole whenever a fork comes. Written under the lock. */
    cen_pool_options kept[2];
    _Atomic uint32_t kept_at; /* which copy is whole; changed when the other one is, too */
    _Atomic uint64_t renewer; /* the epoch of the process one of whose threads makes it anew; 0: none */
    ceni_eventcount renewals; /* changes of the epoch and of renewer */
    /* any thread reads; written under the lock; all from here on is made anew after a fork */
    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t chunk_count;
    ceni_chunk *chunks[CENI_CHUNKS];
    _Atomic uint32_t max;
    _Atomic uint32_t openable;      /* objects that a take may make now, on its own thread */
    _Atomic(cen_runtime *) runtime; /* NULL: nothing needs one yet; written once */
    /* settings that are read off the lock, each by itself */
    _Atomic bool exact_order; /* LIFO or FIFO: idle slots are in `idle` */
    _Atomic bool exact_times;
    _Atomic bool trace_takes;
    _Atomic bool strict;  /* nobody is overtaken */
    _Atomic bool by_line; /* that, or the pool is paused: nothing is taken past the line */
    _Atomic int64_t max_barging_ns;
    _Atomic int64_t default_deadline; /* a cen_deadline */
    _Atomic int64_t max_uses;
    _Atomic bool fails_self_wait;
    _Atomic uint32_t places;                 /* slots in all chunks */
    _Atomic uint32_t reach;                  /* no slot from here on is in use */
    _Atomic uint64_t given_back;             /* blocks of slots, ever */
    _Atomic uint64_t shifts;                 /* places claimed and vacated, ever */
    _Atomic(ceni_pool_listener *) listening; /* NULL: nobody ever listened */
    /* under the lock */
    uint32_t live;    /* slots that are not EMPTY */
    uint64_t rest;    /* with the generations of these: the leases there ever were; wraps round */
    uint64_t highest; /* generation of a slot that was emptied; 0: none was */
    uint32_t leaving; /* of these, on their way out: they make room, but not yet */
    uint32_t revoked; /* of these, taken away from their holders and not back */
    uint32_t opening; /* of these, OPENING */
    uint32_t overdue; /* of these, for so long that another may be tried beside them */
    uint32_t opening_for_pending;
    bool closed; /* as the line says too, whom a forked child cannot ask */
    bool freed;  /* the last that goes gives the memory back */
    bool rests;  /* it is closed and empty, and its runtime knows: nothing will be asked of that */
    bool paused;
    cen_pool_options options; /* as they are now, defaults filled in */
    ceni_gate gate;
    /* slots that wait for a helper (queues.c); none to be opened: those are claimed later */
    ceni_list chores[CENI_CHORES];
    uint32_t first_test, last_test; /* the queue of tests, which is not one of these; CENI_NO_INDEX: it is empty */
    uint32_t waiting[CENI_CHORES];  /* how many there are */
    /* such calls of the driver that go on, on helpers or after these have left them */
    uint32_t busy[CENI_CHORES];
    uint32_t hired;               /* errands posted that have not begun: of the pool's usual one ... */
    uint32_t hired_closers;       /* ... and of that for closings */
    uint32_t working;             /* errands that have begun and not ended ... */
    uint32_t closers;             /* ... of these, that only close */
    uint32_t rings;               /* alarms that are set, or whose call has not ended */
    uint32_t top_up;              /* objects to be opened though nobody waits for them ... */
    uint32_t opening_for_minimum; /* ... and openings of such that are under way */
    uint32_t testing_for_waiters; /* slots that are tested because somebody waits, and not for too long */
    uint32_t awaited_tests;       /* tests that takes began, and that have not ended (checkup.c) ... */
    ceni_list checkups;           /* ... and the takes that sleep until then */
    uint32_t tests_given_up;      /* tests that were cancelled and are not done yet */
    ceni_list orphans;            /* objects that were cut off, until their late gives (orphans.c) ... */
    ceni_list parting;            /* ... and those whose close is done later */
    uint32_t hands; /* errands posted or running, alarms set or ringing, calls to be done later: the memory stays */
    _Atomic int64_t alarm_at; /* when the keeper is to come; also read by whoever sets the alarm */
    bool alarm_refused;       /* it was set and nobody was there to ring it: whoever plans next sets it again */
    int64_t next_round;       /* when all slots are to be looked at again */
    int64_t next_piece;       /* when the round that has begun goes on; CENI_FOREVER: none has */
    uint64_t pieces;          /* of rounds that were not the last of theirs, ever */
    int64_t rounds_until;     /* a reload is spread until then: rounds go on ... */
    int64_t rounds_period;    /* ... with this period at most */
    ceni_reaping reaping[CENI_REAPINGS];
    int64_t next_overdue;          /* when the first call of the driver may have taken too long */
    bool shaken;                   /* the next round marks all that is idle, however short a time it has been */
    int64_t shaken_at;             /* when that was asked for last; 0: never */
    bool tests_due;                /* more idle ones are to be tested than may be at a time */
    cen_close_op *closing;         /* under way, and to be told; NULL: none */
    int64_t closing_at;            /* its deadline */
    struct ceni_patience *patient; /* deadlines of those who ask; NULL: nobody had one yet */
    ceni_alarm alarm;
    ceni_tour tour; /* the alarm's call alone */
    ceni_errand errand;
    ceni_errand closer; /* closes only: the runtime keeps a helper for such */
    ceni_list idle;     /* exact orders: slots, the next to be lent first */
    bool reordered;     /* the order was changed since the pool was made */
    ceni_pool_tally tally;
    ceni_pace pace;
    int64_t wait_told_at;                 /* when the last that waited was written into the events */
    ceni_kept_reason reason;              /* the last that was made for a take that timed out ... */
    uint64_t reasons;                     /* ... and how many were */
    const char *left_by[CENI_LEFT_SITES]; /* call sites that left something open, and were told: left.c */
    uint32_t left_sites;
    /* any thread, atomically */
    _Atomic uint32_t in_driver;      /* errands of `working` that are in a call of the driver */
    _Atomic uint32_t free_waits;     /* cen_pool_free waits for the others */
    _Atomic uint32_t work_turns;     /* a futex word: one of them may have ended, or entered the driver */
    _Atomic int64_t refusal_told_at; /* the same of one that was refused; 0: none was */
    _Atomic uint64_t refusals;       /* takes that were since then */
    _Atomic uint64_t missed;         /* takes that found nothing and did not wait, ever */
    _Atomic int64_t timeout_told_at; /* the same of one whose deadline passed, or that was interrupted; 0: none */
    /* all records of orphans there ever were; grows only, and goes with the pool */
    _Atomic(struct ceni_orphan *) shelf;
    _Atomic uint32_t orphan_count; /* at least as many as are in `orphans`; changed under the lock */
    _Atomic bool orphan_printed;   /* the first orphan was printed to stderr */
    _Atomic bool stale_printed;    /* the first double give was */
    ceni_mutex looking;            /* one cen_pool_stats_get at a time; nobody else waits for it */
};

/* Whether a lease of that generation was one of a pool that had the struct before, or has it no more. */
static inline bool ceni_pool_is_newer(cen_pool *pool, uint64_t generation)
{
    return ceni_word_generation(ceni_word(generation, 0)) <= ceni_setting(&pool->first_generation);
}

/* What a take has got hold of. */
typedef struct ceni_grant {
    ceni_slot *slot;
    uint64_t generation;
    uint32_t index;
    bool stale; /* it was idle for long: to be tested before it is lent */
} ceni_grant;

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

/* What a driver has, in either form. */
static inline bool ceni_pool_opens(const cen_pool *pool)
{
    return pool->calls.open || pool->calls.open_async;
}

static inline bool ceni_pool_tests(const cen_pool *pool)
{
    return pool->calls.test || pool->calls.test_async;
}

static inline bool ceni_calls_are_helped(const cen_driver_calls *calls)
{
    return calls->blocks || calls->open_async || calls->reset_async || calls->test_async || calls->close_async;
}

#endif
