/* SPDX-License-Identifier: MIT */
/*
 * What the files of a routing pool share.
 *
 *     pool.c        options, the tree, new, close, free
 *     pool_connection.c   a connection's life: opened, registered, lost, stopped, let go of
 *     pool_async.c    requests
 *     pool_look.c   numbers and words
 *
 * A line is the place of one connection, a child of the supervisor; a link is one start of it,
 * with its cen_mux, the owner of its entry, and its member of the router.
 *
 *     OPENING ──connected, registered, and a member──▶ OPEN ──ended──▶ OVER
 *        └───────failed, or ended before that──────────────────────────▶
 *
 * Invariants
 *  P1 A link has a hand for its life, from start until its end was told to its child; one for its
 *     membership, from before it is registered until the member is gone or was refused; one for its entry, until no
 *     reader of the registry sees it; one while it is kept though it is lost; and one for each stop that is in its
 *     call. With the last one a job of the runtime frees the connection, on a thread that is inside none of its
 *     calls, and then the link.
 *  P2 Whoever sends a request over a link has a route of its member, so the link stays until that is done.
 *  P3 The owner ends once, by who finds `has_left` unset. What is registered with an owner that has ended is refused, so a
 *     link that is being stopped while it opens never comes into the set.
 *  P4 `links` counts them all; free waits until there are none.
 *  P5 In the registry's start and stop no link is in the registry: those who come after it in the tree have been stopped.
 */
#ifndef CENI_NET_POOL_H
#define CENI_NET_POOL_H

#include <cenote/mux_pool.h>

#include "base/atomic.h"
#include "base/list.h"
#include "net/loop.h"
#include "port/mutex.h"
#include "record/directory.h"
#include "runtime/runtime.h"

enum {
    CENI_MUX_POOL_NAME = 48,
    CENI_MUX_POOL_STRIPES = 8,
    CENI_MUX_POOL_MOST = 65536, /* connections */
};

typedef enum ceni_link_state { CENI_LINK_OPENING, CENI_LINK_OPEN, CENI_LINK_OVER } ceni_link_state;

/* How requests ended, and what else is counted by those who make them. */
typedef enum ceni_request_count {
    CENI_COUNT_ANSWERED,
    CENI_COUNT_LOST,
    CENI_COUNT_TIMED_OUT,
    CENI_COUNT_REFUSED,
    CENI_COUNT_CANCELLED,
    CENI_COUNT_CLOSED,
    CENI_COUNT_FAILED,
    CENI_COUNT_REROUTED,
    CENI_COUNT_STALE,
    CENI_COUNTS
} ceni_request_count;

typedef struct ceni_mux_counts {
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t of[CENI_COUNTS];
} ceni_mux_counts;

typedef struct ceni_mux_connection {
    /* fixed */
    cen_mux_pool *pool;
    char *name;
    const char *address;
    /* under the lock */
    struct ceni_mux_link *link; /* NULL: it is down */
    struct ceni_mux_link *kept; /* keep_lost: lost, and still in the set; with a hand of its own */
    bool was_tried;             /* its first attempt is over */
    cen_error error;            /* of its last end that was not asked for */
} ceni_mux_connection;

typedef struct ceni_mux_link {
    /* fixed */
    cen_mux_pool *pool;
    ceni_mux_connection *line;
    cen_child child;
    cen_mux *mux;
    cen_owner *owner; /* held */
    /* under the lock */
    ceni_list in_all;
    uint32_t hands; /* P1 */
    ceni_link_state state;
    bool is_connected; /* it has been */
    bool is_stopping;
    bool has_left;  /* P3 */
    bool is_member; /* the router has it, or will, or has yet to hear that it left */
    /* any thread, atomically */
    _Atomic uint64_t lost; /* the how many-th of the pool's that was lost; 0: it was not */
    /* the loop's thread */
    bool is_told; /* the program knows that it is up */
    cen_future opened, ended;
    cen_error cause;
    cen_job job;
} ceni_mux_link;

struct cen_mux_pool {
    /* fixed */
    uint64_t epoch;
    const cen_allocator *allocator;
    cen_runtime *runtime;
    cen_loop *loop;
    cen_executor *executor; /* the runtime's */
    cen_mux_options mux;
    cen_runtime *given_runtime; /* by the options, as they are passed on; NULL: the process' own */
    cen_deadline deadline, request_deadline;
    int64_t reroutes, drain_ns;
    bool keep_lost, is_manual;
    void (*listener)(void *argument, const cen_event *event, uint64_t missed);
    void *argument;
    char name[CENI_MUX_POOL_NAME];
    ceni_directory_entry entry;
    ceni_mux_connection *lines;
    uint32_t count;
    void *texts; /* of names and addresses */
    size_t texts_size;

    cen_router *router;
    cen_supervisor *root, *connections;

    /* the registry's child's: one start or stop at a time */
    cen_following *following;
    _Atomic(cen_registry *) registry;
    _Atomic uint64_t registry_starts;

    /* any thread, atomically */
    _Atomic uint64_t losses;
    _Atomic uint32_t is_closed; /* somebody closes it, or has */

    ceni_mutex mutex;               /* rank LINES; for what follows */
    ceni_list all;                  /* links that have been opened */
    uint32_t up, connecting, tried; /* tried: first attempts that are over */
    bool was_up;                    /* some connection has been in the set */
    bool hurry;                     /* nobody waits for replies any more */
    bool gave_up;
    cen_error why; /* it gave up */
    uint64_t links, opened, lost, failed_opens;
    cen_error last;         /* why the latest connection could not be made */
    _Atomic uint32_t turns; /* a futex: something of the above has changed */

    ceni_mux_counts counts[CENI_MUX_POOL_STRIPES];
};

static inline void ceni_mux_pool_lock(cen_mux_pool *pool)
{
    ceni_mutex_lock(&pool->mutex, CENI_RANK_CONNECTIONS);
}

static inline void ceni_mux_pool_unlock(cen_mux_pool *pool)
{
    ceni_mutex_unlock(&pool->mutex, CENI_RANK_CONNECTIONS);
}

/* ---- pool.c ---------------------------------------------------------------------------- */

/* Something has changed that others may wait for. */
void ceni_mux_pool_turn_locked(cen_mux_pool *pool);
/* Until then. The lock is held at both ends. */
void ceni_mux_pool_await_locked(cen_mux_pool *pool);
void ceni_mux_pool_tell(cen_mux_pool *pool, cen_event_kind kind, const ceni_mux_connection *line,
                        const cen_error *error);

/* ---- pool_connection.c ----------------------------------------------------------------------- */

/* The functions of children; their argument is the pool, or the line. */
cen_status ceni_registry_child_start(void *pool, cen_child child, cen_error *error);
void ceni_registry_child_stop(void *pool, cen_child child);
cen_status ceni_waiters_start(void *line, cen_child child, cen_error *error);
void ceni_waiters_stop(void *line, cen_child child);

/* ---- pool_look.c ----------------------------------------------------------------------- */

void ceni_mux_pool_count(cen_mux_pool *pool, ceni_request_count what);
size_t ceni_mux_pool_snapshot(const void *object, cen_metric *metrics, size_t room);
extern const ceni_component_calls ceni_mux_pool_calls;

#endif
