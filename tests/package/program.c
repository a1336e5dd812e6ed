/* SPDX-License-Identifier: MIT */
/* A program outside the tree: sends a few numbers through a queue. */
#include <stdio.h>

#include <cenote/cenote.h>

int main(void)
{
    if (cen_version() != CEN_VERSION_MAJOR * 1000000u + CEN_VERSION_MINOR * 1000u + CEN_VERSION_PATCH) {
        printf("the library is not the one of these headers\n");
        return 1;
    }
    cen_queue *queue;
    cen_error error;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .capacity = 4);
    if (cen_queue_new(&options, &queue, &error) != CEN_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    int sum = 0;
    for (int i = 1; i <= 4; i++) {
        if (cen_queue_push(queue, &i) != CEN_OK) return 1;
    }
    cen_queue_close(queue);
    for (int i; cen_queue_pop(queue, &i) == CEN_OK;) sum += i;
    cen_queue_free(queue);
    printf("the sum is %d\n", sum);
    return sum == 10 ? 0 : 1;
}
