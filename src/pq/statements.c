/* SPDX-License-Identifier: MIT */
/*
 * The prepared statements of one connection, by their text. Only its holder touches them.
 *
 * Places are an array of fixed size, with a chain per bucket. The victim is found by a linear scan. That happens only
 * when a statement is prepared and the cache is full, and costs less than the round trip that follows.
 */
#include <stdlib.h>
#include <string.h>

#include "pq/internal.h"

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 32;
}

cen_status ceni_pq_statements_init(ceni_pq_statements *self, uint32_t room)
{
    *self = (ceni_pq_statements){.room = room};
    if (room == 0) return CEN_OK;
    uint32_t buckets = 1;
    while (buckets < room) buckets *= 2;
    self->mask = buckets - 1;
    self->places = calloc(room, sizeof *self->places);
    self->buckets = calloc(buckets, sizeof *self->buckets);
    return self->places && self->buckets ? CEN_OK : CEN_NO_MEMORY;
}

void ceni_pq_statements_fini(ceni_pq_statements *self)
{
    if (self->places && self->buckets) ceni_pq_statements_clear(self);
    free(self->places);
    free(self->buckets);
    *self = (ceni_pq_statements){.room = 0};
}

ceni_pq_statement *ceni_pq_statements_find(ceni_pq_statements *self, const char *sql)
{
    if (self->count == 0) return NULL;
    uint64_t hash = hash_of(sql);
    for (uint32_t i = self->buckets[hash & self->mask]; i; i = self->places[i - 1].next) {
        ceni_pq_statement *place = &self->places[i - 1];
        if (place->hash != hash || strcmp(place->sql, sql) != 0) continue;
        place->used = ++self->uses;
        return place;
    }
    return NULL;
}

ceni_pq_statement *ceni_pq_statements_victim(ceni_pq_statements *self)
{
    if (self->count < self->room) return NULL;
    ceni_pq_statement *victim = &self->places[0];
    for (uint32_t i = 1; i < self->room; i++)
        if (self->places[i].used < victim->used) victim = &self->places[i];
    return victim;
}

ceni_pq_statement *ceni_pq_statements_add(ceni_pq_statements *self, const char *sql)
{
    ceni_pq_statement *place = self->places;
    while (place->sql) place++;
    place->sql = strdup(sql);
    if (!place->sql) return NULL;
    place->hash = hash_of(sql);
    place->used = ++self->uses;
    place->number = ++self->last_number;
    place->changes_session = ceni_pq_changes_session(sql);
    uint32_t *bucket = &self->buckets[place->hash & self->mask];
    place->next = *bucket;
    *bucket = (uint32_t)(place - self->places) + 1;
    self->count++;
    return place;
}

void ceni_pq_statements_remove(ceni_pq_statements *self, ceni_pq_statement *statement)
{
    uint32_t index = (uint32_t)(statement - self->places) + 1, *link = &self->buckets[statement->hash & self->mask];
    while (*link != index) link = &self->places[*link - 1].next;
    *link = statement->next;
    free(statement->sql);
    *statement = (ceni_pq_statement){.sql = NULL};
    self->count--;
}

void ceni_pq_statements_clear(ceni_pq_statements *self)
{
    for (uint32_t i = 0; self->count && i < self->room; i++)
        if (self->places[i].sql) ceni_pq_statements_remove(self, &self->places[i]);
}
