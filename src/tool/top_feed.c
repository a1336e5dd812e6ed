/* SPDX-License-Identifier: MIT */
#include "tool/top_feed.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "tool/command.h"
#include "tool/model.h"

enum { EVENTS_MAX = 2000 };
#define HISTORY_NS (5 * SECOND_NS) /* between history requests: a response is large and gains a sample every 2.5 s */

struct feed {
    /* set before the thread starts */
    client *client;
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    bool stop, hurry; /* hurry: poll again at once */
    int64_t interval_ns;
    bool full; /* the box has a look */
    feed_look box;
    bool wishes;
    uint64_t number;
    char action[32];
    int64_t value;
    /* the thread's own */
    uint64_t next_events;
    json_t *process; /* the last one seen */
    double cpu_seconds;
    int64_t cpu_at, history_at;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

void feed_look_free(feed_look *look)
{
    json_decref(look->process);
    json_decref(look->components);
    json_decref(look->history);
    json_decref(look->events);
    memset(look, 0, sizeof *look);
}

/* ---- One look ----------------------------------------------------------------------------- */

static cen_status read_events(client *peer, uint64_t *next, feed_look *out)
{
    char path[96];
    json_t *answer;
    snprintf(path, sizeof path, "/api/events?after=%llu&limit=%d", (unsigned long long)*next, EVENTS_MAX / 2);
    cen_status status = client_get(peer, path, &answer, &out->error);
    if (status != CEN_OK) return status;
    json_t *events = json_object_get(answer, "events");
    if (json_is_array(events)) json_array_extend(out->events, events);
    out->missed = (uint64_t)model_number(answer, "missed");
    if (json_is_integer(json_object_get(answer, "next"))) *next = (uint64_t)model_number(answer, "next");
    json_decref(answer);
    return CEN_OK;
}

static cen_status ask_all(client *peer, uint64_t *next, feed_look *out)
{
    cen_status status = client_greet(peer, &out->process, &out->error);
    if (status == CEN_OK) status = client_get(peer, "/api/components?parts=1", &out->components, &out->error);
    if (status == CEN_OK) status = read_events(peer, next, out);
    return status;
}

cen_status feed_look_once(client *peer, uint64_t *next, feed_look *out)
{
    memset(out, 0, sizeof *out);
    out->cpu = -1;
    out->events = json_array();
    cen_status status = out->events ? ask_all(peer, next, out)
                                    : address_fail(&out->error, CEN_NO_MEMORY, "Out of memory for a response.");
    if (status == CEN_OK) return status;
    json_decref(out->process);
    json_decref(out->components);
    out->process = out->components = NULL;
    return status;
}

/* Return the processor seconds used by a process of this machine; below 0: unknown. */
static double cpu_of(long pid)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = 0;
    char *after = strrchr(text, ')'); /* the name may contain spaces and brackets */
    if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return -1;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double measure_cpu(feed *self)
{
    double seconds = cpu_of(client_address(self->client)->pid), share = -1;
    int64_t now = now_ns();
    if (seconds >= 0 && self->cpu_seconds >= 0 && self->cpu_at && now > self->cpu_at)
        share = (seconds - self->cpu_seconds) * (double)SECOND_NS / (double)(now - self->cpu_at);
    self->cpu_seconds = seconds;
    self->cpu_at = now;
    return share;
}

/* The start time is computed from the current time in each response, so it varies slightly. */
bool feed_is_same(json_t *process, json_t *other)
{
    int64_t apart = model_number(process, "started_ns") - model_number(other, "started_ns");
    return model_number(process, "pid") == model_number(other, "pid") && apart > -5 * SECOND_NS &&
           apart < 5 * SECOND_NS;
}

/* A process of an earlier version has no history. */
static void ask_history(feed *self, feed_look *out)
{
    int64_t now = now_ns();
    cen_error ignored;
    if (self->history_at && now - self->history_at < HISTORY_NS) return;
    if (client_get(self->client, "/api/history", &out->history, &ignored) != CEN_OK) out->history = NULL;
    self->history_at = now;
}

static void look(feed *self, feed_look *out)
{
    if (feed_look_once(self->client, &self->next_events, out) != CEN_OK) return;
    if (self->process && !feed_is_same(self->process, out->process)) { /* another process, with its own events */
        feed_look_free(out);
        self->next_events = 0;
        self->cpu_at = self->history_at = 0;
        if (feed_look_once(self->client, &self->next_events, out) != CEN_OK) return;
    }
    json_decref(self->process);
    self->process = json_deep_copy(out->process);
    out->cpu = measure_cpu(self);
    ask_history(self, out);
}

/* ---- The box --------------------------------------------------------------------------------- */

/* Put a look into the box. It replaces one that was not taken, except for its events and the result of an action. Under
 * the lock. */
static void put(feed *self, feed_look *look)
{
    if (self->full) {
        json_array_extend(self->box.events, look->events);
        while (json_array_size(self->box.events) > EVENTS_MAX) json_array_remove(self->box.events, 0);
        json_t *events = json_incref(self->box.events);
        json_decref(look->events);
        look->events = events;
        look->missed += self->box.missed;
        if (!look->history) look->history = json_incref(self->box.history);
        if (self->box.told && !look->told) {
            look->told = true;
            look->answer = self->box.answer;
        }
        feed_look_free(&self->box);
    }
    self->box = *look;
    self->full = true;
    uint64_t one = 1;
    if (write(self->fd, &one, sizeof one) < 0) return; /* it is readable already */
}

bool feed_take(feed *self, feed_look *out)
{
    uint64_t count;
    pthread_mutex_lock(&self->lock);
    bool full = self->full;
    if (full) *out = self->box;
    if (full) memset(&self->box, 0, sizeof self->box);
    self->full = false;
    if (read(self->fd, &count, sizeof count) < 0) count = 0; /* nothing was written */
    pthread_mutex_unlock(&self->lock);
    return full;
}

/* ---- The thread --------------------------------------------------------------------------------- */

/* Carry out the requested action. Under the lock, which is released during the request. */
static void carry_out(feed *self, feed_look *out)
{
    char action[sizeof self->action];
    uint64_t number = self->number;
    int64_t value = self->value;
    snprintf(action, sizeof action, "%s", self->action);
    pthread_mutex_unlock(&self->lock);
    cen_error answer = {.status = CEN_OK};
    cen_status status = client_tell(self->client, number, action, value, &answer);
    answer.status = status;
    pthread_mutex_lock(&self->lock);
    out->told = true;
    out->answer = answer;
    self->wishes = false;
}

static void await_next(feed *self)
{
    int64_t until = now_ns() + self->interval_ns;
    while (!self->stop && !self->wishes && !self->hurry) {
        struct timespec at = {.tv_sec = (time_t)(until / SECOND_NS), .tv_nsec = (long)(until % SECOND_NS)};
        if (pthread_cond_timedwait(&self->changed, &self->lock, &at) != 0) return;
    }
    self->hurry = false;
}

static void *work(void *argument)
{
    feed *self = argument;
    pthread_mutex_lock(&self->lock);
    while (!self->stop) {
        feed_look answer = {.told = false}, seen;
        if (self->wishes) carry_out(self, &answer);
        pthread_mutex_unlock(&self->lock);
        look(self, &seen);
        pthread_mutex_lock(&self->lock);
        seen.told = answer.told;
        seen.answer = answer.answer;
        put(self, &seen);
        await_next(self);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* Signals are handled by the screen's thread. */
static bool start_thread(feed *self)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&self->thread, NULL, work, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

feed *feed_start(client *peer, int64_t interval_ns)
{
    pthread_condattr_t monotonic;
    feed *self = calloc(1, sizeof *self);
    if (!self) goto undo_client;
    self->client = peer;
    self->interval_ns = interval_ns;
    self->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self->fd < 0) goto undo_memory;
    pthread_mutex_init(&self->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&self->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (start_thread(self)) return self;
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    close(self->fd);
undo_memory:
    free(self);
undo_client:
    client_close(peer);
    return NULL;
}

void feed_stop(feed *self)
{
    if (!self) return;
    pthread_mutex_lock(&self->lock);
    self->stop = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    feed_look_free(&self->box);
    json_decref(self->process);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    close(self->fd);
    client_close(self->client);
    free(self);
}

int feed_fd(const feed *self)
{
    return self->fd;
}

void feed_set_interval(feed *self, int64_t interval_ns)
{
    pthread_mutex_lock(&self->lock);
    self->interval_ns = interval_ns;
    self->hurry = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

bool feed_tell(feed *self, uint64_t number, const char *action, int64_t value)
{
    pthread_mutex_lock(&self->lock);
    bool free_now = !self->wishes;
    if (free_now) {
        self->wishes = true;
        self->number = number;
        self->value = value;
        snprintf(self->action, sizeof self->action, "%s", action);
        pthread_cond_signal(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return free_now;
}
