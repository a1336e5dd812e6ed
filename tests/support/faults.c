/* SPDX-License-Identifier: MIT */
#include "support/faults.h"

#include "support/world.h"

enum { MOST_FAULTS = 10000 };

static char words[400];

static void find_fault(const fault_sweep *sweep, unsigned nth, cen_status status, bool fired, long long kept)
{
    const char *text = NULL;
    if (fired) text = sweep->check(status);
    else if (status != CEN_OK) text = "it fails although nothing was made to fail";
    if (status != CEN_OK && kept)
        snprintf(words, sizeof words, "fault %u: it fails with %s and holds %lld bytes more than before", nth,
                 cen_status_name(status), kept);
    else if (text) snprintf(words, sizeof words, "fault %u: %s (status %s)", nth, text, cen_status_name(status));
}

/* One round; NULL if all was well. *fired: whether there was an Nth question at all. */
static const char *round_of(const fault_sweep *sweep, unsigned nth, bool *fired)
{
    words[0] = '\0';
    size_t before_all = ceni_world_bytes();
    if (sweep->setup) sweep->setup();
    size_t before = ceni_world_bytes();
    ceni_fault_arm(sweep->mask, nth);
    cen_status status = sweep->operation();
    *fired = ceni_fault_disarm();
    find_fault(sweep, nth, status, *fired, (long long)ceni_world_bytes() - (long long)before);
    sweep->undo();
    if (!words[0] && ceni_world_bytes() != before_all)
        snprintf(words, sizeof words, "fault %u: %lld bytes are left when all is undone", nth,
                 (long long)ceni_world_bytes() - (long long)before_all);
    return words[0] ? words : NULL;
}

const char *fault_sweep_find(const fault_sweep *sweep, unsigned *faults)
{
    bool fired = true;
    *faults = 0;
    for (unsigned nth = 1; nth <= MOST_FAULTS; nth++) {
        const char *text = round_of(sweep, nth, &fired);
        if (text) return text;
        if (!fired) return NULL;
        *faults = nth;
    }
    return "there is no end to what can fail";
}

unsigned fault_sweep_check(const fault_sweep *sweep)
{
    unsigned faults;
    const char *text = fault_sweep_find(sweep, &faults);
    if (text) test_fail(__FILE__, __LINE__, "%s", text);
    if (faults == 0) test_fail(__FILE__, __LINE__, "nothing in the operation can be made to fail: the sweep is empty");
    printf("     %u faults\n", faults);
    return faults;
}
