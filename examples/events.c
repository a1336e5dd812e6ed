/* SPDX-License-Identifier: MIT */
/*
 * The events of a process as lines of a log: a pool that is too small, a server that fails, and an event of the
 * program's own. The same events are in a file that survives a crash, and are read from it at the end. docs/events.md
 * explains them.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/events.h>

static atomic_int server_is_down, connections, logged, timeouts, kept;

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument;
    if (server_is_down) {
        error->code = 111;
        snprintf(error->text, sizeof error->text, "connection refused");
        return CEN_SYSTEM;
    }
    *out = (void *)(intptr_t)++connections;
    return CEN_OK;
}

static const cen_driver_calls calls = {.size = sizeof calls, .open = open_connection, .closes_nothing = true};

static void print(FILE *to, const cen_event *event)
{
    char when[16];
    struct tm parts;
    time_t seconds = (time_t)(event->time_ns / 1000000000);
    gmtime_r(&seconds, &parts);
    strftime(when, sizeof when, "%H:%M:%S", &parts);
    fprintf(to, "%s.%03d %-7s %-11s %s\n", when, (int)(event->time_ns / 1000000 % 1000),
            cen_event_level_name(event->level), event->what, event->text);
}

/* The log: called on its own thread, one event at a time. */
static void log_it(void *argument, const cen_event *event, uint64_t missed)
{
    if (missed) fprintf(argument, "... %llu more\n", (unsigned long long)missed);
    print(argument, event);
    if (event->kind == CEN_EVENT_TIMED_OUT) timeouts++;
    logged++;
}

static void count_it(void *argument, const cen_event *event)
{
    (void)argument, (void)event;
    kept++;
}

/* Two objects and three takes: the third one times out. */
static void use_the_pool(cen_pool *pool)
{
    cen_error error;
    cen_lease leases[2], third;
    for (int i = 0; i < 2; i++)
        if (cen_pool_take(pool, cen_in_ms(1000), &leases[i], &error) != CEN_OK) abort();
    if (cen_pool_take(pool, cen_in_ms(20), &third, &error) != CEN_TIMEOUT) abort();
    cen_pool_give(&leases[0]);
    server_is_down = 1;
    cen_pool_discard(&leases[1]); /* the connection broke, and no other can be opened */
    cen_pool_pause(pool, NULL);
    cen_pool_resume(pool, NULL);
}

int main(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/cenote-events-%ld", (long)getpid());
    cen_error error;
    if (cen_events_persist(path, &error) != CEN_OK ||
        cen_events_listen(CEN_LEVEL_DETAIL, log_it, stderr, &error) != CEN_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    cen_event_emit(CEN_LEVEL_NOTICE, "started", "The service has started.");
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = {&calls, NULL}, .max = 2);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    use_the_pool(pool);
    cen_pool_free(pool);
    cen_event_emit(CEN_LEVEL_NOTICE, "stopped", "The service has stopped.");

    /* Ends the log: all events have been logged when it returns. */
    cen_events_listen(CEN_LEVEL_DETAIL, NULL, NULL, NULL);
    /* As `cenote events FILE` does in another process, after a crash. */
    cen_status status = cen_events_read_file(path, count_it, NULL, &error);
    unlink(path);
    printf("%d events logged, %d in the file\n", (int)logged, (int)kept);
    return status == CEN_OK && timeouts == 1 && kept == logged ? 0 : 1;
}
