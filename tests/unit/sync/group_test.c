/* SPDX-License-Identifier: MIT */
/* Groups: each sentence of the header, in virtual time. */
#include <cenote/future.h>
#include <cenote/inbox.h>

#include "sync/future.h"

#include "support/world.h"

enum { MOST = 100 };

static cen_future members[MOST], *all[MOST];
static cen_promise promises[MOST];
static int answer, dones;
static cen_group group;

static void promise_members(int count)
{
    dones = 0;
    for (int i = 0; i < count; i++) {
        all[i] = &members[i];
        cen_future_init(&members[i]);
        expect_equal(cen_promise_init(&promises[i], &members[i]), CEN_OK);
    }
}

static void count_done(cen_future *future)
{
    (void)future;
    dones++;
}

static void expect_no_consumer(int i)
{
    expect_equal(cen_future_wait(&members[i], CEN_NOW), cen_future_is_done(&members[i]) ? CEN_OK : CEN_TIMEOUT);
}

/* ---- Any of, all of -------------------------------------------------------------------------------- */

/* guarantees: future.groups */
TEST(any_of_is_done_with_the_first_member_that_is_done)
{
    promise_members(3);
    expect_equal(cen_any_of(&group, all, 3), CEN_OK);
    expect(!cen_future_is_done(&group.future));
    expect(cen_promise_complete(&promises[1], &answer));
    expect(cen_future_is_done(&group.future));
    expect_equal(group.future.status, CEN_OK);
    expect(group.future.value == &members[1]);
    expect(cen_promise_complete(&promises[0], &answer));
    expect(group.future.value == &members[1]);
    cen_group_leave(&group);
    for (int i = 0; i < 3; i++) expect_no_consumer(i);
}

/* guarantees: future.groups */
TEST(any_of_is_ok_although_the_first_member_has_failed)
{
    promise_members(2);
    expect_equal(cen_any_of(&group, all, 2), CEN_OK);
    expect(cen_promise_fail(&promises[0], &(cen_error){.status = CEN_CLOSED, .code = 4}));
    expect_equal(cen_future_wait(&group.future, CEN_NOW), CEN_OK);
    expect_equal(group.future.status, CEN_OK);
    expect_equal(group.future.code, 0);
    expect(group.future.value == &members[0]);
    expect_equal(members[0].status, CEN_CLOSED);
    cen_group_leave(&group);
}

/* guarantees: future.groups */
TEST(all_of_is_done_with_the_last_member)
{
    promise_members(3);
    expect_equal(cen_all_of(&group, all, 3), CEN_OK);
    for (int i = 2; i >= 0; i--) {
        expect(!cen_future_is_done(&group.future));
        expect(cen_promise_complete(&promises[i], &answer));
    }
    expect_equal(cen_future_wait(&group.future, CEN_NOW), CEN_OK);
    expect(group.future.status == CEN_OK && !group.future.value);
    cen_group_leave(&group);
}

/* guarantees: future.groups */
TEST(all_of_waits_for_all_and_names_the_member_that_failed_first)
{
    promise_members(3);
    expect_equal(cen_all_of(&group, all, 3), CEN_OK);
    expect(cen_promise_fail(&promises[2], &(cen_error){.status = CEN_TIMEOUT, .code = 6}));
    expect(cen_promise_fail(&promises[0], NULL));
    expect(!cen_future_is_done(&group.future));
    expect(cen_promise_complete(&promises[1], &answer));
    expect_equal(cen_future_wait(&group.future, CEN_NOW), CEN_OK);
    expect_equal(group.future.status, CEN_TIMEOUT);
    expect_equal(group.future.code, 6);
    expect(group.future.value == &members[2]);
    cen_group_leave(&group);
}

/* guarantees: future.groups */
TEST(members_that_are_done_already_count)
{
    promise_members(3);
    expect(cen_promise_complete(&promises[1], &answer));
    expect(cen_promise_complete(&promises[2], &answer));
    expect_equal(cen_any_of(&group, all, 3), CEN_OK);
    expect(cen_future_is_done(&group.future));
    expect(group.future.value == &members[1]);
    cen_group_leave(&group);
    expect_equal(cen_all_of(&group, all, 3), CEN_OK); /* the same once more, those that are done too */
    expect(!cen_future_is_done(&group.future));
    expect(cen_promise_complete(&promises[0], &answer));
    expect(cen_future_is_done(&group.future));
    cen_group_leave(&group);
}

/* guarantees: future.groups */
TEST(members_may_be_promised_after_the_group_was_made)
{
    cen_future *one[1] = {&members[0]};
    cen_future_init(&members[0]);
    expect_equal(cen_all_of(&group, one, 1), CEN_OK);
    expect_equal(cen_promise_init(&promises[0], &members[0]), CEN_OK);
    expect(!cen_future_is_done(&group.future));
    expect(cen_promise_complete(&promises[0], &answer));
    expect(cen_future_is_done(&group.future));
    cen_group_leave(&group);
}

