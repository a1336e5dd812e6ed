/* SPDX-License-Identifier: MIT */
#include "tool/address.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

cen_status address_fail(cen_error *error, cen_status status, const char *format, ...)
{
    va_list arguments;
    if (!error) return status;
    memset(error, 0, sizeof *error);
    error->status = status;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- What is written ----------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 10 && !text[digits];
}

bool address_is_one(const char *text)
{
    return is_number(text) || strchr(text, ':') != NULL;
}

static cen_status read_socket(const char *path, address *out, cen_error *error)
{
    if (!*path) return address_fail(error, CEN_MISUSE, "\"unix:\" lacks the path of a socket: write unix:/path/to/socket.");
    if (strlen(path) >= sizeof out->socket)
        return address_fail(error, CEN_MISUSE, "The path \"%.60s...\" is too long for a socket: at most %zu bytes.", path,
                            sizeof out->socket - 1);
    snprintf(out->socket, sizeof out->socket, "%s", path);
    snprintf(out->shown, sizeof out->shown, "unix:%s", path);
    snprintf(out->url, sizeof out->url, "http://localhost");
    return CEN_OK;
}

static unsigned value_of(char digit)
{
    if (digit >= '0' && digit <= '9') return (unsigned)(digit - '0');
    return (unsigned)(tolower((unsigned char)digit) - 'a' + 10);
}

/* "%41" is "A". */
static void decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++, to++) {
        bool coded = *from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2]);
        *to = coded ? (char)(value_of(from[1]) * 16 + value_of(from[2])) : *from;
        if (coded) from += 2;
    }
    *to = 0;
}

/* The address of the page has its token after a question mark. It goes into the header, as any token, and is not shown. */
static cen_status split_token(char *query, address *out, cen_error *error)
{
    *query++ = 0;
    if (!begins(query, "token=")) return CEN_OK;
    query += strlen("token=");
    size_t length = strcspn(query, "&#");
    if (length >= sizeof out->token) return address_fail(error, CEN_MISUSE, "The token in the address is too long.");
    memcpy(out->token, query, length);
    out->token[length] = 0;
    decode(out->token);
    return CEN_OK;
}

static cen_status read_url(const char *text, address *out, cen_error *error)
{
    const char *scheme = begins(text, "http://") || begins(text, "https://") ? "" : "http://";
    int length = snprintf(out->url, sizeof out->url, "%s%s", scheme, text);
    if (length < 0 || (size_t)length >= sizeof out->url)
        return address_fail(error, CEN_MISUSE, "The address \"%.60s...\" is too long.", text);
    char *host = strstr(out->url, "://") + 3, *query = strpbrk(host, "?#");
    cen_status status = query ? split_token(query, out, error) : CEN_OK;
    if (status != CEN_OK) return status;
    if (strchr(host, '@'))
        return address_fail(error, CEN_MISUSE, "The address has a user or a password: give a token by --token-file.");
    for (size_t end = strlen(out->url); end > 0 && out->url[end - 1] == '/' && out->url + end - 1 > host; end--)
        out->url[end - 1] = 0;
    if (!*host || *host == '/' || *host == ':') return address_fail(error, CEN_MISUSE, "\"%.100s\" names no host.", text);
    for (const char *at = host; *at; at++)
        if (isspace((unsigned char)*at) || iscntrl((unsigned char)*at))
            return address_fail(error, CEN_MISUSE, "The address has a space or a control character in it.");
    snprintf(out->shown, sizeof out->shown, "%.*s/", (int)sizeof out->shown - 2, out->url);
    return CEN_OK;
}

static cen_status read_written(const char *text, address *out, cen_error *error)
{
    if (begins(text, "unix:")) return read_socket(text + strlen("unix:"), out, error);
    if (strchr(text, ':')) return read_url(text, out, error);
    return address_fail(
        error, CEN_MISUSE,
        "\"%.100s\" is no address: write http://HOST:PORT/, HOST:PORT, unix:PATH, or the number of a process.", text);
}

/* ---- Files that say where a process is ------------------------------------------------ */

/* Of this user or root, and written by nobody else. */
static bool is_trusted(const struct stat *s)
{
    return (s->st_uid == geteuid() || s->st_uid == 0) && (s->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The places where a process may have put its file; it may have had another XDG_RUNTIME_DIR than we have. */
static bool place(unsigned index, char *path, size_t room)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    bool named = runtime && *runtime == '/';
    int length = 0;
    if (index == 0 && named) length = snprintf(path, room, "%s/cenote", runtime);
    else if (index == 0) path[0] = 0;
    else if (index == 1) length = snprintf(path, room, "/tmp/cenote-%lu", (unsigned long)geteuid());
    else return false;
    if (length < 0 || (size_t)length >= room) path[0] = 0;
    return true;
}

static int open_place(const char *path, cen_error *error)
{
    struct stat s;
    int directory = *path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (directory < 0) return -1;
    if (fstat(directory, &s) == 0 && is_trusted(&s)) return directory;
    address_fail(error, CEN_SYSTEM,
                 "%s belongs to another user, or others may write there, so what it says is not believed.", path);
    close(directory);
    return -1;
}

/* One line of a file of the place. */
static bool read_line(int directory, const char *name, char *line, size_t room)
{
    struct stat s;
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = -1;
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && is_trusted(&s)) length = read(file, line, room - 1);
    close(file);
    if (length <= 0) return false;
    line[length] = 0;
    line[strcspn(line, "\r\n")] = 0;
    return *line != 0;
}

