/* SPDX-License-Identifier: MIT */
/* The public interface to the directory: a component is an entry of it. */
#include <string.h>

#include <cenote/component.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/plant.h"
#include "record/directory.h"

static const ceni_directory_entry *entry_of(const cen_component *component)
{
    return (const ceni_directory_entry *)component;
}

/* ---- Visiting components --------------------------------------------------- */

typedef struct visit {
    void (*visit)(void *argument, cen_component *component);
    void *argument;
    uint64_t number; /* 0: all */
    bool found;
} visit;

static void visit_entry(void *argument, ceni_directory_entry *entry)
{
    visit *v = argument;
    if (v->number && v->number != ceni_load_relaxed(&entry->number)) return; /* carries nothing */
    v->found = true;
    v->visit(v->argument, (cen_component *)entry);
}

void cen_components_each(void (*call)(void *argument, cen_component *component), void *argument)
{
    visit v = {call, argument, 0, false};
    if (call) ceni_directory_each(ceni_directory_process(), visit_entry, &v);
}

cen_status cen_component_visit(uint64_t number, void (*call)(void *argument, cen_component *component), void *argument)
{
    visit v = {call, argument, number, false};
    if (!call || number == 0) return CEN_INVALID;
    ceni_directory_each(ceni_directory_process(), visit_entry, &v);
    return v.found ? CEN_OK : CEN_ABSENT;
}

uint64_t cen_component_number(const cen_component *component)
{
    return ceni_load_relaxed(&entry_of(component)->number); /* carries nothing */
}

const char *cen_component_kind(const cen_component *component)
{
    return entry_of(component)->kind;
}

const char *cen_component_name(const cen_component *component)
{
    return entry_of(component)->name;
}

const char *cen_component_system(const cen_component *component)
{
    const ceni_directory_entry *entry = entry_of(component);
    return entry->calls && entry->calls->system ? entry->calls->system(entry->object) : NULL;
}

/* ---- Metrics, histograms, descriptions ---------------------------------------- */

/* The caller's cen_metric may be another version's and have another size. */
size_t cen_component_metrics_sized(const cen_component *component, cen_metric *metrics, size_t size, size_t room)
{
    const ceni_directory_entry *entry = entry_of(component);
    cen_metric all[CEN_METRICS_MAX];
    size_t count = entry->snapshot(entry->object, all, CEN_METRICS_MAX),
           known = size < sizeof *all ? size : sizeof *all;
    for (size_t i = 0; i < count && i < room && i < CEN_METRICS_MAX; i++) {
        unsigned char *at = (unsigned char *)metrics + i * size;
        memset(at, 0, size);
        memcpy(at, &all[i], known);
    }
    return count;
}

bool cen_component_histogram(const cen_component *component, size_t index, cen_histogram_header *timing,
                             cen_histogram *out)
{
    const ceni_directory_entry *entry = entry_of(component);
    return entry->calls && entry->calls->histogram && entry->calls->histogram(entry->object, index, timing, out);
}

void cen_component_describe(const cen_component *component, const cen_description_writer *description, size_t most)
{
    const ceni_directory_entry *entry = entry_of(component);
    if (entry->calls && entry->calls->description) entry->calls->description(entry->object, description, most);
}

/* ---- Actions --------------------------------------------------------------------- */

const char *cen_component_action_name(const cen_component *component, size_t index)
{
    const ceni_directory_entry *entry = entry_of(component);
    if (!entry->calls || !entry->calls->actions) return NULL;
    for (size_t i = 0; entry->calls->actions[i]; i++)
        if (i == index) return entry->calls->actions[i];
    return NULL;
}

cen_status cen_component_invoke(cen_component *component, const char *action, int64_t value, cen_error *error)
{
    const ceni_directory_entry *entry = entry_of(component);
    if (!action) return ceni_error_set(error, CEN_INVALID, 0, "cen_component_invoke: the action is NULL");
    for (size_t i = 0; cen_component_action_name(component, i); i++)
        if (strcmp(cen_component_action_name(component, i), action) == 0 || ceni_planted(component_tell_any_action))
            return entry->calls->tell((void *)(uintptr_t)entry->object, action, value, error);
    return ceni_error_set(error, CEN_ABSENT, 0, "%s \"%s\": unknown action \"%.32s\"", entry->kind, entry->name,
                          action);
}
