/* SPDX-License-Identifier: MIT */
/*
 * Data directories, from a template.
 *
 * To make a database from nothing takes a server seconds, to copy one takes moments. So the first that is made
 * is kept: in the folder SERVERS_TEMPLATES of the build tree, or the one that CENOTE_SERVER_TEMPLATES names, under
 * a name made of the server's program (its size and time), the recipe's text and the user. It appears by a
 * rename, whole. Who finds none makes one with a lock held, so that programs that start together make it once;
 * where the folder cannot be written, each goes without.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/servers/guardian.h"

enum { TEMPLATE_PATH = 2048 };

static const char *folder(void)
{
    const char *named = getenv("CENOTE_SERVER_TEMPLATES");
    return named && *named ? named : SERVERS_TEMPLATES;
}

static uint64_t hash(uint64_t sum, const char *text)
{
    for (; *text; text++) sum = (sum ^ (unsigned char)*text) * 0x100000001B3u;
    return sum;
}

static bool template_path(const post *here, char *path)
{
    struct stat status;
    if (stat(here->program, &status) != 0) return false;
    uint64_t sum = hash(0xCBF29CE484222325u, here->recipe->key);
    return snprintf(path, TEMPLATE_PATH, "%s/%s-%jd-%jd-%jx-%u", folder(), here->recipe->name, (intmax_t)status.st_size,
                    (intmax_t)status.st_mtime, (uintmax_t)sum, (unsigned)getuid()) < TEMPLATE_PATH;
}

/* The lock, held; -1 if there can be none or the owner has gone. */
static int lock_templates(post *here)
{
    char path[TEMPLATE_PATH];
    int fd = -1;
    snprintf(path, sizeof path, "%s/lock", folder());
    if (mkdir(folder(), 0777) == 0 || errno == EEXIST) fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
        if (errno != EWOULDBLOCK || !post_wait(here, 10)) {
            close(fd);
            fd = -1;
        }
    return fd;
}

/* Under the lock: what one who died half-way has left is in the way of nobody else. */
static void keep(const char *data, const char *path)
{
    char half[TEMPLATE_PATH + 4];
    snprintf(half, sizeof half, "%s.new", path);
    tree_remove(half);
    if (!tree_copy(data, half, NULL) || rename(half, path) != 0) tree_remove(half);
}

bool post_fill(post *here)
{
    char data[2 * POST_PATH], path[TEMPLATE_PATH];
    if (!post_path(here, data, sizeof data, "data")) return post_fail(here, "the path of the directory is too long");
    if (!here->recipe->key || !template_path(here, path)) return here->recipe->make(here);
    if (access(path, F_OK) != 0) {
        int lock = lock_templates(here);
        bool made = false, ok = true;
        if (here->abandoned) return false;
        if (access(path, F_OK) != 0) ok = here->recipe->make(here), made = true;
        if (made && ok && lock >= 0) keep(data, path);
        if (lock >= 0) close(lock);
        if (made) return ok;
    }
    return tree_copy(path, data, here) || post_fail(here, "cannot copy %s to %s: error %d", path, data, errno);
}
