/* SPDX-License-Identifier: MIT */
/*
 * Workers that come and go, and a caller that always finds a live one.
 *
 *     workers    threads that register under "echo" and serve until they are told to end, or end by themselves
 *     listener   keeps a count from its notifications alone
 *     caller     picks one at random and uses it, in a read section
 *     unique     a name held by one owner, which a second one cannot register
 *
 * A worker's memory belongs to its thread. It is freed when no reader can be using it.
 */
#undef NDEBUG /* asserts in every build */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/registry.h>

enum { WORKERS = 4, CALLS = 10000 };

typedef struct worker {
    int index;
    atomic_int calls;
} worker;

static cen_registry *registry;
static atomic_int is_over, freed, up;

/* ---- Workers --------------------------------------------------------------------------------------- */

static void *serve(void *argument)
{
    worker *self = calloc(1, sizeof *self);
    cen_error error;
    assert(self);
    self->index = *(int *)argument;
    if (cen_registry_register(registry, cen_key_text("echo"), self, NULL, NULL, &error) != CEN_OK) {
        puts(error.text);
        exit(1);
    }
    while (!atomic_load(&is_over)) {
        if (self->index == 0 && atomic_load(&self->calls) > 100) break; /* this one ends early, without unregistering */
    }
    return NULL; /* and lookups no longer find it */
}

static void free_worker(void *argument, void *value)
{
    (void)argument;
    worker *self = value;
    printf("worker %d was called %d times\n", self->index, atomic_load(&self->calls));
    atomic_fetch_add(&freed, 1);
    free(self);
}

/* ---- Listener -------------------------------------------------------------------------------------- */

static void follow(void *argument, const cen_registered *change)
{
    (void)argument;
    if (change->change == CEN_REGISTERED) atomic_fetch_add(&up, 1);
    if (change->change == CEN_UNREGISTERED) {
        assert(change->reason == CEN_REASON_OWNER_ENDED);
        printf("\"%s\" has ended\n", cen_owner_name(change->owner));
        atomic_fetch_sub(&up, 1);
    }
}

/* ---- The caller ------------------------------------------------------------------------------------ */

static void call_one(void)
{
    const cen_entry *entry;
    cen_read_begin();
    assert(cen_registry_pick(registry, cen_key_text("echo"), &entry) == CEN_OK);
    worker *chosen = cen_entry_value(entry);
    atomic_fetch_add(&chosen->calls, 1); /* it may have ended by now, but its memory is still valid */
    cen_read_end();
}

static void show_unique(void)
{
    cen_registry *names;
    cen_registry_options options = CEN_REGISTRY_OPTIONS(.name = "names");
    cen_owner_options first = CEN_OWNER_OPTIONS(.name = "the first");
    cen_owner *holder;
    cen_error error;
    assert(cen_registry_new(&options, &names, &error) == CEN_OK);
    assert(cen_owner_new(&first, &holder, &error) == CEN_OK);
    assert(cen_registry_register(names, cen_key_text("leader"), NULL, holder, NULL, &error) == CEN_OK);
    assert(cen_registry_register(names, cen_key_text("leader"), NULL, NULL, NULL, &error) == CEN_EXISTS);
    printf("%s\n", error.text);
    cen_owner_end(holder);
    assert(cen_registry_register(names, cen_key_text("leader"), NULL, NULL, NULL, &error) == CEN_OK);
    assert(cen_registry_free(names) == CEN_OK);
}

int main(void)
{
    cen_registry_options options =
        CEN_REGISTRY_OPTIONS(.name = "workers", .kind = CEN_DUPLICATE, .listener = follow, .release = free_worker);
    cen_error error;
    pthread_t threads[WORKERS];
    int indices[WORKERS];
    assert(cen_registry_new(&options, &registry, &error) == CEN_OK);
    for (int i = 0; i < WORKERS; i++) {
        indices[i] = i;
        assert(pthread_create(&threads[i], NULL, serve, &indices[i]) == 0);
    }
    while (atomic_load(&up) < WORKERS) {
    }
    for (int i = 0; i < CALLS; i++) call_one();
    pthread_join(threads[0], NULL); /* it had ended long ago */

    size_t count;
    assert(cen_registry_count(registry, cen_key_text("echo"), &count) == CEN_OK);
    assert(count == WORKERS - 1 && atomic_load(&up) == WORKERS - 1);
    atomic_store(&is_over, 1);
    for (int i = 1; i < WORKERS; i++) pthread_join(threads[i], NULL);
    assert(atomic_load(&up) == 0);
    assert(cen_registry_free(registry) == CEN_OK);
    assert(atomic_load(&freed) == WORKERS);
    show_unique();
}
