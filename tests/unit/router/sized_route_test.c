/* SPDX-License-Identifier: MIT */
/* The ABI rule of cenote/sized.h for every struct of libcenote-route. */
#include <cenote/registry.h>
#include <cenote/router.h>
#include <cenote/supervisor.h>

#include <sched.h>

#include "support/sized.h"
#include "support/test.h"

/* ---- Inputs -------------------------------------------------------------------- */

static cen_registry *registry_of(void)
{
    cen_registry *one = NULL;
    cen_registry_options options = CEN_REGISTRY_OPTIONS(.name = "sized");
    expect_equal(cen_registry_new(&options, &one, NULL), CEN_OK);
    return one;
}

static cen_router *router_of(void)
{
    cen_router *one = NULL;
    cen_router_options options = CEN_ROUTER_OPTIONS(.name = "sized");
    expect_equal(cen_router_new(&options, &one, NULL), CEN_OK);
    return one;
}

static cen_status start_child(void *argument, cen_child child, cen_error *error)
{
    (void)argument, (void)child, (void)error;
    return CEN_OK;
}

static void stop_child(void *argument, cen_child child)
{
    (void)argument;
    cen_child_report_ended(child, NULL);
}

static cen_supervisor *supervisor_of(void)
{
    cen_supervisor *one = NULL;
    cen_child_options child = CEN_CHILD_OPTIONS(.name = "first", .start = start_child, .stop = stop_child);
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = &child, .child_count = 1);
    expect_equal(cen_supervisor_new(&options, &one, NULL), CEN_OK);
    return one;
}

static void end_supervisor(cen_supervisor *one)
{
    if (!one) return;
    cen_supervisor_stop(one, cen_in_s(30), NULL, NULL);
    expect_equal(cen_supervisor_free(one), CEN_OK);
}

static cen_status call_registry_new(void *given)
{
    cen_registry *one = NULL;
    cen_status status = cen_registry_new(given, &one, NULL);
    expect_equal(cen_registry_free(one), CEN_OK);
    return status;
}

static cen_status call_owner_new(void *given)
{
    cen_owner *one = NULL;
    cen_status status = cen_owner_new(given, &one, NULL);
    expect_equal(cen_owner_end(one), CEN_OK);
    return status;
}

static cen_status call_router_new(void *given)
{
    cen_router *one = NULL;
    cen_status status = cen_router_new(given, &one, NULL);
    expect_equal(cen_router_free(one), CEN_OK);
    return status;
}

static cen_status call_router_add(void *given)
{
    cen_member *member;
    cen_router *one = router_of();
    cen_status status = cen_router_add(one, given, &member, NULL);
    expect_equal(cen_router_free(one), CEN_OK);
    return status;
}

static cen_status call_follow(void *given)
{
    cen_following *following = NULL;
    cen_router *one = router_of();
    cen_registry *followed = registry_of();
    cen_status status = cen_router_follow(one, followed, cen_key_text("up"), given, &following, NULL);
    expect_equal(cen_router_unfollow(following), CEN_OK);
    expect_equal(cen_registry_free(followed), CEN_OK);
    expect_equal(cen_router_free(one), CEN_OK);
    return status;
}

static cen_status call_follow_member(void *given)
{
    cen_follow_options options = CEN_FOLLOW_OPTIONS(.member = given);
    return call_follow(&options);
}

static cen_member *pick_first(void *state, const cen_member_set *set, const cen_route_hint *pick, bool used)
{
    (void)state, (void)pick, (void)used;
    return cen_member_set_at(set, 0);
}

static void fill_strategy(void *full)
{
    ((cen_strategy_type *)full)->name = "first";
    ((cen_strategy_type *)full)->pick = pick_first;
}

/* The strategy is used, too: what it does not know is not called. */
static cen_status call_strategy(void *given)
{
    cen_router *one = NULL;
    cen_member *member;
    cen_route route;
    cen_router_options options = CEN_ROUTER_OPTIONS(.strategy = {given, NULL});
    cen_status status = cen_router_new(&options, &one, NULL);
    if (status != CEN_OK) return status;
    cen_member_options some = CEN_MEMBER_OPTIONS(.value = &route);
    expect_equal(cen_router_add(one, &some, &member, NULL), CEN_OK);
    expect_equal(cen_member_up(member, NULL), CEN_OK);
    expect_equal(cen_router_route(one, NULL, CEN_NOW, &route, NULL), CEN_OK);
    expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, 0), CEN_OK);
    expect_equal(cen_router_free(one), CEN_OK);
    return CEN_OK;
}

static cen_status call_supervisor_new(void *given)
{
    cen_supervisor *one = NULL;
    cen_status status = cen_supervisor_new(given, &one, NULL);
    end_supervisor(one);
    return status;
}

/* Needs no stop, which a smaller struct does not have. */
static cen_status run_child(void *argument, cen_child child, cen_error *error)
{
    (void)argument, (void)error;
    while (!cen_child_is_stopping(child)) sched_yield();
    return CEN_OK;
}

static void fill_child(void *full)
{
    ((cen_child_options *)full)->run = run_child;
}

static cen_status call_supervisor_add(void *given)
{
    cen_supervisor *one = supervisor_of();
    cen_status status = cen_supervisor_add(one, given, cen_in_s(30), NULL, NULL);
    end_supervisor(one);
    return status;
}

static cen_status call_children(void *given)
{
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = given, .child_count = 1);
    return call_supervisor_new(&options);
}

