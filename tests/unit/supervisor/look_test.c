/* SPDX-License-Identifier: MIT */
/* Numbers, the walk, the tree as text, options that are refused. */
#include "record/directory.h"
#include "support/world.h"
#include "unit/supervisor/kids.h"

TEST(a_look_counts_children_by_state_and_what_was_done)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1)}, later = kid_options(2);
    make_supervisor(children, 2, .name = NULL);
    later.reports_start = true;
    expect_equal(cen_supervisor_add(supervisor, &later, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_terminate(supervisor, "b", CEN_NEVER, NULL), CEN_OK);
    die(0, false);
    cen_supervisor_stats stats = look();
    expect_equal(stats.children, 3);
    expect_equal(stats.running, 1);
    expect_equal(stats.starting, 1);
    expect_equal(stats.down, 1);
    expect_equal(stats.starts, 3);
    expect_equal(stats.restarts, 1);
    expect(stats.is_running);
    expect(!stats.is_over);
    end_supervisor();
}

TEST(a_child_tells_its_state_its_restarts_since_when_and_its_last_error)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    int64_t began = cen_runtime_now(runtime);
    expect_equal(child_at(0).since, began);
    expect_equal(child_at(0).error.status, CEN_OK);
    advance(7);
    die(0, false);
    advance(5);
    cen_child_stats stats = child_at(0);
    expect_equal(stats.state, CEN_CHILD_RUNNING);
    expect_equal(stats.restarts, 1);
    expect_equal(stats.starts, 2);
    expect_equal(stats.since, began + 7);
    expect_equal(stats.until, 0);
    expect_equal(stats.error.status, CEN_LOST);
    expect_equal(stats.error.code, 9);
    expect_text(stats.error.text, "the line was cut");
    expect_equal(stats.child.number_, kids[0].child.number_);
    end_supervisor();
}

typedef struct walk {
    char seen[32];
    const char *remove, *add;
} walk;

static void change_meanwhile(void *argument, const cen_child_stats *child)
{
    walk *self = argument;
    size_t used = strlen(self->seen);
    snprintf(self->seen + used, sizeof self->seen - used, "%s", child->name);
    if (self->remove) expect_equal(cen_supervisor_remove(supervisor, self->remove, CEN_NEVER, NULL), CEN_OK);
    self->remove = NULL;
    if (!self->add) return;
    cen_child_options more = kid_options(self->add[0] - 'a');
    self->add = NULL;
    expect_equal(cen_supervisor_add(supervisor, &more, CEN_NEVER, NULL, NULL), CEN_OK);
}

TEST(children_may_come_and_go_while_somebody_walks_through_them)
{
    static const char *const removed[] = {"a", "b", "c"}, *const seen[] = {"abcd", "acd", "abd"};
    for (int i = 0; i < 3; i++) {
        walk here = {.remove = removed[i], .add = "d"};
        init_kids();
        cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
        make_supervisor(children, 3, .name = NULL);
        expect_equal(cen_supervisor_each(supervisor, change_meanwhile, &here), CEN_OK);
        expect_text(here.seen, seen[i]);
        expect_equal(look().children, 3);
        end_supervisor();
        expect_equal(ceni_world_bytes(), 0);
    }
}

static void collect(void *argument, const char *text, size_t length)
{
    char *page = argument;
    size_t used = strlen(page);
    memcpy(page + used, text, length);
    page[used + length] = '\0';
}

TEST(the_tree_is_dumped_as_text_into_a_buffer_or_piece_by_piece)
{
    cen_supervisor *inner;
    char text[2000], pieces[2000] = "", small[20];
    init_kids();
    make_runtime();
    cen_child_options below[] = {kid_options(1), kid_options(2)};
    below[1].restart = CEN_RESTART_TRANSIENT;
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.name = "links", .children = below, .child_count = 2,
                                                            .nested = true, .runtime = runtime);
    expect_equal(cen_supervisor_new(&options, &inner, NULL), CEN_OK);
    cen_child_options children[] = {kid_options(0), cen_supervisor_child(inner)};
    make_supervisor(children, 2, .name = "store", .supervision = CEN_REST_FOR_ONE);
    advance(1500 * milli);
    die(1, false);
    const char *expected =
        "supervisor \"store\": running, rest for one, 2 children, 0 restarts\n"
        "  \"a\": running for 1500 ms, permanent, 1 start, 0 restarts\n"
        "  \"links\": running for 1500 ms, permanent, 1 start, 0 restarts\n"
        "    supervisor \"links\": running, one for one, 2 children, 1 restart\n"
        "      \"b\": running for 0 ms, permanent, 2 starts, 1 restart; last error: the line was cut\n"
        "      \"c\": running for 1500 ms, transient, 1 start, 0 restarts\n";
    expect_equal(cen_supervisor_dump(supervisor, text, sizeof text), strlen(expected));
    expect_text(text, expected);
    expect_equal(cen_supervisor_dump_to(supervisor, collect, pieces), strlen(expected));
    expect_text(pieces, expected);
    expect_equal(cen_supervisor_dump(supervisor, small, sizeof small), strlen(expected));
    expect_text(small, "supervisor \"store\":");
    expect_equal(cen_supervisor_dump(supervisor, NULL, 0), strlen(expected));
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    expect_equal(cen_supervisor_free(inner), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

static void find_running(void *argument, ceni_directory_entry *entry)
{
    cen_metric metrics[16];
    if (strcmp(entry->kind, "supervisor") != 0) return;
    size_t count = entry->snapshot(entry->object, metrics, 16);
    expect_text(entry->name, "store");
    for (size_t i = 0; i < count; i++)
        if (strcmp(metrics[i].name, "running") == 0) *(int64_t *)argument = metrics[i].value;
}

TEST(the_directory_has_it_with_its_numbers)
{
    int64_t running = -1;
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = "store");
    ceni_directory_each(ceni_directory_process(), find_running, &running);
    expect_equal(running, 1);
    end_supervisor();
    running = -1;
    ceni_directory_each(ceni_directory_process(), find_running, &running);
    expect_equal(running, -1);
}

