/* SPDX-License-Identifier: MIT */
/*
 * A libuv loop on its own thread, with a count of its users.
 *
 *     any thread: post ▶ [calls] ─async▶ the loop's thread: run one after the other
 *
 * The process's own loop is created by its first user and ends with its last one, like the process's own runtime. The
 * last user may leave on the loop's own thread: a connection whose handles have just been closed. Then no thread joins
 * the loop's thread, and it frees the loop itself after uv_run has returned.
 *
 * Invariants
 *  L1 Handles and the uv_loop_t are touched by the loop's thread only. Exceptions: uv_async_send, and everything before
 *     the thread has begun.
 *  L2 uv_async_send is called under the loop's mutex. A call is taken from the queue under the same mutex. So the
 *     thread that posted it has finished with the loop, and the call may be the one that ends the loop.
 *  L3 `users` and process.own are touched under the lock of `process` only. process.own has at least one user, and is
 *     set to NULL when its last user leaves.
 *  L4 A loop ends when it has no users. Then its own async is the only open handle, and closing it lets uv_run return.
 *
 * Order table
 * tag  site    | operation     | order   | pairs with | carries             | breaks if weakened
 * [L3] run_awaited | store of over | release | [L4] | all that the call has done | the thread that waited for the call does not see its effects
 * [L4] ceni_loop_do | load of over | acquire | [L3] | the same | the same
 * All else is ordered by the locks, and by the start and the join of the thread.
 *
 * Tested by tests/unit/net/loop_test.c.
 */
#include "net/loop.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/statics.h"
#include "record/owned.h"

enum { NAME = 16, CALLS_AT_A_TIME = 256 };

struct cen_loop {
    /* fixed before the thread begins */
    uint64_t epoch; /* of the process that created it */
    const cen_allocator *allocator;
    bool own; /* it is, or was, the process's own loop */
    char name[NAME];
    ceni_thread thread; /* for the thread that joins it */
    /* written by the thread as its first action; any thread reads */
    _Atomic uint64_t thread_id;
    /* under the lock of `process` */
    uint32_t users;
    /* under the mutex, of rank LOOP */
    ceni_mutex mutex;
    ceni_list calls;
    /* the loop's thread alone */
    uv_loop_t uv;
    uv_async_t async;
    ceni_loop_call stop;
    bool alone; /* no thread will join it */
};

const char *ceni_errno_text(int code, char text[CENI_CAUSE_SIZE])
{
    char words[56], name[32];
    int error = uv_translate_sys_error(code);
    snprintf(text, CENI_CAUSE_SIZE, "%s (%s)", uv_strerror_r(error, words, sizeof words),
             uv_err_name_r(error, name, sizeof name));
    return text;
}

/* ---- The process's own loop, and the users of all loops --------------------------------- */

static CENI_STATIC struct {
    ceni_mutex mutex; /* rank LOOPS */
    cen_loop *own;    /* NULL: there is none */
} process;
static CENI_STATIC ceni_owned owned; /* a forked child creates both again */

static void process_lock(void)
{
    if (ceni_owned_begin(&owned)) {
        process.mutex = (ceni_mutex){0};
        process.own = NULL;
        ceni_owned_ready(&owned);
    }
    ceni_mutex_lock(&process.mutex, CENI_RANK_LOOPS);
}

