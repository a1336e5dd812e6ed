/* SPDX-License-Identifier: MIT */
/*
 * An actor: a mailbox and a handler. Messages are handled one at a time, so the handler's state needs no lock.
 *
 *     struct deposit { cen_message message; long amount; };
 *     static void handle(void *account, cen_message *message)
 *     {
 *         struct deposit *deposit = (struct deposit *)message;
 *         ((struct account *)account)->balance += deposit->amount;
 *         free(deposit);
 *     }
 *
 *     cen_actor *actor;
 *     cen_actor_options options = CEN_ACTOR_OPTIONS(.name = "account", .handle = handle, .argument = &account);
 *     cen_actor_new(&options, &actor, &error);
 *     struct deposit *deposit = malloc(sizeof *deposit);
 *     cen_message_init(&deposit->message, "deposit");
 *     deposit->amount = 5;
 *     cen_actor_tell(actor, &deposit->message, NULL);
 *     // ...
 *     cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL);
 *     cen_future_wait(&stopped, cen_in_s(5));
 *     cen_actor_free(actor);
 *
 * An actor has no thread of its own. While it has messages, it runs in turns on its executor, by default on helper
 * threads of its runtime. Messages from one sender are handled in the order in which they were sent.
 *
 * Memory: a message is the program's struct with a cen_message as its first member. From the call that sends it, the
 * message belongs to the library and must stay in place until the handler or `dropped` is entered with it, or until
 * cen_message_cancel has returned true. If the send returns any status other than OK, the message still belongs to the
 * sender.
 *
 * A request (cen_actor_ask) belongs to the handler until it is replied to. Once its future is done, the library does
 * not touch the message again, so the sender and the handler must agree on which of them frees it. A future that may be
 * cancelled must not be part of a message that the handler frees, because the cancel and the free may happen at the
 * same time.
 *
 * Threads: every function may be called from any thread, and in the handler.
 * Fork: in the child, every function that returns a status returns FORKED, except cen_actor_free, which frees the
 * memory.
 */
#ifndef CENOTE_ACTOR_H
#define CENOTE_ACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/choice.h>
#include <cenote/executor.h>
#include <cenote/future.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_actor cen_actor;

/* A message: the first member of the program's own struct. Initialise it with cen_message_init. */
typedef struct cen_message {
    /* for reports of the watchdog; not copied: a literal, or valid until the actor is freed; NULL: "a message" */
    const char *name;
    /* private */
    cen_job job_;
    cen_actor *actor_;
    cen_promise promise_;
    CEN_ATOMIC_(uint32_t) state_;
    bool asked_;
    union {
        int64_t aligned_;
        char room_[64];
    } later_;
    void *reserved_[2];
} cen_message;

/* Options of an actor. In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_actor_options {
    size_t size;      /* sizeof(cen_actor_options), set by the macro */
    const char *name; /* copied, cut after 31 bytes; default "actor" */

    /* Called with each message, one at a time, with cancellation disabled. Required. */
    void (*handle)(void *argument, cen_message *message);
    /* Called instead of `handle` for each message that a stop drops, also one at a time and with cancellation disabled.
     * A request whose future has failed with CLOSED is not passed to it: such a message belongs to the sender again.
     * NULL: dropped messages are only counted. */
    void (*dropped)(void *argument, cen_message *message);
    void *argument; /* passed to handle, dropped and slow */

    /* provides the actor's clock and timers, and runs its turns unless `executor` is set; default the process's own */
    cen_runtime *runtime;
    cen_executor *executor; /* runs the actor's turns; default the runtime's */
    /* queue limit: maximum number of messages that wait, delayed ones included; the message being handled does not
     * count; default 0: no limit */
    size_t capacity;
    /* maximum number of messages and jobs in one turn, after which other jobs of the executor run; default 64 */
    uint32_t batch;

    /* Watchdog: a message or a job that takes longer than this many nanoseconds is reported once. Default 0: off;
     * CEN_OFF is refused. The report is made by the runtime while the message is being handled, or, if the runtime is
     * delayed, after the message has been handled. */
    int64_t slow_ns;
    /* Called with each report. `text` is a complete sentence, `message` the message's name, and `ns` how long it has
     * taken so far. Requires slow_ns. If NULL, the text goes to stderr. */
    void (*slow)(void *argument, const char *text, const char *message, int64_t ns);

    const cen_allocator *allocator; /* default malloc */
} cen_actor_options;

