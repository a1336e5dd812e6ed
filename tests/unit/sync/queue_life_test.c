/* SPDX-License-Identifier: MIT */
/* Making and freeing queues: options, memory, what becomes of leftovers. */
#include <stdlib.h>

#include "base/fault.h"
#include "record/directory.h"
#include "sync/queue_internal.h"
#include "unit/sync/queues.h"

/* ---- Options ------------------------------------------------------------------ */

static void expect_bad(cen_queue_options options, const char *field)
{
    cen_queue *const untouched = (cen_queue *)(uintptr_t)16;
    cen_queue *queue = untouched;
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_queue_new(&options, &queue, &error), CEN_INVALID);
    expect_equal(error.status, CEN_INVALID);
    if (!strstr(error.text, field)) test_fail(__FILE__, __LINE__, "\"%s\" does not name %s", error.text, field);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_INVALID);
    expect(queue == untouched);
    expect_equal(ceni_world_allocations(), 0);
}

static void *no_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    (void)size;
    (void)align;
    return NULL;
}

static void no_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument;
    (void)memory;
    (void)size;
    (void)align;
}

/* guarantees: queue.options */
TEST(each_bad_option_is_refused_by_its_name)
{
    static const cen_allocator cannot_free = {.alloc = no_alloc}, cannot_alloc = {.free = no_free};
    expect_bad((cen_queue_options){.size = 0, .element_size = 4}, "size");
    expect_bad((cen_queue_options){.size = CEN_SIZED_MAX + 1, .element_size = 4}, "size");
    expect_bad(CEN_QUEUE_OPTIONS(.capacity = 1), "element_size");
    expect_bad(CEN_QUEUE_OPTIONS(.element_size = (1 << 20) + 1), "element_size");
    expect_bad(CEN_QUEUE_OPTIONS(.element_size = SIZE_MAX), "element_size");
    expect_bad(CEN_QUEUE_OPTIONS(.element_size = 4, .kind = (cen_queue_kind)3), "kind");
    expect_bad(CEN_QUEUE_OPTIONS(.element_size = 4, .kind = (cen_queue_kind)-1), "kind");
    expect_bad(CEN_QUEUE_OPTIONS(.element_size = 4, .capacity = (1 << 24) + 1), "capacity");
    expect_bad(CEN_QUEUE_OPTIONS(.element_size = 4, .capacity = SIZE_MAX), "capacity");
    for (int k = 1; k < 3; k++)
        expect_bad(CEN_QUEUE_OPTIONS(.element_size = 4, .kind = all_kinds[k], .capacity = 1), "capacity");
    expect_bad(CEN_QUEUE_OPTIONS(.element_size = 4, .allocator = &cannot_free), "allocator");
    expect_bad(CEN_QUEUE_OPTIONS(.element_size = 4, .allocator = &cannot_alloc), "allocator");
}

/* guarantees: queue.options */
TEST(new_needs_options_and_a_place_for_the_queue_but_no_place_for_the_error)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = 4);
    cen_queue *queue = NULL;
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_queue_new(NULL, &queue, &error), CEN_INVALID);
    expect(strstr(error.text, "options is NULL") && !queue);
    expect_equal(cen_queue_new(&options, NULL, &error), CEN_INVALID);
    expect(strstr(error.text, "out is NULL") != NULL);
    expect_equal(cen_queue_new(NULL, NULL, NULL), CEN_INVALID);
    memset(&error, 0x3C, sizeof error);
    const cen_error before = error;
    expect_equal(cen_queue_new(&options, &queue, &error), CEN_OK);
    expect(memcmp(&error, &before, sizeof error) == 0); /* written only by a call that failed */
    cen_queue_free(queue);
    cen_queue_free(NULL);
}

/* guarantees: crossbeam-bugs.bounded */
TEST(a_queue_is_bounded_to_1024_elements_unless_told_otherwise)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int));
    cen_queue *queue;
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    expect_equal(cen_queue_capacity(queue), 1024);
    push_all(queue, 1, 1024);
    int value = 5;
    expect_equal(cen_queue_try_push(queue, &value), CEN_FULL);
    expect_popped(queue, 1, 1024);
    cen_queue_free(queue);
}

