/* SPDX-License-Identifier: MIT */
/*
 * The records of children: names, the list in order, the agenda, the alarm.
 *
 * A record has these references: one for the list, or for being an initial child, which a nested supervisor needs
 * again at its next start; one for each tenure, whose late calls still read the options; one for each call of its alarm
 * that is set or under way; and one for each thread that waits for it. While a thread walks through the list
 * (`visitors`), a forgotten child stays linked and is marked as gone. So a walk needs no cursor that other threads must
 * adjust.
 *
 * Everything is under the supervisor's mutex. The alarm is set under it: the runtime's lock has a higher rank.
 *
 * Tested by tests/unit/supervisor/dynamic_test.c, look_test.c.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "supervisor/internal.h"

#include <stdio.h>
#include <string.h>

enum { NUMBER_ROOM = 24 };
static const int64_t DEFAULT_SHUTDOWN_NS = 5000000000, DEFAULT_KILL_NS = 1000000000;

/* ---- Options ------------------------------------------------------------------------ */

static cen_status refuse(const cen_child_options *o, cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "child \"%.60s\": %s", o->name ? o->name : "(unnamed)", what);
}

static cen_status check_calls(const cen_child_options *o, cen_error *error)
{
    if (!o->start == !o->run)
        return refuse(o, error,
                      o->start ? "options.start and options.run must not both be set"
                               : "options.start or options.run must be set");
    if (o->kill_at_once && !o->kill) return refuse(o, error, "options.kill_at_once needs options.kill");
    if (o->stops_at_once && !o->stop) return refuse(o, error, "options.stops_at_once needs options.stop");
    if (o->stops_at_once && o->run) return refuse(o, error, "options.stops_at_once is not allowed with options.run");
    const int64_t times[] = {o->start_ns, o->shutdown_ns, o->kill_ns};
    static const char *const names[] = {"start_ns", "shutdown_ns", "kill_ns"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (cen_time_is_tiny(times[i]))
            return ceni_error_set(error, CEN_INVALID, 0, "child \"%.60s\": options.%s " CEN_TIME_IS_TINY,
                                  o->name ? o->name : "(unnamed)", names[i], (long long)times[i]);
    if (o->start_ns < 0 && o->start_ns != CEN_OFF)
        return refuse(o, error, "options.start_ns must not be below CEN_OFF");
    if (o->shutdown_ns < 0 && o->shutdown_ns != CEN_OFF)
        return refuse(o, error, "options.shutdown_ns must not be below CEN_OFF");
    if (o->kill_ns < 0) return refuse(o, error, "options.kill_ns must not be negative");
    return CEN_OK;
}

cen_status ceni_child_read(const cen_child_options *given, cen_child_options *o, cen_auto_stop auto_stop,
                           cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_child_options", error);
    if (status != CEN_OK) return status;
    if (o->name && (o->name[0] == '\0' || o->name[0] == '#'))
        return refuse(o, error, "options.name must not be empty or begin with '#'");
    if ((unsigned)o->restart > CEN_RESTART_TEMPORARY) return refuse(o, error, "options.restart must be a cen_restart");
    if (o->significant && auto_stop == CEN_AUTO_STOP_NEVER)
        return refuse(o, error, "options.significant needs auto_stop of the supervisor");
    if (o->significant && o->restart == CEN_RESTART_PERMANENT)
        return refuse(o, error, "options.significant is not allowed with CEN_RESTART_PERMANENT");
    return check_calls(o, error);
}

/* ---- Creating and releasing ----------------------------------------------------------- */

static void ring(ceni_alarm *alarm);

ceni_child_record *ceni_child_make(cen_supervisor *supervisor, const cen_child_options *options, bool is_initial)
{
    size_t room = options->name ? strlen(options->name) + 1 : NUMBER_ROOM, size = sizeof(ceni_child_record) + room;
    ceni_child_record *child = ceni_alloc(supervisor->allocator, size, _Alignof(ceni_child_record));
    if (!child) return NULL;
    child->supervisor = supervisor;
    child->options = *options;
    if (child->options.start_ns < 0) child->options.start_ns = 0;
    if (child->options.shutdown_ns == 0) child->options.shutdown_ns = DEFAULT_SHUTDOWN_NS;
    if (child->options.kill_ns == 0) child->options.kill_ns = DEFAULT_KILL_NS;
    child->size = size;
    child->is_initial = is_initial;
    child->refs = 1;
    if (options->name) memcpy(child->name, options->name, room);
    child->options.name = options->name ? child->name : NULL; /* NULL: it is numbered */
    ceni_list_init(&child->link);
    ceni_list_init(&child->agenda);
    ceni_alarm_init(&child->alarm, ring);
    return child;
}

void ceni_child_drop_locked(ceni_child_record *child)
{
    if (--child->refs == 0) ceni_dead_child_locked(child);
}

/* ---- The list --------------------------------------------------------------------------- */

static uint64_t hash_name(const char *name)
{
    return ceni_hash_bytes(0, name, strlen(name));
}

static bool has_name(const ceni_table_node *node, const void *name)
{
    return strcmp(CENI_TABLE_ENTRY(node, ceni_child_record, node)->name, name) == 0;
}

ceni_child_record *ceni_child_find_locked(cen_supervisor *supervisor, const char *name)
{
    ceni_table_node *node = ceni_table_find(&supervisor->names, hash_name(name), has_name, name);
    return node ? CENI_TABLE_ENTRY(node, ceni_child_record, node) : NULL;
}

cen_status ceni_child_list_locked(ceni_child_record *child, ceni_list *before, cen_error *error)
{
    cen_supervisor *supervisor = child->supervisor;
    if (child->options.name && ceni_child_find_locked(supervisor, child->name))
        return ceni_error_set(error, CEN_EXISTS, 0, "supervisor \"%s\": child \"%.200s\" already exists",
                              supervisor->name, child->name);
    if (supervisor->count >= supervisor->max_children && !ceni_planted(supervisor_ignores_max_children)) {
        ceni_error_set(error, CEN_FULL, 0, "supervisor \"%s\": full (%u children, max_children = %u)", supervisor->name,
                       supervisor->count, supervisor->max_children);
        if (error) error->current = supervisor->count, error->max = supervisor->max_children;
        return CEN_FULL;
    }
    if (!child->options.name) snprintf(child->name, NUMBER_ROOM, "#%llu", (unsigned long long)++supervisor->last_name);
    if (!child->is_gone) ceni_list_insert_before(before, &child->link);
    child->is_gone = false;
    ceni_table_put(&supervisor->names, &child->node, hash_name(child->name));
    child->is_listed = true;
    child->state = CEN_CHILD_DOWN;
    child->since = ceni_runtime_now(supervisor->runtime);
    supervisor->count++;
    supervisor->states[CEN_CHILD_DOWN]++;
    return CEN_OK;
}

static void unlink_locked(ceni_child_record *child)
{
    cen_supervisor *supervisor = child->supervisor;
    if (supervisor->front == &child->link) supervisor->front = child->link.next;
    if (supervisor->back == &child->link) supervisor->back = child->link.previous;
    ceni_list_remove(&child->link);
    child->is_gone = false;
    if (!child->is_initial) ceni_child_drop_locked(child);
}

void ceni_child_forget_locked(ceni_child_record *child)
{
    cen_supervisor *supervisor = child->supervisor;
    if (!child->is_listed) return;
    ceni_child_due_locked(child, 0);
    ceni_child_set_fresh_locked(child, false);
    ceni_table_remove(&supervisor->names, &child->node);
    ceni_list_remove(&child->agenda);
    child->is_listed = child->wanted = child->leaving = false;
    supervisor->count--;
    supervisor->states[child->state]--;
    if (supervisor->visitors > 0) child->is_gone = true;
    else unlink_locked(child);
    ceni_supervisor_turn_locked(supervisor);
}

void ceni_child_purge_locked(cen_supervisor *supervisor)
{
    for (ceni_list *link = supervisor->children.next, *next; link != &supervisor->children; link = next) {
        next = link->next;
        if (CENI_CHILD_OF(link, link)->is_gone) unlink_locked(CENI_CHILD_OF(link, link));
    }
}

/* ---- State, agenda and alarm --------------------------------------------------------------- */

void ceni_child_set_locked(ceni_child_record *child, cen_child_state state)
{
    cen_supervisor *supervisor = child->supervisor;
    supervisor->states[child->state]--;
    supervisor->states[state]++;
    child->state = state;
    child->since = ceni_runtime_now(supervisor->runtime);
    ceni_supervisor_turn_locked(supervisor);
}

void ceni_child_set_fresh_locked(ceni_child_record *child, bool fresh)
{
    cen_supervisor *supervisor = child->supervisor;
    if (fresh && !child->fresh) supervisor->to_start++, supervisor->front = supervisor->children.next;
    if (!fresh && child->fresh) supervisor->to_start--;
    child->fresh = fresh;
}

void ceni_child_note_locked(ceni_child_record *child)
{
    if (child->is_listed && !ceni_list_linked(&child->agenda))
        ceni_list_push_back(&child->supervisor->agenda, &child->agenda);
}

void ceni_child_due_locked(ceni_child_record *child, int64_t moment)
{
    cen_supervisor *supervisor = child->supervisor;
    if (moment == 0 && child->moment == 0) return;
    child->moment = moment;
    if (moment == 0) {
        if (!ceni_alarm_unset(supervisor->runtime, &child->alarm)) return;
        supervisor->hands--;
        child->refs--; /* not the last: the caller has the child from the list */
    } else if (!ceni_alarm_set(supervisor->runtime, &child->alarm, moment, NULL)) {
        supervisor->hands++;
        child->refs++;
    }
}

static void ring(ceni_alarm *alarm)
{
    ceni_child_record *child = CENI_CHILD_OF(alarm, alarm);
    cen_supervisor *supervisor = child->supervisor;
    ceni_supervisor_lock(supervisor);
    if (child->moment != 0) ceni_child_note_locked(child);
    ceni_child_drop_locked(child);
    bool post = ceni_steward_call_locked(supervisor); /* before the hand is dropped: the steward takes one */
    supervisor->hands--;
    ceni_supervisor_unlock(supervisor);
    if (post) ceni_steward_post(supervisor);
}
