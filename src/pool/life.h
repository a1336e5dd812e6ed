/* SPDX-License-Identifier: MIT */
/* The life of a pool and of its objects: made, opened, tested, reset, kept, closed, and who does it. */
#ifndef CENI_POOL_LIFE_H
#define CENI_POOL_LIFE_H

#include "pool/pool.h"

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

/* ---- new.c: the runtime, if something needs one ------------------------------------------- */

/* Errors: NO_MEMORY, SYSTEM. */
cen_status ceni_pool_need_runtime(cen_pool *pool);

/* The same, and its alarm will ring: for one who promises to keep a deadline. */
cen_status ceni_pool_need_timekeeper(cen_pool *pool);

/* ---- periods.c: how often the housekeeper comes ---------------------------------------------- */

/* The time between two rounds, by these options; CENI_FOREVER: none are needed. */
int64_t ceni_period_of(const cen_pool *pool, const cen_pool_options *options, bool calm);

/* The least time between two rounds that come because a life ends or a reap is due. */
int64_t ceni_period_apart_locked(const cen_pool *pool, int64_t now);

/* When the object in that slot is too old, by the limit or by a reload that is spread; CENI_FOREVER: never. */
int64_t ceni_period_life_ends(const cen_pool_options *limits, ceni_slot *slot, uint32_t index);

/* ---- keeper.c: its rounds -------------------------------------------------------------------- */

/* Why an idle object is closed by cen_pool_reap, or later on its account. */
#define CENI_WHY_REAPED "it was idle, and the pool is reaped"

/* An opening for the minimum has failed, or none may begin: a round comes when the gate admits one. */
void ceni_keeper_retry_locked(cen_pool *pool);

/* Whether rounds, back-off or helpers may be needed with these options. */
bool ceni_keeper_is_needed(const cen_pool *pool, const cen_pool_options *options);

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

/* ---- hands.c: what keeps a pool's memory, and letting go ---------------------------- */

/* The last hand of a freed, empty pool gives the memory back. Drops the lock. */
void ceni_hand_drop_locked(cen_pool *pool);

/* Sets the alarm to the moment that was planned, which others may be changing; has a hand, and drops it. */
void ceni_hand_alarm(cen_pool *pool);

/* Posts so many errands; each has a hand. */
void ceni_hand_hire(cen_pool *pool, uint32_t count);
void ceni_hand_hire_closers(cen_pool *pool, uint32_t count);

/* An errand is about to call the driver, and has called it. */
void ceni_hand_enter_driver(cen_pool *pool);
void ceni_hand_leave_driver(cen_pool *pool);

/* The end of an errand that counted itself in `working`. Drops its hand and the lock. */
void ceni_hand_end_work_locked(cen_pool *pool);

/* The same for the alarm's call, which ceni_hand_alarm has counted in `rings`. */
void ceni_hand_end_ring_locked(cen_pool *pool);

/* Makes the calls that are due on this thread, which has a hand: no helper makes them while the process exits. */
void ceni_hand_work_here(cen_pool *pool);

/* Waits until every errand of a closed pool has ended or is in a call of the driver. The caller has a hand. */
void ceni_hand_await_work(cen_pool *pool);

/* ---- exit.c: the end of the process ------------------------------------------------------ */

/* prepare or init of the driver has returned, and, the second, open: a client library may have been initialised there. */
void ceni_exit_prepared(const cen_pool *pool);
void ceni_exit_opened(const cen_pool *pool);

/* ---- chores.c: what helpers do --------------------------------------------------------- */

void ceni_chores_init(cen_pool *pool);

/* Writes into `call` how many helpers there is work for. Every event that makes work ends here, or in the pump. */
void ceni_chores_plan_locked(cen_pool *pool, ceni_followup *call);

/* The last call of the driver has succeeded, or failed or takes too long: which pools' calls go first at the runtime's limit. */
void ceni_chores_prove(cen_pool *pool, bool succeeded);

/* Calls that wait for a helper because the runtime's limit is reached, or the pool's share of it; *limit is what the runtime's
 * is. 0: none. */
uint32_t ceni_chores_crowded_locked(cen_pool *pool, uint32_t *limit);

/* Somebody who does not wait would like an object: one is opened, if that may be. */
void ceni_chores_wish(cen_pool *pool);

/* Does what is to be done, on this thread, with a hand; drops the lock meanwhile. */
void ceni_chores_work_locked(cen_pool *pool);

/* A reset has ended what the last holder left open, as `what` says: told once for each call site. The slot is the caller's. */
void ceni_left_open(cen_pool *pool, uint32_t index, uint64_t generation, const char *what);

/* Checks what was given, RESETTING by now, and makes it idle, resets or ends it. */
void ceni_chores_check(cen_pool *pool, uint32_t index, uint64_t generation);

/* What follows when the driver has said in which condition it is. */
void ceni_chores_checked(cen_pool *pool, uint32_t index, uint64_t generation, cen_condition condition);

/* Tests a slot that is TESTING, here or on a helper; then it is idle, or ends. */
void ceni_chores_test(cen_pool *pool, uint32_t index);

