/* SPDX-License-Identifier: MIT */
/*
 * Why there is more than one crew, and why tasks can wait without a worker.
 *
 *     crew-motives reads SECONDS       short reads every 500 us beside writes that block for 5 ms each:
 *                                      in one crew of two workers, or in a crew of one worker each
 *     crew-motives priority SECONDS    short urgent tasks every 500 us beside others that compute for 5 ms each:
 *                                      in one crew of two workers, or in a crew of two for each of three priorities
 *     crew-motives snapshot COUNT      tasks that wait 20 ms for a snapshot: COUNT of them suspended in a crew of two
 *                                      workers, or served by one thread of their own that blocks for each
 *
 * Of the heavy ones eight are always there. The short ones come when they are due,
 * whether the last one is over or not, and their latency is from that time to
 * their end. Whoever was to be served must have been, once.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/crew.h>

#include "../rules/bench.h"

#define HEAVY 8
#define HEAVY_NS 5000000
#define SHORT_NS 20000
#define PERIOD_NS 500000
#define SHORT_MAX 100000
#define SNAPSHOT_NS 20000000
#define BLOCKING 50 /* requests of the thread that blocks */

static void must(cen_status status)
{
    if (status != CEN_OK) bench_fail("%s", cen_status_text(status));
}

static cen_crew *crew_new(uint32_t workers)
{
    cen_crew_options options = CEN_CREW_OPTIONS(.name = "motive", .workers = workers, .max = workers);
    cen_crew *crew;
    cen_error error;
    if (cen_crew_new(&options, &crew, &error) != CEN_OK) bench_fail("%s", error.text);
    return crew;
}

static void crew_end(cen_crew *crew)
{
    must(cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(30), NULL, NULL));
    must(cen_crew_free(crew));
}

/* ---- Work ------------------------------------------------------------------ */

static double steps_per_ns;

static uint64_t chain_of(uint64_t steps, uint64_t noise)
{
    for (; steps > 0; steps--) noise = (noise ^ noise >> 29) * 6364136223846793005u;
    return noise;
}

static void compute(int64_t ns)
{
    static _Thread_local uint64_t noise = 1;
    noise = chain_of((uint64_t)((double)ns * steps_per_ns), noise);
    if (noise == 0) bench_fail("no work was done");
}

/* Once, alone: as many steps as the quickest of several tries makes. */
static void calibrate(void)
{
    int64_t best = INT64_MAX;
    uint64_t noise = 1;
    for (int i = 0; i < 50; i++) {
        int64_t start = bench_now();
        noise = chain_of(100000, noise);
        int64_t took = bench_now() - start;
        best = took < best ? took : best;
    }
    steps_per_ns = noise != 0 ? 100000 / (double)best : 0;
}

/* ---- Short beside heavy ------------------------------------------------------- */

struct errand {
    cen_task task; /* first */
    int64_t due_ns, over_ns;
    uint32_t runs;
};

static atomic_bool over;
static struct errand heavy[HEAVY], *brief; /* SHORT_MAX of them */
static uint64_t heavy_runs;                /* the writer's, whole rounds only */
static int64_t latencies[SHORT_MAX];

static cen_next block(cen_task *task)
{
    ((struct errand *)task)->runs++;
    bench_sleep(HEAVY_NS);
    return cen_task_done(task, NULL);
}

static cen_next toil(cen_task *task)
{
    ((struct errand *)task)->runs++;
    compute(HEAVY_NS);
    return cen_task_done(task, NULL);
}

static cen_next look(cen_task *task)
{
    struct errand *errand = (struct errand *)task;
    errand->runs++;
    compute(SHORT_NS);
    errand->over_ns = bench_now();
    return cen_task_done(task, NULL);
}

struct load {
    cen_crew *crew;
    cen_step step;
};

/* Keeps as many there as there are, the oldest first. */
static void *load_main(void *argument)
{
    const struct load *load = argument;
    uint64_t count = 0;
    for (; count < HEAVY || !atomic_load(&over); count++) {
        struct errand *errand = &heavy[count % HEAVY];
        if (count >= HEAVY) must(cen_future_wait(&errand->task.future, cen_in_s(30)));
        cen_task_init(&errand->task, load->step);
        must(cen_crew_submit(load->crew, &errand->task, NULL));
    }
    for (uint32_t i = 0; i < HEAVY; i++) must(cen_future_wait(&heavy[i].task.future, cen_in_s(30)));
    heavy_runs = count;
    return NULL;
}

