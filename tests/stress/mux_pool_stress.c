/* SPDX-License-Identifier: MIT */
/*
 * Requests over a routing pool of eight connections by threads of the system, some that ask and some that wait, while the server
 * answers out of order and from several threads, and kills a connection every 50 ms. The registry dies a few times, too.
 *
 * The oracle: every request was answered, failed or was cancelled, once: one that is told twice, or after its cancel, finds its state
 * wrong; one that is never told keeps its thread waiting. A reply is what the server makes of that very request. The pool has
 * counted the same, and none was given a connection that was known to be lost.
 *
 *     CENOTE_STRESS_REQUESTS=n   how many; default 60000
 *     CENOTE_SEED=n              the same choices, though not the same schedule
 */
#include <cenote/mux_pool.h>

#include "unit/net/pools.h"

#include "stress/mux_load.h" /* whose `server` is no parameter's */

enum { ASKERS = 2, WAITERS = 2, WINDOW = 64, IDLE = 0, ASKED = 1 };

typedef struct task {
    cen_mux_pool_request_op asking; /* first */
    _Atomic uint32_t state;
    size_t size;
    unsigned char payload[MOST], reply[MOST];
    struct asker *asker;
} task;

typedef struct asker {
    ceni_thread thread;
    uint64_t dice, quota;
    _Atomic uint32_t told; /* a futex */
    task tasks[WINDOW];
} asker;

static cen_mux_pool *pool;
static asker askers[ASKERS + WAITERS];
static _Atomic uint64_t answered, lost, late, interrupted, cancelled;

/* ---- What is expected of one ------------------------------------------------------------------------------------ */

static void check_end(const task *self, const cen_request *request, cen_status status)
{
    switch (status) {
    case CEN_OK:
        expect_answer(self->payload, self->size, request->reply, request->reply_size);
        ceni_add_seq_cst(&answered, 1u);
        break;
    case CEN_LOST: ceni_add_seq_cst(&lost, 1u); break;
    case CEN_TIMEOUT: ceni_add_seq_cst(&late, 1u); break;
    case CEN_INTERRUPTED: ceni_add_seq_cst(&interrupted, 1u); break;
    default: test_fail(__FILE__, __LINE__, "a request ended with %s", cen_status_name(status));
    }
}

static void prepare(asker *self, task *one, cen_request *request)
{
    uint64_t dice = test_random(&self->dice);
    one->asker = self;
    one->size = make_payload(&self->dice, one->payload);
    request->payload = one->payload;
    request->size = one->size;
    bool allocates = dice % 8 == 0, hurries = (dice >> 16) % 200 == 0;
    request->reply = allocates ? NULL : one->reply;
    request->capacity = allocates ? 0 : sizeof one->reply;
    request->deadline = hurries ? cen_in_us(300) : cen_in_s(60);
}

/* ---- Those who ask --------------------------------------------------------------------------------------------------- */

static void told(cen_future *future)
{
    task *one = (task *)(void *)future;
    asker *self = one->asker;
    expect_equal(ceni_load_seq_cst(&one->state), ASKED);
    check_end(one, &one->asking.request, future->status);
    cen_request_free_reply(&one->asking.request);
    ceni_store_seq_cst(&one->state, (uint32_t)IDLE);
    ceni_add_seq_cst(&self->told, 1u);
    ceni_futex_wake(&self->told, 1);
}

static void ask(asker *self, task *one)
{
    cen_mux_pool_request_op_init(&one->asking, NULL, NULL);
    prepare(self, one, &one->asking.request);
    bool regrets = test_random(&self->dice) % 50 == 0;
    ceni_store_seq_cst(&one->state, (uint32_t)ASKED);
    if (regrets) { /* without a `done`, so that nothing lets go of the struct under its cancel */
        expect_equal(cen_mux_pool_request_async(pool, &one->asking), CEN_OK);
        if (cen_future_cancel(&one->asking.future)) {
            ceni_add_seq_cst(&cancelled, 1u);
        } else {
            expect_equal(cen_future_wait(&one->asking.future, CEN_NEVER), CEN_OK);
            check_end(one, &one->asking.request, one->asking.future.status);
            cen_request_free_reply(&one->asking.request);
        }
        expect_equal(ceni_exchange_seq_cst(&one->state, (uint32_t)IDLE), ASKED);
        return;
    }
    expect_equal(cen_future_then(&one->asking.future, told, cen_inline()), CEN_OK);
    expect_equal(cen_mux_pool_request_async(pool, &one->asking), CEN_OK);
}

static unsigned idle_tasks(asker *self)
{
    unsigned idle = 0;
    for (unsigned i = 0; i < WINDOW; i++) idle += ceni_load_seq_cst(&self->tasks[i].state) == IDLE;
    return idle;
}

static void ask_all(void *argument)
{
    asker *self = argument;
    for (uint64_t done = 0; done < self->quota;) {
        uint32_t seen = ceni_load_seq_cst(&self->told);
        bool any = false;
        for (unsigned i = 0; i < WINDOW && done < self->quota; i++) {
            if (ceni_load_seq_cst(&self->tasks[i].state) != IDLE) continue;
            any = true;
            ask(self, &self->tasks[i]);
            done++;
        }
        if (!any) ceni_futex_wait(&self->told, seen, CENI_FOREVER);
    }
    for (uint32_t seen; seen = ceni_load_seq_cst(&self->told), idle_tasks(self) < WINDOW;)
        ceni_futex_wait(&self->told, seen, CENI_FOREVER);
}

