/* SPDX-License-Identifier: MIT */
/*
 * The public queue: checks arguments, creates and frees queues, and calls the form that does the work.
 *
 * Order table
 * [Q1] source     | load of shut     | acquire | Q2 | nothing but the mark | nothing alone: only the mark is read, and a pop that races with close may come first
 * [Q2] close      | exchange of shut | seq_cst | Q1 Q3, W1 in waitlist.c | the mark, before all waiters are sent away | nothing alone: the lock orders close and join
 * [Q3] is closed? | load of shut     | seq_cst | Q2, W1 in waitlist.c | that it was open after the list was joined | the same
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "port/deadline.h"
#include "port/port.h"
#include "record/events.h"
#include "sync/backoff.h"
#include "sync/queue_internal.h"

enum {
    DEFAULT_CAPACITY = 1024,
    MOST_CAPACITY = 1 << 24,
    MOST_ELEMENT = 1 << 20,
    DROP_ALIGN = 16, /* alignment of an element that is passed to drop; enough for any type */
};

/* ---- Life ---------------------------------------------------------------------- */

static cen_status check_options(const cen_queue_options *given, cen_queue_options *o, cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_queue_new: options", error);
    if (status != CEN_OK) return status;
    if (o->element_size == 0 || o->element_size > MOST_ELEMENT)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_queue_new: options.element_size must be 1 to %d (got %zu)",
                              MOST_ELEMENT, o->element_size);
    if ((unsigned)o->kind > CEN_QUEUE_RENDEZVOUS)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_queue_new: options.kind must be a cen_queue_kind (got %d)",
                              (int)o->kind);
    if (o->kind != CEN_QUEUE_BOUNDED && o->capacity)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_queue_new: options.capacity is for a bounded queue only");
    if (o->capacity > MOST_CAPACITY)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_queue_new: options.capacity must be 1 to %d (got %zu)",
                              MOST_CAPACITY, o->capacity);
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_queue_new: options.allocator lacks alloc or free");
    return CEN_OK;
}

static void init_lists(cen_queue *queue)
{
    /* The two sides of a rendezvous share one lock. */
    bool one_lock = queue->form == CENI_FORM_MEET;
    ceni_waitlist_init(&queue->pushes, NULL, NULL);
    ceni_waitlist_init(&queue->pops, one_lock ? queue->pushes.mutex : NULL, NULL);
}

static cen_queue *make(const cen_allocator *allocator, ceni_queue_form form, size_t element_size, const char *name)
{
    cen_queue *queue = ceni_alloc(allocator, sizeof *queue, CENI_CACHE_LINE);
    if (!queue) return NULL;
    queue->form = form;
    queue->element_size = element_size;
    queue->allocator = allocator;
    queue->default_deadline = CEN_NEVER;
    snprintf(queue->name, sizeof queue->name, "%s", name);
    init_lists(queue);
    return queue;
}

static size_t snapshot(const void *object, cen_metric *metrics, size_t room)
{
    const cen_queue *queue = object;
    const cen_metric all[] = {
        {"length", (int64_t)cen_queue_length(queue), CEN_GAUGE},
        {"pushes_waiting", ceni_waitlist_count(&queue->pushes), CEN_GAUGE},
        {"pops_waiting", ceni_waitlist_count(&queue->pops), CEN_GAUGE},
        {"closed", cen_queue_is_closed(queue), CEN_GAUGE},
        {"capacity", (int64_t)cen_queue_capacity(queue), CEN_GAUGE}, /* last: only a bounded queue has it */
    };
    size_t count = sizeof all / sizeof all[0] - (queue->form != CENI_FORM_RING);
    for (size_t i = 0; i < room && i < count; i++) metrics[i] = all[i];
    return count;
}

static void describe_queue(const void *object, const cen_description_writer *description, size_t most)
{
    static const char *const forms[] = {"bounded", "unbounded", "rendezvous", "source"};
    const cen_queue *queue = object;
    void *to = description->argument;
    (void)most; /* a queue describes no lists: the records of waiters are on their stacks */
    description->text(to, "form", forms[queue->form]);
    description->number(to, "element_size", (int64_t)queue->element_size);
    if (queue->form == CENI_FORM_RING) description->number(to, "capacity", (int64_t)queue->ring.capacity);
    description->number(to, "length", (int64_t)cen_queue_length(queue));
    description->number(to, "pushes_waiting", ceni_waitlist_count(&queue->pushes));
    description->number(to, "pops_waiting", ceni_waitlist_count(&queue->pops));
    description->truth(to, "closed", cen_queue_is_closed(queue));
}

