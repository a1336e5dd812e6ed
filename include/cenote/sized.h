/* SPDX-License-Identifier: MIT */
/*
 * Sized structs: the ABI rule for options, stats and reports.
 *
 * A sized struct begins with `size`, which the caller sets to the size of the struct in its own version of the header.
 * Later versions only append fields. A program can therefore run with an older or a newer library than the one it was
 * compiled for.
 *
 *     cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
 *     if (cen_pool_stats_get(pool, &stats) == CEN_OK) printf("%u idle\n", stats.idle);
 *
 * The rule, for a caller's struct of `size` bytes:
 *  - A smaller struct is accepted. The library reads and writes no byte beyond `size`. Options that are unknown to the
 *    caller have their defaults.
 *  - A larger struct is accepted if the bytes that the library does not know are zero. Otherwise the call fails with
 *    INVALID, because the library would ignore a setting.
 *  - A `size` of 0 is INVALID, because the struct was not initialised. A `size` that is smaller than the field itself
 *    or larger than CEN_SIZED_MAX is also INVALID.
 *  - The library never changes `size`. A call that fails with INVALID because of `size` has no other effect.
 *  - In an array, all elements have the `size` of the first, which is also the stride.
 *  - In a struct that the library passes to a callback, `size` is the library's.
 *
 * Options macros such as CEN_POOL_OPTIONS set `size`. docs/abi.md contains the full rule, and lists the types that
 * never change.
 *
 * Threads: nothing here is shared. Every function may be called from any thread.
 */
#ifndef CENOTE_SIZED_H
#define CENOTE_SIZED_H

#include <stddef.h>

#include <cenote/status.h>

/* A zeroed struct with its `size` set: an initialiser, or a value to assign. In C++, options can also start from it:
 * `auto options = CEN_SIZED(cen_pool_options);`. */
#ifdef __cplusplus
template <typename type> inline type cen_sized_()
{
    type sized = type();
    sized.size = sizeof sized;
    return sized;
}
#define CEN_SIZED(type) (cen_sized_<type>())
#else
#define CEN_SIZED(type) ((type){.size = sizeof(type)})
#endif

/* Internal part of CEN_POOL_OPTIONS and the other options macros: an expression; in C, a compound literal. It can
 * initialise a variable or be assigned to one. In C, its address may also be passed directly:
 * `cen_owner_new(&CEN_OWNER_OPTIONS(.name = "jobs"), ...)`. */
#ifdef __cplusplus
#define CEN_OPTIONS_(type, ...) (type{.size = sizeof(type), __VA_ARGS__})
#else
#define CEN_OPTIONS_(type, ...) ((type){.size = sizeof(type), __VA_ARGS__})
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The largest `size` that is accepted. No struct in cenote is larger. */
#define CEN_SIZED_MAX 8192

/* ---- For drivers that have their own options --------------------------- */

/* Copy the caller's struct `given` into `out`, a struct of `known` bytes, and zero the fields that the caller's struct
 * does not contain. A field that lies only partly within `size` is not copied. Afterwards, out->size is `known`. The
 * error text begins with `what`, for example "cen_pq: options".
 * Returns:
 *   OK       *out is filled in
 *   INVALID  given is NULL, its size is not valid, or unknown bytes in it are not zero; *out is not written
 */
CEN_API cen_status cen_sized_read(void *out, size_t known, const void *given, const char *what, cen_error *error);

/* Check the caller's struct `given` before a call that will write to it.
 * Returns:
 *   OK       the struct can be written
 *   INVALID  as cen_sized_read
 */
CEN_API cen_status cen_sized_check(const void *given, size_t known, const char *what, cen_error *error);

/* Copy `from`, a struct of `known` bytes, into the caller's struct `given`, which cen_sized_check has accepted. Writes
 * no byte beyond its size, and does not change `size` itself. */
CEN_API void cen_sized_write(void *given, const void *from, size_t known);

#ifdef __cplusplus
}
#endif
#endif
