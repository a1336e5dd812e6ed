/* SPDX-License-Identifier: MIT */
/* Defines CENI_WITH_ASAN in a build with AddressSanitizer; gcc and clang indicate that differently. */
#ifndef CENI_PORT_FAKE_ASAN_H
#define CENI_PORT_FAKE_ASAN_H

#if defined(__SANITIZE_ADDRESS__)
#define CENI_WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CENI_WITH_ASAN 1
#endif
#endif

#endif
