/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/fault.h"
#include "support/test.h"

TEST(memory_comes_zeroed_and_aligned)
{
    for (size_t align = 1; align <= 4096; align *= 2) {
        unsigned char *memory = ceni_alloc(NULL, 100, align);
        expect(memory && (uintptr_t)memory % align == 0);
        for (int i = 0; i < 100; i++) expect_equal(memory[i], 0);
        memset(memory, 0xFF, 100);
        ceni_free(NULL, memory, 100, align);
    }
}

static size_t asked, given_back;

static void *counting_alloc(void *argument, size_t size, size_t align)
{
    (void)align;
    asked += size;
    return argument ? NULL : malloc(size);
}

static void counting_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument;
    (void)align;
    given_back += size;
    free(memory);
}

TEST(a_replaced_allocator_is_asked_with_the_same_size_both_times)
{
    cen_allocator counting = {counting_alloc, counting_free, NULL};
    asked = given_back = 0;
    void *memory = ceni_alloc(&counting, 77, 8);
    expect(memory && asked == 77 && given_back == 0);
    ceni_free(&counting, memory, 77, 8);
    expect_equal(given_back, 77);
}

TEST(freeing_nothing_asks_nobody)
{
    cen_allocator counting = {counting_alloc, counting_free, NULL};
    given_back = 0;
    ceni_free(&counting, NULL, 5, 8);
    expect_equal(given_back, 0);
}

TEST(an_allocator_without_memory_gives_none)
{
    cen_allocator empty = {counting_alloc, counting_free, &asked};
    expect(ceni_alloc(&empty, 8, 8) == NULL);
}

TEST(the_nth_allocation_fails_once_when_it_is_told_to)
{
    ceni_fault_arm(CENI_FAULT_ALLOC, 2);
    void *first = ceni_alloc(NULL, 8, 8), *second = ceni_alloc(NULL, 8, 8), *third = ceni_alloc(NULL, 8, 8);
    expect(first && !second && third);
    expect(ceni_fault_disarm());
    ceni_free(NULL, first, 8, 8);
    ceni_free(NULL, third, 8, 8);
}

TEST(a_fault_of_another_kind_is_not_asked)
{
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    void *memory = ceni_alloc(NULL, 8, 8);
    expect(memory && !ceni_fault_disarm());
    ceni_free(NULL, memory, 8, 8);
}
