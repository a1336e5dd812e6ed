/* SPDX-License-Identifier: MIT */
/*
 * The queue when memory cannot be had and when sleepers wake for no reason:
 * whatever fails, nothing leaks, nothing changes and the queue stays usable.
 */
#include <cenote/queue.h>

#include "base/alloc.h"
#include "support/faults.h"
#include "support/world.h"
#include "sync/queue_internal.h"

static const cen_queue_kind kinds[] = {CEN_QUEUE_BOUNDED, CEN_QUEUE_RENDEZVOUS, CEN_QUEUE_UNBOUNDED};

static cen_queue *queue, *other;

static const char *no_memory(cen_status status)
{
    return status == CEN_NO_MEMORY ? NULL : "it does not say NO_MEMORY";
}

static const char *done_all_the_same(cen_status status)
{
    return status == CEN_OK ? NULL : "a fault it should not notice changes the answer";
}

static void free_both(void)
{
    cen_queue_free(queue);
    cen_queue_free(other);
    queue = other = NULL;
}

static void make(cen_queue **out, cen_queue_kind kind, size_t capacity)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .kind = kind, .capacity = capacity);
    expect_equal(cen_queue_new(&options, out, NULL), CEN_OK);
}

/* ---- The sweep itself -------------------------------------------------------------------- */

static void *first_half, *second_half;

static cen_status two_allocations(bool tidy)
{
    first_half = ceni_alloc(NULL, 40, 8);
    if (!first_half) return CEN_NO_MEMORY;
    second_half = ceni_alloc(NULL, 24, 8);
    if (second_half) return CEN_OK;
    if (tidy) {
        ceni_free(NULL, first_half, 40, 8);
        first_half = NULL;
    }
    return CEN_NO_MEMORY;
}

static cen_status tidy_operation(void)
{
    return two_allocations(true);
}

static cen_status leaking_operation(void)
{
    return two_allocations(false);
}

static cen_status lying_operation(void)
{
    cen_status status = two_allocations(true);
    return status == CEN_NO_MEMORY ? CEN_FULL : status;
}

static void free_halves(void)
{
    ceni_free(NULL, first_half, 40, 8);
    ceni_free(NULL, second_half, 24, 8);
    first_half = second_half = NULL;
}

static void forget_a_half(void)
{
    static void *forgotten;
    ceni_free(NULL, forgotten, 40, 8);
    forgotten = first_half;
    ceni_free(NULL, second_half, 24, 8);
    first_half = second_half = NULL;
}

TEST(a_sweep_meets_every_fault_of_a_sound_operation)
{
    fault_sweep sweep = {
        .mask = CENI_FAULT_ALLOC, .operation = tidy_operation, .check = no_memory, .undo = free_halves};
    expect_equal(fault_sweep_check(&sweep), 2);
}

TEST(a_sweep_reports_an_operation_that_leaks_when_it_fails)
{
    unsigned faults;
    fault_sweep sweep = {
        .mask = CENI_FAULT_ALLOC, .operation = leaking_operation, .check = no_memory, .undo = free_halves};
    const char *text = fault_sweep_find(&sweep, &faults);
    expect(text != NULL);
    expect_text(text, "fault 2: it fails with CEN_NO_MEMORY and holds 40 bytes more than before");
}

TEST(a_sweep_reports_a_wrong_answer)
{
    unsigned faults;
    fault_sweep sweep = {
        .mask = CENI_FAULT_ALLOC, .operation = lying_operation, .check = no_memory, .undo = free_halves};
    const char *text = fault_sweep_find(&sweep, &faults);
    expect(text != NULL);
    expect_text(text, "fault 1: it does not say NO_MEMORY (status CEN_FULL)");
}

TEST(a_sweep_reports_what_is_left_when_all_is_undone)
{
    unsigned faults;
    fault_sweep sweep = {
        .mask = CENI_FAULT_ALLOC, .operation = tidy_operation, .check = no_memory, .undo = forget_a_half};
    const char *text = fault_sweep_find(&sweep, &faults);
    expect(text != NULL);
    expect(strstr(text, "40 bytes are left when all is undone"));
    forget_a_half();
}

/* ---- Making one ------------------------------------------------------------------------------ */

