/* SPDX-License-Identifier: MIT */
/* Select under every schedule: exactly the returned operation has happened. */
#include <cenote/queue.h>

#include "base/atomic.h"
#include "support/world.h"

static cen_queue *left, *right;

static cen_queue *make(cen_queue_kind kind, size_t capacity)
{
    cen_queue *made;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .kind = kind, .capacity = capacity);
    expect_equal(cen_queue_new(&options, &made, NULL), CEN_OK);
    return made;
}

static void make_both(cen_queue_kind kind, size_t capacity)
{
    left = make(kind, capacity);
    right = make(kind, capacity);
}

static void free_both(void)
{
    cen_queue_free(left);
    cen_queue_free(right);
}

typedef struct outcome {
    cen_status status;
    size_t which;
    int from_left, from_right;
} outcome;

static void select_pop_either(void *into)
{
    outcome *out = into;
    cen_case cases[2] = {cen_case_pop(left, &out->from_left), cen_case_pop(right, &out->from_right)};
    out->status = cen_select(cases, 2, CEN_NEVER, &out->which);
}

static void select_pop_either_briefly(void *into)
{
    outcome *out = into;
    cen_case cases[2] = {cen_case_pop(left, &out->from_left), cen_case_pop(right, &out->from_right)};
    out->status = cen_select(cases, 2, cen_in_ms(1), &out->which);
}

static void push_left(void *number)
{
    int value = (int)(intptr_t)number;
    expect_equal(cen_queue_push(left, &value), CEN_OK);
}

static void push_right(void *number)
{
    int value = (int)(intptr_t)number;
    expect_equal(cen_queue_push(right, &value), CEN_OK);
}

/* What is left in a queue, popped without waiting. */
static int rest(cen_queue *queue)
{
    int value, total = 0;
    while (cen_queue_try_pop(queue, &value) == CEN_OK) total += value;
    return total;
}

static void one_select_two_pushes(cen_queue_kind kind)
{
    make_both(kind, kind == CEN_QUEUE_BOUNDED ? 1 : 0);
    outcome out = {.which = 9};
    ceni_thread selector = start("select", select_pop_either, &out);
    ceni_thread pusher = start("push right", push_right, (void *)20);
    push_left((void *)1);
    join(selector);
    join(pusher);
    expect_equal(out.status, CEN_OK);
    expect(out.which == 0 ? out.from_left == 1 && out.from_right == 0 : out.from_left == 0 && out.from_right == 20);
    expect_equal(out.from_left + out.from_right + rest(left) + rest(right), 21);
    free_both();
}

/* guarantees: select.one */
EXPLORE(a_select_takes_exactly_one_of_two_pushes_bounded, 3)
{
    one_select_two_pushes(CEN_QUEUE_BOUNDED);
}

/* guarantees: select.one */
EXPLORE(a_select_takes_exactly_one_of_two_pushes_unbounded, 3)
{
    one_select_two_pushes(CEN_QUEUE_UNBOUNDED);
}

/* guarantees: select.timeout */
EXPLORE(a_select_that_times_out_has_taken_nothing, 4)
{
    make_both(CEN_QUEUE_BOUNDED, 1);
    outcome out = {.which = 9};
    ceni_thread selector = start("select", select_pop_either_briefly, &out);
    push_right((void *)5);
    join(selector);
    if (out.status == CEN_TIMEOUT) expect(out.which == 9 && out.from_left == 0 && out.from_right == 0);
    else expect(out.which == 1 && out.from_right == 5);
    expect_equal(out.from_right + rest(right), 5);
    free_both();
}

/* A select that was called from one list and times out leaves the element to
 * a plain pop that sleeps behind it. */
static void pop_right(void *into)
{
    outcome *out = into;
    out->status = cen_queue_pop(right, &out->from_right);
}

/* guarantees: select.timeout */
EXPLORE(a_select_that_gives_up_passes_its_role_on, 3)
{
    make_both(CEN_QUEUE_BOUNDED, 1);
    outcome brief = {.which = 9}, patient = {.which = 9};
    ceni_thread selector = start("select", select_pop_either_briefly, &brief);
    ceni_thread popper = start("pop right", pop_right, &patient);
    push_right((void *)5);
    join(selector);
    if (brief.status != CEN_TIMEOUT) push_right((void *)5);
    join(popper); /* a deadlock here is the lost wake-up */
    expect_equal(patient.from_right, 5);
    free_both();
}

/* ---- Rendezvous head-on --------------------------------------------------------------- */

static void push_left_or_pop_right(void *into)
{
    outcome *out = into;
    int value = 1;
    cen_case cases[2] = {cen_case_push(left, &value), cen_case_pop(right, &out->from_right)};
    out->status = cen_select(cases, 2, CEN_NEVER, &out->which);
}

static void pop_left_or_push_right(void *into)
{
    outcome *out = into;
    int value = 2;
    cen_case cases[2] = {cen_case_pop(left, &out->from_left), cen_case_push(right, &value)};
    out->status = cen_select(cases, 2, CEN_NEVER, &out->which);
}

/* guarantees: select.rendezvous */
EXPLORE(two_selects_that_meet_head_on_agree_on_one_rendezvous, 4)
{
    make_both(CEN_QUEUE_RENDEZVOUS, 0);
    outcome a = {.which = 9}, b = {.which = 9};
    ceni_thread one = start("select", push_left_or_pop_right, &a);
    pop_left_or_push_right(&b);
    join(one);
    expect(a.status == CEN_OK && b.status == CEN_OK);
    expect_equal(a.which, b.which);
    if (a.which == 0) expect(b.from_left == 1 && a.from_right == 0);
    else expect(a.from_right == 2 && b.from_left == 0);
    free_both();
}

