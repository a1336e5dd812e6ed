/* SPDX-License-Identifier: MIT */
/* Openings: addresses, several hosts, passwords that change, the report on the capacity, and what is never said. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cenote/poller.h>

#include "drivers/pq_place.h"

enum { MS = 1000000 };

static cen_poller *shared_poller(void)
{
    static cen_poller *poller;
    if (!poller) expect_equal(cen_poller_new(&CEN_POLLER_OPTIONS(.name = "pq"), &poller, NULL), CEN_OK);
    return poller;
}

static cen_pool *pool_of(bool later, cen_pq_options options)
{
    options.poller = later ? shared_poller() : NULL;
    if (!options.uri) options.uri = place_good();
    return place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq_with(&options), .max = 3, .breaker_failures = 1,
                                       .breaker_wait_ns = CEN_OFF));
}
#define pool_with(later, ...) pool_of(later, CEN_PQ_OPTIONS(__VA_ARGS__))

#define BOTH(sentence) \
    static void sentence##_in(bool later); \
    TEST(sentence) \
    { \
        sentence##_in(false); \
    } \
    TEST(later_##sentence) \
    { \
        sentence##_in(true); \
    } \
    static void sentence##_in(bool later)

static void expect_works(cen_pool *pool)
{
    cen_lease lease = place_take(pool);
    expect(place_use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
}

/* A port at which somebody listens who never answers; *fd is to be closed. */
static unsigned silent_port(int *fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(bind(*fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(*fd, 16) == 0);
    expect(getsockname(*fd, (struct sockaddr *)&address, &size) == 0);
    return ntohs(address.sin_port);
}

/* ---- Addresses ----------------------------------------------------------------------------------- */

TEST(five_lines_make_a_pool)
{
    cen_pool *pool;
    cen_error error;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = cen_pq(place_good()), .max = 10);
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_OK);
    expect_works(pool);
    place_close(pool);
}

BOTH(keywords_will_do_and_a_unix_socket)
{
    char keywords[400];
    snprintf(keywords, sizeof keywords, "host=127.0.0.1 port=%u dbname=test user=tester password=secret",
             server_port(place_server()));
    cen_pool *pool = pool_with(later, .uri = keywords);
    memset(keywords, 'x', 20); /* it was copied */
    expect_works(pool);
    place_close(pool);
    snprintf(keywords, sizeof keywords, "host=%s port=%u dbname=test user=tester password=secret",
             server_directory(place_server()), server_port(place_server()));
    pool = pool_with(later, .uri = keywords);
    expect_works(pool);
    place_close(pool);
}

TEST(an_address_that_cannot_be_read_is_refused_without_telling_the_password)
{
    static const char *const bad[] = {"postgresql://ann:hush@h:5432/d?nonsense",
                                      "postgresql://ann:hush@h:5432/d?nonsense=hush",
                                      "password=ab hush",
                                      "hush",
                                      "host=h password='hush",
                                      "postgresql://ann:%zzhush@h/d",
                                      "postgresql://ann:hush@[::1/d",
                                      "host=h hush=1",
                                      "host=h password=hush x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cen_pool *pool;
        cen_error error = {.text = ""};
        cen_pool_options options = CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq(bad[i]));
        expect_equal(cen_pool_new(&options, &pool, &error), CEN_INVALID);
        printf("     %s\n", error.text);
        expect(strstr(error.text, "cen_pq_options.uri"));
        expect(!strstr(error.text, "hush"));
    }
}

/* libpq reads them as parts of the host, the port or the database, which sentences name. */
TEST(a_password_that_was_not_encoded_is_told_from_what_it_is_taken_for)
{
    static const char *const wrong[] = {
        "postgresql://ann:hunt@hunter2@127.0.0.1:1/test", "postgresql://ann:hunter2/x@127.0.0.1:1/test",
        "postgresql://ann:12/hunter2@127.0.0.1:1/test", "postgresql://ann:hunter2@127.0.0.1:65536/test",
        "postgres://ann:hunter2@127.0.0.1:1,127.0.0.1:2x/test"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cen_error error = {.text = ""};
        cen_pool *pool = NULL;
        cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_pq(wrong[i]), .max = 1);
        expect_equal(cen_pool_new(&options, &pool, &error), CEN_INVALID);
        expect(strstr(error.text, "cen_pq_options.uri"));
        expect(!strstr(error.text, "hunter2"));
    }
}