/* guarantees: queue.properties, crossbeam.len */
TEST(a_queue_says_its_capacity_its_element_size_and_its_name)
{
    static const size_t capacities[] = {7, SIZE_MAX, 0};
    char name[64] = "orders";
    for (int k = 0; k < 3; k++) {
        cen_queue_options options =
            CEN_QUEUE_OPTIONS(.name = name, .element_size = 12, .kind = all_kinds[k], .capacity = k == 0 ? 7 : 0);
        cen_queue *queue;
        strcpy(name, "orders");
        expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
        strcpy(name, "another");
        expect(cen_queue_capacity(queue) == capacities[k]);
        expect_equal(cen_queue_element_size(queue), 12);
        expect_text(cen_queue_name(queue), "orders"); /* copied */
        expect_equal(cen_queue_length(queue), 0);
        expect(!cen_queue_is_closed(queue));
        cen_queue_free(queue);
    }
}

/* guarantees: queue.properties */
TEST(a_name_keeps_its_first_31_bytes_and_is_queue_by_default)
{
    const char *long_name = "0123456789012345678901234567890123456789";
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = 1, .name = long_name);
    cen_queue *queue;
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    expect_text(cen_queue_name(queue), "0123456789012345678901234567890");
    cen_queue_free(queue);
    queue = make_sized(CEN_QUEUE_BOUNDED, 1, 1);
    expect_text(cen_queue_name(queue), "queue");
    cen_queue_free(queue);
}

typedef struct sighting {
    int queues;
    int64_t length;
} sighting;

static void look_at(void *argument, ceni_directory_entry *entry)
{
    sighting *seen = argument;
    cen_metric metrics[8];
    if (strcmp(entry->kind, "queue") != 0 || strcmp(entry->name, "seen") != 0) return;
    expect_equal(entry->snapshot(entry->object, metrics, 8), 5);
    expect_text(metrics[0].name, "length");
    seen->length = metrics[0].value;
    seen->queues++;
}

/* guarantees: queue.properties */
TEST(a_live_queue_is_in_the_directory_with_its_numbers)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .name = "seen");
    cen_queue *queue;
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    push_all(queue, 1, 3);
    sighting seen = {0, 0};
    ceni_directory_each(ceni_directory_process(), look_at, &seen);
    expect(seen.queues == 1 && seen.length == 3);
    cen_queue_free(queue);
    ceni_directory_each(ceni_directory_process(), look_at, &seen);
    expect_equal(seen.queues, 1);
}

/* ---- Memory --------------------------------------------------------------------------- */

/* An allocator that knows what it gave, and can be told to give no more. */
typedef struct ledger {
    size_t bytes, calls;
    bool exhausted;
} ledger;

typedef struct receipt {
    size_t size, align;
    void *start;
} receipt;

static void *ledger_alloc(void *argument, size_t size, size_t align)
{
    ledger *book = argument;
    if (book->exhausted) return NULL;
    char *start = malloc(size + align + sizeof(receipt));
    uintptr_t place = ((uintptr_t)start + sizeof(receipt) + align - 1) & ~(uintptr_t)(align - 1);
    memcpy((void *)(place - sizeof(receipt)), &(receipt){size, align, start}, sizeof(receipt));
    memset((void *)place, 0xA5, size);
    book->bytes += size;
    book->calls++;
    return (void *)place;
}

static void ledger_free(void *argument, void *memory, size_t size, size_t align)
{
    ledger *book = argument;
    receipt given;
    memcpy(&given, (char *)memory - sizeof given, sizeof given);
    expect(given.size == size && given.align == align);
    memset((char *)memory - sizeof given, 0, sizeof given); /* a second free does not match */
    book->bytes -= size;
    free(given.start);
}

static cen_queue *make_in(const cen_allocator *allocator, cen_queue_kind kind, void (*drop)(void *, void *),
                          void *argument)
{
    cen_queue *queue = NULL;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .kind = kind, .allocator = allocator,
                                                  .drop = drop, .drop_argument = argument);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    return queue;
}

/* ---- What free finds ------------------------------------------------------------------ */

typedef struct heap_of_dropped {
    int values[64];
    int count;
} heap_of_dropped;

static void keep_dropped(void *argument, void *element)
{
    heap_of_dropped *dropped = argument;
    expect(dropped->count < 64);
    memcpy(&dropped->values[dropped->count++], element, sizeof(int));
}

