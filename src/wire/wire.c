/* SPDX-License-Identifier: MIT */
/*
 * Ids, the table of requests in flight, the wait queue, the output, the deadlines.
 *
 * Invariants
 *  W1 in_flight = slots with a request; reserved = slots that are not in the free list and have no request; waiting =
 *     requests in the wait queue. Each request is in one place, and stores which.
 *  W2 A slot's id grows by 2^slot_bits with every use. No two requests of a connection ever have the same id, and 0 is
 *     no id. With 2^20 slots a slot can be used 2^44 times.
 *  W3 While a request is in LINE or FLIGHT, its deadline is kept: its own in the wheel, the connection's in the list
 *     in_order. Otherwise it is in neither.
 *  W4 unsent = bytes in the output + bytes that were taken out of it and not yet reported as written.
 *  W5 Moments in in_order never decrease. UNDATED requests come after all others.
 *
 * The connection's deadline is the same duration for all requests, so they expire in the order in which they were made,
 * and a list replaces the wheel. They get their moments later and together, so one read of the clock serves many.
 *
 * Tested by tests/unit/wire/wire_test.c, tests/unit/wire/exchange_test.c.
 */
#include "wire/wire.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "port/port.h"

enum { OUTPUT_FIRST = 4096 };

static uint32_t bits_for(uint32_t count)
{
    uint32_t bits = 0;
    while ((uint64_t)1 << bits < count) bits++;
    return bits;
}

cen_status ceni_wire_init(ceni_wire *wire, const ceni_wire_limits *limits, int64_t now, const cen_allocator *allocator)
{
    *wire = (ceni_wire){.codec = limits->codec,
                        .max_in_flight = limits->max_in_flight,
                        .max_waiters = limits->max_waiters,
                        .max_payload = limits->max_payload,
                        .max_output = limits->max_output,
                        .slot_bits = bits_for(limits->max_in_flight)};
    wire->slot_mask = ((uint32_t)1 << wire->slot_bits) - 1;
    wire->slots = ceni_alloc(allocator, wire->max_in_flight * sizeof *wire->slots, _Alignof(ceni_wire_slot));
    if (!wire->slots) return CEN_NO_MEMORY;
    for (uint32_t i = 0; i < wire->max_in_flight; i++)
        wire->slots[i] = (ceni_wire_slot){.id = i, .next = i + 1 < wire->max_in_flight ? i + 1 : CENI_WIRE_NONE};
    ceni_list_init(&wire->line);
    ceni_list_init(&wire->in_order);
    ceni_wheel_init(&wire->wheel, now);
    return CEN_OK;
}

void ceni_wire_fini(ceni_wire *wire, const cen_allocator *allocator)
{
    ceni_free(allocator, wire->output.at, wire->output.capacity, 1);
    ceni_free(allocator, wire->slots, wire->max_in_flight * sizeof *wire->slots, _Alignof(ceni_wire_slot));
    wire->slots = NULL;
    wire->output = (ceni_bytes){.at = NULL};
}

/* ---- Output -------------------------------------------------------------------------------- */

bool ceni_wire_has_room(const ceni_wire *wire)
{
    bool has_slot = wire->in_flight + wire->reserved < wire->max_in_flight;
    return has_slot && (wire->unsent < wire->max_output || ceni_planted(wire_output_has_no_end));
}

size_t ceni_wire_lacks(const ceni_wire *wire, size_t payload_size)
{
    size_t needed = wire->output.size + wire->codec.calls->bound(wire->codec.argument, payload_size);
    if (needed <= wire->output.capacity) return 0;
    size_t capacity = wire->output.capacity * 2;
    if (capacity < OUTPUT_FIRST) capacity = OUTPUT_FIRST;
    return capacity > needed ? capacity : needed;
}

ceni_bytes ceni_wire_enlarge(ceni_wire *wire, ceni_bytes larger)
{
    ceni_bytes old = wire->output;
    if (larger.capacity <= old.capacity) return larger;
    if (old.size) memcpy(larger.at, old.at, old.size);
    larger.size = old.size;
    wire->output = larger;
    return old;
}

bool ceni_wire_take_output(ceni_wire *wire, ceni_bytes *empty)
{
    if (wire->output.size == 0) return false;
    ceni_bytes full = wire->output;
    empty->size = 0;
    wire->output = *empty;
    *empty = full;
    return true;
}

/* ---- Requests in and out --------------------------------------------------------------------- */

static void keep_deadline(ceni_wire *wire, ceni_sent *asked)
{
    asked->kept = CENI_KEPT_NOWHERE;
    if (asked->moment == CENI_WIRE_UNDATED) {
        asked->kept = CENI_KEPT_IN_ORDER;
        ceni_list_push_back(&wire->in_order, &asked->timer.link);
    } else if (asked->moment != CENI_FOREVER) {
        asked->kept = CENI_KEPT_IN_WHEEL;
        ceni_wheel_timer_init(&asked->timer);
        ceni_wheel_insert(&wire->wheel, &asked->timer, asked->moment);
    }
}

