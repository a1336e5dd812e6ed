/* SPDX-License-Identifier: MIT */
/* The sentences of conformance.h. Nothing here knows any driver. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drivers/conformance.h"

enum { MS = 1000000 };

int conformance_patience_ms = 60000;

/* A test of something that this kind of server does not have. */
#define needs(self, function) \
    do { \
        if (!(self)->function) { \
            printf("     not for %s: it has no \"%s\"\n", (self)->name, #function); \
            return; \
        } \
    } while (0)

static void pause_ms(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * (long)MS};
    nanosleep(&time, NULL);
}

/* Waits for what another thread or process is about to do. */
#define expect_soon(condition) \
    do { \
        bool is_so_ = (condition); \
        for (int tries_ = 0; !is_so_ && tries_ < conformance_patience_ms / 10; tries_++) { \
            pause_ms(10); \
            is_so_ = (condition); \
        } \
        if (!is_so_) test_fail(__FILE__, __LINE__, "expected soon %s", #condition); \
    } while (0)

static cen_pool *pool_with(cen_pool_options options)
{
    cen_pool *pool = NULL;
    cen_error error = {.text = ""};
    cen_status status = cen_pool_new(&options, &pool, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "cen_pool_new: %s: %s", cen_status_name(status), error.text);
    return pool;
}

#define good_pool(self, most, ...) \
    pool_with(CEN_POOL_OPTIONS(.name = (self)->name, .driver = (self)->driver((self)->good(), 0), .max = (most), \
                               __VA_ARGS__))

static cen_lease take_at(cen_pool *pool, int line)
{
    cen_lease lease = {0};
    cen_error error = {.text = ""};
    cen_status status = cen_pool_take(pool, cen_in_ms(conformance_patience_ms), &lease, &error);
    if (status != CEN_OK) test_fail(__FILE__, line, "take: %s: %s", cen_status_name(status), error.text);
    return lease;
}
#define take(pool) take_at((pool), __LINE__)

static cen_pool_stats stats(cen_pool *pool)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    return s;
}

void conformance_settle(void)
{
    for (int tries = 0; tries < 200; tries++) {
        char path[300], name[32];
        int threads = 0;
        DIR *tasks = opendir("/proc/self/task");
        for (struct dirent *task; tasks && (task = readdir(tasks));) {
            snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
            FILE *file = fopen(path, "r");
            if (file && fgets(name, sizeof name, file) && strncmp(name, "cenote", 6) == 0) threads++;
            if (file) fclose(file);
        }
        if (tasks) closedir(tasks);
        if (threads == 0) return;
        pause_ms(5);
    }
}

static void close_pool(cen_pool *pool)
{
    cen_error error = {.text = ""};
    cen_status status = cen_pool_close(pool, cen_in_ms(conformance_patience_ms), NULL, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "close: %s: %s", cen_status_name(status), error.text);
    expect_equal(cen_pool_free(pool), CEN_OK);
    conformance_settle();
}

static void expect_connections(const conformance *self, int count)
{
    if (self->connections) expect_soon(self->connections() == count);
}

static void expect_use(const conformance *self, const cen_lease *lease)
{
    expect(self->use(lease->object));
}

/* ---- Open, lend, check, test, reset ------------------------------------------------------- */

