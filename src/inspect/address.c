/* SPDX-License-Identifier: MIT */
/*
 * Addresses, and the sockets that listen there.
 *
 * A host is numeric or "localhost". No name is looked up, so no call waits for a name server, and a name server's reply
 * cannot open the server to others.
 *
 * A Unix socket's file has mode 0600 from its first moment: the mode of the socket is set before bind, because the
 * process's umask belongs to the program. An existing file is replaced only if it is a socket on which no process
 * listens. Two processes that start there at the same time take turns by a lock on the directory.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "inspect/internal.h"

static cen_status wrong(cen_error *error, const char *at, const char *why)
{
    return ceni_inspect_error(error, CEN_INVALID, 0, "cen_inspect_start: options.at is \"%.120s\": %s", at, why);
}

/* ---- Parsing -------------------------------------------------------------------- */

static cen_status read_local(const char *at, ceni_inspect_endpoint *out, cen_error *error)
{
    const char *path = at + strlen("unix:");
    size_t length = strlen(path);
    if (path[0] != '/') return wrong(error, at, "a socket path must begin with a slash");
    if (length >= sizeof out->socket.local.sun_path)
        return wrong(error, at, "a socket path must have at most 107 bytes");
    if (path[length - 1] == '/') return wrong(error, at, "a socket path must not be a directory");
    out->socket.local.sun_family = AF_UNIX;
    memcpy(out->socket.local.sun_path, path, length + 1);
    out->length = sizeof out->socket.local;
    out->is_local = out->is_loopback = true;
    return CEN_OK;
}

/* Split "[::1]:80" or "127.0.0.1:80" into host, without brackets, and port. */
static bool split(const char *at, char host[64], uint16_t *port)
{
    const char *colon = strrchr(at, ':'), *begin = at, *end = colon;
    if (!colon || colon[1] < '0' || colon[1] > '9') return false;
    uint64_t number;
    if (!ceni_query_number(colon + 1, 65535, &number)) return false;
    if (at[0] == '[') {
        begin++, end--;
        if (end < begin || *end != ']') return false;
    } else if (memchr(at, ':', (size_t)(colon - at))) {
        return false; /* ::1:80 would be ambiguous */
    }
    if (end == begin || end - begin >= 64) return false;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = 0;
    *port = (uint16_t)number;
    return true;
}

static bool is_loopback(const ceni_inspect_endpoint *address)
{
    if (address->socket.any.sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)&address->socket.room)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&address->socket.room)->sin6_addr);
}

cen_status ceni_inspect_address_read(const char *at, bool anywhere, ceni_inspect_endpoint *out, cen_error *error)
{
    char host[64];
    uint16_t port;
    *out = (ceni_inspect_endpoint){0};
    if (strncmp(at, "unix:", 5) == 0) return read_local(at, out, error);
    if (!split(at, host, &port))
        return wrong(error, at, "write it as 127.0.0.1:9911, [::1]:9911, localhost:9911 or unix:/path");
    struct sockaddr_in *four = (struct sockaddr_in *)&out->socket.room;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&out->socket.room;
    if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        out->length = sizeof *four;
    } else if (at[0] == '[' && inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        out->length = sizeof *six;
    } else {
        return wrong(error, at, "the host must be localhost or a numeric address (no name lookup)");
    }
    out->is_loopback = is_loopback(out);
    if (!out->is_loopback && !anywhere) {
        wrong(error, at, "not a loopback address; needs options.anywhere and a token of at least 16 bytes");
        if (error) error->cause = CEN_CAUSE_NOT_LOOPBACK;
        return CEN_INVALID;
    }
    return CEN_OK;
}

/* ---- Listening ----------------------------------------------------------------------- */

static cen_status refused(cen_error *error, const char *address, int code)
{
    char why[128];
    const char *text = strerror_r(code, why, sizeof why);
    if (code == EADDRINUSE)
        return ceni_inspect_error(error, CEN_EXISTS, code, "cen_inspect_start: address %s already in use", address);
    return ceni_inspect_error(error, CEN_SYSTEM, code, "cen_inspect_start: cannot listen at %s: %s", address, text);
}

/* Open the directory and wait up to 0.1 s for its lock. Returns the descriptor, or -1. Without the lock the start goes
 * on. */
