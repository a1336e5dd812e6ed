/* SPDX-License-Identifier: MIT */
/* The protocol without lock, clock and bytes that move: ids, places, the line, deadlines, the end. */
#include "base/alloc.h"
#include "port/port.h"
#include "support/world.h"
#include "wire/wire.h"

enum { REQUESTS = 8 };

static ceni_wire wire;
static cen_request requests[REQUESTS];

static void make_wire(uint32_t in_flight, size_t max_output)
{
    ceni_wire_limits limits = {.codec = cen_codec_lines(),
                               .max_in_flight = in_flight,
                               .max_waiters = REQUESTS,
                               .max_payload = 100,
                               .max_output = max_output};
    expect_equal(ceni_wire_init(&wire, &limits, 0, NULL), CEN_OK);
    for (int i = 0; i < REQUESTS; i++) cen_request_init(&requests[i], NULL, NULL);
}

static void end_wire(void)
{
    ceni_wire_fini(&wire, NULL);
    expect_equal(ceni_world_bytes(), 0);
}

static cen_status send_text(int i, const char *text)
{
    size_t lacking = ceni_wire_lacks(&wire, strlen(text));
    if (lacking) {
        ceni_bytes old =
            ceni_wire_enlarge(&wire, (ceni_bytes){.at = ceni_alloc(NULL, lacking, 1), .capacity = lacking});
        ceni_free(NULL, old.at, old.capacity, 1);
    }
    expect_equal(ceni_wire_lacks(&wire, strlen(text)), 0);
    return ceni_wire_send(&wire, &requests[i], text, strlen(text), NULL);
}

static void send_until(int i, int64_t moment)
{
    ceni_sent_of(&requests[i])->moment = moment;
    expect_equal(send_text(i, "x"), CEN_OK);
}

static uint64_t id_of(int i)
{
    return ceni_sent_of(&requests[i])->id;
}

TEST(a_reply_finds_its_request_in_whatever_order)
{
    make_wire(4, 1000);
    for (int i = 0; i < 4; i++) send_until(i, CENI_FOREVER);
    expect_equal(wire.in_flight, 4);
    static const int order[] = {2, 0, 3, 1};
    for (int i = 0; i < 4; i++) expect(ceni_wire_claim(&wire, id_of(order[i])) == &requests[order[i]]);
    expect_equal(wire.in_flight, 0);
    end_wire();
}

TEST(no_id_ever_comes_twice_and_none_is_zero)
{
    make_wire(3, 1 << 20);
    uint64_t seen[300];
    for (int n = 0; n < 300; n++) {
        send_until(n % 3, CENI_FOREVER);
        seen[n] = id_of(n % 3);
        expect(seen[n] != 0);
        for (int k = 0; k < n; k++) expect(seen[k] != seen[n]);
        expect(ceni_wire_claim(&wire, seen[n]) == &requests[n % 3]);
    }
    end_wire();
}

TEST(a_late_reply_is_nobodys_even_if_the_slot_has_another_request)
{
    make_wire(1, 1000);
    send_until(0, CENI_FOREVER);
    uint64_t late = id_of(0);
    expect(ceni_wire_drop(&wire, &requests[0]));
    expect(ceni_wire_claim(&wire, late) == NULL);
    send_until(1, CENI_FOREVER);
    expect(ceni_wire_claim(&wire, late) == NULL);
    expect(ceni_wire_claim(&wire, id_of(1)) == &requests[1]);
    expect(ceni_wire_claim(&wire, id_of(1)) == NULL); /* a second reply */
    end_wire();
}

TEST(an_id_that_was_never_given_out_is_nobodys)
{
    make_wire(3, 1000); /* ids have two bits for three slots */
    send_until(0, CENI_FOREVER);
    for (uint64_t id = 0; id < 64; id++)
        if (id != id_of(0)) expect(ceni_wire_claim(&wire, id) == NULL);
    expect(ceni_wire_claim(&wire, UINT64_MAX) == NULL);
    expect(ceni_wire_drop(&wire, &requests[0]));
    expect(!ceni_wire_drop(&wire, &requests[0]));
    end_wire();
}

