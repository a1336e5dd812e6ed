/* SPDX-License-Identifier: MIT */
/*
 * Requests over eight connections by threads of the system, some that ask and some that wait, while the server answers
 * out of order and from several threads, and kills a connection every 50 ms, which is then opened again.
 *
 * And connections that are closed and freed in the moment in which they are killed.
 *
 * The oracle: every request was answered, failed or was cancelled, once: one that is told twice, or after its cancel, finds its state
 * wrong; one that is never told keeps its thread waiting. A reply is what the server makes of that very request.
 *
 *     CENOTE_STRESS_REQUESTS=n   how many; default 60000
 *     CENOTE_SEED=n              the same choices, though not the same schedule
 */
#include <cenote/mux.h>

#include "stress/mux_load.h"

enum { LINES = 8, ASKERS = 2, WAITERS = 2, WINDOW = 64 };

/* ---- The connections, opened again when they were lost --------------------------------------------------------- */

typedef struct line {
    pthread_rwlock_t lock; /* read: somebody uses mux */
    cen_mux *mux;
    cen_future ended;
    _Atomic uint32_t is_lost;
} line;

static line lines[LINES];
static _Atomic uint32_t losses; /* a futex for the one who opens */

static void note_end(cen_future *ended)
{
    line *self = ended->user;
    ceni_store_seq_cst(&self->is_lost, 1u);
    ceni_add_seq_cst(&losses, 1u);
    ceni_futex_wake(&losses, 1);
}