static void process_unlock(void)
{
    ceni_mutex_unlock(&process.mutex, CENI_RANK_LOOPS);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static void loop_lock(cen_loop *loop)
{
    ceni_mutex_lock(&loop->mutex, CENI_RANK_LOOP);
}

static void loop_unlock(cen_loop *loop)
{
    ceni_mutex_unlock(&loop->mutex, CENI_RANK_LOOP);
}

void ceni_loop_post(cen_loop *loop, ceni_loop_call *call)
{
    loop_lock(loop);
    if (!ceni_list_linked(&call->link)) {
        bool first = ceni_list_empty(&loop->calls);
        ceni_list_push_back(&loop->calls, &call->link);
        if (first) uv_async_send(&loop->async);
    }
    loop_unlock(loop);
}

void ceni_loop_unpost(cen_loop *loop, ceni_loop_call *call)
{
    loop_lock(loop);
    ceni_list_remove(&call->link);
    loop_unlock(loop);
}

static ceni_loop_call *take_call(cen_loop *loop)
{
    loop_lock(loop);
    ceni_list *link = ceni_list_first(&loop->calls);
    if (link) ceni_list_remove(link);
    loop_unlock(loop);
    return link ? CENI_LIST_ENTRY(link, ceni_loop_call, link) : NULL;
}

/* At most CALLS_AT_A_TIME per pass, so that calls that post calls do not starve the loop's sockets. The async is sent
 * again for the rest. */
static void run_calls(uv_async_t *async)
{
    cen_loop *loop = async->data;
    ceni_loop_call *call = NULL;
    for (unsigned i = 0; i < CALLS_AT_A_TIME && (call = take_call(loop)); i++) call->run(call);
    if (call && !uv_is_closing((uv_handle_t *)async)) uv_async_send(async);
}

static void stop_here(ceni_loop_call *call)
{
    cen_loop *loop = CENI_LIST_ENTRY(call, cen_loop, stop);
    uv_close((uv_handle_t *)&loop->async, NULL);
}

typedef struct awaited_call {
    ceni_loop_call call;
    void (*run)(void *argument);
    void *argument;
    _Atomic uint32_t over; /* a futex */
} awaited_call;

/* The record is on the stack of a thread that may go on as soon as `over` is set. The wake only uses its address. */
static void run_awaited(ceni_loop_call *call)
{
    awaited_call *record = CENI_LIST_ENTRY(call, awaited_call, call);
    record->run(record->argument);
    ceni_store_release(&record->over, 1u); /* [L3] */
    ceni_futex_wake(&record->over, 1);
}

void ceni_loop_do(cen_loop *loop, void (*run)(void *argument), void *argument)
{
    awaited_call record = {.run = run, .argument = argument};
    if (ceni_loop_is_inside(loop)) {
        run(argument);
        return;
    }
    ceni_loop_call_init(&record.call, run_awaited);
    ceni_loop_post(loop, &record.call);
    while (!ceni_load_acquire(&record.over)) ceni_futex_wait(&record.over, 0, CENI_FOREVER); /* [L4] */
}

bool ceni_loop_is_inside(const cen_loop *loop)
{
    /* Only the loop's thread finds its own id there; carries nothing. */
    return ceni_load_relaxed(&((cen_loop *)(uintptr_t)loop)->thread_id) == ceni_thread_id();
}

uv_loop_t *ceni_loop_uv(cen_loop *loop)
{
    return &loop->uv;
}

/* ---- Creation and end of a loop ------------------------------------------------------------- */

static void release(cen_loop *loop)
{
    ceni_free(loop->allocator, loop, sizeof *loop, _Alignof(cen_loop));
}

static void run_loop(void *argument)
{
    cen_loop *loop = argument;
    /* for good: no thread may cancel it, and code that holds cancellation later finds it held already */
    ceni_cancel_hold();
    /* only this thread compares it with its own id; carries nothing */
    ceni_store_relaxed(&loop->thread_id, ceni_thread_id());
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
    if (!loop->alone) return;
    ceni_thread self = ceni_thread_self();
    ceni_thread_detach(&self);
    release(loop);
}

/* End a loop that has no users and that no thread can find. */
static void finish(cen_loop *loop)
{
    if (ceni_loop_is_inside(loop)) {
        loop->alone = true;
        stop_here(&loop->stop);
        return;
    }
    ceni_loop_post(loop, &loop->stop);
    ceni_thread_join(&loop->thread);
    release(loop);
}

static cen_status make(const cen_loop_options *o, cen_loop **out, cen_error *error)
{
    char cause[CENI_CAUSE_SIZE];
    int code = 0;
    cen_loop *loop = ceni_alloc(o->allocator, sizeof *loop, _Alignof(cen_loop));
    if (!loop) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_loop_new: out of memory");
    loop->epoch = ceni_fork_epoch();
    loop->allocator = o->allocator;
    ceni_list_init(&loop->calls);
    ceni_loop_call_init(&loop->stop, stop_here);
    snprintf(loop->name, sizeof loop->name, "%s", o->name ? o->name : "cenote:loop");
    if ((code = -uv_loop_init(&loop->uv)) != 0) goto undo_memory;
    loop->async.data = loop;
    if ((code = -uv_async_init(&loop->uv, &loop->async, run_calls)) != 0) goto undo_uv;
    if (ceni_thread_start(&loop->thread, loop->name, run_loop, loop, &code) != CEN_OK) goto undo_async;
    *out = loop;
    return CEN_OK;

undo_async:
    uv_close((uv_handle_t *)&loop->async, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
undo_uv:
    uv_loop_close(&loop->uv);
undo_memory:
    release(loop);
    return ceni_error_set(error, CEN_SYSTEM, code, "cen_loop_new: no descriptor or thread for the loop: %s",
                          ceni_errno_text(code, cause));
}

/* ---- Users ---------------------------------------------------------------------------------- */

/* Add a user to the process's own loop. If there is none, `made` becomes it. */
static cen_loop *join_own(cen_loop *made)
{
    process_lock();
    if (!process.own) process.own = made;
    cen_loop *own = process.own;
    if (own) own->users++;
    process_unlock();
    return own;
}

static cen_status join_or_make_own(cen_loop **out, cen_error *error)
{
    static const cen_loop_options usual = CEN_LOOP_OPTIONS(.name = NULL);
    cen_loop *made = NULL, *found = join_own(NULL);
    if (!found) {
        cen_status status = make(&usual, &made, error);
        if (!made) return status;
        made->own = true;
        found = join_own(made);
        if (found != made) finish(made); /* another thread was first */
    }
    *out = found;
    return CEN_OK;
}

cen_status ceni_loop_join(cen_loop *loop, cen_loop **out, cen_error *error)
{
    if (!loop) return join_or_make_own(out, error);
    if (!ceni_fork_is(loop->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "the loop belongs to the parent process");
    process_lock();
    loop->users++;
    process_unlock();
    *out = loop;
    return CEN_OK;
}

void ceni_loop_leave(cen_loop *loop)
{
    process_lock();
    bool ends = --loop->users == 0 && loop->own;
    if (ends && process.own == loop) process.own = NULL;
    process_unlock();
    if (!ends) return; /* an explicit loop may have been freed by now */
    if (ceni_fork_is(loop->epoch)) finish(loop);
    else release(loop); /* memory that libuv allocated in the parent is left alone */
}

uint32_t cen_loop_users(cen_loop *loop)
{
    process_lock();
    if (!loop) loop = process.own;
    uint32_t users = loop ? loop->users : 0;
    process_unlock();
    return users;
}

/* ---- Explicit loops --------------------------------------------------------------------------- */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_loop_new: %s", what);
}

cen_status cen_loop_new(const cen_loop_options *options, cen_loop **out, cen_error *error)
{
    cen_loop_options o = CEN_SIZED(cen_loop_options);
    if (!out) return refuse(error, "out is NULL");
    cen_status status = options ? cen_sized_read(&o, sizeof o, options, "cen_loop_new: options", error) : CEN_OK;
    if (status != CEN_OK) return status;
    if (o.allocator && (!o.allocator->alloc || !o.allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    return make(&o, out, error);
}

cen_status cen_loop_free(cen_loop *loop)
{
    if (!loop) return CEN_OK;
    if (!ceni_fork_is(loop->epoch)) {
        release(loop);
        return CEN_OK;
    }
    if (ceni_loop_is_inside(loop)) return CEN_MISUSE;
    process_lock();
    bool busy = loop->users > 0;
    process_unlock();
    if (busy) return CEN_BUSY;
    finish(loop);
    return CEN_OK;
}