/* ---- Options ------------------------------------------------------------------------------- */

static cen_status run_nothing(void *argument, cen_child child, cen_error *error)
{
    (void)argument, (void)child, (void)error;
    return CEN_OK;
}

static void refuse_child(cen_child_options child, cen_auto_stop auto_stop, const char *text)
{
    cen_error error = {.text = ""};
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.children = &child, .child_count = 1, .auto_stop = auto_stop);
    expect_equal(cen_supervisor_new(&options, &supervisor, &error), CEN_INVALID);
    expect_text(error.text, text);
}

#define WITH(...) (cen_child_options) CEN_CHILD_OPTIONS(.name = "a", __VA_ARGS__)

TEST(options_of_a_child_that_make_no_sense_are_refused_by_name)
{
    cen_child_options sized = WITH(.start = start_kid);
    char text[160];
    sized.size = 1;
    snprintf(text, sizeof text,
             "cen_child_options.size must be 8 to 8192 (got 1, the library has %zu); initialise it with its macro or "
             "with CEN_SIZED",
             sizeof sized);
    refuse_child(sized, 0, text);
    refuse_child(WITH(.stop = stop_kid), 0, "child \"a\": options.start or options.run must be set");
    refuse_child(WITH(.start = start_kid, .run = run_nothing), 0,
                 "child \"a\": options.start and options.run must not both be set");
    refuse_child(WITH(.start = start_kid, .kill_at_once = true), 0,
                 "child \"a\": options.kill_at_once needs options.kill");
    refuse_child(WITH(.start = start_kid, .stops_at_once = true), 0,
                 "child \"a\": options.stops_at_once needs options.stop");
    refuse_child(WITH(.start = start_kid, .start_ns = -2), 0,
                 "child \"a\": options.start_ns must not be below CEN_OFF");
    refuse_child(WITH(.start = start_kid, .shutdown_ns = -2), 0,
                 "child \"a\": options.shutdown_ns must not be below CEN_OFF");
    refuse_child(WITH(.start = start_kid, .kill_ns = -1), 0, "child \"a\": options.kill_ns must not be negative");
    refuse_child(WITH(.start = start_kid, .restart = (cen_restart)3), 0,
                 "child \"a\": options.restart must be a cen_restart");
    refuse_child(WITH(.start = start_kid, .significant = true, .restart = CEN_RESTART_TRANSIENT), 0,
                 "child \"a\": options.significant needs auto_stop of the supervisor");
    refuse_child(WITH(.start = start_kid, .significant = true), CEN_AUTO_STOP_ANY,
                 "child \"a\": options.significant is not allowed with CEN_RESTART_PERMANENT");
    cen_child_options numbered = WITH(.start = start_kid);
    numbered.name = "#1";
    refuse_child(numbered, 0, "child \"#1\": options.name must not be empty or begin with '#'");
}

static void refuse_options(cen_supervisor_options options, const char *text)
{
    cen_error error = {.text = ""};
    expect_equal(cen_supervisor_new(&options, &supervisor, &error), CEN_INVALID);
    expect_text(error.text, text);
}

#define OPTIONS(...) (cen_supervisor_options) CEN_SUPERVISOR_OPTIONS(__VA_ARGS__)

TEST(options_of_a_supervisor_that_make_no_sense_are_refused_by_name)
{
    cen_error error;
    cen_future started;
    cen_future_init(&started);
    expect_equal(cen_supervisor_new(NULL, &supervisor, &error), CEN_INVALID);
    expect_text(error.text, "cen_supervisor_new: options is NULL");
    refuse_options(OPTIONS(.supervision = (cen_supervision)3),
                   "cen_supervisor_new: options.supervision must be a cen_supervision");
    refuse_options(OPTIONS(.auto_stop = (cen_auto_stop)3),
                   "cen_supervisor_new: options.auto_stop must be a cen_auto_stop");
    refuse_options(OPTIONS(.child_count = 1), "cen_supervisor_new: options.children is NULL");
    refuse_options(OPTIONS(.nested = true, .started = &started),
                   "cen_supervisor_new: options.started is not allowed with options.nested");
    refuse_options(OPTIONS(.max_restarts = -3),
                   "cen_supervisor_new: options.max_restarts must be 0 to 1048576, CEN_OFF or CEN_NONE");
    refuse_options(OPTIONS(.window_ns = 5),
                   "cen_supervisor_new: options.window_ns must be at least 100,000 ns (got 5 ns); "
                   "CEN_MS(n) and CEN_SECONDS(n) give the unit");
    refuse_options(OPTIONS(.window_ns = -1), "cen_supervisor_new: options.window_ns must not be negative");
    refuse_options(OPTIONS(.backoff_initial_ns = -2),
                   "cen_supervisor_new: options.backoff_initial_ns must not be below CEN_OFF");
    refuse_options(OPTIONS(.backoff_max_ns = -1), "cen_supervisor_new: options.backoff_max_ns must not be negative");
    refuse_options(OPTIONS(.backoff_reset_ns = -1),
                   "cen_supervisor_new: options.backoff_reset_ns must not be negative");
    expect_equal(ceni_world_bytes(), 0);
}
