/* SPDX-License-Identifier: MIT */
#include "campaigns/load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OBJECTS = 256, MOST_THREADS = 1024 };
#define LATE_AT_MOST (100 * MS)
#define PATIENCE (100 * SECOND) /* how long a condition is waited for before that is a failure */

struct load {
    load_plan plan;
    pthread_t threads[MOST_THREADS], sleeper;
    _Atomic bool over;
    _Atomic uint64_t tries, answered, broken, revoked, timeouts, refused, strange, shared;
    _Atomic int64_t latest, sleeper_latest;
    int64_t warm_up_ns;    /* how long the first answers took: how fast this machine is now */
    pthread_mutex_t mutex; /* for what follows */
    load_counts words;
    struct {
        _Atomic(void *) object;
        _Atomic uint32_t users;
    } objects[OBJECTS]; /* open addressing; nothing is ever taken out */
};

bool campaign_is_long(void)
{
    const char *wanted = getenv("CENOTE_CAMPAIGN");
    return wanted && strcmp(wanted, "long") == 0;
}

int64_t campaign_time(int64_t brief, int64_t whole)
{
    return campaign_is_long() ? whole : brief;
}

void campaign_sleep(int64_t ns)
{
    struct timespec left = {(time_t)(ns / SECOND), (long)(ns % SECOND)};
    while (nanosleep(&left, &left) != 0) continue;
}

/* ---- What each thread does ------------------------------------------------------------------------ */

static void at_least(_Atomic int64_t *most, int64_t value)
{
    int64_t seen = atomic_load(most);
    while (value > seen && !atomic_compare_exchange_weak(most, &seen, value)) continue;
}

/* Where the users of that object are counted. An address may come again for another object: never two at a time. */
static _Atomic uint32_t *users_of(load *self, void *object)
{
    size_t at = (size_t)((uintptr_t)object >> 4) % OBJECTS;
    for (size_t i = 0; i < OBJECTS; i++, at = (at + 1) % OBJECTS) {
        void *there = NULL;
        if (atomic_compare_exchange_strong(&self->objects[at].object, &there, object) || there == object)
            return &self->objects[at].users;
    }
    test_fail(__FILE__, __LINE__, "there were more than %d objects", OBJECTS);
}

static void note_strange(load *self, cen_status status, const char *text)
{
    atomic_fetch_add(&self->strange, 1);
    pthread_mutex_lock(&self->mutex);
    self->words.strange_status = status;
    snprintf(self->words.strange_text, sizeof self->words.strange_text, "%.250s", text);
    pthread_mutex_unlock(&self->mutex);
}

static void note_refusal(load *self, cen_status status, const cen_error *error)
{
    switch (status) {
    case CEN_TIMEOUT: atomic_fetch_add(&self->timeouts, 1); break;
    case CEN_DRIVER:
    case CEN_LOST:
    case CEN_DOWN:
    case CEN_FULL:
    case CEN_SYSTEM:
    case CEN_OVERLOAD:
    case CEN_INVALID: atomic_fetch_add(&self->refused, 1); break;
    default: note_strange(self, status, error->text); return;
    }
    pthread_mutex_lock(&self->mutex);
    snprintf(self->words.last_text, sizeof self->words.last_text, "%.250s", error->text);
    pthread_mutex_unlock(&self->mutex);
}

static void use_one(load *self, cen_lease *lease)
{
    cen_error error = {.text = ""};
    _Atomic uint32_t *users = users_of(self, lease->object);
    if (atomic_fetch_add(users, 1) != 0) atomic_fetch_add(&self->shared, 1);
    bool answered = self->plan.use(lease->object, &error);
    atomic_fetch_sub(users, 1);
    atomic_fetch_add(answered ? &self->answered : &self->broken, 1);
    cen_status status = cen_pool_give(lease);
    if (status == CEN_REVOKED) atomic_fetch_add(&self->revoked, 1);
    else if (status != CEN_OK) note_strange(self, status, "a give was refused");
}

static void *work(void *argument)
{
    load *self = argument;
    while (!atomic_load(&self->over)) {
        cen_lease lease;
        cen_error error = {.text = ""};
        int64_t due = cen_clock() + self->plan.deadline_ns;
        atomic_fetch_add(&self->tries, 1);
        cen_status status = cen_pool_take(self->plan.pool, cen_at(due), &lease, &error);
        at_least(&self->latest, cen_clock() - due);
        if (status == CEN_OK) use_one(self, &lease);
        else note_refusal(self, status, &error);
        campaign_sleep(self->plan.pause_ns);
    }
    return NULL;
}

/* How late the machine itself is: a thread that sleeps as long as a take may, and does nothing else. */
static void *only_sleep(void *argument)
{
    load *self = argument;
    while (!atomic_load(&self->over)) {
        int64_t due = cen_clock() + 10 * MS;
        campaign_sleep(10 * MS);
        at_least(&self->sleeper_latest, cen_clock() - due);
    }
    return NULL;
}

/* ---- The load ---------------------------------------------------------------------------------------- */

load *load_start(const load_plan *plan)
{
    load *self = calloc(1, sizeof *self);
    expect(self != NULL && plan->threads <= MOST_THREADS);
    alarm(1200); /* a busy machine is slow, and a hang is a failure still */
    self->plan = *plan;
    if (!self->plan.deadline_ns) self->plan.deadline_ns = 500 * MS;
    if (!self->plan.pause_ns) self->plan.pause_ns = MS;
    expect_equal(pthread_mutex_init(&self->mutex, NULL), 0);
    expect_equal(pthread_create(&self->sleeper, NULL, only_sleep, self), 0);
    for (unsigned i = 0; i < plan->threads; i++) expect_equal(pthread_create(&self->threads[i], NULL, work, self), 0);
    return self;
}

