/* SPDX-License-Identifier: MIT */
/* Futures and promises: each sentence of the header, in virtual time. */
#include <cenote/future.h>

#include "sync/future.h"

#include "support/world.h"

static const int64_t second = 1000000000;
static int answer = 7;

/* ---- An executor that keeps what is posted until the test runs it -------------------------- */

typedef struct shelf {
    cen_executor executor; /* first */
    cen_job *kept;
    int posts;
} shelf;

static void put_on_shelf(cen_executor *executor, cen_job *job)
{
    shelf *self = (shelf *)(void *)executor;
    job->next = self->kept;
    self->kept = job;
    self->posts++;
}

static shelf new_shelf(void)
{
    return (shelf){.executor = {put_on_shelf}};
}

static int run_shelf(shelf *self)
{
    int count = 0;
    for (cen_job *job; (job = self->kept); count++) {
        self->kept = job->next;
        job->run(job);
    }
    return count;
}

static cen_future *last_done;
static int dones;

static void note_done(cen_future *future)
{
    last_done = future;
    dones++;
}

static void promise_one(cen_future *future, cen_promise *promise)
{
    cen_future_init(future);
    expect_equal(cen_promise_init(promise, future), CEN_OK);
    dones = 0;
    last_done = NULL;
}

/* ---- Being done ------------------------------------------------------------------------------ */

/* guarantees: future.once */
TEST(a_promise_that_is_kept_is_done_with_its_value)
{
    cen_future future;
    cen_promise promise;
    promise_one(&future, &promise);
    future.user = &dones;
    expect(!cen_future_is_done(&future));
    expect(cen_promise_is_wanted(&promise));
    expect(cen_promise_complete(&promise, &answer));
    expect(cen_future_is_done(&future));
    expect(!cen_promise_is_wanted(&promise));
    expect_equal(future.status, CEN_OK);
    expect_equal(future.code, 0);
    expect(future.value == &answer);
    expect(future.user == &dones);
    expect_equal(cen_future_wait(&future, CEN_NOW), CEN_OK);
    expect_equal(cen_future_wait(&future, CEN_NEVER), CEN_OK); /* as often as one likes */
}

/* guarantees: future.once */
TEST(null_is_a_value_like_any_other)
{
    cen_future future;
    cen_promise promise;
    promise_one(&future, &promise);
    expect(cen_promise_complete(&promise, NULL));
    expect_equal(cen_future_wait(&future, CEN_NOW), CEN_OK);
    expect(future.status == CEN_OK && !future.value);
}

/* guarantees: future.once */
TEST(a_promise_that_fails_passes_on_the_whole_error)
{
    cen_future future;
    cen_promise promise;
    promise_one(&future, &promise);
    cen_error text = {.status = CEN_OK};
    const cen_error why = {
        .status = CEN_OVERLOAD, .code = 5, .cause = CEN_CAUSE_SHED, .retry_after_ns = 9, .text = "too much"};
    future.error = &text;
    expect(cen_promise_fail(&promise, &why));
    expect(cen_future_is_done(&future));
    expect_equal(future.status, CEN_OVERLOAD);
    expect_equal(future.code, 5);
    expect(!future.value);
    expect_equal(text.status, CEN_OVERLOAD);
    expect_equal(text.code, 5);
    expect_equal(text.cause, CEN_CAUSE_SHED);
    expect_equal(text.retry_after_ns, 9);
    expect_text(text.text, "too much");
}

/* guarantees: future.once */
TEST(a_promise_that_fails_and_does_not_say_why_is_the_drivers_fault)
{
    for (int say = 0; say < 2; say++) {
        cen_future future;
        cen_promise promise;
        promise_one(&future, &promise);
        cen_error text = {.status = CEN_OK};
        const cen_error nothing = {.status = CEN_OK, .code = 3, .text = "it said so"};
        future.error = &text;
        expect(cen_promise_fail(&promise, say ? &nothing : NULL));
        expect_equal(future.status, CEN_DRIVER);
        expect_equal(future.code, say ? 3 : 0);
        expect_equal(text.status, CEN_DRIVER);
        expect_equal(text.code, future.code);
        expect(text.text[0] != 0);
    }
}

/* guarantees: future.once */
TEST(a_failure_needs_no_place_for_its_text)
{
    cen_future future;
    cen_promise promise;
    promise_one(&future, &promise);
    expect(cen_promise_fail(&promise, &(cen_error){.status = CEN_CLOSED}));
    expect_equal(future.status, CEN_CLOSED);
}

