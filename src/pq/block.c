/* SPDX-License-Identifier: MIT */
/* The blocking calls. They run on a helper of the pool's runtime; a test may also run on the thread that takes. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "pq/internal.h"

static const int64_t MS = 1000000;

/* Return the milliseconds until then, rounded up; -1: no limit. */
static int remaining(int64_t until)
{
    if (until == INT64_MAX) return -1;
    int64_t ns = until - cen_clock();
    if (ns <= 0) return 0;
    int64_t ms = (ns + MS - 1) / MS;
    return ms > 3600000 ? 3600000 : (int)ms;
}

static int await_socket(ceni_pq_work *work, int wants)
{
    short events = (short)((wants & CENI_PQ_READ ? POLLIN : 0) | (wants & CENI_PQ_WRITE ? POLLOUT : 0));
    struct pollfd waiting[] = {{.fd = PQsocket(work->conn), .events = events},
                               {.fd = work->state->exits, .events = POLLIN}};
    int ms = remaining(work->until), ready = poll(waiting, 2, ms);
    if (ready > 0 && waiting[1].revents) {
        ceni_pq_give_up(work, CEN_CLOSED, "process is exiting");
        return CENI_PQ_DONE;
    }
    if (ready > 0) return ceni_pq_go(work);
    if (ready < 0 && errno != EINTR) {
        ceni_pq_give_up(work, CEN_SYSTEM, "poll(2) failed");
        return CENI_PQ_DONE;
    }
    return cen_clock() >= work->until ? ceni_pq_late(work) : wants;
}

static cen_status finish(ceni_pq_work *work, cen_error *error)
{
    int wants = ceni_pq_go(work);
    while (wants != CENI_PQ_DONE) {
        if (wants == CENI_PQ_CANCEL) {
            ceni_pq_cancel(work->link->stop, NULL, NULL);
            work->was_sent = ceni_pq_await_cancel(work->link->stop, work->until);
            wants = ceni_pq_go(work);
        } else {
            wants = await_socket(work, wants);
        }
    }
    *error = work->error;
    return work->status;
}

void ceni_pq_cancel_all(void *argument)
{
    const ceni_pq_state *state = argument;
    if (state->exits >= 0 && state->process == getpid()) (void)!write(state->exits, &(uint64_t){1}, sizeof(uint64_t));
}

cen_status ceni_pq_open(void *state, void **out, cen_error *error)
{
    ceni_pq_work work;
    ceni_pq_work_init(&work, state, NULL, CENI_PQ_OPENING);
    cen_status status = finish(&work, error);
    if (status == CEN_OK) *out = work.conn;
    return status;
}

cen_status ceni_pq_test(void *state, void *conn, cen_error *error)
{
    ceni_pq_work work;
    ceni_pq_work_init(&work, state, conn, CENI_PQ_TESTING);
    return finish(&work, error);
}

cen_status ceni_pq_reset(void *state, void *conn, cen_error *error)
{
    ceni_pq_work work;
    ceni_pq_work_init(&work, state, conn, CENI_PQ_RESETTING);
    return finish(&work, error);
}
