/* SPDX-License-Identifier: MIT */
/*
 * So many uncontended takes and gives on one thread, while another watches, for
 * tools/check-watching, which counts the instructions of the first.
 *
 *     watched alone|watched|meddled COUNT
 *
 * alone: the other thread only sleeps. watched: it walks through all components without
 * a pause, reads all their numbers and histograms, and has all of them described.
 * meddled: it reloads the pool besides, so that the check can be seen to notice
 * what costs something. Prints how often it has walked.
 */
#include <cenote/pool.h>
#include <cenote/component.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef enum manner { ALONE, WATCHED, MEDDLED } manner;

static manner how;
static cen_pool *pool;
static atomic_bool over;
static int turns[2]; /* a pipe: one byte for each walk, so that the other thread does not get ahead of them */
static unsigned long walks;

enum { PAIRS_A_WALK = 5000 };

/* ---- The one who watches ------------------------------------------------------------- */

static void see_number(void *unused, const char *name, int64_t value)
{
    (void)unused, (void)name, (void)value;
}

static void see_truth(void *unused, const char *name, bool value)
{
    (void)unused, (void)name, (void)value;
}

static void see_text(void *unused, const char *name, const char *value)
{
    (void)unused, (void)name, (void)value;
}

static void see_list(void *unused, const char *name)
{
    (void)unused, (void)name;
}

static void see_item(void *unused)
{
    (void)unused;
}

static void see(void *argument, cen_component *component)
{
    static const cen_description_writer description = {NULL,     see_number, see_truth, see_text,
                                                       see_list, see_item,   see_item};
    cen_metric metrics[CEN_METRICS_MAX];
    cen_histogram_header timing;
    cen_component_metrics(component, metrics, CEN_METRICS_MAX);
    for (size_t i = 0; cen_component_histogram(component, i, &timing, argument); i++) continue;
    cen_component_describe(component, &description, 100);
}

static void *watch(void *unused)
{
    cen_histogram *histogram = calloc(1, sizeof *histogram);
    while (histogram && !atomic_load(&over)) {
        if (how == ALONE) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        else cen_components_each(see, histogram);
        if (how == MEDDLED && cen_pool_reload(pool, 0, NULL) != CEN_OK) abort();
        walks++;
        if (write(turns[1], "", 1) != 1) abort();
    }
    free(histogram);
    return unused;
}

/* ---- The one who takes ------------------------------------------------------------------ */

static cen_status open_one(void *argument, void **out, cen_error *error)
{
    (void)error;
    *out = argument;
    return CEN_OK;
}

static const cen_driver_calls calls = {.size = sizeof calls, .open = open_one, .closes_nothing = true};

static int take_and_give(unsigned long count)
{
    cen_lease lease;
    char turn;
    for (unsigned long i = 0; i < count; i++) {
        if (i % PAIRS_A_WALK == 0 && read(turns[0], &turn, 1) != 1) return 1;
        if (cen_pool_take(pool, cen_in_s(5), &lease, NULL) != CEN_OK) return 1;
        if (cen_pool_give(&lease) != CEN_OK) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    how = strcmp(argv[1], "alone") == 0 ? ALONE : strcmp(argv[1], "watched") == 0 ? WATCHED : MEDDLED;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&calls, &options}, .max = 10, .eager = true);
    pthread_t watcher;
    if (pipe(turns) != 0 || cen_pool_new(&options, &pool, NULL) != CEN_OK ||
        pthread_create(&watcher, NULL, watch, NULL) != 0)
        return 1;
    int failed = take_and_give(strtoul(argv[2], NULL, 10));
    atomic_store(&over, true);
    pthread_join(watcher, NULL);
    printf("%lu\n", walks);
    return failed || cen_pool_free(pool) != CEN_OK;
}
