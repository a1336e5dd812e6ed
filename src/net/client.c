/* SPDX-License-Identifier: MIT */
/*
 * One client of a server. Requests arrive on the loop's thread; replies leave on the thread that sends them.
 *
 *     loop:  receive ▶ decode ▶ handler, for each frame ▶ send the replies made meanwhile, together
 *     reply: encode ▶ [frames] ▶ send at once, unless the loop is about to, or the socket takes no more
 *
 * Invariants
 *  C1 Only the loop's thread touches the handle, the input, and the list that the client is in.
 *  C2 Frames are sent in order, under the mutex, by a call that never waits. Everything in `frames` is sent by the
 *     thread that replies; or, if `corked`, by the loop when it has handled what it read; or, if `stuck`, by the loop
 *     when the socket takes more.
 *  C3 The descriptor is closed after `dead` was set under the mutex. It is used by the loop's thread, or under the
 *     mutex after a check of `dead`.
 *  C4 No thread posts `attend` after `dead` was set. So once the loop has removed it, it never runs again, and the
 *     client does not need the loop any longer.
 *  C5 The memory is freed with the last reference: the loop's, which ends when its handle is closed, or that of a call.
 *  C6 The handler has `handed` - `over` calls. When that is the limit, the loop sets `crowded` under the mutex. The
 *     thread that ends a call after that clears it, under the mutex, and posts `attend` to the loop.
 *
 * Order table
 * tag  site    | operation     | order   | pairs with | carries             | breaks if weakened
 * [C1] drop | subtract of hands | seq_cst | itself | all that was done with the client | it is freed under another thread's last write
 * All else is ordered by the mutex.
 *
 * Tested by tests/unit/net/server_test.c, tests/stress/mux_stress.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "net/server.h"

enum { PARTS = 64, CAUSE = 160 };

/* One encoded reply. */
typedef struct frame {
    struct frame *next;
    size_t size, sent;
    size_t room; /* size of the allocation */
    unsigned char bytes[];
} frame;

struct ceni_client {
    /* fixed before it is shared */
    cen_mux_server *server;
    uint64_t number;
    int fd;
    ceni_loop_call attend;

    /* any thread, atomically */
    _Atomic uint32_t hands;

    /* under the mutex, of rank CONNECTION */
    ceni_mutex mutex;
    frame *first, **last;
    size_t output; /* unsent bytes in the frames */
    bool dead;     /* nothing more is sent */
    bool corked;   /* the loop handles what it read, and will send afterwards */
    bool stuck;    /* the socket's buffer is full; the loop waits for it */
    uint64_t over; /* calls that were replied to or dropped */
    bool crowded;  /* the handler has max_calls calls; the loop waits until one is over */

    /* the loop's thread alone */
    uv_poll_t poll;
    ceni_input input;
    ceni_list link; /* in the server's list of clients */
    int watched;
    bool is_cut;
    /* requests were read and wait: until the socket takes more replies, or until a call is over */
    bool held;
    uint64_t handed; /* calls given to the handler */
    char cause[CAUSE];
};

typedef struct call {
    cen_mux_call seen; /* first member, so that a pointer to one is a pointer to the other */
    ceni_client *client;
    size_t room;
    unsigned char bytes[];
} call;

static void client_lock(ceni_client *client)
{
    ceni_mutex_lock(&client->mutex, CENI_RANK_CONNECTION);
}

static void client_unlock(ceni_client *client)
{
    ceni_mutex_unlock(&client->mutex, CENI_RANK_CONNECTION);
}

static void free_frames(const ceni_client *client, frame *first)
{
    for (frame *next; first; first = next) {
        next = first->next;
        ceni_free(client->server->allocator, first, first->room, _Alignof(frame));
    }
}

static void drop(ceni_client *client)
{
    if (ceni_sub_seq_cst(&client->hands, 1u) != 1) return; /* [C1] */
    cen_mux_server *server = client->server;
    free_frames(client, client->first);
    ceni_free(server->allocator, client, sizeof *client, _Alignof(ceni_client));
    ceni_server_drop(server);
}

/* ---- Output ---------------------------------------------------------------------------------------- */

