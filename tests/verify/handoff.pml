/* SPDX-License-Identifier: MIT */
/*
 * The hand-off protocol of the checkout pool: who is told what, and when.
 *
 * A model of src/pool/waiters.c, wait.c and pending.c, of what take.c, idle.c and
 * places.c do to a slot, and of close.c and resize.c as far as those in line
 * notice. README.md says what is asked of it and what it leaves out; `run` runs
 * it. Here are the settings, what the threads share, and the properties;
 * slots.pml and line.pml are the pool, threads.pml those who use it.
 *
 * What is one step here is one atomic operation there. A section under the
 * pool's lock is a sequence of such steps with `locked` held, since takers,
 * givers and looking heirs do not take the lock and come in between. What only
 * holders of the lock can see is part of the step before or after; so is taking
 * the lock, and dropping it. A section with a single operation that others see
 * is one step, which waits for the lock and need not hold it.
 */

/* ---- Settings: environment variables of the compiled model -------------------------------- */

#define MOST_SLOTS 3
#define MOST_WAITERS 5

/* Constants of a run. "local" tells Spin that reading them interferes with nobody. */
local byte SLOTS;    /* places; 1 if not set */
local byte MAX;      /* objects at most, in the beginning; SLOTS if not set */
local byte HOLDERS;  /* threads that hold slot 0, 1, ... in the beginning; 1 if not set */
local byte TAKERS;   /* threads that take, and wait for as long as need be */
local byte HASTY;    /* threads that take, and whose deadline may pass at any moment */
local byte ASKERS;   /* pending takes */
local byte FICKLE;   /* pending takes that may be cancelled at any moment */
local byte RESIZE;   /* another max, set at any moment; 0: none */
local byte RESIZE_AGAIN; /* and one more after it */
local bool STRICT;   /* nobody is overtaken */
local bool OPENS;    /* the driver opens objects, ... */
local bool FAILS;    /* ... and may fail to */
local bool HANGS;    /* the driver's open and close may never return */
local bool DISCARDS; /* who holds may discard */
local bool KEEPS;    /* who holds may never come back */
local bool AGAIN;    /* who held in the beginning takes again */
local bool CLOSES;   /* the pool is closed at any moment, ... */
local bool REVOKES;  /* ... and may not wait for those who hold */
local byte PLANT;    /* which of these bugs is there; 0: none */

#define THREADS (HOLDERS + TAKERS + HASTY)
#define WAITERS (THREADS + ASKERS + FICKLE)
#define PENDING(w) (w >= THREADS)
#define NONE 255

/* Each is a line of the protocol left out or put elsewhere. `run` finds the numbers here. */
#define PLANT_EXPIRED_FIRST_KEEPS_ROLE (PLANT == 1)   /* the first in line gives up and does not pass its role on */
#define PLANT_READY_WITHOUT_LOOK (PLANT == 2)         /* the heir says that it is ready and does not look again */
#define PLANT_GIVE_TELLS_NOBODY (PLANT == 3)          /* a giver does not look at ctl */
#define PLANT_VACATE_TELLS_NOBODY (PLANT == 4)        /* a place that becomes free is offered to nobody */
#define PLANT_GRANT_WITHOUT_RECHECK (PLANT == 5)      /* a giver hands over its slot without a cas, under the lock */
#define PLANT_EXTRA_GRANT_KEPT (PLANT == 6)           /* one who found a slot and was granted another forgets the first */
#define PLANT_CLOSE_LEAVES_WAITERS (PLANT == 7)       /* close sends nobody away */
#define PLANT_JOIN_AFTER_LOOK (PLANT == 8)            /* one who joined does not look any more */
#define PLANT_GRANT_WITHOUT_WAKE (PLANT == 9)         /* whoever is told something is not woken */
#define PLANT_RESIZE_TELLS_NOBODY (PLANT == 10)       /* a larger max is offered to nobody */
#define PLANT_OPEN_BEYOND_MAX (PLANT == 11)           /* a place is claimed without another look under the lock */
#define PLANT_SURPLUS_ENDS_IN_SILENCE (PLANT == 12)   /* who ends a surplus calls the driver before it tends */
#define PLANT_SURPLUS_FORGETS_LEAVING (PLANT == 13)   /* objects that are being closed still count as too many */
#define PLANT_ROLE_STAYS (PLANT == 14)                /* the next in line inherits HEIR from one who left */
#define PLANT_CANCEL_STAYS_IN_LINE (PLANT == 15)      /* cancel says cancelled and takes nobody out */
#define PLANT_SWEEP_BEFORE_MARK (PLANT == 16)         /* close looks for idle objects before it marks the pool */
#define PLANT_HAND_OVER_FORGETS_CALL (PLANT == 17)    /* a pending take that was handed an object is not told */
#define PLANT_STRICT_IS_OVERTAKEN (PLANT == 18)       /* in strict order a take does not look for those in line */
#define PLANT_EXTRA_LOST_WHEN_REVOKED (PLANT == 19)   /* an extra slot that close has revoked is not brought back */
#define PLANT_JOIN_BEHIND_PENDING (PLANT == 21)       /* one who joins behind a pending take does not look any more */
#define PLANT_TENDS_FOR_EVER (PLANT == 20)            /* who has nothing to hand over pumps again, and again */

