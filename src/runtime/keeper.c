/* SPDX-License-Identifier: MIT */
/*
 * Alarms, and the keeper that calls them.
 *
 *     set:    in the wheel ............... unset: out again
 *     keeper: wheel ▶ due ▶ taken out ▶ called, with no lock held
 *
 * Invariants
 * I1  An alarm that is set is in its wheel or in `due`, once. The thread that takes it out, under the mutex, decides
 *     whether it is unset or called.
 * I2  While the keeper sleeps, one of these holds. keeper_until is no later than the first moment in the wheel, and
 *     `due` is empty. Or keeper_turns has changed since the keeper looked: it will not sleep, or is being woken.
 * I3  has_keeper is true only of a keeper that was started. It is started with the mutex held, once in the life of a
 *     runtime, so that no thread relies on a keeper whose start then fails.
 *
 * One naive set always wakes the keeper: a system call for every deadline that moves. Another compares with the wheel's
 * first moment before the insertion: a keeper that was woken and has not looked yet is woken again and again, and one
 * whose first alarm was moved later sleeps too long for the next. Here set compares with the moment until which the
 * keeper sleeps (I2).
 *
 * The crowd. A hundred thousand tasks may have one deadline. In one wheel with all other alarms they would be called
 * before alarms that were set for a little later, and moving them out of the wheel would hold the mutex for long. So
 * they have a wheel of their own, which is advanced in pieces, and the keeper calls one of them and one of the others
 * in turn.
 *
 * The wheel may ask to be advanced before its first moment. Then the keeper wakes without an alarm to call, a handful
 * of times at most for one alarm.
 *
 * keeper_turns is a futex word that is written under the mutex and relaxed. The mutex orders everything else.
 *
 * Tested by tests/unit/runtime/alarm_test.c, tests/explore/runtime_alarm_test.c.
 */
#include "base/plant.h"
#include "port/process_exit.h"
#include "runtime/internal.h"

enum {
    ORDINARY = 0, /* the kinds of timers */
    OF_CROWD,
    CROWD_PIECE = 256, /* timers that are moved in one critical section */
};

void ceni_alarm_init(ceni_alarm *alarm, void (*due)(ceni_alarm *alarm))
{
    alarm->due = due;
    ceni_wheel_timer_init(&alarm->timer);
}

void ceni_alarm_init_of_crowd(ceni_alarm *alarm, void (*due)(ceni_alarm *alarm))
{
    ceni_alarm_init(alarm, due);
    alarm->timer.kind = OF_CROWD;
}

static ceni_wheel *wheel_of(cen_runtime *runtime, const ceni_alarm *alarm)
{
    return alarm->timer.kind == OF_CROWD ? &runtime->crowd : &runtime->wheel;
}

/* ---- The keeper ------------------------------------------------------------------- */

int64_t ceni_alarms_next_locked(const cen_runtime *runtime)
{
    if (!ceni_list_empty(&runtime->due) || !ceni_list_empty(&runtime->crowd_due)) return INT64_MIN;
    int64_t next = ceni_wheel_next(&runtime->wheel), crowd = ceni_wheel_next(&runtime->crowd);
    return next < crowd ? next : crowd;
}

/* One of the crowd and one of the others in turn. */
static ceni_wheel_timer *take_due_locked(cen_runtime *runtime, int64_t now)
{
    if (ceni_list_empty(&runtime->due) && ceni_wheel_next(&runtime->wheel) <= now)
        ceni_wheel_advance(&runtime->wheel, now, &runtime->due);
    bool others = !ceni_list_empty(&runtime->due);
    bool crowd = !others || runtime->crowd_is_next;
    if (crowd && ceni_list_empty(&runtime->crowd_due) && ceni_wheel_next(&runtime->crowd) <= now)
        ceni_wheel_advance_some(&runtime->crowd, now, &runtime->crowd_due, CROWD_PIECE);
    crowd = crowd && !ceni_list_empty(&runtime->crowd_due);
    runtime->crowd_is_next = !crowd;
    return ceni_timer_take(crowd ? &runtime->crowd_due : &runtime->due);
}

