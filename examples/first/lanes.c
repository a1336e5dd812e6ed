/* SPDX-License-Identifier: MIT */
/* Priorities and a limit: when ten tasks wait or run in a lane, the next is refused at once.
 * cc lanes.c $(pkg-config --cflags --libs cenote) */
#include <cenote/cenote.h>
#include <stdio.h>

static cen_next work(cen_task *task)
{
    int64_t began = cen_clock();
    while (cen_clock() - began < CEN_MS(5)) continue;
    return cen_task_done(task, NULL);
}

int main(void)
{
    static cen_task tasks[50], urgent;
    cen_lanes *lanes;
    cen_error error = {.text = ""};
    int refused = 0;
    if (cen_lanes_new(&CEN_LANES_OPTIONS(.name = "jobs", .low.max_tasks = 10), &lanes, &error) != CEN_OK)
        return puts(error.text), 1;
    for (int i = 0; i < 50; i++) {
        cen_task_init(&tasks[i], work);
        if (cen_lanes_submit(lanes, CEN_PRIORITY_LOW, &tasks[i], CEN_DEFAULT, &error) != CEN_OK) refused++;
    }
    printf("%d were refused. The last: %s\n", refused, error.text);
    cen_task_init(&urgent, work);
    cen_lanes_submit(lanes, CEN_PRIORITY_HIGH, &urgent, CEN_DEFAULT, &error); /* has workers of its own */
    cen_future_wait(&urgent.future, cen_in_s(5));
    cen_lanes_stop(lanes, CEN_STOP_DRAIN, cen_in_s(5), NULL, NULL);
    cen_lanes_free(lanes);
    return urgent.future.status == CEN_OK && refused > 0 ? 0 : 1;
}
