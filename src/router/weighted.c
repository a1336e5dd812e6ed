/* SPDX-License-Identifier: MIT */
/*
 * Weighted: at random, in proportion to weight, in constant time.
 *
 * The table has a column for each member, all of one height. A column belongs to its own member up to a mark, and to
 * another member above it, such that the areas are in proportion to the weights (Walker's alias method). A pick takes a
 * column at random and a height at random.
 */
#include "router/set.h"

typedef struct column {
    uint32_t mark;  /* below it: the column's own member */
    uint32_t other; /* above it: this one */
} column;

/* Memory that is used only while the table is made, behind the columns. */
typedef struct work {
    uint64_t area;
} work;

static size_t table_size(void *state, uint32_t count)
{
    (void)state;
    return count * (sizeof(column) + sizeof(work) + sizeof(uint32_t));
}

static void arrange(void *state, const cen_member_set *set, void *table)
{
    (void)state;
    uint32_t count = set->count, low = 0, high = count;
    column *columns = table;
    work *works = (work *)(void *)(columns + count);
    uint32_t *stack = (uint32_t *)(void *)(works + count); /* too small from the left, large enough from the right */
    uint64_t whole = 0; /* the area of a column, with all weights multiplied by count */
    for (uint32_t i = 0; i < count; i++) whole += cen_member_weight(ceni_set_at(set, i));
    for (uint32_t i = 0; i < count; i++) {
        works[i].area = (uint64_t)cen_member_weight(ceni_set_at(set, i)) * count;
        columns[i] = (column){.mark = UINT32_MAX, .other = i};
        if (works[i].area < whole) stack[low++] = i;
        else stack[--high] = i;
    }
    while (low > 0 && high < count) {
        uint32_t small = stack[--low], large = stack[high];
        columns[small].mark = (uint32_t)((double)works[small].area / (double)whole * 4294967295.0);
        columns[small].other = large;
        works[large].area -= whole - works[small].area;
        if (works[large].area < whole) {
            high++;
            stack[low++] = large;
        }
    }
}

static cen_member *pick(void *state, const cen_member_set *set, const cen_route_hint *wish, bool used)
{
    (void)state, (void)wish, (void)used;
    uint64_t random = ceni_route_random();
    uint32_t at = (uint32_t)((random >> 32) * set->count >> 32);
    const column *here = (const column *)set->table + at;
    return ceni_set_at(set, (uint32_t)random <= here->mark ? at : here->other);
}

cen_strategy cen_strategy_weighted(void)
{
    static const cen_strategy_type type = {
        .size = sizeof type, .name = "weighted", .table_size = table_size, .arrange = arrange, .pick = pick};
    return (cen_strategy){.type = &type};
}
