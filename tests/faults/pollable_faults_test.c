/* SPDX-License-Identifier: MIT */
/*
 * A pollable when memory or descriptors cannot be had. The descriptors are of the system, so there is no world that counts
 * the memory: an allocator does.
 */
#include <dirent.h>
#include <stdlib.h>

#include <cenote/pollable.h>

#include "base/fault.h"
#include "support/test.h"

static long blocks;

static void *count_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    void *memory = aligned_alloc(align, (size + align - 1) / align * align);
    blocks += memory != NULL;
    return memory;
}

static void count_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument, (void)size, (void)align;
    blocks -= memory != NULL;
    free(memory);
}

static const cen_allocator counting = {.alloc = count_alloc, .free = count_free};

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *open_now = opendir("/proc/self/fd");
    expect(open_now != NULL);
    for (struct dirent *entry; (entry = readdir(open_now));) count += entry->d_name[0] != '.';
    closedir(open_now);
    return count;
}

/* Each of the calls in turn is refused; returns how many there are. */
static unsigned sweep(unsigned mask, cen_status expected)
{
    unsigned before = count_descriptors();
    for (unsigned nth = 1;; nth++) {
        cen_pollable *pollable = NULL;
        cen_error error = {.status = CEN_OK};
        ceni_fault_arm(mask, nth);
        cen_status status = cen_pollable_new(&CEN_POLLABLE_OPTIONS(.allocator = &counting), &pollable, &error);
        if (!ceni_fault_disarm()) {
            expect_equal(status, CEN_OK);
            expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
            return nth - 1;
        }
        expect_equal(status, expected);
        expect(error.status == expected && error.text[0] && !pollable);
        expect(expected != CEN_SYSTEM || error.code != 0);
        expect_equal(blocks, 0);
        expect_equal(count_descriptors(), before);
    }
}

/* guarantees: pollable.out-of-memory */
TEST(a_pollable_that_gets_no_memory_or_no_descriptor_leaves_nothing_behind)
{
    expect_equal(sweep(CENI_FAULT_ALLOC, CEN_NO_MEMORY), 4);
    expect_equal(sweep(CENI_FAULT_FD, CEN_SYSTEM), 7); /* of the poller three, two bells, and each of these nests */
    expect_equal(blocks, 0);
}

static void count_run(cen_job *job)
{
    job->next = NULL;
}

/* guarantees: pollable.out-of-memory */
TEST(posting_running_and_freeing_need_neither_memory_nor_descriptors)
{
    cen_pollable *pollable = NULL;
    cen_job job = {.run = count_run};
    size_t ran = 0;
    expect_equal(cen_pollable_new(NULL, &pollable, NULL), CEN_OK);
    ceni_fault_arm(CENI_FAULT_ALLOC | CENI_FAULT_FD, 1);
    cen_executor *executor = cen_pollable_executor(pollable);
    executor->post(executor, &job);
    expect_equal(cen_pollable_run_ready(pollable, &ran, NULL), CEN_OK);
    expect_equal(ran, 1);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
    expect(!ceni_fault_disarm());
}
