/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <curl/curl.h>

#include "drivers/waits.h"
#include "support/test.h"

enum { WORDS = 16 };

/* In the child, between fork and exec. */
static void become(uint16_t port, const char *const *words, int out, pid_t parent)
{
    char number[8];
    char *all[WORDS] = {(char *)(uintptr_t)WAIT_SERVER, (char *)(uintptr_t) "--port", number};
    snprintf(number, sizeof number, "%u", port);
    for (int i = 3; words && *words && i < WORDS - 1; i++) all[i] = (char *)(uintptr_t)*words++;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it has ended meanwhile */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(out, STDOUT_FILENO);
    execv(WAIT_SERVER, all);
    _exit(127);
}

waits waits_start(uint16_t port, const char *const *words)
{
    int out[2];
    expect(pipe(out) == 0);
    pid_t parent = getpid();
    waits server = {.pid = fork()};
    if (server.pid == 0) become(port, words, out[1], parent);
    close(out[1]);
    FILE *said = fdopen(out[0], "r");
    char line[128] = "";
    if (server.pid < 0 || !fgets(line, sizeof line, said) || strncmp(line, "listening on 127.0.0.1:", 23) != 0)
        test_fail(__FILE__, __LINE__, "%s does not listen: \"%s\"", WAIT_SERVER, line);
    server.port = (uint16_t)strtoul(line + 23, NULL, 10);
    fclose(said);
    return server;
}

static int end(waits *server, int signal)
{
    int status = -1;
    kill(server->pid, signal);
    expect(waitpid(server->pid, &status, 0) == server->pid);
    server->pid = 0;
    return status;
}

void waits_stop(waits *server)
{
    int status = end(server, SIGTERM);
    expect(WIFEXITED(status));
    expect_equal(WEXITSTATUS(status), 0);
}

void waits_kill(waits *server)
{
    end(server, SIGKILL);
}

struct room {
    char *bytes;
    size_t size, room;
};

static size_t keep(char *bytes, size_t size, size_t count, void *argument)
{
    struct room *room = argument;
    size_t more = size * count, fits = room->room - 1 - room->size;
    memcpy(room->bytes + room->size, bytes, more < fits ? more : fits);
    room->size += more < fits ? more : fits;
    room->bytes[room->size] = '\0';
    return more;
}

long waits_ask(uint16_t port, const char *user, const char *path, char *body, size_t size)
{
    char url[1200], none[1];
    struct room room = {body ? body : none, 0, body ? size : 1};
    long answer = 0;
    room.bytes[0] = '\0';
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port, path);
    CURL *curl = curl_easy_init();
    expect(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &room);
    if (user) curl_easy_setopt(curl, CURLOPT_USERPWD, user);
    if (curl_easy_perform(curl) == CURLE_OK) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
    curl_easy_cleanup(curl);
    return answer;
}

long waits_number(const char *reply, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = reply ? strstr(reply, key) : NULL;
    return found ? strtol(found + strlen(key), NULL, 10) : -1;
}
