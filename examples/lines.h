/* SPDX-License-Identifier: MIT */
/*
 * A line protocol, its client and its server, for own_driver. Each line gets a response line, "ok ..." or "no ...".
 *
 *     hello NAME PASSWORD   must be the first           add A B     the sum
 *     ping                                              begin, set TEXT, get, commit, rollback
 *     sleep MS              responds after that time    who         the connection's number
 *     kill NUMBER           ends that connection        count       connections of users other than admin
 *
 * The server is a process with a thread per connection. It ends with the process that started it.
 */
#ifndef EXAMPLES_LINES_H
#define EXAMPLES_LINES_H

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The client: stands for a third-party library -------------------------------------------------- */

typedef struct line {
    int fd;
    bool is_broken, in_transaction; /* as far as the responses tell */
} line;

/* Set the timeout of each wait of the calls below, including connects; 0: none. */
static inline void line_limit(line *l, int ms)
{
    struct timeval limit = {ms / 1000, ms % 1000 * 1000};
    setsockopt(l->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/* Connect. Returns false with errno. */
static inline bool line_connect(line *l, uint16_t port, int ms)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *l = (line){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    line_limit(l, ms);
    return l->fd >= 0 && connect(l->fd, (struct sockaddr *)&address, sizeof address) == 0;
}

/* Send a line and wait for its response. Returns true if it begins with "ok". False with an empty `answer`: errno has
 * the error, 0 if the server hung up. */
static inline bool line_ask(line *l, const char *question, char *answer, size_t room)
{
    char text[120];
    size_t size = (size_t)snprintf(text, sizeof text, "%s\n", question), have = 0;
    errno = 0;
    l->is_broken |= send(l->fd, text, size, MSG_NOSIGNAL) != (ssize_t)size;
    while (!l->is_broken && (have == 0 || answer[have - 1] != '\n') && have + 1 < room) {
        ssize_t got = recv(l->fd, answer + have, room - 1 - have, 0);
        if (got <= 0) l->is_broken = true; /* gone or late: a late response would be taken for the next one */
        else have += (size_t)got;
    }
    answer[l->is_broken || have == 0 ? 0 : have - 1] = 0;
    bool is_ok = !l->is_broken && strncmp(answer, "ok", 2) == 0;
    if (is_ok && strcmp(question, "begin") == 0) l->in_transaction = true;
    if (is_ok && (strcmp(question, "commit") == 0 || strcmp(question, "rollback") == 0)) l->in_transaction = false;
    return is_ok;
}

/* ---- The server ----------------------------------------------------------------------------------------- */

enum { LINES_MOST = 64 };

static struct lines {
    pthread_mutex_t lock;
    struct visitor {
        int fd, number; /* 0: free */
        bool is_admin;
        char value[40], kept[40]; /* the current value, and the one when the transaction began */
        bool in_transaction;
    } visitors[LINES_MOST];
    int last_number, most; /* the limit for users other than admin */
} lines = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline int lines_count(void)
{
    int count = 0;
    for (int i = 0; i < LINES_MOST; i++) count += lines.visitors[i].number && !lines.visitors[i].is_admin;
    return count;
}

static inline bool lines_kill(int number)
{
    for (int i = 0; i < LINES_MOST; i++) {
        if (lines.visitors[i].number != number) continue;
        shutdown(lines.visitors[i].fd, SHUT_RDWR);
        return true;
    }
    return false;
}

/* Under the lock. */
static inline void lines_answer(struct visitor *v, const char *question, char *out, size_t room)
{
    int a, b;
    if (strcmp(question, "ping") == 0) snprintf(out, room, "ok");
    else if (sscanf(question, "add %d %d", &a, &b) == 2) snprintf(out, room, "ok %d", a + b);
    else if (strcmp(question, "who") == 0) snprintf(out, room, "ok %d", v->number);
    else if (strcmp(question, "count") == 0) snprintf(out, room, "ok %d", lines_count());
    else if (sscanf(question, "kill %d", &a) == 1) snprintf(out, room, lines_kill(a) ? "ok" : "no such connection");
    else if (sscanf(question, "set %39s", v->value) == 1) snprintf(out, room, "ok");
    else if (strcmp(question, "get") == 0) snprintf(out, room, "ok %s", v->value);
    else if (strcmp(question, "begin") == 0 && !v->in_transaction) {
        memcpy(v->kept, v->value, sizeof v->kept);
        v->in_transaction = true;
        snprintf(out, room, "ok");
    } else if (strcmp(question, "commit") == 0 || strcmp(question, "rollback") == 0) {
        if (v->in_transaction && *question == 'r') memcpy(v->value, v->kept, sizeof v->value);
        v->in_transaction = false;
        snprintf(out, room, "ok");
    } else {
        snprintf(out, room, "no such thing");
    }
}

/* Handle the first line. Returns false if the client was refused. */
static inline bool lines_greet(struct visitor *v, const char *question, char *out, size_t room)
{
    bool is_admin = strcmp(question, "hello admin commander") == 0;
    bool is_let_in = is_admin || strcmp(question, "hello tester secret") == 0;
    v->is_admin = true; /* does not count until it is admitted */
    if (is_let_in && !is_admin && lines_count() >= lines.most) snprintf(out, room, "no room");
    else if (is_let_in) snprintf(out, room, "ok");
    else snprintf(out, room, "no, that is not the password");
    is_let_in = strcmp(out, "ok") == 0;
    v->is_admin = is_admin || !is_let_in;
    return is_let_in;
}

static inline void *lines_serve(void *argument)
{
    struct visitor *v = argument;
    FILE *in = fdopen(dup(v->fd), "r");
    char question[200], answer[200];
    bool is_in = false;
    while (in && fgets(question, sizeof question, in)) {
        int ms;
        question[strcspn(question, "\n")] = 0;
        struct pollfd gone = {.fd = v->fd, .events = POLLIN};
        /* the client has gone, or sends too early */
        if (is_in && sscanf(question, "sleep %d", &ms) == 1 && poll(&gone, 1, ms) != 0) break;
        pthread_mutex_lock(&lines.lock);
        bool was_in = is_in;
        if (!is_in) is_in = lines_greet(v, question, answer, sizeof answer - 1);
        else if (strncmp(question, "sleep ", 6) == 0) snprintf(answer, sizeof answer, "ok");
        else lines_answer(v, question, answer, sizeof answer - 1);
        pthread_mutex_unlock(&lines.lock);
        strcat(answer, "\n");
        if (send(v->fd, answer, strlen(answer), MSG_NOSIGNAL) < 0 || (!is_in && !was_in)) break;
    }
    if (in) fclose(in);
    pthread_mutex_lock(&lines.lock);
    close(v->fd);
    *v = (struct visitor){.fd = -1};
    pthread_mutex_unlock(&lines.lock);
    return NULL;
}

static inline void lines_accept(int listener)
{
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        pthread_t thread;
        pthread_mutex_lock(&lines.lock);
        struct visitor *v = lines.visitors;
        while (v < lines.visitors + LINES_MOST && v->number) v++;
        if (fd >= 0 && v < lines.visitors + LINES_MOST) {
            *v = (struct visitor){.fd = fd, .number = ++lines.last_number, .is_admin = true};
            if (pthread_create(&thread, NULL, lines_serve, v) == 0) pthread_detach(thread);
        } else if (fd >= 0) {
            close(fd);
        }
        pthread_mutex_unlock(&lines.lock);
    }
}

/* Start the server. Returns its process or -1; *port: its port. It admits `most` clients at a time, and any number of
 * administrators. */
static inline pid_t lines_start(int most, uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 64) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        return -1;
    *port = ntohs(address.sin_port);
    pid_t parent = getpid(), process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(0);
        lines.most = most;
        lines_accept(listener);
    }
    close(listener);
    return process;
}

static inline void lines_stop(pid_t process)
{
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

#endif
