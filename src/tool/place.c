/* SPDX-License-Identifier: MIT */
#include "tool/place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- A directory ------------------------------------------------------------------------ */

typedef struct place {
    char path[PATH_MAX];
    uid_t owner;     /* the user whose processes write files there */
    bool is_foreign; /* another user's, examined as root */
    int directory;
} place;

static bool is_trusted(const place *self, const struct stat *s)
{
    bool is_owners = s->st_uid == self->owner || (!self->is_foreign && s->st_uid == 0);
    return is_owners && (s->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool open_place(place *self, cen_error *why)
{
    struct stat s;
    self->directory = *self->path ? open(self->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (self->directory < 0) return false;
    if (fstat(self->directory, &s) == 0 && is_trusted(self, &s)) return true;
    if (!self->is_foreign)
        address_fail(why, CEN_SYSTEM, "%s is ignored: it belongs to another user, or other users can write to it.",
                     self->path);
    close(self->directory);
    return false;
}

/* Read one line of a file in the directory. */
static bool read_line(const place *self, const char *name, char *line, size_t room)
{
    struct stat s;
    int file = openat(self->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = -1;
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && is_trusted(self, &s)) length = read(file, line, room - 1);
    close(file);
    if (length <= 0) return false;
    line[length] = 0;
    line[strcspn(line, "\r\n")] = 0;
    return *line != 0;
}

/* ---- A process -------------------------------------------------------------------------- */

bool place_is_alive(long pid)
{
    return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

/* The user it runs as, who can have opened its socket. */
static bool user_of(long pid, uid_t *out)
{
    char path[64], line[256];
    unsigned long user;
    bool known = false;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *file = fopen(path, "re");
    while (file && !known && fgets(line, sizeof line, file)) known = sscanf(line, "Uid: %*u %lu", &user) == 1;
    if (file) fclose(file);
    if (known) *out = (uid_t)user;
    return known;
}

/* For files of another user: the address must lead to a socket of that user, or to this machine. */
static bool leads_home(const char *line, uid_t owner)
{
    static const char *const own[] = {"http://127.", "http://[::1]:", "http://localhost:"};
    struct stat s;
    if (strncmp(line, "unix:", 5) == 0) return lstat(line + 5, &s) == 0 && S_ISSOCK(s.st_mode) && s.st_uid == owner;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(line, own[i], strlen(own[i])) == 0 && !strchr(line, '@')) return true;
    return false;
}

/* Read a process's address. A killed process may have left its file behind, so the process must be alive. */
static bool read_process(const place *self, long pid, char *line, size_t room)
{
    char name[64];
    uid_t user;
    snprintf(name, sizeof name, "%ld.address", pid);
    if (!place_is_alive(pid) || !read_line(self, name, line, room)) return false;
    return !self->is_foreign || (user_of(pid, &user) && user == self->owner && leads_home(line, user));
}

static void name_of(long pid, char *name, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(name, 1, room - 1, file) : 0;
    if (file) fclose(file);
    name[length] = 0;
    name[strcspn(name, "\n")] = 0;
    for (char *at = name; *at; at++)
        if (iscntrl((unsigned char)*at)) *at = '?';
}

static void meet(place_found *all, const place *self, long pid, const char *line)
{
    char name[64];
    all->count++;
    all->pid = pid;
    all->is_foreign = self->is_foreign;
    snprintf(all->line, sizeof all->line, "%s", line);
    if (!all->out) return;
    name_of(pid, name, sizeof name);
    fprintf(all->out, "  %-8ld %-16s ", pid, name);
    for (const char *at = line; *at && *at != '?'; at++) fputc(iscntrl((unsigned char)*at) ? '?' : *at, all->out);
    fputc('\n', all->out);
}

/* Return the number before ".address"; 0: it is not such a name. */
static long pid_of(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 9 || strcmp(name + digits, ".address") != 0) return 0;
    return strtol(name, NULL, 10);
}

/* Also closes the directory. */
static void meet_all(place *self, place_found *all)
{
    char line[ADDRESS_TEXT];
    DIR *stream = fdopendir(self->directory);
    if (!stream) {
        close(self->directory);
        return;
    }
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        long pid = pid_of(entry->d_name);
        if (pid > 0 && read_process(self, pid, line, sizeof line)) meet(all, self, pid, line);
    }
    closedir(stream);
}

/* ---- All places ------------------------------------------------------------------------- */

static void set_path(place *self, const char *parent, const char *name, const char *after)
{
    int length = snprintf(self->path, sizeof self->path, "%s%s%s", parent, name, after);
    if (length < 0 || (size_t)length >= sizeof self->path) self->path[0] = 0;
}

/* The places of this user. A process may have had another XDG_RUNTIME_DIR than this one. */
static bool own_place(unsigned index, place *self)
{
    char number[24];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    *self = (place){.owner = geteuid()};
    snprintf(number, sizeof number, "%lu", (unsigned long)geteuid());
    if (index == 0 && runtime && *runtime == '/') set_path(self, runtime, "", "/cenote");
    if (index == 1) set_path(self, "/tmp/cenote-", number, "");
    return index < 2;
}

static const struct parent {
    const char *path, *before, *whole, *after; /* a directory, and the text before and after the user's number */
} parents[] = {{"/run/user", "", "/run/user/", "/cenote"}, {"/tmp", "cenote-", "/tmp/cenote-", ""}};

/* Examine the places of other users, as root. */
static void look_abroad(const struct parent *parent, place_found *all)
{
    DIR *stream = opendir(parent->path);
    if (!stream) return;
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        const char *number = entry->d_name + strlen(parent->before);
        if (strncmp(entry->d_name, parent->before, strlen(parent->before)) != 0) continue;
        size_t digits = strspn(number, "0123456789");
        if (digits == 0 || digits > 10 || number[digits]) continue;
        place there = {.owner = (uid_t)strtoul(number, NULL, 10), .is_foreign = true};
        if (there.owner == 0) continue;
        set_path(&there, parent->whole, number, parent->after);
        if (open_place(&there, NULL)) meet_all(&there, all);
    }
    closedir(stream);
}

void place_look(place_found *all, bool first_only, cen_error *why)
{
    place here;
    for (unsigned i = 0; own_place(i, &here); i++) {
        if (first_only && all->count > 0) return;
        if (open_place(&here, why)) meet_all(&here, all);
    }
    if (geteuid() != 0 || (first_only && all->count > 0)) return;
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) look_abroad(&parents[i], all);
}

static bool find_in(place *self, long pid, place_found *out, cen_error *why)
{
    char line[ADDRESS_TEXT];
    if (!open_place(self, why)) return false;
    bool found = read_process(self, pid, line, sizeof line);
    close(self->directory);
    if (found) meet(out, self, pid, line);
    return found;
}

bool place_find(long pid, place_found *out, cen_error *why)
{
    place here;
    char number[24];
    uid_t user;
    for (unsigned i = 0; own_place(i, &here); i++)
        if (find_in(&here, pid, out, why)) return true;
    if (geteuid() != 0 || !user_of(pid, &user) || user == 0) return false;
    snprintf(number, sizeof number, "%lu", (unsigned long)user);
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        here = (place){.owner = user, .is_foreign = true};
        set_path(&here, parents[i].whole, number, parents[i].after);
        if (find_in(&here, pid, out, why)) return true;
    }
    return false;
}