/* What the driver said about a failure, or the code's own sentence. */
const char *ceni_outcome_words(const ceni_call_outcome *how);

/* Whether a test that is queued now can begin at once: if the driver blocks, whether a helper is left for it. */
bool ceni_chores_may_test_locked(const cen_pool *pool);

/* Nobody waits any longer for the test of that slot: true if somebody did. */
bool ceni_chores_unwant_locked(cen_pool *pool, ceni_slot *slot);

void ceni_checks_add(ceni_checks *checks, uint32_t index, int64_t took_ns, const char *said);

/* Tests an object on this thread. A failure is added to *checks, unless that is NULL. */
bool ceni_chores_works(cen_pool *pool, ceni_slot *slot, ceni_checks *checks);

/* The call with that slot is over: what follows, whoever made it, and however long ago. The last: another may begin. */
void ceni_chores_follow(cen_pool *pool, ceni_chore chore, uint32_t index, const ceni_call_outcome *how);
void ceni_chores_replan(cen_pool *pool, ceni_chore done);

/* ---- queues.c: slots that wait for a helper ------------------------------------------------- */

void ceni_queues_init(cen_pool *pool);

/* Queues a slot, in the state that the chore needs; plan afterwards. */
void ceni_queues_add_locked(cen_pool *pool, ceni_chore chore, ceni_slot *slot);

/* Takes out the slot that has waited longest and returns its index. At least one waits. */
uint32_t ceni_queues_pop_locked(cen_pool *pool, ceni_chore chore);

/* ---- trust.c: tests for who cannot test ------------------------------------------------------ */

/* Whether what was idle for long must be tested before it is handed to the first in line: a thread can do it itself,
 * if the driver lets it. */
bool ceni_trust_needs_test(const cen_pool *pool, bool pending);

/* For one who cannot test: takes what is idle and need not be tested. If there are only others, one of them is put to
 * the test, unless as many are as wait, and newcomers; whoever waits gets it when it has passed. */
bool ceni_trust_take_locked(cen_pool *pool, uint32_t hint, uint32_t newcomers, ceni_grant *out, ceni_followup *call);

/* One was found broken, or failed its test: what is idle now may be, too, and is tested before it is lent. */
void ceni_trust_shaken(cen_pool *pool);

/* Tests a slot that the pump has put to the test, on this thread. Its caller pumps again. */
void ceni_trust_test_for_pending(cen_pool *pool, uint32_t index);

/* ---- checkup.c: the test of what a take has found, made by a helper ---------------------------- */

/* Whether a take with that deadline, on the pool's clock, and that token has what it found tested by a helper. */
bool ceni_checkup_is_due(cen_pool *pool, int64_t moment, const cen_stop_token *stop);

/* Has a slot that is HELD by the caller tested, and sleeps until then, the deadline of `terms`, or until the program ends it. OK:
 * it passed, and is the caller's as before. DRIVER: it failed, and is not. TIMEOUT, INTERRUPTED, FORKED: the test goes on without
 * the caller. CLOSED: the pool is closed, and may be gone. BUSY: no test was begun, and the slot is as it was. All but the first
 * and the last two are noted. A cancellation point. */
cen_status ceni_checkup_make(cen_pool *pool, const ceni_grant *grant, const ceni_wait_terms *terms,
                             ceni_checks *checks);

/* Ends the sleep of a take of that holder; false: there is none. */
bool ceni_checkup_interrupt(cen_pool *pool, uint64_t holder);

/* A test has ended, with those words if it failed: the take that sleeps is told. True: the slot is the take's. */
bool ceni_checkup_ends(cen_pool *pool, uint32_t index, uint64_t generation, const char *failure);

/* The test of that slot takes too long: whom to wake, when the lock was dropped; NULL: nobody. */
_Atomic uint32_t *ceni_checkup_overdue_locked(ceni_slot *slot);
void ceni_checkup_wake(_Atomic uint32_t *word);

/* The pool is closed: tells all who sleep. */
void ceni_checkups_send_away(cen_pool *pool);

/* ---- opening.c: how openings went ----------------------------------------------------------- */

/* The opening in that place has ended, or, for the second, takes too long: the gate is told, of each once, and
 * how it changed is answered for the event stream. */
ceni_opening_events ceni_opening_ended_locked(cen_pool *pool, uint32_t index, int64_t began,
                                              const ceni_call_outcome *how, const cen_error *why);
ceni_opening_events ceni_opening_overdue_locked(cen_pool *pool, uint32_t index, const cen_error *why);

/* Tells the event stream how an opening went. */
void ceni_opening_tell(cen_pool *pool, uint32_t index, cen_status status, ceni_opening_events events,
                       const cen_error *why);

/* An object has been opened in a claimed place: what is noted about it. */
void ceni_opening_done(cen_pool *pool, ceni_slot *slot, int64_t now);

/* A place was claimed for an opening, and counts. */
void ceni_opening_begins_locked(cen_pool *pool);

/* Lets one more be tried, if its moment has come: true then. */
bool ceni_opening_pass_time_locked(cen_pool *pool, int64_t now);