/* guarantees: sized.every-size */
TEST(options_of_every_size_are_accepted)
{
    static const sized_case cases[] = {
        SIZED_INPUT(cen_registry_options, size, NULL, call_registry_new),
        SIZED_INPUT(cen_owner_options, size, NULL, call_owner_new),
        SIZED_INPUT(cen_router_options, size, NULL, call_router_new),
        SIZED_INPUT(cen_member_options, size, NULL, call_router_add),
        SIZED_INPUT(cen_member_options, size, NULL, call_follow_member),
        SIZED_INPUT(cen_follow_options, size, NULL, call_follow),
        SIZED_INPUT(cen_strategy_type, pick, fill_strategy, call_strategy),
        SIZED_INPUT(cen_supervisor_options, size, NULL, call_supervisor_new),
        SIZED_INPUT(cen_child_options, run, fill_child, call_supervisor_add),
        SIZED_INPUT(cen_child_options, run, fill_child, call_children),
    };
    SIZED_TRY(cases);
}

/* Of an older or newer program: elements of another size than ours. */
static cen_status start_two(size_t size, size_t second_size)
{
    static unsigned char room[2 * (sizeof(cen_child_options) + 64)] __attribute__((aligned(16)));
    static const char *const names[] = {"a", "b"};
    memset(room, 0, sizeof room);
    for (size_t i = 0; i < 2; i++) {
        cen_child_options child = CEN_CHILD_OPTIONS(.name = names[i], .start = start_child, .stop = stop_child);
        child.size = i == 0 ? size : second_size;
        memcpy(room + i * size, &child, size < sizeof child ? size : sizeof child);
    }
    cen_supervisor *one = NULL;
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.children = (cen_child_options *)(void *)room, .child_count = 2);
    cen_status status = cen_supervisor_new(&options, &one, NULL);
    if (status != CEN_OK) return status;
    expect_equal(cen_supervisor_stats_get(one, &stats), CEN_OK);
    expect_equal(stats.running, 2);
    end_supervisor(one);
    return CEN_OK;
}

/* guarantees: sized.stride */
TEST(children_lie_at_the_callers_stride)
{
    size_t least = offsetof(cen_child_options, stop) + sizeof(void (*)(void));
    for (size_t size = least; size <= sizeof(cen_child_options) + 64; size += sizeof(void *))
        expect_equal(start_two(size, size), CEN_OK);
    expect_equal(start_two(sizeof(cen_child_options), sizeof(cen_child_options) - 8), CEN_INVALID);
}

/* ---- Outputs ---------------------------------------------------------------------- */

static cen_registry *registry;
static cen_router *router;
static cen_supervisor *supervisor;

static cen_status call_registry_look(void *given)
{
    return cen_registry_stats_get(registry, given);
}

static cen_status call_router_look(void *given)
{
    return cen_router_stats_get(router, given);
}

static cen_status call_router_close(void *given)
{
    cen_router *one = router_of();
    cen_status status = cen_router_close(one, CEN_NOW, given, NULL);
    expect_equal(cen_router_free(one), CEN_OK);
    return status;
}

static cen_status call_supervisor_look(void *given)
{
    return cen_supervisor_stats_get(supervisor, given);
}

static cen_status call_supervisor_stop(void *given)
{
    cen_supervisor *one = supervisor_of();
    cen_status status = cen_supervisor_stop(one, cen_in_s(30), given, NULL);
    end_supervisor(one);
    return status;
}

/* guarantees: sized.every-size */
TEST(outputs_of_every_size_are_written_within_their_size)
{
    static const sized_case cases[] = {
        SIZED_OUTPUT(cen_registry_stats, call_registry_look),
        SIZED_OUTPUT(cen_router_stats, call_router_look),
        SIZED_OUTPUT(cen_router_report, call_router_close),
        SIZED_OUTPUT(cen_supervisor_stats, call_supervisor_look),
        SIZED_OUTPUT(cen_supervisor_report, call_supervisor_stop),
    };
    registry = registry_of();
    router = router_of();
    supervisor = supervisor_of();
    SIZED_TRY(cases);
    end_supervisor(supervisor);
    expect_equal(cen_router_free(router), CEN_OK);
    expect_equal(cen_registry_free(registry), CEN_OK);
}

/* ---- For visitors ------------------------------------------------------------------- */

static void see_member(void *argument, const cen_member_stats *member)
{
    *(size_t *)argument = member->size;
}

static size_t size_of_member(void)
{
    cen_member *member;
    size_t size = 0;
    cen_router *one = router_of();
    cen_member_options options = CEN_MEMBER_OPTIONS(.name = "a");
    expect_equal(cen_router_add(one, &options, &member, NULL), CEN_OK);
    expect_equal(cen_router_each(one, see_member, &size), CEN_OK);
    expect_equal(cen_router_free(one), CEN_OK);
    return size;
}

static void see_child(void *argument, const cen_child_stats *child)
{
    *(size_t *)argument = child->size;
}

static size_t size_of_child(void)
{
    size_t size = 0;
    cen_supervisor *one = supervisor_of();
    expect_equal(cen_supervisor_each(one, see_child, &size), CEN_OK);
    end_supervisor(one);
    return size;
}

/* guarantees: sized.stride */
TEST(a_visitor_is_told_the_size_of_what_it_sees)
{
    static const sized_shown shown[] = {SIZED_SHOWN(cen_member_stats, size_of_member),
                                        SIZED_SHOWN(cen_child_stats, size_of_child)};
    SIZED_EXPECT(shown);
}
