/* SPDX-License-Identifier: MIT */
#include "ends.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "lengths.h"

enum { WARMING, MEASURING, OVER };
#define BIN_NS INT64_C(25000000)
#define PAUSE_NS INT64_C(20000000)
#define STUCK_NS INT64_C(5000000000)

typedef struct worker {
    uint64_t asked;
    int64_t longest_wait;
    uint32_t waits[LENGTHS], calls[LENGTHS], turns[LENGTHS];
} __attribute__((aligned(128))) worker;

static const ends_contestant *playing;
static ends_plan plan;
static const char *right;
static int64_t warm_ns, time_ns;

const char *ends_why(const char *sentence)
{
    static _Thread_local char kept[300];
    snprintf(kept, sizeof kept, "%s", sentence);
    return kept;
}

/* ---- On a good day --------------------------------------------------------------------------------------------------------- */

static _Atomic int phase;
static int64_t begun, ended;
static double cpu_s;

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void expect_fine(const char *why)
{
    if (why) bench_fail("%s", why);
}

static void expect_right(const char *answer)
{
    if (strcmp(answer, right) != 0) bench_fail("an answer was wrong: %s instead of %s", answer, right);
}

/* A turn that ended in that phase. */
static void note(worker *self, int now, int64_t wait, int64_t call, int64_t turn)
{
    if (now == WARMING) return;
    self->asked += now == MEASURING;
    self->waits[length_of(wait)]++;
    self->calls[length_of(call)]++;
    self->turns[length_of(turn)]++;
    if (wait > self->longest_wait) self->longest_wait = wait;
}

static void work(void *argument)
{
    worker *self = argument;
    ends_lease lease;
    char answer[ENDS_ANSWER];
    bench_line_up();
    int64_t asked_at = bench_now();
    for (int now = WARMING; now != OVER;) {
        expect_fine(playing->take(&lease));
        int64_t had_at = bench_now();
        answer[0] = 0;
        expect_fine(playing->ask(&lease, answer));
        int64_t answered_at = bench_now();
        expect_right(answer);
        playing->give(&lease, false);
        now = atomic_load_explicit(&phase, memory_order_relaxed);
        int64_t over_at = bench_now();
        note(self, now, had_at - asked_at, answered_at - had_at, over_at - asked_at);
        asked_at = over_at;
    }
}

static void start_clock(void)
{
    cpu_s = cpu_seconds();
    begun = bench_now();
    atomic_store(&phase, MEASURING);
}

static void stop_clock(void)
{
    atomic_store(&phase, OVER);
    ended = bench_now();
    cpu_s = cpu_seconds() - cpu_s;
}

static void keep_time(void)
{
    bench_sleep(warm_ns);
    start_clock();
    bench_sleep(time_ns);
    stop_clock();
}

static double percentile_us(const uint64_t *lengths, uint64_t all, double share)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < LENGTHS; i++)
        if ((double)(seen += lengths[i]) > (double)all * share) return length_end(i) / 1e3;
    return 0;
}

static void report(const worker *workers)
{
    static uint64_t waits[LENGTHS], calls[LENGTHS], turns[LENGTHS]; /* the last is time in turns of that length */
    uint64_t asked = 0, timed = 0, in_turns = 0, least = UINT64_MAX;
    int64_t longest = 0;
    for (unsigned i = 0; i < plan.threads; i++) {
        const worker *w = &workers[i];
        asked += w->asked;
        if (w->asked < least) least = w->asked;
        if (w->longest_wait > longest) longest = w->longest_wait;
        for (unsigned k = 0; k < LENGTHS; k++) {
            waits[k] += w->waits[k];
            timed += w->waits[k];
            calls[k] += w->calls[k];
            uint64_t ns = (uint64_t)(w->turns[k] * length_end(k));
            turns[k] += ns;
            in_turns += ns;
        }
    }
    if (asked == 0) bench_fail("nothing was answered");
    double seconds = (double)(ended - begun) / 1e9;
    printf("elapsed_ms=%.3f asked=%llu per_s=%.1f ", seconds * 1e3, (unsigned long long)asked, (double)asked / seconds);
    printf("wait_p50_us=%.2f wait_p99_us=%.2f wait_p999_us=%.2f wait_max_ms=%.3f ", percentile_us(waits, timed, 0.5),
           percentile_us(waits, timed, 0.99), percentile_us(waits, timed, 0.999), (double)longest / 1e6);
    printf("turn_p50_ms=%.4f turn_p99_ms=%.4f ", percentile_us(turns, in_turns, 0.5) / 1e3,
           percentile_us(turns, in_turns, 0.99) / 1e3);
    printf("call_p50_us=%.2f call_p99_us=%.2f cpu_s=%.3f smallest_share=%.3f\n", percentile_us(calls, timed, 0.5),
           percentile_us(calls, timed, 0.99), cpu_s, (double)least * plan.threads / (double)asked);
}