TEST(an_address_that_libpq_would_refuse_only_when_it_connects_is_refused_at_once)
{
    static const char *const bad[] = {"host=h sslmode=hush",
                                      "postgresql://ann:hush@h/d?sslmode=nonsense",
                                      "postgresql://ann:hush@h/d?channel_binding=perhaps",
                                      "postgresql://ann:hush@h,i/d?target_session_attrs=x",
                                      "host=h ssl_min_protocol_version=TLSv9",
                                      "service=of_nobody",
                                      "host=h keepalives=x",
                                      "host=h keepalives_idle=1s",
                                      "host=h tcp_user_timeout=99999999999",
                                      "host=h connect_timeout=soon",
                                      "host=a,b,c port=1,2",
                                      "host=a,b hostaddr=127.0.0.1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cen_pool *pool;
        cen_error error = {.text = ""};
        cen_pool_options options = CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq(bad[i]));
        expect_equal(cen_pool_new(&options, &pool, &error), CEN_INVALID);
        printf("     %s\n", error.text);
        expect(strstr(error.text, "cen_pq_options.uri"));
        expect(!strstr(error.text, "hush"));
    }
}

TEST(an_address_with_all_that_libpq_knows_is_fine)
{
    char uri[400];
    snprintf(uri, sizeof uri,
             "postgresql://tester:secret@127.0.0.1:%u,127.0.0.1:%u/test?sslmode=prefer&keepalives=1&keepalives_idle=30&"
             "tcp_user_timeout=0&connect_timeout=5&target_session_attrs=any&application_name=all&gssencmode=disable",
             server_port(place_server()), server_port(place_server()));
    cen_pool *pool = pool_with(false, .uri = uri);
    expect_works(pool);
    place_close(pool);
}

/* A host that hangs up on whoever calls, until its listener is shut down. */
static void *hang_up(void *into)
{
    int fd = *(int *)into, callers = 0;
    for (int caller; (caller = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0; callers++) close(caller);
    *(int *)into = callers;
    return NULL;
}

/* "a,b:5433": the list of ports has an empty place, for which libpq takes its own. The first host has an address that no other
 * process listens at. */
BOTH(a_host_without_a_port_among_others_has_the_usual_one)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(5432),
                                  .sin_addr.s_addr = htonl(0x7f400000 | ((uint32_t)getpid() & 0x3fffff))};
    char uri[200], host[INET_ADDRSTRLEN];
    pthread_t thread;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, callers = fd;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    expect(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 16) == 0);
    expect(pthread_create(&thread, NULL, hang_up, &callers) == 0);
    snprintf(uri, sizeof uri, "postgresql://tester:secret@%s,127.0.0.1:%u/test",
             inet_ntop(AF_INET, &address.sin_addr, host, sizeof host), server_port(place_server()));
    cen_pool *pool = pool_with(later, .uri = uri, .connect_timeout_ns = INT64_C(120000000000));
    expect_works(pool);
    shutdown(fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    expect(callers > 0);
    close(fd);
    place_close(pool);
}

TEST(options_that_are_wrong_are_refused_by_name)
{
    static const struct {
        cen_pq_options options;
        const char *name;
    } wrong[] = {
        {CEN_PQ_OPTIONS(.role = (cen_pq_role)9), "role"},
        {CEN_PQ_OPTIONS(.reset = (cen_pq_reset_policy)9), "reset"},
        {CEN_PQ_OPTIONS(.statements = 5000), "statements"},
        {CEN_PQ_OPTIONS(.statements = CEN_OFF), "CEN_NONE"},
        {CEN_PQ_OPTIONS(.test_timeout_ns = 5), "test_timeout_ns must be at least 100,000 ns (got 5 ns)"},
        {CEN_PQ_OPTIONS(.cancel_timeout_ns = -7), "cancel_timeout_ns"},
        {{.size = 0}, "size"},
    };
    cen_pool *pool;
    cen_error error;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cen_pool_options options = CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq_with(&wrong[i].options));
        expect_equal(cen_pool_new(&options, &pool, &error), CEN_INVALID);
        expect(strstr(error.text, wrong[i].name));
    }
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq_with(NULL));
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_INVALID);
}

