/* SPDX-License-Identifier: MIT */
/* The program's allocator is called with no lock of the pool held. */
#include <stdlib.h>

#include "port/rank.h"
#include "support/faults.h"
#include "unit/pool/askers.h"
#include "unit/pool/scripted.h"

static unsigned allocations;

static void *alloc_unlocked(void *unused, size_t size, size_t align)
{
    (void)unused;
    ceni_rank_expect_none("the allocator of a pool"); /* aborts if a lock is held */
    allocations++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void free_unlocked(void *unused, void *memory, size_t size, size_t align)
{
    (void)unused, (void)size, (void)align;
    ceni_rank_expect_none("the allocator of a pool");
    free(memory);
}

static const cen_allocator unlocked = {alloc_unlocked, free_unlocked, NULL};

static void hear(void *unused, const cen_event *event, uint64_t missed)
{
    (void)missed;
    (void)unused, (void)event;
}

/* guarantees: pool.allocator-unlocked */
TEST(the_allocator_is_called_with_no_lock_held_for_the_first_ask_with_a_deadline)
{
    asker one;
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .allocator = &unlocked), 1);
    cen_lease lease = take_now(pool);
    unsigned before = allocations;
    ask(&one, pool, cen_in_ms(5));
    expect(allocations > before);
    pass(5 * MS);
    expect_told(&one, CEN_TIMEOUT);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    free_pool(pool);
    ceni_world_settle();
}

/* guarantees: pool.allocator-unlocked */
TEST(the_allocator_is_called_with_no_lock_held_by_a_resize_and_a_listener)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .allocator = &unlocked), 1);
    unsigned before = allocations;
    expect_equal(cen_pool_resize(pool, 100, NULL), CEN_OK);
    expect_equal(cen_pool_listen(pool, hear, NULL, NULL), CEN_OK);
    expect(allocations >= before + 2);
    free_pool(pool);
    ceni_world_settle();
}
