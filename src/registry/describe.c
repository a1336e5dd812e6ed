/* SPDX-License-Identifier: MIT */
/*
 * Describes a registry as a component: its statistics, and the keys that have the most entries.
 *
 * Keys are visited in a read section, which delays only the releases in the bin. At most KEYS_SEEN keys are visited: in
 * a larger registry the result is about these.
 *
 * Tested by tests/unit/registry/describe_test.c.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "registry/internal.h"

enum { KEYS_SEEN = 20000, KEYS_SHOWN = 20 };

size_t ceni_registry_snapshot(const void *object, cen_metric *metrics, size_t room)
{
    cen_registry_stats stats = CEN_SIZED(cen_registry_stats);
    if (cen_registry_stats_get((cen_registry *)(uintptr_t)object, &stats) != CEN_OK) return 0;
    const cen_metric all[] = {
        {"keys", (int64_t)stats.keys, CEN_GAUGE},
        {"entries", (int64_t)stats.entries, CEN_GAUGE},
        {"registered", (int64_t)stats.registered, CEN_COUNTER},
        {"removed", (int64_t)stats.removed, CEN_COUNTER},
        {"owner_ended", (int64_t)stats.owner_ended, CEN_COUNTER},
        {"updated", (int64_t)stats.updated, CEN_COUNTER},
        {"refused", (int64_t)stats.refused, CEN_COUNTER},
        {"listeners", (int64_t)stats.listeners, CEN_GAUGE},
        {"untold", (int64_t)stats.untold, CEN_GAUGE},
        {"buckets", (int64_t)stats.buckets, CEN_GAUGE},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) metrics[i] = all[i];
    return count;
}

/* ---- The largest keys ------------------------------------------------------------------------------------------- */

typedef struct row {
    size_t entries;
    char key[CENI_KEY_TEXT];
} row;

/* The keys with the most entries, in descending order. */
typedef struct podium {
    row rows[KEYS_SHOWN];
    size_t count, room, seen;
} podium;

static bool consider(void *argument, ceni_shelf *shelf)
{
    podium *self = argument;
    size_t entries = ceni_shelf_count(shelf), at = self->count;
    if (++self->seen > KEYS_SEEN) return false;
    if (entries == 0 || self->room == 0) return true;
    if (at == self->room && entries <= self->rows[at - 1].entries) return true;
    if (at < self->room) self->count++;
    else at--;
    for (; at > 0 && self->rows[at - 1].entries < entries; at--) self->rows[at] = self->rows[at - 1];
    self->rows[at].entries = entries;
    ceni_key_print(shelf->key, self->rows[at].key);
    return true;
}

static void write_keys(cen_registry *registry, const cen_description_writer *description, size_t keys, size_t most)
{
    void *to = description->argument;
    podium *self = ceni_alloc(registry->allocator, sizeof *self, _Alignof(podium));
    if (self) {
        self->room = most < KEYS_SHOWN ? most : KEYS_SHOWN;
        ceni_read_begin();
        ceni_keys_each(registry, consider, self);
        ceni_read_end();
    }
    size_t shown = self ? self->count : 0;
    description->list(to, "largest_keys");
    for (size_t i = 0; i < shown; i++) {
        description->item(to);
        description->text(to, "key", self->rows[i].key);
        description->number(to, "entries", (int64_t)self->rows[i].entries);
        description->end(to);
    }
    description->end(to);
    if (keys > shown) description->number(to, "largest_keys_more", (int64_t)(keys - shown));
    if (self) ceni_free(registry->allocator, self, sizeof *self, _Alignof(podium));
}

static void describe_registry(const void *object, const cen_description_writer *description, size_t most)
{
    cen_registry *registry = (cen_registry *)(uintptr_t)object;
    cen_registry_stats stats = CEN_SIZED(cen_registry_stats);
    if (cen_registry_stats_get(registry, &stats) != CEN_OK) return;
    description->text(description->argument, "keys_are", registry->kind == CEN_DUPLICATE ? "duplicate" : "unique");
    description->number(description->argument, "keys", (int64_t)stats.keys);
    description->number(description->argument, "entries", (int64_t)stats.entries);
    write_keys(registry, description, (size_t)stats.keys, most);
}

const ceni_component_calls ceni_registry_calls = {.description = describe_registry};