BOTH(a_server_that_wants_a_password_is_not_said_to_be_away_and_the_text_has_the_sqlstate)
{
    static const char *const words[] = {"password required, none given (SQLSTATE 28P01)",
                                        "authentication failed (SQLSTATE 28P01): "};
    for (int wrong = 0; wrong < 2; wrong++) {
        char uri[200];
        snprintf(uri, sizeof uri, "postgresql://tester%s@127.0.0.1:%u/test?passfile=/dev/null",
                 wrong ? ":not-secret" : "", server_port(place_server()));
        cen_pool *pool = pool_with(later, .uri = uri);
        cen_lease lease;
        cen_error error;
        expect_equal(cen_pool_take(pool, cen_in_s(30), &lease, &error), CEN_DRIVER);
        printf("     %s\n", error.text);
        expect(strstr(error.text, words[wrong]));
        expect(!strstr(error.text, "unreachable") && !strstr(error.text, "code ") && !strstr(error.text, "secret"));
        expect_equal(error.code, cen_pq_code("28P01"));
        place_close(pool);
    }
}

TEST(a_wrong_password_or_database_is_tried_again_after_seconds_and_not_in_a_loop)
{
    static const char *const wrong[] = {"postgresql://tester:not-secret@127.0.0.1:%u/test?passfile=/dev/null",
                                        "postgresql://tester:secret@127.0.0.1:%u/nowhere"};
    for (int i = 0; i < 2; i++) {
        char uri[200];
        snprintf(uri, sizeof uri, wrong[i], server_port(place_server()));
        cen_pq_options pq = CEN_PQ_OPTIONS(.uri = uri);
        cen_pool *pool = place_pool(
            CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq_with(&pq), .max = 4, .backoff_initial_ns = 1000000,
                             .backoff_max_ns = 60 * INT64_C(1000000000), .breaker_failures = CEN_OFF));
        cen_lease lease;
        cen_error error;
        cen_pool_stats n = CEN_SIZED(cen_pool_stats);
        while (cen_pool_take(pool, cen_in_ms(20), &lease, &error) == CEN_TIMEOUT &&
               error.cause != CEN_CAUSE_LOGIN_REFUSED)
            continue;
        printf("     %s\n", error.text);
        expect_equal(error.cause, CEN_CAUSE_LOGIN_REFUSED);
        expect(cen_pool_take(pool, cen_in_ms(300), &lease, &error) != CEN_OK);
        expect_equal(cen_pool_stats_get(pool, &n), CEN_OK);
        printf("     %llu tries\n", (unsigned long long)n.open_failed);
        expect(n.open_failed <= 3); /* with a bound of 1 ms there would be hundreds */
        place_close(pool);
    }
}

TEST(options_of_an_older_program_are_shorter)
{
    cen_pq_options given = CEN_PQ_OPTIONS(.uri = place_good(), .role = CEN_PQ_REPLICA);
    given.size = offsetof(cen_pq_options, role); /* it knew no roles */
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq_with(&given)));
    expect_works(pool);
    place_close(pool);
}

/* ---- Several hosts --------------------------------------------------------------------------------- */

static int64_t time_of_failed_open(cen_pool *pool)
{
    cen_lease lease;
    cen_error error = {.text = ""};
    int64_t begin = cen_clock();
    expect_equal(cen_pool_take(pool, cen_in_s(30), &lease, &error), CEN_DRIVER);
    expect(strstr(error.text, "CEN_TIMEOUT"));
    return cen_clock() - begin;
}

