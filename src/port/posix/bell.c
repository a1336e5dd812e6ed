/* SPDX-License-Identifier: MIT */
/* The bell as a pipe: readable while it contains bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "port/posix/cancel.h"

cen_status ceni_bell_init(ceni_bell *bell, int *code)
{
    int fds[2], failure = 0;
    if (ceni_fault(CENI_FAULT_FD)) failure = EMFILE;
    else if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) failure = errno;
    if (failure) {
        *code = failure;
        return CEN_SYSTEM;
    }
    bell->read_fd = fds[0];
    bell->write_fd = fds[1];
    return CEN_OK;
}

void ceni_bell_fini(ceni_bell *bell)
{
    int cancel = ceni_cancel_off();
    close(bell->write_fd);
    close(bell->read_fd);
    ceni_cancel_restore(cancel);
    bell->read_fd = bell->write_fd = -1;
}

/* The write fails if the pipe is full: then the bell rings already. */
void ceni_bell_ring(const ceni_bell *bell)
{
    int cancel = ceni_cancel_off();
    while (write(bell->write_fd, "!", 1) < 0 && errno == EINTR) continue;
    ceni_cancel_restore(cancel);
}

/* A short read has emptied the pipe; a read that fails found it empty. */
uint32_t ceni_bell_silence(const ceni_bell *bell)
{
    char bytes[512];
    uint32_t rings = 0;
    ssize_t got;
    int cancel = ceni_cancel_off();
    do {
        got = read(bell->read_fd, bytes, sizeof bytes);
        if (got > 0) rings += (uint32_t)got;
    } while (got == (ssize_t)sizeof bytes || (got < 0 && errno == EINTR));
    ceni_cancel_restore(cancel);
    return rings;
}
