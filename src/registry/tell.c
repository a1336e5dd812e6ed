/* SPDX-License-Identifier: MIT */
/*
 * Calls listeners for the changes, in exactly the order of the changes.
 *
 *     change, under the lock ──▶ queue of tales ──▶ the teller calls the listeners, with no lock held
 *
 * The naive way, to call listeners after the lock was dropped, reports two changes by two threads in either order. So a
 * change is queued, as a *tale*, under the lock under which it was made. One thread at a time, the *teller*, takes
 * tales from the queue until it is empty. A thread that changes something meanwhile leaves its tale to the teller. So
 * does a listener that changes the registry: its own thread is the teller.
 *
 * Which listeners get a tale is decided when it is taken, and needs no numbers. A new listening is put into the same
 * queue, with a copy of the entries at that moment, and joins the others when its turn comes. Changes before it were
 * taken before, and changes after it are reported to it, too.
 *
 * Invariants
 *  T1 The queue is empty, or `telling` is set. It is set and cleared under the lock, and cleared only with an empty
 *     queue.
 *  T2 The object that has a tale stays in memory until listeners were called for it. An entry is released by the tale
 *     of its removal, which is its last. So everything that was copied or queued before may refer to the entry.
 *  T3 With no listening and no teller, nothing is queued: the changing thread releases the object itself.
 *  T4 `told` is the listening whose listener is being called, while the lock is dropped; `next` is the one after it. A
 *     thread that ends a listening moves `next` on and waits until `told` is another. A listener that ends its own
 *     listening leaves it to the teller to free.
 *
 * All words are under the lock, except `turns`, a futex that is changed under it.
 *
 * Tested by tests/unit/registry/listen_test.c, tests/explore/registry_test.c (planted: registry_tells_out_of_order,
 * registry_listen_misses_a_change, registry_unlisten_does_not_wait).
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "registry/internal.h"

/* ---- The queue ------------------------------------------------------------------------------------------- */

bool ceni_tell_is_wanted_locked(const cen_registry *registry)
{
    return registry->telling || !ceni_list_empty(&registry->listenings);
}

bool ceni_tell_is_inside_locked(const cen_registry *registry)
{
    return registry->telling && registry->teller == ceni_thread_id();
}

static void queue_locked(cen_registry *registry, ceni_tale *tale)
{
    tale->next = NULL;
    if (registry->last) registry->last->next = tale;
    else registry->first = tale;
    registry->last = tale;
    registry->stats.untold++;
}

static ceni_tale *take_locked(cen_registry *registry)
{
    ceni_tale *tale = registry->first;
    if (!tale) return NULL;
    registry->first = tale->next;
    if (!registry->first) registry->last = NULL;
    registry->stats.untold--;
    return tale;
}

bool ceni_tell_locked(cen_registry *registry, ceni_tale *tale)
{
    if (!ceni_tell_is_wanted_locked(registry)) return false; /* T3 */
    queue_locked(registry, tale);
    if (ceni_planted(registry_tells_out_of_order) && registry->first != tale) {
        registry->last = registry->first;
        while (registry->last->next != tale) registry->last = registry->last->next;
        registry->last->next = NULL;
        tale->next = registry->first;
        registry->first = tale;
    }
    return true;
}

void ceni_tales_add(ceni_tales *tales, ceni_tale *tale)
{
    tale->next = NULL;
    if (tales->last) tales->last->next = tale;
    else tales->first = tale;
    tales->last = tale;
}

/* ---- The teller --------------------------------------------------------------------------------------------- */

static void free_seen(cen_listening *listening)
{
    ceni_free(listening->registry->allocator, listening->seen, listening->seen_room * sizeof *listening->seen,
              _Alignof(struct ceni_seen));
    listening->seen = NULL;
    listening->seen_room = 0;
}

static void free_listening(cen_listening *listening)
{
    free_seen(listening);
    ceni_free(listening->registry->allocator, listening, listening->size, _Alignof(cen_listening));
}

static void wake_locked(cen_registry *registry)
{
    ceni_add_relaxed(&registry->turns, 1); /* a futex; its meaning is under the lock; carries nothing */
    ceni_futex_wake(&registry->turns, UINT32_MAX);
}