static uint32_t send_brief(cen_crew *crew, double seconds)
{
    uint32_t count = 0;
    int64_t due = bench_now() + 20000000, until = due + (int64_t)(seconds * 1e9); /* the heavy ones come first */
    for (; due < until && count < SHORT_MAX; due += PERIOD_NS, count++) {
        int64_t left = due - bench_now();
        if (left > 0) bench_sleep(left);
        brief[count].due_ns = due;
        brief[count].runs = 0;
        cen_task_init(&brief[count].task, look);
        must(cen_crew_submit(crew, &brief[count].task, NULL));
    }
    return count;
}

static void say_of_brief(const char *name, uint32_t count, double seconds)
{
    uint64_t runs = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (cen_future_wait(&brief[i].task.future, cen_in_s(30)) != CEN_OK || brief[i].runs != 1)
            bench_fail("short task %u ran %u times", i, brief[i].runs);
        latencies[i] = brief[i].over_ns - brief[i].due_ns;
    }
    for (uint32_t i = 0; i < HEAVY; i++) {
        runs += heavy[i].runs;
        heavy[i].runs = 0;
    }
    if (runs != heavy_runs)
        bench_fail("of %llu heavy tasks %llu ran", (unsigned long long)heavy_runs, (unsigned long long)runs);
    int64_t middle = bench_median(latencies, count);
    printf("%s_p50_us=%.1f %s_p99_us=%.1f %s_max_us=%.1f %s_heavy_per_s=%.0f ", name, (double)middle / 1e3, name,
           (double)latencies[(uint64_t)count * 99 / 100] / 1e3, name, (double)latencies[count - 1] / 1e3, name,
           (double)runs / seconds);
}

static void beside(const char *name, cen_crew *for_brief, cen_crew *for_heavy, cen_step step, double seconds)
{
    struct load load = {for_heavy, step};
    pthread_t thread;
    atomic_store(&over, false);
    if (pthread_create(&thread, NULL, load_main, &load) != 0) bench_fail("cannot start a thread");
    int64_t start = bench_now();
    uint32_t count = send_brief(for_brief, seconds);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    say_of_brief(name, count, (double)(bench_now() - start) / 1e9);
}

static void reads(double seconds)
{
    cen_crew *shared = crew_new(2);
    beside("one", shared, shared, block, seconds);
    crew_end(shared);
    cen_crew *readers = crew_new(1), *writers = crew_new(1);
    beside("two", readers, writers, block, seconds);
    crew_end(writers);
    crew_end(readers);
}

static void priority(double seconds)
{
    cen_crew *shared = crew_new(2);
    beside("one", shared, shared, toil, seconds);
    crew_end(shared);
    cen_crew *high = crew_new(2), *normal = crew_new(2), *low = crew_new(2);
    beside("two", high, low, toil, seconds);
    crew_end(low);
    crew_end(normal);
    crew_end(high);
}

/* ---- A slow snapshot ------------------------------------------------------------ */

struct request {
    cen_task task; /* first */
    cen_future snapshot;
    cen_promise promise;
    struct request *next;
    int64_t due_ns, asked_ns, over_ns;
    uint32_t served;
};

/* Whoever makes snapshots: each takes SNAPSHOT_NS, any number at a time. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t asked;
    struct request *first, **last;
    uint32_t left; /* to be made in all */
} maker = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &maker.first, 0};

static void snapshot_ask(struct request *request)
{
    cen_future_init(&request->snapshot);
    must(cen_promise_init(&request->promise, &request->snapshot));
    request->next = NULL;
    pthread_mutex_lock(&maker.mutex);
    request->due_ns = bench_now() + SNAPSHOT_NS;
    *maker.last = request;
    maker.last = &request->next;
    pthread_mutex_unlock(&maker.mutex);
    pthread_cond_signal(&maker.asked);
}

