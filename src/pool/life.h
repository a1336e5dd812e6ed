/* SPDX-License-Identifier: MIT */
/* The life of a pool and of its objects: creation, opening, health checks, reset, upkeep and close. */
#ifndef CENI_POOL_LIFE_H
#define CENI_POOL_LIFE_H

#include "pool/pool.h"

/* ---- new.c: steps that renew.c shares ---------------------------------------------- */

/* Return a number that no pool of this process or of its parents has or has had. */
uint64_t ceni_pool_number(void);

/* Initialise a zeroed pool: its number, slots and lists. */
void ceni_pool_furnish(cen_pool *pool, uint64_t id, ceni_chunk *chunk);

/* Apply the options of a pool that has a wait queue and, if needed, a runtime. */
void ceni_pool_set_up(cen_pool *pool);

/* Join the directory. */
void ceni_pool_enlist(cen_pool *pool);

/* Plan the first round of the housekeeper. */
void ceni_pool_start_keeping(cen_pool *pool);

/* ---- new.c: the runtime, joined when it is needed ------------------------------------------ */

/* Join the runtime if the pool has none yet. Errors: NO_MEMORY, SYSTEM. */
cen_status ceni_pool_need_runtime(cen_pool *pool);

/* The same, and make sure that the runtime has a keeper thread, for a caller that promises a deadline. */
cen_status ceni_pool_need_timekeeper(cen_pool *pool);

/* ---- periods.c: the period of the housekeeper's rounds ---------------------------------------- */

/* The time between two rounds with these options; CENI_FOREVER: no rounds are needed. */
int64_t ceni_period_of(const cen_pool *pool, const cen_pool_options *options, bool calm);

/* The least time between two rounds whose reason is the end of a lifetime or a reap. */
int64_t ceni_period_apart_locked(const cen_pool *pool, int64_t now);

/* When the object in that slot is too old, by max_lifetime_ns or by a reload with a spread; CENI_FOREVER: never. */
int64_t ceni_period_life_ends(const cen_pool_options *limits, ceni_slot *slot, uint32_t index);

/* ---- keeper.c: its rounds -------------------------------------------------------------------- */

/* The reason in the event of an object that is closed by cen_pool_reap, at once or later. */
#define CENI_WHY_REAPED "idle when the pool was reaped"

/* An opening for min_idle has failed, or none may begin: plan a round for when the gate admits one. */
void ceni_keeper_retry_locked(cen_pool *pool);

/* Return true if rounds, back-off or helpers may be needed with these options. */
bool ceni_keeper_is_needed(const cen_pool *pool, const cen_pool_options *options);

/* ---- renew.c: in the child of a fork ------------------------------------------------ */

/* Return true if the pool belongs to this process: only then may its other fields be read. */
bool ceni_pool_is_ours(const cen_pool *pool);

/* Renew a pool that belongs to a parent process, if its options say so. Errors: FORKED, NO_MEMORY, SYSTEM. */
cen_status ceni_renew(cen_pool *pool, cen_error *error);
cen_status ceni_renew_refuse(const cen_pool *pool, cen_error *error);

/* Return true if the slot belonged to the pool before a fork. */
bool ceni_renew_is_former(const cen_pool *pool, const void *slot);

/* Free the memory of such slots. */
void ceni_renew_forget(cen_pool *pool);

/* ---- hands.c: references that keep a pool's memory ----------------------------------- */

/* Drop a hand, and the lock. The last hand of a freed, empty pool frees the memory. */
void ceni_hand_drop_locked(cen_pool *pool);

/* Set the alarm to the planned moment, which other threads may be changing. The caller has a hand, which is dropped. */
void ceni_hand_alarm(cen_pool *pool);

/* Post `count` errands; each has a hand. */
void ceni_hand_hire(cen_pool *pool, uint32_t count);
void ceni_hand_hire_closers(cen_pool *pool, uint32_t count);

/* An errand is about to call the driver; the call has returned. */
void ceni_hand_enter_driver(cen_pool *pool);
void ceni_hand_leave_driver(cen_pool *pool);

/* End an errand that is counted in `working`. Drops its hand and the lock. */
void ceni_hand_end_work_locked(cen_pool *pool);

/* The same for the alarm's call, which ceni_hand_alarm has counted in `rings`. */
void ceni_hand_end_ring_locked(cen_pool *pool);