load_counts load_look(load *self)
{
    pthread_mutex_lock(&self->mutex);
    load_counts counts = self->words;
    pthread_mutex_unlock(&self->mutex);
    counts.answered = atomic_load(&self->answered);
    counts.broken = atomic_load(&self->broken);
    counts.revoked = atomic_load(&self->revoked);
    counts.timeouts = atomic_load(&self->timeouts);
    counts.refused = atomic_load(&self->refused);
    counts.strange = atomic_load(&self->strange);
    counts.shared = atomic_load(&self->shared);
    counts.tries = atomic_load(&self->tries);
    return counts;
}

int64_t load_await_answers(load *self, uint64_t count)
{
    int64_t begun = cen_clock();
    uint64_t wanted = atomic_load(&self->answered) + count;
    while (atomic_load(&self->answered) < wanted) {
        load_counts now = load_look(self);
        if (cen_clock() - begun > PATIENCE)
            test_fail(__FILE__, __LINE__, "after %lld ms %llu answers are missing; the last refusal: %s",
                      (long long)(PATIENCE / MS), (unsigned long long)(wanted - now.answered), now.last_text);
        campaign_sleep(MS);
    }
    int64_t took = cen_clock() - begun;
    if (!self->warm_up_ns) self->warm_up_ns = took;
    return took;
}

void load_await_trouble(load *self, bool (*is_enough)(const load_counts *counts))
{
    for (int64_t begun = cen_clock();;) {
        load_counts now = load_look(self);
        if (is_enough(&now)) return;
        if (cen_clock() - begun > PATIENCE) test_fail(__FILE__, __LINE__, "the outage was not noticed");
        campaign_sleep(MS);
    }
}

load_counts load_stop(load *self)
{
    cen_error error;
    atomic_store(&self->over, true);
    for (unsigned i = 0; i < self->plan.threads; i++) pthread_join(self->threads[i], NULL);
    pthread_join(self->sleeper, NULL);
    load_counts counts = load_look(self);
    counts.latest_ns = atomic_load(&self->latest);
    counts.sleeper_ns = atomic_load(&self->sleeper_latest);
    counts.warm_up_ns = self->warm_up_ns;
    cen_pool *pool = self->plan.pool;
    if (cen_pool_close(pool, cen_in_s(100), NULL, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    counts.stats = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &counts.stats), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
    pthread_mutex_destroy(&self->mutex);
    free(self);
    return counts;
}

/* ---- The verdict -------------------------------------------------------------------------------------- */

static void write_row(FILE *file, const load_counts *c, const char *campaign, int64_t recovery_ns, const char *remark)
{
    fprintf(file, "| %s | %llu | %llu | %llu | %llu | %llu | %.1f | ", campaign, (unsigned long long)c->tries,
            (unsigned long long)c->answered, (unsigned long long)c->broken, (unsigned long long)c->timeouts,
            (unsigned long long)c->refused, (double)c->latest_ns / 1e6);
    if (recovery_ns < 0) fprintf(file, "- | %s |\n", remark);
    else fprintf(file, "%.0f | %s |\n", (double)recovery_ns / 1e6, remark);
}

static void tell_row(const load_counts *c, const char *campaign, int64_t recovery_ns, const char *remark)
{
    const char *path = getenv("CENOTE_CAMPAIGN_TABLE");
    FILE *file = path ? fopen(path, "a") : NULL;
    write_row(stdout, c, campaign, recovery_ns, remark);
    if (!file) return;
    write_row(file, c, campaign, recovery_ns, remark);
    fclose(file);
}

void load_judge(const load_counts *counts, const char *campaign, int64_t recovery_ns, int64_t most_ns)
{
    load_judge_saying(counts, campaign, recovery_ns, most_ns, "");
}

void load_judge_saying(const load_counts *c, const char *campaign, int64_t recovery_ns, int64_t most_ns,
                       const char *remark)
{
    tell_row(c, campaign, recovery_ns, remark);
    if (c->strange)
        test_fail(__FILE__, __LINE__, "%llu ended strangely, the last with %s: %s", (unsigned long long)c->strange,
                  cen_status_text(c->strange_status), c->strange_text);
    expect_equal(c->tries, c->answered + c->broken + c->timeouts + c->refused);
    expect_equal(c->shared, 0);
    if (c->latest_ns > LATE_AT_MOST + 4 * c->sleeper_ns)
        test_fail(__FILE__, __LINE__, "a take came back %lld ms after its deadline, a sleeper at most %lld ms",
                  (long long)(c->latest_ns / MS), (long long)(c->sleeper_ns / MS));
    expect_equal(c->stats.held + c->stats.waiting + c->stats.idle + c->stats.revoked, 0);
    expect_equal(c->stats.taken, c->stats.ended);
    expect_equal(c->stats.opened, c->stats.closed);
    if (recovery_ns > most_ns + 10 * c->warm_up_ns)
        test_fail(__FILE__, __LINE__,
                  "it took %lld ms to recover, more than %lld ms and ten times the first answers' %lld ms",
                  (long long)(recovery_ns / MS), (long long)(most_ns / MS), (long long)(c->warm_up_ns / MS));
}
