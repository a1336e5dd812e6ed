/* SPDX-License-Identifier: MIT */
/*
 * Planted bugs: known mistakes that a test can switch on, so that the tests
 * themselves are tested.
 *
 * In a build with CENI_PLANTS the environment variable CENOTE_PLANT names the bug to switch on. In every other build
 * ceni_planted() is the constant false, and the bug is not in the binary. For each bug, tests/planted names the test
 * that must fail with the bug and pass without it.
 */
#ifndef CENI_BASE_PLANT_H
#define CENI_BASE_PLANT_H

#include <stdbool.h>

/* name, the mistake in words */
#define CENI_PLANT_LIST(X) \
    X(none, "nothing is planted") \
    X(line_put_twice, "two threads that count the first of a line have a line each, and one of them is lost") \
    X(record_lost_without_a_line, "a duration for which there is no line is not counted") \
    X(given_back_in_use, "memory of slots is given back although one of them is in use") \
    X(given_back_begins_again, "slots that were given back begin their generations again") \
    X(shrink_waits_for_a_resize, "slots that are emptied after a smaller max keep their memory") \
    X(every_slot_is_looked_at, "a look goes on behind the highest slot in use") \
    X(visit_misses_orphans, "a visit does not show orphans") \
    X(orphan_shown_late, "an orphan is shown to visits after its slot was emptied") \
    X(stale_give_uncounted, "a double give is not counted") \
    X(stale_variable_unseen, "a double give by the same variable is not told") \
    X(sized_reads_beyond, "a caller's struct is read beyond its size") \
    X(sized_writes_beyond, "a caller's struct is written beyond its size") \
    X(sized_ignores_the_tail, "a larger struct is accepted although it sets a field that is not known") \
    X(settle_without_asking, "a waiter is settled although somebody was first") \
    X(call_without_wake, "a called thread is not woken") \
    X(push_tells_nobody, "a push does not look for waiting pops") \
    X(pop_tells_nobody, "a pop does not look for waiting pushes") \
    X(close_calls_nobody, "close leaves the waiters asleep") \
    X(look_before_joining, "the second look comes before joining the list") \
    X(resign_without_look, "the heir resigns and does not look for the others") \
    X(expired_heir_keeps_role, "an heir whose deadline passed never resigns") \
    X(select_stays_behind, "a select leaves only the first of its lists") \
    X(ring_one_slot_short, "the ring wraps one slot too early") \
    X(publish_relaxed, "an element is published without release") \
    X(block_freed_early, "a block is freed while a pop still reads from it") \
    X(abandoned_push_forgets, "a push whose slot was abandoned does not push again") \
    X(ticks_pile_up, "ticks that nobody popped are all delivered") \
    X(mutex_forgets_sleepers, "a thread that slept for the mutex takes it as if nobody else did") \
    X(reader_looks_once, "a reader of the event ring does not look at the sequence again") \
    X(timer_rounds_down, "a timer expires with its tick, before its moment") \
    X(expired_first_keeps_role, "the next in line gives up and does not pass its role on") \
    X(ready_without_look, "the first in line asks to be handed something and does not look again") \
    X(grant_without_wake, "a thread is granted an object or called and not woken") \
    X(extra_grant_kept, "one who found an object and was granted another forgets the one it found") \
    X(look_before_it_is_alone, "a give looks at an object that another may be giving, too") \
    X(give_tells_nobody, "a give does not look for those who wait") \
    X(vacate_tells_nobody, "a place that becomes free is not offered to those who wait") \
    X(resize_tells_nobody, "a larger max is not offered to those who wait") \
    X(close_leaves_waiters, "close of a pool leaves those who wait asleep") \
    X(open_beyond_max, "a place is claimed although max objects are there") \
    X(generation_stays, "a take does not begin a new generation") \
    X(old_moment_beside_a_new_mark, "a look that was held up writes an old moment beside the mark of a newer lease") \
    X(stale_mark_replaces_a_newer, "a look that was held up replaces the mark of a newer lease by its own") \
    X(strike_without_looking_back, "a slot that was listed again while it was struck stays unlisted") \
    X(map_not_restored, "a bit that was cleared over a word with bits stays clear") \
    X(surplus_ends_in_silence, "those who waited through a surplus are not served when it ends") \
    X(lifo_is_fifo, "the two exact orders are exchanged") \
    X(reap_forgets_the_doubtful, "an object that nobody looked at before a reap survives it") \
    X(reap_closes_what_came_later, "a round that comes late closes for a reap what became idle after it") \
    X(lives_end_in_rounds, "an object whose time is over waits for the next regular round, and ends with others") \
    X(test_loses_the_place, "an object that was tested has lost its place in an exact order") \
    X(eager_without_rollback, "objects made before one failed are not closed") \
    X(backoff_skipped, "an opening that failed is tried again at once") \
    X(backoff_off_is_a_loop, "without back-off openings that fail follow one another at once, and no waiter is told") \
    X(failed_open_wakes_nobody, "those who wait in vain are not told when the breaker opens") \
    X(reload_misses_held, "a reload leaves alone what is out") \
    X(tests_all_at_once, "a round tests the whole idle set at a time") \
    X(late_failure_counted_twice, "an opening that was told as overdue and then fails feeds the gate again") \
    X(overdue_not_told, "an opening that takes too long is not told to the gate") \
    X(opens_for_nobody, "a helper opens an object although nobody wants one any more") \
    X(round_forgets_wish, "a round of the housekeeper drops the opening that a try asked for") \
    X(failed_open_keeps_its_count, "an opening that failed still counts as one under way") \
    X(full_server_is_pressed, "a server that is full is asked for more as often as one that was away") \
    X(hanging_probe_keeps_others, "an opening that hangs keeps all others from being tried until it is given up") \
    X(old_failure_shuts_the_gate, "an opening that began in the outage and fails after its end shuts the gate again") \
    X(hope_ends_in_a_try, "who waits is told that nothing can be opened while the opening is tried that succeeds") \
    X(hope_has_no_end, "who waits for an opening while the breaker is open is told nothing when its time is over") \
    X(hopeful_told_too_early, "who waits while the breaker is open is told at once, although there is time for more") \
    X(recovery_admits_all, "after an outage all openings are admitted at a time") \
    X(left_open_told_each_time, "a transaction that was left open is told each time, not once for each call site") \
    X(dirty_is_lent, "what a check calls dirty or broken is lent again as it is") \
    X(late_test_forgiven, "a test that took too long and then answers OK keeps its object") \
    X(broken_one_shakes_nothing, "when one object is found broken the idle ones are lent untested as before") \
    X(trust_has_no_end, "what was idle for long is lent without a test") \
    X(deadline_begins_anew, "the deadline of a take begins anew after a test that failed") \
    X(one_use_too_many, "an object is lent once more than it may be used") \
    X(pause_still_lends, "a paused pool lends what is idle") \
    X(leak_told_every_round, "a leak is told in every round and not once") \
    X(full_line_waits, "a take waits although as many wait as may") \
    X(alarm_not_tried_again, "an alarm for which no thread could be had is never set again") \
    X(errand_left_to_the_departing, "a helper that has lingered departs without a last look at the errands") \
    X(errand_waits_for_the_busy, "no helper is started for an errand while one is there that is busy") \
    X(limit_is_none, "at the limit of helpers another is started all the same") \
    X(no_helper_kept_for_closings, "at the limit of helpers closings wait as all others") \
    X(doubtful_take_all_helpers, "pools whose calls do not succeed use all helpers up to the limit") \
    X(doubtful_wait_for_ever, "at the limit of helpers pools whose last call succeeded always go first") \
    X(pool_takes_all_helpers, "one pool uses all helpers up to the limit") \
    X(pool_keeps_its_helper, "a helper goes on with a pool that has more to do although others wait") \
    X(silent_pool_stays_proven, "it is not noted whether the last call of a pool succeeded") \
    X(alarm_moved_in_silence, "an alarm that is moved earlier does not wake the keeper") \
    X(stop_forgets_a_thread, "whoever stops the threads of a runtime does not wait for them") \
    X(advance_in_one_step, "virtual time jumps to its end before the alarms on the way are called") \
    X(bell_stays_silent, "what is due before the last poll said does not ring the bell") \
    X(marked_is_passed_by, "a take passes an idle slot by that is marked while it is taken") \
    X(opened_tells_nobody, "that an opening has ended, and another may begin, is told nobody") \
    X(checkup_of_nobody_is_held, "an object that passes its test after its take has left is lent to nobody") \
    X(checkup_without_wake, "a take whose object passed its test is not woken") \
    X(take_tests_by_itself, "a take with a deadline tests what it found on its own thread") \
    X(checkup_is_not_stopped, "a take that sleeps until its object is tested does not heed its stop token") \
    X(cancelled_checkup_keeps_its_object, "a thread that is cancelled while its object is tested keeps it") \
    X(late_checkup_is_awaited, "a take waits for a test that takes too long") \
    X(checkups_share_the_capacity, "the tests of takes wait for one another") \
    X(failed_test_forgets, "an object that was revoked while its taker tested it never comes back") \
    X(resume_tells_nobody, "a pool that goes on does not look for those who wait") \
    X(chore_queued_in_silence, "a chore is queued and no helper is called") \
    X(alarm_set_once, "who sets the alarm does not look whether its moment has changed meanwhile") \
    X(interrupted_first_keeps_role, "the next in line is interrupted and its role is not passed on") \
    X(reload_misses_opening, "a reload leaves alone what is being opened") \
    X(mark_lost_when_lent, "an object that was marked while it was opened is lent without its mark") \
    X(listener_not_awaited, "a listener is removed while an event is on its way to it, which is then delivered") \
    X(lost_events_uncounted, "events that find the queue full are not counted") \
    X(use_of_the_lease_before, "a lease that nobody had is counted with the time of the one before it") \
    X(use_counted_by_nobody, "a lease that is discarded is not among the times of use") \
    X(sampled_every_64th, "every 64th lease of a slot is timed, and what a program does 64 times in turn is met once") \
    X(sampled_give_forgets_the_line, "a give whose time is taken does not look for those who wait") \
    X(waiters_in_order_of_class, "who waits is described class by class, whoever is served first") \
    X(events_only_if_heard, "an event is in the ring only if somebody listens to the pool") \
    X(older_lease_blamed, "a text says of a holder how long the one before it held the object") \
    X(held_counted_later, "the counts of a text were read one after the other") \
    X(lost_lease_forgotten, "a thread that holds more than is noted looks at what was noted only, when it ends") \
    X(displaced_hint_forgotten, "a slot whose hint is replaced while the thread holds its object is not noted") \
    X(detached_taken_back, "what was detached is taken back when its thread ends") \
    X(detach_marks_the_next, "a detach that meets a give marks the next lease of the slot") \
    X(holder_trusts_the_last_round, \
      "what a thread takes in its last round of destructors is left to a hook that never comes") \
    X(holder_end_forgets_a_pool, \
      "a thread that ends looks no further than the first pool in which it holds something") \
    X(head_keeps_its_slots, "a late give after free touches slots that are gone") \
    X(generations_begin_again, "the next pool in a struct has the generations of the last one") \
    X(asked_lease_detached, "what a task asks for belongs to nobody") \
    X(ask_forgotten_in_a_look, "a task that has asked and holds nothing is believed to get nothing") \
    X(pending_ask_outlives_its_task, "an ask that waits is granted to a task that has ended") \
    X(orphan_counted_late, "an orphan is counted after its slot has moved on") \
    X(orphan_by_slot_alone, "a late give takes the orphan of another lease of the slot") \
    X(orphan_given_twice, "a late give leaves the orphan in the list") \
    X(orphan_closed_at_once, "a lease taken by hand is closed when its owner ends") \
    X(scope_orphaned, "the lease of a scope becomes an orphan") \
    X(free_forgets_orphans, "free does not close what was never given") \
    X(revoke_forgets_the_holder, "a revoke does not look whether the owner has ended") \
    X(revoked_never_reclaimed, "a revoked lease keeps its place for good") \
    X(detached_never_reclaimed, "a detached lease is never reclaimed") \
    X(child_closes_the_parents, "a child that makes a pool anew closes the parent's objects") \
    X(renew_loses_orphans, "a child that makes a pool anew keeps no record of the parent's orphans, and their memory") \
    X(timer_told_though_given_up, "a timer that is due is done although it was given up") \
    X(timer_given_up_unclaimed, "a cancel asks the runtime although the timer is due and may have left it") \
    X(timer_given_up_under_due, "a cancel does not await the call of a timer that came too late") \
    X(timer_keeps_its_runtime, "a timer leaves an explicit runtime only after it is done") \
    X(job_not_tried_again, "a job for which no thread could be had waits for the next post") \
    X(actor_sleeps_beside_a_message, "an actor falls asleep without a last look at its mailbox") \
    X(actor_takes_two_turns, "whoever sends to an actor that is just empty posts a second turn") \
    X(actor_admits_without_asking, "a place in a mailbox is counted and not asked for") \
    X(actor_drops_twice, "a dropped message whose future was told is handed to the program too") \
    X(actor_forgets_to_answer, "a question that its handler forgot is never answered") \
    X(actor_cancels_too_late, "a message for later is cancelled although its alarm has rung") \
    X(actor_watches_once, "a watchdog that lies down does not look whether something has begun") \
    X(inline_runs_within, "a job that is posted inline runs within the job that posts it") \
    X(done_wakes_nobody, "a thread that waits for a future is not woken when it is done") \
    X(stop_wakes_nobody, "a stop token that is set does not wake the threads that wait with it") \
    X(stop_join_does_not_look, "a thread joins a stop token and does not look whether it was set meanwhile") \
    X(stop_leaves_under_a_walker, "a stopped thread returns while a set still reads its record") \
    X(stop_forgotten_on_reset, "a thread that was stopped waits on because the token was reset") \
    X(stopped_park_does_not_look, "a thread sleeps on a future or a pool although its stop token was set before") \
    X(stopped_select_does_not_look, "a select sleeps although its stop token was set before") \
    X(stopped_heir_keeps_role, "a select that was called and stopped at once keeps the role of the heir") \
    X(stopped_take_loses_its_grant, "a take that was granted an object and stopped at once returns without it") \
    X(close_revokes_in_silence, "a close revokes leases and tells no event") \
    X(close_meets_nobody, "a close does not note who holds objects when it begins") \
    X(cancelled_take_loses_its_grant, "a take that was granted an object and cancelled at once does not give it back") \
    X(keep_leaves_canceller, "a promise returns while one who cancels its future still reads it") \
    X(any_of_completes_twice, "every member of a group of which one is enough completes it") \
    X(group_left_early, "a group is left while a member still tells it") \
    X(inbox_rings_nobody, "a job for a loop that sleeps does not ring its bell") \
    X(arm_without_looking, "an inbox is armed although something is in it") \
    X(inbox_freed_under_ring, "an inbox is freed while a poster still rings its bell") \
    X(cancel_loses_the_object, "a cancel says cancelled although an object was granted") \
    X(deadline_outlives_its_ask, "the deadline of one who was served is still kept") \
    X(close_keeps_its_alarm, "the deadline of a close that is over keeps the pool's memory until it comes") \
    X(some_expired_forgotten, "of many deadlines that pass at one moment only the first few are told") \
    X(earlier_deadline_unplanned, "a deadline earlier than those before it does not bring the keeper earlier") \
    X(asked_lease_attached, "what was asked for belongs to the thread that asked") \
    X(ask_served_inside, "one who asks inside a call of the driver is served by the quick path") \
    X(told_ask_keeps_no_hand, "one who is told why it got nothing does not keep the pool meanwhile") \
    X(ask_told_twice, "one who asked and is told by another thread is told twice") \
    X(vain_opening_counts_on, "an opening for one who asks that failed still counts as one under way") \
    X(failed_give_is_not_told, "one whose given object had to be closed is never told") \
    X(then_comes_too_late, "a future that is done already never tells") \
    X(wait_stays_parked, "a wait whose deadline has passed leaves the future as if a thread slept on it") \
    X(late_canceller_tells_nobody, \
      "who cancels a future in the moment in which it is kept does not tell its consumer") \
    X(fail_copies_ok, "a promise that fails with an error without a status says that all is well") \
    X(group_keeps_members, "a group that was left is still the consumer of its members") \
    X(inline_job_cancelled, "a thread can be cancelled within an inline job") \
    X(inbox_last_first, "an inbox runs what was posted last first") \
    X(inbox_never_silenced, "the bell of an inbox rings on after its jobs were taken") \
    X(poller_freed_under_ready, "a poller is freed while a ready runs that watches again") \
    X(late_ring_forgotten, "a ring that comes after its job was taken is never silenced") \
    X(drain_has_no_end, "a drain goes on as long as its jobs post others") \
    X(child_rings_the_parent, "a job that a child posts rings the bell of its parent") \
    X(late_open_is_lent, "what is opened too late by a driver that is done later is lent all the same") \
    X(done_twice_accepted, "a ticket that was done can be done again") \
    X(overdue_call_not_cancelled, "a driver is not told that nobody wants what its call will bring") \
    X(passed_by_in_silence, "what must be tested is passed by who cannot test it, and tested by nobody") \
    X(newcomer_leaves_ready, "one who becomes the first in line leaves the marks that speak of the one before it") \
    X(one_grant_is_enough, "whoever has granted one object looks for no other that is idle") \
    X(shed_heir_is_forgotten, \
      "whoever sheds the called one passes its own object on and forgets those left to that one") \
    X(neighbours_pass_for_ever, "those of the giver's own loop come first however long the first in line has waited") \
    X(aging_ignored, "one of a higher priority comes first however long another has waited") \
    X(shed_keeps_what_it_found, "one that was shed in the moment it found an object keeps it") \
    X(lanes_checks_then_adds, "a lane looks whether there is room and then adds") \
    X(lanes_add_then_undo, "a lane adds, looks whether that was too much, and takes it back") \
    X(lanes_limit_comes_late, "a task is admitted by a limit that was replaced before") \
    X(lanes_forgets_a_cancelled, "a task that never began keeps its place in a lane") \
    X(lanes_lose_what_the_crew_refuses, "a task that the crew refused keeps its place in a lane") \
    X(lanes_count_suspended_as_running, "a task that waits for a future counts as running") \
    X(lanes_trust_an_old_average, "a task is refused by an old average although a worker is free") \
    X(lanes_leave_after_their_crews, "lanes can be told to resize a crew that is gone") \
    X(lanes_tell_every_refusal, "a thousand refusals are a thousand events") \
    X(router_tells_every_refusal, "a router that has no member with room fills the events") \
    X(crew_shows_the_age_of_the_step_before, "a step seems to run since the one before it did") \
    X(supervisor_tells_its_listener_only, "what happens to children is in the events only if there is a listener") \
    X(late_estimate_refuses_all, "a take that finds nobody in line is refused by what is left of an old average") \
    X(deque_takes_twice, "two take one job out of a cell") \
    X(injector_overwrites, "a cell that somebody has not emptied yet is filled again") \
    X(crew_wakes_for_every_push, "every push calls a worker, although one is searching") \
    X(crew_call_without_wake, "a worker that is called is not woken") \
    X(crew_last_searcher_forgets, "the last who searches finds something and does not look whether there is more") \
    X(crew_leaves_the_lone, "a thief leaves a job that lies alone at every look") \
    X(crew_parks_without_look, "a worker lies down without a last look at the queues") \
    X(crew_ends_without_look, "a worker that is one too many ends without a last look at the queues") \
    X(crew_ends_beside_a_job, "the last worker of a crew that is over ends although a job is left") \
    X(crew_cancel_leaves_it_open, "a crew that ends with its last task does not if that is cancelled") \
    X(crew_cancel_trusts_its_look, \
      "a cancel that finds a task queued for its next step takes it back as if it had not begun") \
    X(crew_resumed_by_two, "a task whose future is done while somebody asks it to end is put in by both") \
    X(crew_lets_go_early, "an await whose deadline passes while it is told does not wait for who tells") \
    X(crew_leaves_the_suspended, "a stop that drops does not look for suspended tasks") \
    X(crew_waits_beside_a_stop, "a task that begins to wait does not look whether its crew drops") \
    X(crew_drops_beside_its_future, "a stop drops a suspended task although its future was not cancelled") \
    X(crew_drops_without_its_leases, "a suspended task that a stop drops keeps its leases") \
    X(crew_runs_the_newest_first, \
      "a worker runs the first of what it takes from the injector before what its deque has") \
    X(crew_forgets_that_it_spilled, "what a task submits overtakes what did not fit into its worker's deque before") \
    X(injector_leaves_its_shard, "a submitter of an ordered crew that finds its shard locked uses another") \
    X(eventcount_wakes_nobody, "a thread that sleeps until a condition has changed is not woken") \
    X(owned_sleeps_without_look, "a thread sleeps until something is ready without a last look") \
    X(renew_gives_up_in_silence, "a thread that could not renew a pool does not wake those that wait for it") \
    X(crew_counts_ins_first, "a stop counts the tasks that came in before it counts those that went out") \
    X(crew_lies_down_in_silence, "a worker that lies down does not tell whoever stops the crew") \
    X(crew_poster_uncounted, "who resumes a task is not counted until it touches the crew no more") \
    X(injector_looks_at_the_ring_first, \
      "the last look reads the chain after the ring, to which it may have moved meanwhile") \
    X(crew_submit_calls_nobody, "a submit does not look for workers that sleep") \
    X(crew_loses_its_worker, "a worker whose task has ended its thread is not replaced") \
    X(crew_loses_the_task, "a task that has ended its thread is never over") \
    X(crew_blocks_in_silence, "a section that blocks does not call another worker for what waits") \
    X(crew_cancel_looks_once, "a cancel that meets a worker which moves the task gives up") \
    X(crew_forgets_the_alarm, "a task is over while the call of its alarm still has it") \
    X(crew_helps_with_a_lease, "a worker whose task holds a lease runs others while it awaits") \
    X(crew_watch_tells_again, "a slow step is reported in every round") \
    X(crew_ticks_the_busy_only, "workers that sleep do not tick") \
    X(crew_trusts_old_contexts, "a context of another step is used") \
    X(supervisor_window_off_by_one, "restarts that are a whole window apart are not counted together") \
    X(supervisor_counts_a_late_death, "what is said of an earlier start of a child is taken for the present one") \
    X(supervisor_ignores_max_children, "a supervisor has one child more than it may have") \
    X(supervisor_leaves_a_call_behind, "a child is started again while a call of its start before is under way") \
    X(supervisor_forgets_a_late_start, "what was started after its limit is never stopped") \
    X(supervisor_restarts_a_temporary, "a temporary child is started again") \
    X(supervisor_never_calms, "a child that has run well for long still waits before it is started again") \
    X(supervisor_rest_misses_the_later, "the death of a child leaves those after it alone") \
    X(supervisor_stops_in_start_order, "children are stopped in the order in which they were started") \
    X(supervisor_starts_beside_a_stop, "a group is started again while some of it are still being stopped") \
    X(supervisor_found_and_let_go, "a supervisor that was found may be freed before it is locked") \
    X(supervisor_rests_without_look, \
      "the steward of a supervisor rests without a last look at what happened meanwhile") \
    X(supervisor_over_too_early, "a supervisor is over while a call of its alarm is still to come") \
    X(supervisor_owner_never_ends, "what a child has registered stays when it is over") \
    X(balance_forgets_a_take, "a quick take is not counted as held by its owner") \
    X(balance_counts_any_give, "a give counts for the current owner, whose lease it was or not") \
    X(task_end_keeps_leases, "what a task holds when it ends is left as it is") \
    X(bin_without_grace, "a bin releases a batch without waiting for the sections that may see it") \
    X(bin_forgets_to_wake, "a bin that has released a batch does not tell those who wait for it to be empty") \
    X(registry_frees_at_once, "an entry is freed while a reader may still have it") \
    X(registry_reuses_links_early, "a table of keys grows over links by which somebody reads") \
    X(registry_picks_beyond, "an entry is picked without a look at how many there are") \
    X(registry_leaves_a_hole, "an entry that is removed stays where it is picked from") \
    X(registry_attaches_to_the_ended, "an entry is registered for an owner that has ended") \
    X(registry_end_forgets_the_rest, "an owner that ends looks no further than the first registry") \
    X(registry_freed_under_an_owner, "a registry is freed while an owner that ends still uses it") \
    X(registry_refused_leaves_its_key, "a register that is refused leaves its key in the table") \
    X(registry_tells_out_of_order, "a change is told before one that was made earlier") \
    X(registry_listen_misses_a_change, "a change between the look at what is there and the first tale is never told") \
    X(registry_unlisten_does_not_wait, "a listening is ended while its listener is called") \
    X(use_beyond_count, "a member has more uses in flight than can be counted") \
    X(use_beyond_max, "a use begins although the member is full") \
    X(set_freed_at_once, "a set of members is freed while picks may read it") \
    X(down_stays_in_set, "a member that went down can still be picked") \
    X(up_tells_nobody, "those who wait for a member are not told when one comes up") \
    X(done_tells_nobody, "the end of a use is not offered to those who wait") \
    X(join_without_look, "one who joins the backlog does not look for room again") \
    X(gathered_seen_by_halves, "members that come up together can be picked one after the other") \
    X(follow_keeps_the_dead, "an entry that went stays a member of the router that follows its registry") \
    X(follow_forgets_who_waits, "those that were to come up together are left as they are when no more follows") \
    X(registry_guesses_that_more_comes, "a listener is told that more follows, when that is for another one") \
    X(left_replaced_by_the_next, "without memory for a set one who leaves with others stands for them") \
    X(mux_pool_forgets_to_leave, "a connection that was lost stays in the routing set") \
    X(mux_pool_cancel_keeps_the_route, "a request that was given up counts as in flight for ever") \
    X(load_is_never_renewed, "a thread that leaves a member alone does not look again whether others still use it") \
    X(random_leans, "one pick in a hundred goes to the first member") \
    X(turns_are_mixed_up, "a thread has one turn for all routers") \
    X(strict_rejoins_in_front, "a member that joins a strict round is the next to be picked") \
    X(least_counts_the_present, "the uses of a member that left are not counted until it is back") \
    X(failures_are_answers, "a failure counts as an answer of its latency") \
    X(hash_ignores_what_to_avoid, "a key goes to the member that is to be avoided, and then to any other") \
    X(hash_marks_by_turn, "what a point of the circle brings to a coin depends on how many are before it") \
    X(lines_write_newlines, "a payload with a newline is written as a line") \
    X(lines_forget_a_byte, "the search for the end of a line goes on one byte too late") \
    X(binary_takes_any_size, "a binary frame that is taken with others may be larger than allowed") \
    X(input_keeps_seen, "what was seen of one frame counts as seen of the next") \
    X(wire_uses_ids_again, "a slot gives its next request the same id") \
    X(wire_ignores_generations, "a late reply is given to whoever has the slot now") \
    X(wire_keeps_the_timer, "the deadline of a request that is over is still kept") \
    X(wire_output_has_no_end, "requests are sent however much waits to be written") \
    X(wire_fail_forgets_the_line, "those who wait for room are not told of the end of a connection") \
    X(wire_drops_what_is_out, "a cancel says true of a request whose reply is being told") \
    X(wire_tells_no_thread, "a thread that sleeps for its reply is not woken") \
    X(wire_stuck_output_forgotten, "what could not be written at once is left to nobody") \
    X(wire_writes_once, "who writes does not look whether others have added something") \
    X(wire_reads_one_batch, "of many frames that came at once only the first batch is looked at") \
    X(wire_passes_no_role, "a thread that has read its own reply does not pass the role on") \
    X(wire_wakes_no_loop, "a request that is asked while nobody reads does not wake the loop") \
    X(wire_sets_no_alarm, "the alarm is not brought forward by an earlier deadline") \
    X(wire_batch_is_never_dated, "what a batch of replies asks has no deadline") \
    X(wire_batch_sets_no_alarm, "while a done takes long, what was asked in its batch has no deadline") \
    X(wire_cancel_overlooks_the_batch, "a cancel does not find what was just asked in a batch") \
    X(wire_end_overlooks_the_batch, "what a batch asks while the connection ends is never told") \
    X(wire_lets_nobody_in, "room that becomes free is not offered to those who wait") \
    X(wire_ends_under_others, "a connection's memory is freed while a thread is inside") \
    X(door_stays_open, "picks are inline although a member has a limit") \
    X(member_freed_at_once, "a member goes with its last use, under one who has just ended another") \
    X(end_seen_too_early, "the uses of a member are summed up while some may still begin") \
    X(open_begins_anew, "the count of stripes that are to end forgets who has ended one and not yet said so") \
    X(sum_before_watched, "whether a stripe is in use is looked at before it is watched") \
    X(life_goes_on, "a route of before a down is taken for one of after it") \
    X(uses_count_on, "a member that comes up again does not begin to count its uses anew") \
    X(close_watches_nobody, "those who end the last uses do not tell a close that waits") \
    X(withdrawn_by_nobody, "one who gives up its wait is served all the same") \
    X(told_down_once, "a listener is not told that a member is down again") \
    X(restored_after_close, "a member whose ejection ends comes back into a router that was closed") \
    X(free_leaves_cancellers, "a router is freed under one who gives up its wait") \
    X(alarm_keeps_no_hand, "the alarm of a router that is freed does not keep its memory") \
    X(net_close_awaits_nobody, "a close fails what is under way without waiting for it") \
    X(net_write_raises_a_signal, "a write to a connection whose other side is gone raises SIGPIPE") \
    X(net_ends_without_a_word, "a connection is closed, and not shut down before") \
    X(net_reads_without_limit, "a server reads from a client that does not fetch its answers") \
    X(net_hands_over_without_limit, \
      "a server hands over calls of a client of which it has too many that are not answered") \
    X(net_leaves_the_crowded, "a server reads no more from a client that had too many calls, after one was answered") \
    X(net_handles_after_the_end, "a server handles what it had read of a client that was cut off") \
    X(net_first_address_has_all_time, "an address from which nothing comes back uses up the time of the others") \
    X(net_tries_one_address, "an address that refuses is the last that is tried") \
    X(wire_takes_the_role_along, "a reader whose deadline comes does not let go of its role") \
    X(wire_sleeps_on_output, "a thread that reads goes to sleep beside output that nobody writes") \
    X(events_stays_behind, "events goes on being written into the ring that was left") \
    X(events_awaits_what_stayed, "an event that is unfinished when the ring moves is awaited in the new one for ever") \
    X(events_wakes_nobody, "who writes events does not look for one who sleeps") \
    X(events_sleeps_without_look, "who waits for events lies down without a last look") \
    X(events_end_forgets_the_rest, "a listener that is ended is not told what there was before") \
    X(events_of_the_parent, "a forked child finds the events of its parent") \
    X(events_of_file_believes_all, "a place of a dump is shown although it is not its event's") \
    X(events_of_file_looks_once, "an event that changes while the file is read is shown") \
    X(component_tell_any_action, "a component is told a action that it does not have") \
    X(reloaded_open_pumps, "an object that was reloaded while it was opened for an ask is ended with a nested pump") \
    X(retired_open_pumps, "an object that is surplus once it is opened for an ask is ended with a nested pump") \
    X(options_kept_in_place, "the options for a forked child are written over the copy that a child reads") \
    X(visit_shows_the_calm, "a visit shows only what is idle, held or revoked") \
    X(visit_reads_every_slot, "a visit reads every slot there may be") \
    X(filled_only_when_open, "a slot is in the map of a visit only when its open has returned") \
    X(vacated_keeps_its_object, "an empty slot keeps the pointer to the object that was closed") \
    X(opened_on_the_stack, "an object is in its slot only when its open has returned") \
    X(exit_looks_before_it_counts, "a call looks whether the process exits before it is counted") \
    X(exit_end_wakes_nobody, "a call that ends does not wake exit, which waits for it") \
    X(exit_awaits_itself, "exit waits for the call that called it") \
    X(exit_forgets_the_leaving, "exit does not wait for a helper that runs its destructors") \
    X(exit_handler_registered_once, \
      "the exit handler is registered when the runtime starts, and not after each driver's prepare") \
    X(exit_cancels_nothing, "exit does not cancel the driver calls that run") \
    X(errand_begins_at_exit, "a helper begins an errand while the process exits") \
    X(free_forgets_its_helpers, "cen_pool_free does not wait for helpers that are between two calls of the driver") \
    X(pollable_armed_by_a_run, "a pollable is not armed before its first run") \
    X(pollable_sleeps_unarmed, "a run of a pollable ends without arming the inbox") \
    X(pollable_leaves_in_silence, "a run of a pollable that leaves something does not ring") \
    X(pollable_forgets_the_refused, \
      "who was refused because another runs may have eaten an edge, and nobody rings again") \
    X(pollable_keeps_no_time, "the moment that the runtime said is not put into the timer of a pollable") \
    X(pool_rests_beside_a_holder, "a pool that was closed lets go of its runtime while something is out") \
    X(tended_moment_untold, "a runner that is no poll moves the next moment, and the loop of a pollable is not told")

typedef enum ceni_plant {
#define CENI_PLANT_ENUM_(name, words) CENI_PLANT_##name,
    CENI_PLANT_LIST(CENI_PLANT_ENUM_)
#undef CENI_PLANT_ENUM_
        CENI_PLANT_COUNT
} ceni_plant;

#ifdef CENI_PLANTS
extern ceni_plant ceni_plant_chosen;
#define ceni_planted(name) (__builtin_expect(ceni_plant_chosen == CENI_PLANT_##name, 0))

/* Choose a bug by name. Returns false if there is none of this name. Call it before any thread starts. */
bool ceni_plant_choose(const char *name);
#else
#define ceni_planted(name) false
#endif

#endif
