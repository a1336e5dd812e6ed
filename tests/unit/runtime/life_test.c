/* SPDX-License-Identifier: MIT */
/* Making, sharing and ending runtimes. */
#include "support/world.h"
#include "unit/pool/ledger.h"
#include "unit/runtime/runtimes.h"

static const int64_t second = 1000000000;

/* ---- Options --------------------------------------------------------------------- */

static void expect_refused(cen_runtime_options options, const char *field)
{
    cen_runtime *out = (cen_runtime *)&out;
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_runtime_new(&options, &out, &error), CEN_INVALID);
    expect_equal(error.status, CEN_INVALID);
    if (!strstr(error.text, field)) test_fail(__FILE__, __LINE__, "\"%s\" does not name %s", error.text, field);
    expect(out == (cen_runtime *)&out);
    expect_equal(cen_runtime_new(&options, &out, NULL), CEN_INVALID);
}

/* guarantees: runtime.options */
TEST(each_bad_option_is_refused_by_its_name_and_nothing_is_written)
{
    cen_runtime *out = NULL;
    cen_error error;
    cen_allocator no_free = {ledger_alloc, NULL, NULL};
    expect_refused((cen_runtime_options){.size = 0}, "options.size");
    expect_refused((cen_runtime_options){.size = CEN_SIZED_MAX + 1}, "options.size");
    expect_refused(CEN_RUNTIME_OPTIONS(.virtual_time = true), "options.virtual_time");
    expect_refused(CEN_RUNTIME_OPTIONS(.idle_timeout_ns = -3), "options.idle_timeout_ns");
    expect_refused(CEN_RUNTIME_OPTIONS(.allocator = &no_free), "options.allocator");
    expect_equal(cen_runtime_new(NULL, &out, &error), CEN_INVALID);
    expect(strstr(error.text, "options is NULL") != NULL);
    expect_equal(cen_runtime_new(&CEN_RUNTIME_OPTIONS(.name = "x"), NULL, &error), CEN_INVALID);
    expect(strstr(error.text, "out") != NULL);
    expect_equal(cen_runtime_free(NULL), CEN_OK);
    expect_equal(cen_runtime_stats_get(NULL, NULL), CEN_INVALID);
}

/* guarantees: runtime.options */
TEST(all_memory_of_a_runtime_is_its_allocators_and_comes_back)
{
    ledger book = {.bytes = 0};
    cen_allocator allocator = allocator_of(&book);
    cen_runtime *runtime = make_runtime(.allocator = &allocator);
    chime alarm;
    job errand;
    init_chime(&alarm, runtime, 0);
    init_job(&errand, runtime);
    set_chime(&alarm, 0);
    post_job(&errand);
    ceni_world_settle();
    expect_equal(book.given, 1);
    expect_equal(ceni_world_allocations(), 0);
    free_runtime(runtime);
    expect_equal(book.bytes, 0);
}

/* ---- Explicit runtimes ------------------------------------------------------------- */

/* guarantees: runtime.free */
TEST(a_runtime_that_is_used_is_busy_and_free_changes_nothing)
{
    cen_runtime *runtime = make_runtime(.name = "used"), *joined = NULL;
    job one;
    expect_equal(ceni_runtime_join(runtime, &joined), CEN_OK);
    expect(joined == runtime);
    expect_equal(look_at(runtime).users, 1);
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    init_job(&one, runtime);
    post_job(&one);
    ceni_world_settle();
    expect_equal(ceni_load_seq_cst(&one.ended), 1);
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    ceni_runtime_leave(runtime);
    expect_equal(look_at(runtime).users, 0);
    expect_equal(look_at(runtime).helpers, 1); /* an explicit one stays */
    free_runtime(runtime);
}

static cen_status freed_inside;

static void free_from_errand(job *self)
{
    freed_inside = cen_runtime_free(self->runtime);
}

static void free_from_alarm(chime *self)
{
    freed_inside = cen_runtime_free(self->runtime);
}

/* guarantees: runtime.free */
TEST(a_runtime_cannot_be_freed_by_one_of_its_own_threads)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    chime alarm;
    job errand;
    init_chime(&alarm, runtime, 0);
    init_job(&errand, runtime);
    alarm.inside = free_from_alarm;
    errand.inside = free_from_errand;
    set_chime(&alarm, 0);
    ceni_world_settle();
    expect_equal(freed_inside, CEN_MISUSE);
    freed_inside = CEN_OK;
    post_job(&errand);
    ceni_world_settle();
    expect_equal(freed_inside, CEN_MISUSE);
    free_runtime(runtime);
}

static void free_other(job *self)
{
    (void)self;
    freed_inside = cen_runtime_free((cen_runtime *)(uintptr_t)ceni_load_seq_cst(&self->thread));
}

/* guarantees: runtime.free */
TEST(a_runtime_can_be_freed_by_a_thread_of_another)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    job errand;
    init_job(&errand, runtime);
    cen_runtime *other = make_runtime(.name = "other");
    chime alarm;
    init_chime(&alarm, other, 0);
    set_chime(&alarm, ceni_clock_now() + second);
    shut_gate(&errand);
    errand.inside = free_other;
    post_job(&errand);
    ceni_world_settle();
    ceni_store_seq_cst(&errand.thread, (uint64_t)(uintptr_t)other);
    freed_inside = CEN_CLOSED;
    open_gate(&errand);
    ceni_world_settle();
    expect_equal(freed_inside, CEN_OK);
    free_runtime(runtime);
}

