/* SPDX-License-Identifier: MIT */
/* The inbox: each sentence of the header, in virtual time; its descriptor is inbox_fd_test.c's. */
#include <cenote/future.h>
#include <cenote/inbox.h>

#include <stdlib.h>

#include "support/world.h"

void __wrap_ceni_bell_ring(const ceni_bell *bell);
uint32_t __wrap_ceni_bell_silence(const ceni_bell *bell);

static const int64_t second = 1000000000;
static int rings, silences;
static uint32_t ringing; /* so many were not heard */
static bool is_late;     /* who rings comes to it only when the test says so */

static void ring_now(void)
{
    rings++;
    ringing++;
}

void __wrap_ceni_bell_ring(const ceni_bell *bell)
{
    (void)bell;
    if (!is_late) ring_now();
}

uint32_t __wrap_ceni_bell_silence(const ceni_bell *bell)
{
    (void)bell;
    uint32_t heard = ringing;
    ringing = 0;
    silences++;
    return heard;
}

typedef struct letter {
    cen_job job; /* first */
    int number;
} letter;

static cen_inbox *inbox;
static letter letters[20];
static int read[64], reads;

static void run_letter(cen_job *job)
{
    expect(reads < 64);
    read[reads++] = ((letter *)(void *)job)->number;
}

static void post_job(cen_job *job)
{
    cen_executor *executor = cen_inbox_executor(inbox);
    executor->post(executor, job);
}

static void post(int number)
{
    letters[number] = (letter){.job = {.run = run_letter}, .number = number};
    post_job(&letters[number].job);
}

static void begin(void)
{
    reads = rings = silences = 0;
    ringing = 0;
    is_late = false;
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
}