/* Count sent bytes. Frames that were sent completely are appended to *spent. */
static void advance_locked(ceni_client *client, size_t count, frame ***spent)
{
    client->output -= count;
    ceni_served(client->server, CENI_SERVED_BYTES_OUT, count);
    for (frame *one; count > 0 && (one = client->first);) {
        size_t left = one->size - one->sent;
        if (count < left) {
            one->sent += count;
            return;
        }
        count -= left;
        client->first = one->next;
        if (!client->first) client->last = &client->first;
        one->next = NULL;
        **spent = one;
        *spent = &one->next;
    }
}

/* Send what the socket takes without waiting. The caller frees the returned frames after it has unlocked the mutex. */
static frame *flush_locked(ceni_client *client)
{
    frame *gone = NULL, **spent = &gone;
    client->stuck = false;
    while (client->first && !client->dead) {
        struct iovec parts[PARTS];
        size_t count = 0;
        for (frame *one = client->first; one && count < PARTS; one = one->next)
            parts[count++] = (struct iovec){one->bytes + one->sent, one->size - one->sent};
        ssize_t sent = ceni_socket_send_parts(client->fd, parts, count);
        if (sent >= 0) {
            advance_locked(client, (size_t)sent, &spent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            client->stuck = true;
            break;
        } else {
            ceni_errno_text(errno, client->cause);
            client->dead = true;
        }
    }
    return gone;
}

static void watch(ceni_client *client);

static void flush_on_loop(ceni_client *client)
{
    client_lock(client);
    client->corked = false;
    frame *gone = flush_locked(client);
    client_unlock(client);
    free_frames(client, gone);
}

/* ---- The end --------------------------------------------------------------------------------------- */

static void closed(uv_handle_t *handle)
{
    ceni_client *client = handle->data;
    cen_mux_server *server = client->server;
    ceni_socket_close(client->fd);
    ceni_input_fini(&client->input);
    ceni_loop_unpost(server->loop, &client->attend);
    ceni_sub_relaxed(&server->client_count, 1u); /* a number; carries nothing */
    ceni_rank_expect_none("`client` of a server");
    if (server->client) server->client(server->argument, client->number, client->cause);
    ceni_add_relaxed(&server->hands, 1u); /* keeps the server alive for the calls below; carries nothing */
    drop(client);
    ceni_server_handle_closed(server);
    ceni_server_drop(server);
}

static void cut(ceni_client *client, const char *cause)
{
    if (client->is_cut) return;
    client->is_cut = true;
    client_lock(client);
    if (!client->dead) snprintf(client->cause, sizeof client->cause, "%s", cause);
    client->dead = true;
    client_unlock(client);
    /* A forked child may have a copy of the descriptor. The shutdown reaches the peer all the same. */
    ceni_socket_shut(client->fd);
    ceni_list_remove(&client->link);
    uv_close((uv_handle_t *)&client->poll, closed);
}

size_t ceni_clients_cut(cen_mux_server *server, uint64_t number, const char *cause)
{
    size_t found = 0;
    for (ceni_list *link = server->clients.next, *next; link != &server->clients; link = next) {
        ceni_client *client = CENI_LIST_ENTRY(link, ceni_client, link);
        next = link->next;
        if (number != 0 && client->number != number) continue;
        cut(client, cause);
        found++;
    }
    return found;
}

/* ---- Input ----------------------------------------------------------------------------------------- */

static bool hand_over(ceni_client *client, const cen_decoding *asked)
{
    cen_mux_server *server = client->server;
    size_t room = sizeof(call) + asked->size;
    call *made = ceni_alloc(server->allocator, room, _Alignof(call));
    if (!made) return false;
    made->client = client;
    made->room = room;
    if (asked->size) memcpy(made->bytes, asked->payload, asked->size);
    made->seen =
        (cen_mux_call){.payload = made->bytes, .payload_size = asked->size, .id = asked->id, .client = client->number};
    ceni_add_relaxed(&client->hands, 1u); /* the loop's own reference keeps it alive meanwhile; carries nothing */
    client->handed++;
    ceni_served(server, CENI_SERVED_CALLS, 1);
    ceni_rank_expect_none("the handler of a server");
    server->handle(server->argument, &made->seen);
    return true;
}

/* Return true if the client has too many replies to fetch, after everything was sent that the socket takes (small
 * requests may have large replies), or if the handler has too many of its calls. */
static bool is_full(ceni_client *client)
{
    client_lock(client);
    frame *gone = client->output > client->server->max_output ? flush_locked(client) : NULL;
    bool full = client->stuck && client->output > client->server->max_output && !ceni_planted(net_reads_without_limit);
    client->crowded =
        client->handed - client->over >= client->server->max_calls && !ceni_planted(net_hands_over_without_limit);
    full = full || client->crowded;
    client_unlock(client);
    free_frames(client, gone);
    return full;
}

/* The handler may cut the client or stop the server. Then the rest of the input is not handled. */
static void handle_frames(ceni_client *client)
{
    cen_decoding asked;
    cen_error error = {.text = ""};
    client->held = false;
    while (!client->is_cut || ceni_planted(net_handles_after_the_end)) {
        if (is_full(client)) {
            client->held = true;
            return;
        }
        cen_decoded found = ceni_input_next(&client->input, &asked, &error);
        if (found == CEN_DECODED_MORE) return;
        if (found == CEN_DECODED_BROKEN) {
            ceni_served(client->server, CENI_SERVED_BROKEN, 1);
            cut(client, error.text);
        } else if (!hand_over(client, &asked)) {
            cut(client, "out of memory");
        }
    }
}

/* Handle the frames, then send their replies together. */
static void handle_together(ceni_client *client)
{
    client_lock(client);
    client->corked = true;
    client_unlock(client);
    handle_frames(client);
    if (!client->is_cut) flush_on_loop(client);
}

static void receive(ceni_client *client)
{
    char text[CENI_CAUSE_SIZE];
    void *into;
    size_t room;
    if (ceni_input_room(&client->input, &into, &room) != CEN_OK) return cut(client, "out of memory");
    ssize_t got = ceni_socket_receive(client->fd, into, room);
    if (got == 0) return cut(client, "closed by the client");
    if (got < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK) cut(client, ceni_errno_text(errno, text));
        return;
    }
    ceni_served(client->server, CENI_SERVED_BYTES_IN, (uint64_t)got);
    ceni_input_added(&client->input, (size_t)got);
    handle_together(client);
}

