/* SPDX-License-Identifier: MIT */
/* The components of a process, as a program sees them. */
#include <pthread.h>
#include <unistd.h>

#include <cenote/queue.h>
#include <cenote/component.h>

#include "base/atomic.h"
#include "port/port.h"
#include "record/directory.h"
#include "support/test.h"

/* ---- A component of the test's own ------------------------------------------------ */

typedef struct lamp {
    ceni_directory_entry entry;
    int64_t brightness;
    const char *told;
    int64_t told_value;
} lamp;

static size_t lamp_metrics(const void *object, cen_metric *metrics, size_t room)
{
    const lamp *l = object;
    const cen_metric all[] = {
        {"brightness", l->brightness, CEN_GAUGE}, {"switched", 7, CEN_COUNTER}, {"age_ns", 9, CEN_GAUGE}};
    for (size_t i = 0; i < room && i < 3; i++) metrics[i] = all[i];
    return 3;
}

static bool lamp_histogram(const void *object, size_t index, cen_histogram_header *timing, cen_histogram *out)
{
    (void)object;
    if (index > 0) return false;
    *timing = (cen_histogram_header){.name = "lit", .one_in = 1, .instant = 3};
    memset(out, 0, sizeof *out);
    return true;
}

static void lamp_description(const void *object, const cen_description_writer *description, size_t most)
{
    const lamp *l = object;
    description->number(description->argument, "brightness", l->brightness);
    description->number(description->argument, "most", (int64_t)most);
}

static const char *const lamp_actions[] = {"dim", "blink", NULL};

static cen_status lamp_tell(void *object, const char *action, int64_t value, cen_error *error)
{
    lamp *l = object;
    (void)error;
    l->told = action;
    l->told_value = value;
    return value < 0 ? CEN_INVALID : CEN_OK;
}

static const char *lamp_system(const void *object)
{
    (void)object;
    return "electricity";
}

static const ceni_component_calls lamp_calls = {lamp_histogram, lamp_description, lamp_actions, lamp_tell, lamp_system};

static void switch_on(lamp *l, const char *name, const ceni_component_calls *calls)
{
    *l = (lamp){.brightness = 40};
    l->entry =
        (ceni_directory_entry){.kind = "lamp", .name = name, .snapshot = lamp_metrics, .object = l, .calls = calls};
    ceni_directory_join(ceni_directory_process(), &l->entry);
}

static void switch_off(lamp *l)
{
    ceni_directory_leave(ceni_directory_process(), &l->entry);
}

/* ---- Who is there ---------------------------------------------------------------- */

typedef struct seen {
    size_t count;
    uint64_t numbers[8];
    char names[8][16];
} seen;

static void see(void *argument, cen_component *component)
{
    seen *s = argument;
    if (strcmp(cen_component_kind(component), "lamp") != 0 || s->count == 8) return;
    s->numbers[s->count] = cen_component_number(component);
    snprintf(s->names[s->count++], sizeof s->names[0], "%s", cen_component_name(component));
}

/* guarantees: events.visit */
TEST(every_component_is_visited_once_oldest_first)
{
    lamp a, b, c;
    switch_on(&a, "a", NULL);
    switch_on(&b, "b", NULL);
    switch_on(&c, "c", NULL);
    switch_off(&b);
    seen s = {0};
    cen_components_each(see, &s);
    expect_equal(s.count, 2);
    expect_text(s.names[0], "a");
    expect_text(s.names[1], "c");
    expect(s.numbers[0] != 0 && s.numbers[0] < s.numbers[1]);
    cen_components_each(NULL, NULL); /* visits nobody */
    switch_off(&a);
    switch_off(&c);
    s = (seen){0};
    cen_components_each(see, &s);
    expect_equal(s.count, 0);
}

/* guarantees: events.visit */
TEST(a_component_is_visited_by_its_number_and_no_other)
{
    lamp a, b;
    switch_on(&a, "a", NULL);
    switch_on(&b, "b", NULL);
    seen s = {0};
    uint64_t number = b.entry.number;
    expect_equal(cen_component_visit(number, see, &s), CEN_OK);
    expect_equal(s.count, 1);
    expect_text(s.names[0], "b");
    switch_off(&b);
    expect_equal(cen_component_visit(number, see, &s), CEN_ABSENT);
    expect_equal(cen_component_visit(0, see, &s), CEN_INVALID);
    expect_equal(cen_component_visit(a.entry.number, NULL, &s), CEN_INVALID);
    expect_equal(s.count, 1);
    switch_off(&a);
}

/* ---- What it tells ------------------------------------------------------------------ */

static int64_t described[2];
static size_t described_count;

static void description_number(void *argument, const char *name, int64_t value)
{
    (void)argument, (void)name;
    described[described_count++] = value;
}

static void ask_all(void *argument, cen_component *component)
{
    (void)argument;
    cen_metric metrics[CEN_METRICS_MAX] = {{0}};
    expect_equal(cen_component_metrics(component, metrics, 2), 3); /* it has more than there is room for */
    expect_text(metrics[0].name, "brightness");
    expect_equal(metrics[0].value, 40);
    expect_equal(metrics[1].kind, CEN_COUNTER);
    expect(metrics[2].name == NULL);
    expect_equal(cen_component_metrics(component, NULL, 0), 3);
    expect_text(cen_component_system(component), "electricity");
    cen_histogram_header timing;
    static cen_histogram histogram;
    expect(cen_component_histogram(component, 0, &timing, &histogram));
    expect_text(timing.name, "lit");
    expect(!cen_component_histogram(component, 1, &timing, &histogram));
    cen_description_writer description = {.number = description_number};
    cen_component_describe(component, &description, 5);
    expect_equal(described_count, 2);
    expect_equal(described[1], 5);
    expect_text(cen_component_action_name(component, 0), "dim");
    expect_text(cen_component_action_name(component, 1), "blink");
    expect(cen_component_action_name(component, 2) == NULL);
    expect(cen_component_action_name(component, 99) == NULL);
}

