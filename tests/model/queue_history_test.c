/* SPDX-License-Identifier: MIT */
/*
 * Small concurrent histories of the queue, checked for an order.
 *
 * Three threads do a few random operations under random schedules. Each is
 * recorded with the moments of its call and its return; before them main fills
 * the queue, after them it empties it. The history is right if the operations
 * can be put into one order in which a sequential queue gives the same
 * answers, and in which nothing comes before what had returned before it was
 * called. With so few operations trying every order is quick.
 *
 * Where the header allows an answer that a sequential queue would not give,
 * the check allows it too, and no more:
 *   A1 A pop that does not wait may find nothing while the push of the oldest
 *      element has not returned; also if that push is refused in the end,
 *      because it was passed over and then met a close.
 *   A2 A push that does not wait to a bounded queue may find it full while a
 *      pop or an eviction has not returned.
 *   A3 A forced push is an eviction and then a push, not one step.
 *   A4 A pop that does not wait from an unbounded queue may find nothing while
 *      another pop, at the end of a block, has not returned.
 * A wait that ends by its deadline is taken as an attempt that does not wait.
 * The moments are read from a watched atomic by a step that empties the store
 * buffer: an operation has returned when the caller can prove it to others.
 */
#include <cenote/queue.h>

#include "base/atomic.h"
#include "support/world.h"

enum { THREADS = 3, EACH = 3, FILLED = 4, MOST = THREADS * EACH + FILLED + THREADS * EACH + FILLED + 4 };

typedef enum action { TRY_PUSH, PUSH_SOON, FORCE, EVICT, TRY_POP, POP_SOON, CLOSE, LENGTH, IS_CLOSED, ACTIONS } action;

static const char *const names[ACTIONS] = {"try_push",  "push_until", "force_push", "(evicts)", "try_pop",
                                           "pop_until", "close",      "length",     "is_closed"};

typedef struct event {
    action what;
    int thread, value; /* pushed, popped, evicted or counted */
    cen_status status;
    uint32_t called, returned;
} event;

typedef struct history {
    event events[MOST];
    unsigned count;
} history;

/* ---- Recording ----------------------------------------------------------------------- */

static cen_queue *queue;
static size_t capacity; /* 0: unbounded */
static cen_queue_kind kind;
static _Atomic uint32_t moments;
static history records[THREADS + 1]; /* the last is main's */
static action program[THREADS][EACH];
static unsigned lengths[THREADS], filled;

static uint32_t moment(void)
{
    return ceni_add_seq_cst(&moments, 1);
}

static event *begin(int thread, action what, int value)
{
    history *h = &records[thread];
    event *e = &h->events[h->count++];
    *e = (event){.what = what, .thread = thread, .value = value};
    e->called = moment();
    return e;
}

static void force(event *e, int thread)
{
    int evicted = 0;
    bool out = false;
    e->status = cen_queue_force_push(queue, &e->value, &evicted, &out);
    e->returned = moment();
    if (!out) return;
    history *h = &records[thread];
    h->events[h->count] = *e; /* the push comes behind its eviction */
    h->count++;
    *e = (event){EVICT, thread, evicted, CEN_OK, e->called, e->returned};
}

static cen_status perform(int thread, action what, int value)
{
    event *e = begin(thread, what, value);
    switch (what) {
    case TRY_PUSH: e->status = cen_queue_try_push(queue, &value); break;
    case PUSH_SOON: e->status = cen_queue_push_until(queue, &value, cen_in_us(1)); break;
    case TRY_POP: e->status = cen_queue_try_pop(queue, &e->value); break;
    case POP_SOON: e->status = cen_queue_pop_until(queue, cen_in_us(1), &e->value); break;
    case CLOSE: e->status = cen_queue_close(queue); break;
    case LENGTH: e->value = (int)cen_queue_length(queue); break;
    case IS_CLOSED: e->value = cen_queue_is_closed(queue); break;
    case FORCE: force(e, thread); return CEN_OK;
    case EVICT:
    case ACTIONS: break;
    }
    cen_status status = e->status;
    e->returned = moment();
    return status;
}

static void follow_program(void *number)
{
    int thread = (int)(intptr_t)number;
    for (unsigned i = 0; i < lengths[thread]; i++) perform(thread, program[thread][i], 10 * (thread + 1) + (int)i);
}

/* ---- Finding the order -------------------------------------------------------------------- */

typedef struct sequential {
    int values[MOST];
    unsigned owners[MOST]; /* which event pushed it */
    unsigned count;
    bool closed;
} sequential;

static history all;

static bool is_push(const event *e)
{
    return e->what == TRY_PUSH || e->what == PUSH_SOON || e->what == FORCE;
}