static void *maker_main(void *unused)
{
    for (; maker.left > 0; maker.left--) {
        pthread_mutex_lock(&maker.mutex);
        while (maker.first == NULL) pthread_cond_wait(&maker.asked, &maker.mutex);
        struct request *request = maker.first;
        if ((maker.first = request->next) == NULL) maker.last = &maker.first;
        pthread_mutex_unlock(&maker.mutex);
        int64_t left = request->due_ns - bench_now();
        if (left > 0) bench_sleep(left);
        cen_promise_complete(&request->promise, request);
    }
    return unused;
}

static void serve(struct request *request)
{
    if (request->snapshot.status != CEN_OK || request->snapshot.value != request)
        bench_fail("a request got no snapshot, or another's");
    request->served++;
    request->over_ns = bench_now();
}

static cen_next serve_step(cen_task *task)
{
    serve((struct request *)task);
    return cen_task_done(task, NULL);
}

static cen_next ask_step(cen_task *task)
{
    struct request *request = (struct request *)task;
    snapshot_ask(request);
    return cen_task_wait(task, &request->snapshot, serve_step);
}

static pthread_t maker_start(uint32_t count)
{
    pthread_t thread;
    maker.left = count;
    if (pthread_create(&thread, NULL, maker_main, NULL) != 0) bench_fail("cannot start a thread");
    return thread;
}

static void say_of_requests(const char *name, const struct request *all, uint32_t count, int64_t took)
{
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].served != 1) bench_fail("request %u was served %u times", i, all[i].served);
        latencies[i] = all[i].over_ns - all[i].asked_ns;
    }
    int64_t middle = bench_median(latencies, count);
    printf("%s_count=%u %s_per_s=%.0f %s_p50_ms=%.2f %s_p99_ms=%.2f ", name, count, name,
           (double)count * 1e9 / (double)took, name, (double)middle / 1e6, name,
           (double)latencies[(uint64_t)count * 99 / 100] / 1e6);
}

static void suspended(struct request *all, uint32_t count)
{
    cen_crew *crew = crew_new(2);
    pthread_t thread = maker_start(count);
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    uint64_t most = 0;
    int64_t start = bench_now();
    for (uint32_t i = 0; i < count; i++) {
        all[i].asked_ns = bench_now();
        cen_task_init(&all[i].task, ask_step);
        must(cen_crew_submit(crew, &all[i].task, NULL));
    }
    do {
        must(cen_crew_stats_get(crew, &stats));
        most = stats.waiting > most ? stats.waiting : most;
        bench_sleep(500000);
    } while (stats.finished < count);
    for (uint32_t i = 0; i < count; i++) must(cen_future_wait(&all[i].task.future, cen_in_s(30)));
    say_of_requests("crew", all, count, bench_now() - start);
    printf("crew_suspended=%llu crew_threads=%u ", (unsigned long long)most, stats.threads);
    pthread_join(thread, NULL);
    crew_end(crew);
}

/* The requests are all there from the start; one thread takes one after the other. */
static void blocking(struct request *all, uint32_t count)
{
    pthread_t thread = maker_start(count);
    int64_t start = bench_now();
    for (uint32_t i = 0; i < count; i++) {
        all[i].asked_ns = start;
        snapshot_ask(&all[i]);
        must(cen_future_wait(&all[i].snapshot, cen_in_s(30)));
        serve(&all[i]);
    }
    say_of_requests("own", all, count, bench_now() - start);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int64_t start = bench_now();
    if (argc != 3) bench_fail("usage: %s reads|priority SECONDS | snapshot COUNT", argv[0]);
    calibrate();
    brief = bench_zeroed(SHORT_MAX, sizeof *brief);
    if (strcmp(argv[1], "reads") == 0) {
        reads(atof(argv[2]));
    } else if (strcmp(argv[1], "priority") == 0) {
        priority(atof(argv[2]));
    } else if (strcmp(argv[1], "snapshot") == 0) {
        uint32_t count = (uint32_t)bench_number(argv[2], 1, SHORT_MAX);
        struct request *all = bench_zeroed(count + BLOCKING, sizeof *all);
        suspended(all, count);
        blocking(all + count, BLOCKING);
    } else {
        bench_fail("%s is none of reads, priority, snapshot", argv[1]);
    }
    printf("elapsed_ms=%.1f\n", (double)(bench_now() - start) / 1e6);
    return 0;
}
