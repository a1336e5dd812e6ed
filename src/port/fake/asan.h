/* SPDX-License-Identifier: MIT */
/* Whether this is a build with AddressSanitizer, which each compiler says in its own way. */
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
