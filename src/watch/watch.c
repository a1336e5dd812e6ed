/* SPDX-License-Identifier: MIT */
/* The directory, as a program sees it: a thing is an entry. */
#include <string.h>

#include <cenote/watch.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/plant.h"
#include "record/directory.h"

static const ceni_entry *entry_of(const cen_thing *thing)
{
    return (const ceni_entry *)thing;
}

/* ---- Who is there --------------------------------------------------------- */

typedef struct visit {
    void (*visit)(void *argument, cen_thing *thing);
    void *argument;
    uint64_t number; /* 0: all */
    bool found;
} visit;

static void visit_entry(void *argument, ceni_entry *entry)
{
    visit *v = argument;
    if (v->number && v->number != ceni_load_relaxed(&entry->number)) return; /* carries nothing */
    v->found = true;
    v->visit(v->argument, (cen_thing *)entry);
}

void cen_things_each(void (*call)(void *argument, cen_thing *thing), void *argument)
{
    visit v = {call, argument, 0, false};
    if (call) ceni_directory_each(ceni_directory_process(), visit_entry, &v);
}

cen_status cen_thing_visit(uint64_t number, void (*call)(void *argument, cen_thing *thing), void *argument)
{
    visit v = {call, argument, number, false};
    if (!call || number == 0) return CEN_INVALID;
    ceni_directory_each(ceni_directory_process(), visit_entry, &v);
    return v.found ? CEN_OK : CEN_ABSENT;
}

uint64_t cen_thing_number(const cen_thing *thing)
{
    return ceni_load_relaxed(&entry_of(thing)->number); /* carries nothing */
}

const char *cen_thing_kind(const cen_thing *thing)
{
    return entry_of(thing)->kind;
}

const char *cen_thing_name(const cen_thing *thing)
{
    return entry_of(thing)->name;
}

const char *cen_thing_system(const cen_thing *thing)
{
    const ceni_entry *entry = entry_of(thing);
    return entry->calls && entry->calls->system ? entry->calls->system(entry->object) : NULL;
}

/* ---- What it tells ----------------------------------------------------------- */

/* The caller's elements may have another size than ours. */
size_t cen_thing_readings_sized(const cen_thing *thing, cen_reading *readings, size_t size, size_t room)
{
    const ceni_entry *entry = entry_of(thing);
    cen_reading all[CEN_READINGS_MOST];
    size_t count = entry->snapshot(entry->object, all, CEN_READINGS_MOST),
           known = size < sizeof *all ? size : sizeof *all;
    for (size_t i = 0; i < count && i < room && i < CEN_READINGS_MOST; i++) {
        unsigned char *at = (unsigned char *)readings + i * size;
        memset(at, 0, size);
        memcpy(at, &all[i], known);
    }
    return count;
}

bool cen_thing_durations(const cen_thing *thing, size_t index, cen_timing *timing, cen_durations *out)
{
    const ceni_entry *entry = entry_of(thing);
    return entry->calls && entry->calls->durations && entry->calls->durations(entry->object, index, timing, out);
}

void cen_thing_sketch(const cen_thing *thing, const cen_sketch *sketch, size_t most)
{
    const ceni_entry *entry = entry_of(thing);
    if (entry->calls && entry->calls->sketch) entry->calls->sketch(entry->object, sketch, most);
}

/* ---- What it obeys -------------------------------------------------------------- */

const char *cen_thing_verb(const cen_thing *thing, size_t index)
{
    const ceni_entry *entry = entry_of(thing);
    if (!entry->calls || !entry->calls->verbs) return NULL;
    for (size_t i = 0; entry->calls->verbs[i]; i++)
        if (i == index) return entry->calls->verbs[i];
    return NULL;
}

cen_status cen_thing_tell(cen_thing *thing, const char *verb, int64_t value, cen_error *error)
{
    const ceni_entry *entry = entry_of(thing);
    if (!verb) return ceni_error_set(error, CEN_INVALID, 0, "cen_thing_tell: the verb is NULL");
    for (size_t i = 0; cen_thing_verb(thing, i); i++)
        if (strcmp(cen_thing_verb(thing, i), verb) == 0 || ceni_planted(thing_tell_any_verb))
            return entry->calls->tell((void *)(uintptr_t)entry->object, verb, value, error);
    return ceni_error_set(error, CEN_ABSENT, 0, "%s \"%s\" cannot %.32s", entry->kind, entry->name, verb);
}
