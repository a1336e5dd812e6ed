/* SPDX-License-Identifier: MIT */
/*
 * The sockets of a handle or a loop, as curl opens and closes them.
 *
 * To end a transfer of another thread its socket must not be closed: the number might be another file's when that
 * thread uses it. The socket is shut down instead, under the mutex that curl needs to close it.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "curl/internal.h"

static curl_socket_t open_socket(void *argument, curlsocktype purpose, struct curl_sockaddr *address)
{
    ceni_curl_sockets *sockets = argument;
    (void)purpose;
    pthread_mutex_lock(sockets->mutex);
    int fd = -1;
    if (!sockets->refuses) fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0 && sockets->count < CENI_CURL_SOCKETS) sockets->fds[sockets->count++] = fd;
    pthread_mutex_unlock(sockets->mutex);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int close_socket(void *argument, curl_socket_t fd)
{
    ceni_curl_sockets *sockets = argument;
    pthread_mutex_lock(sockets->mutex);
    for (unsigned i = 0; i < sockets->count; i++) {
        if (sockets->fds[i] != fd) continue;
        sockets->fds[i] = sockets->fds[--sockets->count];
        break;
    }
    int result = close(fd);
    pthread_mutex_unlock(sockets->mutex);
    return result;
}

void ceni_curl_sockets_watch(ceni_curl_sockets *sockets, CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, sockets);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, sockets);
}

void ceni_curl_sockets_shut_locked(ceni_curl_sockets *sockets, bool refuses)
{
    sockets->refuses = refuses;
    for (unsigned i = 0; i < sockets->count; i++) shutdown(sockets->fds[i], SHUT_RDWR);
}

void ceni_curl_sockets_shut(ceni_curl_sockets *sockets, bool refuses)
{
    pthread_mutex_lock(sockets->mutex);
    ceni_curl_sockets_shut_locked(sockets, refuses);
    pthread_mutex_unlock(sockets->mutex);
}

void ceni_curl_sockets_leave(ceni_curl_sockets *sockets)
{
    for (unsigned i = 0; i < sockets->count; i++) close(sockets->fds[i]);
    sockets->count = 0;
}

cen_status ceni_curl_socket_look(curl_socket_t fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return CEN_OK;
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? CEN_EMPTY : CEN_LOST;
}