ceni_ran ceni_alarms_run_locked(cen_runtime *runtime, int64_t now)
{
    ceni_wheel_timer *timer = take_due_locked(runtime, now);
    if (!timer) return CENI_RAN_NOTHING;
    ceni_alarm *alarm = CENI_LIST_ENTRY(timer, ceni_alarm, timer);
    uint64_t epoch = runtime->epoch;
    /* At exit alarms go on, not counted as calls: deadlines hold until the end. A thread that polls is the
     * program's. */
    uint64_t call = runtime->manual ? 0 : ceni_exit_call_begin();
    ceni_runtime_unlock(runtime);
    ceni_rank_expect_none("an alarm");
    alarm->due(alarm); /* its memory may be gone when this returns */
    if (!ceni_fork_is(epoch)) return CENI_RAN_AWAY;
    ceni_runtime_lock(runtime);
    if (call) ceni_exit_call_end(call);
    return CENI_RAN_ONE;
}

static void sleep_locked(cen_runtime *runtime)
{
    int64_t until = ceni_alarms_next_locked(runtime);
    uint32_t seen = ceni_word_locked(&runtime->keeper_turns);
    runtime->keeper_until = until;
    ceni_runtime_unlock(runtime);
    ceni_futex_wait(&runtime->keeper_turns, seen, until);
    ceni_runtime_lock(runtime);
    runtime->keeper_until = INT64_MIN;
}

static void keep(void *argument)
{
    cen_runtime *runtime = argument;
    ceni_runtime_thread self;
    ceni_runtime_arrive_and_lock(runtime, &self);
    while (!runtime->stopping) {
        ceni_ran ran = ceni_alarms_run_locked(runtime, ceni_clock_now());
        if (ran == CENI_RAN_AWAY) return;
        if (ran == CENI_RAN_NOTHING) sleep_locked(runtime);
    }
    ceni_runtime_depart_locked(runtime, &self);
}

static cen_status have_keeper_locked(cen_runtime *runtime)
{
    if (runtime->has_keeper) return CEN_OK;
    runtime->threads++;
    cen_status status = ceni_runtime_start(runtime, "keeper", keep);
    runtime->has_keeper = status == CEN_OK;
    if (status != CEN_OK) runtime->threads--;
    return status;
}

/* Whether the keeper must be woken for an alarm at `moment`. A keeper that has been called already is not called
 * again. */
static bool call_keeper_locked(cen_runtime *runtime, int64_t moment, bool moved)
{
    if (moment >= runtime->keeper_until || (moved && ceni_planted(alarm_moved_in_silence))) return false;
    runtime->keeper_until = moment;
    ceni_word_turn_locked(&runtime->keeper_turns);
    return true;
}

/* ---- Set and unset ----------------------------------------------------------------- */

_Atomic uint32_t *ceni_alarm_set_locked(cen_runtime *runtime, ceni_alarm *alarm, int64_t moment, bool *moved,
                                        cen_status *had)
{
    *had = runtime->manual ? CEN_OK : have_keeper_locked(runtime);
    *moved = ceni_wheel_cancel(wheel_of(runtime, alarm), &alarm->timer);
    ceni_wheel_insert(wheel_of(runtime, alarm), &alarm->timer, moment);
    if (runtime->manual) ceni_manual_note_locked(runtime, moment);
    else if (call_keeper_locked(runtime, moment, *moved)) return &runtime->keeper_turns;
    return NULL;
}

bool ceni_alarm_set(cen_runtime *runtime, ceni_alarm *alarm, int64_t moment, cen_status *status)
{
    bool moved;
    cen_status had;
    ceni_runtime_lock(runtime);
    _Atomic uint32_t *word = ceni_alarm_set_locked(runtime, alarm, moment, &moved, &had);
    ceni_runtime_unlock(runtime);
    /* The alarm may have been called by now, and the runtime may be gone: only the address is used. */
    if (word) ceni_futex_wake(word, 1);
    if (status) *status = had;
    return moved;
}

cen_status ceni_alarm_need_keeper(cen_runtime *runtime)
{
    ceni_runtime_lock(runtime);
    cen_status status = runtime->manual ? CEN_OK : have_keeper_locked(runtime);
    ceni_runtime_unlock(runtime);
    return status;
}

bool ceni_alarm_unset(cen_runtime *runtime, ceni_alarm *alarm)
{
    ceni_runtime_lock(runtime);
    bool was_set = ceni_wheel_cancel(wheel_of(runtime, alarm), &alarm->timer);
    ceni_runtime_unlock(runtime);
    return was_set;
}
