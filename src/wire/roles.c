/* SPDX-License-Identifier: MIT */
/*
 * The two roles of a connection: the writer and the reader.
 *
 * Writer: a thread that leaves the exchange and finds output and no writer. It goes on as long as there is more output:
 * what other threads add meanwhile goes with its next write, and they see `is_writing` and leave. After
 * WRITES_FOR_OTHERS writes the loop continues.
 *
 * Reader: a thread that waits for its reply, or the loop.
 *
 *     none ──a thread waits for its reply, and the loop does not read for others──▶ that thread
 *     none ──the loop sees input──▶ the loop, until it has read
 *     a thread ──its own reply has come, or other completions may take long──▶ none
 *     none ──see_to_roles: a thread is blocked, and the loop does not watch──▶ the first blocked thread
 *
 * Invariants, whenever the lock is free
 *  R1 If there is output, some thread writes, or the output is stuck (R2), or a batch is being completed, whose thread
 *     writes afterwards.
 *  R2 If the output is stuck, the loop watches for WRITE, or is inside, or is being woken.
 *  R3 If a request waits for its reply, and not just for a thread that is awake in here, then there is a reader, or the
 *     loop watches for READ, or is inside, or is being woken.
 *  R4 If no request waits, the loop watches for READ, to notice the connection's end; or it calls again SOON, or there
 *     is a reader, or the loop is inside or being woken.
 *  R5 If a request is UNDATED, the thread that made it is inside, or a batch is being completed, whose thread dates it
 *     afterwards. In that case the alarm, too, dates it by the time the connection's deadline has passed once.
 *
 * Every call ends with see_to_roles, which restores R2, R3 and R4. SOON avoids a wake of the loop for each request when
 * there is one caller at a time: if the loop finds that a thread reads, it stops watching and checks again after some
 * milliseconds. While it finds that threads have read since, it stays that way.
 *
 * No role is held while the program's code runs. A `done` that takes long, or makes a request itself, delays only its
 * own thread and, on the loop's thread, the requests made there. On other threads such requests are written at once,
 * because a `done` there may wait for them.
 *
 * Everything is ordered by the lock. The word that a blocked thread sleeps on belongs to requests.c.
 *
 * Order table
 * tag  site         | operation       | order   | pairs with | carries                          | breaks if weakened
 * [R1] make_heir    | cas of the word | acq_rel | requests.c [B3] | nothing that the lock does not   | nothing: it decides whether the thread sleeps
 *
 * Tested by tests/unit/wire/roles_test.c, tests/explore/wire_roles_test.c.
 */
#include "base/error.h"
#include "base/plant.h"
#include "wire/internal.h"

enum {
    WRITES_FOR_OTHERS = 16,
    FRAMES_AT_A_TIME = 64, /* claimed under the lock at a time */
    READS_IN_A_ROW = 16,   /* by the loop, which has other connections */
};

/* ---- Writing ------------------------------------------------------------------------------- */

static bool find_output(ceni_exchange *exchange)
{
    if (exchange->state == CENI_EXCHANGE_BROKEN) return false;
    if (exchange->sent < exchange->sending.size) return true;
    exchange->sent = 0;
    exchange->sending.size = 0;
    if (ceni_wire_take_output(&exchange->wire, &exchange->sending)) return true;
    return ceni_batch_take_output(exchange, &exchange->sending);
}

/* Return true if there is something to write, after taking it out of the wire. */
static inline bool have_output(ceni_exchange *exchange)
{
    return exchange->wire.unsent && find_output(exchange);
}

static void lose_locked(ceni_exchange *exchange, ceni_after *after, cen_cause cause, int code, const char *text)
{
    cen_error error;
    ceni_error_set(&error, CEN_LOST, code, "connection \"%s\": lost: %s", exchange->name, text);
    error.cause = cause;
    ceni_exchange_break(exchange, after, &error);
}

/* Write once. Returns false if the socket is full or broken. */
static bool write_once(ceni_exchange *exchange, ceni_after *after)
{
    cen_error cause;
    cause.cause = CEN_CAUSE_NONE; /* unless the transport sets one; it fills in the rest when it fails */
    size_t moved = 0;
    const unsigned char *from = exchange->sending.at + exchange->sent;
    size_t size = exchange->sending.size - exchange->sent;
    ceni_exchange_unlock(exchange);
    ceni_rank_expect_none("the transport's write");
    ceni_moved how = exchange->transport.write(exchange->argument, from, size, &moved, &cause);
    ceni_exchange_lock(exchange);
    if (how == CENI_MOVED_NEVER) {
        lose_locked(exchange, after, cause.cause, cause.code, cause.text);
        return false;
    }
    if (how == CENI_MOVED_NONE) moved = 0;
    exchange->sent += moved;
    exchange->stats.bytes_out += moved;
    if (moved) exchange->stats.writes++;
    if (exchange->state != CENI_EXCHANGE_BROKEN) ceni_wire_written(&exchange->wire, moved);
    exchange->is_stuck = moved < size && !ceni_planted(wire_stuck_output_forgotten);
    return moved == size;
}

