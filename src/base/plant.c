/* SPDX-License-Identifier: MIT */
#include "base/plant.h"

#ifdef CENI_PLANTS

#include <string.h>

ceni_plant ceni_plant_chosen = CENI_PLANT_none;

static const char *const names[CENI_PLANT_COUNT] = {
#define CENI_PLANT_NAME_(name, words) #name,
    CENI_PLANT_LIST(CENI_PLANT_NAME_)};

bool ceni_plant_choose(const char *name)
{
    for (int i = 0; i < CENI_PLANT_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            ceni_plant_chosen = (ceni_plant)i;
            return true;
        }
    }
    return false;
}

#else
/* ISO C forbids an empty translation unit. */
typedef int ceni_plant_is_empty_here;
#endif