static const ceni_component_calls calls = {.description = describe_queue};

static void enter_directory(cen_queue *queue)
{
    queue->entry = (ceni_directory_entry){
        .kind = "queue", .name = queue->name, .snapshot = snapshot, .object = queue, .calls = &calls};
    ceni_directory_join(ceni_directory_process(), &queue->entry);
}

/* The part of a queue that depends on its form. */
static cen_status init_form(cen_queue *queue, const cen_queue_options *o)
{
    if (queue->form == CENI_FORM_BLOCKS) return ceni_queue_blocks_init(&queue->blocks, o->allocator, o->element_size);
    if (queue->form == CENI_FORM_MEET) return CEN_OK;
    size_t capacity = o->capacity ? o->capacity : DEFAULT_CAPACITY;
    return ceni_queue_ring_init(&queue->ring, o->allocator, o->element_size, capacity);
}

/* Free must not allocate, so the room for the element that drop receives is allocated now. */
static cen_status init_drop(cen_queue *queue, const cen_queue_options *o)
{
    queue->drop = o->drop;
    queue->drop_argument = o->drop_argument;
    if (o->drop) queue->drop_room = ceni_alloc(o->allocator, o->element_size, DROP_ALIGN);
    return o->drop && !queue->drop_room ? CEN_NO_MEMORY : CEN_OK;
}

cen_status cen_queue_new(const cen_queue_options *options, cen_queue **out, cen_error *error)
{
    cen_queue_options known;
    const cen_queue_options *o = &known;
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_queue_new: out is NULL");
    cen_status status = check_options(options, &known, error);
    if (status != CEN_OK) return status;
    static const ceni_queue_form forms[] = {CENI_FORM_RING, CENI_FORM_BLOCKS, CENI_FORM_MEET};
    const char *name = o->name ? o->name : "queue";
    cen_queue *queue = make(o->allocator, forms[o->kind], o->element_size, name);
    if (!queue) goto no_memory;
    queue->default_deadline = ceni_deadline_or(o->default_deadline, CEN_NEVER);
    if (init_drop(queue, o) != CEN_OK) goto undo_queue;
    if (init_form(queue, o) != CEN_OK) goto undo_drop;
    enter_directory(queue);
    *out = queue;
    return CEN_OK;

undo_drop:
    ceni_free(o->allocator, queue->drop_room, o->element_size, DROP_ALIGN);
undo_queue:
    ceni_free(o->allocator, queue, sizeof *queue, CENI_CACHE_LINE);
no_memory:
    return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_queue_new: out of memory for queue \"%s\"", name);
}

static cen_status make_source(const char *name, int64_t first, int64_t period, cen_queue **out, cen_error *error)
{
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_queue_%s: out is NULL", name);
    cen_queue *queue = make(NULL, CENI_FORM_SOURCE, sizeof(int64_t), name);
    if (!queue) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_queue_%s: out of memory", name);
    queue->source.period = period;
    ceni_store_relaxed(&queue->source.next, first); /* no other thread knows of it yet */
    enter_directory(queue);
    *out = queue;
    return CEN_OK;
}

cen_status cen_queue_after(cen_deadline deadline, cen_queue **out, cen_error *error)
{
    int64_t now = ceni_clock_now(), moment = ceni_deadline_moment(deadline, now);
    return make_source("after", moment ? moment : now, 0, out, error);
}

cen_status cen_queue_tick(int64_t period_ns, cen_queue **out, cen_error *error)
{
    if (period_ns <= 0)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_queue_tick: period_ns must be positive (got %lld)",
                              (long long)period_ns);
    return make_source("tick", ceni_deadline_moment(cen_in_ns(period_ns), ceni_clock_now()), period_ns, out, error);
}

cen_status cen_queue_never(cen_queue **out, cen_error *error)
{
    return make_source("never", CENI_FOREVER, 0, out, error);
}

/* A pop that wakes no waiter: in a forked child a wait list may be locked by a thread that the child does not have. */
static bool pop_silently(cen_queue *queue, void *element)
{
    if (queue->form == CENI_FORM_RING) return ceni_queue_ring_pop(&queue->ring, element) == CENI_DONE;
    return queue->form == CENI_FORM_BLOCKS && ceni_queue_blocks_pop(&queue->blocks, element) == CENI_DONE;
}

