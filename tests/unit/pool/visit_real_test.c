/* SPDX-License-Identifier: MIT */
/* What a visit costs, counted in slots and steps of the map; and visits from inside the driver's open. */
#include "pool/internal.h"
#include "unit/pool/pools.h"

/* ---- What is counted ------------------------------------------------------------------------ */

static unsigned slots_read, map_steps;

uint64_t __real_ceni_slot_word(ceni_slot *slot);
uint64_t __wrap_ceni_slot_word(ceni_slot *slot);
uint32_t __real_ceni_map_next(const ceni_map *map, uint32_t from, uint32_t none);
uint32_t __wrap_ceni_map_next(const ceni_map *map, uint32_t from, uint32_t none);

uint64_t __wrap_ceni_slot_word(ceni_slot *slot)
{
    slots_read++;
    return __real_ceni_slot_word(slot);
}

uint32_t __wrap_ceni_map_next(const ceni_map *map, uint32_t from, uint32_t none)
{
    map_steps++;
    return __real_ceni_map_next(map, from, none);
}

static bool count_visit(void *count, const cen_object_view *holding)
{
    expect(holding->object != NULL);
    ++*(unsigned *)count;
    return true;
}

static unsigned visit_all(cen_pool *pool)
{
    unsigned visits = 0;
    slots_read = map_steps = 0;
    expect_equal(cen_pool_each(pool, count_visit, &visits), CEN_OK);
    return visits;
}

/* ---- The cost -------------------------------------------------------------------------------- */

/* guarantees: pool-api.visit */
TEST(a_visit_reads_as_many_slots_as_there_are_objects)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = CEN_POOL_MAX), 3);
    expect_equal(visit_all(pool), 3);
    expect(slots_read <= 3 && map_steps <= 4);
    free_pool(pool);
}

/* The objects that stay have the highest indexes, of two chunks. */
/* guarantees: pool-api.visit */
TEST(a_visit_is_as_short_when_few_of_many_objects_are_left)
{
    enum { MANY = 10000, LEFT = 5 };
    static cen_lease leases[MANY];
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = MANY / 2), MANY / 2);
    expect_equal(cen_pool_resize(pool, MANY, NULL), CEN_OK);
    for (int i = MANY / 2; i < MANY; i++) expect_equal(cen_pool_adopt(pool, object_of(i + 1), NULL), CEN_OK);
    for (int i = 0; i < MANY; i++) leases[i] = take_now(pool);
    expect_equal(visit_all(pool), MANY);
    for (int i = 0; i < MANY - LEFT; i++) expect_equal(cen_pool_discard(&leases[i]), CEN_OK);
    expect_equal(visit_all(pool), LEFT);
    expect(slots_read <= LEFT && map_steps <= LEFT + 2);
    for (int i = MANY - LEFT; i < MANY; i++) give_back(&leases[i]);
    free_pool(pool);
}

/* ---- Inside open -------------------------------------------------------------------------------- */

static cen_pool *opening;
static unsigned before, after;
static cen_object_state state;
static cen_status answer;

static bool note_visit(void *count, const cen_object_view *holding)
{
    state = holding->state;
    return count_visit(count, holding);
}

static cen_status open_and_visit(void *number, void **out, cen_error *error)
{
    (void)error;
    before = after = 0;
    expect_equal(cen_pool_each(opening, note_visit, &before), CEN_OK);
    *out = object_of(++*(int *)number);
    expect_equal(cen_pool_each(opening, note_visit, &after), CEN_OK);
    return answer;
}

/* Before, the slot may have had another object, which is closed. */
/* guarantees: pool-api.visit */
TEST(an_object_is_visited_as_soon_as_open_has_written_it_and_the_one_before_is_not)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = open_and_visit, .closes_nothing = true};
    int number = 0;
    opening = make_pool(.max = 1, .driver = {&calls, &number}, .backoff_initial_ns = CEN_OFF);
    for (int i = 0; i < 3; i++) {
        cen_lease lease;
        answer = i == 1 ? CEN_DRIVER : CEN_OK;
        expect_equal(cen_pool_try_take(opening, &lease, NULL), answer);
        expect_equal(before, 0);
        expect_equal(after, 1);
        expect_equal(state, CEN_OBJECT_OPENING);
        expect_equal(visit_all(opening), answer == CEN_OK);
        if (answer == CEN_OK) expect_equal(cen_pool_discard(&lease), CEN_OK);
        expect_equal(visit_all(opening), 0);
    }
    free_pool(opening);
}