/* guarantees: queue.drop, crossbeam-bugs.1187 */
TEST(drop_sees_each_leftover_once_oldest_first_and_nothing_that_was_popped)
{
    for (int k = 0; k < 2; k++)
        for (int closed = 0; closed < 2; closed++)
            for (int left = 0; left < 12; left++) {
                heap_of_dropped dropped = {.count = 0};
                cen_queue *queue = make_in(NULL, all_kinds[k], keep_dropped, &dropped);
                push_all(queue, 1, 5 + left);
                expect_popped(queue, 1, 5);
                if (closed) expect_equal(cen_queue_close(queue), CEN_OK);
                expect_equal(dropped.count, 0);
                cen_queue_free(queue);
                expect_equal(dropped.count, left);
                for (int i = 0; i < left; i++) expect_equal(dropped.values[i], 6 + i);
            }
}

/* guarantees: queue.drop */
TEST(drop_sees_the_leftovers_even_if_free_can_have_no_memory)
{
    for (int k = 0; k < 2; k++) {
        ledger book = {.bytes = 0};
        const cen_allocator allocator = {ledger_alloc, ledger_free, &book};
        heap_of_dropped dropped = {.count = 0};
        cen_queue *queue = make_in(&allocator, all_kinds[k], keep_dropped, &dropped);
        push_all(queue, 1, 3);
        book.exhausted = true;
        cen_queue_free(queue);
        expect_equal(dropped.count, 3);
        expect_equal(book.bytes, 0);
    }
}

/* ---- Where the memory comes from ----------------------------------------------------------- */

/* guarantees: queue.allocator */
TEST(every_byte_comes_from_the_given_allocator_and_goes_back_to_it)
{
    for (int k = 0; k < 3; k++) {
        ledger book = {.bytes = 0};
        const cen_allocator allocator = {ledger_alloc, ledger_free, &book};
        heap_of_dropped dropped = {.count = 0};
        cen_queue *queue = make_in(&allocator, all_kinds[k], keep_dropped, &dropped);
        if (k < 2) push_all(queue, 1, 40);
        if (k < 2) expect_popped(queue, 1, 30);
        expect(book.bytes > 0);
        cen_queue_free(queue);
        expect_equal(book.bytes, 0);
        expect_equal(ceni_world_allocations(), 0); /* none from elsewhere */
    }
}

/* guarantees: queue.no-allocation */
TEST(bounded_and_rendezvous_queues_push_and_pop_without_allocating)
{
    cen_queue *bounded = make_queue(CEN_QUEUE_BOUNDED, 3), *meeting = make_queue(CEN_QUEUE_RENDEZVOUS, 0);
    uint64_t before = ceni_world_allocations();
    for (int i = 0; i < 100; i++) {
        push_all(bounded, 1, 3);
        expect_popped(bounded, 1, 3);
    }
    call pop, push;
    begin_pop(&pop, bounded, CEN_NEVER); /* waiting needs none either */
    push_all(bounded, 1, 1);
    expect_call(&pop, CEN_OK, 1);
    begin_push(&push, meeting, 4, CEN_NEVER);
    expect_popped(meeting, 4, 4);
    expect_call(&push, CEN_OK, 4);
    expect_equal(ceni_world_allocations(), before);
    cen_queue_free(bounded);
    cen_queue_free(meeting);
}

/* guarantees: queue.no-allocation */
TEST(an_unbounded_queue_that_stays_short_reuses_its_blocks)
{
    cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
    push_all(queue, 1, 2 * CENI_BLOCK_SLOTS);
    expect_popped(queue, 1, 2 * CENI_BLOCK_SLOTS);
    uint64_t before = ceni_world_allocations();
    for (int i = 0; i < 50 * CENI_BLOCK_SLOTS; i++) {
        push_all(queue, i, i + 1);
        expect_popped(queue, i, i + 1);
    }
    expect_equal(ceni_world_allocations(), before);
    cen_queue_free(queue);
}

/* guarantees: crossbeam-bugs.1187 */
TEST(free_gives_back_each_block_once_however_full_the_queue_was)
{
    for (int pushed = 0; pushed <= 4 * CENI_BLOCK_SLOTS; pushed++)
        for (int popped = 0; popped <= pushed; popped++) {
            cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
            push_all(queue, 1, pushed);
            expect_popped(queue, 1, popped);
            cen_queue_free(queue); /* the world notices a second free */
            expect_equal(ceni_world_bytes(), 0);
        }
}

