/* SPDX-License-Identifier: MIT */
/*
 * So many tasks that do nothing, made ready, submitted and run by a crew of one
 * worker, for tools/check-instructions.
 *
 *     tasks outside|inside|await COUNT
 *
 * outside: submitted by another thread. inside: by a task, many at a time. await:
 * by a task, which awaits each.
 *
 * The worker never searches for work and never sleeps in the crew, since how long it would is a
 * matter of chance: while tasks are submitted from outside it stands at a gate, a task that waits
 * for a semaphore, and the last task of each round is the next gate.
 */
#include <cenote/crew.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

enum { OUTSIDE = 1000, INSIDE = 200 }; /* at a time: as many as the queues have cells for */

static cen_crew *crew;
static sem_t arrived, open_gate;
static unsigned long left;
static cen_task tasks[OUTSIDE], gates[2];

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) continue;
}

static void submit(cen_task *task, cen_step step)
{
    cen_task_init(task, step);
    if (cen_crew_submit(crew, task, NULL) != CEN_OK) abort();
}

static cen_next nothing(cen_task *task)
{
    return cen_task_done(task, NULL);
}

static cen_next gate(cen_task *task)
{
    sem_post(&arrived);
    wait_for(&open_gate);
    return cen_task_done(task, NULL);
}

static void from_outside(void)
{
    unsigned turn = 0;
    submit(&gates[turn], gate);
    for (; left > 0; left -= OUTSIDE) {
        wait_for(&arrived);
        for (unsigned i = 0; i < OUTSIDE; i++) submit(&tasks[i], nothing);
        turn = !turn;
        submit(&gates[turn], gate);
        sem_post(&open_gate);
    }
    wait_for(&arrived);
    sem_post(&open_gate);
}

static cen_next from_inside(cen_task *task)
{
    if (left == 0) return gate(task);
    for (unsigned i = 0; i < INSIDE; i++) submit(&tasks[i], nothing);
    left -= INSIDE;
    return cen_task_yield(task, from_inside);
}

static cen_next one_by_one(cen_task *task)
{
    for (; left > 0; left--) {
        submit(&tasks[0], nothing);
        if (cen_await(&tasks[0].future, cen_in_s(5)) != CEN_OK) abort();
    }
    return gate(task);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    left = strtoul(argv[2], NULL, 10);
    cen_crew_options options = CEN_CREW_OPTIONS(.workers = 1);
    if (left % OUTSIDE != 0 || sem_init(&arrived, 0, 0) != 0 || sem_init(&open_gate, 0, 0) != 0) return 2;
    if (cen_crew_new(&options, &crew, NULL) != CEN_OK) return 1;
    if (strcmp(argv[1], "outside") == 0) {
        from_outside();
    } else {
        submit(&gates[0], strcmp(argv[1], "inside") == 0 ? from_inside : one_by_one);
        wait_for(&arrived);
        sem_post(&open_gate);
    }
    return cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(5), NULL, NULL) != CEN_OK || cen_crew_free(crew) != CEN_OK;
}
