/* SPDX-License-Identifier: MIT */
#include "port/rank.h"

#ifdef CENI_PLANTS

#include <stdio.h>
#include <stdlib.h>

_Static_assert(CENI_RANK_COUNT <= 32, "the mask has a bit for each rank");

static const char *const names[CENI_RANK_COUNT] = {
#define CENI_RANK_NAME_(name, words) #name,
    CENI_RANK_LIST(CENI_RANK_NAME_)};

#ifndef CENI_WATCHED
uint32_t *ceni_rank_mask(void)
{
    static _Thread_local uint32_t mask;
    return &mask;
}
#endif

__attribute__((noreturn)) static void stop(const char *what, const char *which, uint32_t held)
{
    fprintf(stderr, "lock order: %s %s while holding", what, which);
    if (!held) fputs(" nothing", stderr);
    for (int rank = 0; rank < CENI_RANK_COUNT; rank++)
        if (held & (UINT32_C(1) << rank)) fprintf(stderr, " %s", names[rank]);
    fputc('\n', stderr);
    abort();
}

void ceni_rank_enter(ceni_rank rank)
{
    uint32_t *mask = ceni_rank_mask(), bit = UINT32_C(1) << rank;
    if (*mask >= bit) stop("taking", names[rank], *mask);
    *mask |= bit;
}

void ceni_rank_leave(ceni_rank rank)
{
    uint32_t *mask = ceni_rank_mask(), bit = UINT32_C(1) << rank;
    if (!(*mask & bit)) stop("releasing", names[rank], *mask);
    *mask &= ~bit;
}

void ceni_rank_expect_none(const char *where)
{
    uint32_t held = *ceni_rank_mask();
    if (held) stop("calling", where, held);
}

#else
/* ISO C forbids an empty translation unit. */
typedef int ceni_rank_is_empty_here;
#endif
