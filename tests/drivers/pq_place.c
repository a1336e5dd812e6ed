/* SPDX-License-Identifier: MIT */
#include "drivers/pq_place.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* libcrypto, which libpq draws random numbers from, and Kerberos' library keep something for each thread, and tidy up at exit
 * while the runtime's helpers may just be ending. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libcrypto\n";
}
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:libcrypto\nrace:libkrb5\n";
}

static server *postgresql;

void test_program_begin(void)
{
    char most[40];
    snprintf(most, sizeof most, "max_connections=%d", PLACE_CONNECTIONS);
    const char *const settings[] = {most, "superuser_reserved_connections=3", "lc_messages=C", NULL};
    postgresql = server_start(SERVER_POSTGRESQL, settings);
}

void test_program_end(void)
{
    server_stop(postgresql);
}

server *place_server(void)
{
    return postgresql;
}

/* ---- The administrator ------------------------------------------------------------------------ */

const char *place_ask(PGconn *conn, const char *sql)
{
    static _Thread_local char answer[200];
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    bool fine = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    const char *value = status == PGRES_TUPLES_OK && PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    snprintf(answer, sizeof answer, "%s", value);
    PQclear(result);
    return fine ? answer : NULL;
}

static void drop_notice(void *argument, const char *text)
{
    (void)argument;
    (void)text;
}

const char *place_admin(const char *format, ...)
{
    static PGconn *conn;
    static pid_t process;
    char sql[500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    if (process != getpid() || PQstatus(conn) != CONNECTION_OK) conn = PQconnectdb(server_admin_url(postgresql));
    process = getpid();
    PQsetNoticeProcessor(conn, drop_notice, NULL);
    const char *answer = place_ask(conn, sql);
    if (!answer) test_fail(__FILE__, __LINE__, "%s: %s", sql, PQerrorMessage(conn));
    return answer;
}

/* ---- The case ----------------------------------------------------------------------------------- */

const char *place_good(void)
{
    return server_url(postgresql);
}

const char *place_wrong(void)
{
    static char url[100];
    snprintf(url, sizeof url, "postgresql://tester:secretly-wrong@127.0.0.1:%u/test", server_port(postgresql));
    return url;
}

const char *place_at(uint16_t port)
{
    static char url[100];
    snprintf(url, sizeof url, "postgresql://tester:secret@127.0.0.1:%u/test", port);
    return url;
}

bool place_use(void *conn)
{
    const char *answer = place_ask(conn, "select 6 * 7");
    return answer && strcmp(answer, "42") == 0;
}

uint64_t place_identity(void *conn)
{
    const char *answer = place_ask(conn, "select pg_backend_pid()");
    return answer ? strtoull(answer, NULL, 10) : 0;
}

bool place_make_dirty(void *conn)
{
    return place_ask(conn, "begin") && place_ask(conn, "select set_config('cenote.dirt', 'left', false)");
}

bool place_is_clean(void *conn)
{
    const char *dirt = place_ask(conn, "select coalesce(current_setting('cenote.dirt', true), '')");
    return PQtransactionStatus(conn) == PQTRANS_IDLE && dirt && !*dirt;
}

bool place_cut(uint64_t identity)
{
    return strcmp(place_admin("select coalesce(bool_and(pg_terminate_backend(pid, 5000)), false) from pg_stat_activity "
                              "where pid = %d",
                              (int)identity),
                  "t") == 0;
}

bool place_hang(void *conn)
{
    return place_ask(conn, "select pg_sleep(40)") == NULL;
}

int place_connections(void)
{
    return atoi(place_admin("select count(*) from pg_stat_activity where usename = 'tester'"));
}

bool place_fill(bool full)
{
    static PGconn *many[PLACE_CONNECTIONS];
    static int count;
    if (!full) {
        while (count > 0) PQfinish(many[--count]);
        return true;
    }
    place_admin("select 1");
    for (; count < PLACE_CONNECTIONS; count++) {
        many[count] = PQconnectdb(place_good());
        if (PQstatus(many[count]) == CONNECTION_OK) continue;
        PQfinish(many[count]);
        return true;
    }
    return false;
}

/* ---- Pools ---------------------------------------------------------------------------------------- */

cen_pool *place_pool(cen_pool_options options)
{
    cen_pool *pool = NULL;
    cen_error error = {.text = ""};
    cen_status status = cen_pool_new(&options, &pool, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "cen_pool_new: %s: %s", cen_status_name(status), error.text);
    return pool;
}

cen_lease place_take(cen_pool *pool)
{
    cen_lease lease = {0};
    cen_error error = {.text = ""};
    cen_status status = cen_pool_take(pool, cen_in_s(60), &lease, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "take: %s: %s", cen_status_name(status), error.text);
    return lease;
}

cen_pool_stats place_stats(cen_pool *pool)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &stats), CEN_OK);
    return stats;
}