/* Pass the remaining elements to the program's drop. */
static void drop_rest(cen_queue *queue)
{
    if (!queue->drop) return;
    ceni_rank_expect_none("drop, from the freeing of a queue");
    while (pop_silently(queue, queue->drop_room)) queue->drop(queue->drop_argument, queue->drop_room);
    ceni_free(queue->allocator, queue->drop_room, queue->element_size, DROP_ALIGN);
}

void cen_queue_free(cen_queue *queue)
{
    if (!queue) return;
    ceni_directory_leave(ceni_directory_process(), &queue->entry);
    drop_rest(queue);
    if (queue->form == CENI_FORM_RING) ceni_queue_ring_fini(&queue->ring, queue->allocator);
    if (queue->form == CENI_FORM_BLOCKS) ceni_queue_blocks_fini(&queue->blocks);
    ceni_free(queue->allocator, queue, sizeof *queue, CENI_CACHE_LINE);
}

/* ---- One attempt ------------------------------------------------------------------- */

static ceni_attempt source_attempt(cen_queue *queue, void *element)
{
    if (ceni_load_acquire(&queue->shut)) return CENI_SHUT; /* [Q1] */
    return ceni_source_pop(&queue->source, ceni_clock_now(), element);
}

static ceni_attempt push_once(cen_queue *queue, const void *element)
{
    ceni_attempt result;
    if (queue->form == CENI_FORM_RING) result = ceni_queue_ring_push(&queue->ring, element);
    else if (queue->form == CENI_FORM_BLOCKS) result = ceni_queue_blocks_push(&queue->blocks, element);
    else return ceni_meet_attempt(queue, CEN_PUSH, (void *)(uintptr_t)element);
    if (result == CENI_DONE && !ceni_planted(push_tells_nobody)) ceni_waitlist_nudge(&queue->pops);
    return result;
}

static ceni_attempt pop_once(cen_queue *queue, void *element)
{
    ceni_attempt result;
    if (queue->form == CENI_FORM_RING) {
        result = ceni_queue_ring_pop(&queue->ring, element);
        if (result == CENI_DONE && !ceni_planted(pop_tells_nobody)) ceni_waitlist_nudge(&queue->pushes);
        return result;
    }
    if (queue->form == CENI_FORM_BLOCKS) return ceni_queue_blocks_pop(&queue->blocks, element);
    if (queue->form == CENI_FORM_MEET) return ceni_meet_attempt(queue, CEN_POP, element);
    return source_attempt(queue, element);
}

ceni_attempt ceni_queue_attempt(cen_queue *queue, cen_direction direction, void *element)
{
    return direction == CEN_PUSH ? push_once(queue, element) : pop_once(queue, element);
}

bool ceni_queue_may(const cen_queue *queue, cen_direction direction)
{
    switch (queue->form) {
    case CENI_FORM_RING:
        return direction == CEN_PUSH ? ceni_queue_ring_may_push(&queue->ring) : ceni_queue_ring_may_pop(&queue->ring);
    case CENI_FORM_BLOCKS: return direction == CEN_PUSH || ceni_queue_blocks_may_pop(&queue->blocks);
    case CENI_FORM_MEET: return ceni_meet_may(queue, direction);
    case CENI_FORM_SOURCE: break;
    }
    return cen_queue_is_closed(queue) || ceni_source_next(&queue->source) <= ceni_clock_now();
}

/* ---- Push and pop -------------------------------------------------------------------- */

static bool may_push(const cen_queue *queue, const void *element)
{
    return queue && element && queue->form != CENI_FORM_SOURCE;
}

static cen_status status_of(ceni_attempt attempt, cen_status blocked)
{
    switch (attempt) {
    case CENI_DONE: return CEN_OK;
    case CENI_SHUT: return CEN_CLOSED;
    case CENI_STARVED: return CEN_NO_MEMORY;
    case CENI_BLOCKED:
    case CENI_IN_BETWEEN: break;
    }
    return blocked;
}

cen_status cen_queue_try_push(cen_queue *queue, const void *element)
{
    if (!may_push(queue, element)) return CEN_INVALID;
    return status_of(push_once(queue, element), CEN_FULL);
}

cen_status cen_queue_try_pop(cen_queue *queue, void *element)
{
    if (!queue || !element) return CEN_INVALID;
    return status_of(pop_once(queue, element), CEN_EMPTY);
}

static bool undecided(ceni_attempt attempt)
{
    return attempt == CENI_BLOCKED || attempt == CENI_IN_BETWEEN;
}

