/* SPDX-License-Identifier: MIT */
/*
 * Statistics, the walk through the children, and the tree: as text, and as the description of a component.
 *
 * A walk holds no lock while it calls the visitor. It is counted in `visitors`. While there is a visitor no child
 * leaves the list (child.c), so the walk's present link stays valid.
 *
 * Tested by tests/unit/supervisor/look_test.c.
 */
#include "supervisor/look.h"

#include "supervisor/internal.h"

#include <stdio.h>
#include <string.h>

static void read_locked(const cen_supervisor *supervisor, cen_supervisor_stats *out)
{
    *out = (cen_supervisor_stats){
        .children = supervisor->count,
        .down = supervisor->states[CEN_CHILD_DOWN],
        .waiting = supervisor->states[CEN_CHILD_WAITING],
        .starting = supervisor->states[CEN_CHILD_STARTING],
        .running = supervisor->states[CEN_CHILD_RUNNING],
        .stopping = supervisor->states[CEN_CHILD_STOPPING],
        .starts = supervisor->starts,
        .restarts = supervisor->restarts,
        .abandoned = supervisor->abandoned,
        .is_running = supervisor->phase == CENI_PHASE_UP,
        .is_over = supervisor->phase == CENI_PHASE_OVER,
    };
}

cen_status cen_supervisor_stats_get(cen_supervisor *supervisor, cen_supervisor_stats *out)
{
    cen_supervisor_stats now = CEN_SIZED(cen_supervisor_stats);
    if (!supervisor) return CEN_INVALID;
    if (!ceni_fork_is(supervisor->epoch)) return CEN_FORKED;
    cen_status status = cen_sized_check(out, sizeof now, "cen_supervisor_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    ceni_supervisor_lock(supervisor);
    read_locked(supervisor, &now);
    ceni_supervisor_unlock(supervisor);
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}

size_t ceni_supervisor_snapshot(const void *object, cen_metric *metrics, size_t room)
{
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    cen_supervisor_stats_get((cen_supervisor *)(uintptr_t)object, &stats);
    const cen_metric all[] = {
        {"children", stats.children, CEN_GAUGE},
        {"down", stats.down, CEN_GAUGE},
        {"waiting", stats.waiting, CEN_GAUGE},
        {"starting", stats.starting, CEN_GAUGE},
        {"running", stats.running, CEN_GAUGE},
        {"stopping", stats.stopping, CEN_GAUGE},
        {"starts", (int64_t)stats.starts, CEN_COUNTER},
        {"restarts", (int64_t)stats.restarts, CEN_COUNTER},
        {"abandoned", (int64_t)stats.abandoned, CEN_COUNTER},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) metrics[i] = all[i];
    return count;
}

/* ---- The walk --------------------------------------------------------------------------- */

static void read_child_locked(const ceni_child_record *child, cen_child_stats *out)
{
    *out = (cen_child_stats){
        .size = sizeof *out,
        .name = child->name,
        .state = child->state,
        .restart = child->options.restart,
        .significant = child->options.significant,
        .inner = child->options.inner,
        .starts = child->starts,
        .restarts = child->restarts,
        .since = child->since,
        .until = child->state == CEN_CHILD_WAITING ? child->moment : 0,
        .error = child->error,
        .inner_number =
            child->options.inner ? ceni_load_relaxed(&child->options.inner->entry.number) : 0, /* carries nothing */
    };
    if (child->tenure) out->child = child->tenure->handle;
}

cen_status cen_supervisor_each(cen_supervisor *supervisor, void (*visit)(void *argument, const cen_child_stats *child),
                               void *argument)
{
    if (!supervisor || !visit) return CEN_INVALID;
    if (!ceni_fork_is(supervisor->epoch)) return CEN_FORKED;
    ceni_supervisor_lock(supervisor);
    supervisor->visitors++;
    for (ceni_list *link = supervisor->children.next; link != &supervisor->children; link = link->next) {
        cen_child_stats stats;
        if (CENI_CHILD_OF(link, link)->is_gone) continue;
        read_child_locked(CENI_CHILD_OF(link, link), &stats);
        ceni_supervisor_unlock(supervisor);
        ceni_rank_expect_none("the visitor of a supervisor's children");
        int held = ceni_cancel_hold(); /* a thread that ended in there would stay counted as a visitor */
        visit(argument, &stats);
        ceni_cancel_release(held);
        if (!ceni_fork_is(supervisor->epoch)) return CEN_FORKED;
        ceni_supervisor_lock(supervisor);
    }
    if (--supervisor->visitors == 0) ceni_child_purge_locked(supervisor);
    ceni_supervisor_unlock_and_free(supervisor);
    return CEN_OK;
}

/* ---- The tree ------------------------------------------------------------------------------ */

const char *cen_child_state_name(cen_child_state state)
{
    static const char *const names[] = {"down", "waiting", "starting", "running", "stopping"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "?";
}

typedef struct page {
    void (*write)(void *argument, const char *text, size_t length);
    void *argument;
    unsigned depth;
    size_t length;
    int64_t now;
} page;

static void put(page *p, const char *text)
{
    size_t length = strlen(text);
    p->length += length;
    if (length > 0) p->write(p->argument, text, length);
}

static void put_indented(page *p, const char *text)
{
    for (unsigned i = 0; i < p->depth; i++) put(p, "  ");
    put(p, text);
}

static const char *phase_name(ceni_phase phase)
{
    static const char *const names[] = {"not started", "starting", "running", "stopping", "over"};
    return names[phase];
}

static const char *supervision_name(cen_supervision supervision)
{
    static const char *const names[] = {"one for one", "one for all", "rest for one"};
    return names[supervision];
}

static const char *policy_name(cen_restart restart)
{
    static const char *const names[] = {"permanent", "transient", "temporary"};
    return names[restart];
}

static void put_tree(page *p, cen_supervisor *supervisor);

static void put_child(void *argument, const cen_child_stats *child)
{
    page *p = argument;
    char line[200];
    put_indented(p, "\"");
    put(p, child->name);
    int64_t ns = child->state == CEN_CHILD_WAITING ? child->until - p->now : p->now - child->since;
    snprintf(line, sizeof line, "\": %s %s %lld ms, %s%s, %llu start%s, %llu restart%s",
             cen_child_state_name(child->state), child->state == CEN_CHILD_WAITING ? "for another" : "for",
             (long long)(ns / 1000000), policy_name(child->restart), child->significant ? ", significant" : "",
             (unsigned long long)child->starts, child->starts == 1 ? "" : "s", (unsigned long long)child->restarts,
             child->restarts == 1 ? "" : "s");
    put(p, line);
    if (child->error.status != CEN_OK) {
        put(p, "; last error: ");
        put(p, child->error.text[0] ? child->error.text : cen_status_text(child->error.status));
    }
    put(p, "\n");
    if (!child->inner) return;
    p->depth++;
    put_tree(p, child->inner);
    p->depth--;
}

static void put_tree(page *p, cen_supervisor *supervisor)
{
    char line[200];
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    ceni_supervisor_lock(supervisor);
    read_locked(supervisor, &stats);
    ceni_phase phase = supervisor->phase;
    ceni_supervisor_unlock(supervisor);
    snprintf(line, sizeof line, "supervisor \"%s\": %s, %s, %u child%s, %llu restart%s\n", supervisor->name,
             phase_name(phase), supervision_name(supervisor->supervision), stats.children,
             stats.children == 1 ? "" : "ren", (unsigned long long)stats.restarts, stats.restarts == 1 ? "" : "s");
    put_indented(p, line);
    p->now = ceni_runtime_now(supervisor->runtime);
    p->depth++;
    cen_supervisor_each(supervisor, put_child, p);
    p->depth--;
}

size_t cen_supervisor_dump_to(cen_supervisor *supervisor,
                              void (*write)(void *argument, const char *text, size_t length), void *argument)
{
    if (!supervisor || !write || !ceni_fork_is(supervisor->epoch)) return 0;
    page p = {.write = write, .argument = argument};
    put_tree(&p, supervisor);
    return p.length;
}

typedef struct sheet {
    char *buffer;
    size_t room, used;
} sheet;

static void write_sheet(void *argument, const char *text, size_t length)
{
    sheet *s = argument;
    size_t left = s->room - s->used, most = left > 0 ? left - 1 : 0;
    if (length > most) length = most;
    if (length > 0) memcpy(s->buffer + s->used, text, length);
    s->used += length;
}

size_t cen_supervisor_dump(cen_supervisor *supervisor, char *buffer, size_t room)
{
    sheet s = {.buffer = buffer, .room = buffer ? room : 0};
    size_t length = cen_supervisor_dump_to(supervisor, write_sheet, &s);
    if (buffer && room > 0) buffer[s.used] = '\0';
    return length;
}

/* ---- The description -------------------------------------------------------------------------- */

typedef struct drawing {
    const cen_description_writer *description;
    size_t most, written, beyond;
    int64_t now;
} drawing;

static int64_t at_least_none(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

static void draw_child(void *argument, const cen_child_stats *child)
{
    drawing *d = argument;
    const cen_description_writer *description = d->description;
    void *to = description->argument;
    if (d->written == d->most) {
        d->beyond++;
        return;
    }
    d->written++;
    description->item(to);
    description->text(to, "name", child->name);
    description->text(to, "state", cen_child_state_name(child->state));
    description->text(to, "policy", policy_name(child->restart));
    description->truth(to, "significant", child->significant);
    description->number(to, "starts", (int64_t)child->starts);
    description->number(to, "restarts", (int64_t)child->restarts);
    description->number(to, "since_ns", at_least_none(d->now - child->since)); /* it may have changed since `now` */
    if (child->state == CEN_CHILD_WAITING)
        description->number(to, "starts_in_ns", at_least_none(child->until - d->now));
    if (child->inner) description->number(to, "supervisor", (int64_t)child->inner_number);
    if (child->error.status != CEN_OK)
        description->text(to, "last_error",
                          child->error.text[0] ? child->error.text : cen_status_text(child->error.status));
    description->end(to);
}

static void describe_supervisor(const void *object, const cen_description_writer *description, size_t most)
{
    cen_supervisor *supervisor = (cen_supervisor *)(uintptr_t)object;
    void *to = description->argument;
    drawing d = {.description = description, .most = most, .now = ceni_runtime_now(supervisor->runtime)};
    ceni_supervisor_lock(supervisor);
    ceni_phase phase = supervisor->phase;
    cen_error error = supervisor->error;
    bool nested = supervisor->parent.supervisor_ != 0;
    ceni_supervisor_unlock(supervisor);
    description->text(to, "strategy", supervision_name(supervisor->supervision));
    description->text(to, "state", phase_name(phase));
    description->truth(to, "nested", nested || supervisor->nested);
    if (supervisor->intensity.max != UINT32_MAX) description->number(to, "max_restarts", supervisor->intensity.max);
    description->number(to, "window_ns", supervisor->intensity.window_ns);
    if (error.status != CEN_OK) description->text(to, "last_error", error.text);
    description->list(to, "children");
    cen_supervisor_each(supervisor, draw_child, &d);
    description->end(to);
    if (d.beyond > 0) description->number(to, "children_more", (int64_t)d.beyond);
}

const ceni_component_calls ceni_supervisor_calls = {.description = describe_supervisor};
