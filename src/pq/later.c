/* SPDX-License-Identifier: MIT */
/*
 * The asynchronous calls: the steps of work.c, driven by a poller.
 *
 * A call belongs to one thread at a time, its owner, and only the owner touches `work`. Ownership passes through the
 * watch:
 *
 *     the thread that started it  --watch-->  none  --ready-->    the poller's thread, in `ready`
 *                                                   --unwatch-->  the pool's cancel, if its unwatch returns true
 *     the thread that needs a name lookup  --post-->  a helper of the process's own runtime, in `look_up`
 *
 * Only an owner watches, and without the lock, because the poller may call the program's allocator. Before that, under
 * the lock, it has checked whether the call was cancelled, and published what it is about to watch. A cancel sets its
 * flag under the lock. If it then finds nothing to unwatch, either it finds the published descriptor and makes it
 * ready, so that the poller calls `ready` at once; or the current owner will see the flag. An owner ends the call once,
 * in `finish`. After that has reported the end to the pool, the pool and with it the state may be gone.
 *
 * A cancel request to the server (stop.c) may end long after the call, the pool and the poller. So it touches only the
 * call's own memory, which is reference-counted, and a pipe in it, whose other end is watched instead of the
 * connection's socket.
 *
 * fork: the poller is the parent's, and the lock may have been held. Calls in a child return FORKED before anything is
 * touched.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cenote/poller.h>

#include "pq/internal.h"

typedef struct ceni_pq_later {
    /* only the owner */
    ceni_pq_work work;
    cen_watch watch;
    cen_job job;
    /* fixed */
    cen_ticket ticket;
    ceni_pq_state *state;
    /* under state->lock */
    struct ceni_pq_later *next;
    bool is_cancelled;
    int socket, bell; /* what a cancel makes ready: the connection's socket, or the pipe's write end; else -1 */
    /* any thread */
    _Atomic uint32_t refs; /* one of the call, one of the cancel request, one of each ceni_pq_cancel_call */
    _Atomic bool was_sent; /* written before the byte in the pipe */
    int pipe[2];           /* constant once a request was sent; -1: none */
} ceni_pq_later;

static void drop(ceni_pq_later *self)
{
    if (--self->refs) return;
    for (int i = 0; i < 2; i++)
        if (self->pipe[i] >= 0) close(self->pipe[i]);
    free(self);
}

static void finish(ceni_pq_later *self)
{
    ceni_pq_state *state = self->state;
    pthread_mutex_lock(&state->lock);
    ceni_pq_later **link = &state->works;
    while (*link != self) link = &(*link)->next;
    *link = self->next;
    pthread_mutex_unlock(&state->lock);
    cen_status status = self->work.status;
    PGconn *opened = self->work.kind == CENI_PQ_OPENING && status == CEN_OK ? self->work.conn : NULL;
    cen_status told = cen_driver_done(self->ticket, status, opened, &self->work.error);
    if (told != CEN_OK && opened) ceni_pq_finish(opened);
    drop(self);
}

/* ---- Cancel requests ------------------------------------------------------------------------------- */

static void heard(void *argument, bool sent)
{
    ceni_pq_later *self = argument;
    self->was_sent = sent;
    ssize_t written = write(self->pipe[1], "", 1);
    (void)written; /* an empty pipe has room */
    drop(self);
}

static bool send_cancel(ceni_pq_later *self)
{
    char byte;
    if (self->pipe[0] >= 0) {
        ssize_t got = read(self->pipe[0], &byte, 1); /* the byte of the previous request */
        (void)got;
        self->was_sent = false;
    } else if (pipe(self->pipe)) {
        self->pipe[0] = self->pipe[1] = -1;
        ceni_pq_give_up(&self->work, CEN_SYSTEM, "out of file descriptors for a cancel request");
        return false;
    }
    for (int i = 0; i < 2; i++) fcntl(self->pipe[i], F_SETFD, FD_CLOEXEC);
    self->refs++;
    ceni_pq_cancel(self->work.link->stop, heard, self);
    return true;
}

/* ---- The owner --------------------------------------------------------------------------------------- */

/* Publish what a cancel makes ready from now on. Returns false if the call was cancelled before. */
static bool expose(ceni_pq_later *self, int socket, int bell)
{
    pthread_mutex_lock(&self->state->lock);
    bool goes_on = !self->is_cancelled;
    self->socket = goes_on ? socket : -1;
    self->bell = goes_on ? bell : -1;
    pthread_mutex_unlock(&self->state->lock);
    return goes_on;
}

/* Returns false if the owner has to go on itself. */
static bool watch(ceni_pq_later *self, int wants)
{
    bool is_request = wants == CENI_PQ_CANCEL;
    int fd = is_request ? self->pipe[0] : PQsocket(self->work.conn);
    cen_status status = CEN_OK;
    bool is_cancelled = !expose(self, is_request ? -1 : fd, is_request ? self->pipe[1] : -1);
    if (!is_cancelled)
        status = cen_poller_watch(self->state->options.poller, &self->watch, fd,
                                  is_request ? CEN_READABLE : (unsigned)wants, cen_at(self->work.until), NULL);
    if (!is_cancelled && status == CEN_OK) return true;
    (void)expose(self, -1, -1);
    if (is_cancelled) ceni_pq_give_up(&self->work, CEN_INTERRUPTED, "call cancelled");
    else ceni_pq_give_up(&self->work, status, "cannot watch the socket");
    return false;
}

