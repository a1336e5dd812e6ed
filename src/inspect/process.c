/* SPDX-License-Identifier: MIT */
/* This process: its name, pid and start time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cenote/events.h>

#include "inspect/internal.h"

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t ceni_inspect_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t ceni_inspect_now_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

const char *ceni_inspect_program(void)
{
    return program_invocation_short_name && program_invocation_short_name[0] ? program_invocation_short_name : "?";
}

/* Compute the start from word 22 of /proc/self/stat, in ticks since boot. The difference of two clocks varies slightly,
 * so this is computed once. */
int64_t ceni_inspect_began_ns(void)
{
    char line[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file) return 0;
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = 0;
    const char *at = strrchr(line, ')'); /* the second word is the program's name, which may contain anything */
    for (int word = 2; at && word < 22; word++) at = strchr(at + 1, ' ');
    long ticks = sysconf(_SC_CLK_TCK);
    if (!at || ticks <= 0) return 0;
    int64_t age = read_clock(CLOCK_BOOTTIME) - (int64_t)strtoull(at, NULL, 10) * (1000000000 / ticks);
    return read_clock(CLOCK_REALTIME) - age;
}

static void count_it(void *count, cen_component *component)
{
    (void)component;
    ++*(uint64_t *)count;
}

void ceni_answer_process(const cen_inspect *inspect, ceni_answer *answer)
{
    ceni_json *json = &answer->json;
    uint64_t components = 0;
    char version[32];
    unsigned v = cen_version();
    snprintf(version, sizeof version, "%u.%u.%u", v / 1000000, v / 1000 % 1000, v % 1000);
    cen_components_each(count_it, &components);
    ceni_json_open(json, NULL, '{');
    ceni_json_words(json, "title", inspect->title);
    ceni_json_words(json, "program", ceni_inspect_program());
    ceni_json_number(json, "pid", inspect->process);
    ceni_json_words(json, "version", version);
    ceni_json_number(json, "started_ns", inspect->began_ns);
    ceni_json_number(json, "now_ns", ceni_inspect_now_ns());
    ceni_json_truth(json, "control", inspect->control);
    ceni_json_count(json, "components", components);
    ceni_json_count(json, "events", cen_events_total());
    ceni_json_close(json, '}');
}
