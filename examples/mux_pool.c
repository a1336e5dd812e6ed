/* SPDX-License-Identifier: MIT */
/*
 * A routing pool, and what it does when things fail: the server, a connection, the registry. Each line of the output
 * was measured in this run. The last part measures the benefit of leaving the set: the server closes a connection every
 * 20 ms, and requests are routed once by a pool whose lost connections leave the set, and once by one where they stay.
 *
 *     requests ▶ router ─┬▶ connection 1 ▶ server
 *                        ├▶ connection 2 ▶
 *                        └▶ ...
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/mux_pool.h>
#include <cenote/mux_server.h>

enum { LINKS = 4, QUESTIONS = 20, CALLERS = 4, KILL_MS = 20, SHARE_MS = 800 };

static cen_mux_server *server;
static char address[64]; /* a Unix socket, so that the server can restart at the same address */
static bool all_well = true;

static void show(bool well, const char *what, const char *seen)
{
    printf("%-44s %s%s\n", what, seen, well ? "" : "   <- unexpected");
    all_well = all_well && well;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- The server: replies at once, or keeps a call if asked to ----------------------------------------------- */

static cen_mux_call *kept[QUESTIONS];
static atomic_int kept_count;

static void handle(void *argument, cen_mux_call *call)
{
    (void)argument;
    bool keeps = call->payload_size >= 4 && memcmp(call->payload, "keep", 4) == 0;
    if (keeps) kept[atomic_fetch_add(&kept_count, 1)] = call;
    else cen_mux_call_reply(call, call->payload, call->payload_size);
}

static void start_server(void)
{
    cen_mux_server_options options = CEN_MUX_SERVER_OPTIONS(.address = address, .handle = handle);
    cen_error error;
    if (cen_mux_server_start(&options, &server, &error) != CEN_OK) show(false, "the server", error.text);
}

/* ---- The client ------------------------------------------------------------------------------------------------ */

static cen_status ask_once(cen_mux_pool *pool)
{
    char reply[16];
    cen_request request;
    cen_request_init(&request, NULL, NULL);
    request.payload = "ping", request.size = 4;
    request.reply = reply, request.capacity = sizeof reply;
    request.deadline = cen_in_s(5);
    return cen_mux_pool_request(pool, NULL, &request, NULL);
}

static cen_mux_pool_stats look(cen_mux_pool *pool)
{
    cen_mux_pool_stats now = CEN_SIZED(cen_mux_pool_stats);
    cen_mux_pool_stats_get(pool, &now);
    return now;
}

/* Wait until `up` connections are up and `opened` have been opened in all. */
static bool await_up(cen_mux_pool *pool, uint32_t up, uint64_t opened)
{
    for (int i = 0; i < 5000; i++, pause_ms(1))
        if (look(pool).up == up && look(pool).opened >= opened) return true;
    return false;
}

/* ---- No server --------------------------------------------------------------------------------------------------- */

static void absent_server(void)
{
    char text[160];
    cen_mux_pool *pool;
    cen_error error;
    cen_mux_pool_options options = CEN_MUX_POOL_OPTIONS(.name = "demo", .address = address, .connections = LINKS,
                                                        .backoff_initial_ns = CEN_MS(1), .backoff_max_ns = CEN_MS(10));
    cen_status status = cen_mux_pool_new(&options, &pool, &error);
    show(status != CEN_OK, "no server, one connection required:", status == CEN_OK ? "a pool" : error.text);

    options.at_start = CEN_AT_START_EMPTY;
    if (cen_mux_pool_new(&options, &pool, &error) != CEN_OK) {
        show(false, "no server, none required:", error.text);
        return;
    }
    status = ask_once(pool);
    snprintf(text, sizeof text, "a pool, %u of %d up; a request: %s", look(pool).up, LINKS, cen_status_name(status));
    show(status == CEN_EMPTY, "no server, none required:", text);

    start_server();
    bool came = await_up(pool, LINKS, LINKS);
    status = ask_once(pool);
    snprintf(text, sizeof text, "%u of %d up; a request: %s", look(pool).up, LINKS, cen_status_name(status));
    show(came && status == CEN_OK, "the server starts later:", text);
    cen_mux_pool_free(pool);
}

static void same_names(void)
{
    const char *names[] = {"left", "right", "left"};
    cen_mux_pool *pool;
    cen_error error;
    cen_mux_pool_options options = CEN_MUX_POOL_OPTIONS(.address = address, .connections = 3, .names = names);
    cen_status status = cen_mux_pool_new(&options, &pool, &error);
    show(status == CEN_EXISTS, "two connections with one name:", cen_status_name(status));
}

/* ---- A connection dies, and the registry ------------------------------------------------------------------------- */

static void one_dies(cen_mux_pool *pool)
{
    cen_mux_pool_request_op asked[QUESTIONS];
    char text[160], replies[QUESTIONS][8];
    unsigned answered = 0, lost = 0, on_victim = 0;
    for (int i = 0; i < QUESTIONS; i++) {
        cen_mux_pool_request_op_init(&asked[i], NULL, NULL);
        asked[i].request.payload = "keep", asked[i].request.size = 4;
        asked[i].request.reply = replies[i], asked[i].request.capacity = sizeof replies[i];
        cen_mux_pool_request_async(pool, &asked[i]); /* returns at once */
    }
    while (atomic_load(&kept_count) < QUESTIONS) pause_ms(1);
    uint64_t victim = kept[0]->client;
    for (int i = 0; i < QUESTIONS; i++) on_victim += kept[i]->client == victim;
    cen_mux_server_kill(server, victim);
    bool back = await_up(pool, LINKS, LINKS + 1);
    for (int i = 0; i < QUESTIONS; i++) cen_mux_call_reply(kept[i], "ok", 2); /* only surviving connections get it */
    for (int i = 0; i < QUESTIONS; i++) {
        cen_future_wait(&asked[i].future, cen_in_s(5));
        answered += asked[i].future.status == CEN_OK;
        lost += asked[i].future.status == CEN_LOST;
    }
    snprintf(text, sizeof text, "%u requests of its own lost, %u of the others answered; %u of %d up", lost, answered,
             look(pool).up, LINKS);
    bool others_unharmed = answered == QUESTIONS - on_victim && look(pool).opened == LINKS + 1;
    show(back && lost == on_victim && others_unharmed, "one connection dies:", text);
}

static void find_registry(void *argument, const cen_child_stats *child)
{
    if (strcmp(child->name, "registry") == 0) *(cen_child *)argument = child->child;
}

static void registry_dies(cen_mux_pool *pool)
{
    char text[160];
    cen_child registry = {0, 0};
    const cen_error why = {.status = CEN_DRIVER, .text = "The registry is declared dead."};
    uint64_t before = look(pool).opened;
    cen_supervisor_each(cen_mux_pool_supervisor(pool), find_registry, &registry);
    cen_child_report_ended(registry, &why);
    bool back = await_up(pool, LINKS, before + LINKS);
    snprintf(text, sizeof text, "started %llu times, %llu connections reopened; a request: %s",
             (unsigned long long)look(pool).registry_starts, (unsigned long long)(look(pool).opened - before),
             cen_status_name(ask_once(pool)));
    show(back && look(pool).opened - before == LINKS && ask_once(pool) == CEN_OK, "the registry dies:", text);
}

static void deaths(void)
{
    char tree[2048];
    cen_mux_pool *pool;
    cen_error error;
    cen_mux_pool_options options = CEN_MUX_POOL_OPTIONS(.name = "demo", .address = address, .connections = LINKS,
                                                        .strategy = cen_strategy_strict_round_robin());
    if (cen_mux_pool_new(&options, &pool, &error) != CEN_OK || !await_up(pool, LINKS, LINKS)) {
        show(false, "a pool:", error.text);
        return;
    }
    one_dies(pool);
    registry_dies(pool);
    cen_mux_pool_dump(pool, tree, sizeof tree);
    printf("\n%s\n", tree);
    cen_mux_pool_close(pool, cen_in_s(5), NULL, NULL);
    cen_mux_pool_free(pool);
}

/* ---- The benefit of leaving the set ------------------------------------------------------------------------------ */

typedef struct tally {
    cen_mux_pool *pool;
    atomic_int over;
} tally;

static void *call_again_and_again(void *argument)
{
    tally *self = argument;
    while (!atomic_load(&self->over)) {
        ask_once(self->pool);
        nanosleep(&(struct timespec){0, 100000}, NULL); /* the same pace, even if it fails at once */
    }
    return NULL;
}

/* The server closes one connection after the other. */
static void kill_for_a_while(void)
{
    uint64_t next = 1;
    for (int i = 0; i < SHARE_MS / KILL_MS; i++, pause_ms(KILL_MS)) {
        cen_mux_server_stats now = CEN_SIZED(cen_mux_server_stats);
        cen_mux_server_stats_get(server, &now);
        while (next <= now.accepted && cen_mux_server_kill(server, next) != CEN_OK) next++;
    }
}

static double share_of_failures(bool keep_lost)
{
    tally self = {.over = 0};
    pthread_t callers[CALLERS];
    cen_error error;
    cen_mux_pool_options options =
        CEN_MUX_POOL_OPTIONS(.name = "share", .address = address, .reroutes = CEN_NONE,
                             .backoff_initial_ns = CEN_MS(20), .backoff_max_ns = CEN_MS(40), .keep_lost = keep_lost);
    if (cen_mux_pool_new(&options, &self.pool, &error) != CEN_OK) {
        show(false, "a pool:", error.text);
        return 0;
    }
    for (int i = 0; i < CALLERS; i++) pthread_create(&callers[i], NULL, call_again_and_again, &self);
    kill_for_a_while();
    atomic_store(&self.over, 1);
    for (int i = 0; i < CALLERS; i++) pthread_join(callers[i], NULL);
    cen_mux_pool_stats now = look(self.pool);
    uint64_t failed = now.lost_requests + now.timed_out + now.refused + now.closed + now.failed,
             total = now.answered + failed;
    double share = total ? 100.0 * (double)failed / (double)total : 0;
    printf("%-18s %10llu %10llu %10llu %10llu %11.3f %%\n", keep_lost ? "stay in the set" : "leave the set",
           (unsigned long long)total, (unsigned long long)failed, (unsigned long long)now.stale,
           (unsigned long long)now.lost, share);
    if (!keep_lost && now.stale) show(false, "requests to connections known as lost:", "some");
    cen_mux_pool_free(self.pool);
    return share;
}

int main(void)
{
    snprintf(address, sizeof address, "unix:/tmp/cenote-example-%ld.sock", (long)getpid());
    absent_server();
    same_names();
    deaths();
    printf("%-18s %10s %10s %10s %10s %13s\n", "lost connections", "requests", "failed", "stale", "killed", "failed");
    double leaving = share_of_failures(false), staying = share_of_failures(true);
    printf("\nmeasured in this run: %.3f %% of the requests failed where lost connections leave the set, %.3f %% where "
           "they stay\n",
           leaving, staying);
    cen_mux_server_stop(server);
    return all_well ? 0 : 1;
}