/* Make the driver calls that are due on this thread, which has a hand: helpers begin none while the process exits. */
void ceni_hand_work_here(cen_pool *pool);

/* Wait until every errand of a closed pool has ended or is in a driver call. The caller has a hand. */
void ceni_hand_await_work(cen_pool *pool);

/* ---- exit.c: the end of the process ------------------------------------------------------ */

/* The driver's prepare or init has returned; the second: its open. A client library may have been initialised there. */
void ceni_exit_prepared(const cen_pool *pool);
void ceni_exit_opened(const cen_pool *pool);

/* ---- chores.c: driver calls by helpers -------------------------------------------------- */

void ceni_chores_init(cen_pool *pool);

/* Write into `followup` how many helpers are needed. Every event that makes work ends here, or in the pump. */
void ceni_chores_plan_locked(cen_pool *pool, ceni_followup *followup);

/* Note whether the last driver call has succeeded. At the runtime's limit of helpers, pools whose last call succeeded
 * come first. */
void ceni_chores_prove(cen_pool *pool, bool succeeded);

/* Return the number of driver calls that wait for a helper because the runtime's limit, or the pool's share of it, is
 * reached; 0: none. *limit is the runtime's limit. */
uint32_t ceni_chores_crowded_locked(cen_pool *pool, uint32_t *limit);

/* A take that does not wait has found nothing: have one object opened for the next take, if that is allowed. */
void ceni_chores_wish(cen_pool *pool);

/* Make the driver calls that are due, on this thread, which has a hand; drops the lock meanwhile. */
void ceni_chores_work_locked(cen_pool *pool);

/* A reset has ended something that the last holder left open; `what` describes it. Reported once for each call site.
 * The caller owns the slot. */
void ceni_left_open(cen_pool *pool, uint32_t index, uint64_t generation, const char *what);

/* Call the driver's check for an object that was given and is RESETTING, and then make it idle, reset it or close it.
 * */
void ceni_chores_check(cen_pool *pool, uint32_t index, uint64_t generation);

/* Continue after the driver's check. */
void ceni_chores_checked(cen_pool *pool, uint32_t index, uint64_t generation, cen_condition condition);

/* Test a slot that is TESTING, here or on a helper. Afterwards it is idle, or its object is closed. */
void ceni_chores_test(cen_pool *pool, uint32_t index);

/* The driver's text for a failure, or the text of the status. */
const char *ceni_outcome_words(const ceni_call_outcome *how);

/* Return true if a test that is queued now can begin at once: with a blocking driver, if a helper is available for
 * it. */
bool ceni_chores_may_test_locked(const cen_pool *pool);

/* No waiter waits any longer for the test of that slot. Returns true if one did. */
bool ceni_chores_unwant_locked(cen_pool *pool, ceni_slot *slot);

void ceni_checks_add(ceni_checks *checks, uint32_t index, int64_t took_ns, const char *said);

/* Test an object on this thread. Returns true if it works. A failure is added to *checks, unless that is NULL. */
bool ceni_chores_works(cen_pool *pool, ceni_slot *slot, ceni_checks *checks);

/* Continue after the driver call for that slot has completed. ceni_chores_replan: another call may begin. */
void ceni_chores_follow(cen_pool *pool, ceni_chore chore, uint32_t index, const ceni_call_outcome *how);
void ceni_chores_replan(cen_pool *pool, ceni_chore done);

/* ---- queues.c: slots that wait for a helper ------------------------------------------------- */

void ceni_queues_init(cen_pool *pool);

/* Queue a slot that is in the state for the chore. The caller plans afterwards. */
void ceni_queues_add_locked(cen_pool *pool, ceni_chore chore, ceni_slot *slot);

/* Remove the slot that has waited longest and return its index. The queue is not empty. */
uint32_t ceni_queues_pop_locked(cen_pool *pool, ceni_chore chore);

/* ---- trust.c: tests for takes that cannot test themselves -------------------------------------- */

/* Return true if an object that was idle for long must be tested before it is handed to the first waiter, because
 * that waiter cannot test it itself: it is pending, or the driver tests asynchronously. */
bool ceni_trust_needs_test(const cen_pool *pool, bool pending);

/* Take, for a waiter that cannot test, an idle object that need not be tested. If there are only others, put one of
 * them to the test, unless there are already as many tests as waiters plus newcomers; the first waiter gets it when
 * it has passed. */
