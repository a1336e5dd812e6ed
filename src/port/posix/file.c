/* SPDX-License-Identifier: MIT */
/*
 * Files.
 *
 * A shared file is created under a temporary name and gets its final name when it is complete. The naive version
 * truncates the existing file. Another process that still has it mapped, such as an older instance of the same
 * service, then dies when it next touches a page beyond the end. All blocks are allocated at once: otherwise the
 * process would die at a store when the disk is full.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "port/posix/cancel.h"

static cen_status failed(int failure, int *code)
{
    *code = failure;
    return CEN_SYSTEM;
}

static int try_open(const char *path, int flags)
{
    errno = EMFILE;
    return ceni_fault(CENI_FAULT_FD) ? -1 : open(path, flags | O_CLOEXEC, 0600);
}

/* Give the file its size and map it. Returns 0, or errno's value. */
static int fill_and_map(int fd, ceni_shared_file *file)
{
    int failure = ceni_fault(CENI_FAULT_FD) ? ENOSPC : posix_fallocate(fd, 0, (off_t)file->size);
    if (failure) return failure;
    if (ceni_fault(CENI_FAULT_MAP)) return ENOMEM;
    file->memory = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file->memory == MAP_FAILED) return errno;
#ifdef MADV_DONTFORK
    madvise(file->memory, file->size, MADV_DONTFORK); /* a child that touches it has a bug, and crashes */
#endif
    return 0;
}

cen_status ceni_shared_file_make(ceni_shared_file *file, const char *path, size_t size, int *code)
{
    *file = (ceni_shared_file){.size = size};
    int length = snprintf(file->path, sizeof file->path, "%s.%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof file->path) return failed(ENAMETOOLONG, code);
    int cancel = ceni_cancel_off();
    unlink(file->path); /* left by a process of the same number that was killed in here */
    int fd = try_open(file->path, O_RDWR | O_CREAT | O_EXCL);
    int failure = fd < 0 ? errno : fill_and_map(fd, file);
    if (fd >= 0) close(fd);
    if (fd >= 0 && failure) unlink(file->path);
    ceni_cancel_restore(cancel);
    return failure ? failed(failure, code) : CEN_OK;
}

cen_status ceni_shared_file_name(ceni_shared_file *file, const char *path, const char *old, int *code)
{
    if (rename(path, old) != 0 && errno != ENOENT) return failed(errno, code);
    return rename(file->path, path) == 0 ? CEN_OK : failed(errno, code);
}

void ceni_shared_file_discard(ceni_shared_file *file)
{
    munmap(file->memory, file->size);
    unlink(file->path);
}

bool ceni_file_is_special(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 && !S_ISREG(found.st_mode);
}

cen_status ceni_file_open(int *file, const char *path, int *code)
{
    struct stat found;
    int cancel = ceni_cancel_off();
    int failure = 0, fd = try_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY); /* do not block on a FIFO */
    if (fd < 0) failure = errno;
    else if (fstat(fd, &found) != 0) failure = errno;
    else if (!S_ISREG(found.st_mode)) failure = S_ISDIR(found.st_mode) ? EISDIR : EINVAL;
    if (fd >= 0 && failure) close(fd);
    ceni_cancel_restore(cancel);
    if (failure) return failed(failure, code);
    *file = fd;
    return CEN_OK;
}

cen_status ceni_file_read(int file, uint64_t at, void *bytes, size_t size, size_t *done, int *code)
{
    int cancel = ceni_cancel_off(), failure = 0;
    for (*done = 0; *done < size;) {
        ssize_t got = pread(file, (char *)bytes + *done, size - *done, (off_t)(at + *done));
        if (got > 0) *done += (size_t)got;
        else if (got == 0) break;
        else if (errno != EINTR) {
            failure = errno;
            break;
        }
    }
    ceni_cancel_restore(cancel);
    return failure ? failed(failure, code) : CEN_OK;
}

void ceni_file_close(int file)
{
    int cancel = ceni_cancel_off();
    close(file);
    ceni_cancel_restore(cancel);
}
