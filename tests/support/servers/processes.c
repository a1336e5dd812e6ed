/* SPDX-License-Identifier: MIT */
/*
 * The server's processes.
 *
 * The guardian is made the reaper of all its descendants, so that whatever the server has forked becomes a
 * child of the guardian when the server's first process is gone. A child that has not been waited for keeps
 * its id, even when it is dead. So signals go to children of ours, or to children of a process that is stopped
 * and can therefore wait for nobody: none can reach a stranger that was given an id again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/servers/guardian.h"

/* ---- Start ------------------------------------------------------------------------------------------------- */

static void say_and_end(const char *what, const char *name)
{
    dprintf(STDERR_FILENO, "%s %s: error %d\n", what, name, errno);
    _exit(127);
}

static void become_user(const post *here)
{
    if (!here->drops) return;
    if (setgroups(1, &here->group) != 0 || setgid(here->group) != 0 || setuid(here->user) != 0)
        say_and_end("cannot become", "the server's user");
}

static void wire_up(const post *here, const char *input)
{
    char path[2 * POST_PATH];
    int log =
        post_path(here, path, sizeof path, "log") ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
    int from = open(input ? input : "/dev/null", O_RDONLY | O_CLOEXEC);
    if (log < 0 || from < 0 || dup2(log, STDERR_FILENO) < 0) _exit(127);
    if (dup2(log, STDOUT_FILENO) < 0 || dup2(from, STDIN_FILENO) < 0) say_and_end("cannot open", path);
}

__attribute__((noreturn)) static void execute(const post *here, const char *const *arguments, const char *input)
{
    char home[POST_PATH + 8];
    snprintf(home, sizeof home, "HOME=%s", here->directory);
    /* Nothing of the test's environment: neither what it preloads, nor what a server would take for its own. */
    char *environment[] = {home, (char[]){"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                           (char[]){"LC_ALL=C"}, NULL};
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    wire_up(here, input);
    become_user(here);
    /* After the change of user, which forgets it. It is for the case that somebody kills the guardian. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(here->directory) != 0) say_and_end("cannot enter", here->directory);
    execve(arguments[0], (char *const *)arguments, environment);
    say_and_end("cannot execute", arguments[0]);
    abort();
}

pid_t post_spawn(post *here, const char *const *arguments, const char *input)
{
    pid_t guardian = getpid(), child = fork();
    if (child == 0) {
        if (getppid() != guardian) _exit(127);
        execute(here, arguments, input);
    }
    if (child < 0) post_fail(here, "cannot fork: error %d", errno);
    return child < 0 ? 0 : child;
}

bool post_ended(pid_t process, int *status)
{
    pid_t found;
    do found = waitpid(process, status, WNOHANG);
    while (found < 0 && errno == EINTR);
    return found != 0;
}

bool post_run(post *here, const char *const *arguments, const char *input)
{
    pid_t child = post_spawn(here, arguments, input);
    int status = 0;
    if (!child) return false;
    while (!post_ended(child, &status))
        if (!post_wait(here, 5)) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            post_kill_all(here); /* what it had forked is ours now */
            return false;
        }
    return status == 0 || post_fail(here, "%s ended with status %d", arguments[0], status);
}

/* ---- The processes there are -------------------------------------------------------------------------------- */

typedef struct process {
    pid_t id, parent;
    char state;
} process;

/* Reads "id (name) state parent ..."; a name may have blanks and brackets in it. */
static bool process_read(pid_t id, process *out)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    if (size <= 0) return false;
    text[size] = 0;
    const char *end = strrchr(text, ')');
    int parent = 0;
    *out = (process){.id = id};
    if (!end || sscanf(end + 1, " %c %d", &out->state, &parent) != 2) return false;
    out->parent = (pid_t)parent;
    return true;
}

/* Calls `visit` for each process whose parent is `parent`. */
static int each_child(pid_t parent, int (*visit)(const process *))
{
    DIR *list = opendir("/proc");
    int sum = 0;
    process found;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
        if (id > 0 && process_read(id, &found) && found.parent == parent) sum += visit(&found);
    }
    if (list) closedir(list);
    return sum;
}

/* ---- Kill, pause, resume ------------------------------------------------------------------------------------ */

static int kill_one(const process *child)
{
    kill(child->id, SIGKILL);
    return 1;
}

void post_kill_all(post *here)
{
    if (here->main > 0) {
        kill(here->main, SIGKILL);
        waitpid(here->main, NULL, 0);
    }
    here->main = 0;
    here->paused = false;
    /* The rest are children of the guardian by now, and so are those that they leave behind in turn. */
    for (;;) {
        each_child(getpid(), kill_one);
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {
        }
        if (ended < 0 && errno == ECHILD) break;
        struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
    if (here->recipe->clean) here->recipe->clean(here);
}

/* Stops it and all below it; returns how many were not yet stopped. */
static int pause_one(const process *child)
{
    bool stopped = child->state == 'T' || child->state == 'Z';
    if (!stopped) kill(child->id, SIGSTOP);
    return (stopped ? 0 : 1) + (child->state == 'T' ? each_child(child->id, pause_one) : 0);
}

static int resume_one(const process *child)
{
    each_child(child->id, resume_one); /* first those below, while it cannot yet wait for one */
    kill(child->id, SIGCONT);
    return 0;
}

bool post_pause_all(post *here)
{
    here->paused = true;
    for (int i = 0; each_child(getpid(), pause_one) > 0; i++) {
        if (i == POST_PAUSE_MS) return post_fail(here, "%s cannot be paused", here->recipe->title);
        if (!post_wait(here, 1)) return false;
    }
    return true;
}

void post_resume_all(post *here)
{
    each_child(getpid(), resume_one);
    here->paused = false;
}
