/* SPDX-License-Identifier: MIT */
/*
 * A router whose members are not connections: five tables in memory, each with its own lock, which together form one
 * cache. Consistent hashing maps a key to its table.
 *
 *     1. 2000 keys are requested and loaded, because no table has them yet: the five tables share them
 *     2. one table goes down while two threads go on: its keys move to the other four, no other key moves,
 *        and every lookup still returns the right value
 *     3. it comes back, empty: its keys come back to it, and again no other key moves
 *
 * Reads only peek: in a read section a table stays valid until the section ends, and no counter is touched. Loaded
 * values are stored through a route, a counted use, so the owner of a table can wait for the end of all uses.
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
    bool has[KEYS]; /* true if the table has the key; a table for more keys would hash */
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
    return cen_route_key(name, (size_t)length);
}

/* ---- The cache ---------------------------------------------------------------------------- */

/* Return true if the key's table has it; *where: that table. */
static bool look_up(int number, long *value, table **where)
{
    cen_route_hint pick = {.key = key_of(number)};
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

/* Load the value from the slow source, and store it in the key's table. */
static long load(int number)
{
    long value = number * 7L + 1;
    cen_route_hint pick = {.key = key_of(number)};
    cen_route route;
    atomic_fetch_add(&loads, 1);
    /* no table is up: return the value without storing it */
    if (cen_router_route(router, &pick, CEN_NOW, &route, NULL) != CEN_OK) return value;
    table *at = route.value;
    pthread_mutex_lock(&at->lock);
    at->has[number] = true;
    at->values[number] = value;
    pthread_mutex_unlock(&at->lock);
    /* DOWN if the table has gone meanwhile: the stored value is not missed */
    cen_route_done(&route, CEN_OUTCOME_OK, 0);
    return value;
}

static long get(int number)
{
    long value;
    return look_up(number, &value, NULL) ? value : load(number);
}

/* ---- Readers ---------------------------------------------------------------------------------- */

static atomic_bool stop;
static atomic_long asked;

static void *ask_on_and_on(void *argument)
{
    unsigned number = *(unsigned *)argument;
    while (!atomic_load(&stop)) {
        number = (number * 1103515245u + 12345u) & 0x7fffffff;
        int key = (int)(number % KEYS);
        assert(get(key) == key * 7L + 1); /* in every state of the tables */
        atomic_fetch_add(&asked, 1);
    }
    return NULL;
}

static void ask_some_more(long times)
{
    long until = atomic_load(&asked) + times;
    while (atomic_load(&asked) < until) sched_yield();
}

/* ---- Places of keys ------------------------------------------------------------------------------ */

static int places[KEYS];

/* Store where each key is now. Returns how many have moved; *strangers: how many of these moved neither from nor to
 * `changed`. */
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

/* ---- The demonstration ----------------------------------------------------------------------------- */

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
        assert(cen_member_up(tables[i].member, NULL) == CEN_OK);
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
    assert(atomic_load(&loads) == KEYS); /* all were in the tables */

    cen_error cause = {.status = CEN_LOST, .text = "its machine was switched off"};
    assert(cen_member_down(tables[GONE].member, &cause) == CEN_OK);
    ask_some_more(20000);
    moved = note_places(GONE, &strangers);
    say_shares("table-c is down");
    printf("%22s  %d keys moved, %d of other tables\n", "", moved, strangers);
    assert(moved > KEYS / TABLES / 2 && moved < KEYS / TABLES * 3 / 2 && strangers == 0);

    empty(&tables[GONE]);
    assert(cen_member_up(tables[GONE].member, NULL) == CEN_OK);
    ask_some_more(20000);
    int back = note_places(GONE, &strangers);
    say_shares("table-c is back");
    printf("%22s  %d keys moved, %d of other tables\n", "", back, strangers);
    assert(back == moved && strangers == 0);

    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%ld lookups, all correct; %ld loads for %d keys\n", atomic_load(&asked), atomic_load(&loads), KEYS);
    assert(cen_router_free(router) == CEN_OK);
    return 0;
}
