/* SPDX-License-Identifier: MIT */
/* cenote page: the page of a process in a browser. */
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/client.h"
#include "tool/client_words.h"
#include "tool/command.h"
#include "tool/place.h"
#include "tool/relay.h"
#include "tool/stop.h"

typedef struct settings {
    client_options client;
    bool no_open;
    int64_t port;
} settings;

static const option_row rows[] = {
    {"no-open", 0, OPTION_FLAG, NULL, offsetof(settings, no_open), 0, 0, NULL,
     "print the address of the page and open no browser"},
    {"port", 0, OPTION_COUNT, "N", offsetof(settings, port), 0, 65535, NULL,
     "local port of the page; 0 picks a free port (0)"},
    WATCHING_ROWS(settings, client),
    {0},
};

/* ---- The browser --------------------------------------------------------------------------------- */

/* Write a file that redirects to the page. All users can read the arguments of a program, and the address contains the
 * token. So the browser is started with this file, which only this user can read. */
static bool write_way(const char *url, char *path, size_t room)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    const char *place = runtime && *runtime == '/' ? runtime : temporary && *temporary == '/' ? temporary : "/tmp";
    int length = snprintf(path, room, "%s/cenote-page-XXXXXX.html", place);
    if (length < 0 || (size_t)length >= room) return false;
    int file = mkstemps(path, (int)strlen(".html")); /* mode 0600 */
    if (file < 0) return false;
    stop_remove_later(path);
    FILE *out = fdopen(file, "w");
    if (!out) {
        close(file);
        return false;
    }
    fprintf(out,
            "<!doctype html>\n"
            "<meta charset=\"utf-8\">\n"
            "<meta name=\"referrer\" content=\"no-referrer\">\n"
            "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
            "<title>cenote</title>\n"
            "<a href=\"%s\">Open the page</a>\n",
            url, url);
    return fclose(out) == 0;
}

/* Returns 0 if no browser was started. */
static pid_t open_browser(const char *url)
{
    extern char **environ;
    char path[300], program[] = "xdg-open";
    char *words[] = {program, path, NULL};
    const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    posix_spawn_file_actions_t files;
    pid_t browser = 0;
    if (!(display && *display) && !(wayland && *wayland)) return 0;
    if (!write_way(url, path, sizeof path) || posix_spawn_file_actions_init(&files) != 0) return 0;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
    if (posix_spawnp(&browser, program, &files, NULL, words, environ) != 0) browser = 0;
    posix_spawn_file_actions_destroy(&files);
    return browser;
}

/* ---- The page ------------------------------------------------------------------------------------ */

enum { TOKEN_BYTES = 16, URL_ROOM = ADDRESS_TEXT + ADDRESS_TOKEN + 16 };

static bool draw_token(char token[2 * TOKEN_BYTES + 1])
{
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static int serve(const command *self, relay *r, long pid, pid_t browser)
{
    fprintf(stderr, "cenote page: Serving the page until Ctrl-C or until the process ends.\n");
    while (!stop_asked()) {
        relay_run(r, 200);
        if (browser > 0 && waitpid(browser, NULL, WNOHANG) != 0) browser = 0;
        if (pid && !place_is_alive(pid)) return command_fail(self, EXIT_UNREACHABLE, "Process %ld has ended.", pid);
    }
    return stop_status(EXIT_DONE);
}

static int show_by_relay(const command *self, const settings *s, const client *peer)
{
    char token[2 * TOKEN_BYTES + 1], url[URL_ROOM];
    const address *at = client_address(peer);
    cen_error error;
    relay *r;
    if (!draw_token(token)) return command_fail(self, EXIT_SYSTEM, "The system provides no random bytes for a token.");
    relay_options options = {
        .socket = at->socket, .port = (uint16_t)s->port, .tokens = {.ours = token, .theirs = client_token(peer)}};
    if (relay_open(&options, &r, &error) != CEN_OK)
        return command_fail(self, error.status == CEN_EXISTS ? EXIT_USAGE : EXIT_SYSTEM, "%s", error.text);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/?token=%s", relay_port(r), token);
    printf("%s\n", url);
    int status = command_flush(self, EXIT_DONE);
    if (status == EXIT_DONE) status = serve(self, r, at->pid, s->no_open ? 0 : open_browser(url));
    relay_close(r);
    return status;
}

/* The process serves the page itself: no relay is needed. */
static int show_its_own(const command *self, const settings *s, const client *peer)
{
    char url[URL_ROOM];
    const char *token = client_token(peer);
    const char *shown = client_address(peer)->shown;
    if (s->port) return command_fail(self, EXIT_USAGE, "--port: this process serves its own page, at %s.", shown);
    snprintf(url, sizeof url, "%s/%s%s", client_address(peer)->url, *token ? "?token=" : "", token);
    printf("%s\n", url);
    pid_t browser = s->no_open ? 0 : open_browser(url);
    if (browser > 0) {
        waitpid(browser, NULL, 0);
        watching_pause(2 * SECOND_NS); /* until the browser has read the file */
    }
    return EXIT_DONE;
}

static int run(const command *self, void *given, int count, char **arguments)
{
    settings *s = given;
    client *peer;
    cen_error error;
    json_t *process;
    s->client.stop = stop_flag();
    if (client_open(count ? arguments[0] : NULL, &s->client, &peer, &error) != CEN_OK)
        return watching_fail(self, &error);
    cen_status status = client_greet(peer, &process, &error);
    int answer;
    if (status != CEN_OK) {
        answer = watching_fail(self, &error);
    } else {
        json_decref(process);
        answer = *client_address(peer)->socket ? show_by_relay(self, s, peer) : show_its_own(self, s, peer);
    }
    client_close(peer);
    return answer;
}

static const settings usual;

const command page_command = {
    .name = "page",
    .summary = "shows a running process in a browser",
    .arguments = "[ADDRESS|PID]",
    .teaching =
        "Serves the page of a process that has inspection enabled on a port of 127.0.0.1, with a random token,\n"
        "and relays requests to the process's Unix socket, which no browser can open. It runs until Ctrl-C or\n"
        "until the process ends. It prints the address of the page and opens it with xdg-open if there is a\n"
        "display. Anyone with the address can do what the process allows (cen_inspect_options.control).\n"
        "If the process serves HTTP itself, the command prints that address, opens it and exits.\n"
        "\n" WATCHING_TEACHING "\n"
        "  cenote page                               the only process with inspection enabled\n"
        "  cenote page 4711 --no-open --port 8080    for ssh -L 8080:127.0.0.1:8080\n",
    .rows = rows,
    .settings_size = sizeof usual,
    .usual = &usual,
    .most = 1,
    .run = run,
};
