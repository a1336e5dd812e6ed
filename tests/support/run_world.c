/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/run.h"
#include "support/world.h"

void run_body(void (*body)(void))
{
    ceni_world_run(body);
}

/* A world never sleeps: it hangs only by using the processor, so its limit is on that. The clock's is for what is no world's. */
void run_limit(unsigned seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = seconds}}, NULL);
    alarm(60 * seconds);
}

void run_failed(const char *file, int line, const char *text)
{
    (void)file;
    (void)line;
    (void)text;
    if (ceni_world_running()) ceni_world_story();
}

ceni_thread start(const char *name, void (*run)(void *), void *argument)
{
    ceni_thread thread;
    expect(ceni_thread_start(&thread, name, run, argument, NULL) == CEN_OK);
    return thread;
}

void join(ceni_thread thread)
{
    ceni_thread_join(&thread);
}

static void search(const char *name, ceni_exploration plan)
{
    ceni_explored found = ceni_world_explore(&plan);
    static const char *const memories[] = {"sequentially consistent", "store buffers", "stale values"};
    const char *memory = memories[plan.memory];
    if (plan.random_runs)
        printf("     %s: %" PRIu64 " random schedules, seed %" PRIu64 " (%u threads, %s)\n", name, found.run, plan.seed,
               found.threads, memory);
    else
        printf("     %s: %" PRIu64 " schedules run, %" PRIu64
               " pruned: all with up to %u preemptions (%u threads, %s)\n",
               name, found.run, found.pruned, plan.preemptions, found.threads, memory);
    fflush(stdout);
    expect(found.run > 0);
}

static uint64_t random_seed(void)
{
    const char *text = getenv("CENOTE_SEED");
    return text ? strtoull(text, NULL, 0) : 1;
}

/* How far to go beyond, or to stay below, what a test asks for. */
typedef struct depth {
    int more;
    bool spares; /* one preemption, where there are many and stores are held back, which is most of the work */
} depth;

enum { MANY = 4 };

static depth depth_wanted(void)
{
    const char *name = getenv("CENOTE_EXPLORE_DEPTH");
    if (!name) return (depth){.more = 0, .spares = true};
    bool shallow = strcmp(name, "shallow") == 0, deep = strcmp(name, "deep") == 0;
    expect(shallow || deep || strcmp(name, "full") == 0);
    return (depth){.more = deep - shallow, .spares = false};
}

static ceni_memory memory_wanted(void)
{
    const char *memory = getenv("CENOTE_MEMORY");
    if (!memory || strcmp(memory, "strong") == 0) return CENI_MEMORY_STRONG;
    expect(strcmp(memory, "tso") == 0 || strcmp(memory, "weak") == 0);
    return strcmp(memory, "tso") == 0 ? CENI_MEMORY_TSO : CENI_MEMORY_WEAK;
}

void explore_test(const char *name, void (*body)(void), unsigned preemptions)
{
    static const unsigned random_runs[] = {200, 2000, 200000};
    const char *trace = getenv("CENOTE_REPLAY");
    depth wanted = depth_wanted();
    if (wanted.more > 0) run_limit(3600); /* a campaign, not a test */
    if (trace) {
        ceni_exploration plan = {.body = body, .memory = memory_wanted()};
        expect(ceni_world_replay(&plan, trace));
        return;
    }
    for (int memory = CENI_MEMORY_STRONG; memory <= CENI_MEMORY_WEAK; memory++) {
        ceni_exploration plan = {.body = body, .memory = (ceni_memory)memory};
        bool spares = wanted.spares && memory == CENI_MEMORY_TSO && preemptions >= MANY;
        int bound = (int)preemptions + wanted.more - spares;
        plan.preemptions = bound > 0 ? (unsigned)bound : 0;
        search(name, plan);
        plan.seed = random_seed();
        plan.changes = 5;
        plan.random_runs = random_runs[1 + wanted.more];
        search(name, plan);
    }
}