TEST(there_is_room_until_so_many_are_in_flight)
{
    make_wire(2, 1000);
    send_until(0, CENI_FOREVER);
    expect(ceni_wire_has_room(&wire));
    send_until(1, CENI_FOREVER);
    expect(!ceni_wire_has_room(&wire));
    ceni_wire_claim(&wire, id_of(0));
    expect(ceni_wire_has_room(&wire));
    ceni_wire_drop(&wire, &requests[1]);
    end_wire();
}

TEST(there_is_room_until_so_much_is_unsent_and_again_when_it_was_written)
{
    make_wire(4, 10);
    expect_equal(send_text(0, "0123456789"), CEN_OK);
    expect_equal(wire.unsent, 13); /* "4 0123456789\n" */
    expect(!ceni_wire_has_room(&wire));
    ceni_bytes taken = {.at = NULL};
    expect(ceni_wire_take_output(&wire, &taken));
    expect_equal(taken.size, 13);
    expect(!ceni_wire_has_room(&wire)); /* it is not written yet */
    ceni_wire_written(&wire, 3);
    expect(!ceni_wire_has_room(&wire));
    ceni_wire_written(&wire, 10);
    expect(ceni_wire_has_room(&wire));
    expect(!ceni_wire_take_output(&wire, &taken));
    ceni_free(NULL, taken.at, taken.capacity, 1);
    ceni_wire_drop(&wire, &requests[0]);
    end_wire();
}

TEST(those_who_wait_are_next_in_their_order_and_one_who_gives_up_is_passed_over)
{
    make_wire(1, 1000);
    send_until(0, CENI_FOREVER);
    for (int i = 1; i < 4; i++) {
        ceni_sent_of(&requests[i])->moment = CENI_FOREVER;
        ceni_wire_wait(&wire, &requests[i]);
    }
    expect_equal(wire.waiting, 3);
    expect(ceni_wire_next(&wire) == NULL);
    expect(ceni_wire_drop(&wire, &requests[1]));
    ceni_wire_claim(&wire, id_of(0));
    expect(ceni_wire_next(&wire) == &requests[2]);
    expect_equal(send_text(2, "x"), CEN_OK);
    expect(ceni_wire_next(&wire) == NULL);
    ceni_wire_claim(&wire, id_of(2));
    expect(ceni_wire_next(&wire) == &requests[3]);
    expect_equal(send_text(3, "x"), CEN_OK);
    expect_equal(wire.waiting, 0);
    ceni_wire_claim(&wire, id_of(3));
    end_wire();
}

TEST(what_the_codec_refuses_is_out_and_leaves_no_byte)
{
    make_wire(1, 1000);
    expect_equal(send_text(0, "a\nb"), CEN_INVALID);
    expect_equal(wire.in_flight, 0);
    expect_equal(wire.output.size, 0);
    ceni_sent_of(&requests[1])->moment = 5;
    ceni_wire_wait(&wire, &requests[1]);
    expect_equal(send_text(1, "a\nb"), CEN_INVALID);
    expect_equal(wire.waiting, 0);
    expect_equal(ceni_sent_of(&requests[1])->place, CENI_PLACE_OUT);
    expect_equal(ceni_wire_next_expiry(&wire), CENI_FOREVER);
    end_wire();
}

static int first_of(ceni_list *over)
{
    ceni_list *link = ceni_list_first(over);
    if (!link) return -1;
    ceni_list_remove(link);
    return (int)(ceni_request_of(CENI_LIST_ENTRY(link, ceni_sent, link)) - requests);
}

TEST(those_whose_deadline_has_come_are_out_in_its_order_whether_in_flight_or_waiting)
{
    ceni_list over;
    ceni_list_init(&over);
    make_wire(3, 1000);
    send_until(0, 300);
    send_until(1, 100);
    send_until(2, CENI_FOREVER);
    ceni_sent_of(&requests[3])->moment = 200;
    ceni_wire_wait(&wire, &requests[3]);
    expect_equal(ceni_wire_expire(&wire, 99, &over), 0);
    expect_equal(ceni_wire_expire(&wire, 300, &over), 3);
    expect_equal(first_of(&over), 1);
    expect_equal(first_of(&over), 3);
    expect_equal(first_of(&over), 0);
    expect_equal(wire.in_flight, 1);
    expect_equal(wire.waiting, 0);
    expect(ceni_wire_claim(&wire, id_of(0)) == NULL);
    expect(ceni_wire_claim(&wire, id_of(2)) == &requests[2]);
    end_wire();
}

