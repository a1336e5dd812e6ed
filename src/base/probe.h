/* SPDX-License-Identifier: MIT */
/*
 * Probes: places in the library where a tracer may look in, such as bpftrace,
 * perf or gdb, without anything having been prepared for it.
 *
 *     CENI_PROBE2(shed, pool->name, waiters);      seen as usdt:libcenote.so:cenote:shed
 *
 * Where there is <sys/sdt.h> a probe is one instruction that does nothing, and a
 * note in the library that says where it is and where its arguments are; so it
 * stands in slow paths only, and its arguments are at hand: a number or a pointer,
 * nothing that would have to be computed. Where there is none, it is nothing.
 * docs/probes.md lists them, and tests/probes compares the list with the library.
 */
#ifndef CENI_BASE_PROBE_H
#define CENI_BASE_PROBE_H

#ifdef CENI_PROBES
#include <sys/sdt.h>

#define CENI_PROBE1(name, a) DTRACE_PROBE1(cenote, name, a)
#define CENI_PROBE2(name, a, b) DTRACE_PROBE2(cenote, name, a, b)
#define CENI_PROBE3(name, a, b, c) DTRACE_PROBE3(cenote, name, a, b, c)
#define CENI_PROBE4(name, a, b, c, d) DTRACE_PROBE4(cenote, name, a, b, c, d)
#else
#define CENI_PROBE1(name, a) ((void)(a))
#define CENI_PROBE2(name, a, b) ((void)(a), (void)(b))
#define CENI_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define CENI_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
