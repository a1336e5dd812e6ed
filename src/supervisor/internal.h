/* SPDX-License-Identifier: MIT */
/*
 * Internal declarations of the supervisor. Only the files of src/supervisor include this.
 *
 * Terms: a child is the record of one place among siblings. A tenure is one start of a child, from the call of `start`
 * until it is over. The steward is the thread that runs a supervisor's state machine at the moment; there is one at a
 * time. The agenda is the list of children that the steward must look at.
 */
#ifndef CENI_SUPERVISOR_INTERNAL_H
#define CENI_SUPERVISOR_INTERNAL_H

#include <cenote/supervisor.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/list.h"
#include "port/mutex.h"
#include "port/port.h"
#include "record/directory.h"
#include "runtime/runtime.h"
#include "supervisor/intensity.h"
#include "supervisor/owner.h"

enum { CENI_SUPERVISOR_NAME = 32 };

typedef enum ceni_phase {
    CENI_PHASE_NEW,      /* it was never started */
    CENI_PHASE_STARTING, /* some children have not been started for the first time */
    CENI_PHASE_UP,
    CENI_PHASE_STOPPING,
    CENI_PHASE_OVER,
} ceni_phase;

/* Why a child must end. */
typedef enum ceni_ending {
    CENI_ENDING_NO,
    CENI_ENDING_ALONE,    /* it was terminated: at once */
    CENI_ENDING_IN_ORDER, /* with its siblings: after those behind it have ended */
} ceni_ending;

/* Which calls of a tenure are under way. */
enum { CENI_CALL_START = 1, CENI_CALL_STOP = 2, CENI_CALL_KILL = 4 };

typedef struct ceni_child_record ceni_child_record;

typedef struct ceni_tenure {
    /* fixed */
    cen_supervisor *supervisor;
    ceni_child_record *child;
    cen_child handle;
    cen_executor watcher; /* consumes the future of the child's end */

    /* jobs: of start, then of stop; of kill; of joining its thread */
    cen_job call, kill_call, join_call;
    /* written by the thread itself when it ends, read after it was joined */
    ceni_thread thread;
    cen_error last_words;

    /* under the mutex */
    ceni_table_node node; /* by its number, until it is over */
    uint32_t hands;       /* references to this record: calls, its thread, the future of its end */
    uint32_t calls;
    bool is_listed;    /* in the table */
    bool has_started;  /* start returned OK, or the thread was started */
    bool said_started; /* by cen_child_report_started */
    bool ran;          /* it was reported as running */
    bool failed;       /* start failed */
    bool ended;        /* its end was reported */
    bool normal;       /* ... as a normal end */
    bool stopping;     /* it must end */
    bool asked;        /* stop was called, or will be at once */
    bool killed;       /* likewise */
    bool abandoned;
    bool closing;  /* it is over; its owner is being ended */
    bool arming;   /* cen_child_watch is becoming the consumer of `death` */
    bool untold;   /* closing, and `death` was not cancelled and has not been delivered yet */
    int64_t since; /* when it began to run */
    cen_future *death;
    cen_owner *owner;
    cen_error why; /* why it ended or failed to start */
    struct ceni_tenure *next_dead;
} ceni_tenure;

/* A thread that waits for a start; on its stack. */
typedef struct ceni_patron {
    /* under the mutex */
    bool is_told, keeps_child; /* keeps_child: a failed start leaves the child down; else it is forgotten */
    cen_child child;
    cen_error error; /* status OK: the child has started */
} ceni_patron;

struct ceni_child_record {
    /* fixed */
    cen_supervisor *supervisor;
    cen_child_options options; /* its name is the one below */
    size_t size;               /* of this record */
    bool is_initial;           /* from the supervisor's options: kept for its next start */

    /* under the mutex */
    ceni_list link;          /* in children, or dead */
    ceni_list agenda;        /* in agenda, or linked to itself */
    ceni_table_node node;    /* by its name */
    uint32_t refs;           /* references: the list, or being initial; tenures; set alarms; waiting threads */
    bool is_listed, is_gone; /* gone: still in the list because of a visitor */
    cen_child_state state;
    ceni_ending ending;
    bool wanted;  /* it must run */
    bool fresh;   /* it must be started in its turn, and that has not succeeded yet */
    bool leaving; /* it is forgotten after its end */
    bool is_late; /* its start took too long */
    bool has_run; /* since the supervisor was started */
    ceni_tenure *tenure;
    ceni_patron *patron;
    uint64_t starts, restarts, previous; /* previous: the number of the start before */
    uint32_t failures;                   /* restarts in a row, for the back-off */
    int64_t since;
    int64_t moment; /* when its back-off or a time limit ends; 0: none */
    ceni_alarm alarm;
    cen_error error;
    char name[];
};