/* guarantees: future.once */
TEST(a_promise_is_kept_once)
{
    cen_future future;
    cen_promise promise;
    int other = 8;
    promise_one(&future, &promise);
    expect(cen_promise_complete(&promise, &answer));
    expect(!cen_promise_complete(&promise, &other));
    expect(!cen_promise_fail(&promise, NULL));
    expect(future.status == CEN_OK && future.value == &answer);
    promise_one(&future, &promise);
    expect(cen_promise_fail(&promise, NULL));
    expect(!cen_promise_complete(&promise, &other));
    expect(future.status == CEN_DRIVER && !future.value);
}

/* guarantees: future.memory */
TEST(a_future_and_its_promise_can_be_used_again_after_init)
{
    cen_future future;
    cen_promise promise;
    for (int i = 0; i < 3; i++) {
        promise_one(&future, &promise);
        if (i == 0) expect_equal(cen_future_then(&future, note_done, cen_inline()), CEN_OK);
        if (i == 1) expect(cen_future_cancel(&future));
        else expect(cen_promise_complete(&promise, &answer));
    }
    expect_equal(cen_future_wait(&future, CEN_NOW), CEN_OK);
}

/* ---- What is refused ----------------------------------------------------------------------------- */

/* guarantees: future.consumer */
TEST(nothing_can_be_done_without_a_future_or_a_promise)
{
    cen_future future;
    cen_promise promise;
    cen_future_init(NULL);
    cen_future_init(&future);
    expect_equal(cen_future_then(NULL, note_done, cen_inline()), CEN_INVALID);
    expect_equal(cen_future_then(&future, note_done, NULL), CEN_INVALID);
    expect_equal(cen_future_then(&future, NULL, cen_inline()), CEN_INVALID);
    expect_equal(cen_future_wait(NULL, CEN_NOW), CEN_INVALID);
    expect(!cen_future_is_done(NULL));
    expect(!cen_future_cancel(NULL));
    expect_equal(cen_promise_init(NULL, &future), CEN_INVALID);
    expect_equal(cen_promise_init(&promise, NULL), CEN_INVALID);
    expect(!cen_promise_complete(NULL, &answer));
    expect(!cen_promise_fail(NULL, NULL));
    expect(!cen_promise_is_wanted(NULL));
    expect_equal(cen_promise_init(&promise, &future), CEN_OK); /* nothing has changed */
    expect(cen_promise_complete(&promise, &answer));
}

/* guarantees: future.once */
TEST(a_future_is_promised_once)
{
    cen_future future;
    cen_promise promise, other;
    promise_one(&future, &promise);
    expect_equal(cen_promise_init(&other, &future), CEN_MISUSE);
    expect(cen_promise_complete(&promise, &answer));
    expect_equal(cen_promise_init(&other, &future), CEN_MISUSE);
    promise_one(&future, &promise);
    expect(cen_future_cancel(&future));
    expect_equal(cen_promise_init(&other, &future), CEN_MISUSE);
}

/* guarantees: future.consumer */
TEST(waiting_for_what_nobody_promised_or_what_was_given_up_is_invalid)
{
    cen_future future;
    cen_promise promise;
    cen_future_init(&future);
    expect_equal(cen_future_wait(&future, CEN_NEVER), CEN_INVALID);
    promise_one(&future, &promise);
    expect(cen_future_cancel(&future));
    expect_equal(cen_future_wait(&future, CEN_NEVER), CEN_INVALID);
}

static cen_future waited_for;
static cen_status waited;

static void wait_in_a_thread(void *unused)
{
    (void)unused;
    waited = cen_future_wait(&waited_for, CEN_NEVER);
}

/* guarantees: future.consumer */
TEST(a_future_has_one_consumer)
{
    cen_future future;
    cen_promise promise;
    shelf later = new_shelf();
    promise_one(&future, &promise);
    expect_equal(cen_future_then(&future, note_done, &later.executor), CEN_OK);
    expect_equal(cen_future_then(&future, note_done, cen_inline()), CEN_MISUSE);
    expect_equal(cen_future_wait(&future, CEN_NEVER), CEN_MISUSE);
    expect(cen_promise_complete(&promise, &answer));
    expect_equal(cen_future_wait(&future, CEN_NEVER), CEN_MISUSE);
    expect_equal(run_shelf(&later), 1);
    expect_equal(dones, 1);

    promise_one(&waited_for, &promise);
    ceni_thread sleeper = start("sleeper", wait_in_a_thread, NULL);
    ceni_world_settle();
    expect_equal(cen_future_then(&waited_for, note_done, cen_inline()), CEN_MISUSE);
    expect_equal(cen_future_wait(&waited_for, CEN_NEVER), CEN_MISUSE);
    expect(!cen_future_cancel(&waited_for));
    expect(cen_promise_complete(&promise, &answer));
    join(sleeper);
    expect_equal(waited, CEN_OK);
    expect_equal(dones, 0);
}