static bool overlap(const event *a, const event *b)
{
    return a->called < b->returned && b->called < a->returned;
}

/* A2, A4: somebody else who takes something out is not back yet. */
static bool meets_a_taker(const event *self)
{
    for (unsigned i = 0; i < all.count; i++) {
        const event *e = &all.events[i];
        bool takes = e->what == EVICT || e->what == TRY_POP || e->what == POP_SOON;
        if (takes && e->status == CEN_OK && overlap(e, self)) return true;
    }
    return false;
}

static unsigned pushes_met(const event *self)
{
    unsigned count = 0;
    for (unsigned i = 0; i < all.count; i++) count += is_push(&all.events[i]) && overlap(&all.events[i], self);
    return count;
}

/* The unbounded queue counts a push as soon as it has a place, which it may
 * lose again to a pop that passes over it. */
static bool length_fits(const sequential *s, const event *e)
{
    unsigned unsure = capacity ? 0 : pushes_met(e), length = (unsigned)e->value;
    return length + unsure >= s->count && length <= s->count + unsure;
}

/* A pop that says it found nothing. */
static bool nothing_fits(const sequential *s, const event *e)
{
    if (s->count == 0 && !s->closed) return true;
    if (!capacity && meets_a_taker(e)) return true;             /* A4 */
    if (s->count) return overlap(&all.events[s->owners[0]], e); /* A1 */
    return !capacity && pushes_met(e);                          /* A1, refused in the end */
}

static bool push_fits(sequential *s, const event *e, unsigned number)
{
    bool full = capacity && s->count == capacity;
    if (e->status == CEN_CLOSED) return s->closed;
    if (e->status == CEN_FULL || e->status == CEN_TIMEOUT)
        return !s->closed && (full || (capacity && meets_a_taker(e)));
    if (e->status != CEN_OK || s->closed || full) return false;
    s->values[s->count] = e->value;
    s->owners[s->count++] = number;
    return true;
}

static bool pop_fits(sequential *s, const event *e)
{
    if (e->status == CEN_CLOSED) return s->closed && s->count == 0;
    if (e->status == CEN_EMPTY || e->status == CEN_TIMEOUT) return nothing_fits(s, e);
    if (e->status != CEN_OK || s->count == 0 || s->values[0] != e->value) return false;
    s->count--;
    memmove(s->values, s->values + 1, s->count * sizeof s->values[0]);
    memmove(s->owners, s->owners + 1, s->count * sizeof s->owners[0]);
    return true;
}

static bool fits(sequential *s, unsigned number)
{
    const event *e = &all.events[number];
    if (is_push(e)) return push_fits(s, e, number);
    bool was = s->closed;
    switch (e->what) {
    case CLOSE: s->closed = true; return e->status == (was ? CEN_CLOSED : CEN_OK);
    case IS_CLOSED: return e->value == s->closed;
    case LENGTH: return length_fits(s, e);
    default: return pop_fits(s, e);
    }
}

/* Whether every event that is not yet in `done` can be put behind them. */
static bool can_be_ordered(const sequential *so_far, uint64_t done)
{
    if (done == ((uint64_t)1 << all.count) - 1) return true;
    uint32_t first_return = UINT32_MAX;
    for (unsigned i = 0; i < all.count; i++)
        if (!(done >> i & 1) && all.events[i].returned < first_return) first_return = all.events[i].returned;
    for (unsigned i = 0; i < all.count; i++) {
        if (done >> i & 1 || all.events[i].called > first_return) continue;
        if (i > 0 && all.events[i - 1].what == EVICT && !(done >> (i - 1) & 1)) continue;
        sequential next = *so_far;
        if (fits(&next, i) && can_be_ordered(&next, done | (uint64_t)1 << i)) return true;
    }
    return false;
}

/* ---- A rendezvous has no order to find, but pairs ------------------------------------------- */

static bool is_pop(const event *e)
{
    return e->what == TRY_POP || e->what == POP_SOON;
}

/* Every push that was done met exactly one pop, while both were going on. */
static bool has_partner(const event *e)
{
    unsigned partners = 0;
    for (unsigned i = 0; i < all.count; i++) {
        const event *other = &all.events[i];
        bool opposite = is_push(e) ? is_pop(other) : is_push(other);
        if (opposite && other->status == CEN_OK && other->value == e->value) partners += overlap(e, other) ? 1 : 2;
    }
    return partners == 1;
}

