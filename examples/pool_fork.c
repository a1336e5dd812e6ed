/* SPDX-License-Identifier: MIT */
/*
 * A program with two pools forks, while another thread uses both.
 *
 *     the child of CEN_FORK_REFUSE     every call returns FORKED and touches nothing; free releases the memory
 *     the child of CEN_FORK_RENEW      the pool exists and is empty: takes open new connections
 *     the parent                       notices nothing
 *
 * A connection here is one end of a socket pair. The other end is the server's, which stays with the parent, so that it
 * can check what was sent. A close sends a goodbye to the server, as database connections do. If a child did that, it
 * would end its parent's session. So for the parent's connections the driver's abandon is called, which only closes the
 * descriptor.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>

struct connection {
    pid_t opened_by;
    int fd, server;
};

static int surprises;
static atomic_int opened, abandoned; /* in this process and, for a child, in its parent before the fork */

static void expect_that(bool holds, const char *what)
{
    printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
    surprises += !holds;
}

/* ---- The driver ------------------------------------------------------------------------------ */

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    int ends[2];
    (void)argument;
    struct connection *connection = malloc(sizeof *connection);
    if (!connection) return CEN_NO_MEMORY;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        error->code = errno;
        free(connection);
        return CEN_SYSTEM;
    }
    *connection = (struct connection){.opened_by = getpid(), .fd = ends[0], .server = ends[1]};
    *out = connection;
    opened++;
    return CEN_OK;
}

static void close_connection(void *argument, void *object)
{
    struct connection *connection = object;
    (void)argument;
    if (send(connection->fd, "goodbye", 7, MSG_NOSIGNAL) != 7) perror("goodbye");
    close(connection->fd);
    close(connection->server);
    free(connection);
}

static void abandon_connection(void *argument, void *object)
{
    struct connection *connection = object;
    (void)argument;
    if (connection->opened_by == getpid()) { /* its holder may still be using it: shut it down; a close follows */
        shutdown(connection->fd, SHUT_RDWR);
        return;
    }
    close(connection->fd);
    close(connection->server);
    free(connection);
    abandoned++;
}

static const cen_driver_calls calls = {
    .size = sizeof calls, .open = open_connection, .close = close_connection, .abandon = abandon_connection};

static cen_pool *pool_of(const char *name, cen_fork_policy policy)
{
    cen_pool *pool = NULL;
    cen_error error;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = name, .driver = {&calls, NULL}, .max = 3, .eager = true, .on_fork = policy);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) puts(error.text);
    return pool;
}

/* ---- The children -------------------------------------------------------------------------------- */

static void live_with_refusal(cen_pool *pool, cen_lease *lease)
{
    cen_error error;
    cen_lease another;
    puts("The child, with CEN_FORK_REFUSE:");
    cen_status status = cen_pool_take(pool, cen_in_s(1), &another, &error);
    printf("  a take returns %s: %s\n", cen_status_name(status), error.text);
    expect_that(status == CEN_FORKED, "it cannot take");
    expect_that(cen_pool_give(lease) == CEN_FORKED, "it cannot give back what its parent took");
    expect_that(cen_pool_free(pool) == CEN_OK && abandoned == 0, "it can free the pool, which touches no connection");
}

static void live_anew(cen_pool *pool, cen_lease *lease)
{
    cen_error error;
    cen_lease mine;
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    int before = opened;
    puts("The child, with CEN_FORK_RENEW:");
    cen_status status = cen_pool_take(pool, cen_in_s(1), &mine, &error);
    if (status != CEN_OK) printf("  %s\n", error.text);
    expect_that(status == CEN_OK && opened == before + 1, "a take opens a new connection");
    if (status != CEN_OK) return;
    expect_that(((struct connection *)mine.object)->opened_by == getpid(), "the connection is its own");
    expect_that(abandoned == 3, "its parent's three connections were abandoned");
    expect_that(cen_pool_give(lease) == CEN_FORKED, "it cannot give back what its parent took");
    expect_that(cen_pool_give(&mine) == CEN_OK && cen_pool_stats_get(pool, &s) == CEN_OK && s.idle == 1 && s.held == 0,
                "it can give back its own; one is idle");
    expect_that(cen_pool_close(pool, cen_in_s(1), NULL, NULL) == CEN_OK && cen_pool_free(pool) == CEN_OK,
                "it can close and free the pool");
}

/* Run one of them in a child. Returns true if all its checks passed. */
static bool in_a_child(void (*live)(cen_pool *, cen_lease *), cen_pool *pool, cen_lease *lease)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        surprises = 0;
        live(pool, lease);
        fflush(stdout);
        _exit(surprises ? 1 : 0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* ---- The parent ------------------------------------------------------------------------------------- */

static cen_pool *pools[2];
static atomic_bool is_over;
static atomic_int uses, failures;

static void *use_all_the_time(void *argument)
{
    (void)argument;
    while (!is_over) {
        for (int i = 0; i < 2; i++) {
            CEN_WITH (pools[i], cen_in_s(5), struct connection *, connection, NULL) {
                if (connection->opened_by != getpid()) failures++;
                uses++;
            } else {
                failures++;
            }
        }
    }
    return NULL;
}

static bool server_heard_nothing(const cen_lease *lease)
{
    char words[16];
    const struct connection *connection = lease->object;
    return recv(connection->server, words, sizeof words, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int main(void)
{
    cen_lease leases[2];
    pthread_t thread;
    pools[0] = pool_of("refused", CEN_FORK_REFUSE);
    pools[1] = pool_of("renewed", CEN_FORK_RENEW);
    for (int i = 0; i < 2; i++)
        if (!pools[i] || cen_pool_take(pools[i], cen_in_s(5), &leases[i], NULL) != CEN_OK) return 1;
    pthread_create(&thread, NULL, use_all_the_time, NULL);
    while (uses < 1000) usleep(1000);

    bool refused = in_a_child(live_with_refusal, pools[0], &leases[0]);
    bool renewed = in_a_child(live_anew, pools[1], &leases[1]);

    int before = uses;
    while (uses < before + 1000) usleep(1000);
    is_over = true;
    pthread_join(thread, NULL);
    puts("The parent:");
    expect_that(refused && renewed, "its children succeeded");
    printf("  the other thread used connections %d times\n", (int)uses);
    expect_that(failures == 0, "it always got its own connection");
    expect_that(server_heard_nothing(&leases[0]) && server_heard_nothing(&leases[1]), "the server got no goodbye");
    expect_that(opened == 6 && abandoned == 0, "no connection was opened or abandoned here");
    for (int i = 0; i < 2; i++) {
        expect_that(cen_pool_give(&leases[i]) == CEN_OK, "it can give back what it took before");
        expect_that(cen_pool_close(pools[i], cen_in_s(5), NULL, NULL) == CEN_OK, "it can close the pool");
        cen_pool_free(pools[i]);
    }
    return surprises ? 1 : 0;
}
