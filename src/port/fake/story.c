/* SPDX-License-Identifier: MIT */
/*
 * The story of a schedule: the steps of all threads, one column per thread, and the trace that replays it.
 */
#include <stdio.h>
#include <string.h>

#include "port/fake/internal.h"

typedef struct story_line {
    const ceni_site *site;
    const char *what;
    uint64_t a, b;
    uint8_t thread;
} story_line;

enum { LINES = 1 << 12, PRINTED = 300, CHOICES = 1 << 12 };

static story_line lines[LINES];
static uint64_t lines_noted;

typedef struct deviation {
    unsigned number;
    world_step step;
} deviation;

static deviation deviations[CHOICES];
static unsigned deviations_noted, choices;

void story_begin(void)
{
    lines_noted = 0;
    deviations_noted = choices = 0;
}

void story_note(const ceni_site *site, const char *what, uint64_t a, uint64_t b)
{
    uint8_t thread = (uint8_t)world_index(the_world.current);
    lines[lines_noted++ % LINES] = (story_line){site, what, a, b, thread};
}

/* `choice` is the option taken at a point with several options. */
void story_step(unsigned choice, world_step step)
{
    unsigned number = choices++;
    if (choice && deviations_noted < CHOICES) deviations[deviations_noted++] = (deviation){number, step};
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_value(uint64_t value)
{
    if (value < 1000000) printf(" %llu", (unsigned long long)value);
    else printf(" %#llx", (unsigned long long)value);
}

static void print_line(const story_line *line, unsigned columns)
{
    static const char *const ops[] = {"load", "store", "exchange", "add", "sub", "or", "and", "cas"};
    unsigned width = columns > 1 ? (columns > 3 ? 24 : 44) : 0;
    printf("     %*s%u| ", (int)(line->thread * width), "", line->thread);
    if (line->site)
        printf("%s:%d %s %s", base_name(line->site->file), line->site->line, ops[line->site->op], line->site->object);
    printf(" %s", line->what);
    print_value(line->a);
    if (line->b || strcmp(line->what, "was, becomes") == 0) print_value(line->b);
    printf("\n");
}

static void print_trace(void)
{
    printf("     to run it again: CENOTE_REPLAY=");
    for (unsigned i = 0; i < deviations_noted; i++)
        printf("%s%u:%c%u", i ? "," : "", deviations[i].number, step_letter(deviations[i].step),
               deviations[i].step.thread);
    printf("%s CENOTE_MEMORY=%s\n", deviations_noted ? "" : "0:r0",
           the_world.tso    ? "tso"
           : the_world.weak ? "weak"
                            : "strong");
}

void story_print(void)
{
    unsigned columns = the_world.count;
    printf("     the story so far (%llu steps, clock %lld ns):\n", (unsigned long long)the_world.steps,
           (long long)the_world.clock);
    for (unsigned i = 0; i < columns; i++) printf("     %u is %s\n", i, the_world.threads[i].name);
    uint64_t from = lines_noted > PRINTED ? lines_noted - PRINTED : 0;
    if (from) printf("     ... %llu earlier lines\n", (unsigned long long)from);
    for (uint64_t i = from; i < lines_noted; i++) print_line(&lines[i % LINES], columns);
    print_trace();
    fflush(stdout);
}
