/* SPDX-License-Identifier: MIT */
/*
 * Watches of descriptors and deadlines, and the calls of their `ready`.
 *
 *     watch ▶ watched ─ ready, or due ▶ running ▶ the caller's again
 *                └──── unwatch ─────────────────▶ the caller's again
 *
 * Invariants
 *  P1 A watch is in `table`, at its descriptor, and, if it has a deadline, in `due`, exactly while watched_ is set. All
 *     three change together under the mutex. So exactly one of ready, deadline and unwatch gets the watch.
 *  P2 An event of the system has a descriptor and a number. It belongs to the watch in the table only if the numbers
 *     are equal. An event that was fetched before an unwatch finds another number there, or no watch.
 *  P3 `running` is the watch whose ready is being called. It is compared, never followed, because that memory may be
 *     gone. `turns` counts the ends of such calls, so that a thread that waits for one end does not wait for the next
 *     call too.
 *  P4 The timer is set no later than the first of `due`, and than `alarm`, the moment of a pollable that nests in this
 *     poller. After an unwatch it may be earlier: then it fires without a deadline, and is set again.
 *
 * The mutex orders everything. The futex word is only for sleeping.
 *
 * Tested by tests/unit/poller/poller_test.c; what nests in it by tests/unit/pollable and tests/explore/pollable_test.c.
 */
#include <cenote/poller.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/plant.h"
#include "poller/nest.h"
#include "poller/ready.h"
#include "port/deadline.h"
#include "port/mutex.h"
#include "port/port.h"
#include "port/process_exit.h"
#include "record/directory.h"

enum { NAME = 16, LEAST_PLACES = 64 };
#define MS INT64_C(1000000)

/* The table's entry for one descriptor. */
typedef struct place {
    cen_watch *watch; /* NULL: it is not watched */
    uint32_t number;  /* of its last watch */
    unsigned events;  /* the events that it waits for */
} place;

struct cen_poller {
    /* fixed */
    uint64_t epoch;
    const cen_allocator *allocator;
    char name[NAME];
    bool manual;
    ceni_thread thread;
    ceni_ready ready;
    ceni_directory_entry entry;
    /* under the mutex, of rank POLLER */
    ceni_mutex mutex;
    place *table; /* by descriptor */
    size_t places;
    ceni_heap due; /* of cen_watch */
    uint32_t watched;
    uint32_t number; /* of the last watch */
    int64_t timer;   /* the moment for which it is set */
    int64_t alarm;   /* a second moment, set by a pollable; INT64_MAX: none */
    uint64_t told;   /* calls of `ready` so far */
    uint64_t poller; /* the thread that polls; 0: none */
    const cen_watch *running;
    bool ends;
    _Atomic uint32_t turns; /* a futex; written under the mutex */
};

_Static_assert(sizeof(((cen_watch *)0)->node_) == sizeof(ceni_heap_node), "a watch has room for its place in the heap");

static void lock(cen_poller *poller)
{
    ceni_mutex_lock(&poller->mutex, CENI_RANK_POLLER);
}

static void unlock(cen_poller *poller)
{
    ceni_mutex_unlock(&poller->mutex, CENI_RANK_POLLER);
}

static ceni_heap_node *node_of(cen_watch *watch)
{
    return (ceni_heap_node *)(void *)&watch->node_;
}

static cen_watch *watch_of(ceni_heap_node *node)
{
    return (cen_watch *)(void *)((char *)node - offsetof(cen_watch, node_));
}

/* ---- Watching ------------------------------------------------------------------------------------- */

/* The size of the larger table that `fd` needs; 0: the table is large enough. */
static size_t places_for(const cen_poller *poller, int fd)
{
    size_t wanted = (size_t)(fd + 1), places = poller->places ? poller->places : LEAST_PLACES;
    if (wanted <= poller->places) return 0;
    while (places < wanted) places *= 2;
    return places;
}