/* Whether nothing will come but what is opened, and that fails, and a take with that deadline, on the pool's clock, has no
 * time left for another try: it need not wait. */
bool ceni_opening_is_vain_locked(const cen_pool *pool, int64_t deadline);

/* A waiter of whom that is true, or, without back-off, for whom an opening has failed; NULL if there is none. */
ceni_pool_waiter *ceni_opening_vain_waiter_locked(const cen_pool *pool);

/* When the first will be true of all waiters; CENI_FOREVER if it will not, or nobody waits. */
int64_t ceni_opening_hope_ends_locked(const cen_pool *pool);

/* ---- later.c: calls that are done later --------------------------------------------------- */

/* Whether the driver does that later. */
bool ceni_later_does(const cen_pool *pool, ceni_chore chore);

/* Issues a ticket for the chore that was picked, with a hand on the pool. */
cen_ticket ceni_later_issue_locked(cen_pool *pool, ceni_chore chore, uint32_t index, bool for_minimum);

/* Calls the driver's start. The slot is not the caller's any more. */
void ceni_later_start(cen_pool *pool, ceni_chore chore, uint32_t index, cen_ticket ticket);

/* The same for the close of an orphan, which has no slot: *number is in its ticket. */
cen_ticket ceni_later_ticket_locked(cen_pool *pool, uint64_t *number);
void ceni_later_close_orphan(cen_pool *pool, void *object, cen_ticket ticket);

/* Nobody wants what the call with that slot will bring: false if there is none, or it has been said before. The second
 * tells the driver, with no lock held, by one who keeps the pool. */
bool ceni_later_withdraw_locked(cen_pool *pool, uint32_t index, cen_ticket *out);
void ceni_later_cancel(cen_pool *pool, cen_ticket ticket);

/* The pool is closed: the same for all that open, test or reset. */
void ceni_later_cancel_all(cen_pool *pool);

/* ---- keeper.c: rounds ------------------------------------------------------------------- */

void ceni_keeper_init(cen_pool *pool);

/* Plans when the keeper is to come next, and writes it into `call`. */
void ceni_keeper_plan_locked(cen_pool *pool, ceni_followup *call);

/* After a time of calm an object is new, or out again: rounds go on. */
void ceni_keeper_nudge(cen_pool *pool);

/* Takes the alarm back, if it has not rung: the pool is closed. */
void ceni_keeper_retire(cen_pool *pool);

/* How long the slot has been seen with that word, on the pool's clock; 0 the first time. (look.c) */
int64_t ceni_slot_age(cen_pool *pool, ceni_slot *slot, uint64_t word);
int64_t ceni_slot_age_known(cen_pool *pool, ceni_slot *slot, uint64_t word, bool *exact);

/* From now on every lease has an age. */
void ceni_slots_meet_holders(cen_pool *pool);

/* Fills in what one slot has; false if it has no object to show. (look.c) */
bool ceni_slot_holding(cen_pool *pool, uint32_t index, cen_object_view *out);

/* The same of an object in any state; false if there is none. */
bool ceni_slot_shows(cen_pool *pool, uint32_t index, cen_object_view *out);

/* One round over all slots, on this thread, in one go: for tests. */
void ceni_keeper_round(cen_pool *pool);

/* ---- settings.c --------------------------------------------------------------------------- */

/* How many max_idle or max_waiters stands for. */
static inline uint64_t ceni_settings_number(int32_t number)
{
    return number == CEN_OFF ? UINT64_MAX : number == CEN_NONE ? 0 : (uint64_t)number;
}

/* Checks options and fills in defaults; `call` begins the text of an error. */
cen_status ceni_settings_check(const cen_pool_options *given, cen_pool_options *filled, cen_driver_calls *calls,
                               const char *call, cen_error *error);

/* Sets another max and, unless it is NULL, all other options, in one step. (resize.c) */
cen_status ceni_pool_resize(cen_pool *pool, uint32_t max, const cen_pool_options *options, cen_error *error);

/* Puts all but max in force; whoever calls this pumps. */
void ceni_settings_take_locked(cen_pool *pool, const cen_pool_options *options);

/* What the quick path reads, by what is set now. */
void ceni_settings_apply_locked(cen_pool *pool);

/* Copies the options for a child that is forked from now on. Call after every change. */
void ceni_settings_keep_locked(cen_pool *pool);

/* The options that were in force at the fork: the set before a change or the set after it, never a mix. */
const cen_pool_options *ceni_settings_kept(cen_pool *pool);

/* ---- close.c: the parts of a close ---------------------------------------------------------- */

/* Marks the pool closed; false if it was before. True: the caller has a hand. */
bool ceni_close_mark(cen_pool *pool);

/* Sends those who wait away and closes what is idle; later what is still out is revoked. */
void ceni_close_begin(cen_pool *pool, cen_close_report *report);
void ceni_close_revoke_all(cen_pool *pool);

/* Fills in what became of the rest; OK if nothing is left, else TIMEOUT with its text. */
void ceni_close_count_locked(const cen_pool *pool, cen_close_report *report);
cen_status ceni_close_answer(cen_pool *pool, const cen_close_report *report, cen_error *error);

#endif
