/* SPDX-License-Identifier: MIT */
/*
 * Futures, promises and groups under every schedule.
 *
 * Everything here lies in memory of its own that is given back at the first
 * moment at which the header says that it may be: whoever touches it later, or
 * at the same time, is caught. The value that is promised is written and read
 * by watched copies, so that a result that is not ordered shows, too.
 */
#include "sync/future.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "support/world.h"

enum { ANSWER = 42 };

static int answers[2];
static cen_promise *promises[2];
static bool kept[2];
static _Atomic uint32_t told;

static void *take_memory(size_t size)
{
    void *memory = ceni_alloc(NULL, size, 16);
    expect(memory != NULL);
    return memory;
}

/* A store of this thread's that is still on its way to memory arrives before an
 * allocator passes the memory on; the world's own does not see to that. */
static void give_memory(void *memory, size_t size)
{
    _Atomic uint32_t barrier = 0;
    ceni_add_seq_cst(&barrier, 1);
    ceni_free(NULL, memory, size, 16);
}

static cen_future *new_future(int which)
{
    cen_future *future = take_memory(sizeof *future);
    cen_future_init(future);
    promises[which] = take_memory(sizeof *promises[which]);
    expect_equal(cen_promise_init(promises[which], future), CEN_OK);
    kept[which] = false;
    return future;
}

static void free_future(cen_future *future)
{
    give_memory(future, sizeof *future);
}

static void expect_answer(const cen_future *future, int which)
{
    int answer = 0;
    expect_equal(future->status, CEN_OK);
    expect(future->value == &answers[which]);
    ceni_watch_copy(&answer, future->value, sizeof answer);
    expect_equal(answer, ANSWER + which);
}

/* Keeps a promise and gives its memory back at once. */
static void keep(void *number)
{
    int which = (int)(intptr_t)number, answer = ANSWER + which;
    ceni_watch_copy(&answers[which], &answer, sizeof answer);
    kept[which] = cen_promise_complete(promises[which], &answers[which]);
    give_memory(promises[which], sizeof *promises[which]);
}

static void count_done(cen_future *future)
{
    expect_answer(future, 0);
    ceni_add_seq_cst(&told, 1);
    ceni_futex_wake(&told, 1);
}

static void count_and_free(cen_future *future)
{
    expect_answer(future, 0);
    free_future(future);
    ceni_add_seq_cst(&told, 1);
}

static void await_done(void)
{
    while (ceni_load_seq_cst(&told) == 0) ceni_futex_wait(&told, 0, CENI_FOREVER);
}

/* ---- One future ----------------------------------------------------------------------- */

/* guarantees: future.wait */
EXPLORE(a_thread_that_waits_is_woken_by_a_keep_and_reads_what_was_promised, 4)
{
    cen_future *future = new_future(0);
    ceni_thread keeper = start("keep", keep, NULL);
    expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK);
    expect_answer(future, 0);
    free_future(future);
    join(keeper);
    expect(kept[0]);
}

/* guarantees: future.wait */
EXPLORE(a_wait_that_times_out_while_it_is_kept_leaves_the_value_to_the_next, 4)
{
    cen_future *future = new_future(0);
    ceni_thread keeper = start("keep", keep, NULL);
    cen_status first = cen_future_wait(future, cen_in_ms(1));
    expect(first == CEN_OK || first == CEN_TIMEOUT);
    if (first == CEN_TIMEOUT) expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK);
    expect_answer(future, 0);
    free_future(future);
    join(keeper);
    expect(kept[0]);
}

/* guarantees: future.memory */
EXPLORE(one_who_asks_whether_it_is_done_and_hears_yes_owns_it, 4)
{
    cen_future *future = new_future(0);
    ceni_thread keeper = start("keep", keep, NULL);
    bool done = cen_future_is_done(future);
    if (!done) expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK);
    expect_answer(future, 0);
    free_future(future);
    join(keeper);
}

/* guarantees: future.callback */
EXPLORE(a_done_that_meets_a_keep_is_called_once_and_owns_the_future, 4)
{
    told = 0;
    cen_future *future = new_future(0);
    ceni_thread keeper = start("keep", keep, NULL);
    expect_equal(cen_future_then(future, count_and_free, cen_inline()), CEN_OK);
    join(keeper);
    expect_equal(ceni_load_seq_cst(&told), 1);
    expect(kept[0]);
}

/* guarantees: future.cancel */
EXPLORE(a_cancel_that_meets_a_keep_says_true_to_one_side_and_false_to_the_other, 4)
{
    cen_future *future = new_future(0);
    ceni_thread keeper = start("keep", keep, NULL);
    bool cancelled = cen_future_cancel(future);
    if (!cancelled) {
        expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK);
        expect_answer(future, 0);
    }
    free_future(future);
    join(keeper);
    expect_equal(kept[0], !cancelled);
}