static bool close_explains(const event *e)
{
    bool may_be_closed = false, must_be_closed = false;
    for (unsigned i = 0; i < all.count; i++) {
        const event *other = &all.events[i];
        if (other->what != CLOSE) continue;
        may_be_closed |= other->called < e->returned;
        must_be_closed |= other->status == CEN_OK && other->returned < e->called;
    }
    return e->status == CEN_CLOSED ? may_be_closed : !must_be_closed;
}

static bool meetings_only(void)
{
    for (unsigned i = 0; i < all.count; i++) {
        const event *e = &all.events[i];
        if (e->what == LENGTH && e->value != 0) return false;
        if (!is_push(e) && !is_pop(e)) continue;
        if (!close_explains(e)) return false;
        if (e->status == CEN_OK && !has_partner(e)) return false;
    }
    return true;
}

static bool explained(void)
{
    return kind == CEN_QUEUE_RENDEZVOUS ? meetings_only() : can_be_ordered(&(sequential){.count = 0}, 0);
}

static void print_history(void)
{
    for (unsigned i = 0; i < all.count; i++) {
        const event *e = &all.events[i];
        printf("       %3u to %3u  thread %d  %-10s %3d  %s\n", e->called, e->returned, e->thread, names[e->what],
               e->value, cen_status_name(e->status));
    }
}

/* ---- One schedule ----------------------------------------------------------------------------- */

static void gather(void)
{
    all.count = 0;
    for (int t = THREADS; t >= 0; t--)
        for (unsigned i = 0; i < records[t].count; i++) all.events[all.count++] = records[t].events[i];
}

static void one_schedule(void)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .kind = kind, .capacity = capacity);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    for (int t = 0; t <= THREADS; t++) records[t].count = 0;
    ceni_store_relaxed(&moments, 0);
    for (unsigned i = 0; i < filled; i++) perform(THREADS, TRY_PUSH, 1 + (int)i);
    ceni_thread threads[THREADS];
    for (intptr_t t = 0; t < THREADS; t++) threads[t] = start("actor", follow_program, (void *)t);
    for (int t = 0; t < THREADS; t++) join(threads[t]);
    while (perform(THREADS, TRY_POP, 0) == CEN_OK) continue;
    gather();
    if (!explained()) {
        print_history();
        test_fail(__FILE__, __LINE__, "nothing explains this history of a queue of kind %d, capacity %zu", (int)kind,
                  capacity);
    }
    cen_queue_free(queue);
}

/* ---- Many programs -------------------------------------------------------------------------------- */

enum { CHOICES = 10 };
static const action bounded_actions[CHOICES] = {TRY_PUSH, TRY_PUSH, PUSH_SOON, TRY_POP,   TRY_POP,
                                                POP_SOON, FORCE,    LENGTH,    IS_CLOSED, CLOSE};
static const action unbounded_actions[CHOICES] = {TRY_PUSH, TRY_PUSH, FORCE,  TRY_POP,   TRY_POP,
                                                  POP_SOON, TRY_POP,  LENGTH, IS_CLOSED, CLOSE};
static const action meeting_actions[CHOICES] = {TRY_PUSH, PUSH_SOON, PUSH_SOON, PUSH_SOON, TRY_POP,
                                                POP_SOON, POP_SOON,  POP_SOON,  LENGTH,    CLOSE};

/* At most eight operations beside one another. */
static void draw_program(uint64_t *dice, const action *actions)
{
    static const unsigned most[THREADS] = {3, 3, 2};
    for (int t = 0; t < THREADS; t++) {
        lengths[t] = 1 + (unsigned)(test_random(dice) % most[t]);
        for (unsigned i = 0; i < lengths[t]; i++) program[t][i] = actions[test_random(dice) % CHOICES];
    }
}

static void try_programs(cen_queue_kind which, const action *actions, unsigned programs)
{
    uint64_t dice = test_seed(), schedules = 0;
    kind = which;
    for (unsigned p = 0; p < programs; p++) {
        draw_program(&dice, actions);
        capacity = which == CEN_QUEUE_BOUNDED ? 1 + test_random(&dice) % 3 : 0;
        size_t most = which == CEN_QUEUE_BOUNDED ? capacity : which == CEN_QUEUE_UNBOUNDED ? FILLED : 0;
        filled = (unsigned)(test_random(&dice) % (most + 1));
        ceni_exploration plan = {.body = one_schedule,
                                 .memory = (ceni_memory)(p % 3),
                                 .seed = test_random(&dice),
                                 .random_runs = 25,
                                 .changes = 6};
        schedules += ceni_world_explore(&plan).run;
    }
    printf("     %" PRIu64 " histories of %u programs are in order\n", schedules, programs);
}

