/* SPDX-License-Identifier: MIT */
/* The server's directory and what is in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/servers/guardian.h"

/* ---- Trees -------------------------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    remove(path);
    return 0;
}

void tree_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool give(int fd, const post *owner)
{
    return !owner || !owner->drops || fchown(fd, owner->user, owner->group) == 0;
}

static bool copy_bytes(int from, int to)
{
    char block[65536];
    ssize_t size;
    while ((size = read(from, block, sizeof block)) > 0)
        if (write(to, block, (size_t)size) != size) return false;
    return size == 0;
}

static bool copy_file(const char *from, const char *to, const post *owner, mode_t mode)
{
    int source = open(from, O_RDONLY | O_CLOEXEC),
        target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
    bool ok = source >= 0 && target >= 0 && copy_bytes(source, target) && give(target, owner);
    if (source >= 0) close(source);
    if (target >= 0 && close(target) != 0) ok = false;
    return ok;
}

static bool make_folder(const char *path, const post *owner)
{
    if (mkdir(path, 0700) != 0) return false;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && give(fd, owner);
    if (fd >= 0) close(fd);
    return ok;
}

static bool copy_entry(const char *from, const char *to, const char *name, const post *owner)
{
    char source[4096], target[4096];
    struct stat status;
    if (snprintf(source, sizeof source, "%s/%s", from, name) >= (int)sizeof source) return false;
    if (snprintf(target, sizeof target, "%s/%s", to, name) >= (int)sizeof target) return false;
    if (lstat(source, &status) != 0) return false;
    if (S_ISDIR(status.st_mode)) return tree_copy(source, target, owner);
    return !S_ISREG(status.st_mode) || copy_file(source, target, owner, status.st_mode);
}

bool tree_copy(const char *from, const char *to, const post *owner)
{
    DIR *list = opendir(from);
    bool ok = list && make_folder(to, owner);
    for (struct dirent *entry; ok && (entry = readdir(list));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            ok = copy_entry(from, to, entry->d_name, owner);
    if (list) closedir(list);
    return ok;
}

/* ---- The directory ------------------------------------------------------------------------------------------ */

bool post_make_directory(post *here)
{
    const char *above = getenv("TMPDIR");
    if (!above || !*above || above[0] != '/' || strlen(above) > POST_PATH / 2) above = "/tmp";
    snprintf(here->directory, sizeof here->directory, "%s/cenote-%s-XXXXXX", above, here->recipe->name);
    if (!mkdtemp(here->directory)) {
        here->directory[0] = 0;
        return post_fail(here, "cannot make a directory in %s: error %d", above, errno);
    }
    if (here->drops && chown(here->directory, here->user, here->group) != 0)
        return post_fail(here, "cannot give %s to the server's user: error %d", here->directory, errno);
    return true;
}

void post_remove_directory(post *here)
{
    if (here->directory[0]) tree_remove(here->directory);
    here->directory[0] = 0;
}

bool post_path(const post *here, char *path, size_t room, const char *name)
{
    return snprintf(path, room, "%s/%s", here->directory, name) < (int)room;
}

bool post_subdirectory(post *here, const char *name)
{
    char path[2 * POST_PATH];
    if (post_path(here, path, sizeof path, name) && make_folder(path, here)) return true;
    return post_fail(here, "cannot make %s: error %d", path, errno);
}

bool post_write(post *here, const char *name, const char *format, ...)
{
    char path[2 * POST_PATH];
    int fd = post_path(here, path, sizeof path, name) ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    va_list arguments;
    va_start(arguments, format);
    bool ok = fd >= 0 && give(fd, here) && vdprintf(fd, format, arguments) >= 0;
    va_end(arguments);
    if (fd >= 0) close(fd);
    return ok || post_fail(here, "cannot write %s: error %d", path, errno);
}

void post_log_tail(const post *here, char *text, size_t room)
{
    char path[2 * POST_PATH];
    struct stat status;
    text[0] = 0;
    int fd = post_path(here, path, sizeof path, "log") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    off_t skip = fstat(fd, &status) == 0 && status.st_size > (off_t)room - 1 ? status.st_size - (off_t)room + 1 : 0;
    ssize_t size = pread(fd, text, room - 1, skip);
    close(fd);
    if (size < 0) size = 0;
    text[size] = 0;
    char *line = skip ? strchr(text, '\n') : NULL; /* the first one is but half a line */
    if (line) memmove(text, line + 1, strlen(line + 1) + 1);
}

bool post_find_program(const char *name, char *path, size_t room)
{
    static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                          "/usr/bin",        "/sbin",          "/bin"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (snprintf(path, room, "%s/%s", folders[i], name) >= (int)room) return false;
        if (access(path, X_OK) == 0) return true;
    }
    return false;
}
