/* SPDX-License-Identifier: MIT */
/* How a test body is run: directly (run_plain.c) or in a world (run_world.c). */
#ifndef TESTS_SUPPORT_RUN_H
#define TESTS_SUPPORT_RUN_H

void run_body(void (*body)(void));

/* Called when an expectation failed, before the test's process ends. */
void run_failed(const char *file, int line, const char *text);

#endif
