/* SPDX-License-Identifier: MIT */
/*
 * Lets tests fork beside other threads under AddressSanitizer too.
 *
 * The locks of clang 14's AddressSanitizer stay locked in a child if another
 * thread was in its allocator at the fork, be it only because that thread was
 * beginning; glibc's own allocator takes care of that, and so do later
 * AddressSanitizers. Here every fork takes these locks first and lets go of them
 * on both sides. Other builds have nothing to lock.
 */
#ifndef TESTS_SUPPORT_FORKS_H
#define TESTS_SUPPORT_FORKS_H

/* Runs by itself before main: who registers first is the last to prepare, when nobody allocates any more. */
void forks_register(void);

#endif
