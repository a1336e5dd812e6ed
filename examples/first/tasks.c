/* SPDX-License-Identifier: MIT */
/* A thread pool: a hundred tasks on four workers. Submitting allocates nothing.
 * cc tasks.c $(pkg-config --cflags --libs cenote) */
#include <cenote/cenote.h>
#include <stdio.h>

typedef struct square {
    cen_task task; /* first */
    int n, result;
} square;

static cen_next compute(cen_task *task)
{
    square *self = (square *)task;
    self->result = self->n * self->n;
    return cen_task_done(task, NULL);
}

int main(void)
{
    static square squares[100];
    cen_crew_options options = CEN_CREW_OPTIONS(.name = "squares", .workers = 4);
    cen_crew *crew;
    cen_error error;
    if (cen_crew_new(&options, &crew, &error) != CEN_OK) return puts(error.text), 1;
    for (int i = 0; i < 100; i++) {
        squares[i].n = i + 1;
        cen_task_init(&squares[i].task, compute);
        if (cen_crew_submit(crew, &squares[i].task, &error) != CEN_OK) return puts(error.text), 1;
    }
    cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(5), NULL, NULL); /* waits for the tasks */
    cen_crew_free(crew);
    return printf("100 squared is %d\n", squares[99].result) < 0;
}