/* guarantees: crossbeam-bugs.669 */
TEST(a_closed_queue_that_was_drained_keeps_no_more_than_two_blocks)
{
    cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
    push_all(queue, 1, CENI_BLOCK_SLOTS);
    size_t with_two_blocks = ceni_world_bytes();
    push_all(queue, CENI_BLOCK_SLOTS + 1, 3000);
    expect(ceni_world_bytes() > 10 * with_two_blocks);
    expect_equal(cen_queue_close(queue), CEN_OK); /* those who push still have the queue */
    expect_popped(queue, 1, 3000);
    uint64_t allocations = ceni_world_allocations();
    int value = 1;
    for (int i = 0; i < 100; i++) expect_equal(cen_queue_try_push(queue, &value), CEN_CLOSED);
    expect_equal(ceni_world_allocations(), allocations);
    expect(ceni_world_bytes() <= with_two_blocks);
    cen_queue_free(queue);
}

static void push_until_refused(void *argument)
{
    cen_queue *queue = argument;
    int value = 1;
    while (cen_queue_try_push(queue, &value) == CEN_OK && value < 3) value++;
}

/* guarantees: crossbeam-bugs.1084 */
EXPLORE(a_push_that_links_a_block_while_the_queue_is_closed_leaks_nothing, 3)
{
    cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
    push_all(queue, 1, CENI_BLOCK_SLOTS - 1);
    ceni_thread pusher = start("push", push_until_refused, queue);
    expect_equal(cen_queue_close(queue), CEN_OK);
    join(pusher);
    cen_queue_free(queue);
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- When there is none -------------------------------------------------------------------- */

/* guarantees: queue.out-of-memory */
TEST(a_queue_for_which_there_is_no_memory_is_not_made_and_leaves_nothing)
{
    for (int k = 0; k < 3; k++)
        for (unsigned nth = 1;; nth++) {
            cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = 8, .kind = all_kinds[k], .name = "hungry");
            cen_queue *queue = NULL;
            cen_error error;
            ceni_fault_arm(CENI_FAULT_ALLOC, nth);
            cen_status status = cen_queue_new(&options, &queue, &error);
            bool fired = ceni_fault_disarm();
            expect_equal(status, fired ? CEN_NO_MEMORY : CEN_OK);
            expect_equal(queue == NULL, fired);
            if (fired) expect(error.status == CEN_NO_MEMORY && strstr(error.text, "hungry"));
            cen_queue_free(queue);
            expect_equal(ceni_world_bytes(), 0);
            if (!fired) break;
            expect(nth < 5);
        }
}

/* guarantees: queue.out-of-memory */
TEST(an_unbounded_push_without_memory_says_so_and_can_be_tried_again)
{
    cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
    push_all(queue, 1, CENI_BLOCK_SLOTS - 1);
    int value = CENI_BLOCK_SLOTS, evicted = UNSET;
    bool out;
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(cen_queue_try_push(queue, &value), CEN_NO_MEMORY);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(cen_queue_push_until(queue, &value, CEN_NEVER), CEN_NO_MEMORY);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(cen_queue_force_push(queue, &value, &evicted, &out), CEN_NO_MEMORY);
    ceni_fault_disarm();
    expect_equal(cen_queue_length(queue), CENI_BLOCK_SLOTS - 1);
    push_all(queue, CENI_BLOCK_SLOTS, CENI_BLOCK_SLOTS + 1);
    expect_popped(queue, 1, CENI_BLOCK_SLOTS + 1);
    cen_queue_free(queue);
}

/* ---- Elements that no stack would hold --------------------------------------------------- */

enum { BIG = 1 << 20 }; /* a world's threads have stacks of half of this at most */

typedef struct big_push {
    cen_queue *queue;
    const char *element;
} big_push;

static void push_big(void *argument)
{
    big_push *push = argument;
    expect_equal(cen_queue_push(push->queue, push->element), CEN_OK);
}

/* guarantees: crossbeam-bugs.1146 */
TEST(an_element_larger_than_the_stack_goes_through_every_kind)
{
    char *sent = malloc(BIG), *got = malloc(BIG);
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_sized(all_kinds[k], k == 0 ? 2 : 0, BIG);
        for (int lap = 0; lap < 5; lap++) {
            memset(sent, 'a' + lap, BIG);
            ceni_thread pusher = start("push", push_big, &(big_push){queue, sent});
            expect_equal(cen_queue_pop(queue, got), CEN_OK);
            join(pusher);
            expect(memcmp(sent, got, BIG) == 0);
        }
        cen_queue_free(queue);
    }
    free(sent);
    free(got);
}