/* guarantees: future.group-leave */
TEST(a_member_that_is_never_promised_can_be_let_go_of)
{
    cen_future *one[1] = {&members[0]};
    cen_future_init(&members[0]);
    expect_equal(cen_any_of(&group, one, 1), CEN_OK);
    cen_group_leave(&group);
    expect_equal(cen_promise_init(&promises[0], &members[0]), CEN_OK);
    expect_equal(cen_future_then(&members[0], count_done, cen_inline()), CEN_OK);
    dones = 0;
    expect(cen_promise_complete(&promises[0], &answer));
    expect_equal(dones, 1);
}

/* ---- What is refused ------------------------------------------------------------------------------------ */

/* guarantees: future.group-members */
TEST(a_group_needs_members_each_of_them_once)
{
    cen_status (*const both[])(cen_group *, cen_future *const *, size_t) = {cen_any_of, cen_all_of};
    promise_members(MOST);
    for (int i = 0; i < 2; i++) {
        cen_future *with_null[] = {&members[0], NULL}, *twice[] = {&members[0], &members[1], &members[0]};
        expect_equal(both[i](NULL, all, 1), CEN_INVALID);
        expect_equal(both[i](&group, NULL, 1), CEN_INVALID);
        expect_equal(both[i](&group, all, 0), CEN_INVALID);
        expect_equal(both[i](&group, with_null, 2), CEN_INVALID);
        expect_equal(both[i](&group, twice, 3), CEN_INVALID);
        all[MOST - 1] = &members[0];
        expect_equal(both[i](&group, all, MOST), CEN_INVALID); /* however many there are */
        all[MOST - 1] = &members[MOST - 1];
    }
    for (int i = 0; i < MOST; i++) expect_no_consumer(i);
}

/* guarantees: future.group-members */
TEST(a_member_that_has_a_consumer_or_was_given_up_is_refused_and_nothing_changes)
{
    promise_members(3);
    expect_equal(cen_future_then(&members[2], count_done, cen_inline()), CEN_OK);
    expect_equal(cen_any_of(&group, all, 3), CEN_MISUSE);
    expect_no_consumer(0);
    expect_no_consumer(1);
    expect(cen_promise_complete(&promises[2], &answer));
    expect_equal(dones, 1);

    promise_members(3);
    cen_group another;
    expect_equal(cen_all_of(&another, &all[1], 1), CEN_OK);
    expect_equal(cen_all_of(&group, all, 2), CEN_MISUSE);
    expect_no_consumer(0);
    cen_group_leave(&another);
    expect(cen_future_cancel(&members[1]));
    expect_equal(cen_all_of(&group, all, 2), CEN_MISUSE);
    expect_no_consumer(0);
    expect_equal(cen_future_then(&members[0], count_done, cen_inline()), CEN_OK);
}

static void wait_for_member(void *unused)
{
    (void)unused;
    expect_equal(cen_future_wait(&members[0], CEN_NEVER), CEN_OK);
}

/* guarantees: future.group-members */
TEST(a_member_that_a_thread_waits_for_is_refused)
{
    promise_members(2);
    ceni_thread sleeper = start("sleeper", wait_for_member, NULL);
    ceni_world_settle();
    expect_equal(cen_any_of(&group, all, 2), CEN_MISUSE);
    expect(cen_promise_complete(&promises[0], &answer));
    join(sleeper);
}

/* guarantees: future.group-members */
TEST(the_group_is_the_consumer_of_its_members)
{
    promise_members(1);
    expect_equal(cen_any_of(&group, all, 1), CEN_OK);
    expect_equal(cen_future_then(&members[0], count_done, cen_inline()), CEN_MISUSE);
    expect_equal(cen_future_wait(&members[0], CEN_NEVER), CEN_MISUSE);
    cen_group_leave(&group);
    expect_no_consumer(0);
}

/* ---- Leaving ------------------------------------------------------------------------------------------------ */

/* guarantees: future.group-leave */
TEST(a_group_that_was_left_is_never_done_and_its_members_are_free)
{
    promise_members(2);
    expect_equal(cen_any_of(&group, all, 2), CEN_OK);
    expect_equal(cen_future_then(&group.future, count_done, cen_inline()), CEN_OK);
    cen_group_leave(&group);
    cen_group_leave(&group); /* once more changes nothing */
    cen_group_leave(NULL);
    expect(cen_promise_complete(&promises[0], &answer));
    expect(!cen_future_is_done(&group.future));
    expect_equal(cen_future_wait(&group.future, CEN_NEVER), CEN_INVALID);
    expect_equal(dones, 0);
    expect_no_consumer(0);
    memset(&group, 0x5A, sizeof group);
    expect(cen_promise_complete(&promises[1], &answer)); /* touches it no more */
    for (size_t i = 0; i < sizeof group; i++) expect_equal(((unsigned char *)&group)[i], 0x5A);
}