static void ready(uv_poll_t *poll, int status, int events)
{
    ceni_client *client = poll->data;
    if (status < 0) { /* libuv has stopped the handle and reports UV_EBADF; the socket has the actual error */
        char text[CENI_CAUSE_SIZE];
        int code = ceni_socket_error(client->fd);
        return cut(client, code ? ceni_errno_text(code, text) : "connection lost");
    }
    if (events & UV_DISCONNECT) return cut(client, "closed by the client");
    if (events & UV_WRITABLE) flush_on_loop(client);
    if (client->held) handle_together(client);
    if ((events & UV_READABLE) && !client->held && !client->is_cut) receive(client);
    watch(client);
}

/* Choose what to watch. To read: unless too many replies have not been fetched, or too many calls have no reply. To
 * write: if the socket was full. A client that is not read from is watched for a disconnect. */
static void watch(ceni_client *client)
{
    if (client->is_cut) return;
    client_lock(client);
    bool dead = client->dead, stuck = client->stuck, full = client->output > client->server->max_output;
    bool crowded = client->crowded;
    client_unlock(client);
    if (dead) return cut(client, "");
    bool rests = client->held || (stuck && full && !ceni_planted(net_reads_without_limit));
    int wanted =
        (stuck || (client->held && !crowded) ? UV_WRITABLE : 0) | (rests ? crowded ? UV_DISCONNECT : 0 : UV_READABLE);
    if (wanted == client->watched) return;
    client->watched = wanted;
    uv_poll_start(&client->poll, wanted, ready);
}

static void attend(ceni_loop_call *posted)
{
    ceni_client *client = CENI_LIST_ENTRY(posted, ceni_client, attend);
    if (client->held && !client->is_cut) handle_together(client);
    watch(client);
}