static void free_table(const cen_poller *poller, place *table, size_t places)
{
    ceni_free(poller->allocator, table, places * sizeof *table, _Alignof(place));
}

/* Use the new table if it is larger. Leave the one that is not in use in *table and *places. */
static void use_table_locked(cen_poller *poller, place **table, size_t *places)
{
    place *old = poller->table;
    size_t had = poller->places;
    if (!*table || *places <= had) return;
    if (had) memcpy(*table, old, had * sizeof *old);
    poller->table = *table;
    poller->places = *places;
    *table = old;
    *places = had;
}

/* Make room for one more watch. The mutex is held before and afterwards. It is dropped around the allocator, which is
 * the program's, so the loop looks again afterwards. */
static cen_status make_room_locked(cen_poller *poller, int fd)
{
    cen_status status = CEN_OK;
    while (status == CEN_OK) {
        ceni_heap_room room;
        size_t places = places_for(poller, fd);
        status = ceni_heap_room_for(&poller->due, poller->due.count + 1, &room);
        if (status != CEN_OK || (places == 0 && room.count == 0)) break;
        unlock(poller);
        place *table = places ? ceni_alloc(poller->allocator, places * sizeof *table, _Alignof(place)) : NULL;
        status = places && !table ? CEN_NO_MEMORY : ceni_heap_room_alloc(&poller->due, &room);
        lock(poller);
        use_table_locked(poller, &table, &places);
        ceni_heap_room_use(&poller->due, &room);
        unlock(poller);
        free_table(poller, table, table ? places : 0);
        if (room.nodes) ceni_heap_room_free(&poller->due, &room);
        lock(poller);
    }
    return status;
}

static void set_timer_locked(cen_poller *poller)
{
    const ceni_heap_node *first = ceni_heap_first(&poller->due);
    int64_t moment = first && first->key < poller->alarm ? first->key : poller->alarm;
    if (moment >= poller->timer) return;
    poller->timer = moment;
    ceni_ready_at(&poller->ready, moment);
}

static cen_status arm_locked(cen_poller *poller, cen_watch *watch, int fd, unsigned events)
{
    if (fd < 0) return CEN_OK;
    place *here = &poller->table[fd];
    if (here->watch) return CEN_EXISTS;
    cen_status status = ceni_ready_arm(&poller->ready, fd, events, poller->number + 1);
    if (status != CEN_OK) return status;
    here->watch = watch;
    here->events = events & (CEN_READABLE | CEN_WRITABLE);
    here->number = ++poller->number;
    return CEN_OK;
}

static cen_status watch_locked(cen_poller *poller, cen_watch *watch, int fd, unsigned events, int64_t due)
{
    cen_status status = watch->watched_ ? CEN_MISUSE : make_room_locked(poller, fd);
    if (status == CEN_OK && watch->watched_) status = CEN_MISUSE; /* since the mutex was dropped */
    if (status == CEN_OK) status = arm_locked(poller, watch, fd, events);
    if (status != CEN_OK) return status;
    watch->fd_ = fd;
    watch->watched_ = 1;
    poller->watched++;
    *node_of(watch) = (ceni_heap_node){.key = due};
    if (due == INT64_MAX) return CEN_OK;
    (void)ceni_heap_push(&poller->due, node_of(watch)); /* there is room */
    set_timer_locked(poller);
    return CEN_OK;
}

/* Why a descriptor is not watched. */
static cen_status refuse(const cen_poller *poller, cen_status status, int fd, cen_error *error)
{
    const char *why = status == CEN_FORKED    ? "the poller belongs to the parent process"
                      : status == CEN_MISUSE  ? "the watch is in use; wait for its ready callback, or unwatch it"
                      : status == CEN_EXISTS  ? "another watch already watches it"
                      : status == CEN_INVALID ? "the system cannot watch it (a closed descriptor or a regular file)"
                                              : "out of memory";
    return ceni_error_set(error, status, 0, "poller \"%s\": descriptor %d: %s", poller->name, fd, why);
}