static void finish(void)
{
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* ---- Polling --------------------------------------------------------------------------------------- */

/* guarantees: inbox.order */
TEST(jobs_run_in_the_order_in_which_they_were_posted_when_the_loop_polls)
{
    begin();
    expect_equal(cen_inbox_poll(inbox, 0), 0);
    for (int i = 0; i < 5; i++) post(i);
    expect_equal(reads, 0);
    expect_equal(cen_inbox_poll(inbox, 0), 5);
    for (int i = 0; i < 5; i++) expect_equal(read[i], i);
    expect_equal(cen_inbox_poll(inbox, 0), 0);
    expect_equal(rings, 0);
    finish();
}

/* guarantees: inbox.order */
TEST(a_poll_runs_at_most_so_many_and_leaves_the_others_in_their_order)
{
    begin();
    for (int i = 0; i < 5; i++) post(i);
    expect_equal(cen_inbox_poll(inbox, 2), 2);
    for (int i = 5; i < 8; i++) post(i); /* behind those that are left */
    expect(!cen_inbox_arm(inbox));
    expect_equal(cen_inbox_free(inbox), CEN_BUSY);
    expect_equal(cen_inbox_poll(inbox, 1), 1);
    expect_equal(cen_inbox_poll(inbox, 0), 5);
    expect_equal(reads, 8);
    for (int i = 0; i < 8; i++) expect_equal(read[i], i);
    finish();
}

/* guarantees: inbox.order */
TEST(polls_with_a_limit_run_everything_in_the_end)
{
    begin();
    size_t ran = 0;
    for (int i = 0; i < 9; i++) {
        post(i);
        post(i + 10);
        ran += cen_inbox_poll(inbox, 3);
    }
    for (size_t more; (more = cen_inbox_poll(inbox, 3)); ran += more) continue;
    expect_equal(ran, 18);
    for (int i = 0; i < 18; i++) expect_equal(read[i], i / 2 + (i % 2 ? 10 : 0));
    expect(cen_inbox_arm(inbox));
    finish();
}

static int posts_left;

static void post_itself(cen_job *job)
{
    if (posts_left-- > 0) post_job(job);
}

/* guarantees: inbox.order */
TEST(a_poll_runs_what_is_there_when_it_is_called_and_no_more)
{
    begin();
    cen_job again = {.run = post_itself};
    posts_left = 3;
    post_job(&again);
    for (int i = 0; i < 4; i++) expect_equal(cen_inbox_poll(inbox, 0), 1);
    expect_equal(cen_inbox_poll(inbox, 0), 0);
    finish();
}

static size_t from_within;
static bool armed_within;
static cen_status freed_within;

static void use_the_inbox(cen_job *job)
{
    (void)job;
    post(1);
    from_within = cen_inbox_poll(inbox, 0) + cen_inbox_run_ready(inbox) + cen_inbox_wait(inbox, CEN_NEVER);
    armed_within = cen_inbox_arm(inbox);
    freed_within = cen_inbox_free(inbox);
}

/* guarantees: inbox.order */
TEST(from_within_a_job_nothing_is_run_armed_or_freed)
{
    begin();
    cen_job user = {.run = use_the_inbox};
    post(0);
    post_job(&user);
    post(2);
    expect_equal(cen_inbox_poll(inbox, 0), 3);
    expect_equal(from_within, 0);
    expect(!armed_within);
    expect_equal(freed_within, CEN_BUSY);
    expect_equal(cen_inbox_poll(inbox, 0), 1);
    expect(read[0] == 0 && read[1] == 2 && read[2] == 1);
    finish();
}

static void free_job(cen_job *job)
{
    memset(job, 0x5A, sizeof *job);
    free(job);
}

/* guarantees: inbox.order */
TEST(once_a_job_was_entered_it_is_not_touched_any_more)
{
    begin();
    for (int i = 0; i < 3; i++) {
        cen_job *job = malloc(sizeof *job);
        expect(job != NULL);
        job->run = free_job;
        post_job(job);
    }
    expect_equal(cen_inbox_poll(inbox, 2) + cen_inbox_poll(inbox, 0), 3);
    finish();
}

/* ---- Arming ------------------------------------------------------------------------------------------- */

/* guarantees: inbox.wakes */
TEST(arm_says_false_if_something_is_there_and_then_nothing_rings)
{
    begin();
    post(0);
    expect(!cen_inbox_arm(inbox));
    post(1);
    expect_equal(rings, 0);
    expect_equal(cen_inbox_poll(inbox, 0), 2);
    expect(cen_inbox_arm(inbox));
    expect(cen_inbox_arm(inbox)); /* twice is the same as once */
    finish();
}

/* guarantees: inbox.one-write */
TEST(only_the_first_that_is_posted_after_an_arm_rings_and_the_next_poll_silences)
{
    begin();
    for (int round = 1; round <= 3; round++) {
        expect(cen_inbox_arm(inbox));
        for (int i = 0; i < 4; i++) post(i);
        expect_equal(rings, round);
        expect(ringing);
        expect_equal(cen_inbox_poll(inbox, 0), 4);
        expect(!ringing);
        post(4); /* not armed */
        expect_equal(rings, round);
        expect_equal(cen_inbox_poll(inbox, 0), 1);
    }
    finish();
}

/* guarantees: inbox.one-write */
TEST(a_poll_takes_the_arming_back)
{
    begin();
    expect(cen_inbox_arm(inbox));
    expect_equal(cen_inbox_poll(inbox, 0), 0);
    post(0);
    expect_equal(rings, 0);
    expect(!cen_inbox_arm(inbox));
    expect_equal(cen_inbox_poll(inbox, 1), 1);
    finish();
}

/* guarantees: inbox.one-write */
TEST(a_loop_that_something_else_has_woken_reads_no_descriptor)
{
    begin();
    for (int i = 0; i < 3; i++) {
        expect(cen_inbox_arm(inbox));
        expect_equal(cen_inbox_poll(inbox, 0), 0); /* awake: from now on nobody rings */
        post(i);
        expect_equal(cen_inbox_poll(inbox, 0), 1);
    }
    expect_equal(rings, 0);
    expect_equal(silences, 0);
    expect_equal(cen_inbox_run_ready(inbox), 0);
    post(3);
    expect_equal(cen_inbox_run_ready(inbox), 1);
    expect_equal(cen_inbox_run_ready(inbox), 0);
    expect_equal(rings, 1);
    expect_equal(silences, 1);
    finish();
}

/* guarantees: inbox.one-write */
TEST(late_rings_are_silenced_by_the_next_poll_and_then_no_poll_reads_in_vain)
{
    begin();
    is_late = true;
    for (int i = 0; i < 3; i++) {
        expect(cen_inbox_arm(inbox));
        post(i);
        expect_equal(cen_inbox_poll(inbox, 0), 1);
    }
    for (int i = 0; i < 3; i++) {
        expect(cen_inbox_arm(inbox));
        ring_now(); /* the loop wakes in vain */
        expect_equal(cen_inbox_poll(inbox, 0), 0);
        expect(!ringing);
    }
    int before = silences;
    expect(cen_inbox_arm(inbox));
    expect_equal(cen_inbox_poll(inbox, 0), 0);
    expect_equal(silences, before);
    finish();
}

/* ---- Draining -------------------------------------------------------------------------------------------- */

/* guarantees: inbox.drain */
TEST(a_drain_runs_until_nothing_is_there_and_arms)
{
    begin();
    cen_job again = {.run = post_itself};
    posts_left = 100;
    post_job(&again);
    expect_equal(cen_inbox_run_ready(inbox), 101);
    expect_equal(rings, 0);
    post(0);
    expect_equal(rings, 1);
    expect_equal(cen_inbox_run_ready(inbox), 1);
    expect(!ringing);
    expect_equal(cen_inbox_run_ready(inbox), 0);
    finish();
}

/* guarantees: inbox.drain */
TEST(jobs_that_keep_posting_do_not_keep_a_drain_for_ever_and_the_loop_comes_back)
{
    begin();
    cen_job again = {.run = post_itself};
    enum { POSTS = 100000 };
    posts_left = POSTS;
    post_job(&again);
    size_t first = cen_inbox_run_ready(inbox), ran = first;
    expect(first >= 1000 && first < 10000);
    expect(ringing); /* it is not forgotten */
    while (ringing) ran += cen_inbox_run_ready(inbox);
    expect_equal(ran, POSTS + 1);
    finish();
}

/* guarantees: inbox.drain */
TEST(a_drain_that_stopped_can_be_followed_by_polls)
{
    begin();
    cen_job again = {.run = post_itself};
    posts_left = 5000;
    post_job(&again);
    size_t ran = cen_inbox_run_ready(inbox);
    expect(ringing);
    while (cen_inbox_poll(inbox, 1) > 0) ran++;
    expect(!ringing);
    expect_equal(ran, 5001);
    expect(cen_inbox_arm(inbox));
    finish();
}

/* ---- Waiting ------------------------------------------------------------------------------------------------ */

static size_t waited;

static void wait_in_a_thread(void *unused)
{
    (void)unused;
    waited = cen_inbox_wait(inbox, CEN_NEVER);
}

/* guarantees: inbox.wait */
TEST(a_thread_that_waits_is_woken_and_runs_what_has_arrived)
{
    begin();
    ceni_thread sleeper = start("sleeper", wait_in_a_thread, NULL);
    ceni_world_settle();
    expect_equal(cen_inbox_poll(inbox, 0), 0); /* beside another thread */
    expect(!cen_inbox_arm(inbox));
    expect_equal(cen_inbox_free(inbox), CEN_BUSY);
    post(0);
    post(1);
    join(sleeper);
    expect_equal(waited, 2);
    expect_equal(rings, 0); /* nobody watches the descriptor */
    finish();
}

/* guarantees: inbox.wait */
TEST(a_wait_runs_what_is_there_without_sleeping)
{
    begin();
    int64_t began = ceni_clock_now();
    post(0);
    expect_equal(cen_inbox_wait(inbox, CEN_NEVER), 1);
    post(1);
    expect_equal(cen_inbox_wait(inbox, CEN_NOW), 1);
    expect_equal(cen_inbox_wait(inbox, CEN_NOW), 0);
    expect_equal(ceni_clock_now(), began);
    finish();
}

/* guarantees: inbox.wait */
TEST(a_wait_ends_at_its_deadline_and_a_zero_one_is_thirty_seconds)
{
    begin();
    int64_t began = ceni_clock_now();
    expect_equal(cen_inbox_wait(inbox, cen_in_ms(5)), 0);
    expect_equal(ceni_clock_now(), began + 5000000);
    expect_equal(cen_inbox_wait(inbox, (cen_deadline){0}), 0);
    expect_equal(ceni_clock_now(), began + 5000000 + 30 * second);
    post(0);
    expect_equal(rings, 0);
    expect_equal(cen_inbox_poll(inbox, 0), 1);
    finish();
}

/* guarantees: inbox.wait */
TEST(a_wait_takes_an_arming_back_and_an_arm_can_follow_a_wait)
{
    begin();
    expect(cen_inbox_arm(inbox));
    expect_equal(cen_inbox_wait(inbox, cen_in_ms(1)), 0);
    post(0);
    expect_equal(rings, 0);
    expect_equal(cen_inbox_wait(inbox, cen_in_ms(1)), 1);
    expect(cen_inbox_arm(inbox));
    post(1);
    expect_equal(rings, 1);
    expect_equal(cen_inbox_wait(inbox, cen_in_ms(1)), 1);
    expect(!ringing);
    finish();
}

/* ---- Futures --------------------------------------------------------------------------------------------------- */

static cen_future futures[3];
static cen_promise promises[3];
static int dones;

static void keep_the_next(cen_future *future)
{
    expect(future == &futures[dones]);
    dones++;
    if (dones < 3) expect(cen_promise_complete(&promises[dones], NULL));
}

/* guarantees: inbox.order */
TEST(a_future_tells_its_inbox_and_a_promise_can_be_kept_from_there)
{
    begin();
    for (int i = 0; i < 3; i++) {
        cen_future_init(&futures[i]);
        expect_equal(cen_promise_init(&promises[i], &futures[i]), CEN_OK);
        expect_equal(cen_future_then(&futures[i], keep_the_next, cen_inbox_executor(inbox)), CEN_OK);
    }
    expect(cen_promise_complete(&promises[0], NULL));
    expect_equal(cen_inbox_poll(inbox, 0), 1); /* the next is told by the next poll */
    expect_equal(cen_inbox_run_ready(inbox), 2);
    expect_equal(dones, 3);
    finish();
}

/* ---- Any mix of all that ---------------------------------------------------------------------------------------- */

enum { STEPS = 20000, MANY = 256 };

static letter many[MANY];
static unsigned next_posted, next_run;

static void run_in_turn(cen_job *job)
{
    expect(job == &many[next_run++ % MANY].job);
}

/* What the header says, as numbers: so many fetched, so many posted since, and whether the loop is to be rung. */
/* guarantees: inbox.order */
TEST(any_mix_of_post_poll_arm_drain_and_wait_does_what_each_of_them_says)
{
    begin();
    uint64_t dice = test_seed();
    size_t ready = 0, fresh = 0;
    bool armed = false, rung = false;
    for (int step = 0; step < STEPS; step++) {
        uint64_t choice = test_random(&dice) % 8;
        size_t most = test_random(&dice) % 4, all = ready + fresh;
        if (choice < 3 && all < MANY) {
            cen_job *job = &many[next_posted++ % MANY].job;
            job->run = run_in_turn;
            post_job(job);
            fresh++;
            rung |= armed;
            armed = false;
        } else if (choice == 5) {
            bool may_sleep = all == 0;
            expect_equal(cen_inbox_arm(inbox), may_sleep);
            armed |= may_sleep;
        } else if (choice == 6) {
            expect_equal(cen_inbox_run_ready(inbox), all);
            ready = fresh = 0;
            rung = false;
            armed = true;
        } else if (choice == 7 || most == 0) {
            expect_equal(choice == 7 ? cen_inbox_wait(inbox, CEN_NOW) : cen_inbox_poll(inbox, 0), all);
            ready = fresh = 0;
            rung = armed = false;
        } else {
            size_t ran = most < all ? most : all;
            expect_equal(cen_inbox_poll(inbox, most), ran);
            ready = all - ran;
            fresh = 0;
            rung = armed = false;
        }
        expect_equal(ringing > 0, rung);
        expect_equal(next_posted - next_run, ready + fresh);
    }
    cen_inbox_run_ready(inbox);
    finish();
}

/* ---- Making and freeing ------------------------------------------------------------------------------------------ */

static void *no_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    (void)size;
    (void)align;
    return NULL;
}