TEST(the_deadline_of_one_who_has_its_reply_is_forgotten)
{
    ceni_list over;
    ceni_list_init(&over);
    make_wire(2, 1000);
    send_until(0, 100);
    ceni_wire_claim(&wire, id_of(0));
    send_until(1, 200);
    ceni_wire_drop(&wire, &requests[1]);
    expect_equal(ceni_wire_next_expiry(&wire), CENI_FOREVER);
    expect_equal(ceni_wire_expire(&wire, 1000, &over), 0);
    end_wire();
}

TEST(those_with_the_connections_deadline_get_it_together_and_are_out_in_order_with_those_that_have_their_own)
{
    ceni_list over;
    ceni_list_init(&over);
    make_wire(4, 1000);
    for (int i = 0; i < 4; i++) send_until(i, i == 2 ? 150 : CENI_WIRE_UNDATED);
    ceni_sent_of(&requests[4])->moment = CENI_WIRE_UNDATED;
    ceni_wire_wait(&wire, &requests[4]);
    ceni_wire_claim(&wire, id_of(2));
    send_until(2, 150);
    expect(ceni_wire_is_undated(&wire));
    expect_equal(ceni_wire_expire(&wire, 149, &over), 0); /* they have none yet */
    ceni_wire_claim(&wire, id_of(1));
    ceni_wire_date(&wire, 160);
    expect(!ceni_wire_is_undated(&wire));
    send_until(1, CENI_WIRE_UNDATED);
    expect(ceni_wire_is_undated(&wire));
    ceni_wire_date(&wire, 170);
    ceni_wire_drop(&wire, &requests[3]);
    expect(ceni_wire_next_expiry(&wire) <= 150);
    expect_equal(ceni_wire_expire(&wire, 169, &over), 3);
    expect_equal(first_of(&over), 2);
    expect_equal(first_of(&over), 0);
    expect_equal(first_of(&over), 4);
    expect_equal(ceni_wire_next_expiry(&wire), 170);
    expect_equal(ceni_wire_expire(&wire, 170, &over), 1);
    expect_equal(first_of(&over), 1);
    expect_equal(wire.in_flight + wire.waiting, 0);
    expect_equal(ceni_wire_next_expiry(&wire), CENI_FOREVER);
    end_wire();
}

TEST(one_without_a_date_is_forgotten_like_any_other)
{
    ceni_list over;
    ceni_list_init(&over);
    make_wire(2, 1000);
    send_until(0, CENI_WIRE_UNDATED);
    send_until(1, CENI_WIRE_UNDATED);
    ceni_wire_drop(&wire, &requests[1]);
    ceni_wire_claim(&wire, id_of(0));
    expect(!ceni_wire_is_undated(&wire));
    send_until(0, CENI_WIRE_UNDATED);
    expect_equal(ceni_wire_fail(&wire, &over), 1);
    expect(!ceni_wire_is_undated(&wire));
    expect_equal(ceni_wire_next_expiry(&wire), CENI_FOREVER);
    end_wire();
}

TEST(the_end_takes_all_out_and_forgets_the_output)
{
    ceni_list over;
    ceni_list_init(&over);
    make_wire(2, 1000);
    send_until(0, 100);
    send_until(1, CENI_FOREVER);
    ceni_sent_of(&requests[2])->moment = 50;
    ceni_wire_wait(&wire, &requests[2]);
    expect_equal(ceni_wire_fail(&wire, &over), 3);
    for (int i = 0; i < 3; i++) expect_equal(first_of(&over), i);
    expect_equal(wire.in_flight + wire.waiting, 0);
    expect_equal(wire.unsent, 0);
    expect_equal(ceni_wire_next_expiry(&wire), CENI_FOREVER);
    end_wire();
}