static cen_queue_kind kind_to_make;
static bool with_drop;

static void drop_nothing(void *argument, void *element)
{
    (void)argument;
    (void)element;
}

static cen_status make_one(void)
{
    cen_error error = {.text = ""};
    cen_queue_options options = CEN_QUEUE_OPTIONS(.name = "swept", .element_size = 8, .kind = kind_to_make,
                                                  .drop = with_drop ? drop_nothing : NULL);
    cen_status status = cen_queue_new(&options, &queue, &error);
    if (status != CEN_OK) expect(error.status == status && strstr(error.text, "\"swept\""));
    return status;
}

static cen_status make_after(void)
{
    return cen_queue_after(cen_in_ms(1), &queue, NULL);
}

static cen_status make_tick(void)
{
    return cen_queue_tick(1000, &queue, NULL);
}

static cen_status make_never(void)
{
    return cen_queue_never(&queue, NULL);
}

static const char *nothing_was_made(cen_status status)
{
    return queue ? "the output was written although it failed" : no_memory(status);
}

static void sweep_making(cen_status (*operation)(void))
{
    fault_sweep sweep = {
        .mask = CENI_FAULT_ALLOC, .operation = operation, .check = nothing_was_made, .undo = free_both};
    fault_sweep_check(&sweep);
}

/* guarantees: queue.out-of-memory */
TEST(a_queue_that_gets_no_memory_leaves_none_behind)
{
    for (int drops = 0; drops < 2; drops++) {
        with_drop = drops;
        for (int i = 0; i < 3; i++) {
            kind_to_make = kinds[i];
            sweep_making(make_one);
        }
    }
}

/* guarantees: queue.out-of-memory */
TEST(a_source_that_gets_no_memory_leaves_none_behind)
{
    sweep_making(make_after);
    sweep_making(make_tick);
    sweep_making(make_never);
}

/* ---- Pushing across the end of a block ---------------------------------------------------------- */

enum { PUSHED = 2 * CENI_BLOCK_SLOTS + 1 };

static int filled; /* what is in the queue before the push that may fail */
static int next_number;

static void fill_both(void)
{
    make(&queue, CEN_QUEUE_UNBOUNDED, 0);
    make(&other, CEN_QUEUE_BOUNDED, 1);
    for (int i = 0; i < filled; i++) expect_equal(cen_queue_try_push(queue, &i), CEN_OK);
    expect_equal(cen_queue_try_push(other, &filled), CEN_OK);
    next_number = filled;
}

static cen_status push_trying(void)
{
    return cen_queue_try_push(queue, &next_number);
}

static cen_status push_waiting(void)
{
    return cen_queue_push(queue, &next_number);
}

static cen_status push_by_force(void)
{
    int evicted = -1;
    bool out = true;
    cen_status status = cen_queue_force_push(queue, &next_number, &evicted, &out);
    expect(!out && evicted == -1);
    return status;
}

/* The first case cannot be done: the queue with room for one is full. */
static cen_status push_by_select(void)
{
    size_t which = 9;
    cen_case cases[2] = {cen_case_push(other, &next_number), cen_case_push(queue, &next_number)};
    cen_status status = cen_select(cases, 2, CEN_NEVER, &which);
    expect_equal(which, 1);
    return status;
}

/* Nothing was pushed, and now that there is memory everything goes on. */
static const char *unchanged_and_usable(cen_status status)
{
    if ((int)cen_queue_length(queue) != filled || cen_queue_length(other) != 1) return "the length has changed";
    if (cen_queue_is_closed(queue)) return "it is closed";
    for (int i = filled; i < PUSHED + 5; i++)
        if (cen_queue_try_push(queue, &i) != CEN_OK) return "a later push does not go through";
    for (int i = 0, value = -1; i < PUSHED + 5; i++)
        if (cen_queue_try_pop(queue, &value) != CEN_OK || value != i) return "an element is missing or doubled";
    if (cen_queue_length(queue)) return "there is more in it than was pushed";
    return no_memory(status);
}

