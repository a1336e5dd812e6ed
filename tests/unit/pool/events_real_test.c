/* SPDX-License-Identifier: MIT */
/* Events with threads of the system, and in the child of a fork. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/internal.h"
#include "unit/pool/ledger.h"
#include "unit/pool/pools.h"

enum { TELLERS = 3, EACH = 20000, CHANGES = 300 };

static cen_pool *pool;

/* ---- Threads -------------------------------------------------------------------------------------- */

/* Plain numbers, which only the listener's calls and, after they have ended, main touch: a race is a mistake of the pool's. */
typedef struct ear {
    long count;
    int last[TELLERS]; /* the number of each teller's last event */
    uint64_t missed;
    bool is_gone;
} ear;

static ear ears[CHANGES + 1];

static void hear(void *argument, const cen_event *event, uint64_t missed)
{
    ear *self = argument;
    expect(!self->is_gone);
    self->missed += missed;
    self->count++;
    if (event->kind != CEN_EVENT_RELOADED) return;
    expect(event->code > self->last[event->value]); /* in order, none twice */
    self->last[event->value] = event->code;
}

static void *tell_many(void *number)
{
    for (int i = 1; i <= EACH; i++)
        ceni_pool_event_tell(
            pool, (ceni_occurrence){.kind = CEN_EVENT_RELOADED, .value = (int64_t)(uintptr_t)number, .code = i},
            "number %d", i);
    return NULL;
}

TEST(every_event_of_several_threads_is_heard_once_by_one_listener_or_counted_as_lost)
{
    pthread_t threads[TELLERS];
    pool = make_pool(.max = 1);
    expect_equal(cen_pool_listen(pool, hear, &ears[0], NULL), CEN_OK);
    for (uintptr_t i = 0; i < TELLERS; i++) expect_equal(pthread_create(&threads[i], NULL, tell_many, (void *)i), 0);
    for (int i = 1; i <= CHANGES; i++) {
        usleep(50);
        expect_equal(cen_pool_listen(pool, hear, &ears[i], NULL), CEN_OK);
        ears[i - 1].is_gone = true;
    }
    for (int i = 0; i < TELLERS; i++) pthread_join(threads[i], NULL);
    /* What was told last may be lost, and then nobody says so: one that is not. */
    usleep(1000);
    expect_equal(cen_pool_listen(pool, hear, &ears[CHANGES], NULL), CEN_OK);
    free_pool(pool);
    ears[CHANGES].is_gone = true;
    long heard = 0, missed = 0;
    for (int i = 0; i <= CHANGES; i++) {
        heard += ears[i].count;
        missed += (long)ears[i].missed;
    }
    printf("     %ld heard, %ld missed\n", heard, missed);
    expect_equal(heard - 1 + missed, TELLERS * EACH); /* one is that the pool was closed */
}

/* ---- Fork --------------------------------------------------------------------------------------------- */

TEST(in_a_child_nobody_listens_and_free_gives_the_memory_of_the_queue_back)
{
    ledger book = {0};
    cen_allocator allocator = allocator_of(&book);
    ear one = {0};
    char text[300];
    pool = make_pool(.name = "parents", .max = 1, .allocator = &allocator);
    expect_equal(cen_pool_listen(pool, hear, &one, NULL), CEN_OK);
    pid_t child = fork();
    if (child == 0) {
        cen_error error;
        expect_equal(cen_pool_listen(pool, hear, &one, &error), CEN_FORKED);
        expect_error(&error, CEN_FORKED, "\"parents\"");
        expect_equal(cen_pool_listen(pool, NULL, NULL, NULL), CEN_FORKED);
        expect_equal(cen_pool_explain(pool, text, sizeof text), strlen(text) + 1);
        expect(strstr(text, "pool \"parents\": it belongs to the parent process") == text);
        free_pool(pool);
        expect_equal(book.bytes, 0);
        expect_equal(one.count, 0);
        _exit(0);
    }
    int status = -1;
    expect_equal(waitpid(child, &status, 0), child);
    expect_equal(status, 0);
    free_pool(pool);
    expect_equal(one.count, 1);
    expect_equal(book.bytes, 0);
}
