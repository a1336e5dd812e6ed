/* SPDX-License-Identifier: MIT */
/* The bell as an eventfd: a counter; the descriptor is readable while it is not zero. */
#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "port/posix/cancel.h"

cen_status ceni_bell_init(ceni_bell *bell, int *code)
{
    int fd = -1;
    if (ceni_fault(CENI_FAULT_FD)) errno = EMFILE;
    else fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
        *code = errno;
        return CEN_SYSTEM;
    }
    bell->read_fd = bell->write_fd = fd;
    return CEN_OK;
}

void ceni_bell_fini(ceni_bell *bell)
{
    int cancel = ceni_cancel_off();
    close(bell->read_fd);
    ceni_cancel_restore(cancel);
    bell->read_fd = bell->write_fd = -1;
}

/* The write fails if the counter is at its maximum: then the bell rings already. */
void ceni_bell_ring(const ceni_bell *bell)
{
    uint64_t one = 1;
    int cancel = ceni_cancel_off();
    while (write(bell->write_fd, &one, sizeof one) < 0 && errno == EINTR) continue;
    ceni_cancel_restore(cancel);
}

/* One read takes the whole count; it fails if the count is zero. */
uint32_t ceni_bell_silence(const ceni_bell *bell)
{
    uint64_t rings = 0;
    int cancel = ceni_cancel_off();
    while (read(bell->read_fd, &rings, sizeof rings) < 0 && errno == EINTR) continue;
    ceni_cancel_restore(cancel);
    return (uint32_t)rings;
}