bool ceni_trust_take_locked(cen_pool *pool, uint32_t hint, uint32_t newcomers, ceni_grant *out,
                            ceni_followup *followup);

/* An object was found broken, or has failed its test: all objects that are idle now are tested before they are lent. */
void ceni_trust_shaken(cen_pool *pool);

/* Test a slot that the pump has put to the test, on this thread. The caller pumps again. */
void ceni_trust_test_for_pending(cen_pool *pool, uint32_t index);

/* ---- checkup.c: a helper tests the object that a take has found ---------------------------------- */

/* Return true if a take with that deadline, on the pool's clock, and that token has its object tested by a helper. */
bool ceni_checkup_is_due(cen_pool *pool, int64_t moment, const cen_stop_token *stop);

/* Have a slot that the caller holds tested. Sleeps until the test has ended, the deadline of `terms` has passed, or
 * the program ends the take. OK: it passed, and the caller holds it as before. DRIVER: it failed; the caller does not
 * hold it. TIMEOUT, INTERRUPTED, FORKED: the test goes on without the caller. CLOSED: the pool is closed, and may be
 * gone. BUSY: no test was begun, and the slot is unchanged. Results other than OK, CLOSED and BUSY are noted in
 * *checks. A cancellation point. */
cen_status ceni_checkup_make(cen_pool *pool, const ceni_grant *grant, const ceni_wait_terms *terms,
                             ceni_checks *checks);

/* Interrupt the sleeping take of that holder. Returns false if there is none. */
bool ceni_checkup_interrupt(cen_pool *pool, uint64_t holder);

/* A test has ended; `failure` is NULL if it passed. Notify the sleeping take. Returns true if the take owns the slot
 * now. */
bool ceni_checkup_ends(cen_pool *pool, uint32_t index, uint64_t generation, const char *failure);

/* The test of that slot takes too long: notify its take. Returns the word to wake after the lock was dropped; NULL:
 * none. */
_Atomic uint32_t *ceni_checkup_overdue_locked(ceni_slot *slot);
void ceni_checkup_wake(_Atomic uint32_t *word);

/* The pool is closed: notify all sleeping takes. */
void ceni_checkups_send_away(cen_pool *pool);

/* ---- opening.c: the outcome of openings ------------------------------------------------------- */

/* The opening in that place has ended; for the second function: it takes too long. Tell the gate, once for each
 * opening. Returns what changed, for the events. */
ceni_opening_events ceni_opening_ended_locked(cen_pool *pool, uint32_t index, int64_t began,
                                              const ceni_call_outcome *how, const cen_error *why);
ceni_opening_events ceni_opening_overdue_locked(cen_pool *pool, uint32_t index, const cen_error *why);

/* Write the events of an opening. */
void ceni_opening_tell(cen_pool *pool, uint32_t index, cen_status status, ceni_opening_events events,
                       const cen_error *why);

/* An object was opened in a claimed place: initialise the slot's fields. */
void ceni_opening_done(cen_pool *pool, ceni_slot *slot, int64_t now);

/* A place was claimed for an opening, and is counted. */
void ceni_opening_begins_locked(cen_pool *pool);

/* Admit one more opening if its moment has come. Returns true then. */
bool ceni_opening_pass_time_locked(cen_pool *pool, int64_t now);

/* Return true if a take with that deadline, on the pool's clock, need not wait: it can be served only by an opening,
 * openings fail, and no further try is possible in its time. */
bool ceni_opening_is_vain_locked(const cen_pool *pool, int64_t deadline);

/* A waiter for which that is true, or, without back-off, during whose wait an opening has failed; NULL if there is
 * none. */
ceni_pool_waiter *ceni_opening_vain_waiter_locked(const cen_pool *pool);

/* When that will be true for all waiters; CENI_FOREVER if it will not, or if there is no waiter. */
int64_t ceni_opening_hope_ends_locked(const cen_pool *pool);

/* ---- later.c: driver calls that complete later ---------------------------------------------- */

/* Return true if the driver completes calls of that kind later. */
bool ceni_later_does(const cen_pool *pool, ceni_chore chore);

/* Issue a ticket for the chore that was picked. The ticket has a hand on the pool. */
cen_ticket ceni_later_issue_locked(cen_pool *pool, ceni_chore chore, uint32_t index, bool for_minimum);

/* Call the driver's function that starts the call. From then on the caller does not own the slot. */
void ceni_later_start(cen_pool *pool, ceni_chore chore, uint32_t index, cen_ticket ticket);

