/* SPDX-License-Identifier: MIT */
/* A program outside the tree, C11 and C++17: blocks of CEN_WITH are left in every way without a warning, and the object comes back. */
#include <stdio.h>

#include <cenote/cenote.h>

static cen_pool *pool;
static char text[] = "lent";

static int both_return(int choice)
{
    CEN_WITH (pool, CEN_NOW, char *, object, NULL) {
        if (choice == 1) return object[0] == 'l' ? 1 : -1;
        return 2;
    } else {
        return 3;
    }
}

static int nested_blocks_return(int choice)
{
    CEN_WITH (pool, CEN_NOW, char *, outer, NULL) {
        CEN_WITH (pool, CEN_NOW, char *, inner, NULL) return inner == outer ? choice : -1;
        else return -2;
    } else return -3;
}

static int after_a_block_both_return(int choice)
{
    int passed = 0;
    CEN_WITH (pool, CEN_NOW, char *, object, NULL) passed += object[0] == 'l';
    CEN_WITH (pool, CEN_NOW, char *, unneeded, NULL) passed += 0; /* only whether there is one */
    for (int i = 0; i < choice; i++) {
        CEN_WITH (pool, CEN_NOW, char *, object, NULL) {
            if (i == 0) continue;
            if (i == 1) break;
            passed += object[0] == 'l';
        }
        passed += 10;
    }
    CEN_WITH (pool, CEN_NOW, char *, object, NULL) {
        return object ? passed : -1;
    } else {
        return -2;
    }
}

static bool is_free(void)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    return cen_pool_stats_get(pool, &stats) == CEN_OK && stats.held == 0;
}

int main(void)
{
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    options.max = 1;
    if (cen_pool_new(&options, &pool, NULL) != CEN_OK) return 1;
    if (both_return(1) != 3) return 2; /* there is no object yet */
    if (cen_pool_adopt(pool, text, NULL) != CEN_OK) return 3;
    if (both_return(1) != 1 || !is_free()) return 4;
    if (both_return(2) != 2 || !is_free()) return 5;
    if (nested_blocks_return(7) != 7 || !is_free()) return 6;
    if (after_a_block_both_return(4) != 43 || !is_free()) return 7;
    return cen_pool_free(pool) == CEN_OK ? 0 : 8;
}