void ceni_exchange_write(ceni_exchange *exchange, ceni_after *after)
{
    if (!after->urgent && ceni_exchange_batches(exchange)) return; /* when the batch ends */
    bool forgets = after->loops && ceni_planted(wire_batch_is_never_dated);
    if (ceni_wire_is_undated(&exchange->wire) && !forgets) ceni_exchange_date(exchange);
    if (exchange->is_writing || exchange->is_stuck || !have_output(exchange)) return;
    exchange->is_writing = true;
    unsigned writes = 0;
    do {
        if (writes++ == WRITES_FOR_OTHERS) {
            exchange->is_stuck = true;
            break;
        }
        if (!write_once(exchange, after)) break;
        ceni_exchange_admit(exchange, after); /* the write has made room */
        if (ceni_planted(wire_writes_once)) break;
    } while (have_output(exchange));
    exchange->is_writing = false;
}

/* ---- Reading --------------------------------------------------------------------------------- */

bool ceni_exchange_may_read(const ceni_exchange *exchange)
{
    if (exchange->is_reading || exchange->loop_reads || exchange->state == CENI_EXCHANGE_BROKEN) return false;
    bool loop_reads = (exchange->watched & CENI_LOOP_READ) || exchange->is_waking;
    return !(loop_reads && exchange->asked); /* then it reads for those anyway, and one reader is enough */
}

/* Mark the connection as lost. No lock is held. */
static void lose(ceni_exchange *exchange, ceni_after *after, cen_cause cause, int code, const char *text)
{
    ceni_exchange_lock(exchange);
    lose_locked(exchange, after, cause, code, text);
    ceni_exchange_unlock(exchange);
}

/* Take the requests of these replies OUT; NULL for a reply without a request. Under the lock. */
static void claim_all(ceni_exchange *exchange, const ceni_frame *frames, cen_request **requests, unsigned count)
{
    uint32_t replied = 0, asked = 0;
    for (unsigned i = 0; i < count; i++) {
        cen_request *request = ceni_wire_claim(&exchange->wire, frames[i].id);
        requests[i] = request;
        if (!request) continue;
        replied++;
        if (!ceni_sent_of(request)->blocked) asked++;
    }
    exchange->stats.replied += replied;
    exchange->stats.late += count - replied;
    exchange->asked -= asked;
}

/* Requests that this thread took OUT are its own until they are completed. */
static void answer_all(ceni_exchange *exchange, ceni_after *after, const ceni_frame *frames, cen_request **requests,
                       unsigned count)
{
    const cen_allocator *allocator = exchange->allocator;
    for (unsigned i = 0; i < count; i++) {
        if (!requests[i]) continue;
        ceni_request_answer(requests[i], frames[i].payload, frames[i].size, allocator);
        ceni_after_add(after, requests[i]);
    }
}

static void count_in(ceni_exchange *exchange, size_t moved)
{
    exchange->stats.bytes_in += moved;
    if (moved) exchange->stats.reads++;
}

static void take_frames(ceni_exchange *exchange, ceni_after *after, size_t moved)
{
    ceni_frame frames[FRAMES_AT_A_TIME];
    cen_request *requests[FRAMES_AT_A_TIME];
    cen_error error;
    cen_decoded found;
    do {
        unsigned count;
        found = ceni_input_take(&exchange->input, frames, FRAMES_AT_A_TIME, &count, &error);
        ceni_exchange_lock(exchange);
        count_in(exchange, moved);
        claim_all(exchange, frames, requests, count);
        ceni_exchange_unlock(exchange);
        answer_all(exchange, after, frames, requests, count);
        moved = 0;
    } while (found == CEN_DECODED_FRAME && !ceni_planted(wire_reads_one_batch));
    if (found == CEN_DECODED_BROKEN) lose(exchange, after, CEN_CAUSE_PROTOCOL_ERROR, 0, error.text);
}

ceni_came ceni_exchange_read(ceni_exchange *exchange, int64_t moment, ceni_after *after)
{
    void *into;
    size_t size, moved = 0;
    cen_error cause;
    cause.cause = CEN_CAUSE_NONE;
    if (ceni_input_room(&exchange->input, &into, &size) != CEN_OK) {
        lose(exchange, after, CEN_CAUSE_NONE, 0, "out of memory for input");
        return CENI_CAME_NOTHING;
    }
    ceni_rank_expect_none("the transport's read");
    ceni_moved how = exchange->transport.read(exchange->argument, into, size, moment, &moved, &cause);
    if (how == CENI_MOVED_NEVER) lose(exchange, after, cause.cause, cause.code, cause.text);
    if (how != CENI_MOVED || moved == 0) return CENI_CAME_NOTHING;
    ceni_input_added(&exchange->input, moved);
    take_frames(exchange, after, moved);
    return moved == size ? CENI_CAME_MORE : CENI_CAME_SOME;
}