/* guarantees: future.consumer */
TEST(a_future_that_was_given_up_gets_no_done)
{
    cen_future future;
    cen_promise promise;
    promise_one(&future, &promise);
    expect(cen_future_cancel(&future));
    expect_equal(cen_future_then(&future, note_done, cen_inline()), CEN_MISUSE);
}

/* ---- Then ------------------------------------------------------------------------------------------ */

/* guarantees: future.callback */
TEST(done_is_called_once_on_the_executor_that_was_named_and_not_before)
{
    cen_future future;
    cen_promise promise;
    shelf later = new_shelf();
    promise_one(&future, &promise);
    expect_equal(cen_future_then(&future, note_done, &later.executor), CEN_OK);
    expect_equal(later.posts, 0);
    expect(cen_promise_complete(&promise, &answer));
    expect_equal(later.posts, 1);
    expect_equal(dones, 0);
    expect_equal(run_shelf(&later), 1);
    expect(dones == 1 && last_done == &future);
}

/* guarantees: future.callback */
TEST(done_can_be_named_before_it_is_promised_and_after_it_is_done)
{
    cen_future future;
    cen_promise promise;
    shelf later = new_shelf();
    cen_future_init(&future);
    dones = 0;
    expect_equal(cen_future_then(&future, note_done, &later.executor), CEN_OK);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    expect(cen_promise_complete(&promise, &answer));
    expect_equal(run_shelf(&later), 1);
    promise_one(&future, &promise);
    expect(cen_promise_complete(&promise, &answer));
    expect_equal(cen_future_then(&future, note_done, &later.executor), CEN_OK);
    expect_equal(later.posts, 2);
    expect_equal(run_shelf(&later), 1);
    expect(last_done == &future);
}

/* guarantees: future.callback */
TEST(who_promises_for_itself_can_say_at_once_how_it_ended)
{
    cen_future future;
    shelf later = new_shelf();
    cen_future_init(&future);
    expect(ceni_future_is_fresh(&future));
    future.status = CEN_CLOSED;
    ceni_future_complete_fresh(&future);
    expect(!ceni_future_is_fresh(&future));
    expect_equal(cen_future_wait(&future, CEN_NOW), CEN_OK);
    expect_equal(future.status, CEN_CLOSED);
    cen_future_init(&future);
    expect_equal(cen_future_then(&future, note_done, &later.executor), CEN_OK);
    ceni_future_complete_fresh(&future);
    expect_equal(run_shelf(&later), 1);
}

/* ---- Wait -------------------------------------------------------------------------------------------- */

/* guarantees: future.wait */
TEST(a_wait_ends_at_its_deadline_and_not_a_nanosecond_earlier_and_can_be_tried_again)
{
    cen_future future;
    cen_promise promise;
    promise_one(&future, &promise);
    int64_t began = ceni_clock_now();
    expect_equal(cen_future_wait(&future, CEN_NOW), CEN_TIMEOUT);
    expect_equal(ceni_clock_now(), began);
    expect_equal(cen_future_wait(&future, cen_in_ms(5)), CEN_TIMEOUT);
    expect_equal(ceni_clock_now(), began + 5000000);
    expect_equal(cen_future_wait(&future, cen_deadline_fix(cen_in_s(1))), CEN_TIMEOUT);
    expect_equal(ceni_clock_now(), began + 5000000 + second);
    expect(cen_promise_is_wanted(&promise));
    expect(cen_promise_complete(&promise, &answer));
    expect_equal(cen_future_wait(&future, CEN_NOW), CEN_OK);
}

/* guarantees: future.wait */
TEST(a_zero_deadline_is_thirty_seconds)
{
    cen_future future;
    cen_promise promise;
    promise_one(&future, &promise);
    int64_t began = ceni_clock_now();
    expect_equal(cen_future_wait(&future, (cen_deadline){0}), CEN_TIMEOUT);
    expect_equal(ceni_clock_now(), began + 30 * second);
}

/* guarantees: future.wait */
TEST(after_a_wait_that_timed_out_a_future_can_be_given_up_or_have_a_done)
{
    cen_future future;
    cen_promise promise;
    promise_one(&future, &promise);
    expect_equal(cen_future_wait(&future, cen_in_ms(1)), CEN_TIMEOUT);
    expect_equal(cen_future_then(&future, note_done, cen_inline()), CEN_OK);
    expect(cen_promise_complete(&promise, &answer));
    expect_equal(dones, 1);
    promise_one(&future, &promise);
    expect_equal(cen_future_wait(&future, cen_in_ms(1)), CEN_TIMEOUT);
    expect(cen_future_cancel(&future));
}