static void no_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument;
    (void)memory;
    (void)size;
    (void)align;
}

static void expect_bad(cen_inbox_options options, const char *field)
{
    cen_inbox *const untouched = (cen_inbox *)(uintptr_t)16;
    cen_inbox *made = untouched;
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_inbox_new(&options, &made, &error), CEN_INVALID);
    expect_equal(error.status, CEN_INVALID);
    if (!strstr(error.text, field)) test_fail(__FILE__, __LINE__, "\"%s\" does not name %s", error.text, field);
    expect_equal(cen_inbox_new(&options, &made, NULL), CEN_INVALID);
    expect(made == untouched);
}

/* guarantees: inbox.out-of-memory */
TEST(each_bad_option_is_refused_by_its_name_and_nothing_is_written)
{
    static const cen_allocator cannot_free = {.alloc = no_alloc}, cannot_alloc = {.free = no_free},
                               has_none = {no_alloc, no_free, NULL};
    expect_bad((cen_inbox_options){.size = 0}, "size");
    expect_bad((cen_inbox_options){.size = CEN_SIZED_MAX + 1}, "size");
    expect_bad(CEN_INBOX_OPTIONS(.allocator = &cannot_free), "allocator");
    expect_bad(CEN_INBOX_OPTIONS(.allocator = &cannot_alloc), "allocator");
    expect_equal(cen_inbox_new(NULL, NULL, NULL), CEN_INVALID);
    cen_inbox_options options = CEN_INBOX_OPTIONS(.allocator = &has_none);
    cen_inbox *made = NULL;
    expect_equal(cen_inbox_new(&options, &made, NULL), CEN_NO_MEMORY);
    expect(!made);
    expect_equal(ceni_world_allocations(), 0);
}

