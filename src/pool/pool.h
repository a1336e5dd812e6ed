/* SPDX-License-Identifier: MIT */
/* The structs of a pool, grouped by who may touch which field. */
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

/* The optional parts of chunks: room for backtraces (options.backtraces) and for identities (the driver's identify). */
typedef struct ceni_chunk_extras {
    bool traces, identities;
} ceni_chunk_extras;

/* Slots that were allocated together, in one block with this struct. They never move. */
typedef struct ceni_chunk {
    /* fixed before it is published */
    uint32_t first, count; /* indexes */
    ceni_slot *slots;
    ceni_map listed;       /* any thread: slots that a search should check */
    ceni_map vacant;       /* under the lock: slots that are EMPTY */
    ceni_map filled;       /* changed under the lock, read by any thread: slots that are not EMPTY (visit.c) */
    uint64_t *seen;        /* under the lock `looking`: words of the first of two readings */
    uint64_t *seen_filled; /* likewise: level 0 of `filled` between the two */
    /* under the lock: one bit per block of slots: a slot of it was in use since the block was given back */
    uint64_t *used;
    uint64_t floor;           /* under the lock: the generation before the first lease of a slot whose word is 0 */
    _Atomic uint64_t *traces; /* CENI_TRACE_ROOM words for each slot, written by its holder; NULL: no backtraces */
    _Atomic uint64_t
        *identities; /* of objects, from the driver; written by a slot's owner, read by any thread; NULL: none */
    struct ceni_chunk *former; /* the next of the chunks from before a fork */
    size_t bytes, align;
    bool gives_back; /* its pages may be given back: they are from the process-wide allocator */
} ceni_chunk;

#ifdef CENI_WATCHED
enum { CENI_BLOCK = 1 };
#else
enum { CENI_BLOCK = 512 }; /* slots whose memory is given back together: 64 KiB */
#endif

enum {
    CENI_CHUNKS = 32, /* each beyond the first is at least half as large as all before it */
    CENI_POOL_NAME = 32,
    CENI_TRACE_ROOM = CEN_BACKTRACE_MAX + 1, /* the generation of the lease, and the addresses */
    CENI_LEFT_SITES = 64,
    CENI_REAPINGS = 4,    /* overlapping reaps of different idle times; if there are more, the longest time counts */
    CENI_USE_STRIPES = 4, /* so that threads that time leases rarely write to the same cache lines */
};

/* Counters that change only under the lock, and so agree with one another. */
typedef struct ceni_pool_tally {
    uint64_t opened, open_failed, adopted, closed, discarded;
    uint64_t waited, served, timed_out, sent_away, failed, shed, cancelled;
    uint64_t closed_before; /* of `closed`: objects closed before the pool was closed, or because they were idle then */
    uint64_t refused, refused_late, refused_breaker, tested, test_failed, reset, reset_failed, leaked, reclaimed,
        expired;
    uint64_t stale_gives;
    uint64_t orphaned;
} ceni_pool_tally;

/* The rest of a cen_pool_reap: until `until`, objects that have been idle for `idle_ns` are closed. */
typedef struct ceni_reaping {
    int64_t idle_ns; /* 0: none */
    int64_t until;
} ceni_reaping;

/* The driver calls that helpers make for a pool whose driver blocks. */
typedef enum ceni_chore {
    CENI_CHORE_OPEN,
    CENI_CHORE_RESET,
    CENI_CHORE_CLOSE,
    CENI_CHORE_TEST,
    CENI_CHORES
} ceni_chore;

/* What an opening changed. */
typedef struct ceni_opening_events {
    bool overdue; /* it still runs, and takes too long */
    bool breaker_opened, breaker_closed;
    uint32_t failures; /* in a row */
} ceni_opening_events;

/* The outcome of a driver call, which may have completed after its function returned. */
typedef struct ceni_call_outcome {
    cen_status status;
    void *object;          /* the opened object */
    const cen_error *said; /* the driver's error */
    bool unwanted;         /* the object came too late, or its call was cancelled */
    bool for_minimum;      /* it was opened for min_idle or a try, not for a waiter */
    int64_t began;         /* when the opening began, on the pool's clock; 0: the slot has it */
} ceni_call_outcome;

enum { CENI_CHECK_SAID = 200 };

