/* SPDX-License-Identifier: MIT */
/*
 * The next in line gives up. The hand-off rests on its role: a give that finds
 * it called leaves the object to it. So when its deadline passes it must pass
 * the role on, or whoever is behind it sleeps beside an idle object for ever.
 *
 * Ordinary load hardly ever meets this. The one that gives up has to be first
 * without having asked to be handed something, because then the giver itself
 * would see to the next; so it became first when somebody before it went, was
 * called by a give, and was overtaken before it looked; what overtook it gives
 * while it is on its way out.
 *
 *     main      asks, is first       cancels                give ▶ calls brief   take   give ▶ "brief will look"
 *     brief     stands behind main   is first, not called   its deadline passes   looks: nothing          leaves
 *     patient   stands behind brief                                                                       sleeps?
 */
#include "explore/pools.h"

static void the_next_in_line_gives_up(void (*behind)(void *), cen_pool_options options)
{
    ceni_world_set_cpus(1); /* nobody polls */
    make_filled(options);
    cen_lease mine = take_one();
    asker before;
    expect_equal(ask(&before), CEN_OK);
    taker brief = {.deadline = cen_in_us(50)}, patient = {.deadline = CEN_NEVER};
    ceni_thread one = start("brief", take_and_give, &brief);
    ceni_world_settle(); /* it stands in line */
    ceni_thread two = start("patient", behind, &patient);
    ceni_world_settle();
    expect(ceni_waiters_withdraw(pool->waiters, &before.waiter));
    give_one(mine);
    cen_lease again;
    if (cen_pool_try_take(pool, &again, NULL) == CEN_OK) give_one(again);
    join(one);
    join(two);
    expect(brief.status == CEN_OK || brief.status == CEN_TIMEOUT);
    expect_equal(patient.status, CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: pool.L5, pool-bugs.expired-waiter */
EXPLORE(L5_the_next_in_line_that_gives_up_while_it_is_overtaken_passes_its_role_on_to_a_thread, 3)
{
    the_next_in_line_gives_up(take_and_give, (cen_pool_options){.max = 1});
}

/* guarantees: pool.L5, pool-bugs.expired-waiter */
EXPLORE(L5_the_next_in_line_that_gives_up_while_it_is_overtaken_passes_its_role_on_to_who_is_pending, 3)
{
    the_next_in_line_gives_up(ask_and_give, (cen_pool_options){.max = 1});
}