static size_t from_allocator;

static void *count_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    void *memory = NULL;
    from_allocator += size;
    return posix_memalign(&memory, align, size) ? NULL : memory;
}

static void count_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument;
    (void)align;
    from_allocator -= size;
    free(memory);
}

/* guarantees: inbox.out-of-memory */
TEST(all_memory_of_an_inbox_comes_from_its_allocator_and_posting_needs_none)
{
    static const cen_allocator counting = {count_alloc, count_free, NULL};
    cen_inbox_options options = CEN_INBOX_OPTIONS(.allocator = &counting);
    expect_equal(cen_inbox_new(&options, &inbox, NULL), CEN_OK);
    size_t held = from_allocator;
    expect(held > 0);
    for (int i = 0; i < 10; i++) post(i);
    expect_equal(cen_inbox_run_ready(inbox), 10);
    expect_equal(from_allocator, held);
    finish();
    expect_equal(from_allocator, 0);
    expect_equal(ceni_world_allocations(), 0);
}

/* guarantees: inbox.free */
TEST(an_inbox_that_holds_something_is_busy_and_nothing_changes)
{
    begin();
    post(0);
    expect_equal(cen_inbox_free(inbox), CEN_BUSY);
    expect_equal(cen_inbox_poll(inbox, 0), 1);
    expect(cen_inbox_arm(inbox)); /* armed or not */
    finish();
}

/* guarantees: inbox.out-of-memory */
TEST(null_is_no_inbox)
{
    expect_equal(cen_inbox_free(NULL), CEN_OK);
    expect(!cen_inbox_executor(NULL));
    expect_equal(cen_inbox_fd(NULL), -1);
    expect_equal(cen_inbox_poll(NULL, 0), 0);
    expect(!cen_inbox_arm(NULL));
    expect_equal(cen_inbox_run_ready(NULL), 0);
    expect_equal(cen_inbox_wait(NULL, CEN_NEVER), 0);
}

/* guarantees: inbox.L14 */
TEST(in_a_child_an_inbox_of_the_parents_rings_and_runs_nothing_and_can_be_freed)
{
    begin();
    expect(cen_inbox_arm(inbox));
    ceni_world_fork();
    post(0);
    expect_equal(rings, 0);
    expect_equal(cen_inbox_poll(inbox, 0), 0);
    expect_equal(cen_inbox_run_ready(inbox), 0);
    expect_equal(cen_inbox_wait(inbox, CEN_NEVER), 0);
    expect(!cen_inbox_arm(inbox));
    expect_equal(reads, 0);
    finish();
}
