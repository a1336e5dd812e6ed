/* SPDX-License-Identifier: MIT */
/*
 * A pool of buffers: four are allocated at the start, and eight threads read eight thousand messages into them. Nothing
 * is allocated after that: a thread that finds all four in use waits for one.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/cenote.h>

enum { BUFFERS = 4, THREADS = 8, MESSAGES = 1000, BYTES = 64 * 1024 };

static cen_pool *buffers;
static atomic_long bytes_read, failures;

static cen_status open_buffer(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    return (*out = malloc(BYTES)) ? CEN_OK : CEN_NO_MEMORY;
}

static void close_buffer(void *argument, void *buffer)
{
    (void)argument;
    free(buffer);
}

/* Stands for a read from a socket: fill the buffer and return the length. */
static size_t receive(char *buffer, int thread, int message)
{
    size_t length = (size_t)(message * 61 % BYTES) + 1;
    memset(buffer, 'a' + thread, length);
    return length;
}

static bool is_whole(const char *buffer, size_t length, char letter)
{
    for (size_t i = 0; i < length; i++)
        if (buffer[i] != letter) return false;
    return true;
}

static void *read_messages(void *number)
{
    int self = (int)(intptr_t)number;
    for (int i = 0; i < MESSAGES; i++) {
        cen_error error;
        CEN_WITH (buffers, cen_in_s(10), char *, buffer, &error) {
            size_t length = receive(buffer, self, i);
            if (is_whole(buffer, length, (char)('a' + self))) bytes_read += (long)length;
            else failures++; /* another thread wrote into it */
        } else {
            puts(error.text);
            failures++;
        }
    }
    return NULL;
}

int main(void)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = open_buffer, .close = close_buffer};
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "buffers", .driver = {&calls, NULL}, .max = BUFFERS, .eager = true);
    cen_error error;
    if (cen_pool_new(&options, &buffers, &error) != CEN_OK) {
        puts(error.text);
        return 1;
    }

    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, read_messages, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);

    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(buffers, &s);
    printf("%d threads read %d messages, %.1f MiB, through %u buffers of %d KiB.\n", THREADS, THREADS * MESSAGES,
           (double)bytes_read / (1 << 20), s.idle, BYTES / 1024);
    printf("%" PRIu64 " takes had to wait, %.2f ms at most; %" PRIu64 " buffers were allocated in all.\n", s.waited,
           (double)s.wait_longest_ns / 1e6, s.opened);
    bool right = failures == 0 && s.opened == BUFFERS && s.idle == BUFFERS;
    cen_pool_free(buffers);
    return right ? 0 : 1;
}
