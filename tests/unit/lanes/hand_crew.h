/* SPDX-License-Identifier: MIT */
/*
 * A crew that runs nothing: it takes tasks and keeps them, and the test tells
 * of each what becomes of it, as a crew would. Linked in place of the library's own,
 * so that a test of lanes decides every step, on its own threads.
 */
#ifndef TESTS_UNIT_LANES_HAND_CREW_H
#define TESTS_UNIT_LANES_HAND_CREW_H

#include <cenote/lanes.h>

/* What every cen_crew_submit answers from now on. */
void hand_answer(cen_status status);

/* What becomes of a task that was submitted. */
void hand_begin(cen_task *task);
void hand_pause(cen_task *task, cen_next next);
void hand_resume(cen_task *task);
void hand_end(cen_task *task, cen_status status);  /* it had begun */
void hand_drop(cen_task *task, cen_status status); /* it had not */

/* The options that the crew was made with, the observer aside. */
const cen_crew_options *hand_options(const cen_crew *crew);

/* How often a crew was stopped, and the worst that stop answers from now on. */
unsigned hand_stops(const cen_crew *crew);
void hand_stop_answer(cen_crew *crew, cen_status status);

#endif