/* The same for the close of an orphan, which has no slot: *number is the ticket's number. */
cen_ticket ceni_later_ticket_locked(cen_pool *pool, uint64_t *number);
void ceni_later_close_orphan(cen_pool *pool, void *object, cen_ticket ticket);

/* The result of the running call for that slot is not wanted: withdraw its ticket. Returns false if there is none, or
 * it was withdrawn before. ceni_later_cancel tells the driver, with no lock held; the caller keeps the pool alive. */
bool ceni_later_withdraw_locked(cen_pool *pool, uint32_t index, cen_ticket *out);
void ceni_later_cancel(cen_pool *pool, cen_ticket ticket);

/* The pool is closed: the same for all running opens, tests and resets. */
void ceni_later_cancel_all(cen_pool *pool);

/* ---- keeper.c: rounds ------------------------------------------------------------------- */

void ceni_keeper_init(cen_pool *pool);

/* Plan when the keeper comes next, and write into `followup` that the alarm must be set. */
void ceni_keeper_plan_locked(cen_pool *pool, ceni_followup *followup);

/* An object is new or lent after a calm time: go on with regular rounds. */
void ceni_keeper_nudge(cen_pool *pool);

/* The pool is closed: unset the alarm, if it has not rung. */
void ceni_keeper_retire(cen_pool *pool);

/* For how long the slot has been seen with that word, on the pool's clock; 0 the first time. (holding.c) */
int64_t ceni_slot_age(cen_pool *pool, ceni_slot *slot, uint64_t word);
int64_t ceni_slot_age_known(cen_pool *pool, ceni_slot *slot, uint64_t word, bool *exact);

/* Mark the slot as seen with that word. (holding.c) */
void ceni_slot_meet(const cen_pool *pool, ceni_slot *slot, uint64_t word);

/* Mark all leases, so that each has an age from now on. */
void ceni_slots_meet_holders(cen_pool *pool);

/* Fill in *out for an idle, held or revoked object of that slot; false if it has none. (holding.c) */
bool ceni_slot_holding(cen_pool *pool, uint32_t index, cen_object_view *out);

/* The same for an object in any state. */
bool ceni_slot_shows(cen_pool *pool, uint32_t index, cen_object_view *out);

/* One whole round over all slots, on this thread: for tests. */
void ceni_keeper_round(cen_pool *pool);

/* ---- settings.c --------------------------------------------------------------------------- */

/* The number that max_idle or max_waiters stands for. */
static inline uint64_t ceni_settings_number(int32_t number)
{
    return number == CEN_OFF ? UINT64_MAX : number == CEN_NONE ? 0 : (uint64_t)number;
}

/* Check options and fill in defaults. `call` begins the text of an error. */
cen_status ceni_settings_check(const cen_pool_options *given, cen_pool_options *filled, cen_driver_calls *calls,
                               const char *call, cen_error *error);

/* Set max and, unless `options` is NULL, all other options, in one step. (resize.c) */
cen_status ceni_pool_resize(cen_pool *pool, uint32_t max, const cen_pool_options *options, cen_error *error);

/* Put all options except max in force. The caller pumps. */
void ceni_settings_take_locked(cen_pool *pool, const cen_pool_options *options);

/* Update the atomic copies of settings that are read without the lock. */
void ceni_settings_apply_locked(cen_pool *pool);

/* Copy the options for forked children. Called after every change. */
void ceni_settings_keep_locked(cen_pool *pool);

/* The options in force at the fork: those from before a change or those after it, never a mix. */
const cen_pool_options *ceni_settings_kept(cen_pool *pool);

/* ---- close.c: the parts of a close ---------------------------------------------------------- */

/* Mark the pool as closed. Returns false if it was closed before; true: the caller has a hand. */
bool ceni_close_mark(cen_pool *pool);

/* Send the waiters away and close idle objects; the second function, later: revoke the leases that are still out. */
void ceni_close_begin(cen_pool *pool, cen_close_report *report);
void ceni_close_revoke_all(cen_pool *pool);

/* Fill in the report's counts; and return OK if nothing is left, otherwise TIMEOUT with its text. */
void ceni_close_count_locked(const cen_pool *pool, cen_close_report *report);
cen_status ceni_close_answer(cen_pool *pool, const cen_close_report *report, cen_error *error);

#endif