/* Unreferenced records, to be freed with no lock held (supply.c). */
typedef struct ceni_dead {
    ceni_list children;
    ceni_tenure *tenures; /* chained by next_dead */
} ceni_dead;

struct cen_supervisor {
    /* fixed before use */
    uint64_t epoch; /* of the process that made it */
    uint64_t id;
    cen_runtime *runtime;
    const cen_allocator *allocator;
    cen_supervision supervision;
    cen_auto_stop auto_stop;
    uint32_t max_children;
    bool retry_start, stop_together, nested;
    ceni_backoff_rule backoff;
    void (*listener)(void *argument, const cen_supervisor_event *event);
    void *argument;
    ceni_child_record **initial;
    size_t initial_count;
    ceni_directory_entry entry;
    char name[CENI_SUPERVISOR_NAME];

    /* under the lock of all supervisors, in house.c */
    ceni_table_node node;

    ceni_mutex mutex; /* rank SUPERVISOR; for all that follows */
    ceni_phase phase;
    uint32_t hands; /* references to this record: steward, calls, alarms, threads */
    uint32_t lost;  /* of the hands, those of abandoned tenures */
    bool is_freed;  /* the memory is freed with the last hand */

    /* the steward */
    cen_job job;
    bool at_work;
    uint64_t steward; /* its thread, while it runs */
    ceni_list agenda;

    /* children */
    ceni_list children; /* in the order of starting */
    ceni_table names, tenures;
    uint32_t count; /* children that are not gone */
    uint32_t states[CEN_CHILD_STOPPING + 1];
    uint32_t visitors;
    uint64_t last_number, last_name;

    /* memory; supply.c */
    ceni_dead dead;
    ceni_tenure *spare; /* for the next start, or NULL */
    bool wants_tenure, no_tenure;

    /* order */
    uint32_t to_stop;        /* children that end IN_ORDER */
    uint32_t to_start;       /* fresh ones */
    ceni_list *front, *back; /* O4 in order.c */
    int64_t not_before;      /* no fresh child is started earlier */

    /* the end */
    bool hurry;      /* no child is waited for */
    bool over_told;  /* the listener got OVER */
    cen_error error; /* why it gave up or failed to start; else OK */
    cen_supervisor_report report;
    cen_future *started, *over;
    cen_child parent;

    /* counts */
    ceni_intensity intensity;
    uint64_t starts, restarts, abandoned;

    /* a futex word, written under the mutex */
    _Atomic uint32_t turns;
    uint32_t waiters;
};

enum { CENI_OUT_EVENTS = 3 }; /* abandoned, failed, waiting */

/* What a step leaves to do when the mutex is dropped. */
typedef struct ceni_out {
    cen_job *posts; /* chained by next */
    uint32_t count; /* of events, in order */
    cen_supervisor_event events[CENI_OUT_EVENTS];
    cen_error errors[CENI_OUT_EVENTS];          /* the events' */
    ceni_child_record *pinned[CENI_OUT_EVENTS]; /* likewise; or NULL */
    ceni_tenure *closing;
    cen_future *death; /* of `closing`, to be cancelled */
    cen_future *started;
    cen_error started_error;
    bool tell_parent;
} ceni_out;

static inline void ceni_supervisor_lock(cen_supervisor *supervisor)
{
    ceni_mutex_lock(&supervisor->mutex, CENI_RANK_SUPERVISOR);
}

static inline void ceni_supervisor_unlock(cen_supervisor *supervisor)
{
    ceni_mutex_unlock(&supervisor->mutex, CENI_RANK_SUPERVISOR);
}

#define CENI_CHILD_OF(field, pointer) CENI_LIST_ENTRY(pointer, ceni_child_record, field)

/* house.c: all supervisors of the process */
void ceni_house_enter(cen_supervisor *supervisor); /* gives it its id */
void ceni_house_leave(cen_supervisor *supervisor);
ceni_tenure *ceni_house_find_and_lock(cen_child handle); /* NULL: the start is over, and nothing is locked */

