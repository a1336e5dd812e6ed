/* SPDX-License-Identifier: MIT */
/* What stands behind the pools of the asynchronous benchmark: the objects they open, and the server; see serve.h. */
#include <pthread.h>
#include <time.h>

#include "serve.h"

/* ---- Objects ------------------------------------------------------------- */

static pthread_mutex_t shelf_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct serve_object *shelf; /* those that are not open */

void serve_shelve(struct serve_object *object)
{
    pthread_mutex_lock(&shelf_mutex);
    object->next = shelf;
    shelf = object;
    pthread_mutex_unlock(&shelf_mutex);
}

struct serve_object *serve_open(void)
{
    pthread_mutex_lock(&shelf_mutex);
    struct serve_object *object = shelf;
    if (object == NULL) bench_fail("more objects were opened than the pool may have");
    shelf = object->next;
    pthread_mutex_unlock(&shelf_mutex);
    object->next = NULL;
    object->lent = 0;
    return object;
}

void serve_close(struct serve_object *object)
{
    if (__atomic_load_n(&object->holder, __ATOMIC_RELAXED) != 0)
        bench_fail("an object was closed while a client held it");
    serve_shelve(object);
}

/* ---- The server ---------------------------------------------------------- */

static pthread_mutex_t server_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t server_bell;
static struct serve_errand *errands; /* by when they are due */

void serve_later(struct serve_errand *errand, int64_t ns)
{
    errand->due_ns = bench_now() + ns;
    pthread_mutex_lock(&server_mutex);
    struct serve_errand **place = &errands;
    while (*place != NULL && (*place)->due_ns <= errand->due_ns) place = &(*place)->next;
    errand->next = *place;
    *place = errand;
    if (errands == errand) pthread_cond_signal(&server_bell);
    pthread_mutex_unlock(&server_mutex);
}

static void *server_main(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&server_mutex);
    for (;;) {
        struct serve_errand *first = errands;
        if (first == NULL) {
            pthread_cond_wait(&server_bell, &server_mutex);
        } else if (first->due_ns > bench_now()) {
            struct timespec until = {first->due_ns / 1000000000, first->due_ns % 1000000000};
            pthread_cond_timedwait(&server_bell, &server_mutex, &until);
        } else {
            errands = first->next;
            pthread_mutex_unlock(&server_mutex);
            first->run(first);
            pthread_mutex_lock(&server_mutex);
        }
    }
    return NULL;
}

void serve_start_server(void)
{
    pthread_t thread;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server_bell, &attributes);
    if (pthread_create(&thread, NULL, server_main, NULL) != 0) bench_fail("cannot start a thread");
}