/* Options with the given fields: CEN_ACTOR_OPTIONS(.name = "account", .handle = handle). All others are zero. */
#define CEN_ACTOR_OPTIONS(...) CEN_OPTIONS_(cen_actor_options, __VA_ARGS__)

/* Create an actor.
 * Returns:
 *   OK         *out is the actor
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY  out of memory
 *   FORKED     options.runtime belongs to the parent process
 */
CEN_API cen_status cen_actor_new(const cen_actor_options *options, cen_actor **out, cen_error *error);

/* Free an actor that is stopped. NULL is allowed. The call succeeds once the future of cen_actor_stop is done, provided
 * that no job was posted after that. In a forked child, it only frees memory.
 *
 * Blocking: waits for a watchdog report that is being made on another thread.
 * Threads: during this call, no thread may send to the actor, or cancel one of its messages, requests or stops.
 * Returns:
 *   OK    the actor is freed, or was NULL
 *   BUSY  the actor was not stopped, a message or a job is pending or being handled, or this was called within `slow`;
 *         nothing changes
 */
CEN_API cen_status cen_actor_free(cen_actor *actor);

/* ---- Sending -------------------------------------------------------------------- */

/* Initialise a message before its first use. It may be sent any number of times, one after the other. The name is not
 * copied. */
CEN_API void cen_message_init(cen_message *message, const char *name);

/* Send a message. A message that is sent within the handler is handled after the current one. error->text names the
 * actor and, for FULL, its capacity.
 *
 * Ownership: with OK, the message belongs to the library until the handler is entered. Otherwise, it still belongs to
 * the caller.
 * Blocking: never waits, and allocates no memory.
 * Returns:
 *   OK       the message is in the mailbox
 *   FULL     options.capacity messages are already waiting; error->cause is CEN_CAUSE_QUEUE_FULL, and error->max is the
 *            limit
 *   CLOSED   the actor was stopped
 *   MISUSE   the message is already in a mailbox, or is a request that has not been replied to
 *   INVALID  actor or message is NULL
 *   FORKED   the actor belongs to the parent process
 */
CEN_API cen_status cen_actor_tell(cen_actor *actor, cen_message *message, cen_error *error);

/* Send a request: a message with a future for the reply. cen_message_reply and cen_message_fail complete the future. If
 * a stop drops the message, the future fails with CLOSED. With any status other than OK, the request is not sent, and
 * the future is unchanged.
 *
 * Cancelling the future does not withdraw the message: the handler still receives it, and cen_message_reply returns
 * false.
 * Returns:
 *   INVALID  also: future is NULL
 *   MISUSE   also: the future was promised or cancelled before
 *   others   as cen_actor_tell
 */
CEN_API cen_status cen_actor_ask(cen_actor *actor, cen_message *message, cen_future *future, cen_error *error);

/* Send a message after a delay of `delay_ns` nanoseconds on the runtime's clock. The message takes its place in the
 * mailbox during this call, so it cannot be refused once the delay is over. A stop does not wait for the delay: the
 * message is handled or dropped immediately.
 * Returns:
 *   INVALID  also: delay_ns is negative
 *   SYSTEM   the timer thread could not be started
 *   others   as cen_actor_tell
 */
CEN_API cen_status cen_actor_tell_after(cen_actor *actor, cen_message *message, int64_t delay_ns, cen_error *error);

