/* SPDX-License-Identifier: MIT */
/*
 * Where this user's processes say that they can be looked into: a directory of his
 * alone, with a file PID.address for each, one line, the address. Whoever has a process'
 * number finds it there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/inside.h"

cen_status ceni_inspect_place(char *out, size_t room, cen_error *error)
{
    const char *above = secure_getenv("XDG_RUNTIME_DIR");
    struct stat there;
    bool has_above = above && above[0] == '/' && stat(above, &there) == 0 && S_ISDIR(there.st_mode);
    int length = has_above ? snprintf(out, room, "%s/cenote", above)
                           : snprintf(out, room, "/tmp/cenote-%u", (unsigned)geteuid());
    if (length < 0 || (size_t)length >= room)
        return ceni_inspect_error(error, CEN_SYSTEM, ENAMETOOLONG,
                                  "cen_inspect_start: the name of XDG_RUNTIME_DIR is too long");
    if (mkdir(out, 0700) != 0 && errno != EEXIST) {
        char why[128];
        int code = errno;
        return ceni_inspect_error(error, CEN_SYSTEM, code, "cen_inspect_start: cannot make the directory %s: %s", out,
                                  strerror_r(code, why, sizeof why));
    }
    /* Below /tmp anybody may have made it, or a link of that name. */
    if (lstat(out, &there) != 0 || !S_ISDIR(there.st_mode) || there.st_uid != geteuid() || (there.st_mode & 077))
        return ceni_inspect_error(error, CEN_SYSTEM, EACCES,
                                  "cen_inspect_start: %s is not a directory of this user's alone (mode 0700)", out);
    return CEN_OK;
}

/* Written beside and renamed, so that nobody reads half of it. */
static int write_line(const char *path, const char *line)
{
    char beside[sizeof((cen_inspect *)NULL)->place + 16];
    snprintf(beside, sizeof beside, "%s.new", path);
    unlink(beside);
    int file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    char words[sizeof((cen_inspect *)NULL)->address + 2];
    int length = snprintf(words, sizeof words, "%s\n", line);
    int code = write(file, words, (size_t)length) == length ? 0 : EIO;
    if (close(file) != 0 && code == 0) code = errno;
    if (code == 0 && rename(beside, path) != 0) code = errno;
    if (code != 0) unlink(beside);
    return code;
}

cen_status ceni_inspect_announce(cen_inspect *inspect, cen_error *error)
{
    char place[100], why[128];
    cen_status status = ceni_inspect_place(place, sizeof place, error);
    if (status != CEN_OK) return status;
    snprintf(inspect->place, sizeof inspect->place, "%s/%ld.address", place, (long)inspect->process);
    int code = write_line(inspect->place, inspect->address);
    if (code == 0) return CEN_OK;
    status = ceni_inspect_error(error, CEN_SYSTEM, code, "cen_inspect_start: cannot write %s: %s", inspect->place,
                                strerror_r(code, why, sizeof why));
    inspect->place[0] = 0;
    return status;
}

void ceni_inspect_withdraw(const cen_inspect *inspect)
{
    if (!inspect->place[0]) return;
    /* Another one of this process may have written its own address since. */
    char line[sizeof inspect->address + 2] = "";
    int file = open(inspect->place, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return;
    ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    if (length > 0 && line[length - 1] == '\n') line[length - 1] = 0;
    if (strcmp(line, inspect->address) == 0) unlink(inspect->place);
}