/* guarantees: select.rendezvous */
EXPLORE(a_select_never_meets_itself, 4)
{
    make_both(CEN_QUEUE_RENDEZVOUS, 0);
    int pushed = 3, popped = 0;
    cen_case cases[2] = {cen_case_push(left, &pushed), cen_case_pop(left, &popped)};
    size_t which = 9;
    expect_equal(cen_select(cases, 2, cen_in_ms(1), &which), CEN_TIMEOUT);
    expect(which == 9 && popped == 0);
    free_both();
}

static void push_either(void *into)
{
    outcome *out = into;
    int one = 1, two = 20;
    cen_case cases[2] = {cen_case_push(left, &one), cen_case_push(right, &two)};
    out->status = cen_select(cases, 2, CEN_NEVER, &out->which);
}

static void pop_left(void *into)
{
    outcome *out = into;
    out->status = cen_queue_pop_until(left, cen_in_ms(1), &out->from_left);
}

/* guarantees: select.one */
EXPLORE(a_select_pushes_to_exactly_one_of_two_waiting_pops, 3)
{
    make_both(CEN_QUEUE_RENDEZVOUS, 0);
    outcome pushed = {.which = 9}, a = {.which = 9}, b = {.which = 9};
    ceni_thread selector = start("select", push_either, &pushed);
    ceni_thread one = start("pop left", pop_left, &a);
    b.status = cen_queue_pop_until(right, cen_in_ms(2), &b.from_right);
    join(one);
    expect_equal(cen_queue_close(left), CEN_OK);
    join(selector);
    expect((a.status == CEN_OK) + (b.status == CEN_OK) == (pushed.status == CEN_OK));
    if (pushed.status == CEN_OK) expect(pushed.which == 0 ? a.from_left == 1 : b.from_right == 20);
    free_both();
}

/* ---- Close ------------------------------------------------------------------------------- */

/* guarantees: select.closed */
EXPLORE(closing_one_queue_ends_a_select_over_two, 4)
{
    make_both(CEN_QUEUE_BOUNDED, 1);
    outcome out = {.which = 9};
    ceni_thread selector = start("select", select_pop_either, &out);
    expect_equal(cen_queue_close(right), CEN_OK);
    join(selector);
    expect(out.status == CEN_CLOSED && out.which == 1);
    free_both();
}

/* guarantees: select.closed */
EXPLORE(closing_a_rendezvous_ends_a_select, 4)
{
    make_both(CEN_QUEUE_RENDEZVOUS, 0);
    outcome out = {.which = 9};
    ceni_thread selector = start("select", select_pop_either, &out);
    expect_equal(cen_queue_close(left), CEN_OK);
    join(selector);
    expect(out.status == CEN_CLOSED && out.which == 0);
    free_both();
}

/* ---- Who is passed over --------------------------------------------------------------------- */

EXPLORE(a_push_reaches_the_second_in_line_if_the_first_is_called_elsewhere, 3)
{
    left = make(CEN_QUEUE_BOUNDED, 1);
    right = make(CEN_QUEUE_RENDEZVOUS, 0);
    outcome first = {.which = 9}, second = {.which = 9};
    ceni_thread selector = start("select", select_pop_either, &first);
    ceni_world_settle();
    ceni_thread popper = start("pop right", pop_right, &second);
    ceni_world_settle();
    push_left((void *)1);
    push_right((void *)20); /* the select may still stand in the list, called from the left */
    if (first.which != 9 && first.which != 0) push_left((void *)1);
    join(popper);
    join(selector);
    expect_equal(second.from_right, 20);
    expect_equal(first.from_left, 1);
    free_both();
}

static void pop_the_tick(void *into)
{
    expect_equal(cen_queue_pop(left, into), CEN_OK);
}

EXPLORE(two_pops_of_a_tick_get_two_ticks, 3)
{
    int64_t a = 0, b = 0;
    expect_equal(cen_queue_tick(1000, &left, NULL), CEN_OK);
    ceni_thread popper = start("pop", pop_the_tick, &a);
    pop_the_tick(&b);
    join(popper);
    expect(a != b && a > 0 && b > 0);
    cen_queue_free(left);
}

/* Three selects in a circle: each pushes to one and pops from the next. */
static cen_queue *circle[3];

static void push_or_pop_in_the_circle(void *number)
{
    uintptr_t i = (uintptr_t)number;
    int mine = (int)i, got = -1;
    size_t which;
    cen_case cases[2] = {cen_case_push(circle[i], &mine), cen_case_pop(circle[(i + 1) % 3], &got)};
    cen_status status = cen_select(cases, 2, cen_in_ms(1), &which);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
    if (status == CEN_OK && which == 1) expect_equal(got, (int)(i + 1) % 3);
}

EXPLORE(three_selects_in_a_circle_make_progress, 3)
{
    for (int i = 0; i < 3; i++) circle[i] = make(CEN_QUEUE_RENDEZVOUS, 0);
    ceni_thread one = start("one", push_or_pop_in_the_circle, (void *)0);
    ceni_thread two = start("two", push_or_pop_in_the_circle, (void *)1);
    push_or_pop_in_the_circle((void *)2);
    join(one);
    join(two);
    for (int i = 0; i < 3; i++) cen_queue_free(circle[i]);
}