/* supply.c: the allocator's calls */
void ceni_dead_child_locked(ceni_child_record *child);
void ceni_dead_tenure_locked(ceni_tenure *tenure);
void ceni_dead_free(const cen_allocator *allocator, ceni_dead *dead);
/* true: records were freed, and the mutex was dropped meanwhile; needs a hand */
bool ceni_dead_free_locked(cen_supervisor *supervisor);
void ceni_supervisor_unlock_and_free(cen_supervisor *supervisor); /* for the program's calls; frees dead records */
/* by the steward, after a step; true: the mutex was dropped meanwhile */
bool ceni_supply_locked(cen_supervisor *supervisor);
bool ceni_supply_has_tenure_locked(cen_supervisor *supervisor); /* false: a record is fetched; repeat the step then */
ceni_tenure *ceni_supply_take_tenure_locked(cen_supervisor *supervisor); /* NULL: no memory */
void ceni_supervisor_release(cen_supervisor *supervisor);                /* frees all memory, once no hand is left */

/* child.c: records */
cen_status ceni_child_read(const cen_child_options *given, cen_child_options *options, cen_auto_stop auto_stop,
                           cen_error *error);
ceni_child_record *ceni_child_make(cen_supervisor *supervisor, const cen_child_options *options, bool is_initial);
cen_status ceni_child_list_locked(ceni_child_record *child, ceni_list *before, cen_error *error); /* EXISTS, FULL */
ceni_child_record *ceni_child_find_locked(cen_supervisor *supervisor, const char *name);
void ceni_child_forget_locked(ceni_child_record *child);
void ceni_child_drop_locked(ceni_child_record *child);
void ceni_child_purge_locked(cen_supervisor *supervisor); /* unlink gone children, without visitors */
void ceni_child_set_locked(ceni_child_record *child, cen_child_state state);
void ceni_child_set_fresh_locked(ceni_child_record *child, bool fresh);
void ceni_child_due_locked(ceni_child_record *child, int64_t moment); /* 0: none */
void ceni_child_note_locked(ceni_child_record *child);                /* to the agenda */

/* tenure.c: starts, their calls, and reports about them */
ceni_tenure *ceni_tenure_begin_locked(ceni_child_record *child, ceni_out *out); /* NULL: no memory */
void ceni_tenure_ask_locked(ceni_tenure *tenure, ceni_out *out); /* asks it to end, once start has returned */
void ceni_tenure_kill_locked(ceni_tenure *tenure, ceni_out *out);
void ceni_tenure_unlist_locked(ceni_tenure *tenure);
void ceni_tenure_drop_locked(ceni_tenure *tenure);   /* a hand */
void ceni_tenure_let_go_locked(ceni_tenure *tenure); /* its child does not need it */
bool ceni_tenure_is_over_locked(const ceni_tenure *tenure);

/* machine.c: the state machine; true: a step was made, and there may be more */
bool ceni_machine_step_locked(cen_supervisor *supervisor, ceni_out *out);
void ceni_machine_run_locked(cen_supervisor *supervisor);
void ceni_machine_stop_locked(cen_supervisor *supervisor, const cen_error *why); /* NULL: the program asked for it */
void ceni_machine_end_locked(ceni_child_record *child, ceni_ending ending);
bool ceni_machine_start_locked(ceni_child_record *child,
                               ceni_out *out); /* false: memory is fetched first; repeat the step */
void ceni_machine_stop_child_locked(ceni_child_record *child, ceni_out *out);
void ceni_machine_patron_locked(ceni_child_record *child, const cen_error *error); /* NULL: the child has started */

/* order.c: ordered starts and stops */
bool ceni_order_step_locked(cen_supervisor *supervisor, ceni_out *out);
void ceni_order_group_locked(ceni_child_record *dead); /* mark it and the siblings affected, for a restart */

/* steward.c */
void ceni_steward_run(cen_job *job);

/* call.c */
bool ceni_steward_call_locked(cen_supervisor *supervisor); /* true: post it after the mutex is dropped */
void ceni_steward_post(cen_supervisor *supervisor);
void ceni_steward_unlock(cen_supervisor *supervisor); /* calls the steward, unlocks, posts */
void ceni_supervisor_drop_hand_and_unlock(cen_supervisor *supervisor, bool is_lost);

/* out.c: what a step leaves to do */
void ceni_supervisor_event_locked(ceni_out *out, cen_event_kind kind, ceni_child_record *child, const cen_error *error);
void ceni_supervisor_event_own_locked(ceni_out *out, cen_event_kind kind, cen_supervisor *supervisor);
void ceni_out_post(ceni_out *out, cen_job *job);

/* wait.c */
void ceni_supervisor_turn_locked(cen_supervisor *supervisor);
int64_t ceni_wait_moment(const cen_supervisor *supervisor, cen_deadline deadline);
bool ceni_wait_locked(cen_supervisor *supervisor, int64_t moment); /* false: the moment has passed */
bool ceni_is_steward_locked(const cen_supervisor *supervisor);

#endif
