/* SPDX-License-Identifier: MIT */
/* The bytes of a link: read from one side, and forwarded to the other or dropped. */
#include <errno.h>
#include <sys/socket.h>

#include "faultproxy/link.h"
#include "faultproxy/proxy.h"

/* The limits of one pass over a link, after which other links have their turn. */
enum { MOST_READS = 4, MOST_PIECES = 64 };

static unsigned char scratch[64 * 1024]; /* receives dropped bytes; never read */

bool fp_bytes_wanted(const fp_link *link, unsigned i)
{
    const fp_flow *flow = &link->flow[i];
    fp_hole hole = link->faults.way[i].hole;
    if (flow->end != FP_NO_END || link->side[i].broken || hole == FP_HOLD) return false;
    if (hole == FP_SWALLOW) return true;
    return link->state == FP_OPEN && !flow->over && flow->in - flow->out < FP_RING && flow->marks_used < FP_MARKS;
}

void fp_bytes_side_broke(fp_link *link, unsigned i)
{
    fp_flow *into = &link->flow[1 - i];
    link->side[i].broken = true;
    link->reset_passes_on = true;
    into->over = true;
    fp_flow_ended(&link->flow[i], &link->faults.way[i], FP_BROKEN, uv_hrtime());
}

/* Read once. Returns false if no more input is available. */
static bool read_once(fp_link *link, unsigned i)
{
    fp_flow *flow = &link->flow[i];
    const fp_way *way = &link->faults.way[i];
    unsigned char *into = scratch;
    size_t room = way->hole == FP_SWALLOW ? sizeof scratch : fp_flow_room(flow, &into);
    if (room == SIZE_MAX) {
        fp_bytes_side_broke(link, i);
        return false;
    }
    ssize_t count = recv(link->side[i].fd, into, room, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) return true;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (count < 0) fp_bytes_side_broke(link, i);
    else if (count == 0) fp_flow_ended(flow, way, FP_CLOSED, uv_hrtime());
    else if (way->hole == FP_SWALLOW) {
        flow->lost = true;
        link->proxy->stats.swallowed += (uint64_t)count;
    } else {
        fp_flow_added(flow, way, (size_t)count, uv_hrtime(), &link->proxy->jitter);
    }
    return count > 0 && (size_t)count == room;
}

void fp_bytes_read(fp_link *link, unsigned i)
{
    for (unsigned n = 0; n < MOST_READS && fp_bytes_wanted(link, i); n++)
        if (!read_once(link, i)) return;
}

/* Write one piece. Returns false if the socket is full or broken. */
static bool write_once(fp_link *link, unsigned i, const unsigned char *from, size_t size, uint64_t now)
{
    fp_flow *flow = &link->flow[i];
    uint64_t *total = i == FP_CLIENT ? &link->proxy->stats.to_server : &link->proxy->stats.to_client;
    ssize_t count = send(link->side[1 - i].fd, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) count = 0;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        fp_bytes_side_broke(link, 1 - i);
        return false;
    }
    flow->stuck = count < (ssize_t)size;
    if (count <= 0) return false;
    fp_flow_passed(flow, &link->faults.way[i], (size_t)count, now);
    *total += (uint64_t)count;
    if (link->reset_left != FP_NEVER) link->reset_left -= (uint64_t)count;
    return !flow->stuck;
}

static void pass_end_on(fp_link *link, unsigned i, uint64_t now)
{
    fp_flow *flow = &link->flow[i];
    flow->over = true;
    if (flow->end == FP_CLOSED || link->faults.close_slowly) shutdown(link->side[1 - i].fd, SHUT_WR);
    if (link->faults.close_slowly && link->close_at == FP_NEVER) link->close_at = now + link->faults.close_slowly;
}

void fp_bytes_pass_on(fp_link *link, unsigned i, uint64_t now, uint64_t *wake)
{
    fp_flow *flow = &link->flow[i];
    const fp_way *way = &link->faults.way[i];
    flow->stuck = false;
    if (link->state != FP_OPEN || way->hole != FP_NO_HOLE || flow->over) return;
    for (unsigned n = 0; n < MOST_PIECES; n++) {
        const unsigned char *from;
        size_t size = fp_flow_next(flow, way, now, &from, wake);
        if (!size) {
            if (fp_flow_ends(flow, now, wake)) pass_end_on(link, i, now);
            return;
        }
        if (size > link->reset_left) size = (size_t)link->reset_left;
        if (!write_once(link, i, from, size, now) || !link->reset_left) return;
    }
    flow->stuck = true; /* it continues after other links had their turn */
}
