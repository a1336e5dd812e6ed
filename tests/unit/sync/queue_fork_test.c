/* SPDX-License-Identifier: MIT */
/* What a forked child may do with a queue of its parent's: free it, whatever
 * the parent's other threads were doing. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/port.h"
#include "support/test.h"
#include "sync/queue_internal.h"

static cen_queue *queue;
static int dropped;

static void count_drop(void *unused, void *element)
{
    (void)unused;
    dropped += *(int *)element;
}

static void *push_and_wait(void *unused)
{
    (void)unused;
    int value = 2;
    expect_equal(cen_queue_push(queue, &value), CEN_OK);
    return NULL;
}

static void free_in_the_child(void)
{
    dropped = 0;
    *ceni_rank_mask() = 0; /* the lock is held by a thread that is not here */
    cen_queue_free(queue);
    _exit(dropped == 1 ? 0 : 1);
}

TEST(a_child_frees_a_queue_on_which_the_parents_threads_wait)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .capacity = 1, .drop = count_drop);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    int value = 1;
    expect_equal(cen_queue_push(queue, &value), CEN_OK);
    pthread_t pusher;
    expect_equal(pthread_create(&pusher, NULL, push_and_wait, NULL), 0);
    while (ceni_waitlist_count(&queue->pushes) == 0) ceni_thread_yield();

    ceni_waitlist_lock(&queue->pushes); /* as a thread that the child will not have */
    pid_t child = fork();
    if (child == 0) free_in_the_child();
    int status = -1;
    expect_equal(waitpid(child, &status, 0), child);
    ceni_waitlist_unlock(&queue->pushes);
    expect_equal(status, 0);

    expect_equal(cen_queue_pop(queue, &value), CEN_OK);
    pthread_join(pusher, NULL);
    cen_queue_free(queue);
    expect_equal(dropped, 2);
}
