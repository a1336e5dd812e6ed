/* SPDX-License-Identifier: MIT */
#include "faultproxy/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faultproxy/proxy.h"

/* ---- Talks ---------------------------------------------------------------------------------- */

static void on_talk_closed(uv_handle_t *handle)
{
    ((fp_talk *)handle->data)->closing = false;
}

static void end_talk(fp_talk *talk)
{
    if (talk->in < 0) return;
    if (talk->poll.data) {
        talk->closing = true;
        uv_close((uv_handle_t *)&talk->poll, on_talk_closed);
        talk->poll.data = talk;
    }
    close(talk->in);
    talk->in = -1;
}

/* Write everything, and wait if the reader is slow. */
static bool write_all(int fd, const char *text, size_t size)
{
    while (size) {
        ssize_t count = write(fd, text, size);
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) text += count, size -= (size_t)count;
    }
    return true;
}

static bool answer(fp_talk *talk, const char *text)
{
    char line[FP_ANSWER + 1];
    int size = snprintf(line, sizeof line, "%s\n", text);
    if (talk->is_stdin) return write_all(talk->out, line, (size_t)size);
    return send(talk->out, line, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) == size;
}

/* Execute one complete line. Returns false if the talk is over. */
static bool take_line(fp_talk *talk)
{
    char text[FP_ANSWER];
    fp_proxy_obey(talk->proxy, talk->line, talk->used, text);
    talk->used = 0;
    return answer(talk, text) && !talk->proxy->quits;
}

static bool take_byte(fp_talk *talk, char byte)
{
    if (byte == '\n') return take_line(talk);
    if (talk->used < sizeof talk->line) talk->line[talk->used++] = byte;
    return true;
}

/* Read once. Returns false if the talk is over. */
static bool read_talk(fp_talk *talk)
{
    char bytes[512];
    ssize_t count = read(talk->in, bytes, sizeof bytes);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    for (ssize_t i = 0; i < count; i++)
        if (!take_byte(talk, bytes[i])) return false;
    return count > 0;
}

/* End the talk, and the proxy, too, if it was to end with this talk. */
static void hang_up(fp_talk *talk)
{
    fp_proxy *proxy = talk->proxy;
    bool was_last = talk->is_stdin && proxy->control.follow_stdin;
    end_talk(talk);
    if (was_last || proxy->quits) fp_proxy_end(proxy);
}

static void on_talk(uv_poll_t *poll, int status, int events)
{
    fp_talk *talk = poll->data;
    (void)events;
    if (status < 0 || !read_talk(talk)) hang_up(talk);
}

static void begin_talk(fp_talk *talk, fp_proxy *proxy, int in, int out)
{
    memset(talk, 0, sizeof *talk);
    talk->proxy = proxy;
    talk->in = in;
    talk->out = out;
    talk->is_stdin = in != out;
    if (uv_poll_init(&proxy->loop, &talk->poll, in) == 0) {
        talk->poll.data = talk;
        uv_poll_start(&talk->poll, UV_READABLE, on_talk);
        return;
    }
    /* libuv cannot watch a file, but a file can be read to its end at once. */
    while (talk->in >= 0 && read_talk(talk)) continue;
    hang_up(talk);
}

/* ---- The control socket --------------------------------------------------------------------- */

static void on_client(uv_poll_t *poll, int status, int events)
{
    fp_proxy *proxy = poll->data;
    (void)status;
    (void)events;
    int fd = accept4(proxy->control.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    for (unsigned i = 1; i < FP_TALKS; i++) {
        fp_talk *talk = &proxy->control.talks[i];
        if (talk->in >= 0 || talk->closing) continue;
        begin_talk(talk, proxy, fd, fd);
        return;
    }
    close(fd); /* too many at once */
}

static int listen_at(const fp_address *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    mode_t mask = umask(0177); /* only the user who started the proxy may connect */
    bool good = fd >= 0 && bind(fd, (const struct sockaddr *)&at->at, at->size) == 0;
    int error = errno;
    umask(mask);
    if (good && listen(fd, FP_TALKS) == 0) return fd;
    if (good) error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return -1;
}

bool fp_control_start(fp_control *control, fp_proxy *proxy, const char *path, char why[FP_SENTENCE])
{
    fp_address at;
    char text[FP_ADDRESS_TEXT];
    control->fd = -1;
    for (unsigned i = 0; i < FP_TALKS; i++) control->talks[i].in = -1;
    if (!path) return true;
    snprintf(text, sizeof text, "unix:%s", path);
    fp_address_parse(&at, text, strlen(text));
    control->fd = listen_at(&at);
    if (control->fd < 0 || uv_poll_init(&proxy->loop, &control->poll, control->fd) != 0) {
        snprintf(why, FP_SENTENCE, "Cannot create the control socket %s: %s.", path,
                 uv_strerror(uv_translate_sys_error(errno)));
        if (control->fd >= 0) close(control->fd), unlink(path);
        control->fd = -1;
        return false;
    }
    snprintf(control->path, sizeof control->path, "%s", path);
    control->poll.data = proxy;
    uv_poll_start(&control->poll, UV_READABLE, on_client);
    return true;
}

void fp_control_read_stdin(fp_control *control, fp_proxy *proxy, bool follow)
{
    /* Open it again if possible: libuv makes watched descriptors non-blocking, and a terminal may be shared with other
     * processes. */
    int fd = open("/dev/stdin", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    control->follow_stdin = follow;
    if (fd >= 0) begin_talk(&control->talks[0], proxy, fd, STDOUT_FILENO);
    else if (follow) fp_proxy_end(proxy);
}

void fp_control_stop(fp_control *control)
{
    for (unsigned i = 0; i < FP_TALKS; i++) end_talk(&control->talks[i]);
    if (control->fd < 0) return;
    uv_close((uv_handle_t *)&control->poll, NULL);
    close(control->fd);
    unlink(control->path);
    control->fd = -1;
}
