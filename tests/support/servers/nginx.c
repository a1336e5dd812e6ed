/* SPDX-License-Identifier: MIT */
/*
 * nginx: some files by HTTP/2 without TLS on the first port and by HTTP/1.1 on the second. It will not hear a
 * directive twice, so that what is written here gives way to a setting of the same name.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/servers/guardian.h"

static bool make_file(post *here, const char *name, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return post_fail(here, "out of memory");
    for (size_t i = 0; i < size; i++) text[i] = (char)('a' + i % 26);
    text[size] = 0;
    bool ok = post_write(here, name, "%s", text);
    free(text);
    return ok;
}

static bool make(post *here)
{
    return post_subdirectory(here, "data") && post_subdirectory(here, "temporary") &&
           post_write(here, "data/index.html", "cenote\n") && make_file(here, "data/1k", 1024) &&
           make_file(here, "data/64k", 64 * 1024) && make_file(here, "data/1m", 1024 * 1024);
}

static bool one_of(const char *const *names, const char *name, size_t length)
{
    for (; *names; names++)
        if (strlen(*names) == length && strncmp(*names, name, length) == 0) return true;
    return false;
}

static bool is_outermost(const char *name, size_t length)
{
    return one_of((const char *const[]){"worker_processes", "worker_rlimit_nofile", "worker_shutdown_timeout", NULL},
                  name, length);
}

static bool is_of_events(const char *name, size_t length)
{
    return one_of((const char *const[]){"worker_connections", "multi_accept", "accept_mutex", NULL}, name, length);
}

static bool is_of_http(const char *name, size_t length)
{
    return !is_outermost(name, length) && !is_of_events(name, length);
}

/* The settings of one block, and a default unless there is a setting for it. */
static bool block(const post *here, bool (*wanted)(const char *, size_t), const char *name, const char *value,
                  char *text)
{
    setting_form form = {.before = "", .between = " ", .after = ";\n", .wanted = wanted};
    if (!settings_write(here->settings, &form, text, 2 * POST_SETTINGS)) return false;
    size_t used = strlen(text);
    if (settings_have(here->settings, name)) return true;
    return snprintf(text + used, 2 * POST_SETTINGS - used, "%s %s;\n", name, value) < (int)(2 * POST_SETTINGS - used);
}

static bool write_settings(post *here)
{
    char outermost[2 * POST_SETTINGS], events[2 * POST_SETTINGS], http[2 * POST_SETTINGS];
    if (!block(here, is_outermost, "worker_processes", "1", outermost) ||
        !block(here, is_of_events, "worker_connections", "1024", events) ||
        !block(here, is_of_http, "access_log", "off", http))
        return post_fail(here, "there are too many settings");
    return post_write(here, "nginx.conf",
                      "daemon off;\n"
                      "pid nginx.pid;\n"
                      "error_log stderr notice;\n"
                      "%s"
                      "events {\n%s}\n"
                      "http {\n"
                      "client_body_temp_path temporary;\n"
                      "proxy_temp_path temporary;\n"
                      "fastcgi_temp_path temporary;\n"
                      "uwsgi_temp_path temporary;\n"
                      "scgi_temp_path temporary;\n"
                      "root data;\n"
                      "default_type text/plain;\n"
                      "%s"
                      "server {\n"
                      "listen 127.0.0.1:%u http2;\n"
                      "listen 127.0.0.1:%u;\n"
                      "location = /status { stub_status; }\n"
                      "}\n"
                      "}\n",
                      outermost, events, http, here->ports[0], here->ports[1]);
}

static void command_of(const post *here, const char **arguments, char *text, size_t room)
{
    snprintf(text, room, "%s/", here->directory);
    const char *words[] = {here->program, "-p", text, "-c", "nginx.conf", "-e", "stderr"};
    memcpy(arguments, words, sizeof words);
}

static bool answers(const uint16_t *ports)
{
    static const char request[] = "GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    char reply[256] = "";
    return port_ask(ports[1], request, sizeof request - 1, reply, sizeof reply - 1, 9) >= 9 &&
           memcmp(reply, "HTTP/1.1 ", 9) == 0;
}

const recipe recipe_nginx = {
    .name = "nginx",
    .title = "nginx",
    .program = "nginx",
    .ports = 2,
    .shutdown_signal = SIGTERM,
    .reloads = true,
    .make = make,
    .write = write_settings,
    .command = command_of,
    .answers = answers,
    .url = "http://127.0.0.1:%u/",
    .admin_url = "http://127.0.0.1:%u/status",
};