void conformance_open(const conformance *self)
{
    cen_pool *pool = good_pool(self, 3);
    expect_connections(self, 0);
    cen_lease lease = take(pool);
    expect_use(self, &lease);
    expect_connections(self, 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_connections(self, 1);
    close_pool(pool);
    expect_connections(self, 0);
}

void conformance_reuse(const conformance *self)
{
    needs(self, identity);
    cen_pool *pool = good_pool(self, 3);
    cen_lease lease = take(pool);
    uint64_t first = self->identity(lease.object);
    expect(first != 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    for (int i = 0; i < 100; i++) {
        lease = take(pool);
        expect_use(self, &lease);
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    lease = take(pool);
    expect_equal(self->identity(lease.object), first);
    cen_lease other = take(pool);
    expect(self->identity(other.object) != first);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_give(&other), CEN_OK);
    expect_equal(stats(pool).opened, 2);
    close_pool(pool);
}

void conformance_validate(const conformance *self)
{
    cen_pool *pool = good_pool(self, 3);
    for (int i = 0; i < 10; i++) {
        cen_lease lease = take(pool);
        expect_use(self, &lease);
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    cen_pool_stats s = stats(pool);
    expect_equal(s.opened, 1);
    expect_equal(s.reset, 0);
    expect_equal(s.tested, 0);
    expect_equal(s.closed, 0);
    close_pool(pool);
}

void conformance_test(const conformance *self)
{
    needs(self, identity);
    cen_pool *pool = good_pool(self, 3, .test_after_idle_ns = CEN_US(100));
    cen_lease lease = take(pool);
    uint64_t first = self->identity(lease.object);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    uint64_t before = stats(pool).tested;
    /* the keeper, which marks what is to be tested, may be late */
    for (int tries = 0; stats(pool).tested == before; tries++) {
        expect(tries < conformance_patience_ms / 20);
        pause_ms(20);
        lease = take(pool);
        expect_equal(self->identity(lease.object), first);
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    expect_equal(stats(pool).test_failed, 0);
    close_pool(pool);
}

void conformance_reset(const conformance *self)
{
    needs(self, make_dirty);
    cen_pool *pool = good_pool(self, 1);
    cen_lease lease = take(pool);
    uint64_t first = self->identity ? self->identity(lease.object) : 0;
    for (int i = 1; i <= 3; i++) {
        expect(self->make_dirty(lease.object));
        expect(!self->is_clean(lease.object));
        expect_equal(cen_pool_give(&lease), CEN_OK);
        lease = take(pool);
        expect(self->is_clean(lease.object));
        expect_use(self, &lease);
        expect_equal(stats(pool).reset, i);
        expect_equal(stats(pool).reset_failed, 0);
    }
    if (self->identity) expect_equal(self->identity(lease.object), first);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    close_pool(pool);
}

/* ---- Broken -------------------------------------------------------------------------------- */

void conformance_broken_idle(const conformance *self)
{
    needs(self, cut);
    cen_pool *pool = good_pool(self, 1, .test_after_idle_ns = CEN_US(100));
    cen_lease lease = take(pool);
    uint64_t first = self->identity(lease.object);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect(self->cut(first));
    expect_connections(self, 0); /* the server may take its time to cut */
    pause_ms(20);
    lease = take(pool);
    expect(self->identity(lease.object) != first);
    expect_use(self, &lease);
    cen_pool_stats s = stats(pool);
    expect_equal(s.test_failed, 1);
    expect_equal(s.opened, 2);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    close_pool(pool);
}

void conformance_broken_round(const conformance *self)
{
    needs(self, cut);
    cen_pool *pool = good_pool(self, 3, .test_after_idle_ns = 3600LL * 1000 * MS, .test_interval_ns = 20 * MS);
    cen_lease lease = take(pool);
    uint64_t first = self->identity(lease.object);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect(self->cut(first));
    expect_soon(stats(pool).test_failed == 1);
    expect_soon(stats(pool).closed == 1);
    lease = take(pool);
    expect_use(self, &lease);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    close_pool(pool);
}

void conformance_broken_held(const conformance *self)
{
    needs(self, cut);
    cen_pool *pool = good_pool(self, 1);
    cen_lease lease = take(pool);
    uint64_t first = self->identity(lease.object);
    expect(self->cut(first));
    expect(!self->use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = take(pool); /* the driver saw in memory that it is broken: nothing is idle for long enough to be tested */
    expect(self->identity(lease.object) != first);
    expect_use(self, &lease);
    expect_equal(stats(pool).opened, 2);
    expect_equal(stats(pool).test_failed, 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    close_pool(pool);
}

/* ---- Servers that are none ------------------------------------------------------------------- */

static int listening(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(fd >= 0);
    expect(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 64) == 0);
    expect(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void expect_words(const conformance *self, const cen_error *error)
{
    if (strlen(error->text) < 20) test_fail(__FILE__, __LINE__, "\"%s\" says too little", error->text);
    if (self->address && !strstr(error->text, self->address))
        test_fail(__FILE__, __LINE__, "\"%s\" does not name %s", error->text, self->address);
    if (self->secret && strstr(error->text, self->secret))
        test_fail(__FILE__, __LINE__, "\"%s\" tells the password", error->text);
    printf("     %s %d: %s\n", cen_status_name(error->status), error->code, error->text);
}

/* One take at a server that will not have us: what it answers, and that nothing is left. */
static cen_status refused(const conformance *self, const char *url, int64_t timeout_ns, cen_error *error)
{
    cen_pool *pool = pool_with(CEN_POOL_OPTIONS(.name = self->name, .driver = self->driver(url, timeout_ns), .max = 1,
                                                .breaker_failures = 1, .breaker_wait_ns = CEN_OFF));
    cen_lease lease;
    cen_status status = cen_pool_take(pool, cen_in_ms(conformance_patience_ms), &lease, error);
    expect_soon(stats(pool).opening == 0);
    expect_equal(stats(pool).opened, 0);
    close_pool(pool);
    return status;
}

void conformance_open_timeout(const conformance *self)
{
    needs(self, at);
    uint16_t port;
    int fd = listening(&port);    /* the system accepts for it, and it never says a word */
    int64_t quickest = INT64_MAX; /* a busy machine only adds to it */
    for (int tries = 0; tries < 5 && quickest >= 1500LL * MS; tries++) {
        cen_error error = {.text = ""};
        int64_t begin = cen_clock();
        cen_status status = refused(self, self->at(port), 300 * MS, &error);
        int64_t took = cen_clock() - begin;
        expect_words(self, &error);
        expect_equal(status, CEN_DRIVER);          /* the take's own time has not passed ... */
        expect(strstr(error.text, "CEN_TIMEOUT")); /* ... but the driver's, which the text tells */
        expect(took >= 290 * MS);
        if (took < quickest) quickest = took;
    }
    expect(quickest < 1500LL * MS);
    close(fd);
}

void conformance_wrong(const conformance *self)
{
    needs(self, wrong);
    cen_error error = {.text = ""};
    cen_status status = refused(self, self->wrong(), 0, &error);
    expect_words(self, &error);
    expect_equal(status, self->wrong_status);
    if (self->wrong_code) expect_equal(error.code, self->wrong_code);
    expect_equal(error.cause, CEN_CAUSE_LOGIN_REFUSED); /* so that the pool tries again less often */
    expect_connections(self, 0);
}

void conformance_absent(const conformance *self)
{
    needs(self, at);
    uint16_t port;
    close(listening(&port)); /* a port that nobody listens at */
    cen_error error = {.text = ""};
    cen_status status = refused(self, self->at(port), 0, &error);
    expect_words(self, &error);
    expect_equal(status, self->absent_status);
    if (self->absent_code) expect_equal(error.code, self->absent_code);
}

void conformance_full(const conformance *self)
{
    needs(self, fill);
    expect(self->fill(true));
    cen_error error = {.text = ""};
    cen_status status = refused(self, self->good(), 0, &error);
    expect_words(self, &error);
    expect_equal(status, self->full_status);
    if (self->full_code) expect_equal(error.code, self->full_code);
    expect(self->fill(false));
    expect_connections(self, 0);
    cen_pool *pool = good_pool(self, 3);
    cen_lease lease = take(pool);
    expect_use(self, &lease);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    close_pool(pool);
}

/* ---- Interrupt, fork, close -------------------------------------------------------------------- */

struct holder {
    const conformance *self;
    cen_lease lease;
    atomic_bool began;
    bool failed; /* the operation was ended before it was over */
};

static void *hang(void *argument)
{
    struct holder *holder = argument;
    holder->began = true;
    holder->failed = holder->self->hang(holder->lease.object);
    return NULL;
}

void conformance_interrupt_hold(const conformance *self)
{
    needs(self, hang);
    cen_pool *pool = good_pool(self, 1, .max_hold_ns = 200 * MS);
    struct holder holder = {.self = self, .lease = take(pool)};
    hang(&holder);
    expect(holder.failed);
    expect_equal(cen_pool_give(&holder.lease), CEN_REVOKED);
    cen_pool_options patient = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &patient), CEN_OK);
    patient.max_hold_ns = CEN_OFF; /* who comes now may be slow, on a machine that is */
    expect_equal(cen_pool_options_set(pool, &patient, NULL), CEN_OK);
    cen_lease lease = take(pool); /* another connection, which no late word of the interrupt may reach */
    for (int i = 0; i < 20; i++) {
        expect_use(self, &lease);
        pause_ms(5);
    }
    expect_equal(cen_pool_give(&lease), CEN_OK);
    close_pool(pool);
    expect_connections(self, 0);
}

void conformance_interrupt_close(const conformance *self)
{
    needs(self, hang);
    cen_pool *pool = good_pool(self, 3);
    struct holder holder = {.self = self, .lease = take(pool)};
    pthread_t thread;
    expect(pthread_create(&thread, NULL, hang, &holder) == 0);
    expect_soon(holder.began);
    pause_ms(100);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, cen_in_ms(100), &report, NULL), CEN_TIMEOUT);
    expect_equal(report.revoked, 1);
    pthread_join(thread, NULL);
    expect(holder.failed);
    expect_equal(cen_pool_give(&holder.lease), CEN_REVOKED);
    expect_equal(cen_pool_free(pool), CEN_OK);
    expect_connections(self, 0);
}

struct producer {
    cen_pool *pool;
    cen_lease lease;
};

static void *take_and_end(void *argument)
{
    struct producer *one = argument;
    one->lease = take(one->pool);
    return NULL;
}

static cen_lease handed_over(cen_pool *pool)
{
    struct producer one = {.pool = pool};
    pthread_t thread;
    expect(pthread_create(&thread, NULL, take_and_end, &one) == 0);
    pthread_join(thread, NULL);
    return one.lease;
}

/* One that is given late is closed then, and one that never is, with the pool. */
void conformance_orphan(const conformance *self)
{
    cen_pool *pool = good_pool(self, 1);
    cen_lease late = handed_over(pool);
    cen_lease lease = take(pool); /* the place is free */
    expect(lease.object != late.object);
    expect_use(self, &lease);
    expect_equal(stats(pool).orphans, 1);
    self->use(late.object); /* whatever the answer: its memory is there */
    expect_equal(cen_pool_give(&late), CEN_REVOKED);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    handed_over(pool);
    expect_equal(stats(pool).orphaned, 2);
    close_pool(pool);
    expect_connections(self, 0);
}

/* What `child` finds, in a process forked now: 0 if all is well. */
static int in_child(int (*child)(const conformance *, cen_pool *, cen_lease *), const conformance *self, cen_pool *pool,
                    cen_lease *lease)
{
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        alarm(60);
        _exit(child(self, pool, lease));
    }
    int status = -1;
    expect(process > 0 && waitpid(process, &status, 0) == process);
    return status;
}

static int child_leaves(const conformance *self, cen_pool *pool, cen_lease *lease)
{
    (void)self;
    cen_lease other;
    if (cen_pool_take(pool, cen_in_ms(100), &other, NULL) != CEN_FORKED) return 1;
    if (cen_pool_give(lease) != CEN_FORKED) return 2;
    return cen_pool_free(pool) == CEN_OK ? 0 : 3;
}

static int child_renews(const conformance *self, cen_pool *pool, cen_lease *lease)
{
    cen_lease own = {0};
    cen_error error = {.text = ""};
    cen_status status = cen_pool_take(pool, cen_in_ms(conformance_patience_ms), &own, &error);
    if (status != CEN_OK) return fprintf(stderr, "%s: %s\n", cen_status_name(status), error.text), 1;
    if (cen_pool_give(lease) != CEN_FORKED) return 2;
    if (!self->use(own.object)) return 3;
    if (cen_pool_give(&own) != CEN_OK) return 4;
    if (cen_pool_close(pool, cen_in_ms(conformance_patience_ms), NULL, NULL) != CEN_OK) return 5;
    return cen_pool_free(pool) == CEN_OK ? 0 : 6;
}

static void fork_beside(const conformance *self, cen_fork_policy policy,
                        int (*child)(const conformance *, cen_pool *, cen_lease *))
{
    cen_pool *pool = good_pool(self, 3, .on_fork = policy);
    cen_lease held = take(pool), idle = take(pool);
    uint64_t first = self->identity ? self->identity(held.object) : 0,
             second = self->identity ? self->identity(idle.object) : 0;
    expect_equal(cen_pool_give(&idle), CEN_OK);
    expect_equal(in_child(child, self, pool, &held), 0);
    expect_connections(self, 2); /* what the child did with its copies went to nobody */
    expect_use(self, &held);
    if (self->identity) expect_equal(self->identity(held.object), first);
    idle = take(pool);
    expect_use(self, &idle);
    if (self->identity) expect_equal(self->identity(idle.object), second);
    expect_equal(cen_pool_give(&idle), CEN_OK);
    expect_equal(cen_pool_give(&held), CEN_OK);
    expect_equal(stats(pool).opened, 2);
    close_pool(pool);
}

void conformance_fork(const conformance *self)
{
    fork_beside(self, CEN_FORK_REFUSE, child_leaves);
}

void conformance_renew(const conformance *self)
{
    if (self->cannot_renew) return (void)printf("     not for %s: its poller is the parent's\n", self->name);
    fork_beside(self, CEN_FORK_RENEW, child_renews);
}

void conformance_close(const conformance *self)
{
    needs(self, connections);
    cen_pool *pool = good_pool(self, 3);
    cen_lease leases[3];
    for (int i = 0; i < 3; i++) leases[i] = take(pool);
    expect_connections(self, 3);
    expect_equal(cen_pool_discard(&leases[0]), CEN_OK);
    expect_connections(self, 2);
    expect_equal(cen_pool_give(&leases[1]), CEN_OK);
    expect_equal(cen_pool_give(&leases[2]), CEN_OK);
    close_pool(pool);
    expect_connections(self, 0);
}

/* ---- Threads -------------------------------------------------------------------------------------- */

struct crowd {
    const conformance *self;
    cen_pool *pool;
    bool cuts;
    atomic_bool goes_on; /* after all rounds, too, until there were cuts enough */
    atomic_int rounds, used, failed, refused;
    void *_Atomic holders[8]; /* the object that each thread has */
    _Atomic uint64_t identities[8];
};

static void use_one(struct crowd *crowd, int me)
{
    cen_lease lease;
    cen_error error = {.text = ""};
    cen_status status = cen_pool_take(crowd->pool, cen_in_ms(conformance_patience_ms), &lease, &error);
    if (status != CEN_OK) {
        if (!crowd->cuts) test_fail(__FILE__, __LINE__, "%s: %s", cen_status_name(status), error.text);
        crowd->refused++;
        return;
    }
    crowd->holders[me] = lease.object;
    for (int i = 0; i < 8; i++)
        if (i != me && lease.object && crowd->holders[i] == lease.object)
            test_fail(__FILE__, __LINE__, "two threads have one object");
    if (crowd->self->use(lease.object)) {
        crowd->used++;
        if (crowd->cuts) crowd->identities[me] = crowd->self->identity(lease.object);
    } else {
        if (!crowd->cuts) test_fail(__FILE__, __LINE__, "an object of a good server does not work");
        crowd->failed++;
    }
    crowd->holders[me] = NULL;
    if (cen_pool_give(&lease) != CEN_OK) test_fail(__FILE__, __LINE__, "it cannot be given back");
}

struct member {
    struct crowd *crowd;
    int index, rounds;
};

static void *crowd_member(void *argument)
{
    struct member *member = argument;
    for (int i = 0; i < member->rounds || member->crowd->goes_on; i++) {
        member->crowd->rounds++;
        use_one(member->crowd, member->index);
    }
    return NULL;
}

static void run_crowd(struct crowd *crowd, int rounds, void (*meanwhile)(struct crowd *crowd))
{
    pthread_t threads[8];
    struct member members[8];
    crowd->goes_on = meanwhile != NULL;
    for (int i = 0; i < 8; i++) {
        members[i] = (struct member){crowd, i, rounds};
        expect(pthread_create(&threads[i], NULL, crowd_member, &members[i]) == 0);
    }
    if (meanwhile) meanwhile(crowd);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    expect(crowd->rounds >= 8 * rounds);
    expect_equal(crowd->used + crowd->failed + crowd->refused, crowd->rounds);
    expect_soon(stats(crowd->pool).closing == 0 && stats(crowd->pool).opening == 0 &&
                stats(crowd->pool).resetting == 0);
    cen_pool_stats s = stats(crowd->pool);
    expect_equal(s.held, 0);
    expect_equal(s.taken, s.ended);
    expect_equal(s.opened - s.closed, s.places - s.vacant);
    if (!crowd->cuts) expect_connections(crowd->self, (int)s.idle);
    if (crowd->self->connections)
        expect_soon(crowd->self->connections() <= (int)s.idle); /* of those idle some may be cut */
}

void conformance_threads(const conformance *self)
{
    struct crowd crowd = {.self = self, .pool = good_pool(self, 3)};
    run_crowd(&crowd, 50, NULL);
    expect_equal(crowd.used, 8 * 50);
    expect(stats(crowd.pool).opened <= 3);
    close_pool(crowd.pool);
    expect_connections(self, 0);
}

static void cut_some(struct crowd *crowd)
{
    uint64_t random = test_seed();
    int64_t begin = cen_clock();
    for (int cuts = 0; cuts < 15;) {
        if (cen_clock() - begin > 60000LL * MS) test_fail(__FILE__, __LINE__, "only %d of 15 could be cut", cuts);
        pause_ms((int)(test_random(&random) % 20));
        uint64_t victim = crowd->identities[test_random(&random) % 8];
        if (victim && crowd->self->cut(victim)) cuts++; /* it may be gone already */
    }
    crowd->goes_on = false;
}

void conformance_storm(const conformance *self)
{
    needs(self, cut);
    struct crowd crowd = {.self = self,
                          .cuts = true,
                          .pool = good_pool(self, 3, .test_after_idle_ns = CEN_US(100), .backoff_initial_ns = 1 * MS,
                                            .backoff_max_ns = 10 * MS)};
    run_crowd(&crowd, 200, cut_some);
    cen_pool_stats s = stats(crowd.pool);
    printf("     %d used, %d failed, %d not lent; %d opened, %d failed a test\n", crowd.used, crowd.failed,
           crowd.refused, (int)s.opened, (int)s.test_failed);
    expect(crowd.used > 0);
    expect(s.opened > 12); /* of 15 that were cut, those that were idle are replaced when they are wanted */
    cen_lease lease = take(crowd.pool);
    expect_use(self, &lease);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    close_pool(crowd.pool);
    expect_connections(self, 0);
}
