/* SPDX-License-Identifier: MIT */
/*
 * Tests in a world (port/fake/world.h): virtual time, and exploration.
 *
 *     EXPLORE(a_push_wakes_a_sleeping_pop, 4)
 *     {
 *         ... make things, start threads with start(), join(), expect() ...
 *     }
 *
 * runs the body under every schedule with up to 4 preemptions, and then under
 * random ones: with sequentially consistent memory, with store buffers, and
 * with stale values. The body is run again and again: it initialises what it
 * uses, and frees it.
 *
 *     CENOTE_EXPLORE_DEPTH=full     also four preemptions where stores are held back; without it, three
 *     CENOTE_EXPLORE_DEPTH=deep     one preemption more, and many more random schedules
 *     CENOTE_EXPLORE_DEPTH=shallow  one less, and fewer: for builds that are slow
 *     CENOTE_REPLAY=trace   runs the one schedule of a printed story again, with
 *     CENOTE_MEMORY=kind    the memory it had: strong, tso or weak
 *
 * docs/internals/explore.md shows how to write one.
 */
#ifndef TESTS_SUPPORT_WORLD_H
#define TESTS_SUPPORT_WORLD_H

#include "port/fake/world.h"
#include "port/port.h"
#include "support/test.h"

void explore_test(const char *name, void (*body)(void), unsigned preemptions);

#define EXPLORE(test_name, preemptions) \
    static void test_name##_body(void); \
    PLAIN_TEST(test_name) \
    { \
        explore_test(#test_name, test_name##_body, preemptions); \
    } \
    static void test_name##_body(void)

/* Starts a thread and expects that it could be started. */
ceni_thread start(const char *name, void (*run)(void *), void *argument);
void join(ceni_thread thread);

#endif
