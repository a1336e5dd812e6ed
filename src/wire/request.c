/* SPDX-License-Identifier: MIT */
/* Requests as their owner sees them. */
#include <cenote/request.h>

#include <stddef.h>

#include "base/alloc.h"
#include "sync/future.h"
#include "wire/wire.h"

_Static_assert(sizeof(ceni_sent) <= sizeof(((cen_request *)0)->room_),
               "a request has room for what cenote keeps in it");
_Static_assert(_Alignof(ceni_sent) <= _Alignof(uint64_t), "and the room is aligned for it");
_Static_assert(offsetof(cen_request, future) == 0, "a request is its future");

static void run_done(cen_job *job)
{
    cen_request *request = (cen_request *)(void *)((char *)job - offsetof(cen_future, job_));
    request->done_(request);
}

static void run_future_done(cen_job *job)
{
    cen_future *future = (cen_future *)(void *)((char *)job - offsetof(cen_future, job_));
    future->done_(future);
}

void cen_request_init(cen_request *request, void (*done)(cen_request *request), cen_executor *executor)
{
    if (!request) return;
    ceni_future_ready(&request->future, done ? run_done : run_future_done);
    if (done) request->future.executor_ = executor;
    /* Field by field: the fields in room_ are written when the request is sent. */
    request->payload = NULL;
    request->size = 0;
    request->reply = NULL;
    request->capacity = 0;
    request->deadline = (cen_deadline){0};
    request->only_if_room = false;
    request->reply_size = 0;
    request->done_ = done;
    request->allocator_ = NULL;
    ceni_sent_of(request)->place = CENI_PLACE_OUT;
    ceni_sent_of(request)->is_allocated = false;
}

void cen_request_free_reply(cen_request *request)
{
    if (!request || !ceni_sent_of(request)->is_allocated) return;
    ceni_free(request->allocator_, request->reply, request->reply_size ? request->reply_size : 1, 1);
    ceni_sent_of(request)->is_allocated = false;
    request->reply = NULL;
    request->reply_size = 0;
}