/* The tests of objects that a take has found: those that failed, and one that still ran when the take left. */
typedef struct ceni_checks {
    uint32_t failed;
    bool goes_on;               /* the last test still runs */
    uint32_t index;             /* the object of the last test */
    int64_t last_ns, spent_ns;  /* duration of the last test, and of all that failed */
    char said[CENI_CHECK_SAID]; /* the driver's words for the last failure */
} ceni_checks;

/* How quickly the waiters are served, on the pool's clock. */
typedef struct ceni_pace {
    int64_t from;    /* when the last waiter was served, or the first one of a new queue joined */
    int64_t between; /* moving average of the time between two servings while there are waiters; 0: not known yet */
} ceni_pace;

/* Histograms of durations, of all events or of a sample. */
typedef struct ceni_times {
    /* any thread: leases, one in CENI_SAMPLED_ONE_IN, or all with exact_times; it contains one stripe ... */
    ceni_compact use;
    ceni_compact_stripe use_stripes[CENI_USE_STRIPES - 1]; /* ... these are the others; each thread writes to one */
    ceni_stock use_stock;
    ceni_compact wait;   /* under the pool's lock: takes that had to wait, with any outcome */
    ceni_compact create; /* likewise: openings that succeeded */
    ceni_stock stock;    /* likewise: lines for these two */
    uint64_t instant;    /* likewise: takes that did not wait; the largest number reported so far */
} ceni_times;

/* The reason why a take failed, in words (reason.c). */
typedef struct ceni_kept_reason {
    int64_t made_at;                /* on the pool's clock */
    int64_t suspect_ns;             /* a leak is suspected if a take has waited for less than this ... */
    bool suspects;                  /* ... which was so for the take that made the reason */
    uint64_t sole;                  /* the holder of all leases that were met; 0: there are several */
    int code;                       /* of the cen_error ... */
    cen_cause cause;                /* ... likewise */
    char text[CEN_ERROR_TEXT_SIZE]; /* the part after the outcome */
} ceni_kept_reason;

/* A round of the housekeeper, which runs in pieces (keeper.c). */
typedef struct ceni_tour {
    int64_t now; /* when it began */
    cen_pool_options limits;
    enum { CENI_TOUR_OVER, CENI_TOUR_COUNTS, CENI_TOUR_TENDS, CENI_TOUR_OPENS } part;
    uint32_t at;      /* slots below this index are left, or the number of objects left to open */
    uint32_t spent;   /* cost of the running piece so far */
    uint32_t idle;    /* idle objects when it began, less those closed since */
    uint32_t soon;    /* being tested or reset when it began, or put to the test since */
    uint32_t testing; /* being tested when it began, or put to the test since */
    bool tests_left;
    bool shaken; /* no idle object is trusted */
    bool calm;
    bool reaps; /* `reaping` is not empty */
    int64_t next_overdue;
    int64_t next_end; /* of the slots visited: when the first object is too old */
    ceni_reaping reaping[CENI_REAPINGS];
} ceni_tour;

/* The pool's listener, and the events that are still to be delivered. */
typedef struct ceni_pool_listener ceni_pool_listener;

