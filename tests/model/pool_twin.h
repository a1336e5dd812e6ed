/* SPDX-License-Identifier: MIT */
/*
 * A pool beside its model: the twin. The model is an array of slots, a line of
 * actors and some counters. It says what must have happened; where the
 * contract leaves a choice, it accepts what did happen, if it is one of those.
 *
 * The system goes first and leaves outcomes behind; then the model goes the
 * same way and asks for each outcome when it comes to it.
 */
#ifndef TESTS_MODEL_POOL_TWIN_H
#define TESTS_MODEL_POOL_TWIN_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/pool.h>

/* Actor 0 is main, then come the fibers of the crew, then takes that main asks for. */
enum { MAIN = 0, FIBERS = 3, ASKERS = 3, ACTORS = 1 + FIBERS + ASKERS, TWIN_PLACES = 80, NOWHERE = TWIN_PLACES };

/* What a take, a give or a discard by somebody came to. */
typedef struct outcome {
    cen_status status;
    cen_lease lease; /* as it was before a give */
    int64_t moment;
    uint32_t index; /* after a take: the slot, as a visit shows it ... */
    bool open;      /* ... and whether the object was open then */
} outcome;

/* An object. The driver makes them, or a test does and has them adopted. */
typedef struct thing {
    struct twin *twin;
    uint64_t number;                       /* in the order in which they were made */
    enum { THING_IN, THING_CLOSED } state; /* as the driver saw it */
    bool in_slot;                          /* as the model sees it */
    unsigned interrupts;
} thing;

typedef struct place {
    enum { VACANT, IDLE, HELD, REVOKED } state;
    thing *thing;
    uint64_t generation;
    uint64_t turn; /* idle: when it became so, in turns */
    int holder;    /* held: an actor */
    const char *where;
    /* met: when a list of holders, the text of a failure or a close met this lease first; 0: never */
    int64_t since, met;
} place;

/* How a pool is made; decoded from one number by shape_of. */
typedef struct shape {
    cen_order order;
    int64_t max_barging_ns;
    bool opens, closes, interrupts, eager, exact_times;
    uint32_t max;
    int64_t patience_ns;
} shape;

enum { SHAPES = 3 * 3 * 4 * 2 * 2 * 4 };

typedef struct twin {
    shape shape;
    cen_pool *pool;
    bool closed, freed;
    uint64_t first; /* generation of its slots: above those of the pools that had its struct before */
    uint32_t max, live;
    place places[TWIN_PLACES];
    uint64_t turns;
    int line[ACTORS];
    unsigned waiting;
    uint32_t last[ACTORS];  /* the slot an actor had last in this pool, or NOWHERE ... */
    bool last_sure[ACTORS]; /* ... and whether it has taken from no other pool since */
    cen_pool_stats tally;   /* the counters, not the states */
    uint32_t given_after_close;
    /* the driver: openings that will still succeed, and fail after that, for the system and for the model */
    unsigned sound, failing, model_sound, model_failing;
    uint64_t opens_seen, closes_seen, closed_last; /* the last one's number */
    bool quiet;                                    /* the pool is being made or freed: the driver asks it nothing */
    const char *misdeed; /* the driver was called, or answered, in a way that is not allowed */
} twin;

/* A lease, and what the model knows about it. */
typedef struct hand {
    cen_lease lease;
    uint32_t index;
    twin *twin; /* NULL: it is nobody's */
} hand;

typedef struct actor {
    enum { FREE, WAITING, HOLDING } phase;
    twin *twin;
    int64_t since, until; /* waiting: its deadline; holding: when it gives back */
    int64_t hold_ns;      /* KEEP: it leaves the lease to main */
    bool discards;
    hand held;
    const char *where;
} actor;

enum { POOLS = 2, TWINS = POOLS + 1, HAND = 32, OLD = 16, ENTERED = 12 };
#define KEEP INT64_MAX

typedef struct entered {
    cen_scope scope;
    hand hand; /* with the scope's lease */
} entered;