static int run_healthy(void)
{
    worker *workers = bench_zeroed(plan.threads, sizeof *workers);
    bench_together(plan.threads, workers, sizeof *workers, work, keep_time);
    report(workers);
    return 0;
}

/* ---- On a good day, by one loop -------------------------------------------------------------------------------------------- */

static const ends_asker *asking;
static unsigned in_turn; /* clients that have asked and were not answered */

static void ask_again(ends_client *client)
{
    in_turn++;
    client->asked_at = bench_now();
    asking->ask(client);
}

void ends_had(ends_client *client)
{
    client->had_at = bench_now();
}

void ends_answered(ends_client *client, const char *answer)
{
    int now = atomic_load_explicit(&phase, memory_order_relaxed);
    expect_right(answer);
    int64_t over_at = bench_now();
    note(client->figures, now, client->had_at - client->asked_at, over_at - client->had_at, over_at - client->asked_at);
    in_turn--;
    if (now != OVER) ask_again(client);
}

static void turn_until(int64_t moment)
{
    while (bench_now() < moment && in_turn > 0) asking->turn();
}

static int run_asking(void)
{
    worker *workers = bench_zeroed(plan.threads, sizeof *workers);
    char *clients = bench_zeroed(plan.threads, asking->client_size);
    for (unsigned i = 0; i < plan.threads; i++) {
        ends_client *client = (ends_client *)(void *)(clients + i * asking->client_size);
        client->figures = &workers[i];
        ask_again(client);
    }
    turn_until(bench_now() + warm_ns);
    start_clock();
    turn_until(begun + time_ns);
    stop_clock();
    turn_until(ended + STUCK_NS);
    if (in_turn > 0) bench_fail("%u clients were never answered", in_turn);
    report(workers);
    return 0;
}

/* ---- In an outage ---------------------------------------------------------------------------------------------------------- */

static _Atomic unsigned *answered, *failed; /* by 25 ms */
static _Atomic int64_t *in_turn_since, longest_turn;
static int64_t bins;

static bool turn(void)
{
    ends_lease lease;
    char answer[ENDS_ANSWER] = "";
    if (playing->take(&lease)) return false;
    bool was_answered = !playing->ask(&lease, answer);
    if (was_answered) expect_right(answer);
    playing->give(&lease, !was_answered);
    return was_answered;
}

static void note_longest(int64_t ns)
{
    int64_t most = longest_turn;
    while (ns > most && !atomic_compare_exchange_weak(&longest_turn, &most, ns)) continue;
}

static void *work_in_outage(void *argument)
{
    _Atomic int64_t *since = argument;
    for (;;) {
        int64_t before = bench_now();
        *since = before;
        bool was_answered = turn();
        int64_t after = bench_now(), bin = (after - begun) / BIN_NS;
        *since = 0;
        note_longest(after - before);
        if (bin < bins) atomic_fetch_add(was_answered ? &answered[bin] : &failed[bin], 1);
        bench_sleep(PAUSE_NS);
    }
    return NULL;
}