static int lock_directory(const char *path)
{
    char folder[sizeof((struct sockaddr_un *)NULL)->sun_path];
    size_t length = (size_t)(strrchr(path, '/') - path);
    memcpy(folder, path, length ? length : 1);
    folder[length ? length : 1] = 0;
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; directory >= 0 && i < 50 && flock(directory, LOCK_EX | LOCK_NB) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return directory;
}

/* Remove a stale socket file. Returns 0 if the path is free now, else an errno value. */
static int clear_path(const struct sockaddr_un *local)
{
    struct stat there;
    if (lstat(local->sun_path, &there) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISSOCK(there.st_mode)) return ENOTSOCK;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return errno;
    int answer = connect(probe, (const struct sockaddr *)local, sizeof *local) == 0 ? 0 : errno;
    close(probe);
    if (answer != ECONNREFUSED) return answer == ENOENT ? 0 : answer == 0 || answer == EAGAIN ? EADDRINUSE : answer;
    return unlink(local->sun_path) == 0 || errno == ENOENT ? 0 : errno;
}

static int listen_local(cen_inspect *inspect)
{
    const struct sockaddr_un *local = &inspect->at.socket.local;
    int directory = lock_directory(local->sun_path);
    int code = clear_path(local);
    struct stat there;
    if (code == 0 && (fchmod(inspect->listener, 0600) != 0 ||
                      bind(inspect->listener, &inspect->at.socket.any, inspect->at.length) != 0))
        code = errno;
    if (code == 0 && lstat(local->sun_path, &there) == 0) {
        inspect->device = there.st_dev;
        inspect->inode = there.st_ino;
        if ((there.st_mode & 077) && chmod(local->sun_path, 0600) != 0)
            code = errno; /* where the mode of a socket does not become its file's */
    }
    if (code == 0 && listen(inspect->listener, 64) != 0) code = errno;
    if (directory >= 0) close(directory);
    return code;
}

static int listen_network(cen_inspect *inspect)
{
    socklen_t length = sizeof inspect->at.socket;
    int yes = 1;
    setsockopt(inspect->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (inspect->at.socket.any.sa_family == AF_INET6)
        setsockopt(inspect->listener, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(inspect->listener, &inspect->at.socket.any, inspect->at.length) != 0 ||
        listen(inspect->listener, 64) != 0 || getsockname(inspect->listener, &inspect->at.socket.any, &length) != 0)
        return errno;
    return 0;
}

static void name_it(cen_inspect *inspect)
{
    const ceni_inspect_endpoint *at = &inspect->at;
    char host[INET6_ADDRSTRLEN];
    if (at->is_local) {
        snprintf(inspect->address, sizeof inspect->address, "unix:%s", at->socket.local.sun_path);
    } else if (at->socket.any.sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&at->socket.room;
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        snprintf(inspect->address, sizeof inspect->address, "http://%s:%u/", host, ntohs(four->sin_port));
    } else {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&at->socket.room;
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        snprintf(inspect->address, sizeof inspect->address, "http://[%s]:%u/", host, ntohs(six->sin6_port));
    }
}

cen_status ceni_inspect_listen(cen_inspect *inspect, cen_error *error)
{
    name_it(inspect); /* for messages */
    inspect->listener = socket(inspect->at.socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (inspect->listener < 0) return refused(error, inspect->address, errno);
    int code = inspect->at.is_local ? listen_local(inspect) : listen_network(inspect);
    if (code == 0) {
        name_it(inspect); /* with the port that the system chose */
        return CEN_OK;
    }
    ceni_inspect_unlink(inspect);
    close(inspect->listener);
    inspect->listener = -1;
    if (code == ENOTSOCK)
        return ceni_inspect_error(error, CEN_EXISTS, code, "cen_inspect_start: the file at %s is not a socket",
                                  inspect->address);
    return refused(error, inspect->address, code);
}

void ceni_inspect_unlink(const cen_inspect *inspect)
{
    struct stat there;
    if (!inspect->at.is_local || inspect->inode == 0) return;
    if (lstat(inspect->at.socket.local.sun_path, &there) == 0 && there.st_dev == inspect->device &&
        there.st_ino == inspect->inode)
        unlink(inspect->at.socket.local.sun_path);
}