void ceni_client_begin(cen_mux_server *server, int fd)
{
    ceni_client *client = ceni_alloc(server->allocator, sizeof *client, _Alignof(ceni_client));
    if (!client || uv_poll_init(ceni_loop_uv(server->loop), &client->poll, fd) != 0) {
        ceni_free(server->allocator, client, sizeof *client, _Alignof(ceni_client));
        ceni_socket_close(fd);
        return;
    }
    client->server = server;
    client->number = ++server->numbers;
    client->fd = fd;
    client->last = &client->first;
    client->poll.data = client;
    ceni_store_relaxed(&client->hands, 1u);      /* not yet shared; carries nothing */
    ceni_add_relaxed(&server->hands, 1u);        /* the program's reference keeps it alive meanwhile; carries nothing */
    ceni_add_relaxed(&server->client_count, 1u); /* a number; carries nothing */
    server->handles++;
    ceni_loop_call_init(&client->attend, attend);
    ceni_input_init(&client->input, server->codec, server->max_payload, server->allocator);
    ceni_list_push_back(&server->clients, &client->link);
    ceni_rank_expect_none("`client` of a server");
    if (server->client) server->client(server->argument, client->number, NULL);
    watch(client);
}

/* ---- Replies, on any thread ------------------------------------------------------------------------- */

/* Count a finished call, and wake the loop if it waits for that. */
static void end_locked(ceni_client *client)
{
    client->over++;
    if (!client->crowded || client->dead || ceni_planted(net_leaves_the_crowded)) return;
    client->crowded = false;
    ceni_loop_post(client->server->loop, &client->attend);
}

static void end_call(call *ended)
{
    ceni_client *client = ended->client;
    ceni_free(client->server->allocator, ended, ended->room, _Alignof(call));
    drop(client);
}

static cen_status encode(const call *answered, const void *payload, size_t size, frame **out)
{
    cen_mux_server *server = answered->client->server;
    const cen_codec_calls *calls = server->codec.calls;
    cen_error error;
    size_t room = sizeof(frame) + calls->bound(server->codec.argument, size);
    frame *made = ceni_alloc(server->allocator, room, _Alignof(frame));
    if (!made) return CEN_NO_MEMORY;
    made->room = room;
    cen_status status =
        calls->encode(server->codec.argument, answered->seen.id, payload, size, made->bytes, &made->size, &error);
    if (status == CEN_OK) *out = made;
    else ceni_free(server->allocator, made, room, _Alignof(frame));
    return status == CEN_OK || status == CEN_NO_MEMORY ? status : CEN_INVALID;
}

/* End the call. Returns whether its reply is on its way. Frames that were sent, or not accepted, are at the head of
 * *gone. */
static cen_status send_frame(ceni_client *client, frame *made, frame **gone)
{
    client_lock(client);
    end_locked(client);
    if (client->dead) {
        client_unlock(client);
        *gone = made;
        return CEN_LOST;
    }
    *client->last = made;
    client->last = &made->next;
    client->output += made->size;
    if (!client->corked && !client->stuck) {
        *gone = flush_locked(client);
        if (client->stuck || client->dead) ceni_loop_post(client->server->loop, &client->attend);
    }
    client_unlock(client);
    return CEN_OK;
}

cen_status cen_mux_call_reply(cen_mux_call *seen, const void *payload, size_t size)
{
    call *answered = (call *)(void *)seen;
    frame *made, *gone = NULL;
    if (!seen || (!payload && size)) return CEN_INVALID;
    ceni_client *client = answered->client;
    if (!ceni_fork_is(client->server->epoch)) return CEN_FORKED;
    cen_status status = encode(answered, payload, size, &made);
    if (status != CEN_OK) return status;
    status = send_frame(client, made, &gone);
    if (status == CEN_OK) ceni_served(client->server, CENI_SERVED_REPLIES, 1);
    free_frames(client, gone);
    end_call(answered);
    return status;
}

void cen_mux_call_drop(cen_mux_call *seen)
{
    call *dropped = (call *)(void *)seen;
    if (!seen || !ceni_fork_is(dropped->client->server->epoch)) return;
    client_lock(dropped->client);
    end_locked(dropped->client);
    client_unlock(dropped->client);
    end_call(dropped);
}
