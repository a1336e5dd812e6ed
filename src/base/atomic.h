/* SPDX-License-Identifier: MIT */
/*
 * Every atomic operation of the project, with its memory order in its name.
 *
 * No other file but fault.c uses <stdatomic.h> operations or memory_order_*. That gives
 * the reader one vocabulary, and gives the tests one place to stand: compiled
 * with CENI_WATCHED, each operation first asks the controlled scheduler of
 * port/fake who may run, and is carried out in its memory model. The sources
 * that use the operations are the same in both builds.
 *
 * An operation that orders anything carries a tag such as [R3] in a comment
 * on its line; the order table at the top of the file has the row.
 *
 * There is no stand-alone fence: ThreadSanitizer does not model it, and an
 * order belongs to the operation that needs it.
 */
#ifndef CENI_BASE_ATOMIC_H
#define CENI_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two lines, because adjacent-line prefetch makes pairs of lines travel together. */
#define CENI_CACHE_LINE 128

/* A setting: something that is read by itself and may be a little out of date,
 * because what depends on it is decided under a lock or by another operation: a
 * limit, a choice, or a pointer or an epoch that was published once, whence
 * acquire. In the watched build, too, it is no point where another thread may
 * come: there would be one in every call, and what is looked for is elsewhere. */
#define ceni_setting(p) atomic_load_explicit((p), memory_order_acquire)
#define ceni_setting_put(p, v) atomic_store_explicit((p), (v), memory_order_release)

/* The line will be written here soon: let it come as one's own while something else is done. Without the option for it
 * gcc makes a prefetch of the other kind of this, by which the line comes to be shared, and the write has to ask for it once
 * more. Every x86-64 takes the instruction, for nothing at worst. */
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

/* Compare and swap: true if *p held *expected and now holds v; otherwise
 * *expected is what was found, read with the order of a relaxed load (acquire
 * for the orders that acquire). */
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

/* Tells the processor that this thread polls for somebody else's step. */
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