/* ---- Passing the reader's role on -------------------------------------------------------------- */

/* Return the first sleeping thread whose reply has not been found. */
static ceni_blocked *find_heir(const ceni_exchange *exchange)
{
    if (exchange->loop_reads || ceni_planted(wire_passes_no_role)) return NULL;
    for (ceni_list *link = exchange->blocked.next; link != &exchange->blocked; link = link->next) {
        ceni_blocked *blocked = CENI_LIST_ENTRY(link, ceni_blocked, link);
        if (ceni_sent_of(blocked->request)->place != CENI_PLACE_OUT) return blocked;
    }
    return NULL;
}

static void make_heir(ceni_exchange *exchange, ceni_after *after, ceni_blocked *heir)
{
    ceni_list_remove(&heir->link);
    heir->reads = true;
    exchange->is_reading = true;
    exchange->turns++;
    uint32_t asleep = CENI_BLOCKED_ASLEEP;
    /* If it is being completed at this moment, it is awake anyway, and passes the role on. */
    if (ceni_cas_acq_rel(&heir->word, &asleep, (uint32_t)CENI_BLOCKED_AWAKE)) after->heir = heir; /* [R1] */
}

static void wake_loop(ceni_exchange *exchange, ceni_after *after)
{
    if (exchange->is_waking || exchange->is_looping) return;
    exchange->is_waking = true;
    exchange->stats.wakes++;
    after->wake = true;
}

void ceni_exchange_see_to_roles(ceni_exchange *exchange, ceni_after *after)
{
    if (exchange->state == CENI_EXCHANGE_BROKEN) return;
    if (exchange->is_stuck && !(exchange->watched & CENI_LOOP_WRITE)) wake_loop(exchange, after); /* R2 */
    if (exchange->is_reading || (exchange->watched & CENI_LOOP_READ) || exchange->is_waking) return;
    ceni_blocked *heir = find_heir(exchange);
    bool needed = exchange->asked || !ceni_list_empty(&exchange->blocked);
    if (ceni_planted(wire_wakes_no_loop)) needed = false;
    if (heir) make_heir(exchange, after, heir);                                           /* R3 */
    else if (needed || !(exchange->watched & CENI_LOOP_SOON)) wake_loop(exchange, after); /* R3, R4 */
}

/* ---- The loop --------------------------------------------------------------------------------------- */

static void read_for_all(ceni_exchange *exchange, ceni_after *after)
{
    ceni_came came = CENI_CAME_MORE;
    for (unsigned i = 0; i < READS_IN_A_ROW && came == CENI_CAME_MORE; i++) {
        if (exchange->is_reading || exchange->state == CENI_EXCHANGE_BROKEN) return;
        exchange->is_reading = true;
        ceni_exchange_unlock(exchange);
        came = ceni_exchange_read(exchange, 0, after);
        ceni_exchange_lock(exchange);
        exchange->is_reading = false;
        ceni_exchange_settle(exchange, after);
    }
}

static unsigned what_to_watch(ceni_exchange *exchange, unsigned happened)
{
    if (exchange->state == CENI_EXCHANGE_BROKEN) return 0;
    unsigned watch = exchange->is_stuck ? CENI_LOOP_WRITE : 0;
    bool threads_read = exchange->turns != exchange->turns_seen && !exchange->loop_reads;
    exchange->turns_seen = exchange->turns;
    if (exchange->is_reading) {
        /* A thread that has read since the last check may go on for long. It wakes the loop when it stops. */
        if (threads_read || !(happened & CENI_LOOP_SOON)) watch |= CENI_LOOP_SOON;
        return watch;
    }
    bool needed = exchange->asked || !ceni_list_empty(&exchange->blocked);
    return watch | (needed || !threads_read ? CENI_LOOP_READ : CENI_LOOP_SOON);
}

unsigned ceni_exchange_loop(ceni_exchange *exchange, unsigned happened)
{
    ceni_after after;
    ceni_after_init(&after);
    after.loops = true;
    ceni_exchange_enter(exchange);
    exchange->is_looping = true;
    exchange->is_waking = false;
    exchange->watched = 0;
    if (happened & CENI_LOOP_WRITE) exchange->is_stuck = false;
    if (happened & CENI_LOOP_READ) read_for_all(exchange, &after);
    ceni_exchange_write(exchange, &after);
    unsigned watch = what_to_watch(exchange, happened);
    exchange->watched = watch;
    exchange->is_looping = false;
    ceni_exchange_leave(exchange, &after);
    return watch;
}