void place_close(cen_pool *pool)
{
    cen_error error = {.text = ""};
    cen_status status = cen_pool_close(pool, cen_in_s(10), NULL, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "close: %s: %s", cen_status_name(status), error.text);
    expect_equal(cen_pool_free(pool), CEN_OK);
    conformance_settle();
}

void place_pause_ms(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

/* ---- A proxy that tells what the server reported when one logged in, and nothing new ------------------------- */

static int copy_exactly(int from, int to, size_t count)
{
    char bytes[4096];
    while (count > 0) {
        ssize_t got = recv(from, bytes, count < sizeof bytes ? count : sizeof bytes, 0);
        if (got <= 0 || (to >= 0 && send(to, bytes, (size_t)got, MSG_NOSIGNAL) != got)) return -1;
        count -= (size_t)got;
    }
    return 0;
}

/* One message of the server's: a letter, and a length that counts itself. Reports ('S') after the first 'Z' are left out. */
static int pass_message(int from, int to, bool *is_in)
{
    unsigned char head[5];
    uint32_t size;
    if (recv(from, head, sizeof head, MSG_WAITALL) != (ssize_t)sizeof head) return -1;
    memcpy(&size, head + 1, sizeof size);
    bool is_left_out = *is_in && head[0] == 'S';
    *is_in |= head[0] == 'Z';
    if (!is_left_out && send(to, head, sizeof head, MSG_NOSIGNAL) != (ssize_t)sizeof head) return -1;
    return copy_exactly(from, is_left_out ? -1 : to, ntohl(size) - sizeof size);
}

static void *pass_on(void *argument)
{
    int client = (int)(intptr_t)argument, server_end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(server_port(postgresql)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct pollfd ends[] = {{client, POLLIN, 0}, {server_end, POLLIN, 0}};
    bool is_in = false;
    char bytes[4096];
    if (connect(server_end, (struct sockaddr *)&address, sizeof address) == 0) {
        while (poll(ends, 2, -1) > 0) {
            ssize_t got = ends[0].revents ? recv(client, bytes, sizeof bytes, 0) : 0;
            if (ends[0].revents && (got <= 0 || send(server_end, bytes, (size_t)got, MSG_NOSIGNAL) != got)) break;
            if (ends[1].revents && pass_message(server_end, client, &is_in) < 0) break;
        }
    }
    close(server_end);
    close(client);
    return NULL;
}

static void *accept_all(void *argument)
{
    for (;;) {
        pthread_t thread;
        int client = accept((int)(intptr_t)argument, NULL, NULL);
        if (client < 0 || pthread_create(&thread, NULL, pass_on, (void *)(intptr_t)client)) return NULL;
        pthread_detach(thread);
    }
}

const char *place_proxy(int *out)
{
    static char url[120];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_t thread;
    expect(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 16) == 0);
    expect(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    if (out) *out = listener;
    expect(pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener) == 0 && pthread_detach(thread) == 0);
    snprintf(url, sizeof url, "postgresql://tester:secret@127.0.0.1:%u/test?sslmode=disable&gssencmode=disable",
             ntohs(address.sin_port));
    return url;
}