/* ---- Those who wait ---------------------------------------------------------------------------------------------------- */

static void wait_for_all(void *argument)
{
    asker *self = argument;
    task *one = &self->tasks[0];
    for (uint64_t done = 0; done < self->quota; done++) {
        cen_request request;
        cen_request_init(&request, NULL, NULL);
        prepare(self, one, &request);
        check_end(one, &request, cen_mux_pool_request(pool, NULL, &request, NULL));
        cen_request_free_reply(&request);
    }
}

static void kill_the_registry(void *argument)
{
    uint64_t *deaths = argument;
    for (unsigned rounds = 1; !ceni_load_seq_cst(&over); rounds++) {
        ceni_sleep_until(ceni_clock_now() + 20 * ms);
        if (rounds % 8) continue;
        *deaths += cen_child_report_ended(child_named(cen_mux_pool_supervisor(pool), "registry"),
                                          &(cen_error){.status = CEN_DRIVER});
    }
}

/* ---- All of it ------------------------------------------------------------------------------------------------------------ */

static void compare_counts(uint64_t total)
{
    cen_mux_pool_stats now = pool_stats(pool);
    uint64_t given_up = ceni_load_seq_cst(&cancelled) + ceni_load_seq_cst(&interrupted);
    printf("     %" PRIu64 " requests: %" PRIu64 " answered, %" PRIu64 " lost, %" PRIu64 " late, %" PRIu64
           " cancelled, %" PRIu64 " interrupted; %" PRIu64 " connections killed, %" PRIu64 " opened, %" PRIu64
           " rerouted, registry started %" PRIu64 " times\n",
           total, ceni_load_seq_cst(&answered), ceni_load_seq_cst(&lost), ceni_load_seq_cst(&late),
           ceni_load_seq_cst(&cancelled), ceni_load_seq_cst(&interrupted), ceni_load_seq_cst(&kills), now.opened,
           now.rerouted, now.registry_starts);
    expect_equal(ceni_load_seq_cst(&answered) + ceni_load_seq_cst(&lost) + ceni_load_seq_cst(&late) + given_up, total);
    expect_equal(now.answered, ceni_load_seq_cst(&answered));
    expect_equal(now.lost_requests, ceni_load_seq_cst(&lost));
    expect_equal(now.timed_out, ceni_load_seq_cst(&late));
    expect_equal(now.cancelled, given_up);
    expect_equal(now.refused + now.closed + now.failed, 0);
    expect_equal(now.in_flight, 0);
    expect_equal(now.stale, 0);
    expect(ceni_load_seq_cst(&answered) > total / 2);
}

static void load(const char *address, unsigned share, bool registry_dies)
{
    const char *text = getenv("CENOTE_STRESS_REQUESTS");
    uint64_t total = (text ? strtoull(text, NULL, 10) : 60000) / share, seed = test_seed(), deaths = 0;
    ceni_thread others[3];
    cen_loop *loop;
    alarm((unsigned)(120 + total / 1000));
    bag_dice = test_random(&seed);
    serve_on(address, &loop);
    pool = POOL(.address = cen_mux_server_address(server), .mux = &CEN_MUX_OPTIONS(.max_in_flight = 256),
                .wait_deadline = cen_in_s(60), .backoff_initial_ns = ms, .backoff_max_ns = 20 * ms);
    start(&others[0], empty_bag, NULL);
    start(&others[1], kill_now_and_then, NULL);
    if (registry_dies) start(&others[2], kill_the_registry, &deaths);
    uint64_t waited = total / 20; /* one at a time is slow: most are asked */
    for (unsigned i = 0; i < ASKERS + WAITERS; i++) {
        askers[i].dice = test_random(&seed);
        askers[i].quota = i < ASKERS ? total / ASKERS - waited : waited;
        start(&askers[i].thread, i < ASKERS ? ask_all : wait_for_all, &askers[i]);
    }
    total = (total / ASKERS - waited) * ASKERS + waited * WAITERS;
    for (unsigned i = 0; i < ASKERS + WAITERS; i++) ceni_thread_join(&askers[i].thread);
    ceni_store_seq_cst(&over, 1u);
    for (unsigned i = 0; i < (registry_dies ? 3 : 2); i++) ceni_thread_join(&others[i]);
    compare_counts(total);
    expect_equal(cen_mux_pool_close(pool, cen_in_s(60), NULL, NULL), CEN_OK);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    cen_mux_server_stop(server);
    expect_equal(cen_loop_free(loop), CEN_OK);
    AWAIT(cen_loop_users(NULL) == 0);
}

/* guarantees: mux-pool.once */
TEST(every_request_of_a_pool_ends_once_while_its_connections_are_killed)
{
    load("127.0.0.1:0", 1, false);
}

/* guarantees: mux-pool.once */
TEST(every_request_of_a_pool_ends_once_while_its_registry_is_killed_as_well)
{
    char path[64];
    snprintf(path, sizeof path, "unix:/tmp/cenote-pool-%ld.sock", (long)getpid());
    load(path, 2, true);
}