/* ---- Cancel ---------------------------------------------------------------------------------------------- */

/* guarantees: future.cancel */
TEST(what_was_given_up_is_never_done_and_the_value_stays_the_promisers)
{
    cen_future future;
    cen_promise promise;
    shelf later = new_shelf();
    for (int told = 0; told < 2; told++) {
        promise_one(&future, &promise);
        if (told) expect_equal(cen_future_then(&future, note_done, &later.executor), CEN_OK);
        expect(cen_future_cancel(&future));
        memset(&future, 0x5A, sizeof future); /* it is ours again */
        expect(!cen_promise_is_wanted(&promise));
        expect(!cen_promise_complete(&promise, &answer));
        expect(!cen_promise_fail(&promise, NULL));
        const unsigned char *bytes = (const unsigned char *)&future;
        for (size_t i = 0; i < sizeof future; i++) expect_equal(bytes[i], 0x5A);
        expect_equal(later.posts, 0);
    }
}

/* guarantees: future.cancel */
TEST(what_is_done_cannot_be_given_up)
{
    cen_future future;
    cen_promise promise;
    shelf later = new_shelf();
    promise_one(&future, &promise);
    expect(cen_promise_complete(&promise, &answer));
    expect(!cen_future_cancel(&future));
    expect(cen_future_is_done(&future));
    promise_one(&future, &promise);
    expect_equal(cen_future_then(&future, note_done, &later.executor), CEN_OK);
    expect(cen_promise_complete(&promise, &answer));
    expect(!cen_future_cancel(&future)); /* its done is on its way */
    expect_equal(run_shelf(&later), 1);
    expect_equal(dones, 1);
}

/* guarantees: future.cancel */
TEST(what_nobody_promised_can_be_given_up_and_what_was_given_up_stays_so)
{
    cen_future future;
    cen_promise promise;
    cen_future_init(&future);
    dones = 0;
    expect_equal(cen_future_then(&future, note_done, cen_inline()), CEN_OK);
    expect(cen_future_cancel(&future));
    expect(cen_future_cancel(&future));
    expect_equal(cen_promise_init(&promise, &future), CEN_MISUSE);
    expect(!cen_future_is_done(&future));
    expect_equal(dones, 0);
}

static cen_future other;
static bool other_cancelled;

static void cancel_the_other(cen_future *future)
{
    (void)future;
    other_cancelled = cen_future_cancel(&other);
}

/* guarantees: future.cancel */
TEST(a_done_may_give_up_another_future)
{
    cen_future future;
    cen_promise promise, promised;
    promise_one(&other, &promised);
    promise_one(&future, &promise);
    expect_equal(cen_future_then(&other, note_done, cen_inline()), CEN_OK);
    expect_equal(cen_future_then(&future, cancel_the_other, cen_inline()), CEN_OK);
    expect(cen_promise_complete(&promise, &answer));
    expect(other_cancelled);
    expect(!cen_promise_complete(&promised, &answer));
    expect_equal(dones, 0);
}

static cen_promise own_promise;

static void keep_again(cen_future *future)
{
    expect(!cen_promise_complete(&own_promise, NULL));
    cen_future_init(future); /* used once more, from within */
    expect_equal(cen_promise_init(&own_promise, future), CEN_OK);
    expect_equal(cen_future_then(future, note_done, cen_inline()), CEN_OK);
    expect(cen_promise_complete(&own_promise, &answer));
    expect_equal(dones, 0); /* not within this one */
}

/* guarantees: future.memory */
TEST(a_done_may_use_its_future_once_more)
{
    cen_future future;
    promise_one(&future, &own_promise);
    expect_equal(cen_future_then(&future, keep_again, cen_inline()), CEN_OK);
    expect(cen_promise_complete(&own_promise, &answer));
    expect(dones == 1 && last_done == &future);
}

/* guarantees: future.memory */
TEST(futures_promises_and_groups_allocate_nothing)
{
    cen_future future, *all[1] = {&future};
    cen_promise promise;
    cen_group group;
    promise_one(&future, &promise);
    expect_equal(cen_any_of(&group, all, 1), CEN_OK);
    expect(cen_promise_complete(&promise, &answer));
    cen_group_leave(&group);
    expect_equal(ceni_world_allocations(), 0);
}