cen_status cen_poller_watch(cen_poller *poller, cen_watch *watch, int fd, unsigned events, cen_deadline deadline,
                            cen_error *error)
{
    bool only_time = fd == -1 && !events;
    bool something = fd >= 0 && (events & (CEN_READABLE | CEN_WRITABLE));
    if (!poller || !watch || !watch->ready || (!only_time && !something))
        return ceni_error_set(
            error, CEN_INVALID, 0, "cen_poller_watch: %s",
            !poller         ? "the poller is NULL"
            : !watch        ? "the watch is NULL"
            : !watch->ready ? "watch->ready is NULL"
                            : "events must include CEN_READABLE or CEN_WRITABLE; for a deadline alone, fd must be -1");
    if (!ceni_fork_is(poller->epoch)) return refuse(poller, CEN_FORKED, fd, error);
    int64_t due = ceni_deadline_moment(ceni_deadline_or(deadline, CEN_NEVER), ceni_clock_now());
    lock(poller);
    cen_status status = watch_locked(poller, watch, fd, events, due);
    unlock(poller);
    return status == CEN_OK ? status : refuse(poller, status, fd, error);
}

/* Take a watch out. The thread that does this owns it (P1). */
static void take_out_locked(cen_poller *poller, cen_watch *watch)
{
    if (watch->fd_ >= 0) poller->table[watch->fd_].watch = NULL;
    if (ceni_heap_holds(node_of(watch))) ceni_heap_remove(&poller->due, node_of(watch));
    watch->watched_ = 0;
    poller->watched--;
}

/* Wait until the running call of a ready has returned. The mutex is held before and afterwards. */
static void await_turn_locked(cen_poller *poller)
{
    uint32_t turn = ceni_load_relaxed(&poller->turns); /* under the lock; carries nothing */
    unlock(poller);
    /* What the call did is seen by the lock below; carries nothing. */
    while (ceni_load_relaxed(&poller->turns) == turn) ceni_futex_wait(&poller->turns, turn, CENI_FOREVER);
    lock(poller);
}

bool cen_poller_unwatch(cen_poller *poller, cen_watch *watch)
{
    if (!poller || !watch || !ceni_fork_is(poller->epoch)) return false;
    lock(poller);
    bool was = watch->watched_;
    if (was) {
        take_out_locked(poller, watch);
        if (watch->fd_ >= 0) ceni_ready_disarm(&poller->ready, watch->fd_);
    } else if (poller->running == watch && poller->poller != ceni_thread_id()) {
        await_turn_locked(poller);
    }
    unlock(poller);
    return was;
}

/* ---- Calling ready ----------------------------------------------------------------------------------- */

static void end_turn_locked(cen_poller *poller)
{
    ceni_add_relaxed(&poller->turns, 1u); /* under the lock; carries nothing */
    ceni_futex_wake(&poller->turns, UINT32_MAX);
}

/* Call a watch's ready. The mutex is held before and afterwards. */
static void tell_locked(cen_poller *poller, cen_watch *watch, unsigned events)
{
    take_out_locked(poller, watch);
    poller->running = watch;
    poller->told++;
    unlock(poller);
    ceni_rank_expect_none("a watch's ready");
    watch->ready(watch, events);
    lock(poller);
    poller->running = NULL;
    end_turn_locked(poller);
}

static uint32_t tell_ready_locked(cen_poller *poller, const ceni_ready_event *event)
{
    place *here = (size_t)event->fd < poller->places ? &poller->table[event->fd] : NULL;
    if (!here || !here->watch || here->number != event->number) return 0; /* P2 */
    /* At the end of a pipe the system reports no readability, though a read returns at once: add the events that were
     * wanted. */
    tell_locked(poller, here->watch, event->events & CEN_HUNG_UP ? event->events | here->events : event->events);
    return 1;
}

/* Call the watches whose deadline had passed at the start. A watch that its ready watches again waits for the next
 * turn. */