BOTH(a_host_that_refuses_or_is_silent_is_passed_over)
{
    int fd, other;
    unsigned port = silent_port(&fd), absent = silent_port(&other);
    close(other);
    char uri[300];
    snprintf(uri, sizeof uri, "postgresql://tester:secret@127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u/test", absent, port,
             server_port(place_server()));
    cen_pool *pool = pool_with(later, .uri = uri, .connect_timeout_ns = 2000LL * MS);
    expect_works(pool); /* an opening that spent all of its time on the silent host would fail */
    place_close(pool);
    snprintf(uri, sizeof uri,
             "host=127.0.0.1,127.0.0.1 port=%u,%u user=tester password=secret dbname=test connect_timeout=1", port,
             port);
    pool = pool_with(later, .uri = uri);
    int64_t quickest = INT64_MAX; /* a busy machine only adds to it */
    for (int tries = 0; tries < 10 && quickest >= 1900LL * MS; tries++) {
        int64_t took = time_of_failed_open(pool);
        expect(took >= 990LL * MS);
        if (took < quickest) quickest = took;
    }
    expect(quickest < 1900LL * MS); /* the address' own limit, for both hosts together */
    place_close(pool);
    close(fd);
}

/* ---- Names ------------------------------------------------------------------------------------------- */

static atomic_bool resolver_hangs;
static atomic_int hanging;

/* libpq's lookups come here: those of one name take as long as the test says. */
int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict out)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    void *found = dlsym(RTLD_NEXT, "getaddrinfo");
    memcpy(&real, &found, sizeof real);
    bool is_slow = name && strcmp(name, "slow.test") == 0;
    if (is_slow) {
        hanging++;
        while (resolver_hangs) place_pause_ms(5);
        hanging--;
    }
    return real(is_slow ? "127.0.0.1" : name, service, hints, out);
}