/* Take back a delayed message (cen_actor_tell_after). Return true if the message will not be handled; it then belongs
 * to the program again. Return false if it is on its way to the handler, or was not sent with a delay. A message is
 * never both taken back and handled. The caller must make sure that the message and the actor exist. */
CEN_API bool cen_message_cancel(cen_message *message);

/* ---- Replies ---------------------------------------------------------------------- */

/* Reply to a request, with a value or with an error (see cen_promise_fail). The handler must reply before it returns,
 * unless it has kept the request (cen_message_keep); it may then reply later, on any thread.
 *
 * Return true if the future received the reply. Return false if the future was cancelled, if the message is not a
 * request, or if it has already been replied to. After the call, the message may belong to the sender again: do not
 * touch it unless the sender and the handler have agreed that the handler may. */
CEN_API bool cen_message_reply(cen_message *message, void *value);
CEN_API bool cen_message_fail(cen_message *message, const cen_error *error);

/* Announce, in the handler, that the reply to a request will be made later. Return false if the message is not being
 * handled, or is not a request.
 *
 * If the handler returns without a reply and has not kept the request, the future fails with MISUSE and a text that
 * names the actor and the message. So a request may be freed after the reply or after cen_message_keep, but not
 * before. */
CEN_API bool cen_message_keep(cen_message *message);

/* Return true if the message is a request whose future still waits for the reply. */
CEN_API bool cen_message_is_wanted(const cen_message *message);

/* ---- The actor as an executor ------------------------------------------------------ */

/* Return the actor as an executor, or NULL for NULL. Jobs posted to it run like messages: one at a time, and in order
 * with the messages. Jobs do not count towards the capacity and are not included in the stats. An executor cannot
 * refuse a job, so jobs run even after a stop. In a forked child, jobs run on the process's own runtime, concurrently
 * with each other. */
CEN_API cen_executor *cen_actor_executor(cen_actor *actor);

/* ---- Stop --------------------------------------------------------------------------- */

/* Stop the actor: later sends return CLOSED. CEN_STOP_DRAIN: messages that were already sent are handled, delayed ones
 * immediately. CEN_STOP_DROP: messages that were already sent are dropped, except the one that is being handled. A
 * drain may be followed by a drop without a future, which drops what is left. With any status other than OK, nothing
 * changes.
 *
 * Blocking: does not wait. The handler may call it. `future`, if it is not NULL, completes with NULL when the last
 * message has been handled or dropped and the actor is idle.
 * Returns:
 *   OK       the actor is being stopped
 *   CLOSED   the actor was stopped before, and this is not the first drop
 *   INVALID  actor is NULL, or `how` is not a cen_stop
 *   MISUSE   the future was promised or cancelled before, or is passed with a drop after a drain
 *   FORKED   the actor belongs to the parent process
 */
CEN_API cen_status cen_actor_stop(cen_actor *actor, cen_stop how, cen_future *future, cen_error *error);

/* ---- Stats ---------------------------------------------------------------------------- */

/* Stats of an actor. */
typedef struct cen_actor_stats {
    size_t size;      /* sizeof(cen_actor_stats), set by CEN_SIZED */
    uint64_t queued;  /* messages that were sent and are not being handled yet, delayed ones included */
    uint64_t handled; /* messages for which the handler has returned */
    uint64_t dropped; /* messages that a stop has dropped */
    uint64_t slow;    /* reports of the watchdog */
    bool is_running;  /* a message or a job is being handled now */
    bool is_stopped;  /* cen_actor_stop was called */
} cen_actor_stats;

/* Read the stats. Each number was correct at some moment during the call.
 * Returns:
 *   OK       *out is filled in
 *   INVALID  actor or out is NULL, or out->size is not valid
 *   FORKED   the actor belongs to the parent process
 */
CEN_API cen_status cen_actor_stats_get(const cen_actor *actor, cen_actor_stats *out);

#ifdef __cplusplus
}
#endif
#endif
