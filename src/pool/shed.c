/* SPDX-License-Identifier: MIT */
/* Load shedding by CoDel's control law; shed.h explains it. */
#include "pool/shed.h"

/* A new episode within SOON intervals after the last one begins nearly at the step where that one ended. */
enum { SOON = 16, MOST_STEP = 1 << 20 };

static uint64_t root_of(uint64_t square)
{
    uint64_t root = square, next = (square + 1) / 2;
    while (next < root) {
        root = next;
        next = (root + square / root) / 2;
    }
    return root;
}

/* interval / √step, in fixed point with 8 fractional bits, without overflow. */
static int64_t pause_after(int64_t interval, uint32_t step)
{
    int64_t root = (int64_t)root_of((uint64_t)step << 16);
    return interval / root * 256 + interval % root * 256 / root;
}

static void begin(ceni_shed *shed, int64_t interval, int64_t now)
{
    bool soon = shed->step > 2 && (now - shed->next) / SOON < interval;
    shed->step = soon ? shed->step - 2 : 1;
    shed->active = true;
    shed->count = 1;
    shed->next = now + pause_after(interval, shed->step);
}

void ceni_shed_calm(ceni_shed *shed)
{
    shed->above = shed->active = false;
}

void ceni_shed_note(ceni_shed *shed, int64_t target, int64_t waited, bool alone, int64_t now)
{
    bool above = waited >= target && !alone;
    if (!above) ceni_shed_calm(shed);
    else if (!shed->above) shed->since = now;
    shed->above = above;
}

bool ceni_shed_judge(ceni_shed *shed, int64_t target, int64_t interval, int64_t waited, bool alone, int64_t now)
{
    ceni_shed_note(shed, target, waited, alone, now);
    if (!shed->above) return false;
    if (!shed->active) {
        if (now - shed->since < interval) return false;
        begin(shed, interval, now);
        return true;
    }
    if (now < shed->next) return false;
    shed->count++;
    if (shed->step < MOST_STEP) shed->step++;
    shed->next += pause_after(interval, shed->step);
    return true;
}