/* Call its listener, with the lock dropped meanwhile. False: the listening has ended and must not be touched (T4). */
static bool call_locked(cen_registry *registry, cen_listening *listening, const cen_registered *change)
{
    registry->told = listening;
    ceni_registry_unlock(registry);
    ceni_rank_expect_none("listener of a registry");
    int held = ceni_cancel_hold();
    listening->listener(listening->argument, change);
    ceni_cancel_release(held);
    ceni_registry_lock(registry);
    registry->told = NULL;
    if (!listening->ended) return true;
    if (listening->ended_inside) {
        ceni_registry_unlock(registry);
        free_listening(listening);
        ceni_registry_lock(registry);
    } else {
        wake_locked(registry);
    }
    return false;
}

static cen_registered describe(const ceni_tale *tale)
{
    cen_entry *entry = tale->entry;
    return (cen_registered){
        .change = tale->change,
        .reason = tale->reason,
        .registry = entry->registry,
        .entry = entry,
        .key = entry->shelf->key,
        .owner = entry->owner,
        .number = entry->number,
        .value = tale->value,
        .before = tale->before,
    };
}

static bool hears(const cen_listening *listening, const ceni_shelf *shelf)
{
    return listening->to_all || (listening->hash == shelf->hash && cen_key_same(listening->key, shelf->key));
}

static cen_listening *after(cen_registry *registry, const ceni_list *link)
{
    return link->next == &registry->listenings ? NULL : CENI_LIST_ENTRY(link->next, cen_listening, link);
}

/* Whether the next tale is for this listening, too. That tale stays until it was taken (T2), and only this thread takes
 * it, so only the listening's end can change the result. */
static bool hears_next_locked(const cen_registry *registry, const cen_listening *listening)
{
    const ceni_tale *next = registry->first;
    if (ceni_planted(registry_guesses_that_more_comes)) return next != NULL;
    return next && next->entry && hears(listening, next->entry->shelf);
}

static void tell_all_locked(cen_registry *registry, const ceni_tale *tale)
{
    cen_registered change = describe(tale);
    registry->next = after(registry, &registry->listenings);
    for (cen_listening *listening; (listening = registry->next) != NULL;) {
        registry->next = after(registry, &listening->link);
        if (!hears(listening, tale->entry->shelf)) continue;
        change.more = hears_next_locked(registry, listening);
        call_locked(registry, listening, &change);
    }
}

/* Report the entries that existed when the listening was made. From then on it is one of the others. */
static void begin_locked(cen_registry *registry, cen_listening *listening)
{
    if (listening->ended) { /* before its turn came */
        ceni_registry_unlock(registry);
        free_listening(listening);
        ceni_registry_lock(registry);
        return;
    }
    ceni_list_push_back(&registry->listenings, &listening->link);
    for (size_t i = 0; i < listening->seen_count; i++) {
        ceni_tale tale = {
            .entry = listening->seen[i].entry, .change = CEN_REGISTERED, .value = listening->seen[i].value};
        cen_registered change = describe(&tale);
        change.is_old = true;
        change.more = i + 1 < listening->seen_count || hears_next_locked(registry, listening);
        if (!call_locked(registry, listening, &change)) return;
    }
    struct ceni_seen *seen = listening->seen;
    size_t room = listening->seen_room;
    listening->seen = NULL;
    listening->seen_count = listening->seen_room = 0;
    ceni_registry_unlock(registry);
    ceni_free(registry->allocator, seen, room * sizeof *seen, _Alignof(struct ceni_seen));
    ceni_registry_lock(registry);
}

/* Called by the teller. The lock is held before and afterwards. */
static void tell_queue_locked(cen_registry *registry)
{
    for (ceni_tale *tale; (tale = take_locked(registry)) != NULL;) {
        if (!tale->entry) {
            begin_locked(registry, CENI_LIST_ENTRY(tale, cen_listening, begins));
            continue;
        }
        tell_all_locked(registry, tale);
        ceni_registry_unlock(registry);
        ceni_tale_let_go(registry, tale); /* T2 */
        ceni_registry_lock(registry);
    }
}

