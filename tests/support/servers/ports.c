/* SPDX-License-Identifier: MIT */
/*
 * Ports, and the first words with a server.
 *
 * A port that a server is to have again after a restart must not come from the range out of which the system
 * gives ports to those who connect: one of them might get it meanwhile, and a client that calls a dead server's
 * port from just that port would even be connected, to itself. So the ports are drawn below that range and
 * tried by binding; only if none can be had there does the system choose. While no server listens the guardian
 * keeps its ports bound, without listening, so that clients are refused and nobody else draws them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/servers/guardian.h"

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* ---- Choice ------------------------------------------------------------------------------------------------- */

/* A socket bound to the port, 0 being any; -1 if it is taken. */
static int bind_port(uint16_t port, bool again)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in address = loopback(port);
    /* Connections of the dead server may still be closing. A fresh port must not even have such. */
    if (fd >= 0 && again) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

static unsigned first_of_the_system(void)
{
    unsigned first = 0;
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (range && fscanf(range, "%u", &first) != 1) first = 0;
    if (range) fclose(range);
    return first;
}

static int choose_port(uint16_t *out)
{
    enum { LOWEST = 10000, TRIES = 100 };
    unsigned above = first_of_the_system();
    for (int i = 0; above > LOWEST + 1000 && above <= 65536 && i < TRIES; i++) {
        unsigned number;
        if (getrandom(&number, sizeof number, 0) != sizeof number) break;
        *out = (uint16_t)(LOWEST + number % (above - LOWEST));
        int fd = bind_port(*out, false);
        if (fd >= 0) return fd;
    }
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    int fd = bind_port(0, false);
    if (fd >= 0 && getsockname(fd, (struct sockaddr *)&address, &size) == 0) *out = ntohs(address.sin_port);
    return fd;
}

bool post_choose_ports(post *here)
{
    for (int i = 0; i < here->recipe->ports; i++) {
        here->held[i] = choose_port(&here->ports[i]);
        if (here->held[i] < 0) return post_fail(here, "there is no free port: error %d", errno);
    }
    return true;
}

bool post_hold_ports(post *here)
{
    for (int i = 0; i < here->recipe->ports; i++)
        if (here->held[i] < 0) here->held[i] = bind_port(here->ports[i], true);
    for (int i = 0; i < here->recipe->ports; i++)
        if (here->held[i] < 0) return false;
    return true;
}

void post_release_ports(post *here)
{
    for (int i = 0; i < POST_PORTS; i++) {
        if (here->held[i] >= 0) close(here->held[i]);
        here->held[i] = -1;
    }
}

/* ---- Words -------------------------------------------------------------------------------------------------- */

static bool ready(int fd, short events, int milliseconds)
{
    struct pollfd entry = {.fd = fd, .events = events};
    int count;
    do count = poll(&entry, 1, milliseconds);
    while (count < 0 && errno == EINTR);
    return count == 1;
}

size_t port_ask(uint16_t port, const void *request, size_t size, void *reply, size_t room, size_t enough)
{
    enum { FIRST_MS = 1000, MORE_MS = 50 };
    struct sockaddr_in address = loopback(port);
    size_t heard = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return 0;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS) goto done;
    if (!ready(fd, POLLOUT, FIRST_MS)) goto done;
    if (size && send(fd, request, size, MSG_NOSIGNAL) != (ssize_t)size) goto done;
    while (heard < enough && heard < room && ready(fd, POLLIN, heard ? MORE_MS : FIRST_MS)) {
        ssize_t more = recv(fd, (char *)reply + heard, room - heard, 0);
        if (more <= 0) break;
        heard += (size_t)more;
    }
done:
    close(fd);
    return heard;
}
