/* SPDX-License-Identifier: MIT */
/*
 * What a step leaves to do when the mutex is dropped: jobs to post, and events, which are written to the process' ring
 * at once and delivered to the listener later (steward.c).
 *
 * Tested by tests/unit/supervisor/.
 */
#include <stdio.h>

#include "base/plant.h"
#include "record/events.h"
#include "supervisor/internal.h"

void ceni_out_post(ceni_out *out, cen_job *job)
{
    job->next = out->posts;
    out->posts = job;
}

static cen_supervisor_event *add_event(ceni_out *out, cen_supervisor_event event, const cen_error *error)
{
    uint32_t i = out->count++;
    out->events[i] = event;
    if (error) out->errors[i] = *error;
    out->events[i].error = error ? &out->errors[i] : NULL;
    return &out->events[i];
}

/* The level of an event. An end that was requested or normal needs no attention. */
static cen_event_level level_of(cen_event_kind kind, bool failed)
{
    switch (kind) {
    case CEN_EVENT_CHILD_STARTED:
    case CEN_EVENT_CHILD_WAITING: return CEN_LEVEL_DETAIL;
    case CEN_EVENT_CHILD_ENDED: return failed ? CEN_LEVEL_WARNING : CEN_LEVEL_DETAIL;
    case CEN_EVENT_CHILD_RESTARTED: return CEN_LEVEL_NOTICE;
    case CEN_EVENT_CHILD_FAILED:
    case CEN_EVENT_CHILD_KILLED:
    case CEN_EVENT_CHILD_ABANDONED: return CEN_LEVEL_WARNING;
    case CEN_EVENT_GAVE_UP: return CEN_LEVEL_ERROR;
    default: return CEN_LEVEL_NOTICE;
    }
}

/* The verb of an event's text. */
static const char *words_of(cen_event_kind kind)
{
    switch (kind) {
    case CEN_EVENT_CHILD_STARTED: return "started";
    case CEN_EVENT_CHILD_RESTARTED: return "restarted";
    case CEN_EVENT_CHILD_FAILED: return "failed to start";
    case CEN_EVENT_CHILD_ENDED: return "ended";
    case CEN_EVENT_CHILD_WAITING: return "restarts after a back-off";
    case CEN_EVENT_CHILD_KILLED: return "killed";
    case CEN_EVENT_CHILD_ABANDONED: return "did not end in time";
    case CEN_EVENT_GAVE_UP: return "gave up";
    default: return "it is over";
    }
}

static const cen_error no_error = {.status = CEN_OK};

/* Write an event of the process, whether there is a listener or not. */
static void write_events(const cen_supervisor *supervisor, cen_event_kind kind, const ceni_child_record *child,
                         const cen_error *error)
{
    char text[CEN_ERROR_TEXT_SIZE];
    bool failed = error->status != CEN_OK;
    bool named = failed && error->text[0];
    int64_t value = child && kind == CEN_EVENT_CHILD_WAITING
                        ? child->moment - child->since
                        : (int64_t)(child ? child->restarts : supervisor->restarts);
    if (child)
        snprintf(text, sizeof text, "supervisor \"%s\": child \"%.60s\" %s%s%.200s", supervisor->name, child->name,
                 words_of(kind), named ? ": " : "", named ? error->text : "");
    else if (named) snprintf(text, sizeof text, "%s", error->text);
    else snprintf(text, sizeof text, "supervisor \"%s\": %s", supervisor->name, words_of(kind));
    ceni_occurrence what = {.level = level_of(kind, failed),
                            .kind = kind,
                            .of = &supervisor->entry,
                            .part = child ? child->name : NULL,
                            .value = value,
                            .status = error->status,
                            .code = error->code,
                            .cause = error->cause};
    ceni_event_write(&what, text);
}

void ceni_supervisor_event_locked(ceni_out *out, cen_event_kind kind, ceni_child_record *child, const cen_error *error)
{
    if (child->supervisor->listener || !ceni_planted(supervisor_tells_its_listener_only))
        write_events(child->supervisor, kind, child, error ? error : &no_error);
    if (!child->supervisor->listener) return;
    out->pinned[out->count] = child;
    child->refs++;
    cen_supervisor_event *event =
        add_event(out,
                  (cen_supervisor_event){
                      .kind = kind, .supervisor = child->supervisor, .name = child->name, .restarts = child->restarts},
                  error);
    if (child->tenure) event->child = child->tenure->handle;
    if (kind == CEN_EVENT_CHILD_WAITING) event->wait_ns = child->moment - child->since;
}

void ceni_supervisor_event_own_locked(ceni_out *out, cen_event_kind kind, cen_supervisor *supervisor)
{
    write_events(supervisor, kind, NULL, kind == CEN_EVENT_GAVE_UP ? &supervisor->error : &no_error);
    if (!supervisor->listener) return;
    cen_supervisor_event event = {
        .kind = kind, .supervisor = supervisor, .name = supervisor->name, .restarts = supervisor->restarts};
    add_event(out, event, supervisor->error.status != CEN_OK ? &supervisor->error : NULL);
}
