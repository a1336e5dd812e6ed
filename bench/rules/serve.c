/* SPDX-License-Identifier: MIT */
/*
 * See serve.h. A run goes through phases. Main sets them and rings; each loop
 * does at its next turn what a new phase asks of its clients.
 */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lengths.h"

enum phase {
    BEFORE,
    RUN,   /* every client asks, holds, gives, thinks, asks */
    END,   /* nobody asks any more */
    CALL,  /* the first SIZE clients, and one more in a run, ask and keep */
    CROWD, /* the others ask */
    LEAVE, /* what is kept is given */
    PHASES
};

static struct serve_plan plan;
static const struct serve_contestant *playing;
static struct serve_loop *loops;
static struct serve_client *clients;
static struct serve_object *objects;
static _Alignas(128) int phase; /* and, times PHASES, how many there were */

/* ---- Clients ------------------------------------------------------------- */

static void append(struct serve_row *row, struct serve_client *client, int64_t due_ns)
{
    client->due_ns = due_ns;
    client->next = NULL;
    *row->last = client;
    row->last = &client->next;
}

static struct serve_client *pop_due(struct serve_row *row, int64_t now)
{
    struct serve_client *client = row->first;
    if (client == NULL || client->due_ns > now) return NULL;
    row->first = client->next;
    if (row->first == NULL) row->last = &row->first;
    return client;
}

static void set_busy(struct serve_loop *loop, unsigned busy)
{
    __atomic_store_n(&loop->busy, busy, __ATOMIC_RELEASE);
}

static void ask(struct serve_client *client)
{
    client->asked_ns = bench_now();
    playing->ask(client);
}

static void count_wait(struct serve_loop *loop, int64_t ns)
{
    loop->waits[length_of(ns)]++;
    loop->longest_ns = ns > loop->longest_ns ? ns : loop->longest_ns;
}

static void give(struct serve_client *client)
{
    struct serve_object *object = client->object;
    bool discard = plan.uses > 0 && ++object->lent >= plan.uses;
    if (__atomic_exchange_n(&object->holder, 0, __ATOMIC_SEQ_CST) != client->number + 1)
        bench_fail("objects were shared: one changed hands while client %u held it", client->number);
    client->object = NULL;
    playing->give(client, object, discard);
}

/* The client has held its object long enough. */
static void finish(struct serve_client *client)
{
    struct serve_loop *loop = client->loop;
    give(client);
    if (loop->phase != RUN) {
        set_busy(loop, loop->busy - 1);
        return;
    }
    loop->pairs++;
    client->pairs++;
    if (plan.think_ns > 0) append(&loop->thinking, client, bench_now() + plan.think_ns);
    else ask(client);
}

void serve_granted(struct serve_client *client, struct serve_object *object)
{
    struct serve_loop *loop = client->loop;
    int64_t now = bench_now();
    if (object < objects || object >= objects + plan.size) bench_fail("the pool lent something that was never put in");
    if (__atomic_exchange_n(&object->holder, client->number + 1, __ATOMIC_SEQ_CST) != 0)
        bench_fail("objects were shared: client %u got one that another held", client->number);
    object->uses++;
    client->object = object;
    if (loop->phase == RUN || loop->phase == END)
        count_wait(loop, (loop->phase == RUN ? now : loop->end_ns) - client->asked_ns);
    if (loop->phase == CALL || loop->phase == CROWD) __atomic_store_n(&loop->kept, loop->kept + 1, __ATOMIC_RELEASE);
    else if (plan.stuck && client->number == 0 && loop->phase == RUN)
        return; /* it is found again when the phase ends */
    else if (plan.hold_ns > 0) append(&loop->holding, client, now + plan.hold_ns);
    else finish(client);
}

/* ---- Loops --------------------------------------------------------------- */

static bool is_mine(const struct serve_loop *loop, unsigned number)
{
    return number % plan.loops == loop->number;
}

static void ask_range(struct serve_loop *loop, unsigned first, unsigned end)
{
    unsigned count = 0, mine = 0;
    for (unsigned i = first; i < end; i++) count += is_mine(loop, i);
    char *requests = bench_zeroed(count + 1, playing->request_size);
    for (unsigned i = first; i < end; i++) {
        if (!is_mine(loop, i)) continue;
        if (clients[i].request == NULL) clients[i].request = requests + playing->request_size * mine++;
        ask(&clients[i]);
    }
    set_busy(loop, loop->busy + count);
}