/* guarantees: future.group-cancel */
TEST(a_groups_future_can_be_given_up_and_that_lets_go_of_the_members)
{
    promise_members(2);
    expect_equal(cen_all_of(&group, all, 2), CEN_OK);
    expect_equal(cen_future_then(&group.future, count_done, cen_inline()), CEN_OK);
    expect(cen_promise_complete(&promises[0], &answer));
    expect(cen_future_cancel(&group.future));
    expect_no_consumer(0);
    expect_no_consumer(1);
    expect(cen_promise_complete(&promises[1], &answer));
    expect_equal(dones, 0);
    cen_group_leave(&group);
    expect(cen_future_cancel(&group.future));
}

/* guarantees: future.group-cancel */
TEST(a_groups_future_that_is_done_cannot_be_given_up)
{
    promise_members(2);
    expect_equal(cen_any_of(&group, all, 2), CEN_OK);
    expect(cen_promise_complete(&promises[0], &answer));
    expect(!cen_future_cancel(&group.future));
    cen_group_leave(&group);
    expect(cen_future_is_done(&group.future));
}

/* guarantees: future.group-cancel */
TEST(a_member_that_is_given_up_never_tells_its_group)
{
    promise_members(3);
    expect_equal(cen_any_of(&group, all, 3), CEN_OK);
    expect(cen_future_cancel(&members[0]));
    expect(!cen_promise_complete(&promises[0], &answer));
    expect(!cen_future_is_done(&group.future));
    expect(cen_promise_complete(&promises[2], &answer));
    expect(group.future.value == &members[2]);
    cen_group_leave(&group);
    promise_members(2);
    expect_equal(cen_all_of(&group, all, 2), CEN_OK);
    expect(cen_future_cancel(&members[1]));
    expect(cen_promise_complete(&promises[0], &answer));
    expect(!cen_future_is_done(&group.future));
    cen_group_leave(&group);
}

static void leave_inside(cen_future *future)
{
    expect(future == &group.future);
    dones++;
    cen_group_leave(&group);
    memset(&group, 0x5A, sizeof group);
}

/* guarantees: future.group-leave */
TEST(a_group_that_tells_inline_may_be_left_there)
{
    promise_members(2);
    expect_equal(cen_any_of(&group, all, 2), CEN_OK);
    expect_equal(cen_future_then(&group.future, leave_inside, cen_inline()), CEN_OK);
    expect(cen_promise_complete(&promises[1], &answer));
    expect_equal(dones, 1);
    expect_no_consumer(0);
}

/* guarantees: future.group-leave */
TEST(a_group_may_tell_an_inbox_and_be_left_before_it_is_told)
{
    cen_inbox *inbox;
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
    promise_members(2);
    expect_equal(cen_any_of(&group, all, 2), CEN_OK);
    expect_equal(cen_future_then(&group.future, count_done, cen_inbox_executor(inbox)), CEN_OK);
    expect(cen_promise_complete(&promises[1], &answer));
    cen_group_leave(&group);
    expect_equal(dones, 0);
    expect_equal(cen_inbox_poll(inbox, 0), 1);
    expect_equal(dones, 1);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* ---- Groups of groups ------------------------------------------------------------------------------------------ */

/* guarantees: future.groups */
TEST(a_groups_future_may_be_a_member_of_another_group)
{
    promise_members(3);
    cen_group inner;
    cen_future *outer[] = {&inner.future, &members[2]};
    expect_equal(cen_all_of(&inner, all, 2), CEN_OK);
    expect_equal(cen_any_of(&group, outer, 2), CEN_OK);
    expect(cen_promise_complete(&promises[0], &answer));
    expect(!cen_future_is_done(&group.future));
    expect(cen_promise_complete(&promises[1], &answer));
    expect(group.future.value == &inner.future);
    cen_group_leave(&group);
    cen_group_leave(&inner);
    expect(cen_future_is_done(&inner.future));
}

/* guarantees: future.group-leave */
TEST(an_inner_group_that_was_left_does_not_hold_the_outer_one_up)
{
    promise_members(2);
    cen_group inner;
    cen_future *outer[] = {&inner.future, &members[1]};
    expect_equal(cen_any_of(&inner, all, 1), CEN_OK);
    expect_equal(cen_any_of(&group, outer, 2), CEN_OK);
    cen_group_leave(&inner);
    expect(cen_promise_complete(&promises[0], &answer));
    expect(!cen_future_is_done(&group.future));
    cen_group_leave(&group);
    expect_no_consumer(1);
}

/* guarantees: future.groups */
TEST(a_thread_can_wait_for_a_group)
{
    promise_members(2);
    expect_equal(cen_all_of(&group, all, 2), CEN_OK);
    expect_equal(cen_future_wait(&group.future, cen_in_ms(1)), CEN_TIMEOUT);
    expect(cen_promise_complete(&promises[0], &answer));
    expect(cen_promise_complete(&promises[1], &answer));
    expect_equal(cen_future_wait(&group.future, CEN_NEVER), CEN_OK);
    cen_group_leave(&group);
}