/* `kept` alone says whether the link is in the list, so the link is not reset. */
static void unlink_deadline(ceni_list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
}

static inline void forget_deadline(ceni_wire *wire, ceni_sent *asked)
{
    if (ceni_planted(wire_keeps_the_timer)) return;
    if (asked->kept == CENI_KEPT_IN_ORDER) unlink_deadline(&asked->timer.link);
    else if (asked->kept == CENI_KEPT_IN_WHEEL) ceni_wheel_cancel(&wire->wheel, &asked->timer);
}

static void leave_line(ceni_wire *wire, ceni_sent *asked)
{
    ceni_list_remove(&asked->link);
    wire->waiting--;
}

static uint32_t index_of(const ceni_wire *wire, uint64_t id)
{
    return (uint32_t)id & wire->slot_mask;
}

static ceni_wire_slot *slot_of(const ceni_wire *wire, uint64_t id)
{
    return &wire->slots[index_of(wire, id)];
}

static inline void free_slot(ceni_wire *wire, uint32_t index)
{
    ceni_wire_slot *slot = &wire->slots[index];
    slot->request = NULL;
    slot->next = wire->free;
    wire->free = index;
}

/* Free the slot of a request that leaves FLIGHT. */
static inline void vacate(ceni_wire *wire, uint32_t index)
{
    free_slot(wire, index);
    wire->in_flight--;
}

static void fill_slot(ceni_wire *wire, ceni_wire_slot *slot, cen_request *request, uint64_t id)
{
    wire->in_flight++;
    slot->request = request;
    slot->id = ceni_sent_of(request)->id = id;
    ceni_sent_of(request)->place = CENI_PLACE_FLIGHT;
}

/* Take a request out of its place. It is OUT then. */
static void take_out(ceni_wire *wire, ceni_sent *asked)
{
    if (asked->place == CENI_PLACE_LINE) {
        leave_line(wire, asked);
    } else {
        vacate(wire, index_of(wire, asked->id));
    }
    forget_deadline(wire, asked);
    asked->place = CENI_PLACE_OUT;
}

static uint64_t next_id(const ceni_wire *wire, const ceni_wire_slot *slot)
{
    return slot->id + wire->slot_mask + 1;
}

/* Report why the codec or the limit has refused a payload. */
static cen_status refuse(const ceni_wire *wire, cen_status status, size_t size, cen_error *error)
{
    if (size > wire->max_payload)
        return ceni_error_set(error, CEN_INVALID, 0, "payload too large (%zu bytes, limit %zu)", size,
                              wire->max_payload);
    return ceni_error_set(error, status, wire->why.code, "%s",
                          wire->why.text[0] ? wire->why.text : cen_status_text(status));
}

/* Append the frame to the output, which has room for it. */
static inline cen_status write_frame(ceni_wire *wire, uint64_t id, const void *payload, size_t size)
{
    size_t written = 0;
    const cen_codec *codec = &wire->codec;
    unsigned char *end = wire->output.at + wire->output.size;
    if (size > wire->max_payload) return CEN_INVALID;
    wire->why.code = 0;
    wire->why.text[0] = 0; /* clearing the rest for every request is unnecessary */
    cen_status status = codec->calls->encode(codec->argument, id, payload, size, end, &written, &wire->why);
    if (status != CEN_OK) return status;
    wire->output.size += written;
    wire->unsent += written;
    return CEN_OK;
}

cen_status ceni_wire_send(ceni_wire *wire, cen_request *request, const void *payload, size_t size, cen_error *error)
{
    ceni_sent *asked = ceni_sent_of(request);
    ceni_wire_slot *slot = &wire->slots[wire->free];
    uint64_t id = ceni_planted(wire_uses_ids_again) && slot->id >> wire->slot_bits ? slot->id : next_id(wire, slot);
    cen_status status = write_frame(wire, id, payload, size);
    if (status != CEN_OK) {
        if (asked->place == CENI_PLACE_LINE) take_out(wire, asked);
        return refuse(wire, status, size, error);
    }
    if (asked->place == CENI_PLACE_LINE) leave_line(wire, asked);
    else keep_deadline(wire, asked);
    wire->free = slot->next;
    fill_slot(wire, slot, request, id);
    return CEN_OK;
}

uint64_t ceni_wire_reserve(ceni_wire *wire)
{
    ceni_wire_slot *slot = &wire->slots[wire->free];
    wire->free = slot->next;
    wire->reserved++;
    return next_id(wire, slot);
}

void ceni_wire_enter(ceni_wire *wire, cen_request *request, uint64_t id)
{
    wire->reserved--;
    keep_deadline(wire, ceni_sent_of(request));
    fill_slot(wire, slot_of(wire, id), request, id);
}