void ceni_tell_and_unlock(cen_registry *registry, ceni_tales *untold)
{
    bool tells = registry->first && !registry->telling;
    if (tells) {
        registry->telling = true;
        registry->teller = ceni_thread_id();
        tell_queue_locked(registry);
        registry->telling = false; /* T1 */
        wake_locked(registry);
    }
    ceni_registry_unlock(registry);
    for (ceni_tale *tale = untold->first, *next; tale; tale = next) {
        next = tale->next;
        ceni_tale_let_go(registry, tale);
    }
}

/* ---- Listening ------------------------------------------------------------------------------------------------- */

static cen_listening *make_listening(cen_registry *registry, const cen_key *key, cen_registry_listener listener,
                                     void *argument)
{
    size_t size = sizeof(cen_listening) + (key ? ceni_key_room(*key) : 0);
    cen_listening *listening = ceni_alloc(registry->allocator, size, _Alignof(cen_listening));
    if (!listening) return NULL;
    listening->registry = registry;
    listening->listener = listener;
    listening->argument = argument;
    listening->size = size;
    listening->to_all = !key;
    if (key) listening->key = ceni_key_copy(*key, listening->bytes);
    if (key) listening->hash = ceni_key_hash(registry->seed, *key);
    ceni_list_init(&listening->link);
    return listening;
}

static bool see(void *argument, ceni_shelf *shelf)
{
    cen_listening *listening = argument;
    for (ceni_link *link = ceni_chain_first(&shelf->entries); link; link = ceni_chain_next(link)) {
        cen_entry *entry = CENI_ENTRY_OF(link, in_shelf);
        void *value = ceni_load_relaxed(&entry->value); /* written under the lock, which is held; carries nothing */
        listening->seen[listening->seen_count++] = (struct ceni_seen){entry, value};
    }
    return true;
}

/* The number of entries to copy, and their shelf; NULL: all shelves. */
static size_t count_locked(cen_registry *registry, const cen_listening *listening, ceni_shelf **shelf)
{
    *shelf = listening->to_all ? NULL : ceni_keys_find(registry, listening->key, listening->hash);
    if (listening->to_all) return registry->stats.entries;
    return *shelf ? ceni_shelf_count(*shelf) : 0;
}

/* Copy the present entries. OK: the lock is held, and nothing has changed since the copy. */
static cen_status see_and_lock(cen_registry *registry, cen_listening *listening)
{
    for (;;) {
        ceni_shelf *shelf;
        ceni_registry_lock(registry);
        size_t count = count_locked(registry, listening, &shelf);
        if (count <= listening->seen_room) {
            if (shelf) see(listening, shelf);
            else if (listening->to_all) ceni_keys_each(registry, see, listening);
            return CEN_OK;
        }
        ceni_registry_unlock(registry);
        free_seen(listening);
        size_t room = count + count / 8;
        listening->seen = ceni_alloc(registry->allocator, room * sizeof *listening->seen, _Alignof(struct ceni_seen));
        if (!listening->seen) return CEN_NO_MEMORY;
        listening->seen_room = room;
    }
}

static cen_status begin(cen_registry *registry, cen_listening *listening, cen_listening **out)
{
    ceni_tales untold = {.first = NULL};
    cen_status status = see_and_lock(registry, listening);
    if (status != CEN_OK) return status;
    if (ceni_planted(registry_listen_misses_a_change)) {
        ceni_registry_unlock(registry);
        ceni_registry_lock(registry);
    }
    if (registry->closed) {
        status = CEN_CLOSED;
    } else {
        *out = listening; /* the listener may need it at once */
        queue_locked(registry, &listening->begins);
        registry->stats.listeners++;
    }
    ceni_tell_and_unlock(registry, &untold);
    return status;
}

