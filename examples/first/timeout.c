/* SPDX-License-Identifier: MIT */
/* A take that times out says who holds the object, since when and from which line.
 * cc timeout.c $(pkg-config --cflags --libs cenote) */
#include <cenote/cenote.h>
#include <stdio.h>

static cen_status open_number(void *number, void **out, cen_error *error)
{
    (void)error;
    *out = number;
    return CEN_OK;
}

int main(void)
{
    static int number = 7;
    static const cen_driver_calls calls = {.size = sizeof calls, .open = open_number, .closes_nothing = true};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "numbers", .driver = {&calls, &number}, .max = 1);
    cen_pool *pool;
    cen_lease first, second;
    cen_error error;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    if (cen_pool_take(pool, CEN_NOW, &first, &error) != CEN_OK) return puts(error.text), 1;
    if (cen_pool_take(pool, cen_in_ms(50), &second, &error) == CEN_TIMEOUT)
        printf("%s\ncause: %s\n", error.text, cen_cause_name(error.cause));
    cen_pool_give(&first);
    cen_pool_free(pool);
    return 0;
}