void ceni_wire_unreserve(ceni_wire *wire, uint64_t id)
{
    wire->reserved--;
    free_slot(wire, index_of(wire, id));
}

void ceni_wire_wait(ceni_wire *wire, cen_request *request)
{
    ceni_sent *asked = ceni_sent_of(request);
    keep_deadline(wire, asked);
    ceni_list_push_back(&wire->line, &asked->link);
    wire->waiting++;
    asked->place = CENI_PLACE_LINE;
}

cen_request *ceni_wire_next(const ceni_wire *wire)
{
    ceni_list *first = ceni_wire_has_room(wire) ? ceni_list_first(&wire->line) : NULL;
    return first ? ceni_request_of(CENI_LIST_ENTRY(first, ceni_sent, link)) : NULL;
}

cen_request *ceni_wire_claim(ceni_wire *wire, uint64_t id)
{
    uint32_t index = index_of(wire, id);
    if (index >= wire->max_in_flight) return NULL;
    const ceni_wire_slot *slot = &wire->slots[index];
    cen_request *request = slot->request;
    if (!request || (slot->id != id && !ceni_planted(wire_ignores_generations))) return NULL;
    ceni_sent *asked = ceni_sent_of(request); /* it is in FLIGHT */
    vacate(wire, index);
    forget_deadline(wire, asked);
    asked->place = CENI_PLACE_OUT;
    return request;
}

bool ceni_wire_drop(ceni_wire *wire, cen_request *request)
{
    ceni_sent *asked = ceni_sent_of(request);
    if (asked->place == CENI_PLACE_OUT) return ceni_planted(wire_drops_what_is_out);
    take_out(wire, asked);
    return true;
}

/* ---- Deadlines, and the end --------------------------------------------------------------------- */

void ceni_wire_date(ceni_wire *wire, int64_t moment)
{
    for (ceni_list *link = wire->in_order.previous; link != &wire->in_order; link = link->previous) {
        ceni_sent *asked = CENI_LIST_ENTRY(link, ceni_sent, timer.link);
        if (asked->moment != CENI_WIRE_UNDATED) return;
        asked->moment = moment;
    }
}

/* Return the first moment in in_order. CENI_FOREVER: not known yet, or never. */
static int64_t first_in_order(const ceni_wire *wire)
{
    ceni_list *first = ceni_list_first(&wire->in_order);
    int64_t moment = first ? CENI_LIST_ENTRY(first, ceni_sent, timer.link)->moment : CENI_FOREVER;
    return moment == CENI_WIRE_UNDATED ? CENI_FOREVER : moment;
}

/* Take the entry with the earlier deadline from the two lists. NULL: both are empty. */
static ceni_sent *take_earlier(ceni_wire *wire, int64_t now, ceni_list *expired)
{
    ceni_list *own = ceni_list_first(expired);
    int64_t own_moment = own ? CENI_LIST_ENTRY(own, ceni_wheel_timer, link)->moment : CENI_FOREVER,
            in_order = first_in_order(wire);
    bool is_in_order = in_order <= now && in_order <= own_moment;
    ceni_list *link = is_in_order ? wire->in_order.next : own;
    if (!link) return NULL;
    ceni_list_remove(link);
    return CENI_LIST_ENTRY(link, ceni_sent, timer.link);
}

size_t ceni_wire_expire(ceni_wire *wire, int64_t now, ceni_list *over)
{
    size_t count = 0;
    ceni_list expired;
    ceni_list_init(&expired);
    ceni_wheel_advance(&wire->wheel, now, &expired);
    for (ceni_sent *asked; (asked = take_earlier(wire, now, &expired)); count++) {
        take_out(wire, asked);
        ceni_list_push_back(over, &asked->link);
    }
    return count;
}

int64_t ceni_wire_next_expiry(const ceni_wire *wire)
{
    int64_t wheel = ceni_wheel_next(&wire->wheel), in_order = first_in_order(wire);
    return wheel < in_order ? wheel : in_order;
}

size_t ceni_wire_fail(ceni_wire *wire, ceni_list *over)
{
    size_t count = 0;
    for (uint32_t i = 0; wire->in_flight && i < wire->max_in_flight; i++) {
        cen_request *request = wire->slots[i].request;
        if (!request) continue;
        take_out(wire, ceni_sent_of(request));
        ceni_list_push_back(over, &ceni_sent_of(request)->link);
        count++;
    }
    for (ceni_list *link; (link = ceni_list_first(&wire->line)) && !ceni_planted(wire_fail_forgets_the_line);) {
        ceni_sent *asked = CENI_LIST_ENTRY(link, ceni_sent, link);
        take_out(wire, asked);
        ceni_list_push_back(over, &asked->link);
        count++;
    }
    wire->unsent -= wire->output.size;
    wire->output.size = 0;
    return count;
}
