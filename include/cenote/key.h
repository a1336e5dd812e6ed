/* SPDX-License-Identifier: MIT */
/*
 * Keys: a string of bytes, or a 64-bit number. libcenote-route.
 *
 *     cen_registry_register(registry, cen_key_text("orders"), value, NULL, NULL, &error);
 *     cen_registry_lookup(registry, cen_key_number(42), &entry);
 *
 * A key is passed by value and points to the caller's bytes. A call that keeps the key copies the bytes, so they need
 * not outlive the call. A number and a string are never the same key, whatever their bytes.
 *
 * Threads: nothing here is shared.
 */
#ifndef CENOTE_KEY_H
#define CENOTE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum length of a string key, in bytes. Calls that are passed a longer key fail with INVALID. */
#define CEN_KEY_MAX 65536

/* A key, passed by value. Make one with cen_key_number, cen_key_bytes or cen_key_text. */
typedef struct cen_key {
    const void *bytes; /* NULL: the key is a number */
    uint64_t number;   /* the number, or the number of bytes */
} cen_key;

/* Return a number as a key. */
static inline cen_key cen_key_number(uint64_t number)
{
    cen_key key;
    key.bytes = NULL;
    key.number = number;
    return key;
}

/* Return `size` bytes as a key. A size of 0 is allowed. Calls that are passed a key made from NULL and a size other
 * than 0 fail with INVALID. */
static inline cen_key cen_key_bytes(const void *bytes, size_t size)
{
    cen_key key;
    key.bytes = bytes ? bytes : "";
    key.number = bytes || size == 0 ? (uint64_t)size : UINT64_MAX;
    return key;
}

/* Return the bytes of a text as a key, without the terminating zero. Calls that are passed a key made from NULL fail
 * with INVALID. */
static inline cen_key cen_key_text(const char *text)
{
    return cen_key_bytes(text, text ? strlen(text) : SIZE_MAX);
}

/* Return true if the key is a number. */
static inline bool cen_key_is_number(cen_key key)
{
    return !key.bytes;
}

/* Return true if the two keys are equal. */
static inline bool cen_key_same(cen_key a, cen_key b)
{
    if (a.number != b.number || !a.bytes != !b.bytes) return false;
    return !a.bytes || a.number > CEN_KEY_MAX || memcmp(a.bytes, b.bytes, (size_t)a.number) == 0;
}

#ifdef __cplusplus
}
#endif
#endif
