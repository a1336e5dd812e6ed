/* SPDX-License-Identifier: MIT */
/*
 * Five threads share five objects, lent first in, first out.
 *
 *     round 0     threads A B C D E take     objects 1 2 3 4 5
 *     round 1             B C D E A                  1 2 3 4 5     and so on
 *
 * In each round all five are in use at once and are given back in the order of their takes. The next round begins with
 * the next thread. So if the pool always lends the object that has been idle longest, ten rounds bring every object to
 * every thread twice. At the end one thread takes all five and waits for a sixth.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/cenote.h>

enum { THREADS = 5, ROUNDS = 10 };

static struct object {
    atomic_int users;         /* at the moment: never two */
    int entries, by[THREADS]; /* written by the object's holder */
} objects[THREADS];

static cen_pool *pool;
static atomic_int turn, in_use, most_in_use, violations;

static void wait_for_turn(int mine)
{
    while (turn != mine) sched_yield();
}

static void *use_ten_times(void *number)
{
    int self = (int)(intptr_t)number;
    for (int round = 0; round < ROUNDS; round++) {
        int place = (self - round + ROUNDS) % THREADS, my_turn = 2 * THREADS * round + place;
        cen_lease lease;
        wait_for_turn(my_turn);
        if (cen_pool_take(pool, cen_in_s(1), &lease, NULL) != CEN_OK) abort();
        if (++in_use > most_in_use) most_in_use = (int)in_use;
        turn++;

        struct object *object = lease.object;
        if (object->users++ != 0 || object != &objects[place]) violations++;
        object->entries++;
        object->by[self]++;

        wait_for_turn(my_turn + THREADS); /* when all have taken, and the threads before have given */
        object->users--;
        in_use--;
        cen_pool_give(&lease);
        turn++;
    }
    return NULL;
}

static bool every_object_was_used_by_all(void)
{
    int entries = 0;
    bool by_all = true;
    for (int i = 0; i < THREADS; i++) {
        printf("object %d had %d uses:", i + 1, objects[i].entries);
        for (int t = 0; t < THREADS; t++) {
            printf("  %c %d", 'A' + t, objects[i].by[t]);
            by_all = by_all && objects[i].by[t] > 0;
        }
        puts("");
        entries += objects[i].entries;
    }
    printf("%d uses in all, up to %d at once.\n", entries, (int)most_in_use);
    return by_all && entries == THREADS * ROUNDS && most_in_use == THREADS && violations == 0;
}

static bool a_sixth_take_times_out(void)
{
    cen_lease leases[THREADS], sixth;
    for (int i = 0; i < THREADS; i++)
        if (cen_pool_take(pool, CEN_NOW, &leases[i], NULL) != CEN_OK) return false;
    int64_t begin = cen_clock();
    cen_status status = cen_pool_take(pool, cen_in_s(1), &sixth, NULL);
    double seconds = (double)(cen_clock() - begin) / 1e9;
    printf("One thread has all five and waits %.2f s for a sixth: %s\n", seconds, cen_status_name(status));
    for (int i = 0; i < THREADS; i++) cen_pool_give(&leases[i]);
    return status == CEN_TIMEOUT && seconds >= 1;
}

int main(void)
{
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "objects", .max = THREADS, .order = CEN_ORDER_FIFO);
    if (cen_pool_new(&options, &pool, NULL) != CEN_OK) return 1;
    for (int i = 0; i < THREADS; i++) cen_pool_adopt(pool, &objects[i], NULL);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, use_ten_times, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    bool right = every_object_was_used_by_all() && a_sixth_take_times_out();
    cen_pool_free(pool);
    puts(right ? "Every object was used by every thread, and never by two at once." : "Some checks failed.");
    return right ? 0 : 1;
}