/* guarantees: future.cancel */
EXPLORE(a_cancel_that_meets_a_keep_and_comes_too_late_leaves_one_done_to_come, 4)
{
    told = 0;
    cen_future *future = new_future(0);
    expect_equal(cen_future_then(future, count_done, cen_inline()), CEN_OK);
    ceni_thread keeper = start("keep", keep, NULL);
    bool cancelled = cen_future_cancel(future);
    if (!cancelled) await_done();
    free_future(future);
    join(keeper);
    expect_equal(kept[0], !cancelled);
    expect_equal(ceni_load_seq_cst(&told), !cancelled);
}

/* Leaves work that nobody wants, and the promise with it. */
static void keep_if_wanted(void *unused)
{
    (void)unused;
    if (cen_promise_is_wanted(promises[0])) keep(NULL);
    else give_memory(promises[0], sizeof *promises[0]);
}

/* guarantees: future.memory */
EXPLORE(a_promise_that_is_not_wanted_any_more_can_be_let_go_of, 4)
{
    cen_future *future = new_future(0);
    ceni_thread keeper = start("keep", keep_if_wanted, NULL);
    bool cancelled = cen_future_cancel(future);
    if (!cancelled) expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK);
    free_future(future);
    join(keeper);
    expect_equal(kept[0], !cancelled);
}

static bool kept_by_another;

static void keep_too(void *unused)
{
    (void)unused;
    kept_by_another = cen_promise_complete(promises[0], &answers[0]);
}

/* guarantees: future.once */
EXPLORE(of_two_who_keep_one_promise_one_has_kept_it, 4)
{
    cen_future *future = new_future(0);
    answers[0] = ANSWER;
    ceni_thread other = start("keep too", keep_too, NULL);
    kept[0] = cen_promise_complete(promises[0], &answers[0]);
    expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK);
    free_future(future);
    join(other);
    give_memory(promises[0], sizeof *promises[0]);
    expect_equal(kept[0] + kept_by_another, 1);
}

/* guarantees: future.cancel */
EXPLORE(a_promise_and_a_cancel_and_another_promise_agree, 4)
{
    cen_future *future = new_future(0);
    answers[0] = ANSWER;
    ceni_thread one = start("one", keep_too, NULL);
    bool cancelled = cen_future_cancel(future);
    kept[0] = cen_promise_complete(promises[0], &answers[0]);
    if (!cancelled) expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK);
    free_future(future);
    join(one);
    give_memory(promises[0], sizeof *promises[0]);
    expect_equal(kept[0] + kept_by_another + cancelled, 1);
}

/* ---- One that is promised as the pool does it: one word decides, and completing comes later ---- */

enum { UNDECIDED, SERVED, WITHDRAWN };

static _Atomic uint32_t decided;

static bool withdraw_from_word(cen_future *future)
{
    uint32_t nobody = UNDECIDED;
    return ceni_cas_seq_cst((_Atomic uint32_t *)future->source_, &nobody, (uint32_t)WITHDRAWN);
}

static void serve_by_word(void *future)
{
    uint32_t nobody = UNDECIDED;
    if (!ceni_cas_seq_cst(&decided, &nobody, (uint32_t)SERVED)) return;
    int answer = ANSWER;
    ceni_watch_copy(&answers[0], &answer, sizeof answer);
    ((cen_future *)future)->value = &answers[0];
    ceni_future_complete(future);
}

static cen_future *new_future_of_word(void)
{
    decided = UNDECIDED;
    told = 0;
    cen_future *future = take_memory(sizeof *future);
    cen_future_init(future);
    ceni_future_begin(future, withdraw_from_word, &decided);
    return future;
}

/* guarantees: future.cancel */
EXPLORE(a_cancel_that_the_promiser_refuses_leaves_a_future_that_will_be_done, 4)
{
    cen_future *future = new_future_of_word();
    ceni_thread server = start("serve", serve_by_word, future);
    bool cancelled = cen_future_cancel(future);
    expect(cancelled == (ceni_load_seq_cst(&decided) == WITHDRAWN));
    if (!cancelled) {
        expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK);
        expect_answer(future, 0);
    }
    free_future(future);
    join(server);
}

/* guarantees: future.cancel */
EXPLORE(a_cancel_that_the_promiser_refuses_leaves_its_done_to_come, 4)
{
    cen_future *future = new_future_of_word();
    expect_equal(cen_future_then(future, count_done, cen_inline()), CEN_OK);
    ceni_thread server = start("serve", serve_by_word, future);
    bool cancelled = cen_future_cancel(future);
    if (!cancelled) await_done();
    expect_equal(ceni_load_seq_cst(&told), !cancelled);
    join(server);
    free_future(future);
}

/* ---- Groups --------------------------------------------------------------------------- */

static cen_future *members[2];
static cen_group *group;