static void rest(struct serve_loop *loop)
{
    loop->end_ns = bench_now();
    for (struct serve_client *client; (client = pop_due(&loop->thinking, INT64_MAX)) != NULL;)
        set_busy(loop, loop->busy - 1);
    if (plan.stuck && is_mine(loop, 0) && clients[0].object != NULL) finish(&clients[0]);
}

/* Whoever kept an object gives it. That may be one of the crowd, if the other loop was here first. */
static void leave(struct serve_loop *loop)
{
    uint64_t keepers = loop->kept;
    for (unsigned i = 0; keepers > 0 && i < plan.size + plan.clients; i++)
        if (is_mine(loop, i) && clients[i].object != NULL) {
            keepers--;
            finish(&clients[i]);
        }
}

static void enter_phase(struct serve_loop *loop, int entered)
{
    loop->phase = entered;
    if (entered == RUN) {
        loop->start_ns = bench_now();
        ask_range(loop, 0, plan.clients);
    } else if (entered == END) {
        rest(loop);
    } else if (entered == CALL) {
        ask_range(loop, 0, plan.size + !plan.pending);
    } else if (entered == CROWD) {
        ask_range(loop, plan.size, plan.size + plan.clients);
    } else {
        leave(loop);
    }
}

static void set_timer(struct serve_loop *loop)
{
    int64_t due = loop->holding.first != NULL ? loop->holding.first->due_ns : INT64_MAX;
    if (loop->thinking.first != NULL && loop->thinking.first->due_ns < due) due = loop->thinking.first->due_ns;
    if (due == loop->armed_ns || due == INT64_MAX) return;
    struct itimerspec when = {{0, 0}, {due / 1000000000, due % 1000000000}};
    timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &when, NULL);
    loop->armed_ns = due;
}

static int read_count(int fd)
{
    uint64_t count;
    return read(fd, &count, sizeof count) > 0 ? (int)count : 0;
}

/* The phase may be seen before its ring is there to be read. */
static void look_at_phase(struct serve_loop *loop)
{
    int now = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);
    if (loop->rings < now / PHASES) loop->rings += read_count(loop->bell);
    if (loop->phase != now % PHASES) enter_phase(loop, now % PHASES);
}

void serve_turn(struct serve_loop *loop)
{
    look_at_phase(loop);
    if (loop->holding.first == NULL && loop->thinking.first == NULL && loop->armed_ns == 0) return;
    int64_t now = bench_now();
    if (loop->armed_ns != 0 && loop->armed_ns <= now) { /* it has rung, or would */
        read_count(loop->timer);
        loop->armed_ns = 0;
    }
    for (struct serve_client *client; (client = pop_due(&loop->holding, now)) != NULL;) finish(client);
    for (struct serve_client *client; (client = pop_due(&loop->thinking, now)) != NULL;) ask(client);
    set_timer(loop);
}

void serve_run(struct serve_loop *loop)
{
    int fds[] = {loop->fd, loop->timer, loop->bell}, poller = epoll_create1(0);
    struct epoll_event events[3] = {{.events = EPOLLIN}};
    for (int i = 0; i < 3; i++)
        if (epoll_ctl(poller, EPOLL_CTL_ADD, fds[i], &events[0]) != 0) bench_fail("epoll cannot watch a descriptor");
    for (unsigned turns = 0;; turns++) {
        serve_turn(loop);
        if (playing->poll(loop) > 0 || !playing->arm(loop)) {
            if (turns < SERVE_TURNS) continue;
            epoll_wait(poller, events, 3, 0);
        } else {
            epoll_wait(poller, events, 3, -1);
            playing->poll(loop); /* awake: what this loop's own clients bring about rings nobody */
        }
        turns = 0;
    }
}

static void loop_body(void *argument)
{
    struct serve_loop *loop = argument;
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    loop->bell = eventfd(0, EFD_NONBLOCK);
    loop->holding.last = &loop->holding.first;
    loop->thinking.last = &loop->thinking.first;
    loop->waits = bench_zeroed(LENGTHS, sizeof *loop->waits);
    playing->enter(loop);
    bench_line_up();
    (playing->run != NULL ? playing->run : serve_run)(loop);
}

