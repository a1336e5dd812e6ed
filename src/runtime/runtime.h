/* SPDX-License-Identifier: MIT */
/*
 * The runtime as the rooms above see it: alarms and errands.
 *
 * An alarm is a call at a moment. An errand is a call on a helper thread, where it may block. Both records are part of
 * the object that they serve, and its memory must stay until the call has returned. So the object counts a set alarm or
 * a posted errand as a reference to itself. It drops that reference when the call ends, or when unset returns that
 * there will be no call.
 *
 * The runtime makes calls with no lock held, and does not touch the record once the call has begun. No function below
 * may be called with a lock held whose rank is CENI_RANK_RUNTIME or above.
 *
 * Threads: every function from any thread, also from within alarms and errands.
 */
#ifndef CENI_RUNTIME_RUNTIME_H
#define CENI_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/runtime.h>

#include "base/list.h"
#include "base/spi.h"
#include "sync/wheel.h"

CENI_SPI_BEGIN

/* A call at a moment, on the runtime's keeper, or in poll. It must be short: all other alarms wait for it. */
typedef struct ceni_alarm {
    void (*due)(struct ceni_alarm *alarm); /* set before the first use, as below */
    /* the runtime's, under its lock */
    ceni_wheel_timer timer;
} ceni_alarm;

/* The kind of an errand. At the runtime's limit of helpers errands begin in this order. */
typedef enum ceni_errand_kind {
    CENI_ERRAND_FREE,     /* not limited: a job, a listener */
    CENI_ERRAND_PROVEN,   /* calls of a pool whose last call succeeded */
    CENI_ERRAND_CLOSING,  /* calls that close an object: one helper is kept for these */
    CENI_ERRAND_UNPROVEN, /* calls of a pool whose last call failed or takes too long, or that has made none */
    CENI_ERRAND_KINDS
} ceni_errand_kind;

/* A call on a helper, or in poll of a manual runtime. */
typedef struct ceni_errand {
    void (*run)(struct ceni_errand *errand);
    _Atomic bool proven; /* any thread; see ceni_errand_prove */
    /* the runtime's, under its lock */
    ceni_list link;
    uint32_t wanted; /* how many more helpers have to run it */
    ceni_errand_kind kind;
} ceni_errand;

/* Count a user of the runtime, or, for NULL, of the process's default runtime, which is made if there is none. Errors:
 * NO_MEMORY, FORKED. */
cen_status ceni_runtime_join(cen_runtime *runtime, cen_runtime **out);

/* Count a user out. May be called on any thread, the runtime's own included. The default runtime ends with its last
 * user: when this returns, its idle threads have ended, except the calling one. */
void ceni_runtime_leave(cen_runtime *runtime);

/* Whether the runtime is manual: then alarms and errands run in the program's loop, and must not block. */
bool ceni_runtime_is_manual(const cen_runtime *runtime);

/* Whether its clock is virtual: then no thread can sleep until a moment of it. */
bool ceni_runtime_is_virtual(const cen_runtime *runtime);

int64_t ceni_runtime_now(const cen_runtime *runtime);

/* Initialise a record. None of the functions below may be called in a child that was forked after the runtime was made:
 * they would touch the parent's lock. */
void ceni_alarm_init(ceni_alarm *alarm, void (*due)(ceni_alarm *alarm));

/* The same for an alarm of a crowd: very many may be due at one moment. The runtime calls one of these and one of the
 * others in turn, so a crowd delays the others by little. Among themselves they are called in the order of their
 * moments. Within one millisecond the order is not defined: timers of one millisecond may be moved in pieces. */
void ceni_alarm_init_of_crowd(ceni_alarm *alarm, void (*due)(ceni_alarm *alarm));
void ceni_errand_init(ceni_errand *errand, void (*run)(ceni_errand *errand));

/* Set an alarm for `moment`; it is due at once if that has passed. If it is set already, it is moved, will still be due
 * once, and the result is true. If the keeper could not be started, *status, if it is not NULL, is SYSTEM. The alarm is
 * set all the same, and the next call of this function tries to start the keeper again. */
bool ceni_alarm_set(cen_runtime *runtime, ceni_alarm *alarm, int64_t moment, cen_status *status);

/* Make sure that the keeper runs, until the runtime ends: then every alarm set later will be due. Errors: SYSTEM. */
cen_status ceni_alarm_need_keeper(cen_runtime *runtime);

/* True: it was set and will not be due. False: it was not set, or its call has begun. */
bool ceni_alarm_unset(cen_runtime *runtime, ceni_alarm *alarm);

/* Let one more helper run the errand soon. A helper is started if none is free and the limit allows it, so below the
 * limit an errand that blocks delays no other. If no thread can be started, the errand waits for the existing helpers.
 * SYSTEM: there are none, and nothing was posted. */
cen_status ceni_errand_post(cen_runtime *runtime, ceni_errand *errand);

/* Take back an errand that helpers have not begun. Return how many helpers still had to run it. */
uint32_t ceni_errand_unpost(cen_runtime *runtime, ceni_errand *errand);

/* For a thread that waits for an event of a manual runtime: run what is due, and return the moment, on the real clock,
 * until which it may sleep at most. In a runtime with threads: return CENI_FOREVER at once. */
int64_t ceni_runtime_tend(cen_runtime *runtime);

CENI_SPI_END

/* ---- The limit of helpers -------------------------------------------------------------- */

/* As ceni_errand_init, for a call of a driver, to which the runtime's limit applies: UNPROVEN, or CLOSING. */
void ceni_errand_init_limited(ceni_errand *errand, void (*run)(ceni_errand *errand), ceni_errand_kind kind);

/* Note whether the errand's last call has succeeded: at the limit it begins as PROVEN, or as UNPROVEN. */
void ceni_errand_prove(cen_runtime *runtime, ceni_errand *errand, bool proven);

/* Whether errands wait because of the limit: then an errand with more work of its own ends and is posted again. A
 * guess. */
bool ceni_runtime_is_crowded(const cen_runtime *runtime);

/* How many helpers may be in calls of drivers. */
uint32_t ceni_runtime_limit(const cen_runtime *runtime);

/* ---- A manual runtime of a pollable, which is its only user that polls --------------------------------- */

/* As cen_runtime_poll; *ran is the number of alarms and errands that were run. Returns the moment of the next, one in
 * the past if more is due, or CENI_FOREVER. If another thread runs what is due, nothing is run, and CENI_FOREVER is
 * returned. That thread makes the runtime's descriptor readable when it ends, if anything is due by then or later. */
int64_t ceni_runtime_turn(cen_runtime *runtime, unsigned *ran);

/* Mark a user as resting: it sets no more alarms and posts no more errands. It may still read the clock. Before it
 * leaves, it calls ceni_runtime_rest_no_more. */
void ceni_runtime_rest(cen_runtime *runtime);
void ceni_runtime_rest_no_more(cen_runtime *runtime);

/* The number of users that do not rest. */
uint32_t ceni_runtime_active_users(cen_runtime *runtime);

/* Leave an explicit manual runtime, of which the caller is a user. The runtime then ends with its last user. That user
 * calls `gone` after the runtime's memory was freed, on its own thread, with no lock held. If the caller is the last
 * user, `gone` is called here. Errors: BUSY (other users do not rest, or an errand is queued, or a runner is active):
 * nothing changes. */
cen_status ceni_runtime_let_go(cen_runtime *runtime, void (*gone)(void *argument), void *argument);

/* The moment of the next alarm or errand, one in the past if it is due, or CENI_FOREVER. */
int64_t ceni_runtime_next(cen_runtime *runtime);

#endif
