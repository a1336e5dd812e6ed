/* SPDX-License-Identifier: MIT */
/*
 * What memory cenote's pool asks for.
 *
 *     pool-memory run THREADS SIZE SECONDS [malloc | map]
 *     pool-memory sizes SIZE...
 *
 * The first is a contended run after whose start nobody should allocate: every
 * way to malloc goes through this program, the pool's own allocator counts, and
 * the process's mappings are compared. Each worker takes and gives once before
 * it is counted, so that what a thread needs once is there. The last word
 * plants one allocation, which must be noticed.
 * The second prints the bytes that a pool asks of its allocator, by its size.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../rules/allocations.h"
#include "ours.h"

#define MAPS_ROOM (1 << 20)

static const char *planted = "";

/* ---- The run ------------------------------------------------------------- */

static char maps_before[MAPS_ROOM], maps_after[MAPS_ROOM];

static void read_maps(char *text)
{
    size_t length = 0;
    ssize_t got;
    int file = open("/proc/self/maps", O_RDONLY);
    while ((got = read(file, text + length, MAPS_ROOM - 1 - length)) > 0) length += (size_t)got;
    text[length] = 0;
    close(file);
    if (length == 0 || length == MAPS_ROOM - 1) bench_fail("cannot read the mappings");
}

static void pool_make(const struct lend_plan *plan)
{
    pool = ours_new(plan->size, 0, &seam);
}

static void pool_enter(struct lend_worker *worker)
{
    (void)worker;
    cen_lease lease;
    pool_take(&lease);
    pool_give(&lease);
}

#define LEND_OWN_MAIN
#include "../rules/lend_loop.h"

/* The first worker compares the mappings: main joins it first, so no other's stack is given back before. */
static void counted_loop(struct lend_worker *worker)
{
    if (worker->number == 0) read_maps(maps_before);
    counting = true;
    lend_pool_loop(worker);
    if (worker->number == 0 && strcmp(planted, "malloc") == 0) /* kept, or the compiler leaves it out */
        worker->noise = (uintptr_t)malloc(1);
    if (worker->number == 0 && strcmp(planted, "map") == 0)
        syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    counting = false;
    if (worker->number == 0) read_maps(maps_after);
}

static int run(int argc, char **argv)
{
    struct lend_contestant counted = lend_pool();
    char *words[] = {argv[0], argv[2], argv[3], "0", argv[4]};
    struct lend_plan plan = lend_parse(5, words);
    planted = argc > 5 ? argv[5] : "";
    counted.loop = counted_loop;
    lend_make(&plan, &counted);
    struct lend_result result = lend_run(&plan, &counted);
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &stats);
    printf("pairs=%llu waited=%llu allocations=%llu mappings_changed=%d\n", (unsigned long long)result.pairs,
           (unsigned long long)stats.waited, (unsigned long long)allocations, strcmp(maps_before, maps_after) != 0);
    return 0;
}

static int sizes(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        uint32_t size = (uint32_t)bench_number(argv[i], 1, CEN_POOL_MAX);
        lend_objects = bench_zeroed(size, sizeof *lend_objects);
        seam_bytes = seam_calls = 0;
        cen_pool *made = ours_new(size, 0, &seam);
        printf("bytes_%u=%llu calls_%u=%llu ", size, (unsigned long long)seam_bytes, size,
               (unsigned long long)seam_calls);
        cen_pool_free(made);
        if (seam_bytes != 0) bench_fail("%llu bytes were not given back", (unsigned long long)seam_bytes);
        free(lend_objects);
    }
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 5 && strcmp(argv[1], "run") == 0) return run(argc, argv);
    if (argc >= 3 && strcmp(argv[1], "sizes") == 0) return sizes(argc, argv);
    bench_fail("usage: %s run THREADS SIZE SECONDS [malloc | map] | sizes SIZE...", argv[0]);
}