static bool is_alive(long pid)
{
    return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

typedef struct found {
    unsigned count;
    long pid;
    char line[ADDRESS_TEXT];
    FILE *out; /* if not NULL each is printed there */
} found;

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

static void meet(found *all, long pid, const char *line)
{
    char name[64];
    all->count++;
    all->pid = pid;
    snprintf(all->line, sizeof all->line, "%s", line);
    if (!all->out) return;
    name_of(pid, name, sizeof name);
    fprintf(all->out, "  %-8ld %-16s ", pid, name);
    for (const char *at = line; *at && *at != '?'; at++) fputc(iscntrl((unsigned char)*at) ? '?' : *at, all->out);
    fputc('\n', all->out);
}

/* The number before ".address"; 0: it is no such name. */
static long pid_of(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 9 || strcmp(name + digits, ".address") != 0) return 0;
    return strtol(name, NULL, 10);
}

static void look_into(int directory, found *all)
{
    char line[ADDRESS_TEXT];
    DIR *stream = fdopendir(directory);
    if (!stream) {
        close(directory);
        return;
    }
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        long pid = pid_of(entry->d_name);
        /* What a killed process left is still there, and is nobody's address. */
        if (pid > 0 && is_alive(pid) && read_line(dirfd(stream), entry->d_name, line, sizeof line)) meet(all, pid, line);
    }
    closedir(stream);
}

unsigned address_list(FILE *out)
{
    char path[PATH_MAX];
    found all = {.out = out};
    for (unsigned i = 0; place(i, path, sizeof path); i++) {
        int directory = open_place(path, NULL);
        if (directory >= 0) look_into(directory, &all);
    }
    return all.count;
}

/* ---- By the number of a process, or by nothing at all ----------------------------------- */

static cen_status read_found(const char *line, long pid, address *out, cen_error *error)
{
    cen_status status = read_written(line, out, error);
    out->pid = pid;
    return status;
}

static cen_status find_process(long pid, address *out, cen_error *error)
{
    char path[PATH_MAX], name[64], line[ADDRESS_TEXT];
    cen_error why = {.status = CEN_OK};
    snprintf(name, sizeof name, "%ld.address", pid);
    for (unsigned i = 0; place(i, path, sizeof path); i++) {
        int directory = open_place(path, &why);
        bool there = directory >= 0 && read_line(directory, name, line, sizeof line);
        if (directory >= 0) close(directory);
        if (there && is_alive(pid)) return read_found(line, pid, out, error);
    }
    if (pid <= 0 || !is_alive(pid)) return address_fail(error, CEN_ABSENT, "There is no process %ld.", pid);
    if (why.status != CEN_OK) return address_fail(error, why.status, "%s", why.text);
    return address_fail(error, CEN_ABSENT,
                        "Process %ld has no inspect on that this user may find: it starts one by cen_inspect_start. If it runs as "
                        "another user, or with another $XDG_RUNTIME_DIR, name its address instead.", pid);
}

/* The first place that has any decides: a process started where we were has its file in the same place as we look first. */
static cen_status find_only(address *out, cen_error *error)
{
    char path[PATH_MAX];
    cen_error why = {.status = CEN_OK};
    found all = {.count = 0};
    for (unsigned i = 0; all.count == 0 && place(i, path, sizeof path); i++) {
        int directory = open_place(path, &why);
        if (directory >= 0) look_into(directory, &all);
    }
    if (all.count == 1) return read_found(all.line, all.pid, out, error);
    if (all.count > 1) return address_fail(error, CEN_EXISTS, "There are several processes with inspect on; name one of them:");
    if (why.status != CEN_OK) return address_fail(error, why.status, "%s", why.text);
    return address_fail(error, CEN_ABSENT,
                        "No process of this user has inspect on: a program starts it by cen_inspect_start. For one that is "
                        "elsewhere name its address: http://HOST:PORT/ or unix:PATH.");
}

cen_status address_find(const char *text, address *out, cen_error *error)
{
    memset(out, 0, sizeof *out);
    if (!text || !*text) return find_only(out, error);
    if (is_number(text)) return find_process(strtol(text, NULL, 10), out, error);
    return read_written(text, out, error);
}
