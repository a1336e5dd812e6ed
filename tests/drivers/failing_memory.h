/* SPDX-License-Identifier: MIT */
/* Lets one allocation fail. The linker puts these in place of what the driver, the pool and the program call, by
 * -Wl,--wrap; the client library is a library of its own. */
#ifndef TESTS_DRIVERS_FAILING_MEMORY_H
#define TESTS_DRIVERS_FAILING_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_calloc(size_t count, size_t size);
void *__real_malloc(size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

static atomic_int left; /* the allocation that fails; 0: none */
static atomic_bool was_hit;

static bool has_failed(void)
{
    int now = left;
    while (now > 0 && !atomic_compare_exchange_weak(&left, &now, now - 1)) continue;
    if (now == 1) was_hit = true;
    return now == 1;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return has_failed() ? NULL : __real_calloc(count, size);
}

void *__wrap_malloc(size_t size)
{
    return has_failed() ? NULL : __real_malloc(size);
}

char *__wrap_strdup(const char *text)
{
    return has_failed() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return has_failed() ? NULL : __real_strndup(text, size);
}

#endif
