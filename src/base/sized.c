/* SPDX-License-Identifier: MIT */
/*
 * Sized structs: reading and writing a caller's struct of another version.
 *
 * A naive read copies as many bytes as this library's struct has. The struct of a caller that was compiled with an
 * older header is smaller: the read goes beyond its end, and a write of a stats struct overwrites the memory behind
 * it. Every access here is bounded by the caller's `size`.
 *
 * `size` is read with memcpy, because the type of the caller's struct is not known here.
 */
#include <cenote/sized.h>

#include <string.h>

#include "base/error.h"
#include "base/plant.h"

static size_t size_of(const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The offset of the first byte that is set at or after `from`, or `size`. */
static size_t first_set(const unsigned char *bytes, size_t from, size_t size)
{
    while (from < size && bytes[from] == 0) from++;
    return from;
}

cen_status cen_sized_check(const void *given, size_t known, const char *what, cen_error *error)
{
    if (!given) return ceni_error_set(error, CEN_INVALID, 0, "%s is NULL", what);
    size_t size = size_of(given);
    if (size == 0)
        return ceni_error_set(error, CEN_INVALID, 0, "%s.size is 0; initialise it with its macro or with CEN_SIZED",
                              what);
    if (size < sizeof size || size > CEN_SIZED_MAX)
        return ceni_error_set(
            error, CEN_INVALID, 0,
            "%s.size must be %zu to %d (got %zu, the library has %zu); initialise it with its macro or with CEN_SIZED",
            what, sizeof size, CEN_SIZED_MAX, size, known);
    size_t at = first_set(given, smaller(known, size), size);
    if (at < size && !ceni_planted(sized_ignores_the_tail))
        return ceni_error_set(
            error, CEN_INVALID, 0,
            "%s sets an unknown field at offset %zu (size %zu, known %zu); leave it zero or use a newer library", what,
            at, size, known);
    return CEN_OK;
}

/* A size that is not the sizeof of any version may cut a field in two. Half a pointer is worse than none, so only
 * whole words are read. */
cen_status cen_sized_read(void *out, size_t known, const void *given, const char *what, cen_error *error)
{
    cen_status status = cen_sized_check(given, known, what, error);
    if (status != CEN_OK) return status;
    size_t size = smaller(size_of(given), known);
    if (size < known) size -= size % sizeof(void *);
    if (ceni_planted(sized_reads_beyond)) size = known;
    memset(out, 0, known);
    memcpy(out, given, size);
    memcpy(out, &known, sizeof known);
    return CEN_OK;
}

void cen_sized_write(void *given, const void *from, size_t known)
{
    size_t size = smaller(size_of(given), known);
    if (ceni_planted(sized_writes_beyond)) size = known;
    memcpy((unsigned char *)given + sizeof size, (const unsigned char *)from + sizeof size, size - sizeof size);
}
