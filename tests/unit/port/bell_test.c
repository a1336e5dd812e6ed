/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"

static ceni_bell new_bell(void)
{
    ceni_bell bell;
    int code = 0;
    if (ceni_bell_init(&bell, &code) != CEN_OK) test_fail(__FILE__, __LINE__, "no bell: %s", strerror(code));
    return bell;
}

static bool rings(const ceni_bell *bell)
{
    struct pollfd look = {.fd = bell->read_fd, .events = POLLIN};
    int ready = poll(&look, 1, 0);
    expect(ready >= 0);
    return ready == 1 && (look.revents & POLLIN);
}

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *open_now = opendir("/proc/self/fd");
    expect(open_now != NULL);
    for (struct dirent *entry; (entry = readdir(open_now));) count += entry->d_name[0] != '.';
    closedir(open_now);
    return count;
}

TEST(a_bell_is_readable_after_a_ring_and_not_before)
{
    ceni_bell bell = new_bell();
    expect(!rings(&bell));
    ceni_bell_ring(&bell);
    expect(rings(&bell));
    expect(rings(&bell));
    ceni_bell_fini(&bell);
}

TEST(one_silence_ends_many_rings)
{
    ceni_bell bell = new_bell();
    for (int i = 0; i < 100000; i++) ceni_bell_ring(&bell); /* more than a pipe holds */
    expect(rings(&bell));
    ceni_bell_silence(&bell);
    expect(!rings(&bell));
    ceni_bell_ring(&bell);
    expect(rings(&bell));
    ceni_bell_silence(&bell);
    expect(!rings(&bell));
    ceni_bell_fini(&bell);
}

/* Exact multiples of the size a silence reads at once. */
TEST(a_silence_ends_any_number_of_rings)
{
    ceni_bell bell = new_bell();
    for (int count = 0; count <= 2048; count += 256) {
        for (int i = 0; i < count; i++) ceni_bell_ring(&bell);
        ceni_bell_silence(&bell);
        expect(!rings(&bell));
    }
    ceni_bell_fini(&bell);
}

TEST(silencing_a_silent_bell_does_not_wait)
{
    ceni_bell bell = new_bell();
    ceni_bell_silence(&bell);
    ceni_bell_silence(&bell);
    expect(!rings(&bell));
    ceni_bell_fini(&bell);
}

static void ring(void *bell)
{
    ceni_bell_ring(bell);
}

TEST(a_ring_wakes_a_thread_that_polls)
{
    ceni_bell bell = new_bell();
    ceni_thread thread;
    int code;
    struct pollfd look = {.fd = bell.read_fd, .events = POLLIN};
    expect(ceni_thread_start(&thread, "ringer", ring, &bell, &code) == CEN_OK);
    expect_equal(poll(&look, 1, -1), 1);
    ceni_thread_join(&thread);
    ceni_bell_fini(&bell);
}

TEST(a_bells_descriptors_are_closed_on_exec_and_do_not_block)
{
    ceni_bell bell = new_bell();
    int fds[2] = {bell.read_fd, bell.write_fd};
    for (int i = 0; i < 2; i++) {
        expect(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
        expect(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
    }
    ceni_bell_fini(&bell);
}

TEST(fini_closes_every_descriptor)
{
    unsigned before = count_descriptors();
    ceni_bell bell = new_bell();
    expect(count_descriptors() > before);
    ceni_bell_fini(&bell);
    expect_equal(count_descriptors(), before);
}

TEST(a_bell_that_cannot_be_made_says_why_and_leaves_nothing)
{
    unsigned before = count_descriptors();
    ceni_bell bell = {-7, -7};
    int code = 0;
    ceni_fault_arm(CENI_FAULT_FD, 1);
    expect_equal(ceni_bell_init(&bell, &code), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect_equal(code, EMFILE);
    expect_equal(bell.read_fd, -7);
    expect_equal(count_descriptors(), before);
}

static _Atomic bool got_through;

static void *use_bell_with_cancellation_pending(void *bell)
{
    pthread_cancel(pthread_self());
    ceni_bell_ring(bell);
    ceni_bell_silence(bell);
    ceni_bell_fini(bell);
    atomic_store(&got_through, true);
    pthread_testcancel();
    return NULL;
}

TEST(a_bell_is_no_cancellation_point)
{
    ceni_bell bell = new_bell();
    pthread_t thread;
    void *end;
    expect(pthread_create(&thread, NULL, use_bell_with_cancellation_pending, &bell) == 0);
    expect(pthread_join(thread, &end) == 0);
    expect(atomic_load(&got_through));
    expect(end == PTHREAD_CANCELED);
}
