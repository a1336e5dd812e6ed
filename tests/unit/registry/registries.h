/* SPDX-License-Identifier: MIT */
/* A registry of a manual runtime, and short words for what tests do with it. */
#ifndef TESTS_UNIT_REGISTRY_REGISTRIES_H
#define TESTS_UNIT_REGISTRY_REGISTRIES_H

#include <cenote/cenote.h>
#include <cenote/registry.h>

#include "port/port.h"
#include "registry/internal.h"
#include "support/test.h"

static cen_runtime *runtime;
static cen_registry *registry;

static inline cen_runtime *make_manual(void)
{
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    return runtime;
}

static inline cen_registry *new_registry(cen_registry_options options)
{
    cen_registry *made = NULL;
    cen_error error = {.text = ""};
    if (cen_registry_new(&options, &made, &error) != CEN_OK)
        test_fail(__FILE__, __LINE__, "no registry: %s", error.text);
    return made;
}

/* On a runtime without threads: what is let go of is freed in poll, or by free. */
#define make_registry(...) (registry = new_registry(CEN_REGISTRY_OPTIONS(.runtime = make_manual(), __VA_ARGS__)))

static inline void end_registry(void)
{
    expect_equal(cen_registry_free(registry), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    registry = NULL;
    runtime = NULL;
}

/* Lets go of what was removed: nobody reads. */
static inline void empty_bin(void)
{
    cen_runtime_poll(runtime);
}

static inline cen_owner *make_owner(const char *name)
{
    cen_owner *owner = NULL;
    cen_owner_options options = CEN_OWNER_OPTIONS(.name = name);
    expect_equal(cen_owner_new(&options, &owner, NULL), CEN_OK);
    return owner;
}

static inline void *value_of(intptr_t number)
{
    return (void *)number;
}

/* Registers under a text and returns the number. */
static inline uint64_t put(const char *key, intptr_t value, cen_owner *owner)
{
    uint64_t number = 0;
    cen_error error = {.text = ""};
    if (cen_registry_register(registry, cen_key_text(key), value_of(value), owner, &number, &error) != CEN_OK)
        test_fail(__FILE__, __LINE__, "not registered: %s", error.text);
    expect(number != 0);
    return number;
}

static inline cen_status try_put(const char *key, cen_owner *owner)
{
    return cen_registry_register(registry, cen_key_text(key), NULL, owner, NULL, NULL);
}

static inline size_t count_of(const char *key)
{
    size_t count = 99;
    expect_equal(cen_registry_count(registry, cen_key_text(key), &count), CEN_OK);
    return count;
}

/* The value of the first entry under the key; -1: there is none. */
static inline intptr_t find(const char *key)
{
    const cen_entry *entry;
    cen_read_begin();
    cen_status status = cen_registry_lookup(registry, cen_key_text(key), &entry);
    intptr_t value = status == CEN_OK ? (intptr_t)cen_entry_value(entry) : -1;
    cen_read_end();
    expect(status == CEN_OK || status == CEN_ABSENT);
    return value;
}

static inline cen_registry_stats look(void)
{
    cen_registry_stats stats = CEN_SIZED(cen_registry_stats);
    expect_equal(cen_registry_stats_get(registry, &stats), CEN_OK);
    expect_equal(stats.entries, stats.registered - stats.removed - stats.owner_ended);
    return stats;
}

/* The values of all that is visited, one after the other. */
typedef struct visited {
    intptr_t values[64];
    int count;
    int stop_after; /* 0: never */
} visited;

static inline bool note_visit(void *argument, const cen_entry *entry)
{
    visited *self = argument;
    expect(self->count < 64);
    self->values[self->count++] = (intptr_t)cen_entry_value(entry);
    return self->count != self->stop_after;
}

#endif
