/* SPDX-License-Identifier: MIT */
/* An object pool: at most four buffers, each used by one thread at a time.
 * cc buffers.c $(pkg-config --cflags --libs cenote) */
#include <cenote/cenote.h>
#include <stdio.h>
#include <stdlib.h>

static cen_status open_buffer(void *size, void **out, cen_error *error)
{
    (void)error;
    *out = malloc(*(size_t *)size);
    return *out ? CEN_OK : CEN_NO_MEMORY;
}

static void close_buffer(void *size, void *buffer)
{
    (void)size;
    free(buffer);
}

int main(void)
{
    static size_t size = 4096;
    static const cen_driver_calls calls = {.size = sizeof calls, .open = open_buffer, .close = close_buffer};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "buffers", .driver = {&calls, &size}, .max = 4);
    cen_pool *pool;
    cen_error error;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    CEN_WITH (pool, cen_in_ms(500), char *, buffer, &error) {
        snprintf(buffer, size, "a buffer of %zu bytes", size);
        puts(buffer);
    } else puts(error.text);
    cen_pool_free(pool);
    return 0;
}