static cen_mux *open_line(line *self)
{
    cen_mux *mux;
    cen_error error = {.text = ""};
    cen_mux_options options = CEN_MUX_OPTIONS(.address = cen_mux_server_address(server), .max_in_flight = 256);
    if (cen_mux_open(&options, &mux, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    cen_future_init(&self->ended);
    self->ended.user = self;
    ceni_store_seq_cst(&self->is_lost, 0u);
    expect_equal(cen_future_then(&self->ended, note_end, cen_inline()), CEN_OK);
    expect_equal(cen_mux_watch(mux, &self->ended), CEN_OK);
    return mux;
}

static void open_again(void *argument)
{
    (void)argument;
    for (uint32_t seen; seen = ceni_load_seq_cst(&losses), !ceni_load_seq_cst(&over);) {
        for (unsigned i = 0; i < LINES; i++) {
            line *self = &lines[i];
            if (!ceni_load_seq_cst(&self->is_lost)) continue;
            cen_mux *fresh = open_line(self), *lost = self->mux;
            pthread_rwlock_wrlock(&self->lock);
            self->mux = fresh;
            pthread_rwlock_unlock(&self->lock);
            cen_mux_free(lost);
        }
        ceni_futex_wait(&losses, seen, ceni_clock_now() + 20000000);
    }
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

enum { IDLE, ASKED };

typedef struct question {
    cen_request request; /* first */
    _Atomic uint32_t state;
    size_t size;
    unsigned char payload[MOST], reply[MOST];
    struct asker *asker;
} question;

typedef struct asker {
    ceni_thread thread;
    uint64_t dice, quota;
    _Atomic uint32_t told; /* a futex */
    question questions[WINDOW];
} asker;

static asker askers[ASKERS + WAITERS];
static _Atomic uint64_t answered, lost, late, cancelled, refused;

static void check_answer(question *q, cen_status status)
{
    if (status == CEN_LOST) {
        ceni_add_seq_cst(&lost, 1u);
        return;
    }
    if (status == CEN_TIMEOUT) {
        ceni_add_seq_cst(&late, 1u);
        return;
    }
    expect_equal(status, CEN_OK);
    expect_answer(q->payload, q->size, q->request.reply, q->request.reply_size);
    ceni_add_seq_cst(&answered, 1u);
}

static void told(cen_request *request)
{
    question *q = (question *)(void *)request;
    asker *self = q->asker;
    expect_equal(ceni_load_seq_cst(&q->state), ASKED);
    check_answer(q, request->future.status);
    cen_request_free_reply(request);
    ceni_store_seq_cst(&q->state, (uint32_t)IDLE);
    ceni_add_seq_cst(&self->told, 1u);
    ceni_futex_wake(&self->told, 1);
}

static void make_question(asker *self, question *q, bool asks)
{
    uint64_t dice = test_random(&self->dice);
    cen_request_init(&q->request, asks ? told : NULL, asks ? cen_inline() : NULL);
    q->asker = self;
    q->size = make_payload(&self->dice, q->payload);
    q->request.payload = q->payload;
    q->request.size = q->size;
    bool allocates = (dice >> 8) % 8 == 0, hurries = (dice >> 16) % 200 == 0;
    q->request.reply = allocates ? NULL : q->reply;
    q->request.capacity = allocates ? 0 : sizeof q->reply;
    q->request.deadline = hurries ? cen_in_us(300) : cen_in_s(60);
}

static line *choose_line(asker *self)
{
    line *chosen = &lines[test_random(&self->dice) % LINES];
    pthread_rwlock_rdlock(&chosen->lock);
    return chosen;
}

/* One that was refused because its connection is gone, or full, was no request. */
static void be_refused(cen_status status)
{
    expect(status == CEN_LOST || status == CEN_FULL);
    ceni_add_seq_cst(&refused, 1u);
    ceni_sleep_until(ceni_clock_now() + 100000);
}

static bool ask(asker *self, question *q)
{
    make_question(self, q, true);
    bool regrets = test_random(&self->dice) % 50 == 0;
    line *chosen = choose_line(self);
    ceni_store_seq_cst(&q->state, (uint32_t)ASKED);
    cen_status status = cen_mux_request_async(chosen->mux, &q->request, NULL);
    if (status == CEN_OK && regrets && cen_future_cancel(&q->request.future)) {
        ceni_store_seq_cst(&q->state, (uint32_t)IDLE);
        ceni_add_seq_cst(&cancelled, 1u);
    }
    pthread_rwlock_unlock(&chosen->lock);
    if (status == CEN_OK) return true;
    ceni_store_seq_cst(&q->state, (uint32_t)IDLE);
    be_refused(status);
    return false;
}

static unsigned idle_questions(asker *self)
{
    unsigned idle = 0;
    for (unsigned i = 0; i < WINDOW; i++) idle += ceni_load_seq_cst(&self->questions[i].state) == IDLE;
    return idle;
}

static void ask_all(void *argument)
{
    asker *self = argument;
    for (uint64_t done = 0; done < self->quota;) {
        uint32_t seen = ceni_load_seq_cst(&self->told);
        bool any = false;
        for (unsigned i = 0; i < WINDOW && done < self->quota; i++) {
            if (ceni_load_seq_cst(&self->questions[i].state) != IDLE) continue;
            any = true;
            done += ask(self, &self->questions[i]);
        }
        if (!any) ceni_futex_wait(&self->told, seen, CENI_FOREVER);
    }
    for (uint32_t seen; seen = ceni_load_seq_cst(&self->told), idle_questions(self) < WINDOW;)
        ceni_futex_wait(&self->told, seen, CENI_FOREVER);
}

static void wait_for_all(void *argument)
{
    asker *self = argument;
    question *q = &self->questions[0];
    for (uint64_t done = 0; done < self->quota;) {
        make_question(self, q, false);
        line *chosen = choose_line(self);
        cen_mux_stats before = CEN_SIZED(cen_mux_stats);
        expect_equal(cen_mux_stats_get(chosen->mux, &before), CEN_OK);
        cen_status status = cen_mux_request(chosen->mux, &q->request, NULL);
        pthread_rwlock_unlock(&chosen->lock);
        if (before.state == CEN_MUX_ENDED || status == CEN_FULL) {
            be_refused(before.state == CEN_MUX_ENDED ? CEN_LOST : CEN_FULL);
            continue;
        }
        check_answer(q, status);
        cen_request_free_reply(&q->request);
        done++;
    }
}

/* ---- All of it ------------------------------------------------------------------------------------------------------ */

static void begin_all(const char *address, cen_loop **loop)
{
    pthread_rwlockattr_t fair; /* whoever opens again is not kept out by those who find it lost */
    pthread_rwlockattr_init(&fair);
    pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    serve_on(address, loop);
    for (unsigned i = 0; i < LINES; i++) {
        pthread_rwlock_init(&lines[i].lock, &fair);
        lines[i].mux = open_line(&lines[i]);
    }
    pthread_rwlockattr_destroy(&fair);
}

static void end_all(cen_loop *loop)
{
    for (unsigned i = 0; i < LINES; i++) {
        cen_status status = cen_mux_close(lines[i].mux, cen_in_s(60), NULL);
        expect(status == CEN_OK || status == CEN_LOST);
        cen_mux_free(lines[i].mux);
        pthread_rwlock_destroy(&lines[i].lock);
    }
    cen_mux_server_stop(server);
    expect_equal(cen_loop_free(loop), CEN_OK);
    expect_equal(cen_loop_users(NULL), 0);
}

static void load(const char *address, unsigned share)
{
    const char *text = getenv("CENOTE_STRESS_REQUESTS");
    uint64_t total = (text ? strtoull(text, NULL, 10) : 60000) / share, seed = test_seed();
    ceni_thread others[3];
    cen_loop *loop;
    alarm((unsigned)(120 + total / 1000));
    bag_dice = test_random(&seed);
    begin_all(address, &loop);
    int64_t began = ceni_clock_now();
    start(&others[0], empty_bag, NULL);
    start(&others[1], open_again, NULL);
    start(&others[2], kill_now_and_then, NULL);
    uint64_t waited = total / 20; /* one at a time is slow: most are asked */
    for (unsigned i = 0; i < ASKERS + WAITERS; i++) {
        askers[i].dice = test_random(&seed);
        askers[i].quota = i < ASKERS ? total / ASKERS - waited : waited;
        start(&askers[i].thread, i < ASKERS ? ask_all : wait_for_all, &askers[i]);
    }
    total = (total / ASKERS - waited) * ASKERS + waited * WAITERS;
    for (unsigned i = 0; i < ASKERS + WAITERS; i++) ceni_thread_join(&askers[i].thread);
    int64_t took = ceni_clock_now() - began;
    ceni_store_seq_cst(&over, 1u);
    for (unsigned i = 0; i < 3; i++) ceni_thread_join(&others[i]);
    end_all(loop);
    uint64_t ended = ceni_load_seq_cst(&answered) + ceni_load_seq_cst(&lost) + ceni_load_seq_cst(&late) +
                     ceni_load_seq_cst(&cancelled);
    printf("     %" PRIu64 " requests in %.1f s: %" PRIu64 " answered, %" PRIu64 " lost, %" PRIu64 " late, %" PRIu64
           " cancelled; %" PRIu64 " refused; %" PRIu64 " connections killed\n",
           total, (double)took / 1e9, ceni_load_seq_cst(&answered), ceni_load_seq_cst(&lost), ceni_load_seq_cst(&late),
           ceni_load_seq_cst(&cancelled), ceni_load_seq_cst(&refused), ceni_load_seq_cst(&kills));
    expect_equal(ended, total);
    expect(ceni_load_seq_cst(&answered) > total / 2);
    expect(took < 3 * KILL_MS * INT64_C(1000000) || ceni_load_seq_cst(&kills) > 0);
}

/* guarantees: mux.once */
TEST(every_request_over_tcp_ends_once_while_connections_are_killed)
{
    load("127.0.0.1:0", 1);
}

/* guarantees: mux.once */
TEST(every_request_over_unix_sockets_ends_once_while_connections_are_killed)
{
    char path[64];
    snprintf(path, sizeof path, "unix:/tmp/cenote-stress-%ld.sock", (long)getpid());
    load(path, 4);
}

/* ---- The end, from both sides at once --------------------------------------------------------------------------------- */

typedef struct waiter {
    ceni_thread thread;
    cen_mux *mux;
    cen_status status;
} waiter;

static void wait_once(void *argument)
{
    waiter *self = argument;
    cen_request request;
    cen_request_init(&request, NULL, NULL);
    request.payload = "w", request.size = 1;
    self->status = cen_mux_request(self->mux, &request, NULL);
    cen_request_free_reply(&request);
}

static void keep_all(void *argument, cen_mux_call *call)
{
    (void)argument;
    exchange_in_bag(call, BAG);
}

static unsigned calls_in_bag(void)
{
    pthread_mutex_lock(&bag_lock);
    unsigned count = in_bag;
    pthread_mutex_unlock(&bag_lock);
    return count;
}

static void spin(uint64_t ns)
{
    for (int64_t until = ceni_clock_now() + (int64_t)ns; ceni_clock_now() < until;) continue;
}

static _Atomic uint64_t to_kill;

static void kill_when_told(void *argument)
{
    (void)argument;
    while (!ceni_load_seq_cst(&over)) {
        uint64_t number = ceni_exchange_acq_rel(&to_kill, (uint64_t)0);
        if (number) cen_mux_server_kill(server, number);
        else ceni_thread_yield();
    }
}

/* One connection with requests that are asked, one that is waited for, and whoever wants to hear of its end. */
static void end_from_both_sides(uint64_t *dice, uint64_t number, unsigned ends[3])
{
    enum { ASKS = 8 };
    static cen_request requests[ASKS];
    waiter one = {.status = CEN_OK};
    cen_future ended;
    cen_mux_options options = CEN_MUX_OPTIONS(.address = cen_mux_server_address(server));
    expect_equal(cen_mux_open(&options, &one.mux, NULL), CEN_OK);
    cen_future_init(&ended);
    expect_equal(cen_mux_watch(one.mux, &ended), CEN_OK);
    for (unsigned i = 0; i < ASKS; i++) {
        cen_request_init(&requests[i], NULL, NULL);
        requests[i].payload = "a", requests[i].size = 1;
        expect_equal(cen_mux_request_async(one.mux, &requests[i], NULL), CEN_OK);
    }
    start(&one.thread, wait_once, &one);
    /* so the server knows the client, and nobody begins a call any more */
    while (calls_in_bag() < ASKS + 1) ceni_thread_yield();
    ceni_store_seq_cst(&to_kill, number);
    spin(test_random(dice) % 60000);
    unsigned how = (unsigned)(test_random(dice) % 3);
    cen_status closed = how == 0 ? CEN_LOST : cen_mux_close(one.mux, how == 1 ? CEN_NOW : CEN_NEVER, NULL);
    expect(closed == CEN_LOST || (how == 1 && closed == CEN_TIMEOUT));
    cen_mux_free(one.mux);
    expect(cen_future_is_done(&ended));
    expect(ended.status == CEN_LOST || (ended.status == CEN_OK && how != 2));
    ends[ended.status == CEN_OK]++;
    ceni_thread_join(&one.thread);
    expect(one.status == CEN_LOST || one.status == CEN_CLOSED);
    for (unsigned i = 0; i < ASKS; i++) {
        expect_equal(cen_future_wait(&requests[i].future, cen_in_s(60)), CEN_OK);
        expect(requests[i].future.status == CEN_LOST || requests[i].future.status == CEN_CLOSED);
    }
}

/* guarantees: mux.once */
TEST(a_connection_that_is_killed_while_it_is_closed_or_freed_tells_everybody_once)
{
    const char *text = getenv("CENOTE_STRESS_REQUESTS");
    uint64_t rounds = (text ? strtoull(text, NULL, 10) : 60000) / 100, seed = test_seed();
    unsigned ends[3] = {0};
    ceni_thread killer;
    cen_loop *loop;
    cen_mux_server_options options = CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = keep_all);
    alarm((unsigned)(120 + rounds / 50));
    expect_equal(cen_loop_new(NULL, &loop, NULL), CEN_OK);
    options.loop = loop;
    expect_equal(cen_mux_server_start(&options, &server, NULL), CEN_OK);
    start(&killer, kill_when_told, NULL);
    for (uint64_t round = 1; round <= rounds; round++) {
        end_from_both_sides(&seed, round, ends);
        for (cen_mux_call *call; (call = exchange_in_bag(NULL, 0));) cen_mux_call_drop(call);
    }
    ceni_store_seq_cst(&over, 1u);
    ceni_thread_join(&killer);
    cen_mux_server_stop(server);
    for (cen_mux_call *call; (call = exchange_in_bag(NULL, 0));) cen_mux_call_drop(call);
    expect_equal(cen_loop_free(loop), CEN_OK);
    expect_equal(cen_loop_users(NULL), 0);
    printf("     %" PRIu64 " connections: %u were lost first, %u closed\n", rounds, ends[0], ends[1]);
}
