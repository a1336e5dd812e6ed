/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include "base/fault.h"
#include "support/test.h"

enum { NODES = 300 };

static void expect_valid(const ceni_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++) {
        expect_equal(heap->nodes[i]->place, i + 1);
        if (i > 0) expect(heap->nodes[(i - 1) / 2]->key <= heap->nodes[i]->key);
    }
}

TEST(an_empty_heap_has_no_first_and_allocates_nothing)
{
    ceni_heap heap;
    ceni_heap_init(&heap, NULL);
    expect(ceni_heap_first(&heap) == NULL);
    expect(ceni_heap_pop(&heap) == NULL);
    expect(heap.nodes == NULL);
    ceni_heap_fini(&heap);
}

TEST(pop_delivers_in_the_order_of_keys)
{
    uint64_t state = test_seed();
    ceni_heap heap;
    ceni_heap_init(&heap, NULL);
    ceni_heap_node nodes[NODES] = {0};
    for (int i = 0; i < NODES; i++) {
        nodes[i].key = (int64_t)(test_random(&state) % 100) - 50;
        expect_equal(ceni_heap_push(&heap, &nodes[i]), CEN_OK);
    }
    int64_t last = INT64_MIN;
    for (int i = 0; i < NODES; i++) {
        ceni_heap_node *node = ceni_heap_pop(&heap);
        expect(node != NULL && node->key >= last);
        expect(!ceni_heap_holds(node));
        last = node->key;
    }
    expect(ceni_heap_pop(&heap) == NULL);
    ceni_heap_fini(&heap);
}

TEST(the_ends_of_the_key_range_are_ordered)
{
    ceni_heap heap;
    ceni_heap_init(&heap, NULL);
    ceni_heap_node high = {.key = INT64_MAX}, low = {.key = INT64_MIN}, zero = {.key = 0};
    expect_equal(ceni_heap_push(&heap, &high), CEN_OK);
    expect_equal(ceni_heap_push(&heap, &zero), CEN_OK);
    expect_equal(ceni_heap_push(&heap, &low), CEN_OK);
    expect(ceni_heap_pop(&heap) == &low);
    expect(ceni_heap_pop(&heap) == &zero);
    expect(ceni_heap_pop(&heap) == &high);
    ceni_heap_fini(&heap);
}

/* One random step: push, remove from anywhere, or another key. */
static void step(ceni_heap *heap, ceni_heap_node *node, uint64_t choice, int64_t key)
{
    if (!ceni_heap_holds(node)) {
        node->key = key;
        expect_equal(ceni_heap_push(heap, node), CEN_OK);
    } else if (choice % 2) {
        ceni_heap_remove(heap, node);
        expect(!ceni_heap_holds(node));
    } else {
        ceni_heap_move(heap, node, key);
        expect_equal(node->key, key);
    }
}

TEST(random_removals_and_moves_keep_the_heap_whole)
{
    uint64_t state = test_seed();
    ceni_heap heap;
    ceni_heap_init(&heap, NULL);
    ceni_heap_node nodes[NODES] = {0};
    for (int i = 0; i < 5000; i++) {
        ceni_heap_node *node = &nodes[test_random(&state) % NODES];
        step(&heap, node, test_random(&state), (int64_t)(test_random(&state) % 1000));
        expect_valid(&heap);
        size_t held = 0;
        int64_t smallest = INT64_MAX;
        for (int n = 0; n < NODES; n++) {
            if (!ceni_heap_holds(&nodes[n])) continue;
            held++;
            if (nodes[n].key < smallest) smallest = nodes[n].key;
        }
        expect_equal(heap.count, held);
        if (held) expect_equal(ceni_heap_first(&heap)->key, smallest);
    }
    ceni_heap_fini(&heap);
}

TEST(removing_a_node_that_is_in_no_heap_changes_nothing)
{
    ceni_heap heap;
    ceni_heap_init(&heap, NULL);
    ceni_heap_node in = {.key = 1}, out = {.key = 0};
    expect_equal(ceni_heap_push(&heap, &in), CEN_OK);
    ceni_heap_remove(&heap, &out);
    expect_equal(heap.count, 1);
    expect(ceni_heap_first(&heap) == &in);
    ceni_heap_fini(&heap);
}

TEST(a_push_without_memory_says_so_and_changes_nothing)
{
    ceni_heap heap;
    ceni_heap_init(&heap, NULL);
    ceni_heap_node nodes[NODES] = {0};
    size_t refused = 0;
    for (int i = 0; i < NODES; i++) {
        nodes[i].key = NODES - i;
        size_t room = heap.room, count = heap.count;
        ceni_fault_arm(CENI_FAULT_ALLOC, 1);
        cen_status status = ceni_heap_push(&heap, &nodes[i]);
        if (ceni_fault_disarm()) {
            refused++;
            expect_equal(status, CEN_NO_MEMORY);
            expect(!ceni_heap_holds(&nodes[i]));
            expect_equal(heap.room, room);
            expect_equal(heap.count, count);
            status = ceni_heap_push(&heap, &nodes[i]);
        }
        expect_equal(status, CEN_OK);
        expect_valid(&heap);
    }
    expect_equal(refused, 6); /* 16, 32, ... 512 */
    ceni_heap_fini(&heap);
}

TEST(after_reserve_pushes_need_no_memory)
{
    ceni_heap heap;
    ceni_heap_init(&heap, NULL);
    ceni_heap_node nodes[NODES] = {0};
    expect_equal(ceni_heap_reserve(&heap, NODES), CEN_OK);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    for (int i = 0; i < NODES; i++) expect_equal(ceni_heap_push(&heap, &nodes[i]), CEN_OK);
    expect(!ceni_fault_disarm());
    expect_equal(ceni_heap_reserve(&heap, SIZE_MAX), CEN_NO_MEMORY);
    ceni_heap_fini(&heap);
}