static unsigned stuck_ones(int64_t now)
{
    unsigned stuck = 0;
    for (unsigned i = 0; i < plan.threads; i++) {
        int64_t since = in_turn_since[i];
        if (!since) continue;
        note_longest(now - since);
        stuck += now - since > STUCK_NS;
    }
    return stuck;
}

static int run_in_outage(void)
{
    bins = (time_ns + BIN_NS - 1) / BIN_NS;
    answered = bench_zeroed((size_t)bins, sizeof *answered);
    failed = bench_zeroed((size_t)bins, sizeof *failed);
    in_turn_since = bench_zeroed(plan.threads, sizeof *in_turn_since);
    puts("ready");
    fflush(stdout);
    begun = bench_now();
    for (unsigned i = 0; i < plan.threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work_in_outage, &in_turn_since[i]) != 0) bench_fail("cannot start a thread");
    }
    bench_sleep(time_ns);
    unsigned stuck = stuck_ones(bench_now());
    for (int64_t i = 0; i < bins; i++) printf("a%lld=%u f%lld=%u ", (long long)i, answered[i], (long long)i, failed[i]);
    printf("longest_ms=%.1f stuck=%u\n", (double)longest_turn / 1e6, stuck);
    fflush(stdout);
    _exit(0); /* workers may be stuck */
}

/* ---- Both ------------------------------------------------------------------------------------------------------------------ */

static void parse(int count, char **words)
{
    if (count < 7)
        bench_fail("usage: %s pq|redis HOST PORT THREADS CONNECTIONS SECONDS [warm=SECONDS | outage=default|advised]",
                   words[0]);
    plan.redis = strcmp(words[1], "redis") == 0;
    if (!plan.redis && strcmp(words[1], "pq") != 0) bench_fail("%s is neither pq nor redis", words[1]);
    if (plan.redis && playing && !playing->has_redis) bench_fail("%s knows no Redis", words[0]);
    plan.host = words[2];
    plan.port = (unsigned)bench_number(words[3], 1, 65535);
    plan.threads = (unsigned)bench_number(words[4], 1, 1000);
    plan.connections = (unsigned)bench_number(words[5], 1, 1000);
    time_ns = (int64_t)(strtod(words[6], NULL) * 1e9);
    if (time_ns <= 0) bench_fail("%s is no time", words[6]);
    for (int i = 7; i < count; i++) {
        if (strncmp(words[i], "warm=", 5) == 0) warm_ns = (int64_t)(strtod(words[i] + 5, NULL) * 1e9);
        else if (strcmp(words[i], "outage=default") == 0) plan.mode = ENDS_DEFAULT;
        else if (strcmp(words[i], "outage=advised") == 0) plan.mode = ENDS_ADVISED;
        else bench_fail("%s is none of: warm=SECONDS, outage=default, outage=advised", words[i]);
    }
    const char *broken = getenv("BENCH_BROKEN");
    bool is_broken = broken && strcmp(broken, "answer") == 0;
    right = plan.redis ? is_broken ? "other" : "value" : is_broken ? "2" : "1";
}

/* However the pool makes them, whoever has them all at once has had them opened. */
static void open_all(void)
{
    ends_lease *leases = bench_zeroed(plan.connections, sizeof *leases);
    char answer[ENDS_ANSWER];
    for (unsigned i = 0; i < plan.connections; i++) {
        expect_fine(playing->take(&leases[i]));
        expect_fine(playing->ask(&leases[i], answer));
        expect_right(answer);
    }
    for (unsigned i = 0; i < plan.connections; i++) playing->give(&leases[i], false);
    free(leases);
}

int ends_main(int count, char **words, const ends_contestant *contestant)
{
    playing = contestant;
    parse(count, words);
    playing->begin(&plan);
    open_all();
    return plan.mode == ENDS_HEALTHY ? run_healthy() : run_in_outage();
}

int ends_main_asking(int count, char **words, const ends_asker *asker)
{
    asking = asker;
    parse(count, words);
    if (plan.mode != ENDS_HEALTHY) bench_fail("%s is for good days only", words[0]);
    asking->begin(&plan);
    return run_asking();
}