static uint32_t tell_due_locked(cen_poller *poller)
{
    int64_t now = ceni_clock_now();
    uint32_t count = 0;
    size_t most = poller->due.count;
    for (size_t i = 0; i < most; i++) {
        ceni_heap_node *first = ceni_heap_first(&poller->due);
        if (!first || first->key > now) break;
        cen_watch *watch = watch_of(first);
        if (watch->fd_ >= 0) ceni_ready_disarm(&poller->ready, watch->fd_);
        tell_locked(poller, watch, 0);
        count++;
    }
    return count;
}

/* The process exits: no ready is called from now on. The thread sleeps until the poller is freed, if it ever is. */
static void await_free(cen_poller *poller)
{
    lock(poller);
    while (!poller->ends) await_turn_locked(poller);
    unlock(poller);
}

/* One turn of the polling thread: ready watches, then those whose deadline has passed. *full: more may be ready. */
static uint32_t turn(cen_poller *poller, int milliseconds, bool *full)
{
    ceni_ready_event events[CENI_READY_AT_A_TIME];
    uint32_t count = 0;
    int ready = ceni_ready_wait(&poller->ready, events, milliseconds);
    *full = ready == CENI_READY_AT_A_TIME;
    uint64_t call = poller->manual ? 0 : ceni_exit_call_begin(); /* a manual poller's thread is the program's own */
    if (!call && !poller->manual) {
        await_free(poller);
        return 0;
    }
    lock(poller);
    for (int i = 0; i < ready; i++) {
        if (events[i].kind == CENI_READY_FD) count += tell_ready_locked(poller, &events[i]);
        else if (events[i].kind == CENI_READY_TIMER) poller->timer = poller->alarm = INT64_MAX;
    }
    count += tell_due_locked(poller);
    set_timer_locked(poller);
    unlock(poller);
    if (call) ceni_exit_call_end(call);
    return count;
}

static void run(void *argument)
{
    cen_poller *poller = argument;
    lock(poller);
    poller->poller = ceni_thread_id();
    while (!poller->ends) {
        unlock(poller);
        bool full;
        turn(poller, -1, &full);
        lock(poller);
    }
    unlock(poller);
}

int cen_poller_fd(const cen_poller *poller)
{
    return poller && poller->manual && ceni_fork_is(poller->epoch) ? poller->ready.all : -1;
}

/* The timeout for epoll_wait: whole milliseconds, rounded up. */
static int milliseconds_until(int64_t moment)
{
    if (moment == INT64_MAX) return -1;
    int64_t left = moment - ceni_clock_now();
    if (left <= 0) return 0;
    return left > INT32_MAX / 2 * MS ? INT32_MAX / 2 : (int)((left + MS - 1) / MS);
}

/* Become the polling thread. False: the poller is not manual, or another thread polls, or this one does. */
static bool begin(cen_poller *poller)
{
    lock(poller);
    bool refused = !poller->manual || poller->poller != 0;
    if (!refused) poller->poller = ceni_thread_id();
    unlock(poller);
    return !refused;
}

static void end(cen_poller *poller)
{
    lock(poller);
    poller->poller = 0;
    unlock(poller);
}

