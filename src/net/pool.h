/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of a routing pool.
 *
 *     pool.c        options, the tree, new, close, free
 *     pool_connection.c   a connection's life: opened, registered, lost, stopped, freed
 *     pool_async.c    requests
 *     pool_look.c   stats and descriptions
 *
 * A connection is one slot of the pool, a child of the supervisor. A link is one start of a connection. It has its own
 * cen_mux, the owner of its registry entry, and its member of the router.
 *
 *     OPENING ──connected, registered, and a member──▶ OPEN ──ended──▶ OVER
 *        └───────failed, or ended before that──────────────────────────▶
 *
 * Invariants
 *  P1 A link has these references: one for its life, from start until its end was reported to its child; one for its
 *     membership, from before it is registered until the member is gone or was refused; one for its entry, until no
 *     reader of the registry sees it; one while it is kept although it is lost; and one for each stop in progress. With
 *     the last one a job of the runtime frees the connection, on a thread that is inside none of its calls, and then
 *     the link.
 *  P2 A thread that sends a request over a link has a route of its member. So the link stays until that route is done.
 *  P3 The owner is ended once, by the thread that finds `has_left` unset. The registry refuses entries whose owner has
 *     ended, so a link that is stopped while it opens never joins the set.
 *  P4 `links` counts all links. Free waits until there are none.
 *  P5 When the registry starts or stops, it contains no link: the children that come after it in the tree have been
 *     stopped.
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
    CENI_MUX_POOL_MOST = 65536, /* the largest number of connections */
};

typedef enum ceni_link_state { CENI_LINK_OPENING, CENI_LINK_OPEN, CENI_LINK_OVER } ceni_link_state;

/* How requests ended, and other counts of the threads that make requests. */
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
    /* protected by the lock */
    struct ceni_mux_link *link; /* NULL: not connected */
    /* keep_lost: the lost link that stays in the set, with its own reference */
    struct ceni_mux_link *kept;
    bool was_tried;  /* the first attempt to connect is over */
    cen_error error; /* why it last failed or was lost */
} ceni_mux_connection;

typedef struct ceni_mux_link {
    /* fixed */
    cen_mux_pool *pool;
    ceni_mux_connection *connection;
    cen_child child;
    cen_mux *mux;
    cen_owner *owner; /* with a reference */
    /* protected by the lock */
    ceni_list in_all;
    uint32_t hands; /* references, P1 */
    ceni_link_state state;
    bool is_connected; /* it was connected at some time */
    bool is_stopping;
    bool has_left;  /* P3 */
    bool is_member; /* the router has it, will get it, or has not yet seen that it left */
    /* any thread, atomically */
    _Atomic uint64_t lost; /* its number among the pool's losses; 0: not lost */
    /* only the loop's thread */
    bool is_told; /* the program was told that the connection is up */
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
    cen_runtime *given_runtime; /* from the options, as passed on; NULL: the process's own */
    cen_deadline deadline, request_deadline;
    int64_t reroutes, drain_ns;
    bool keep_lost, is_manual;
    void (*listener)(void *argument, const cen_event *event, uint64_t missed);
    void *argument;
    char name[CENI_MUX_POOL_NAME];
    ceni_directory_entry entry;
    ceni_mux_connection *connection_at;
    uint32_t count;
    void *texts; /* the copies of names and addresses */
    size_t texts_size;

    cen_router *router;
    cen_supervisor *root, *connections;

    /* the registry child's: one start or stop at a time */
    cen_following *following;
    _Atomic(cen_registry *) registry;
    _Atomic uint64_t registry_starts;

    /* any thread, atomically */
    _Atomic uint64_t losses;
    _Atomic uint32_t is_closed; /* it is being closed, or is closed */

    ceni_mutex mutex;               /* rank LINES; protects what follows */
    ceni_list all;                  /* all connected links */
    uint32_t up, connecting, tried; /* tried: first attempts that are over */
    bool was_up;                    /* some connection was in the set */
    bool hurry;                     /* close does not wait for replies any longer */
    bool gave_up;
    cen_error why; /* why it gave up */
    uint64_t links, opened, lost, failed_opens;
    cen_error last;         /* why the latest connection could not be opened */
    _Atomic uint32_t turns; /* a futex: counts changes of the fields above */

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

/* Wake the threads that wait for a change of the pool's state. */
void ceni_mux_pool_turn_locked(cen_mux_pool *pool);
/* Wait for such a change. The lock is held on entry and on return. */
void ceni_mux_pool_await_locked(cen_mux_pool *pool);
void ceni_mux_pool_tell(cen_mux_pool *pool, cen_event_kind kind, const ceni_mux_connection *connection,
                        const cen_error *error);

/* ---- pool_connection.c ----------------------------------------------------------------------- */

/* The functions of the supervisor's children. Their argument is the pool or the connection. */
cen_status ceni_registry_child_start(void *pool, cen_child child, cen_error *error);
void ceni_registry_child_stop(void *pool, cen_child child);
cen_status ceni_mux_connection_start(void *connection, cen_child child, cen_error *error);
void ceni_mux_connection_stop(void *connection, cen_child child);

/* ---- pool_look.c ----------------------------------------------------------------------- */

void ceni_mux_pool_count(cen_mux_pool *pool, ceni_request_count what);
size_t ceni_mux_pool_snapshot(const void *object, cen_metric *metrics, size_t room);
extern const ceni_component_calls ceni_mux_pool_calls;

#endif
