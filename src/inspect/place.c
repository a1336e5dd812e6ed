/* SPDX-License-Identifier: MIT */
/*
 * The directory in which this user's processes announce their inspect servers: accessible to this user only, one file
 * PID.address per process, with the address in one line. So a process's server is found by its pid.
 *
 * A killed process leaves its file and its socket behind. The next process that starts removes them if no process has
 * that pid and no process listens at the address. The pid alone is not enough: the directory may be shared with
 * processes whose pids are not visible here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/internal.h"

cen_status ceni_inspect_place(char *out, size_t room, cen_error *error)
{
    const char *above = secure_getenv("XDG_RUNTIME_DIR");
    struct stat there;
    bool has_above = above && above[0] == '/' && stat(above, &there) == 0 && S_ISDIR(there.st_mode);
    int length = has_above ? snprintf(out, room, "%s/cenote", above)
                           : snprintf(out, room, "/tmp/cenote-%u", (unsigned)geteuid());
    if (length < 0 || (size_t)length >= room)
        return ceni_inspect_error(error, CEN_SYSTEM, ENAMETOOLONG, "cen_inspect_start: XDG_RUNTIME_DIR is too long");
    if (mkdir(out, 0700) != 0 && errno != EEXIST) {
        char why[128];
        int code = errno;
        return ceni_inspect_error(error, CEN_SYSTEM, code, "cen_inspect_start: cannot create the directory %s: %s", out,
                                  strerror_r(code, why, sizeof why));
    }
    /* Below /tmp another user may have created it, or a link of that name. */
    if (lstat(out, &there) != 0 || !S_ISDIR(there.st_mode) || there.st_uid != geteuid() || (there.st_mode & 077))
        return ceni_inspect_error(error, CEN_SYSTEM, EACCES,
                                  "cen_inspect_start: %s must be a directory of this user with mode 0700", out);
    return CEN_OK;
}

/* Write to a second file and rename it, so that no process reads a partial one. */
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

/* ---- Stale files ------------------------------------------------------------------------ */

enum { TIDIED_MOST = 64, ANSWER_MS = 20 };

/* Read the first line of a file. Returns false if there is none. */
static bool read_line(const char *path, char *line, size_t room)
{
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, line, room - 1);
    close(file);
    line[length > 0 ? length : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    return length > 0;
}

static int try_connect(const ceni_inspect_endpoint *at)
{
    int probe = socket(at->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), code = 0;
    if (probe < 0) return errno;
    if (connect(probe, &at->socket.any, at->length) != 0) code = errno;
    if (code == EINPROGRESS) {
        socklen_t length = sizeof code;
        struct pollfd wait = {.fd = probe, .events = POLLOUT};
        if (poll(&wait, 1, ANSWER_MS) == 1) getsockopt(probe, SOL_SOCKET, SO_ERROR, &code, &length);
    }
    close(probe);
    return code;
}

/* Return true if certainly no process listens there: "unix:/path", "http://127.0.0.1:9911/". */
static bool is_deserted(const char *line)
{
    char at[200];
    ceni_inspect_endpoint address;
    bool network = strncmp(line, "http://", 7) == 0;
    int length = snprintf(at, sizeof at, "%s", line + (network ? 7 : 0));
    if (length <= 0 || (size_t)length >= sizeof at) return false;
    if (network && at[length - 1] == '/') at[length - 1] = 0;
    if (ceni_inspect_address_read(at, true, &address, NULL) != CEN_OK) return false;
    int code = try_connect(&address);
    return code == ECONNREFUSED || (code == ENOENT && address.is_local);
}

/* Return the pid in the name of a file; 0: it is not such a name. */
static pid_t owner_of(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    bool ours = strcmp(name + digits, ".address") == 0 || strcmp(name + digits, ".socket") == 0;
    return ours && digits > 0 && digits < 10 ? (pid_t)strtol(name, NULL, 10) : 0;
}

static bool is_left_behind(const char *path, const char *name)
{
    char line[512];
    pid_t owner = owner_of(name);
    if (owner <= 0 || kill(owner, 0) == 0 || errno != ESRCH) return false;
    if (strstr(name, ".socket")) snprintf(line, sizeof line, "unix:%s", path);
    else if (!read_line(path, line, sizeof line)) return false;
    return is_deserted(line);
}

static void tidy(const char *place)
{
    char path[400];
    DIR *all = opendir(place);
    if (!all) return;
    struct dirent *entry;
    for (int removed = 0; removed < TIDIED_MOST && (entry = readdir(all));) {
        snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
        if (is_left_behind(path, entry->d_name) && unlink(path) == 0) removed++;
    }
    closedir(all);
}

/* ---- This process's file ----------------------------------------------------------------- */

cen_status ceni_inspect_announce(cen_inspect *inspect, cen_error *error)
{
    char place[100], why[128];
    cen_status status = ceni_inspect_place(place, sizeof place, error);
    if (status != CEN_OK) return status;
    tidy(place);
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
    /* Another server of this process may have written its own address since. */
    char line[sizeof inspect->address + 2] = "";
    if (read_line(inspect->place, line, sizeof line) && strcmp(line, inspect->address) == 0) unlink(inspect->place);
}
