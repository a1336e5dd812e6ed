/* SPDX-License-Identifier: MIT */
/*
 * The guardian: a process of its own between a test program and a server.
 *
 * It waits for two things: a request at its socket, "control" in the directory, and the end of the lifeline.
 * While it does something that takes time it looks at the lifeline too (post_wait), so that a program that is
 * killed while its server starts leaves nothing either. A state is (main, paused): nobody runs (0, false), the
 * server runs (id, false) or is paused (id, true); the ports are held in the first and free in the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/servers/guardian.h"

enum { START_TRIES = 5, SHUTDOWN_SECONDS = 30 };

const recipe *recipe_of(server_kind kind)
{
    static const recipe *const recipes[SERVER_KINDS] = {&recipe_postgresql, &recipe_mariadb, &recipe_redis,
                                                        &recipe_nginx};
    return recipes[kind];
}

bool post_fail(post *here, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(here->why, sizeof here->why, format, arguments);
    va_end(arguments);
    return false;
}

bool post_wait(post *here, int milliseconds)
{
    struct pollfd line = {.fd = here->lifeline, .events = POLLIN};
    /* Nobody ever writes to it: whatever happens to it is its end. */
    if (poll(&line, 1, milliseconds) == 1) here->abandoned = true;
    return !here->abandoned || post_fail(here, "the program that started the server has gone");
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void add_log(post *here)
{
    size_t used = strlen(here->why);
    int more = snprintf(here->why + used, sizeof here->why - used, "; the end of its log:\n");
    if (more > 0 && used + (size_t)more + 1 < sizeof here->why)
        post_log_tail(here, here->why + used + more, sizeof here->why - used - (size_t)more);
}

/* ---- Up and down -------------------------------------------------------------------------------------------- */

/* The server's first process, and then its first answer. */
static bool start_once(post *here)
{
    const char *arguments[8] = {NULL};
    char text[512];
    int status = 0;
    here->recipe->command(here, arguments, text, sizeof text);
    post_release_ports(here);
    here->main = post_spawn(here, arguments, NULL);
    if (!here->main) return false;
    for (double end = seconds() + POST_START_SECONDS; seconds() < end;) {
        if (post_ended(here->main, &status)) {
            here->main = 0;
            return post_fail(here, "%s ended with status %d before it answered", here->recipe->title,
                             WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
        }
        if (here->recipe->answers(here->ports)) return true;
        if (!post_wait(here, 5)) return false;
    }
    return post_fail(here, "%s did not answer within %d seconds", here->recipe->title, POST_START_SECONDS);
}

static bool start(post *here)
{
    if (here->recipe->write(here) && start_once(here)) return true;
    post_kill_all(here);
    return false;
}

/* The first start: with other ports again if somebody has taken one of them. */
static bool start_first(post *here)
{
    for (int i = 0; i < START_TRIES; i++) {
        if (!post_choose_ports(here)) return false;
        if (start(here)) return true;
        if (here->abandoned || post_hold_ports(here)) break;
        post_release_ports(here);
    }
    add_log(here);
    return false;
}

static bool shut_down(post *here)
{
    int status;
    bool ended = here->main == 0;
    if (here->paused) post_resume_all(here);
    if (!ended) kill(here->main, here->recipe->shutdown_signal);
    for (double end = seconds() + SHUTDOWN_SECONDS; !ended && seconds() < end;) {
        ended = post_ended(here->main, &status);
        if (!ended && !post_wait(here, 5)) return false;
    }
    if (ended) here->main = 0;
    post_kill_all(here); /* what it may have left */
    post_hold_ports(here);
    return ended || post_fail(here, "%s did not shut down within %d seconds", here->recipe->title, SHUTDOWN_SECONDS);
}

static bool restart(post *here)
{
    if (!shut_down(here)) return false;
    if (start(here)) return true;
    post_hold_ports(here);
    return false;
}

/* A server may also end by itself; then it is waited for, and its ports are kept. */
static void notice_end(post *here)
{
    int status;
    if (!here->main || !post_ended(here->main, &status)) return;
    here->main = 0;
    post_kill_all(here);
    post_hold_ports(here);
}

/* ---- Requests ----------------------------------------------------------------------------------------------- */

static bool signal_main(post *here, int number)
{
    if (!here->main) return post_fail(here, "%s does not run", here->recipe->title);
    return kill(here->main, number) == 0;
}

static bool configure(post *here, const char *settings)
{
    size_t length = strlen(settings);
    if (length >= sizeof here->settings) return post_fail(here, "there are too many settings");
    memcpy(here->settings, settings, length + 1);
    return here->recipe->write(here);
}

static bool obey(post *here, post_command wish, const char *text)
{
    notice_end(here);
    switch (wish) {
    case COMMAND_PID: return true;
    case COMMAND_KILL:
        post_kill_all(here);
        post_hold_ports(here);
        return true;
    case COMMAND_SHUTDOWN: return shut_down(here);
    case COMMAND_RESTART: return restart(here);
    case COMMAND_PAUSE:
        if (!signal_main(here, 0)) return false;
        return post_pause_all(here);
    case COMMAND_RESUME:
        if (!signal_main(here, 0)) return false;
        post_resume_all(here);
        return true;
    case COMMAND_CONFIGURE: return configure(here, text);
    case COMMAND_RELOAD:
        if (!here->recipe->reloads) return post_fail(here, "%s cannot reload its settings", here->recipe->title);
        return signal_main(here, SIGHUP);
    case COMMAND_STOP: return true;
    }
    return post_fail(here, "there is no such command");
}

/* Hears and answers one request; false if it was the last. An asker that is killed meanwhile is no trouble. */
static bool serve(post *here, int listening)
{
    char request[POST_REQUEST + 1], reply[POST_WHY + 1];
    struct timeval patience = {.tv_sec = 5};
    int asker = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (asker < 0) return true;
    setsockopt(asker, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ssize_t size = recv(asker, request, POST_REQUEST, 0);
    if (size <= 0) {
        close(asker);
        return true;
    }
    request[size] = 0;
    bool last = request[0] == COMMAND_STOP;
    here->why[0] = 0;
    bool ok = obey(here, (post_command)request[0], request + 1);
    if (!ok) add_log(here);
    if (last) {
        post_kill_all(here);
        post_remove_directory(here);
    }
    int length =
        ok ? snprintf(reply, sizeof reply, "+%d", (int)here->main) : snprintf(reply, sizeof reply, "-%s", here->why);
    send(asker, reply, (size_t)length, MSG_NOSIGNAL);
    close(asker);
    return !last;
}

bool guardian_address(const char *directory, void *out)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/control", directory);
    memcpy(out, &address, sizeof address);
    return length < (int)sizeof address.sun_path;
}

static int listen_for_requests(post *here)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (guardian_address(here->directory, &address) && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, 128) == 0)
        return fd;
    post_fail(here, "cannot listen in %s: error %d", here->directory, errno);
    return -1;
}

