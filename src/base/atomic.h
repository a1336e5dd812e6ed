/* SPDX-License-Identifier: MIT */
/*
 * Every atomic operation of the project, with its memory order in its name.
 *
 * No other file except fault.c uses operations of <stdatomic.h> or memory_order_*. So there is one vocabulary for the
 * reader, and one place where tests can intervene. Compiled with CENI_WATCHED, each operation first asks the
 * controlled scheduler of port/fake which thread runs next, and is carried out in the scheduler's memory model. The
 * sources that use the operations are the same in both builds.
 *
 * An operation that orders anything carries a tag such as [R3] in a comment
 * on its line; the order table at the top of the file has the row.
 *
 * There is no stand-alone fence: ThreadSanitizer does not model fences, and an order belongs to the operation that
 * needs it.
 */
#ifndef CENI_BASE_ATOMIC_H
#define CENI_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two lines, because adjacent-line prefetch makes pairs of lines travel together. */
#define CENI_CACHE_LINE 128

/* A setting: a limit, a choice, or a pointer or epoch that is published once. It is read on its own and may be
 * slightly out of date, because whatever depends on it is decided under a lock or by another operation. The load is
 * an acquire for the sake of published pointers. In the watched build a setting is not a scheduling point: every call
 * would have one, and the races that tests look for are elsewhere. */
#define ceni_setting(p) atomic_load_explicit((p), memory_order_acquire)
#define ceni_setting_put(p, v) atomic_store_explicit((p), (v), memory_order_release)

/* Prefetch a cache line that this thread will write soon, in exclusive state. Without a compiler option for it, gcc
 * compiles __builtin_prefetch(p, 1) to a prefetch in shared state, and the write has to request the line a second
 * time. Every x86-64 executes PREFETCHW, at worst as a no-op. */
#if defined(__x86_64__)
#define ceni_fetch_to_write(p) __asm__ __volatile__("prefetchw %0" ::"m"(*(const char *)(p)))
#else
#define ceni_fetch_to_write(p) __builtin_prefetch((p), 1)
#endif

#ifndef CENI_WATCHED

#define ceni_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define ceni_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define ceni_load_seq_cst(p) atomic_load_explicit((p), memory_order_seq_cst)

#define ceni_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define ceni_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define ceni_store_seq_cst(p, v) atomic_store_explicit((p), (v), memory_order_seq_cst)

#define ceni_exchange_acquire(p, v) atomic_exchange_explicit((p), (v), memory_order_acquire)
#define ceni_exchange_release(p, v) atomic_exchange_explicit((p), (v), memory_order_release)
#define ceni_exchange_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define ceni_exchange_seq_cst(p, v) atomic_exchange_explicit((p), (v), memory_order_seq_cst)

#define ceni_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define ceni_add_acq_rel(p, v) atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define ceni_add_seq_cst(p, v) atomic_fetch_add_explicit((p), (v), memory_order_seq_cst)
#define ceni_sub_relaxed(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define ceni_sub_seq_cst(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_seq_cst)
#define ceni_or_seq_cst(p, v) atomic_fetch_or_explicit((p), (v), memory_order_seq_cst)
#define ceni_and_seq_cst(p, v) atomic_fetch_and_explicit((p), (v), memory_order_seq_cst)

/* Compare and swap: returns true if *p was *expected and is v after the call. Otherwise *expected is the value found
 * in *p, read with the order of a relaxed load (acquire for the orders that acquire, seq_cst for seq_cst). */
#define ceni_cas_relaxed(p, expected, v) \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_relaxed, memory_order_relaxed)
#define ceni_cas_acquire(p, expected, v) \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acquire, memory_order_acquire)
#define ceni_cas_release(p, expected, v) \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_release, memory_order_relaxed)
#define ceni_cas_acq_rel(p, expected, v) \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acq_rel, memory_order_acquire)
#define ceni_cas_seq_cst(p, expected, v) \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_seq_cst, memory_order_seq_cst)

/* Tell the processor that this thread spins until another thread has made a step. */
#if defined(__x86_64__) || defined(__i386__)
#define ceni_pause() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define ceni_pause() __asm__ __volatile__("isb" ::: "memory")
#else
#define ceni_pause() __asm__ __volatile__("" ::: "memory")
#endif

#else /* CENI_WATCHED */
#include "base/atomic_watched.h"
#endif

#endif
