/* SPDX-License-Identifier: MIT */
/*
 * The demonstration of examples/wait_client.c and wait_server.c, judged: R requests of W seconds through P clients to T workers
 * take ceil(R / min(T, P)) times W, within 5 percent.
 *
 * All of these programs sleep nearly all the time, so the combinations run side by side, each with a server of its own, and W
 * can be a whole second: then 5 percent of five waves are a quarter of a second. With CENOTE_ARTICLE=long it is 2 seconds.
 *
 * A busy machine adds delays that do not depend on W. A combination that is late is repeated with twice W, where the same delays
 * are half as many percent; too many waves are as many percent too late at every W.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/waits.h"
#include "support/test.h"

enum { SCALES = 4 };

static double seconds(void)
{
    const char *form = getenv("CENOTE_ARTICLE");
    return form && strcmp(form, "long") == 0 ? 2 : 1;
}

/* What else the machine does is not to be measured: they go first where the system lets them. */
void test_program_begin(void)
{
    if (setpriority(PRIO_PROCESS, 0, -20) != 0)
        puts("the system gives no priority: other work on this machine is measured, too");
}

struct show {
    int threads, pool, requests;
    const char *more;
    waits server;
    pid_t client;
};

#define SHOW(t, p, r, words) \
    { \
        .threads = (t), .pool = (p), .requests = (r), .more = (words) \
    }

static void begin(struct show *show, double wait)
{
    char workers[16], command[1024];
    snprintf(workers, sizeof workers, "%d", show->threads);
    const char *words[] = {"--threads", workers, NULL};
    show->server = waits_start(0, words);
    snprintf(command, sizeof command,
             "exec %s --url http://127.0.0.1:%u --threads %d --pool %d --requests %d --wait %g %s", WAIT_CLIENT,
             show->server.port, show->threads, show->pool, show->requests, wait, show->more);
    fflush(stdout);
    show->client = fork();
    if (show->client == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    expect(show->client > 0);
}

static bool end(struct show *show)
{
    int status = -1;
    expect(waitpid(show->client, &status, 0) == show->client);
    waits_stop(&show->server);
    return status == 0;
}

/* All side by side, and those that fail again, with twice the time. */
static void run_at_scales(struct show *shows, int count, double wait)
{
    alarm(600);
    for (int scale = 0; scale < SCALES && count > 0; scale++, wait *= 2) {
        int failed = 0;
        for (int i = 0; i < count; i++) begin(&shows[i], wait);
        for (int i = 0; i < count; i++)
            if (!end(&shows[i])) shows[failed++] = shows[i];
        count = failed;
    }
    expect_equal(count, 0);
}

TEST(requests_take_as_many_waves_as_workers_and_clients_allow_within_five_percent)
{
    struct show
        shows[] =
            {
                SHOW(3, 2, 10, "--within 5"),
                SHOW(2, 3, 10, "--within 5"),
                SHOW(1, 4, 5, "--within 5"),
                SHOW(4, 1, 5, "--within 5"),
                SHOW(4, 4, 20, "--within 5"),
                SHOW(8, 4, 19, "--within 5"),
                SHOW(3, 3, 15, "--within 5"),
                SHOW(4, 1, 20, "--within 5 --http2"), /* one connection, as many requests at once as there are workers */
                SHOW(3, 2, 14, "--within 5 --http2"),
            };
    enum { COUNT = sizeof shows / sizeof shows[0] };
    run_at_scales(shows, COUNT, seconds());
}

TEST(one_client_shared_by_all_threads_without_a_pool_fails_visibly)
{
    struct show show = SHOW(4, 1, 10, "--shared");
    run_at_scales(&show, 1, 0.2);
}

TEST(a_table_compares_connections_that_are_lent_and_shared)
{
    struct show show = SHOW(3, 1, 12, "--table");
    run_at_scales(&show, 1, 0.2);
}