/* ---- What threads share --------------------------------------------------------------------- */

mtype:state = { EMPTY, OPENING, IDLE, HELD, CLOSING, REVOKING, REVOKED, RETURNED };
mtype:events = { AWAKE, PARKED, CALLED, GRANTED, SENT_AWAY };

mtype:state slot[MOST_SLOTS] = EMPTY; /* a slot's word: the state ... */
byte generation[MOST_SLOTS];          /* ... and which lease it is */

bool locked;
chan line = [MOST_WAITERS] of { byte }; /* under the lock; how many there are is in ctl */
#define IS_FIRST(w) (line?[eval(w)] -> true : false)
#define IN_LINE(w) (line??[eval(w)] -> true : false)
bool heir, ready, closed, surplus;      /* ctl, too: read and written as one word */

byte openable;            /* any thread reads; written under the lock */
byte max, live, leaving;  /* under the lock */
byte opening_for_pending; /* under the lock */

mtype:events told[MOST_WAITERS] = AWAKE; /* a waiter's state, a futex of its thread, ... */
bool asleep[MOST_WAITERS];             /* ... on which it sleeps */
byte granted[MOST_WAITERS] = NONE;     /* a slot, written before GRANTED, read after; ... */
bool granted_place[MOST_WAITERS];      /* ... one in which it is to open an object */
bool delivered[MOST_WAITERS];          /* a pending one has been called */

/* ---- What only the properties need ------------------------------------------------------------ */

byte owner[MOST_SLOTS] = NONE; /* who has the lease */
bool cancelled[MOST_WAITERS];  /* cancel said so */
bool is_over;                  /* close has returned */
byte in_line;                  /* strict order: a bit for each, ... */
byte ahead[MOST_WAITERS];      /* ... and those who were in line when this one began to take, or joined */

/* L1: an object is in at most one lease. */
inline begin_lease(s, who)
{
    assert(owner[s] == NONE);
    owner[s] = who;
    is_served(who)
}

inline end_lease(s, who)
{
    assert(owner[s] == who);
    owner[s] = NONE
}

/* L4: in strict order nobody is served before those who were there before. */
inline is_served(who)
{
    assert((ahead[who] & in_line & ~(1 << who)) == 0)
}

inline is_behind(who)
{
    ahead[who] = in_line
}

/* L5, L6: a pending take is told once, and not after it was cancelled. */
inline deliver(w)
{
    assert(!delivered[w]);
    assert(!cancelled[w]);
    delivered[w] = true
}

/* L5: whoever goes without an object, or has given it, has none. */
inline has_nothing(who)
{
    d_step {
        at = 0;
        do
        :: at < SLOTS -> assert(owner[at] != who); at++
        :: else -> break
        od;
        at = 0
    }
}