struct cen_pool {
    /* fixed before start; the quick path reads these */
    uint64_t id;            /* never used again by another pool of this process */
    _Atomic uint64_t epoch; /* of the process that made it, or renewed it (then it is written last) */
    ceni_waiters *waiters;
    ceni_slot *base;              /* the slots of the first chunk; NULL after the pool was released */
    _Atomic uint32_t quick_give;  /* how many of them have the quick path of a give: all, or none; a setting ... */
    _Atomic uint32_t quick_take;  /* ... of a take; in bytes ... */
    _Atomic uint32_t quick_check; /* ... of a give with a driver's check; 0 if quick_give is not 0, and vice versa */
    uint32_t mark;                /* the low half of id, never 0: identifies the pool in hints */
    _Atomic uint32_t hint_at;     /* fixed: where a thread's hint for this pool is */
    uint64_t first_note;          /* of its first slot: ceni_note(mark, 0) */
    /* the struct's own fields, which outlive the pool (heads.c); a late give reads these and all above */
    _Atomic uint64_t first_generation; /* of its slots; leases of former pools have no greater one */
    _Atomic bool lent;                 /* the struct is in use by a pool */
    /* fixed before start, or before the epoch was written */
    uint32_t base_count; /* slots of the first chunk; all, in a pool that never grew */
    ceni_chunk_extras extras;
    cen_runtime *asked; /* options.runtime */
    cen_fork_policy on_fork;
    bool renews;            /* the child of a fork renews it */
    bool helped;            /* the driver blocks, or completes later: helpers make or start its calls */
    cen_driver driver;      /* its argument is what the driver's prepare made for this pool, if it has prepare */
    void *described;        /* the argument that the program passed */
    cen_driver_calls calls; /* the driver's calls; fields it does not know are zero; all zero without a driver */
    const cen_allocator *allocator;
    char name[CENI_POOL_NAME];
    ceni_directory_entry entry;
    ceni_directory_entry freed_entry; /* used while objects of the freed pool are still lent */
    ceni_times *times;                /* histograms of durations; allocated separately */
    ceni_chunk *former;               /* slots from before a fork: kept, so that their leases are recognised */
    /* The options for a forked child: one copy is complete at every moment. Written under the lock. */
    cen_pool_options kept[2];
    _Atomic uint32_t kept_at; /* which copy is complete; changed after the other copy was written */
    _Atomic uint64_t renewer; /* the epoch of the process that renews it at the moment; 0: none */
    ceni_eventcount renewals; /* changes of the epoch and of renewer */
    /* any thread reads; written under the lock; all from here on is initialised again after a fork */
    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t chunk_count;
    ceni_chunk *chunks[CENI_CHUNKS];
    _Atomic uint32_t max;
    _Atomic uint32_t openable;      /* objects that a take may make now, on its own thread */
    _Atomic(cen_runtime *) runtime; /* NULL: not needed yet; written once */
    /* settings that are read without the lock, each on its own */
    _Atomic bool exact_order; /* LIFO or FIFO: idle slots are in `idle` */
    _Atomic bool exact_times;
    _Atomic bool trace_takes;
    _Atomic bool strict;  /* no barging */
    _Atomic bool by_line; /* strict, or the pool is paused: objects go to waiters only */
    _Atomic int64_t max_barging_ns;
    _Atomic int64_t default_deadline; /* a cen_deadline */
    _Atomic int64_t max_uses;
    _Atomic bool fails_self_wait;
    _Atomic uint32_t places;                 /* slots in all chunks */
    _Atomic uint32_t reach;                  /* no slot from this index on is in use */
    _Atomic uint64_t given_back;             /* blocks of slots whose memory was given back, in total */
    _Atomic uint64_t shifts;                 /* places claimed and vacated, in total */
    _Atomic(ceni_pool_listener *) listening; /* NULL: there was never a listener */
    /* under the lock */
    uint32_t live;    /* slots that are not EMPTY */
    uint64_t rest;    /* plus the generations of these: the number of all leases; wraps around */
    uint64_t highest; /* the highest generation of a slot that was emptied; 0: none was */
    uint32_t leaving; /* of `live`, on their way out: they will make room */
    uint32_t revoked; /* of `live`, revoked and not given back */
    uint32_t opening; /* of `live`, OPENING */
    uint32_t overdue; /* of `opening`, for so long that another may be tried beside them */
    uint32_t opening_for_pending;
    bool closed; /* as CENI_CTL_CLOSED; for a forked child, which cannot read the wait queue */
    bool freed;  /* the last object or hand frees the memory */
    bool rests;  /* it is closed and empty, and has told its runtime that it needs nothing more */
    bool paused;
    cen_pool_options options; /* the current ones, with defaults filled in */
    ceni_gate gate;
    /* slots that wait for a helper (queues.c). Places for openings are not queued: helpers claim them. */
    ceni_list chores[CENI_CHORES];
    uint32_t first_test, last_test; /* the queue of tests, which is not one of these lists; CENI_NO_INDEX: empty */
    uint32_t waiting[CENI_CHORES];  /* the lengths of the queues */
    /* driver calls of each kind that are running, on helpers or, with a driver that completes later, elsewhere */
    uint32_t busy[CENI_CHORES];
    uint32_t hired;               /* errands that are posted and have not begun: the pool's usual one ... */
    uint32_t hired_closers;       /* ... and the one for closes */
    uint32_t working;             /* errands that are running ... */
    uint32_t closers;             /* ... of these, those that only close */
    uint32_t rings;               /* alarms that are set, or whose call has not ended */
    bool wished;                  /* a take that could not wait wants an object opened for the next one */
    uint32_t top_up;              /* objects to open for min_idle ... */
    uint32_t opening_for_minimum; /* ... and running openings for min_idle or a wish */
    uint32_t testing_for_waiters; /* slots being tested for waiters, and not overdue */
    uint32_t awaited_tests;       /* running tests that takes began (checkup.c) ... */
    ceni_list checkups;           /* ... and the takes that sleep until they end */
    uint32_t tests_given_up;      /* tests that were cancelled and have not completed yet */
    ceni_list orphans;            /* orphans, until their late gives (orphans.c) ... */
    ceni_list parting;            /* ... and those whose close completes later */
    uint32_t hands; /* references: errands posted or running, alarms set or ringing, calls that complete later */
    _Atomic int64_t alarm_at; /* when the keeper comes; also read by the thread that sets the alarm */
    bool alarm_refused;       /* no thread could be started for the alarm: the next plan sets it again */
    int64_t next_round;       /* when the next round begins */
    int64_t next_piece;       /* when the running round goes on; CENI_FOREVER: none is running */
    uint64_t pieces;          /* pieces of rounds that were not the last of their round, in total */
    int64_t rounds_until;     /* a reload is spread until then: rounds go on ... */
    int64_t rounds_period;    /* ... with at most this period */
    ceni_reaping reaping[CENI_REAPINGS];
    int64_t next_overdue;  /* when the first driver call may be overdue */
    bool shaken;           /* the next round marks all idle objects, however short they have been idle */
    int64_t shaken_at;     /* when that was requested last; 0: never */
    bool tests_due;        /* more idle objects are due for a test than may be tested at a time */
    cen_close_op *closing; /* the running asynchronous close; NULL: none */
    int64_t closing_at;    /* its deadline */
    struct ceni_pending_deadlines *pending_deadlines; /* deadlines of pending takes; NULL: none had one yet */
    ceni_alarm alarm;
    ceni_tour tour; /* the alarm's call only */
    ceni_errand errand;
    ceni_errand closer; /* only closes: the runtime reserves a helper for such errands */
    ceni_list idle;     /* exact orders: slots, the next to lend first */
    bool reordered;     /* the order was changed since the pool was made */
    ceni_pool_tally tally;
    ceni_pace pace;
    int64_t wait_told_at;                 /* when the last `waited` event was written */
    ceni_kept_reason reason;              /* the last one made for a take that timed out ... */
    uint64_t reasons;                     /* ... and how many were made */
    const char *left_by[CENI_LEFT_SITES]; /* call sites that left something open and were reported: left.c */
    uint32_t left_sites;
    /* any thread, atomically */
    _Atomic uint32_t in_driver;      /* errands of `working` that are in a driver call */
    _Atomic uint32_t free_waits;     /* cen_pool_free waits for the other errands */
    _Atomic uint32_t work_turns;     /* a futex word: one of them may have ended, or entered the driver */
    _Atomic int64_t refusal_told_at; /* when the last `refused` event was written; 0: none was */
    _Atomic uint64_t refusals;       /* takes refused since then */
    _Atomic uint64_t missed;         /* takes that found nothing and did not wait, in total */
    _Atomic int64_t timeout_told_at; /* when the last `timed_out` or `interrupted` event was written; 0: none was */
    /* all records of orphans ever made; only grows, and is freed with the pool */
    _Atomic(struct ceni_orphan *) shelf;
    _Atomic uint32_t orphan_count; /* upper bound of the length of `orphans`; changed under the lock */
    _Atomic bool orphan_printed;   /* the first orphan was printed to stderr */
    _Atomic bool stale_printed;    /* the first double give was printed to stderr */
    _Atomic bool left_printed;     /* the first object with something left open was printed to stderr */
    ceni_mutex looking;            /* admits one cen_pool_stats_get at a time; no other call waits for it */
};

/* Return true if a lease of that generation belongs to a pool that used this struct before, or that has ended. */
static inline bool ceni_pool_is_newer(cen_pool *pool, uint64_t generation)
{
    return ceni_word_generation(ceni_word(generation, 0)) <= ceni_setting(&pool->first_generation);
}

/* A slot or a place that a take has found or was granted. */
typedef struct ceni_grant {
    ceni_slot *slot;
    uint64_t generation;
    uint32_t index;
    bool stale; /* it was idle for long, and must be tested before it is lent */
} ceni_grant;

/* The pool's runtime; NULL if none was needed yet. A runtime that is joined later has the same clock. */
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

/* Whether the driver has open or test, in the blocking or the asynchronous form. */
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
