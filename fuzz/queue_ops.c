/* SPDX-License-Identifier: MIT */
/*
 * Bytes as operations on queues, beside the plain array of the model test.
 * Three bytes are one step: the operation, its first and its second argument.
 * One thread and nothing that waits, on the library as users get it: where the
 * model test has blocks of three slots, these have 255.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/plant.h"
#include "model/queue_ops.h"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool shows_steps;

/* CENOTE_PLANT switches a planted bug on, to see that it is found;
 * CENOTE_FUZZ_SHOW prints the steps, to read an input that was found. */
int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    const char *plant = getenv("CENOTE_PLANT");
    (void)count;
    (void)arguments;
    shows_steps = getenv("CENOTE_FUZZ_SHOW") != NULL;
    if (!plant || ceni_plant_choose(plant)) return 0;
    fprintf(stderr, "there is no planted bug named %s\n", plant);
    exit(2);
}

static void complain(const char *text)
{
    fprintf(stderr, "the queue and its model differ: %s\n", text);
    abort();
}

static void print_step(const model_op *op, int a, int b)
{
    char text[120];
    op->show(text, sizeof text, a, b);
    fprintf(stderr, "  %s\n", text);
}

static int argument(uint8_t byte, int range)
{
    return range > 0 ? byte % range : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    void *state = queue_ops_setup();
    if (!state) complain("setup failed");
    for (; size >= 3; bytes += 3, size -= 3) {
        const model_op *op = &queue_ops[bytes[0] % QUEUE_OPS];
        int a = argument(bytes[1], op->a_range), b = argument(bytes[2], op->b_range);
        if (shows_steps) print_step(op, a, b);
        const char *text = op->run(state, a, b);
        if (text) complain(text);
    }
    const char *text = queue_ops_teardown(state);
    if (text) complain(text);
    return 0;
}