/* Nothing can go on: whoever has not ended sleeps for ever. */
inline check_at_rest()
{
    d_step {
        do
        :: at < SLOTS ->
            count = count + (slot[at] != EMPTY);
            idle = idle + (slot[at] == IDLE);
            assert(HANGS || slot[at] == EMPTY || slot[at] == IDLE || slot[at] == HELD || slot[at] == REVOKED);
            assert((slot[at] == HELD || slot[at] == REVOKED) == (owner[at] != NONE));
            assert(KEEPS || HANGS || owner[at] == NONE);
            at++
        :: else -> break
        od;
        assert(!locked);
        assert(count == live);
        assert(len(line) == 0 || idle == 0);                                             /* L3 */
        assert(len(line) == 0 || openable == 0 || opening_for_pending >= len(line)); /* likewise */
        assert(len(line) > 0 || (!heir && !ready));
        assert(HANGS || opening_for_pending == 0);
        assert(!surplus || idle == 0);
        assert(!closed || (len(line) == 0 && idle == 0)); /* L15 */
        assert(!closed || KEEPS || HANGS || (live == 0 && is_over));
        /* As many were closed as were too many. */
        assert(!RESIZE || OPENS || DISCARDS || CLOSES || HANGS || live == (max < HOLDERS -> max : HOLDERS));
        at = 0;
        do
        :: at < WAITERS ->
            assert(!asleep[at] || told[at] == PARKED); /* nobody was told something and sleeps on */
            assert(!PENDING(at) || told[at] == AWAKE || delivered[at]);
            at++
        :: else -> break
        od
    }
}

#include "slots.pml"
#include "line.pml"
#include "threads.pml"

/* ---- The beginning and the end -------------------------------------------------------------------- */

c_decl {
\#include <stdlib.h>
static int setting(const char *name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }
}

inline read_settings()
{
    c_code {
        now.SLOTS = setting("SLOTS", 1);
        now.MAX = setting("MAX", now.SLOTS);
        now.HOLDERS = setting("HOLDERS", 1);
        now.TAKERS = setting("TAKERS", 0);
        now.HASTY = setting("HASTY", 0);
        now.ASKERS = setting("ASKERS", 0);
        now.FICKLE = setting("FICKLE", 0);
        now.RESIZE = setting("RESIZE", 0);
        now.RESIZE_AGAIN = setting("RESIZE_AGAIN", 0);
        now.STRICT = setting("STRICT", 0);
        now.OPENS = setting("OPENS", 0);
        now.FAILS = setting("FAILS", 0);
        now.HANGS = setting("HANGS", 0);
        now.DISCARDS = setting("DISCARDS", 0);
        now.KEEPS = setting("KEEPS", 0);
        now.AGAIN = setting("AGAIN", 0);
        now.CLOSES = setting("CLOSES", 0);
        now.REVOKES = setting("REVOKES", 0);
        now.PLANT = setting("PLANT", 0);
    };
    assert(SLOTS <= MOST_SLOTS && MAX <= SLOTS && RESIZE <= SLOTS && RESIZE_AGAIN <= SLOTS);
    assert(HOLDERS <= MAX && WAITERS <= MOST_WAITERS)
}

init {
    byte at, count, idle;
    atomic {
        read_settings();
        max = MAX;
        do
        :: at < HOLDERS -> slot[at] = HELD; generation[at] = 1; owner[at] = at; live++; at++
        :: else -> break
        od;
        openable = OPENABLE;
        at = 0;
        do
        :: at < THREADS -> run Thread(at, at >= HOLDERS + TAKERS); at++
        :: at >= THREADS && at < WAITERS -> run Asker(at, at >= THREADS + ASKERS); at++
        :: else -> break
        od;
        at = 0;
        if
        :: CLOSES && !PLANT_SWEEP_BEFORE_MARK -> run Keeper(MARKING, 0)
        :: CLOSES && PLANT_SWEEP_BEFORE_MARK -> run Keeper(SWEEPING, 0)
        :: else
        fi;
        if
        :: RESIZE > 0 -> run Keeper(SETTING, RESIZE)
        :: else
        fi
    };
    timeout -> check_at_rest()
}