/* ---- Life --------------------------------------------------------------------------------------------------- */

/* Leaves everything of the test program behind but its two ends: its session, files, signals and folder. */
static void leave_home(int *lifeline, int *cradle)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    int high = fcntl(*lifeline, F_DUPFD_CLOEXEC, 64), higher = fcntl(*cradle, F_DUPFD_CLOEXEC, 64);
    for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
    dup3(high, 3, O_CLOEXEC);
    dup3(higher, 4, O_CLOEXEC);
    close_range(5, ~0u, 0);
    *lifeline = 3;
    *cradle = 4;
    for (int number = 1; number < NSIG; number++)
        if (number != SIGSEGV && number != SIGBUS && number != SIGABRT && number != SIGCHLD) signal(number, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* ignored children could not be waited for */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir("/") != 0) _exit(1);
    umask(077);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "server-guardian");
}

static bool choose_user(post *here)
{
    here->drops = geteuid() == 0;
    if (!here->drops) return true;
    const struct passwd *entry = getpwnam("nobody");
    if (!entry || entry->pw_uid == 0) return post_fail(here, "there is no user \"nobody\" for the server to run as");
    here->user = entry->pw_uid;
    here->group = entry->pw_gid;
    return true;
}

static bool prepare(post *here)
{
    const recipe *how = here->recipe;
    bool found = how->find ? how->find(here->program, sizeof here->program)
                           : post_find_program(how->program, here->program, sizeof here->program);
    if (!found) return post_fail(here, "there is no %s on this machine: tools/install-packages servers", how->title);
    if (!choose_user(here) || !post_make_directory(here)) return false;
    if (post_fill(here)) return true;
    if (!here->abandoned) add_log(here);
    return false;
}

_Noreturn void guardian_live(server_kind kind, const char *settings, int lifeline, int cradle)
{
    post here = {.recipe = recipe_of(kind), .held = {-1, -1}};
    birth word = {.ok = false};
    leave_home(&lifeline, &cradle);
    here.lifeline = lifeline;
    snprintf(here.settings, sizeof here.settings, "%s", settings);

    int listening = -1;
    word.ok = prepare(&here) && (listening = listen_for_requests(&here)) >= 0 && start_first(&here);
    memcpy(word.ports, here.ports, sizeof word.ports);
    memcpy(word.directory, here.directory, sizeof word.directory);
    memcpy(word.why, here.why, sizeof word.why);
    if (!word.ok) {
        post_kill_all(&here);
        post_remove_directory(&here); /* before the word, so that who hears it finds nothing */
    }
    bool goes_on = word.ok && send(cradle, &word, sizeof word, MSG_NOSIGNAL) == sizeof word;
    if (!word.ok) send(cradle, &word, sizeof word, MSG_NOSIGNAL);
    close(cradle);
    while (goes_on) {
        struct pollfd ends[2] = {{.fd = lifeline, .events = POLLIN}, {.fd = listening, .events = POLLIN}};
        if (poll(ends, 2, -1) < 0) continue;
        goes_on = !ends[0].revents && serve(&here, listening) && !here.abandoned;
    }
    post_kill_all(&here);
    post_remove_directory(&here);
    _exit(0);
}
