/* SPDX-License-Identifier: MIT */
/*
 * For tests that fork beside other threads.
 *
 * AddressSanitizer's own allocator does not survive a fork while another thread is
 * in it: its lock stays locked in the child. ALLOCATES_BESIDE_FORKS is 0 there, and
 * such a test then allocates on one side only.
 */
#ifndef TESTS_SUPPORT_FORKS_H
#define TESTS_SUPPORT_FORKS_H

#if defined __SANITIZE_ADDRESS__
#define ALLOCATES_BESIDE_FORKS 0
#elif defined __has_feature
#define ALLOCATES_BESIDE_FORKS !__has_feature(address_sanitizer)
#else
#define ALLOCATES_BESIDE_FORKS 1
#endif

#endif