/* Wherever in the chain of blocks the push is; two of the places need a block. */
static void sweep_pushing(cen_status (*operation)(void))
{
    unsigned total = 0;
    for (filled = 0; filled < PUSHED; filled++) {
        unsigned faults;
        fault_sweep sweep = {.mask = CENI_FAULT_ALLOC,
                             .setup = fill_both,
                             .operation = operation,
                             .check = unchanged_and_usable,
                             .undo = free_both};
        const char *text = fault_sweep_find(&sweep, &faults);
        if (text) test_fail(__FILE__, __LINE__, "with %d in the queue: %s", filled, text);
        total += faults;
    }
    expect_equal(total, 2);
}

/* guarantees: queue.out-of-memory */
TEST(a_push_that_gets_no_block_pushes_nothing_and_the_queue_goes_on)
{
    sweep_pushing(push_trying);
    sweep_pushing(push_waiting);
    sweep_pushing(push_by_force);
}

/* guarantees: queue.out-of-memory */
TEST(a_select_that_gets_no_block_does_nothing_and_says_which)
{
    sweep_pushing(push_by_select);
}

/* ---- Nothing else allocates -------------------------------------------------------------------- */

/* guarantees: queue.no-allocation */
TEST(push_pop_select_and_close_need_no_memory)
{
    int value = 1;
    size_t which;
    bool out;
    make(&queue, CEN_QUEUE_BOUNDED, 2);
    make(&other, CEN_QUEUE_RENDEZVOUS, 0);
    uint64_t before = ceni_world_allocations();
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    cen_case cases[2] = {cen_case_pop(other, &value), cen_case_push(queue, &value)};
    expect_equal(cen_select(cases, 2, CEN_NEVER, &which), CEN_OK);
    expect_equal(cen_queue_push(queue, &value), CEN_OK);
    expect_equal(cen_queue_push_until(queue, &value, cen_in_ms(1)), CEN_TIMEOUT);
    expect_equal(cen_queue_force_push(queue, &value, &value, &out), CEN_OK);
    expect_equal(cen_queue_pop(queue, &value), CEN_OK);
    expect_equal(cen_queue_pop_until(other, cen_in_ms(1), &value), CEN_TIMEOUT);
    expect_equal(cen_queue_close(queue), CEN_OK);
    expect(!ceni_fault_disarm());
    expect_equal(ceni_world_allocations(), before);
    free_both();
}

/* ---- Sleepers that wake for no reason ------------------------------------------------------------- */

static cen_queue_kind kind_to_wake;
static cen_status answer;
static int answered;

static void make_empty(void)
{
    make(&queue, kind_to_wake, kind_to_wake == CEN_QUEUE_BOUNDED ? 1 : 0);
    make(&other, kind_to_wake, kind_to_wake == CEN_QUEUE_BOUNDED ? 1 : 0);
    answer = CEN_INVALID;
    answered = 0;
}

static void make_full(void)
{
    int value = 1;
    make_empty();
    if (kind_to_wake == CEN_QUEUE_BOUNDED) expect_equal(cen_queue_push(queue, &value), CEN_OK);
}

static void pop_into_answer(void *unused)
{
    (void)unused;
    answer = cen_queue_pop(queue, &answered);
}

static void push_seven(void *unused)
{
    int value = 7;
    (void)unused;
    answer = cen_queue_push(queue, &value);
}

static void select_into_answer(void *unused)
{
    size_t which = 9;
    (void)unused;
    cen_case cases[2] = {cen_case_pop(other, &answered), cen_case_pop(queue, &answered)};
    answer = cen_select(cases, 2, CEN_NEVER, &which);
    expect_equal(which, 1);
}

/* Another thread is asleep in `waits` when this one pushes a 7. */
static cen_status push_to(void (*waits)(void *))
{
    int value = 7;
    ceni_thread thread = start("sleeper", waits, NULL);
    ceni_world_settle();
    cen_status status = cen_queue_push(queue, &value);
    join(thread);
    return status == CEN_OK && answered == 7 ? answer : CEN_SYSTEM;
}

static cen_status push_to_a_sleeping_pop(void)
{
    return push_to(pop_into_answer);
}

static cen_status push_to_a_sleeping_select(void)
{
    return push_to(select_into_answer);
}

