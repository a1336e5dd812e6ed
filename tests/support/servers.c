/* SPDX-License-Identifier: MIT */
/* The owner's side: makes a guardian, and asks it for what is to be done. */
#include "support/servers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/servers/guardian.h"
#include "support/test.h"

struct server {
    const recipe *recipe;
    uint16_t ports[POST_PORTS];
    char directory[POST_PATH], url[96], admin_url[96], http1_url[96];
    pid_t owner, guardian;
    int lifeline;
    server *next;
};

/* Those of this process. In a child that it forks they are still named here, without their lifelines. */
static server *servers;

const char *server_name(server_kind kind)
{
    return recipe_of(kind)->name;
}

const char *server_url(const server *self)
{
    return self->url;
}

const char *server_admin_url(const server *self)
{
    return self->admin_url;
}

const char *server_http1_url(const server *self)
{
    return self->http1_url;
}

uint16_t server_port(const server *self)
{
    return self->ports[0];
}

const char *server_directory(const server *self)
{
    return self->directory;
}

bool server_answers(const server *self)
{
    return self->recipe->answers(self->ports);
}

/* ---- Requests ----------------------------------------------------------------------------------------------- */

/* Returns the size of the reply, 0 if there is no guardian any more. */
static size_t ask(const server *self, post_command wish, const char *text, char *reply, size_t room)
{
    char request[POST_REQUEST];
    struct sockaddr_un address;
    ssize_t size = -1;
    int length = snprintf(request, sizeof request, "%c%s", wish, text);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    guardian_address(self->directory, &address);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        send(fd, request, (size_t)length, MSG_NOSIGNAL) == length) {
        do size = recv(fd, reply, room - 1, 0);
        while (size < 0 && errno == EINTR);
    }
    if (fd >= 0) close(fd);
    if (size < 0) size = 0;
    reply[size] = 0;
    return (size_t)size;
}

/* Has it done, or fails the test; returns the id of the server's first process. */
static pid_t must(const server *self, post_command wish, const char *text, const char *what)
{
    char reply[POST_WHY + 2];
    const char *name = self->recipe->title;
    if (!ask(self, wish, text, reply, sizeof reply))
        test_fail(__FILE__, __LINE__, "cannot %s %s: it is stopped", what, name);
    if (reply[0] == '+') return (pid_t)strtol(reply + 1, NULL, 10);
    printf("     cannot %s: %s\n", what, reply + 1);
    test_fail(__FILE__, __LINE__, "cannot %s %s: %.*s", what, name, (int)strcspn(reply + 1, ";\n"), reply + 1);
}

pid_t server_pid(const server *self)
{
    return must(self, COMMAND_PID, "", "look at");
}

void server_kill(server *self)
{
    must(self, COMMAND_KILL, "", "kill");
}

void server_shutdown(server *self)
{
    must(self, COMMAND_SHUTDOWN, "", "shut down");
}

void server_restart(server *self)
{
    must(self, COMMAND_RESTART, "", "restart");
}

void server_pause(server *self)
{
    must(self, COMMAND_PAUSE, "", "pause");
}

void server_resume(server *self)
{
    must(self, COMMAND_RESUME, "", "resume");
}

void server_reload(server *self)
{
    must(self, COMMAND_RELOAD, "", "reload");
}

/* ---- Settings ----------------------------------------------------------------------------------------------- */

static bool join(const char *const *settings, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (; settings && *settings; settings++) {
        if (strchr(*settings, '\n')) return false;
        int more = snprintf(text + used, room - used, "%s\n", *settings);
        if (more < 0 || (size_t)more >= room - used) return false;
        used += (size_t)more;
    }
    return true;
}

void server_configure(server *self, const char *const *settings)
{
    char text[POST_SETTINGS - 1];
    if (!join(settings, text, sizeof text)) test_fail(__FILE__, __LINE__, "the settings are too long");
    must(self, COMMAND_CONFIGURE, text, "configure");
}

/* ---- Start and end ------------------------------------------------------------------------------------------ */

static void drop_lifelines(void)
{
    for (server *each = servers; each; each = each->next) {
        if (each->lifeline >= 0) close(each->lifeline);
        each->lifeline = -1;
    }
}

static void stop_rest(void)
{
    while (servers && servers->owner == getpid()) server_stop(servers);
}

/* Forks the guardian and hears from it whether the server is there. */
static bool give_birth(server *self, server_kind kind, const char *settings, birth *out)
{
    int line[2], cradle[2];
    if (pipe2(line, O_CLOEXEC) != 0) return false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, cradle) != 0) {
        close(line[0]);
        close(line[1]);
        return false;
    }
    self->guardian = fork();
    if (self->guardian == 0) {
        close(line[1]);
        close(cradle[0]);
        guardian_live(kind, settings, line[0], cradle[1]);
    }
    close(line[0]);
    close(cradle[1]);
    self->lifeline = line[1];
    ssize_t size;
    do size = self->guardian > 0 ? recv(cradle[0], out, sizeof *out, 0) : 0;
    while (size < 0 && errno == EINTR);
    close(cradle[0]);
    return size == sizeof *out;
}

static void finish(server *self)
{
    if (self->lifeline >= 0) close(self->lifeline);
    if (self->guardian > 0 && self->owner == getpid()) waitpid(self->guardian, NULL, 0);
    free(self);
}

static void set_up(server *self, const birth *word)
{
    unsigned first = word->ports[0], last = word->ports[self->recipe->ports - 1];
    memcpy(self->ports, word->ports, sizeof self->ports);
    memcpy(self->directory, word->directory, sizeof self->directory);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(self->url, sizeof self->url, self->recipe->url, first);
    snprintf(self->admin_url, sizeof self->admin_url, self->recipe->admin_url, last);
#pragma GCC diagnostic pop
    if (self->recipe->ports > 1) snprintf(self->http1_url, sizeof self->http1_url, "http://127.0.0.1:%u/", last);
    static bool prepared;
    if (!prepared) {
        pthread_atfork(NULL, NULL, drop_lifelines);
        atexit(stop_rest);
    }
    prepared = true;
    self->next = servers;
    servers = self;
}

server *server_try_start(server_kind kind, const char *const *settings, char *why, size_t room)
{
    char text[POST_SETTINGS - 1];
    birth word = {.ok = false, .why = "the guardian has gone"};
    server *self = calloc(1, sizeof *self);
    if (!self || !join(settings, text, sizeof text)) {
        snprintf(why, room, "the settings are too long");
        free(self);
        return NULL;
    }
    *self = (struct server){.recipe = recipe_of(kind), .owner = getpid(), .lifeline = -1};
    if (give_birth(self, kind, text, &word) && word.ok) {
        set_up(self, &word);
        return self;
    }
    snprintf(why, room, "%s", word.why);
    finish(self);
    return NULL;
}

server *server_start(server_kind kind, const char *const *settings)
{
    char why[POST_WHY];
    server *self = server_try_start(kind, settings, why, sizeof why);
    if (self) return self;
    printf("     %s\n", why);
    test_fail(__FILE__, __LINE__, "%s did not start: %.*s", recipe_of(kind)->title, (int)strcspn(why, ";\n"), why);
}

void server_stop(server *self)
{
    char reply[POST_WHY + 2];
    if (!self) return;
    ask(self, COMMAND_STOP, "", reply, sizeof reply);
    for (server **at = &servers; *at; at = &(*at)->next)
        if (*at == self) {
            *at = self->next;
            break;
        }
    finish(self);
}
