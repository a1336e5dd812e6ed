/* SPDX-License-Identifier: MIT */
/*
 * Static tracepoints (USDT probes): places in the library that a tracer such as bpftrace, perf or gdb can attach to
 * at any time.
 *
 *     CENI_PROBE2(shed, pool->name, waiters);      seen as usdt:libcenote.so:cenote:shed
 *
 * With <sys/sdt.h> a probe is one nop instruction, and a note in the library with its address and the places of its
 * arguments. Without the header a probe is nothing. Probes are in slow paths only. Their arguments are numbers or
 * pointers that the code has at hand: a probe computes nothing. docs/probes.md lists the probes, and tests/probes
 * compares the list with the library.
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