static void expect_holds_up_nobody(const char *uri)
{
    cen_pool *other = pool_with(true);
    cen_pool *pool = NULL;
    cen_pq_options options = CEN_PQ_OPTIONS(.uri = uri);
    cen_lease lease;
    options.poller = shared_poller();
    pool = place_pool(
        CEN_POOL_OPTIONS(.name = "slow", .driver = cen_pq_with(&options), .max = 1, .open_timeout_ns = 100 * MS));
    resolver_hangs = true;
    expect_equal(cen_pool_take(pool, cen_in_ms(300), &lease, NULL), CEN_TIMEOUT);
    place_soon(hanging == 1);
    expect_works(other); /* over the same poller */
    expect_equal(hanging, 1);
    resolver_hangs = false;
    place_soon(cen_pool_take(pool, cen_in_ms(500), &lease, NULL) == CEN_OK);
    expect(place_use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    place_close(other);
    place_soon(place_connections() == 0);
}

TEST(a_resolver_that_does_not_answer_holds_up_neither_the_poller_nor_a_deadline)
{
    char uri[300];
    int fd;
    unsigned absent = silent_port(&fd), port = server_port(place_server());
    close(fd);
    snprintf(uri, sizeof uri, "postgresql://tester:secret@slow.test:%u/test", port);
    expect_holds_up_nobody(uri);
    snprintf(uri, sizeof uri, "postgresql://tester:secret@127.0.0.1:%u,slow.test:%u/test", absent, port);
    expect_holds_up_nobody(uri);
}

/* ---- Passwords --------------------------------------------------------------------------------------- */

static char current[40] = "secret";
static atomic_int asked;

static cen_status tell_password(void *argument, char *password, size_t room, cen_error *error)
{
    (void)error;
    expect(argument == &asked);
    asked++;
    snprintf(password, room, "%s", current);
    return CEN_OK;
}

BOTH(a_refused_password_is_not_tried_at_the_next_host)
{
    char uri[300];
    unsigned port = server_port(place_server());
    snprintf(uri, sizeof uri, "postgresql://tester@127.0.0.1:%u,127.0.0.1:%u/test", port, port);
    asked = 0;
    snprintf(current, sizeof current, "wrong");
    cen_pool *pool = pool_with(later, .uri = uri, .password = tell_password, .argument = &asked);
    cen_lease lease;
    cen_error error;
    expect_equal(cen_pool_take(pool, cen_in_s(10), &lease, &error), CEN_DRIVER);
    expect_equal(error.code, cen_pq_code("28P01"));
    expect_equal(asked, 1); /* it is asked for each host that is tried */
    place_close(pool);
}

BOTH(a_password_that_changes_is_asked_for_at_each_opening)
{
    char uri[100];
    snprintf(uri, sizeof uri, "postgresql://tester@127.0.0.1:%u/test", server_port(place_server()));
    asked = 0;
    snprintf(current, sizeof current, "secret");
    cen_pool *pool = pool_with(later, .uri = uri, .password = tell_password, .argument = &asked);
    cen_lease first = place_take(pool), second = place_take(pool);
    expect_equal(asked, 2);
    place_admin("alter role tester password 'rotated'");
    snprintf(current, sizeof current, "rotated");
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    int before = PQbackendPID(first.object);
    expect(place_use(first.object)); /* who has one goes on */
    expect_equal(cen_pool_give(&first), CEN_OK);
    expect_equal(cen_pool_give(&second), CEN_OK);
    first = place_take(pool);
    expect(place_use(first.object));
    expect(PQbackendPID(first.object) != before);
    expect_equal(asked, 3);
    expect_equal(cen_pool_give(&first), CEN_OK);
    place_admin("alter role tester password 'secret'");
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    cen_error error = {.text = ""};
    expect_equal(cen_pool_take(pool, cen_in_s(10), &first, &error), CEN_DRIVER);
    expect_equal(error.code, cen_pq_code("28P01"));
    expect(!strstr(error.text, "rotated"));
    place_close(pool);
}

static cen_status have_none(void *argument, char *password, size_t room, cen_error *error)
{
    (void)argument;
    (void)password;
    (void)room;
    snprintf(error->text, sizeof error->text, "the safe is closed");
    return CEN_ABSENT;
}

BOTH(a_password_that_cannot_be_had_fails_the_opening)
{
    cen_pool *pool = pool_with(later, .password = have_none);
    cen_lease lease;
    cen_error error = {.text = ""};
    expect_equal(cen_pool_take(pool, cen_in_s(10), &lease, &error), CEN_ABSENT);
    expect(strstr(error.text, "the safe is closed"));
    place_close(pool);
}

/* ---- Capacity, notices, setup ---------------------------------------------------------------------------- */

static atomic_int reports;
static cen_pq_capacity_report report;

static void keep_report(void *argument, const cen_pq_capacity_report *given)
{
    (void)argument;
    report = *given;
    reports++;
}

BOTH(the_capacity_is_reported_once_and_its_numbers_are_true)
{
    place_admin("select 1");
    reports = 0;
    place_soon(place_connections() == 0);
    cen_pool *pool = pool_with(later, .on_capacity = keep_report, .capacity_max = 3);
    cen_lease leases[3];
    leases[0] = place_take(pool);
    expect_equal(reports, 1);
    printf("     %s\n", report.text);
    expect_equal(report.pool_max, 3);
    expect_equal(report.max_connections, PLACE_CONNECTIONS);
    expect_equal(report.reserved, PLACE_RESERVED);
    expect_equal(report.in_use, 2); /* the administrator's and this one */
    expect_equal(report.free, PLACE_CONNECTIONS - PLACE_RESERVED - 2);
    expect(report.fits);
    for (int i = 1; i < 3; i++) leases[i] = place_take(pool);
    expect_equal(reports, 1);
    cen_pq_capacity_report own = CEN_SIZED(cen_pq_capacity_report);
    expect_equal(cen_pq_capacity(leases[1].object, PLACE_CONNECTIONS, &own, NULL), CEN_OK);
    expect_equal(own.in_use,
                 atoi(place_admin("select count(*) from pg_stat_activity where backend_type = 'client backend'")));
    expect_equal(own.in_use, 4);
    expect(!own.fits);
    expect(strstr(own.text, "does not fit"));
    printf("     %s\n", own.text);
    for (int i = 0; i < 3; i++) expect_equal(cen_pool_give(&leases[i]), CEN_OK);
    place_close(pool);
}

static char noticed[200];

static void keep_notice(void *argument, const char *text)
{
    expect(argument == noticed);
    snprintf(noticed, sizeof noticed, "%s", text);
}

TEST(notices_go_to_the_program_and_never_to_stderr)
{
    cen_pool *pool = pool_with(false, .on_notice = keep_notice, .argument = noticed);
    cen_lease lease = place_take(pool);
    expect(place_ask(lease.object, "do $$ begin raise notice 'by the way'; end $$") != NULL);
    expect(strstr(noticed, "by the way"));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    FILE *all = tmpfile();
    int kept = dup(STDERR_FILENO);
    dup2(fileno(all), STDERR_FILENO);
    pool = pool_with(false);
    lease = place_take(pool);
    expect(place_ask(lease.object, "do $$ begin raise warning 'by the way'; end $$") != NULL);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    dup2(kept, STDERR_FILENO);
    expect_equal(fseek(all, 0, SEEK_END), 0);
    expect_equal(ftell(all), 0);
}

/* ---- A server of our own, which says what it is told when somebody logs in, and goes ------------------------- */

struct speech {
    const char *bytes;
    size_t size;
};

#define MESSAGE(kind, size, body) \
    { \
        kind "\0\0\0" size body, sizeof(kind "\0\0\0" size body) - 1 \
    }
#define FIELDS \
    "SFATAL\0" \
    "C57P01\0" \
    "Mgoing down\0" \
    "Fpostgres.c\0" \
    "L1\0" \
    "RProcessInterrupts\0" \
    "\0"
static const struct speech authenticated = MESSAGE("R", "\x08", "\0\0\0\0"), at_rest = MESSAGE("Z", "\x05", "I"),
                           refusal = MESSAGE("E", "\x41", FIELDS), warning = MESSAGE("N", "\x41", FIELDS);

struct speaker {
    int fd;
    struct speech speech;
};

static void *speak(void *argument)
{
    const struct speaker *speaker = argument;
    for (int caller; (caller = accept4(speaker->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0; close(caller)) {
        char heard[1000];
        if (recv(caller, heard, sizeof heard, 0) > 0)
            send(caller, speaker->speech.bytes, speaker->speech.size, MSG_NOSIGNAL);
        shutdown(caller, SHUT_WR);
        while (recv(caller, heard, sizeof heard, 0) > 0) continue;
    }
    return NULL;
}

static void expect_silence(bool later, struct speech speech)
{
    struct speaker speaker = {.speech = speech};
    char uri[200];
    pthread_t thread;
    snprintf(uri, sizeof uri, "postgresql://tester@127.0.0.1:%u/test?sslmode=disable&gssencmode=disable",
             silent_port(&speaker.fd));
    expect(pthread_create(&thread, NULL, speak, &speaker) == 0);
    FILE *all = tmpfile();
    int kept = dup(STDERR_FILENO);
    dup2(fileno(all), STDERR_FILENO);
    cen_pool *pool = pool_with(later, .uri = uri, .setup = "select 1");
    cen_lease lease;
    cen_status status = cen_pool_take(pool, cen_in_s(5), &lease, NULL);
    place_close(pool);
    dup2(kept, STDERR_FILENO);
    close(kept);
    expect(status != CEN_OK && status != CEN_TIMEOUT);
    expect_equal(fseek(all, 0, SEEK_END), 0);
    expect_equal(ftell(all), 0);
    fclose(all);
    shutdown(speaker.fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(speaker.fd);
}

BOTH(what_a_server_says_that_ends_a_login_is_never_on_stderr)
{
    const struct speech *const speeches[][4] = {{&refusal},
                                                {&warning, &refusal},
                                                {&authenticated, &refusal},
                                                {&authenticated, &warning, &refusal},
                                                {&authenticated, &at_rest, &refusal},
                                                {&authenticated, &at_rest, &warning, &refusal}};
    for (size_t i = 0; i < sizeof speeches / sizeof *speeches; i++) {
        char bytes[400];
        size_t size = 0;
        for (size_t k = 0; k < 4 && speeches[i][k]; k++) {
            memcpy(bytes + size, speeches[i][k]->bytes, speeches[i][k]->size);
            size += speeches[i][k]->size;
        }
        expect_silence(later, (struct speech){bytes, size});
    }
}

BOTH(setup_is_run_for_each_and_its_failure_is_the_openings)
{
    cen_pool *pool = pool_with(later, .setup = "set application_name = 'mine'; set work_mem = '3MB'");
    cen_lease lease = place_take(pool);
    expect_text(place_ask(lease.object, "show work_mem"), "3MB");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    pool = pool_with(later, .setup = "set nonsense = 1; select 1");
    cen_error error = {.text = ""};
    expect_equal(cen_pool_take(pool, cen_in_s(10), &lease, &error), CEN_DRIVER);
    expect_equal(error.code, cen_pq_code("42704"));
    place_close(pool);
    pool = pool_with(later, .setup = "copy (select 1) to stdout");
    expect_equal(cen_pool_take(pool, cen_in_s(10), &lease, &error), CEN_DRIVER);
    place_close(pool);
    place_soon(place_connections() == 0);
}

TEST(a_server_that_goes_down_says_so)
{
    cen_pool *pool = pool_with(false);
    cen_lease lease = place_take(pool);
    server_shutdown(place_server());
    PGresult *result;
    cen_error error = {.text = ""};
    expect_equal(cen_pq_run(lease.object, "select 1", 0, NULL, &result, &error), CEN_DOWN);
    expect_equal(error.code, cen_pq_code("57P01"));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_take(pool, cen_in_s(10), &lease, &error), CEN_DOWN);
    expect_equal(error.code, cen_pq_code("08001"));
    server_restart(place_server());
    place_soon(cen_pool_take(pool, cen_in_ms(500), &lease, &error) == CEN_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* ---- Threads, and an administrator who ends sessions ------------------------------------------------------ */

static cen_pool *shared;
static atomic_bool goes_on;
static atomic_int began, well, ended, others, not_lent;

static void work_once(int i)
{
    cen_lease lease;
    cen_error error = {.text = ""};
    PGresult *result = NULL;
    char text[20], answer[20];
    const char *value = text;
    snprintf(text, sizeof text, "%d", i);
    snprintf(answer, sizeof answer, "%d", i + 1);
    began++;
    if (cen_pool_take(shared, cen_in_s(10), &lease, &error) != CEN_OK) {
        not_lent++;
        return;
    }
    cen_status status =
        cen_pq_run(lease.object, i % 2 ? "select $1::int + 1" : "select 1 + $1::int", 1, &value, &result, &error);
    if (status == CEN_OK && strcmp(PQgetvalue(result, 0, 0), answer) == 0) well++;
    else if (status == CEN_DOWN && error.code == cen_pq_code("57P01")) ended++;
    else if (status == CEN_LOST) ended++;
    else test_fail(__FILE__, __LINE__, "%s: %s", cen_status_name(status), error.text);
    if (status == CEN_OK) PQclear(result);
    if (cen_pool_give(&lease) != CEN_OK) others++;
}

static void *work(void *argument)
{
    (void)argument;
    for (int i = 0; i < 200 || goes_on; i++) work_once(i);
    return NULL;
}

BOTH(eight_threads_have_results_or_the_right_error_while_sessions_are_ended)
{
    shared = pool_with(later);
    began = well = ended = others = not_lent = 0;
    goes_on = true;
    pthread_t threads[8];
    uint64_t random = test_seed();
    for (int i = 0; i < 8; i++) expect(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int64_t begin = cen_clock(); ended < 20;) {
        place_admin("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tester' order by random() "
                    "limit 1");
        place_pause_ms((int)(test_random(&random) % 5));
        expect(cen_clock() - begin < 60000LL * MS);
    }
    goes_on = false;
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    printf("     %d takes: %d results, %d ended, %d not lent\n", began, well, ended, not_lent);
    expect(began >= 8 * 200);
    expect_equal(well + ended + not_lent, began);
    expect_equal(others, 0);
    expect(well > 0);
    place_soon(place_stats(shared).closing == 0 && place_stats(shared).opening == 0);
    cen_pool_stats s = place_stats(shared);
    expect_equal(s.taken, s.ended);
    expect_equal(s.opened - s.closed, s.places - s.vacant);
    place_close(shared);
    place_soon(place_connections() == 0);
}

TEST(the_driver_says_what_its_objects_belong_to_in_every_form)
{
    cen_pq_options options = {.size = sizeof options};
    expect_text(cen_pq("postgresql://somewhere").calls->system, "postgresql");
    expect_text(cen_pq_with(&options).calls->system, "postgresql");
}