static void look_up(cen_job *job);

static void drive(ceni_pq_later *self, int wants)
{
    if (wants == CENI_PQ_LOOKUP) {
        cen_executor *helpers = cen_runtime_executor(NULL);
        self->job = (cen_job){.run = look_up};
        helpers->post(helpers, &self->job);
        return; /* this thread is not the owner any longer */
    }
    if (wants == CENI_PQ_CANCEL && !send_cancel(self)) wants = CENI_PQ_DONE;
    if (wants != CENI_PQ_DONE && watch(self, wants)) return; /* this thread is not the owner any longer */
    finish(self);
}

/* Neither the poller's thread nor a thread that takes may wait for a resolver. A cancel during the lookup is noticed
 * afterwards. */
static void look_up(cen_job *job)
{
    ceni_pq_later *self = (ceni_pq_later *)((char *)job - offsetof(ceni_pq_later, job));
    pthread_mutex_lock(&self->state->lock);
    bool is_cancelled = self->is_cancelled;
    pthread_mutex_unlock(&self->state->lock);
    if (is_cancelled) ceni_pq_give_up(&self->work, CEN_INTERRUPTED, "call cancelled");
    self->work.may_wait = true;
    drive(self, is_cancelled ? CENI_PQ_DONE : ceni_pq_go(&self->work));
}

static void ready(cen_watch *watched, unsigned events)
{
    ceni_pq_later *self = watched->argument;
    (void)expose(self, -1, -1); /* libpq may close the socket */
    self->work.was_sent = self->was_sent;
    drive(self, events ? ceni_pq_go(&self->work) : ceni_pq_late(&self->work));
}

/* A cancel may come before its call has begun or after it has ended. Since these cannot be told apart, the last few
 * unknown ticket numbers are remembered. A call whose number was dropped runs to its own deadline. */
static bool was_cancelled_locked(const ceni_pq_state *state, uint64_t number)
{
    for (size_t i = 0; i < sizeof state->unknown / sizeof *state->unknown; i++)
        if (state->unknown[i] == number) return true;
    return false;
}

static void begin(ceni_pq_state *state, PGconn *conn, ceni_pq_kind kind, cen_ticket ticket)
{
    if (state->process != getpid()) {
        cen_error error = {.status = CEN_FORKED, .text = "the poller belongs to the parent process"};
        cen_driver_done(ticket, CEN_FORKED, NULL, &error);
        return;
    }
    ceni_pq_later *self = calloc(1, sizeof *self);
    if (!self) {
        cen_driver_done(ticket, CEN_NO_MEMORY, NULL, NULL);
        return;
    }
    ceni_pq_work_init(&self->work, state, conn, kind);
    self->watch = (cen_watch){.ready = ready, .argument = self};
    self->ticket = ticket;
    self->state = state;
    self->refs = 1;
    self->pipe[0] = self->pipe[1] = self->socket = self->bell = -1;
    pthread_mutex_lock(&state->lock);
    self->next = state->works;
    state->works = self;
    self->is_cancelled = was_cancelled_locked(state, ticket.number);
    pthread_mutex_unlock(&state->lock);
    drive(self, ceni_pq_go(&self->work));
}

void ceni_pq_open_async(void *state, cen_ticket ticket)
{
    begin(state, NULL, CENI_PQ_OPENING, ticket);
}

void ceni_pq_test_async(void *state, void *conn, cen_ticket ticket)
{
    begin(state, conn, CENI_PQ_TESTING, ticket);
}

void ceni_pq_reset_async(void *state, void *conn, cen_ticket ticket)
{
    begin(state, conn, CENI_PQ_RESETTING, ticket);
}

/* Make the published descriptor ready. */
static void make_ready(ceni_pq_later *self)
{
    pthread_mutex_lock(&self->state->lock);
    if (self->socket >= 0) shutdown(self->socket, SHUT_RDWR);
    ssize_t written = self->bell >= 0 ? write(self->bell, "", 1) : 0;
    (void)written; /* an empty pipe has room, and a full one is ready already */
    pthread_mutex_unlock(&self->state->lock);
}

void ceni_pq_cancel_call(void *argument, cen_ticket ticket)
{
    ceni_pq_state *state = argument;
    if (state->process != getpid()) return;
    pthread_mutex_lock(&state->lock);
    ceni_pq_later *self = state->works;
    while (self && self->ticket.number != ticket.number) self = self->next;
    if (self) {
        self->is_cancelled = true;
        self->refs++;
    } else {
        state->unknown[state->unknown_count++ % (sizeof state->unknown / sizeof *state->unknown)] = ticket.number;
    }
    pthread_mutex_unlock(&state->lock);
    if (!self) return;
    if (!cen_poller_unwatch(state->options.poller, &self->watch)) {
        make_ready(self);
        drop(self);
        return;
    }
    self->refs--;              /* ownership, and the call's own reference, are ours now */
    drive(self, CENI_PQ_READ); /* this step sees the cancel */
}