/* ---- The process' own ---------------------------------------------------------------- */

/* guarantees: runtime.default */
TEST(the_process_own_runtime_is_one_for_all_and_ends_with_its_last_user)
{
    size_t before = ceni_world_bytes();
    cen_runtime *first = join_own(), *second_one = join_own();
    expect(first == second_one);
    cen_runtime_stats stats = look_at(NULL);
    expect_equal(stats.users, 2);
    expect(!stats.has_keeper && stats.helpers == 0); /* nothing is to be done yet */
    expect(!ceni_runtime_is_manual(first) && !ceni_runtime_is_virtual(first));
    expect_equal(cen_runtime_now(first), ceni_clock_now());
    chime alarm;
    job errand;
    init_chime(&alarm, first, 0);
    init_job(&errand, first);
    set_chime(&alarm, ceni_clock_now() + second);
    post_job(&errand);
    ceni_world_settle();
    expect_equal(ceni_world_waiting(), 2);
    ceni_runtime_leave(first);
    expect_equal(ceni_world_waiting(), 2);
    expect(unset_chime(&alarm));
    ceni_runtime_leave(second_one);
    expect_equal(ceni_world_waiting(), 0);
    expect_equal(ceni_world_bytes(), before);
    stats = look_at(NULL);
    expect(stats.users == 0 && !stats.has_keeper && stats.helpers == 0);
    expect_equal(cen_runtime_now(NULL), ceni_clock_now());
}

/* guarantees: runtime.default */
TEST(a_new_one_is_made_for_the_first_user_after_the_last)
{
    for (int i = 0; i < 3; i++) {
        cen_runtime *runtime = join_own();
        job errand;
        init_job(&errand, runtime);
        post_job(&errand);
        expect_equal(look_at(NULL).users, 1);
        ceni_runtime_leave(runtime);
        expect_equal(ceni_load_seq_cst(&errand.ended), 1);
        expect_equal(ceni_world_bytes(), 0);
    }
}

static void leave_from_errand(job *self)
{
    ceni_runtime_leave(self->runtime);
    expect(look_at(NULL).users == 0);
}

static void leave_from_alarm(chime *self)
{
    ceni_runtime_leave(self->runtime);
}

/* guarantees: runtime.default */
TEST(the_last_user_may_leave_on_a_helper_and_nothing_is_left)
{
    cen_runtime *runtime = join_own();
    job errand, idle[2];
    chime alarm;
    init_job(&errand, runtime);
    init_chime(&alarm, runtime, 0);
    set_chime(&alarm, 0);
    for (int i = 0; i < 2; i++) {
        init_job(&idle[i], runtime);
        post_job(&idle[i]);
    }
    ceni_world_settle();
    errand.inside = leave_from_errand;
    post_job(&errand);
    ceni_world_settle();
    expect_equal(ceni_load_seq_cst(&errand.ended), 1);
    expect_equal(ceni_world_bytes(), 0);
    expect_equal(ceni_world_waiting(), 0);
}

/* guarantees: runtime.default */
TEST(the_last_user_may_leave_on_the_keeper_and_nothing_is_left)
{
    cen_runtime *runtime = join_own();
    job idle;
    chime alarm;
    init_job(&idle, runtime);
    post_job(&idle);
    init_chime(&alarm, runtime, 0);
    alarm.inside = leave_from_alarm;
    set_chime(&alarm, ceni_clock_now() + second);
    pass(second);
    expect_equal(alarm.calls, 1);
    expect_equal(ceni_world_bytes(), 0);
    expect_equal(ceni_world_waiting(), 0);
}

TEST(the_process_own_runtime_and_explicit_ones_do_not_share_threads)
{
    cen_runtime *own = join_own(), *explicit_one = make_runtime(.name = "apart");
    job one, two;
    init_job(&one, own);
    init_job(&two, explicit_one);
    post_job(&one);
    post_job(&two);
    ceni_world_settle();
    expect_equal(look_at(own).helpers, 1);
    expect_equal(look_at(NULL).helpers, 1);
    expect_equal(look_at(explicit_one).helpers, 1);
    expect(ceni_load_seq_cst(&one.thread) != ceni_load_seq_cst(&two.thread));
    ceni_runtime_leave(own);
    expect_equal(look_at(explicit_one).helpers, 1);
    free_runtime(explicit_one);
}

TEST(a_runtime_with_threads_has_nothing_to_poll_tend_or_advance)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    expect_equal(cen_runtime_poll(runtime), -1);
    expect_equal(cen_runtime_poll(NULL), -1);
    expect_equal(cen_runtime_fd(runtime), -1);
    expect_equal(cen_runtime_fd(NULL), -1);
    expect_equal(cen_runtime_advance(runtime, 1), CEN_INVALID);
    expect_equal(cen_runtime_advance(NULL, 1), CEN_INVALID);
    expect_equal(ceni_runtime_tend(runtime), CENI_FOREVER);
    free_runtime(runtime);
}