static cen_status pop_from_a_sleeping_push(void)
{
    int value = 0;
    ceni_thread thread = start("sleeper", push_seven, NULL);
    ceni_world_settle();
    while (value != 7) expect_equal(cen_queue_pop(queue, &value), CEN_OK); /* a full queue has a 1 before it */
    join(thread);
    return answer;
}

static cen_status close_on_a_sleeping_pop(void)
{
    ceni_thread thread = start("sleeper", pop_into_answer, NULL);
    ceni_world_settle();
    cen_status status = cen_queue_close(queue);
    join(thread);
    return answer == CEN_CLOSED ? status : CEN_SYSTEM;
}

static cen_status time_out(void)
{
    int value = 0;
    size_t which = 9;
    int64_t began = cen_clock();
    cen_case cases[2] = {cen_case_pop(other, &value), cen_case_pop(queue, &value)};
    if (cen_queue_pop_until(queue, cen_in_ms(1), &value) != CEN_TIMEOUT || cen_clock() != began + 1000000)
        return CEN_SYSTEM;
    if (cen_select(cases, 2, cen_in_ms(1), &which) != CEN_TIMEOUT || which != 9) return CEN_SYSTEM;
    return cen_clock() == began + 2000000 ? CEN_OK : CEN_SYSTEM;
}

static void sweep_waking(int count, void (*setup)(void), cen_status (*operation)(void))
{
    for (int i = 0; i < count; i++) {
        kind_to_wake = kinds[i];
        fault_sweep sweep = {.mask = CENI_FAULT_WAIT,
                             .setup = setup,
                             .operation = operation,
                             .check = done_all_the_same,
                             .undo = free_both};
        fault_sweep_check(&sweep);
    }
}

/* guarantees: queue.spurious */
TEST(a_pop_that_wakes_for_no_reason_sleeps_on)
{
    sweep_waking(3, make_empty, push_to_a_sleeping_pop);
}

/* guarantees: queue.spurious */
TEST(a_push_that_wakes_for_no_reason_sleeps_on)
{
    sweep_waking(2, make_full, pop_from_a_sleeping_push); /* a push to an unbounded queue never sleeps */
}

/* guarantees: queue.spurious */
TEST(a_select_that_wakes_for_no_reason_sleeps_on)
{
    sweep_waking(3, make_empty, push_to_a_sleeping_select);
}

/* guarantees: queue.spurious */
TEST(close_reaches_a_pop_that_woke_for_no_reason)
{
    sweep_waking(3, make_empty, close_on_a_sleeping_pop);
}

/* guarantees: queue.spurious */
TEST(waking_for_no_reason_does_not_shorten_a_wait)
{
    sweep_waking(3, make_empty, time_out);
}

/* ---- Free -------------------------------------------------------------------------------------------- */

static int dropped;

static void count_dropped(void *argument, void *element)
{
    expect_equal(*(int *)element, dropped);
    expect(argument == &dropped);
    dropped++;
}

static void make_with_drop(void)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .kind = kind_to_make,
                                                  .capacity = kind_to_make == CEN_QUEUE_BOUNDED ? 16 : 0,
                                                  .drop = count_dropped, .drop_argument = &dropped);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    for (int i = 0; i < 10; i++) expect_equal(cen_queue_try_push(queue, &i), CEN_OK);
    dropped = 0;
}

static cen_status free_it(void)
{
    cen_queue_free(queue);
    queue = NULL;
    return CEN_OK;
}

static const char *all_were_dropped(cen_status status)
{
    (void)status;
    return dropped == 10 ? NULL : "free did not show every element to drop";
}

/* Ending cannot fail for lack of memory, so there may be nothing to sweep. */
/* guarantees: queue.drop */
TEST(free_drops_every_element_whatever_memory_there_is)
{
    for (int i = 0; i < 2; i++) {
        unsigned faults;
        kind_to_make = i ? CEN_QUEUE_UNBOUNDED : CEN_QUEUE_BOUNDED;
        fault_sweep sweep = {.mask = CENI_FAULT_ALLOC,
                             .setup = make_with_drop,
                             .operation = free_it,
                             .check = all_were_dropped,
                             .undo = free_both};
        const char *text = fault_sweep_find(&sweep, &faults);
        if (text) test_fail(__FILE__, __LINE__, "%s", text);
        expect_equal(dropped, 10);
    }
}