/* ---- Main conducts ------------------------------------------------------- */

static void set_phase(int entered)
{
    uint64_t one = 1;
    __atomic_store_n(&phase, (phase / PHASES + 1) * PHASES + entered, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < plan.loops; i++)
        if (write(loops[i].bell, &one, sizeof one) < 0) bench_fail("cannot ring");
}

static uint64_t sum_kept(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < plan.loops; i++) sum += __atomic_load_n(&loops[i].kept, __ATOMIC_ACQUIRE);
    return sum;
}

static uint64_t sum_busy(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < plan.loops; i++) sum += __atomic_load_n(&loops[i].busy, __ATOMIC_ACQUIRE);
    return sum;
}

static void await(uint64_t (*sum)(void), uint64_t wanted, const char *sentence)
{
    int64_t until = bench_now() + INT64_C(1000000000) * (plan.pending ? SERVE_PATIENCE_PENDING_S : SERVE_PATIENCE_S);
    while (sum() != wanted) {
        if (bench_now() > until) bench_fail("%s", sentence);
        bench_sleep(200000);
    }
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* A number of /proc/self/status. */
static double status_of(const char *field)
{
    char line[256];
    double value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, field, strlen(field)) == 0) value = atof(line + strlen(field));
    if (value < 0) bench_fail("cannot read %s", field);
    fclose(file);
    return value;
}

/* The length that the given part of all waits does not exceed, within one step. */
static double percentile_us(double part, uint64_t total, int64_t longest_ns)
{
    uint64_t seen = 0;
    unsigned length = 0;
    for (; length < LENGTHS - 1; length++) {
        for (unsigned i = 0; i < plan.loops; i++) seen += loops[i].waits[length];
        if ((double)seen >= part * (double)total && seen > 0) break;
    }
    double ns = length_end(length);
    return (ns < (double)longest_ns ? ns : (double)longest_ns) / 1000;
}

static void print_run(double cpu_s, double threads, double rss_kib)
{
    uint64_t pairs = 0, waits = 0, uses = 0, starved = 0;
    int64_t start = INT64_MAX, end = 0, longest = 0;
    for (unsigned i = 0; i < plan.loops; i++) {
        pairs += loops[i].pairs;
        start = loops[i].start_ns < start ? loops[i].start_ns : start;
        end = loops[i].end_ns > end ? loops[i].end_ns : end;
        longest = loops[i].longest_ns > longest ? loops[i].longest_ns : longest;
        for (unsigned length = 0; length < LENGTHS; length++) waits += loops[i].waits[length];
    }
    for (unsigned i = 0; i < plan.size; i++) uses += objects[i].uses;
    for (unsigned i = plan.stuck; i < plan.clients; i++) starved += clients[i].pairs == 0;
    if (pairs == 0 || uses < pairs)
        bench_fail("%llu uses in %llu pairs", (unsigned long long)uses, (unsigned long long)pairs);
    if (end <= start) bench_fail("the time was over before anybody had begun");
    double seconds = (double)(end - start) / 1e9;
    printf("pairs=%llu ns=%.2f per_s=%.0f wait_p50_us=%.3f wait_p99_us=%.3f wait_max_us=%.3f",
           (unsigned long long)pairs, (double)(end - start) / (double)pairs, (double)pairs / seconds,
           percentile_us(0.5, waits, longest), percentile_us(0.99, waits, longest), (double)longest / 1e3);
    printf(" starved=%llu threads=%.0f rss_kib=%.0f cpu_s=%.4f cpu_us=%.3f elapsed_ms=%.1f\n",
           (unsigned long long)starved, threads, rss_kib, cpu_s, 1e6 * cpu_s / (double)pairs, seconds * 1e3);
}

static void conduct_run(void)
{
    double cpu = cpu_seconds();
    set_phase(RUN);
    bench_sleep(plan.time_ns);
    cpu = cpu_seconds() - cpu;
    double threads = status_of("Threads:"), rss = status_of("VmRSS:");
    set_phase(END);
    await(sum_busy, 0, "a take was never served: an object was lost");
    set_phase(CALL);
    await(sum_kept, plan.size, "not every object can be lent at once: one was lost");
    bench_sleep(5000000); /* one more has asked: whatever it got would be somebody's */
    print_run(cpu, threads, rss);
}

