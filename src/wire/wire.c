/* SPDX-License-Identifier: MIT */
/*
 * Ids, the table of requests in flight, the line, the output, the deadlines.
 *
 * Invariants
 *  W1 in_flight = slots with a request; waiting = requests in the line; each request is in one place, which it knows.
 *  W2 A slot's id grows with every use, by 2^slot_bits: no two requests of a connection ever have the same, and 0 is
 *     none. With 2^20 slots a slot can be used 2^44 times.
 *  W3 A request with a deadline that the wheel keeps is in the wheel exactly while it is in LINE or FLIGHT.
 *  W4 unsent = bytes in the output + bytes that were taken out of it and not reported as written.
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
                        .max_waiting = limits->max_waiting,
                        .max_payload = limits->max_payload,
                        .max_output = limits->max_output,
                        .slot_bits = bits_for(limits->max_in_flight)};
    wire->slots = ceni_alloc(allocator, wire->max_in_flight * sizeof *wire->slots, _Alignof(ceni_wire_slot));
    if (!wire->slots) return CEN_NO_MEMORY;
    for (uint32_t i = 0; i < wire->max_in_flight; i++)
        wire->slots[i] = (ceni_wire_slot){.id = i, .next = i + 1 < wire->max_in_flight ? i + 1 : CENI_WIRE_NONE};
    ceni_list_init(&wire->line);
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
    return wire->in_flight < wire->max_in_flight && (wire->unsent < wire->max_output || ceni_planted(wire_output_has_no_end));
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

/* ---- In and out ------------------------------------------------------------------------------ */

static void enter_wheel(ceni_wire *wire, ceni_asked *asked)
{
    ceni_timer_init(&asked->timer);
    if (asked->moment != CENI_FOREVER) ceni_wheel_insert(&wire->wheel, &asked->timer, asked->moment);
}

static void leave_line(ceni_wire *wire, ceni_asked *asked)
{
    ceni_list_remove(&asked->link);
    wire->waiting--;
}

/* Frees the slot of a request in flight. */
static void leave_slot(ceni_wire *wire, ceni_asked *asked)
{
    uint32_t index = (uint32_t)(asked->id & (((uint64_t)1 << wire->slot_bits) - 1));
    ceni_wire_slot *slot = &wire->slots[index];
    slot->request = NULL;
    slot->next = wire->free;
    wire->free = index;
    wire->in_flight--;
}

/* It is OUT, wherever it was. */
static void take_out(ceni_wire *wire, ceni_asked *asked)
{
    if (asked->place == CENI_PLACE_LINE) leave_line(wire, asked);
    else leave_slot(wire, asked);
    if (!ceni_planted(wire_keeps_the_timer)) ceni_wheel_cancel(&wire->wheel, &asked->timer);
    asked->place = CENI_PLACE_OUT;
}

static uint64_t next_id(const ceni_wire *wire, const ceni_wire_slot *slot)
{
    return slot->id + ((uint64_t)1 << wire->slot_bits);
}

/* Writes the frame to the end of the output, which has the room. */
static cen_status write_frame(ceni_wire *wire, uint64_t id, const void *payload, size_t size, cen_error *error)
{
    if (size > wire->max_payload)
        return ceni_error_set(error, CEN_INVALID, 0, "The payload has %zu bytes, and %zu are allowed.", size, wire->max_payload);
    size_t written = 0;
    const cen_codec *codec = &wire->codec;
    unsigned char *end = wire->output.at + wire->output.size;
    cen_error why;
    why.code = 0;
    why.text[0] = 0; /* the rest need not be cleared for every request */
    cen_status status = codec->calls->encode(codec->argument, id, payload, size, end, &written, &why);
    if (status != CEN_OK)
        return ceni_error_set(error, status, why.code, "%s", why.text[0] ? why.text : cen_status_text(status));
    wire->output.size += written;
    wire->unsent += written;
    return CEN_OK;
}

