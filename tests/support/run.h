/* SPDX-License-Identifier: MIT */
/* How a test body is run: directly (run_plain.c) or in a world (run_world.c). */
#ifndef TESTS_SUPPORT_RUN_H
#define TESTS_SUPPORT_RUN_H

void run_body(void (*body)(void));

/* Ends this process by a signal when it is taken for hanging: after `seconds` of a quiet machine. Replaces an earlier limit.
 * A busy machine gets more: a world is limited by processor time, any other test by the load of the machine. */
void run_limit(unsigned seconds);

/* Called when an expectation failed, before the test's process ends. */
void run_failed(const char *file, int line, const char *text);

#endif