/* The first clients keep all objects, the others ask and wait, then all are served in turn. */
static void conduct_pending(void)
{
    set_phase(CALL);
    await(sum_kept, plan.size, "not every object can be lent at once: one was lost");
    bench_sleep(20000000);
    double before = status_of("VmRSS:");
    set_phase(CROWD);
    await(sum_busy, plan.size + plan.clients, "not everybody could ask");
    bench_sleep(300000000); /* whoever passes asks on from thread to thread has done so by now */
    double after = status_of("VmRSS:");
    int64_t start = bench_now();
    set_phase(LEAVE);
    await(sum_busy, 0, "a take was never served: an object was lost");
    printf("pending_bytes=%.1f request_bytes=%zu serve_ns=%.1f\n", (after - before) * 1024 / plan.clients,
           playing->request_size, (double)(bench_now() - start) / plan.clients);
}

static void conduct(void)
{
    (plan.pending ? conduct_pending : conduct_run)();
    fflush(stdout);
    _Exit(0); /* somebody may be waiting for one more object */
}

/* ---- Arguments ----------------------------------------------------------- */

static bool parse_number(const char *word, const char *name, int64_t *out)
{
    size_t length = strlen(name);
    if (strncmp(word, name, length) != 0) return false;
    *out = (int64_t)bench_number(word + length, 0, INT64_MAX);
    return true;
}

static void parse_word(const char *word)
{
    int64_t count;
    char padded[64];
    snprintf(padded, sizeof padded, " %s ", word);
    if (parse_number(word, "loops=", &count) && count > 0 && count <= SERVE_LOOPS_MAX) plan.loops = (unsigned)count;
    else if (parse_number(word, "uses=", &count)) plan.uses = (uint64_t)count;
    else if (strcmp(word, "stuck") == 0) plan.stuck = true;
    else if (strstr(playing->flavours, padded) != NULL) plan.flavour = word;
    else if (!parse_number(word, "think=", &plan.think_ns) && !parse_number(word, "open=", &plan.open_ns) &&
             !parse_number(word, "test=", &plan.test_ns) && !parse_number(word, "every=", &plan.every_ns))
        bench_fail("%s is none of: loops= think= open= test= every= uses= stuck%s", word, playing->flavours);
}

static void parse(int argc, char **argv)
{
    plan.loops = 2;
    plan.flavour = "";
    plan.pending = argc > 2 && strcmp(argv[1], "pending") == 0;
    if (!plan.pending && argc < 5)
        bench_fail("usage: %s CLIENTS SIZE HOLD-NS SECONDS [...] | pending CLIENTS [...]", argv[0]);
    for (int i = plan.pending ? 3 : 5; i < argc; i++) parse_word(argv[i]);
    plan.clients = (unsigned)bench_number(argv[plan.pending ? 2 : 1], 1, 10000000);
    if (plan.pending) {
        plan.size = plan.loops;
        return;
    }
    plan.size = (unsigned)bench_number(argv[2], 1, 1000000);
    plan.hold_ns = (int64_t)bench_number(argv[3], 0, 1000000000);
    plan.time_ns = (int64_t)(atof(argv[4]) * 1e9);
    if (plan.time_ns <= 0 || plan.size % plan.loops != 0)
        bench_fail("the time must be positive, and the objects must divide by the loops");
}

int serve_main(int argc, char **argv, const struct serve_contestant *contestant)
{
    playing = contestant;
    parse(argc, argv);
    unsigned most = plan.size + 1 + plan.clients;
    clients = bench_zeroed(most, sizeof *clients);
    objects = bench_zeroed(plan.size, sizeof *objects);
    loops = bench_zeroed(plan.loops, sizeof *loops);
    for (unsigned i = plan.size; i > 0; i--) serve_shelve(&objects[i - 1]);
    for (unsigned i = 0; i < plan.loops; i++) loops[i] = (struct serve_loop){.number = i, .plan = &plan, .fd = -1};
    for (unsigned i = 0; i < most; i++) clients[i] = (struct serve_client){.loop = &loops[i % plan.loops], .number = i};
    serve_start_server();
    playing->make(&plan);
    bench_together(plan.loops, loops, sizeof *loops, loop_body, conduct);
    return 0;
}