cen_status ceni_wire_send(ceni_wire *wire, cen_request *request, const void *payload, size_t size, cen_error *error)
{
    ceni_asked *asked = ceni_asked_of(request);
    ceni_wire_slot *slot = &wire->slots[wire->free];
    uint64_t id = ceni_planted(wire_uses_ids_again) && slot->id >> wire->slot_bits ? slot->id : next_id(wire, slot);
    cen_status status = write_frame(wire, id, payload, size, error);
    if (status != CEN_OK) {
        if (asked->place == CENI_PLACE_LINE) take_out(wire, asked);
        return status;
    }
    if (asked->place == CENI_PLACE_LINE) leave_line(wire, asked);
    else enter_wheel(wire, asked);
    wire->free = slot->next;
    wire->in_flight++;
    slot->request = request;
    slot->id = asked->id = id;
    asked->place = CENI_PLACE_FLIGHT;
    return CEN_OK;
}

void ceni_wire_wait(ceni_wire *wire, cen_request *request)
{
    ceni_asked *asked = ceni_asked_of(request);
    enter_wheel(wire, asked);
    ceni_list_push_back(&wire->line, &asked->link);
    wire->waiting++;
    asked->place = CENI_PLACE_LINE;
}

cen_request *ceni_wire_next(const ceni_wire *wire)
{
    ceni_list *first = ceni_wire_has_room(wire) ? ceni_list_first(&wire->line) : NULL;
    return first ? ceni_request_of(CENI_LIST_ENTRY(first, ceni_asked, link)) : NULL;
}

cen_request *ceni_wire_claim(ceni_wire *wire, uint64_t id)
{
    uint64_t index = id & (((uint64_t)1 << wire->slot_bits) - 1);
    if (index >= wire->max_in_flight) return NULL;
    cen_request *request = wire->slots[index].request;
    if (!request || (wire->slots[index].id != id && !ceni_planted(wire_ignores_generations))) return NULL;
    take_out(wire, ceni_asked_of(request));
    return request;
}

bool ceni_wire_drop(ceni_wire *wire, cen_request *request)
{
    ceni_asked *asked = ceni_asked_of(request);
    if (asked->place == CENI_PLACE_OUT) return ceni_planted(wire_drops_what_is_out);
    take_out(wire, asked);
    return true;
}

/* ---- Deadlines, and the end --------------------------------------------------------------------- */

size_t ceni_wire_expire(ceni_wire *wire, int64_t now, ceni_list *over)
{
    ceni_list expired;
    ceni_list_init(&expired);
    size_t count = ceni_wheel_advance(&wire->wheel, now, &expired);
    for (ceni_timer *timer; (timer = ceni_timer_take(&expired));) {
        ceni_asked *asked = CENI_LIST_ENTRY(timer, ceni_asked, timer);
        take_out(wire, asked);
        ceni_list_push_back(over, &asked->link);
    }
    return count;
}

int64_t ceni_wire_next_expiry(const ceni_wire *wire)
{
    return ceni_wheel_next(&wire->wheel);
}

size_t ceni_wire_fail(ceni_wire *wire, ceni_list *over)
{
    size_t count = 0;
    for (uint32_t i = 0; wire->in_flight && i < wire->max_in_flight; i++) {
        cen_request *request = wire->slots[i].request;
        if (!request) continue;
        take_out(wire, ceni_asked_of(request));
        ceni_list_push_back(over, &ceni_asked_of(request)->link);
        count++;
    }
    for (ceni_list *link; (link = ceni_list_first(&wire->line)) && !ceni_planted(wire_fail_forgets_the_line);) {
        ceni_asked *asked = CENI_LIST_ENTRY(link, ceni_asked, link);
        take_out(wire, asked);
        ceni_list_push_back(over, &asked->link);
        count++;
    }
    wire->unsent -= wire->output.size;
    wire->output.size = 0;
    return count;
}
