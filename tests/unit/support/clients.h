/* SPDX-License-Identifier: MIT */
/* The servers' own clients, as commands: what they print, and how they end. */
#ifndef TESTS_UNIT_SUPPORT_CLIENTS_H
#define TESTS_UNIT_SUPPORT_CLIENTS_H

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/servers.h"
#include "support/test.h"

static const server_kind all_kinds[]
    __attribute__((unused)) = {SERVER_POSTGRESQL, SERVER_MARIADB, SERVER_REDIS, SERVER_NGINX};

typedef struct outcome {
    int status;      /* as from waitpid */
    char text[8192]; /* both outputs, as much of them as there is room for */
} outcome;

/* Runs `body` in a child and hears what it prints; the child's status is 0 when it returns. */
__attribute__((unused)) static outcome hear(void (*body)(void *), void *argument)
{
    outcome heard = {0};
    int ends[2];
    size_t used = 0;
    expect(pipe(ends) == 0);
    fflush(stdout);
    pid_t child = fork();
    expect(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body(argument);
        exit(0);
    }
    close(ends[1]);
    char block[512];
    for (ssize_t size; (size = read(ends[0], block, sizeof block)) > 0;)
        for (ssize_t i = 0; i < size; i++)
            if (used < sizeof heard.text - 1) heard.text[used++] = block[i];
    close(ends[0]);
    expect(waitpid(child, &heard.status, 0) == child);
    return heard;
}

__attribute__((unused)) static void execute(void *arguments)
{
    char *const *words = arguments;
    execvp(words[0], words);
    printf("cannot execute %s\n", words[0]);
    exit(127);
}

#define COMMAND(...) hear(execute, (const char *[]){__VA_ARGS__, NULL})

__attribute__((unused)) static server_kind kind_of(const server *at)
{
    for (size_t i = 0; i < SERVER_KINDS; i++) {
        const char *name = server_name(all_kinds[i]);
        if (strncmp(server_url(at), name, strlen(name)) == 0) return all_kinds[i];
    }
    return SERVER_NGINX;
}

/* One statement, or one file of nginx, as somebody with that password. */
__attribute__((unused)) static outcome query_as(const server *at, const char *password, const char *text)
{
    char url[128], port[16], word[64];
    snprintf(port, sizeof port, "%u", server_port(at));
    switch (kind_of(at)) {
    case SERVER_POSTGRESQL:
        snprintf(url, sizeof url, "postgresql://tester:%s@127.0.0.1:%s/test", password, port);
        return COMMAND("psql", "-X", "-q", "-A", "-t", "-w", url, "-c", text);
    case SERVER_MARIADB:
        snprintf(word, sizeof word, "-p%s", password);
        return COMMAND("mariadb", "--no-defaults", "-N", "-h127.0.0.1", "-P", port, "-utester", word, "test", "-e",
                       text);
    case SERVER_REDIS:
        setenv("REDISCLI_AUTH", password, 1);
        snprintf(url, sizeof url, "exec redis-cli -e -p %s %s", port, text);
        return COMMAND("sh", "-c", url);
    case SERVER_NGINX: break;
    }
    snprintf(url, sizeof url, "%s%s", server_http1_url(at), text);
    return COMMAND("curl", "-sS", "-f", url);
}

__attribute__((unused)) static outcome query(const server *at, const char *text)
{
    return query_as(at, "secret", text);
}

/* Expects that the statement is carried out and prints just this line ("": nothing). */
#define expect_query(at, statement, line) \
    do { \
        outcome heard_ = query(at, statement); \
        if (heard_.status != 0) test_fail(__FILE__, __LINE__, "%s: %s", statement, heard_.text); \
        heard_.text[strcspn(heard_.text, "\n")] = 0; \
        expect_text(heard_.text, line); \
    } while (0)

#define expect_has(text, part) \
    do { \
        if (!strstr(text, part)) test_fail(__FILE__, __LINE__, "there is no \"%s\" in: %s", part, text); \
    } while (0)

#endif