cen_status cen_queue_push_until(cen_queue *queue, const void *element, cen_deadline deadline)
{
    if (!may_push(queue, element)) return CEN_INVALID;
    ceni_attempt attempt = push_once(queue, element);
    if (__builtin_expect(!undecided(attempt), 1)) return status_of(attempt, CEN_TIMEOUT);
    cen_case only = cen_case_push(queue, element);
    size_t which;
    return ceni_wait_for_any(&only, 1, ceni_deadline_or(deadline, queue->default_deadline), false, NULL, &which);
}

cen_status cen_queue_pop_until(cen_queue *queue, cen_deadline deadline, void *element)
{
    if (!queue || !element) return CEN_INVALID;
    ceni_attempt attempt = pop_once(queue, element);
    if (__builtin_expect(!undecided(attempt), 1)) return status_of(attempt, CEN_TIMEOUT);
    cen_case only = cen_case_pop(queue, element);
    size_t which;
    return ceni_wait_for_any(&only, 1, ceni_deadline_or(deadline, queue->default_deadline), false, NULL, &which);
}

cen_status cen_queue_push(cen_queue *queue, const void *element)
{
    return cen_queue_push_until(queue, element, CEN_DEADLINE_(0));
}

cen_status cen_queue_pop(cen_queue *queue, void *element)
{
    return cen_queue_pop_until(queue, CEN_DEADLINE_(0), element);
}

cen_status cen_queue_force_push(cen_queue *queue, const void *element, void *evicted, bool *out)
{
    if (!may_push(queue, element) || !evicted || !out || queue->form == CENI_FORM_MEET) return CEN_INVALID;
    *out = false;
    if (queue->form == CENI_FORM_BLOCKS) return status_of(push_once(queue, element), CEN_FULL);
    ceni_backoff backoff = {0};
    ceni_attempt attempt;
    while (undecided(attempt = ceni_queue_ring_force(&queue->ring, element, evicted, out))) ceni_backoff_wait(&backoff);
    if (attempt == CENI_DONE) ceni_waitlist_nudge(&queue->pops);
    return status_of(attempt, CEN_FULL);
}

/* ---- Close and queries ------------------------------------------------------------------- */

static bool shut_under_lock(cen_queue *queue)
{
    ceni_waitlist_lock(&queue->pushes);
    bool first = !ceni_exchange_seq_cst(&queue->shut, 1); /* [Q2] */
    ceni_waitlist_unlock(&queue->pushes);
    return first;
}

cen_status cen_queue_close(cen_queue *queue)
{
    if (!queue) return CEN_INVALID;
    bool first;
    if (queue->form == CENI_FORM_RING) first = ceni_queue_ring_close(&queue->ring);
    else if (queue->form == CENI_FORM_BLOCKS) first = ceni_queue_blocks_close(&queue->blocks);
    else first = shut_under_lock(queue);
    if (!first) return CEN_CLOSED;
    ceni_event_tell(CEN_LEVEL_DETAIL, CEN_EVENT_CLOSED, &queue->entry, 0, NULL);
    if (ceni_planted(close_calls_nobody)) return CEN_OK;
    ceni_waitlist_send_away(&queue->pushes);
    ceni_waitlist_send_away(&queue->pops);
    return CEN_OK;
}

bool cen_queue_is_closed(const cen_queue *queue)
{
    if (!queue) return true;
    if (queue->form == CENI_FORM_RING) return ceni_queue_ring_closed(&queue->ring);
    if (queue->form == CENI_FORM_BLOCKS) return ceni_queue_blocks_closed(&queue->blocks);
    return ceni_load_seq_cst(&((cen_queue *)(uintptr_t)queue)->shut); /* [Q3] */
}

size_t cen_queue_length(const cen_queue *queue)
{
    if (!queue) return 0;
    if (queue->form == CENI_FORM_RING) return ceni_queue_ring_length(&queue->ring);
    if (queue->form == CENI_FORM_BLOCKS) return ceni_queue_blocks_length(&queue->blocks);
    if (queue->form == CENI_FORM_MEET) return 0;
    return !cen_queue_is_closed(queue) && ceni_source_next(&queue->source) <= ceni_clock_now();
}

size_t cen_queue_capacity(const cen_queue *queue)
{
    if (!queue) return 0;
    if (queue->form == CENI_FORM_RING) return queue->ring.capacity;
    if (queue->form == CENI_FORM_BLOCKS) return SIZE_MAX;
    return queue->form == CENI_FORM_SOURCE;
}

size_t cen_queue_element_size(const cen_queue *queue)
{
    return queue ? queue->element_size : 0;
}

const char *cen_queue_name(const cen_queue *queue)
{
    return queue ? queue->name : "";
}
