/* SPDX-License-Identifier: MIT */
/* A channel between threads: bounded, so that a fast producer waits for its consumer.
 * cc queue.c $(pkg-config --cflags --libs cenote) -pthread */
#include <cenote/cenote.h>
#include <pthread.h>
#include <stdio.h>

static void *produce(void *queue)
{
    for (int i = 1; i <= 1000; i++) cen_queue_push(queue, &i); /* waits while the queue is full */
    cen_queue_close(queue);
    return NULL;
}

int main(void)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .capacity = 16);
    cen_queue *queue;
    cen_error error;
    pthread_t producer;
    long sum = 0;
    if (cen_queue_new(&options, &queue, &error) != CEN_OK) return puts(error.text), 1;
    if (pthread_create(&producer, NULL, produce, queue) != 0) return 1;
    for (int i; cen_queue_pop(queue, &i) == CEN_OK;) sum += i; /* until it is closed and empty */
    pthread_join(producer, NULL);
    cen_queue_free(queue);
    printf("the sum is %ld\n", sum);
    return sum == 500500 ? 0 : 1;
}