cen_status cen_registry_listen(cen_registry *registry, const cen_key *key, cen_registry_listener listener,
                               void *argument, cen_listening **out, cen_error *error)
{
    if (!registry || !listener || !out || (key && !ceni_key_is_valid(*key)))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_registry_listen: %s",
                              !registry   ? "registry is NULL"
                              : !listener ? "listener is NULL"
                              : !out      ? "out is NULL"
                                          : "key is not valid");
    if (!ceni_fork_is(registry->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "cen_registry_listen: the registry belongs to the parent process");
    cen_listening *listening = make_listening(registry, key, listener, argument);
    if (!listening) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_registry_listen: out of memory");
    cen_status status = begin(registry, listening, out);
    if (status == CEN_OK) return CEN_OK;
    free_listening(listening);
    return ceni_error_set(error, status, 0, "registry \"%s\": cannot listen: %s", registry->name,
                          cen_status_text(status));
}

cen_status ceni_listen_first(cen_registry *registry, cen_registry_listener listener, void *argument)
{
    if (!listener) return CEN_OK;
    cen_listening *listening = make_listening(registry, NULL, listener, argument);
    if (!listening) return CEN_NO_MEMORY;
    ceni_list_push_back(&registry->listenings, &listening->link);
    registry->stats.listeners++;
    return CEN_OK;
}

void ceni_listen_undo(cen_registry *registry)
{
    for (ceni_list *link; (link = ceni_list_first(&registry->listenings)) != NULL;) {
        ceni_list_remove(link);
        free_listening(CENI_LIST_ENTRY(link, cen_listening, link));
    }
}

/* Wait until its listener is not being called. The lock is held before and afterwards. */
static void await_locked(cen_registry *registry, const cen_listening *listening)
{
    while (registry->told == listening) {
        /* changed under the lock, which is held; carries nothing */
        uint32_t turns = ceni_load_relaxed(&registry->turns);
        ceni_registry_unlock(registry);
        ceni_futex_wait(&registry->turns, turns, CENI_FOREVER);
        ceni_registry_lock(registry);
    }
}

/* From here on its listener is not called. True: the calling thread is in that listener. */
static bool end_locked(cen_registry *registry, cen_listening *listening)
{
    if (registry->next == listening) registry->next = after(registry, &listening->link); /* T4 */
    ceni_list_remove(&listening->link);
    listening->ended = true;
    registry->stats.listeners--;
    return registry->told == listening && ceni_tell_is_inside_locked(registry);
}

cen_status cen_registry_unlisten(cen_listening *listening)
{
    if (!listening) return CEN_OK;
    cen_registry *registry = listening->registry;
    if (!ceni_fork_is(registry->epoch)) return CEN_FORKED;
    ceni_registry_lock(registry);
    /* A wait in a read section may be a deadlock: the listener may wait for a thread that waits for the section to
     * end. */
    if (ceni_read_is_open() && !ceni_tell_is_inside_locked(registry)) {
        ceni_registry_unlock(registry);
        return CEN_MISUSE;
    }
    bool has_begun = ceni_list_linked(&listening->link), inside = end_locked(registry, listening);
    listening->ended_inside = inside;
    if (!inside && !ceni_planted(registry_unlisten_does_not_wait)) await_locked(registry, listening);
    ceni_registry_unlock(registry);
    /* Otherwise the teller frees it: after the call, or when its turn in the queue comes. */
    if (has_begun && !inside) free_listening(listening);
    return CEN_OK;
}

/* ---- The end
 * ------------------------------------------------------------------------------------------------------ */

void ceni_tell_end(cen_registry *registry)
{
    ceni_registry_lock(registry);
    while (registry->telling) {
        /* changed under the lock, which is held; carries nothing */
        uint32_t turns = ceni_load_relaxed(&registry->turns);
        ceni_registry_unlock(registry);
        ceni_futex_wait(&registry->turns, turns, CENI_FOREVER);
        ceni_registry_lock(registry);
    }
    registry->telling = true;
    registry->teller = ceni_thread_id();
    const cen_registered change = {.change = CEN_REGISTRY_ENDS, .registry = registry};
    for (ceni_list *link; (link = ceni_list_first(&registry->listenings)) != NULL;) {
        cen_listening *listening = CENI_LIST_ENTRY(link, cen_listening, link);
        bool lives = call_locked(registry, listening, &change);
        if (!lives) continue;
        ceni_list_remove(link);
        ceni_registry_unlock(registry);
        free_listening(listening);
        ceni_registry_lock(registry);
    }
    registry->telling = false;
    ceni_registry_unlock(registry);
}