/* guarantees: queue.order */
PLAIN_TEST(histories_of_a_bounded_queue_can_be_put_in_order)
{
    try_programs(CEN_QUEUE_BOUNDED, bounded_actions, 3000);
}

/* guarantees: queue.order */
PLAIN_TEST(histories_of_an_unbounded_queue_can_be_put_in_order)
{
    try_programs(CEN_QUEUE_UNBOUNDED, unbounded_actions, 3000);
}

/* guarantees: queue.rendezvous */
PLAIN_TEST(histories_of_a_rendezvous_are_made_of_meetings)
{
    try_programs(CEN_QUEUE_RENDEZVOUS, meeting_actions, 3000);
}

/* ---- The check itself ------------------------------------------------------------------------------- */

static bool is_in_order(size_t room, const event *events, unsigned count)
{
    capacity = room;
    kind = room ? CEN_QUEUE_BOUNDED : CEN_QUEUE_UNBOUNDED;
    all.count = count;
    memcpy(all.events, events, count * sizeof *events);
    return explained();
}

PLAIN_TEST(the_check_refuses_what_no_queue_does)
{
    const event reordered[] = {{TRY_PUSH, 0, 1, CEN_OK, 0, 1},
                               {TRY_PUSH, 0, 2, CEN_OK, 2, 3},
                               {TRY_POP, 1, 2, CEN_OK, 4, 5},
                               {TRY_POP, 1, 1, CEN_OK, 6, 7}};
    expect(!is_in_order(4, reordered, 4));
    const event doubled[] = {
        {TRY_PUSH, 0, 1, CEN_OK, 0, 1}, {TRY_POP, 1, 1, CEN_OK, 2, 5}, {TRY_POP, 2, 1, CEN_OK, 3, 4}};
    expect(!is_in_order(4, doubled, 3));
    const event lost[] = {{TRY_PUSH, 0, 1, CEN_OK, 0, 1}, {TRY_POP, 1, 0, CEN_EMPTY, 2, 3}};
    expect(!is_in_order(4, lost, 2) && !is_in_order(0, lost, 2));
    const event overfull[] = {{TRY_PUSH, 0, 1, CEN_OK, 0, 1}, {TRY_PUSH, 0, 2, CEN_OK, 2, 3}};
    expect(!is_in_order(1, overfull, 2));
    const event full_for_nothing[] = {{TRY_PUSH, 0, 1, CEN_FULL, 0, 2}, {LENGTH, 1, 0, CEN_OK, 1, 3}};
    expect(!is_in_order(1, full_for_nothing, 2));
    const event pushed_after_close[] = {{CLOSE, 0, 0, CEN_OK, 0, 1}, {TRY_PUSH, 1, 1, CEN_OK, 2, 3}};
    expect(!is_in_order(1, pushed_after_close, 2));
}

PLAIN_TEST(the_check_accepts_what_the_header_allows)
{
    const event overlapping[] = {{TRY_PUSH, 0, 1, CEN_OK, 0, 3},
                                 {TRY_PUSH, 1, 2, CEN_OK, 1, 2},
                                 {TRY_POP, 2, 2, CEN_OK, 4, 5},
                                 {TRY_POP, 2, 1, CEN_OK, 6, 7}};
    expect(is_in_order(4, overlapping, 4));
    const event being_written[] = {
        {TRY_PUSH, 0, 1, CEN_OK, 0, 5}, {LENGTH, 1, 1, CEN_OK, 1, 2}, {TRY_POP, 1, 0, CEN_EMPTY, 3, 4}};
    expect(is_in_order(4, being_written, 3));
    const event being_emptied[] = {{TRY_PUSH, 0, 1, CEN_OK, 0, 1},
                                   {TRY_POP, 1, 1, CEN_OK, 2, 7},
                                   {LENGTH, 0, 0, CEN_OK, 3, 4},
                                   {TRY_PUSH, 0, 2, CEN_FULL, 5, 6}};
    expect(is_in_order(1, being_emptied, 4));
}

PLAIN_TEST(the_check_refuses_a_rendezvous_without_a_meeting)
{
    const event apart[] = {{PUSH_SOON, 0, 1, CEN_OK, 0, 1}, {POP_SOON, 1, 1, CEN_OK, 2, 3}};
    const event met[] = {{PUSH_SOON, 0, 1, CEN_OK, 0, 2}, {POP_SOON, 1, 1, CEN_OK, 1, 3}};
    kind = CEN_QUEUE_RENDEZVOUS;
    all.count = 2;
    memcpy(all.events, apart, sizeof apart);
    expect(!explained());
    memcpy(all.events, met, sizeof met);
    expect(explained());
    all.count = 1;
    expect(!explained());
}
