/* SPDX-License-Identifier: MIT */
/* A log of what happens in every pool of the process: opened, timed out, leaked, paused, ...
 * cc events.c $(pkg-config --cflags --libs cenote) */
#include <cenote/cenote.h>
#include <stdio.h>

static cen_status refuse(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)out;
    snprintf(error->text, sizeof error->text, "connection refused");
    return CEN_DRIVER;
}

static void log_it(void *argument, const cen_event *event, uint64_t missed) /* on a thread of its own */
{
    (void)argument, (void)missed;
    printf("%-7s %-14s %s\n", cen_event_level_name(event->level), event->what, event->text);
}

int main(void)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = refuse, .closes_nothing = true};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "shop", .driver = {&calls, NULL}, .max = 1);
    cen_pool *pool;
    cen_lease lease;
    cen_error error;
    if (cen_events_listen(CEN_LEVEL_DETAIL, log_it, NULL, &error) != CEN_OK) return puts(error.text), 1;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    if (cen_pool_take(pool, cen_in_ms(100), &lease, &error) == CEN_OK) return 1;
    cen_pool_pause(pool, NULL);
    cen_pool_close(pool, CEN_NOW, NULL, NULL);
    cen_pool_free(pool);
    return cen_events_listen(CEN_LEVEL_DETAIL, NULL, NULL, NULL) != CEN_OK; /* returns when all is logged */
}
