/* SPDX-License-Identifier: MIT */
#include "tool/stop.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/command.h"

enum { PATHS = 16, PATH_ROOM = 512 };

static atomic_bool asked;
static atomic_int signal_number;
static char paths[PATHS][PATH_ROOM];
static atomic_int path_count;

/* Only uses async-signal-safe functions: unlink, rmdir, _exit. */
static void remove_paths(int from, int count)
{
    while (count-- > from)
        if (unlink(paths[count]) != 0) rmdir(paths[count]);
}

void stop_leave(int status)
{
    remove_paths(0, atomic_load(&path_count));
    _exit(status);
}

static void on_signal(int number)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&signal_number, &none, number)) {
        atomic_store(&asked, true);
        return;
    }
    stop_leave(EXIT_SIGNAL + number);
}

void stop_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&action.sa_mask, numbers[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        /* nohup, and a shell that starts a background job, set them to ignored, and that is kept. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

/* ---- The reader of the output ---------------------------------------------------------------------------- */

/* poll always reports POLLERR for a pipe without a reader and POLLHUP for a socket without a peer. */
static void *watch_output(void *unused)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    int none = 0;
    (void)unused;
    while (poll(&out, 1, -1) < 0) continue;
    if (!(out.revents & (POLLERR | POLLHUP))) return NULL;
    if (atomic_compare_exchange_strong(&signal_number, &none, SIGPIPE)) atomic_store(&asked, true);
    return NULL;
}

void stop_watch_output(void)
{
    struct stat s;
    sigset_t all, before;
    pthread_t thread;
    if (fstat(STDOUT_FILENO, &s) != 0 || !(S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode))) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* Without the thread the failure is noticed when the report is written. */
    if (pthread_create(&thread, NULL, watch_output, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- Interface ------------------------------------------------------------------------------------------- */

const atomic_bool *stop_flag(void)
{
    return &asked;
}

int stop_status(int status)
{
    int number = atomic_load(&signal_number);
    return number ? EXIT_SIGNAL + number : status;
}

bool stop_remove_later(const char *path)
{
    int count = atomic_load(&path_count);
    size_t length = strlen(path);
    if (count == PATHS || length >= PATH_ROOM) return false;
    memcpy(paths[count], path, length + 1);
    atomic_store(&path_count, count + 1);
    return true;
}

int stop_mark(void)
{
    return atomic_load(&path_count);
}

void stop_remove_since(int mark)
{
    int count = atomic_load(&path_count);
    remove_paths(mark, count);
    if (count > mark) atomic_store(&path_count, mark);
}
