/* SPDX-License-Identifier: MIT */
/*
 * An actor: a mailbox whose messages are handled one at a time, so that what the
 * handler works on needs no lock.
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
 *     cen_actor_tell(actor, &deposit->message);
 *     // ...
 *     cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped);
 *     cen_future_wait(&stopped, cen_in_s(5));
 *     cen_actor_free(actor);
 *
 * It has no thread of its own: whenever there are messages it takes a turn on its
 * executor, by default a helper thread of its runtime. Messages of one sender
 * are handled in the order in which they were sent.
 *
 * Memory: a message is the program's struct with a cen_message first. From the
 * call that sends it until the handler is entered with it, or `dropped` is, or a
 * cancel answered true, it is the library's and must stay where it is. A call that
 * answers anything but OK leaves it the sender's. What was asked is the
 * handler's until it has been answered; once the future is done nothing of it
 * is touched any more, so that sender and handler may agree who frees it. A future
 * that may be cancelled is not part of a message that the handler frees: the two
 * may do so at the same time.
 *
 * Threads: everything may be called from any thread, and from within the handler.
 * Fork: in the child the actor answers FORKED, and free gives its memory back.
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

/* The first member of the program's own struct. */
typedef struct cen_message {
    const char *name; /* what the watchdog calls it; a literal, or as long-lived as the actor; NULL: "a message" */
    /* cenote's */
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

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_actor_options {
    size_t size;      /* sizeof(cen_actor_options), set by the macro */
    const char *name; /* copied; default "actor" */

    /* Called with each message, one at a time, with cancellation disabled. Required. */
    void (*handle)(void *argument, cen_message *message);
    /* Called in the handler's place, with the same promise of one at a time, for
     * each message that a stop drops; one whose future was told CLOSED is not
     * handed over, but the sender's again. NULL: they are just not handled. */
    void (*dropped)(void *argument, cen_message *message);
    void *argument; /* of these */

    cen_runtime *runtime;   /* keeps its time, and is its executor if there is no other; default the process' own */
    cen_executor *executor; /* where it takes its turns; default the runtime's */
    size_t capacity;        /* messages that may wait, the one being handled not counted; default: no limit */
    uint32_t batch;         /* messages handled in one turn before others on the executor come; default 64 */

    /* A message that is handled for longer is reported, once; default: none is. The
     * report comes while it is being handled, from the runtime, or, if that
     * was held up, when it has been. */
    int64_t slow_ns;
    /* `text` is a whole sentence; `message` its name; `ns` for how long by then. NULL: the text goes to stderr. */
    void (*slow)(void *argument, const char *text, const char *message, int64_t ns);

    const cen_allocator *allocator; /* default malloc */
} cen_actor_options;

#define CEN_ACTOR_OPTIONS(...) CEN_OPTIONS_(cen_actor_options, __VA_ARGS__)

/* Errors: INVALID (the text names the field), NO_MEMORY, SYSTEM, FORKED (the runtime is a parent's). */
CEN_API cen_status cen_actor_new(const cen_actor_options *options, cen_actor **out, cen_error *error);

/* NULL is allowed. Error: BUSY (it has not been stopped, the last message is not
 * over, a job waits, or it is called from within `slow`): nothing changes. When the
 * future of stop is done, and no job was posted after, it is OK. Nobody may
 * send to it, or cancel what concerns it, meanwhile. */
CEN_API cen_status cen_actor_free(cen_actor *actor);

/* ---- Sending -------------------------------------------------------------------- */

/* Makes a message ready for its first use; it may be sent again and again. The name is not copied. */
CEN_API void cen_message_init(cen_message *message, const char *name);

/* Puts it into the mailbox. Allocates nothing and never waits. From within the
 * handler too: it is handled after the one that is being handled.
 * Errors: FULL, CLOSED (it was stopped), MISUSE (the message is on its way already, or
 * waits for an answer), INVALID (NULL), FORKED. */
CEN_API cen_status cen_actor_tell(cen_actor *actor, cen_message *message);

/* Tells, and has `future` done by the answer: see cen_message_reply. If the
 * actor is stopped first, it fails with CLOSED. Cancelling the future takes back the
 * question and not the message: the handler still gets it.
 * Errors: as tell, and MISUSE (the future was promised before): it is not promised then. */
CEN_API cen_status cen_actor_ask(cen_actor *actor, cen_message *message, cen_future *future);

/* Tells when `delay_ns` have passed on the runtime's clock. Its place in the
 * mailbox is taken from now on, so that it is never refused later. A stop does
 * not wait for it: it is handled, or dropped, at once.
 * Errors: as tell, INVALID (the delay is negative), SYSTEM (no thread could be had that keeps time). */
CEN_API cen_status cen_actor_tell_after(cen_actor *actor, cen_message *message, int64_t delay_ns);

/* Takes back what was told for later. True: it will not be handled, and is the
 * program's. False: it is on its way, or was never told for later. Exactly one of
 * the two. The caller sees to it that message and actor are there. */
CEN_API bool cen_message_cancel(cen_message *message);

/* ---- Answering ------------------------------------------------------------------- */

/* The handler's answer to what was asked, now or, if it keeps the message, later
 * and on any thread: with a value, or with an error (see cen_promise_fail). True:
 * the future was told. False: nobody waits, or it was told, not asked. After it
 * the message may be the asker's: do not touch it unless that is agreed. */
CEN_API bool cen_message_reply(cen_message *message, void *value);
CEN_API bool cen_message_fail(cen_message *message, const cen_error *error);

/* Says in the handler that the answer comes later. A handler that returns and has
 * neither answered nor kept what was asked has forgotten it: the future fails
 * with MISUSE, and a text that names actor and message. So such a message may be freed
 * after it was answered or kept, and not before. False: it is not being handled, or was not asked. */
CEN_API bool cen_message_keep(cen_message *message);

/* Whether anybody waits for an answer. */
CEN_API bool cen_message_is_wanted(const cen_message *message);

/* ---- The actor as an executor ------------------------------------------------------ */

/* A job that is posted here runs like a message, one at a time and in its order.
 * It counts for neither capacity nor numbers, and since it cannot be refused it
 * is run whether the actor is stopped or not. In a forked child it runs on
 * the process' own runtime, beside others. */
CEN_API cen_executor *cen_actor_executor(cen_actor *actor);

/* ---- The end ------------------------------------------------------------------------ */

/* From now on sending answers CLOSED. What was sent is handled, what is for later at
 * once; or, to drop, is dropped, but for the one that is being handled. `future`, if it is not NULL, is done with NULL when the
 * last message is over and the actor sleeps. From within the handler too. A stop to
 * drop after one to drain is allowed, without a future, and drops what is left.
 * Errors: CLOSED (it was stopped before), INVALID, MISUSE (the future was promised
 * before, or goes with a second stop), FORKED: nothing changes. */
CEN_API cen_status cen_actor_stop(cen_actor *actor, cen_stop how, cen_future *future);

/* ---- A look at it --------------------------------------------------------------------- */

typedef struct cen_actor_stats {
    size_t size;      /* sizeof(cen_actor_stats), set by CEN_SIZED */
    uint64_t queued;  /* messages that were sent and are not being handled yet, those for later included */
    uint64_t handled; /* of which the handler has returned */
    uint64_t dropped;
    uint64_t slow;   /* reported by the watchdog */
    bool is_running; /* a message or a job is being handled now */
    bool is_stopped;
} cen_actor_stats;

/* Each number was true during the call. Errors: INVALID, FORKED. */
CEN_API cen_status cen_actor_stats_get(const cen_actor *actor, cen_actor_stats *out);

#ifdef __cplusplus
}
#endif
#endif