cen_status cen_poller_poll(cen_poller *poller, cen_deadline deadline, uint32_t *told, cen_error *error)
{
    if (told) *told = 0;
    if (!poller) return ceni_error_set(error, CEN_INVALID, 0, "cen_poller_poll: the poller is NULL");
    if (!ceni_fork_is(poller->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "poller \"%s\": it belongs to the parent process", poller->name);
    int64_t until = ceni_deadline_moment(ceni_deadline_or(deadline, CEN_NEVER), ceni_clock_now());
    if (!begin(poller))
        return ceni_error_set(error, CEN_MISUSE, 0, "poller \"%s\": %s", poller->name,
                              poller->manual ? "another thread is polling it, or this is one of its ready callbacks"
                                             : "it has its own thread; set options.manual to poll it");
    uint32_t count;
    int left;
    bool full;
    do {
        left = milliseconds_until(until);
        count = turn(poller, left, &full);
    } while (count == 0 && left != 0);
    end(poller);
    if (told) *told = count;
    if (count) return CEN_OK;
    return ceni_error_set(error, CEN_TIMEOUT, 0, "poller \"%s\": no watch became ready before the deadline",
                          poller->name);
}

/* ---- For a pollable ------------------------------------------------------------------------------ */

cen_status ceni_poller_nest(cen_poller *poller, int fd, int *code)
{
    return ceni_ready_nest(&poller->ready, fd, code);
}

void ceni_poller_set_alarm(cen_poller *poller, int64_t moment)
{
    lock(poller);
    poller->alarm = moment;
    set_timer_locked(poller);
    unlock(poller);
}

void ceni_poller_ring(cen_poller *poller)
{
    ceni_ready_ring(&poller->ready);
}

uint32_t ceni_poller_turn(cen_poller *poller, bool *more)
{
    *more = true;
    if (!begin(poller)) return 0;
    uint32_t count = turn(poller, 0, more);
    end(poller);
    return count;
}

int64_t ceni_poller_next(cen_poller *poller)
{
    lock(poller);
    const ceni_heap_node *first = ceni_heap_first(&poller->due);
    int64_t moment = first ? first->key : INT64_MAX;
    unlock(poller);
    return moment;
}

uint32_t ceni_poller_watched(cen_poller *poller)
{
    lock(poller);
    uint32_t watched = poller->watched;
    unlock(poller);
    return watched;
}

/* ---- Life cycle --------------------------------------------------------------------------------------- */

static size_t snapshot(const void *object, cen_metric *metrics, size_t room)
{
    cen_poller *poller = (cen_poller *)(uintptr_t)object;
    lock(poller);
    cen_metric all[] = {
        {"watched", poller->watched, CEN_GAUGE},
        {"deadlines", (int64_t)poller->due.count, CEN_GAUGE},
        {"told", (int64_t)poller->told, CEN_COUNTER},
    };
    unlock(poller);
    size_t count = sizeof all / sizeof all[0];
    for (size_t i = 0; i < room && i < count; i++) metrics[i] = all[i];
    return count;
}

/* A copy of a watch of a descriptor, so that no lock is held while it is written. */
typedef struct row {
    int fd;
    unsigned events;
    int64_t due; /* INT64_MAX: no deadline */
} row;

static size_t copy_locked(const cen_poller *poller, row *rows, size_t room)
{
    size_t count = 0;
    for (size_t fd = 0; fd < poller->places && count < room; fd++) {
        const place *here = &poller->table[fd];
        if (here->watch) rows[count++] = (row){(int)fd, here->events, node_of(here->watch)->key};
    }
    return count;
}

static void write_row(const cen_description_writer *description, const row *self, int64_t now)
{
    static const char *const events[] = {"nothing", "readable", "writable", "readable or writable"};
    void *to = description->argument;
    description->item(to);
    description->number(to, "fd", self->fd);
    description->text(to, "for", events[(self->events & CEN_READABLE ? 1 : 0) + (self->events & CEN_WRITABLE ? 2 : 0)]);
    if (self->due != INT64_MAX) description->number(to, "deadline_in_ns", self->due - now);
    description->end(to);
}

static void describe_poller(const void *object, const cen_description_writer *description, size_t most)
{
    cen_poller *poller = (cen_poller *)(uintptr_t)object;
    void *to = description->argument;
    lock(poller);
    size_t watched = poller->watched;
    unlock(poller);
    size_t room = watched < most ? watched : most, count = 0, bytes = room * sizeof(row);
    row *rows = room > 0 ? ceni_alloc(poller->allocator, bytes, _Alignof(row)) : NULL;
    lock(poller);
    if (rows) count = copy_locked(poller, rows, room);
    watched = poller->watched;
    size_t timers = watched;
    for (size_t fd = 0; fd < poller->places; fd++) timers -= poller->table[fd].watch != NULL;
    unlock(poller);
    int64_t now = ceni_clock_now();
    description->truth(to, "manual", poller->manual);
    description->number(to, "timers", (int64_t)timers);
    description->list(to, "watches");
    for (size_t i = 0; i < count; i++) write_row(description, &rows[i], now);
    description->end(to);
    if (watched - timers > count) description->number(to, "watches_more", (int64_t)(watched - timers - count));
    if (rows) ceni_free(poller->allocator, rows, bytes, _Alignof(row));
}

static const ceni_component_calls calls = {.description = describe_poller};

static void release(cen_poller *poller)
{
    ceni_ready_close(&poller->ready);
    ceni_heap_fini(&poller->due);
    ceni_free(poller->allocator, poller->table, poller->places * sizeof *poller->table, _Alignof(place));
    ceni_free(poller->allocator, poller, sizeof *poller, _Alignof(cen_poller));
}

static cen_status check(const cen_poller_options *given, cen_poller_options *o, cen_poller **out, cen_error *error)
{
    *o = CEN_SIZED(cen_poller_options);
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_poller_new: out is NULL");
    cen_status status = given ? cen_sized_read(o, sizeof *o, given, "cen_poller_new: options", error) : CEN_OK;
    if (status != CEN_OK) return status;
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_poller_new: options.allocator lacks alloc or free");
    return CEN_OK;
}

cen_status cen_poller_new(const cen_poller_options *options, cen_poller **out, cen_error *error)
{
    cen_poller_options known;
    const cen_poller_options *o = &known;
    int code = 0;
    cen_status status = check(options, &known, out, error);
    if (status != CEN_OK) return status;
    cen_poller *poller = ceni_alloc(o->allocator, sizeof *poller, _Alignof(cen_poller));
    if (!poller) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_poller_new: out of memory");
    poller->epoch = ceni_fork_epoch();
    poller->allocator = o->allocator;
    poller->manual = o->manual;
    poller->timer = poller->alarm = INT64_MAX;
    ceni_heap_init(&poller->due, o->allocator);
    snprintf(poller->name, sizeof poller->name, "%s", o->name ? o->name : "cenote:poller");
    status = ceni_ready_open(&poller->ready, &code);
    if (status == CEN_OK && !o->manual) status = ceni_thread_start(&poller->thread, poller->name, run, poller, &code);
    if (status != CEN_OK) {
        release(poller);
        return ceni_error_set(error, status, code,
                              "cen_poller_new: cannot create a descriptor or start a thread (errno %d)", code);
    }
    poller->entry = (ceni_directory_entry){
        .kind = "poller", .name = poller->name, .snapshot = snapshot, .object = poller, .calls = &calls};
    ceni_directory_join(ceni_directory_process(), &poller->entry);
    *out = poller;
    return CEN_OK;
}

/* A running ready may watch again, so whether a watch is left is known only after it has returned. */
cen_status cen_poller_free(cen_poller *poller)
{
    if (!poller) return CEN_OK;
    if (!ceni_fork_is(poller->epoch)) {
        release(poller);
        return CEN_OK;
    }
    lock(poller);
    bool inside = poller->poller == ceni_thread_id();
    while (!inside && !poller->manual && poller->running && !ceni_planted(poller_freed_under_ready))
        await_turn_locked(poller);
    bool busy = poller->watched > 0 || (poller->manual && poller->poller);
    if (!inside && !busy) {
        poller->ends = true;
        end_turn_locked(poller); /* the thread may be asleep in await_free */
    }
    unlock(poller);
    if (inside || busy) return inside ? CEN_MISUSE : CEN_BUSY;
    ceni_directory_leave(ceni_directory_process(), &poller->entry);
    if (!poller->manual) {
        ceni_ready_ring(&poller->ready);
        ceni_thread_join(&poller->thread);
    }
    release(poller);
    return CEN_OK;
}