static void make_group(cen_status (*gather)(cen_group *, cen_future *const *, size_t))
{
    for (int i = 0; i < 2; i++) members[i] = new_future(i);
    group = take_memory(sizeof *group);
    expect_equal(gather(group, members, 2), CEN_OK);
}

static void free_group(void)
{
    give_memory(group, sizeof *group);
}

/* After the group was left, each member is as if it had never been in one. */
static void expect_members(void)
{
    for (int i = 0; i < 2; i++) {
        expect_equal(cen_future_wait(members[i], CEN_NEVER), CEN_OK);
        expect_answer(members[i], i);
        free_future(members[i]);
    }
}

static void two_members_are_kept_while_one_waits(cen_status (*gather)(cen_group *, cen_future *const *, size_t),
                                                 bool all)
{
    make_group(gather);
    ceni_thread first = start("first", keep, NULL), second = start("second", keep, (void *)(intptr_t)1);
    expect_equal(cen_future_wait(&group->future, CEN_NEVER), CEN_OK);
    expect_equal(group->future.status, CEN_OK);
    cen_future *which = group->future.value;
    expect(all ? !which : which == members[0] || which == members[1]);
    for (int i = 0; i < 2; i++)
        if (all || which == members[i]) expect(cen_future_is_done(members[i]));
    cen_group_leave(group);
    free_group();
    expect_members();
    join(first);
    join(second);
}

/* guarantees: future.groups */
EXPLORE(any_of_two_that_are_kept_at_once_tells_once_and_can_be_left, 3)
{
    two_members_are_kept_while_one_waits(cen_any_of, false);
}

/* guarantees: future.groups */
EXPLORE(all_of_two_that_are_kept_at_once_tells_after_both_and_can_be_left, 3)
{
    two_members_are_kept_while_one_waits(cen_all_of, true);
}

/* guarantees: future.group-leave */
EXPLORE(a_group_that_is_left_while_two_members_are_kept_is_not_touched_afterwards, 3)
{
    make_group(cen_any_of);
    ceni_thread first = start("first", keep, NULL), second = start("second", keep, (void *)(intptr_t)1);
    cen_group_leave(group);
    bool done = cen_future_is_done(&group->future);
    if (done) expect(group->future.value == members[0] || group->future.value == members[1]);
    free_group();
    expect_members();
    join(first);
    join(second);
    expect(kept[0] && kept[1]);
}

/* guarantees: future.group-cancel */
EXPLORE(a_group_that_is_cancelled_while_a_member_is_kept_says_one_of_the_two, 4)
{
    told = 0;
    make_group(cen_any_of);
    ceni_thread first = start("first", keep, NULL);
    bool cancelled = cen_future_cancel(&group->future);
    expect_equal(cen_future_is_done(&group->future), !cancelled);
    cen_group_leave(group);
    free_group();
    keep((void *)(intptr_t)1);
    expect_members();
    join(first);
}

/* The `done` of a group, on whichever thread it comes, leaves the group and takes its memory. */
static void leave_inside(cen_future *future)
{
    expect_equal(future->status, CEN_OK);
    cen_group_leave(group);
    free_group();
    ceni_add_seq_cst(&told, 1);
    ceni_futex_wake(&told, 1);
}

/* guarantees: future.group-leave */
EXPLORE(a_group_that_tells_inline_may_be_left_and_freed_there, 3)
{
    told = 0;
    make_group(cen_any_of);
    expect_equal(cen_future_then(&group->future, leave_inside, cen_inline()), CEN_OK);
    ceni_thread first = start("first", keep, NULL), second = start("second", keep, (void *)(intptr_t)1);
    await_done();
    expect_members();
    join(first);
    join(second);
    expect_equal(ceni_load_seq_cst(&told), 1);
}

/* guarantees: future.groups */
EXPLORE(a_group_that_is_made_while_its_members_are_kept_misses_none, 3)
{
    for (int i = 0; i < 2; i++) members[i] = new_future(i);
    group = take_memory(sizeof *group);
    ceni_thread first = start("first", keep, NULL), second = start("second", keep, (void *)(intptr_t)1);
    expect_equal(cen_all_of(group, members, 2), CEN_OK);
    expect_equal(cen_future_wait(&group->future, CEN_NEVER), CEN_OK);
    cen_group_leave(group);
    free_group();
    expect_members();
    join(first);
    join(second);
}

/* guarantees: future.group-cancel */
EXPLORE(a_member_that_is_cancelled_while_it_is_kept_tells_its_group_or_never, 4)
{
    make_group(cen_any_of);
    ceni_thread first = start("first", keep, NULL);
    bool cancelled = cen_future_cancel(members[0]);
    join(first);
    expect_equal(kept[0], !cancelled);
    expect_equal(cen_future_is_done(&group->future), !cancelled);
    cen_group_leave(group);
    free_group();
    expect(cen_future_cancel(members[1]));
    keep((void *)(intptr_t)1);
    for (int i = 0; i < 2; i++) free_future(members[i]);
}