/* Everything of one run. */
typedef struct rig {
    twin twins[TWINS], *pools[POOLS]; /* the third has been freed, and some of it is still out */
    actor actors[ACTORS];
    hand hands[HAND]; /* leases that main may give: its own, and those that fibers left */
    unsigned in_hand;
    hand old[OLD]; /* copies of leases that have ended */
    unsigned old_count;
    entered scopes[ENTERED];
    unsigned scope_count;
    outcome of_main; /* of the last take by main */
    /* several become idle at once: those in line are served after all of them, and who gets which is open */
    bool any_order;
    int64_t now;
} rig;

/* ---- Saying what is wrong -------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) const char *wrong(const char *format, ...);
const char *expect_status(const char *what, cen_status status, cen_status expected);

/* Returns from the calling function if something is wrong. */
#define TRY(check) \
    do { \
        const char *text_ = (check); \
        if (text_) return text_; \
    } while (0)

/* ---- The pool and its driver ------------------------------------------------------- */

shape shape_of(int number);
void shape_show(int number, char *text, size_t room);

/* Makes the system's pool and an empty model of it. */
cen_status twin_new(twin *t, shape s, cen_error *error);

/* What a failing open says. */
#define OPEN_FAILED CEN_DRIVER
#define OPEN_FAILED_CODE 77
#define OPEN_FAILED_TEXT "the object does not feel like it"

/* An object made outside of the driver. */
thing *thing_made(twin *t);

/* The index of the slot that has an object, as a visit shows it; NOWHERE if none has. */
uint32_t index_shown(cen_pool *pool, const thing *object);

/* What a take of a moment ago came to. */
outcome outcome_of_take(cen_status status, const cen_lease *lease);

/* ---- The model's steps --------------------------------------------------------------- */

/* A take by an actor, whose `where` and, if it waits, `until` are set. Without
 * anything to be had, `none` is the answer of one that does not wait; one that
 * does is WAITING afterwards. Inside a call that the pool made nothing is
 * opened and nobody waits. */
typedef struct taking {
    bool waits, inside;
    cen_status none;
} taking;
const char *model_take(rig *r, twin *t, int who, taking how);

/* One who asked and waits has cancelled. */
const char *model_cancel(rig *r, int who);

/* What giving the lease must answer: OK, REVOKED or STALE. */
cen_status model_status_of(const hand *h);

/* Ends a lease that has not ended: given, discarded, or brought back after it
 * was revoked. Serves those in line. */
const char *model_end(rig *r, const hand *h, bool discards);

/* Those in line get what there is. */
const char *model_serve(rig *r, twin *t);

/* The last of a freed pool is gone, and its memory with it: does nothing before that. */
const char *model_bury(rig *r, twin *t);

/* Puts an object into a slot, idle, and serves those in line. */
const char *model_put(rig *r, twin *t, thing *object, uint32_t index);

const char *model_resize(rig *r, twin *t, uint32_t max);

/* From now on every lease that is out has an age. */
void model_meet_holders(const rig *r, twin *t);

/* The parts of a close: what is done at once, and what is at the deadline. */
const char *model_close_begin(rig *r, twin *t, cen_close_report *report);
const char *model_close_end(twin *t, cen_close_report *report);

/* The next event of the model at or before `limit`: a deadline, or a fiber that
 * gives back what it held. *happened is false if there is none. */
const char *model_event(rig *r, int64_t limit, bool *happened);

/* No two things happen at one moment, or their order would be anybody's guess:
 * each kind of event has moments of its own. At `moment` or a little later. */
enum { MOMENTS = 16, WHEN_DEADLINE = 0, WHEN_GIVES = ACTORS, WHEN_MAIN_WAKES = 2 * ACTORS, WHEN_CLOSES };
int64_t moment_of(int64_t moment, int kind);

/* ---- Comparing ------------------------------------------------------------------------- */

/* All numbers of cen_pool_stats_get, the equations of the header, and the driver's own counts. */
const char *twin_compare(const rig *r, const twin *t);

/* One holding as cen_pool_each and cen_pool_holders show it. */
const char *twin_compare_holding(const rig *r, const twin *t, const cen_object_view *h, uint32_t index);

#endif