/* guarantees: events.component */
TEST(a_component_tells_its_metrics_histogram_description_actions_and_system)
{
    lamp a;
    switch_on(&a, "a", &lamp_calls);
    expect_equal(cen_component_visit(a.entry.number, ask_all, NULL), CEN_OK);
    switch_off(&a);
}

static void ask_for_what_it_has_not(void *argument, cen_component *component)
{
    (void)argument;
    cen_histogram_header timing;
    static cen_histogram histogram;
    cen_description_writer description = {.number = description_number};
    expect(cen_component_system(component) == NULL);
    expect(!cen_component_histogram(component, 0, &timing, &histogram));
    cen_component_describe(component, &description, 5);
    expect_equal(described_count, 0);
    expect(cen_component_action_name(component, 0) == NULL);
    expect_equal(cen_component_invoke(component, "dim", 1, NULL), CEN_ABSENT);
}

/* guarantees: events.component */
TEST(a_component_that_has_only_metrics_tells_nothing_else)
{
    static const ceni_component_calls nothing = {0};
    lamp a;
    switch_on(&a, "a", NULL);
    expect_equal(cen_component_visit(a.entry.number, ask_for_what_it_has_not, NULL), CEN_OK);
    switch_off(&a);
    switch_on(&a, "a", &nothing);
    expect_equal(cen_component_visit(a.entry.number, ask_for_what_it_has_not, NULL), CEN_OK);
    switch_off(&a);
}

/* ---- What it obeys --------------------------------------------------------------------- */

static void tell_it(void *argument, cen_component *component)
{
    lamp *a = argument;
    cen_error error = {.text = ""};
    expect_equal(cen_component_invoke(component, "dim", 12, &error), CEN_OK);
    expect_text(a->told, "dim");
    expect_equal(a->told_value, 12);
    expect_equal(cen_component_invoke(component, "blink", -1, &error), CEN_INVALID); /* what the component answers */
    a->told = NULL;
    expect_equal(cen_component_invoke(component, "explode", 0, &error), CEN_ABSENT);
    expect_text(error.text, "lamp \"a\": unknown action \"explode\"");
    expect_equal(cen_component_invoke(component, "di", 0, NULL), CEN_ABSENT);
    expect_equal(cen_component_invoke(component, NULL, 0, &error), CEN_INVALID);
    expect(a->told == NULL);
}

/* guarantees: events.component */
TEST(a_component_is_told_the_actions_that_it_has_and_no_others)
{
    lamp a;
    switch_on(&a, "a", &lamp_calls);
    expect_equal(cen_component_visit(a.entry.number, tell_it, &a), CEN_OK);
    switch_off(&a);
}

/* ---- Components of cenote's ------------------------------------------------------------------- */

typedef struct census {
    int queues;
    int64_t length;
} census;

static void count_queue(void *argument, cen_component *component)
{
    census *c = argument;
    cen_metric metrics[CEN_METRICS_MAX];
    size_t count = cen_component_metrics(component, metrics, CEN_METRICS_MAX);
    expect(count <= CEN_METRICS_MAX);
    if (strcmp(cen_component_kind(component), "queue") != 0) return;
    c->queues++;
    for (size_t i = 0; i < count; i++)
        if (strcmp(metrics[i].name, "length") == 0) c->length += metrics[i].value;
}

/* guarantees: events.visit */
TEST(a_queue_of_the_program_is_among_the_components_and_its_length_can_be_read)
{
    cen_queue *queue;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.name = "letters", .element_size = sizeof(int), .capacity = 4);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    int letter = 1;
    expect_equal(cen_queue_push(queue, &letter), CEN_OK);
    census c = {0};
    cen_components_each(count_queue, &c);
    expect_equal(c.queues, 1);
    expect_equal(c.length, 1);
    cen_queue_free(queue);
    c = (census){0};
    cen_components_each(count_queue, &c);
    expect_equal(c.queues, 0);
}

/* ---- A visitor whose thread is to end ------------------------------------------------- */

static _Atomic uint32_t stage; /* a futex; 1: visits, 2: has been cancelled, 3: the visitor has returned */

static void reach(uint32_t next)
{
    ceni_store_release(&stage, next);
    ceni_futex_wake(&stage, UINT32_MAX);
}

static void await_stage(uint32_t wanted)
{
    for (uint32_t now; (now = ceni_load_acquire(&stage)) < wanted;) ceni_futex_wait(&stage, now, CENI_FOREVER);
}

static void visit_while_cancelled(void *argument, cen_component *component)
{
    (void)argument;
    if (strcmp(cen_component_kind(component), "lamp") != 0) return;
    reach(1);
    await_stage(2);
    pthread_testcancel(); /* as printf may be */
    reach(3);
}

static void *walk(void *argument)
{
    cen_components_each(visit_while_cancelled, argument);
    pthread_testcancel();
    return NULL;
}

TEST(a_thread_that_is_cancelled_while_it_visits_ends_after_that_and_the_component_can_go)
{
    lamp a;
    pthread_t thread;
    void *result;
    switch_on(&a, "a", NULL);
    alarm(60); /* whoever left it would wait for ever */
    expect_equal(pthread_create(&thread, NULL, walk, NULL), 0);
    await_stage(1);
    expect_equal(pthread_cancel(thread), 0);
    reach(2);
    expect_equal(pthread_join(thread, &result), 0);
    expect(result == PTHREAD_CANCELED);
    expect_equal(ceni_load_acquire(&stage), 3);
    switch_off(&a);
    alarm(0);
}
