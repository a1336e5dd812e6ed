/* SPDX-License-Identifier: MIT */
/*
 * A router whose members are no connections at all: five tables in memory, each with
 * its own lock, that together are one cache. A key has its table by consistent hash.
 *
 *     1. 2000 keys are asked for, and loaded, since nobody has them yet: five tables share them
 *     2. one table goes down while two threads go on asking: its keys move to the other four, no other key moves,
 *        and nobody is told anything but a value
 *     3. it comes back, empty: its keys come back to it, and again no other moves
 *
 * Reads only peek: in a read section a table is there until the section ends, and nobody
 * counts anything. What is loaded is put there by a route, a counted use: who wants the table to
 * end can wait for it.
 */
#undef NDEBUG /* in every build */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/router.h>

enum { TABLES = 5, KEYS = 2000 };

typedef struct table {
    char name[16];
    pthread_mutex_t lock;
    bool has[KEYS]; /* of each key: whether it is here; a table for more would hash */
    long values[KEYS];
    cen_member *member;
} table;

static table tables[TABLES];
static cen_router *router;
static atomic_long loads;

static uint64_t key_of(int number)
{
    char name[24];
    int length = snprintf(name, sizeof name, "user:%d", number);
    return cen_pick_key(name, (size_t)length);
}

/* ---- The cache ---------------------------------------------------------------------------- */

/* Whether the key's table has it; which table that is, by the way. */
static bool look_up(int number, long *value, table **where)
{
    cen_pick pick = {.key = key_of(number)};
    cen_member *member;
    bool found = false;
    cen_read_begin();
    if (cen_router_peek(router, &pick, &member) == CEN_OK) {
        table *at = cen_member_value(member);
        pthread_mutex_lock(&at->lock);
        found = at->has[number];
        if (found) *value = at->values[number];
        pthread_mutex_unlock(&at->lock);
        if (where) *where = at;
    }
    cen_read_end();
    return found;
}

/* From where it is slow to have it, and into the key's table. */
static long load(int number)
{
    long value = number * 7L + 1;
    cen_pick pick = {.key = key_of(number)};
    cen_route route;
    atomic_fetch_add(&loads, 1);
    /* no table is up: it goes without */
    if (cen_router_route(router, &pick, CEN_NOW, &route, NULL) != CEN_OK) return value;
    table *at = route.value;
    pthread_mutex_lock(&at->lock);
    at->has[number] = true;
    at->values[number] = value;
    pthread_mutex_unlock(&at->lock);
    /* DOWN, if the table has gone meanwhile: what was put there is not missed */
    cen_route_done(&route, CEN_OUTCOME_OK, 0);
    return value;
}

static long get(int number)
{
    long value;
    return look_up(number, &value, NULL) ? value : load(number);
}

/* ---- Who asks --------------------------------------------------------------------------------- */

static atomic_bool stop;
static atomic_long asked;

static void *ask_on_and_on(void *argument)
{
    unsigned number = *(unsigned *)argument;
    while (!atomic_load(&stop)) {
        number = (number * 1103515245u + 12345u) & 0x7fffffff;
        int key = (int)(number % KEYS);
        assert(get(key) == key * 7L + 1); /* whatever happens to the tables */
        atomic_fetch_add(&asked, 1);
    }
    return NULL;
}

static void ask_some_more(long times)
{
    long until = atomic_load(&asked) + times;
    while (atomic_load(&asked) < until) sched_yield();
}

/* ---- Where keys are ------------------------------------------------------------------------------ */

static int places[KEYS];

/* Notes where each key is now; how many were elsewhere before, and of these, how many that is neither from nor to `changed`. */
static int note_places(int changed, int *strangers)
{
    int moved = 0;
    *strangers = 0;
    for (int i = 0; i < KEYS; i++) {
        long value;
        table *where = NULL;
        look_up(i, &value, &where);
        int now = (int)(where - tables);
        if (now != places[i]) {
            moved++;
            if (now != changed && places[i] != changed) ++*strangers;
        }
        places[i] = now;
    }
    return moved;
}

static void say_shares(const char *when)
{
    int shares[TABLES] = {0};
    for (int i = 0; i < KEYS; i++) shares[places[i]]++;
    printf("%-22s", when);
    for (int i = 0; i < TABLES; i++) printf("  %s %4d", tables[i].name, shares[i]);
    printf("\n");
}

/* ---- The play -------------------------------------------------------------------------------------- */

static void open_tables(void)
{
    cen_error error;
    cen_router_options options = CEN_ROUTER_OPTIONS(.name = "cache", .strategy = cen_strategy_consistent_hash());
    if (cen_router_new(&options, &router, &error) != CEN_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    for (int i = 0; i < TABLES; i++) {
        snprintf(tables[i].name, sizeof tables[i].name, "table-%c", 'a' + i);
        pthread_mutex_init(&tables[i].lock, NULL);
        cen_member_options member = CEN_MEMBER_OPTIONS(.name = tables[i].name, .value = &tables[i]);
        assert(cen_router_add(router, &member, &tables[i].member, &error) == CEN_OK);
        assert(cen_member_up(tables[i].member) == CEN_OK);
    }
}

static void empty(table *it)
{
    pthread_mutex_lock(&it->lock);
    memset(it->has, 0, sizeof it->has);
    pthread_mutex_unlock(&it->lock);
}

int main(void)
{
    enum { GONE = 2 };
    unsigned seeds[2] = {1, 2};
    pthread_t threads[2];
    int moved, strangers;
    open_tables();

    for (int i = 0; i < KEYS; i++) assert(get(i) == i * 7L + 1);
    assert(atomic_load(&loads) == KEYS); /* each once */
    note_places(GONE, &strangers);
    say_shares("five tables");

    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, ask_on_and_on, &seeds[i]);
    ask_some_more(20000);
    assert(atomic_load(&loads) == KEYS); /* all were there */

    cen_error cause = {.status = CEN_LOST, .text = "its machine was switched off"};
    assert(cen_member_down(tables[GONE].member, &cause) == CEN_OK);
    ask_some_more(20000);
    moved = note_places(GONE, &strangers);
    say_shares("table-c is down");
    printf("%22s  %d keys moved, %d that were not its own\n", "", moved, strangers);
    assert(moved > KEYS / TABLES / 2 && moved < KEYS / TABLES * 3 / 2 && strangers == 0);

    empty(&tables[GONE]);
    assert(cen_member_up(tables[GONE].member) == CEN_OK);
    ask_some_more(20000);
    int back = note_places(GONE, &strangers);
    say_shares("table-c is back");
    printf("%22s  %d keys moved, %d that are not its own\n", "", back, strangers);
    assert(back == moved && strangers == 0);

    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%ld answers, every one right; %ld loads for %d keys\n", atomic_load(&asked), atomic_load(&loads), KEYS);
    assert(cen_router_free(router) == CEN_OK);
    return 0;
}
