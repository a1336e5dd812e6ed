/* SPDX-License-Identifier: MIT */
/* Who is let in: tokens, names that point here from elsewhere, pages of other sites, other users. */
#include <grp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>

#include "inspect/client.h"
#include "inspect/internal.h"
#include "support/test.h"

#define TOKEN "correct-horse.battery_staple~1"
#define BEARER "Authorization: Bearer " TOKEN

static long code_of(reply r)
{
    long code = r.code;
    reply_fini(&r);
    return code;
}

/* guarantees: inspect.token */
TEST(with_a_token_nothing_of_the_process_is_told_without_it)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.token = TOKEN, .control = true});
    const char *at = cen_inspect_address(inspect);
    static const char *const paths[] = {
        "/api/process", "/api/components", "/api/components/1", "/api/events", "/metrics", "/api/nothing", "/api"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char with[128];
        reply r = ask(at, "GET", paths[i], NULL);
        expect(strncmp(reply_header(&r, "WWW-Authenticate"), "Bearer", 6) == 0);
        expect_error(r, 401, "MISUSE", "token");
        snprintf(with, sizeof with, "%s?token=" TOKEN, paths[i]);
        expect(code_of(ask(at, "GET", with, NULL)) != 401);
        expect(code_of(ask_with(at, "GET", paths[i], NULL, "Authorization: Bearer " TOKEN, NULL)) != 401);
        expect(code_of(ask_with(at, "GET", paths[i], NULL, "Authorization: bearer " TOKEN, NULL)) != 401);
    }
    expect_error(ask(at, "POST", "/api/components/1/invoke", "{\"action\":\"pause\"}"), 401, "MISUSE", "token");
    expect_equal(code_of(ask(at, "GET", "/", NULL)), 200); /* the page tells nothing by itself */
    cen_inspect_stop(inspect);
}

/* guarantees: inspect.token */
TEST(a_token_that_is_almost_right_is_wrong)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.token = TOKEN});
    const char *at = cen_inspect_address(inspect);
    static const char *const wrong[] = {"Authorization: Bearer ",
                                        "Authorization: Bearer correct-horse.battery_staple~2",
                                        "Authorization: Bearer correct-horse.battery_staple~",
                                        "Authorization: Bearer " TOKEN "1",
                                        "Authorization: Bearer  " TOKEN,
                                        "Authorization: Basic " TOKEN,
                                        "Authorization: " TOKEN,
                                        "Cookie: token=" TOKEN};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_equal(code_of(ask_with(at, "GET", "/api/process", NULL, wrong[i], NULL)), 401);
    expect_equal(code_of(ask(at, "GET", "/api/process?token=", NULL)), 401);
    expect_equal(code_of(ask(at, "GET", "/api/process?token", NULL)), 401);
    expect_equal(code_of(ask_with(at, "GET", "/api/process?token=" TOKEN, NULL, "Authorization: Bearer wrong", NULL)),
                 401);
    cen_inspect_stop(inspect);
}

/* A page at http://evil.example makes that name point at 127.0.0.1, and is then of the same origin as this server. */
/* guarantees: inspect.strangers */
TEST(a_name_that_was_made_to_point_here_is_refused)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.token = TOKEN, .control = true});
    const char *at = cen_inspect_address(inspect);
    static const char *const foreign[] = {"Host: evil.example",
                                          "Host: evil.example:9911",
                                          "Host: localhost.evil.example",
                                          "Host: 127.0.0.1.nip.io",
                                          "Host: [::1",
                                          "Host: [::1]x",
                                          "Host: :80",
                                          "Host: 127.1",
                                          "Host: 2130706433"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        expect_error(ask_with(at, "GET", "/api/components", NULL, BEARER, foreign[i], NULL), 403, "MISUSE", "Host");
        expect_error(ask_with(at, "GET", "/", NULL, BEARER, foreign[i], NULL), 403, "MISUSE", "Host");
        expect_error(
            ask_with(at, "POST", "/api/components/1/invoke", "{\"action\":\"pause\"}", BEARER, foreign[i], NULL), 403,
            "MISUSE", "Host");
    }
    static const char *const own[] = {"Host: localhost", "Host: LocalHost:1", "Host: 127.0.0.1:80",
                                      "Host: [::1]",     "Host: [::1]:99",    "Host: 192.0.2.7"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        expect_equal(code_of(ask_with(at, "GET", "/api/components", NULL, BEARER, own[i], NULL)), 200);
    cen_inspect_stop(inspect);
}

/* ssh -L 9911:/path/to/socket makes an address of TCP of it, on a machine with a browser. */
/* guarantees: inspect.strangers */
TEST(a_name_that_was_made_to_point_at_a_forwarded_socket_is_refused)
{
    char where[128];
    snprintf(where, sizeof where, "unix:/tmp/cenote-door-%d.socket", (int)getpid());
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = where, .control = true});
    expect_error(ask_with(where, "GET", "/api/components", NULL, "Host: evil.example:9911", NULL), 403, "MISUSE",
                 "Host");
    expect_error(ask_with(where, "POST", "/api/components/1/invoke", "{\"action\":\"pause\"}",
                          "Host: evil.example:9911", "Origin: http://evil.example:9911", NULL),
                 403, "MISUSE", "Host");
    expect_equal(code_of(ask_with(where, "GET", "/api/components", NULL, "Host: localhost:9911", NULL)), 200);
    expect_equal(code_of(ask_with(where, "GET", "/api/components", NULL, "Host: 127.0.0.1:9911", NULL)), 200);
    cen_inspect_stop(inspect);
}

/* guarantees: inspect.strangers */
TEST(a_page_of_another_site_may_tell_nothing)
{
    cen_crew *crew;
    cen_crew_options options = CEN_CREW_OPTIONS(.workers = 1);
    expect_equal(cen_crew_new(&options, &crew, NULL), CEN_OK);
    cen_inspect *inspect = inspect_started((cen_inspect_options){.token = TOKEN, .control = true});
    const char *at = cen_inspect_address(inspect), *body = "{\"action\":\"resize\",\"value\":1}";
    json_t *components = ask_json(at, "/api/components?token=" TOKEN);
    char path[64], own[128];
    snprintf(path, sizeof path, "/api/components/%lld/invoke",
             (long long)json_integer_value(
                 json_object_get(json_array_get(json_object_get(components, "components"), 0), "number")));
    json_decref(components);
    static const char *const foreign[] = {"Origin: http://evil.example", "Origin: null",
                                          "Origin: https://localhost",   "Origin: http://localhost:1",
                                          "Sec-Fetch-Site: cross-site",  "Sec-Fetch-Site: same-site"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        expect_error(ask_with(at, "POST", path, body, BEARER, foreign[i], NULL), 403, "MISUSE", "another site");
    snprintf(own, sizeof own, "Origin: %.*s", (int)strlen(at) - 1, at);
    expect_equal(code_of(ask_with(at, "POST", path, body, BEARER, own, "Sec-Fetch-Site: same-origin", NULL)), 200);
    expect_equal(code_of(ask_with(at, "POST", path, body, BEARER, NULL)), 200);
    /* A proxy with TLS in front, that passes the Host on. */
    expect_equal(code_of(ask_with(at, "POST", path, body, BEARER, "Host: localhost:8443",
                                  "Origin: https://localhost:8443", NULL)),
                 200);
    expect_error(
        ask_with(at, "POST", path, body, BEARER, "Host: localhost:8443", "Origin: https://localhost:844", NULL), 403,
        "MISUSE", "another site");
    expect_error(ask_with(at, "POST", path, body, BEARER, "Host: localhost:8443", "Origin: ftp://localhost:8443", NULL),
                 403, "MISUSE", "another site");
    /* With looking there is nothing to gain: no answer may be read by another site. */
    reply r = ask_with(at, "GET", "/api/components", NULL, BEARER, "Origin: http://evil.example", NULL);
    expect_text(reply_header(&r, "Access-Control-Allow-Origin"), "");
    reply_fini(&r);
    cen_inspect_stop(inspect);
    cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL);
    cen_crew_free(crew);
}

TEST(a_unix_socket_has_no_rights_for_others)
{
    char where[128];
    struct stat there;
    snprintf(where, sizeof where, "unix:/tmp/cenote-door-%d.socket", (int)getpid());
    mode_t before = umask(0);
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = where});
    umask(before);
    expect_equal(stat(where + 5, &there), 0);
    expect(S_ISSOCK(there.st_mode));
    expect_equal(there.st_mode & 0777, 0600);
    cen_inspect_stop(inspect);
    expect(stat(where + 5, &there) != 0);
}

/* Even if somebody made the socket's file open to all. Only root can be somebody else, to try it. */
/* guarantees: inspect.strangers */
TEST(another_user_is_refused_whatever_the_mode_of_the_file_is)
{
    if (geteuid() != 0) {
        printf("     skipped: only root can try it\n");
        return;
    }
    char where[128];
    int status;
    snprintf(where, sizeof where, "unix:/tmp/cenote-door-%d.socket", (int)getpid());
    fflush(stdout);
    /* The server runs as one user, the client is another; both forks, as neither is root. */
    pid_t server = fork();
    if (server == 0) {
        expect(setgroups(0, NULL) == 0 && setresgid(4711, 4711, 4711) == 0 && setresuid(4711, 4711, 4711) == 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive a test that fails */
        unsetenv("XDG_RUNTIME_DIR");
        cen_inspect *inspect = inspect_started((cen_inspect_options){.at = where});
        expect_equal(chmod(where + 5, 0777), 0);
        alarm(60);
        pause();
        cen_inspect_stop(inspect);
        _exit(0);
    }
    struct stat there;
    while (stat(where + 5, &there) != 0 || (there.st_mode & 0777) != 0777) usleep(1000);
    reply root = ask(where, "GET", "/api/process", NULL);
    expect_equal(root.code, 200); /* root may */
    reply_fini(&root);
    pid_t stranger = fork();
    if (stranger == 0) {
        expect(setgroups(0, NULL) == 0 && setresgid(4712, 4712, 4712) == 0 && setresuid(4712, 4712, 4712) == 0);
        expect_error(ask(where, "GET", "/api/process", NULL), 403, "MISUSE", "only for the user of the process");
        _exit(0);
    }
    expect_equal(waitpid(stranger, &status, 0), stranger);
    expect_equal(status, 0);
    kill(server, SIGKILL);
    waitpid(server, &status, 0);
    unlink(where + 5);
    char place[64];
    snprintf(place, sizeof place, "/tmp/cenote-4711/%d.address", (int)server);
    unlink(place);
    rmdir("/tmp/cenote-4711");
}

TEST(hosts_are_told_apart_by_what_they_are)
{
    expect(ceni_inspect_host_is_ours("localhost") && ceni_inspect_host_is_ours("LOCALHOST:80") &&
           ceni_inspect_host_is_ours("127.0.0.1"));
    expect(ceni_inspect_host_is_ours("[::1]:80") && ceni_inspect_host_is_ours("[2001:db8::1]") &&
           ceni_inspect_host_is_ours("10.0.0.1:80"));
    expect(!ceni_inspect_host_is_ours("") && !ceni_inspect_host_is_ours(":80") && !ceni_inspect_host_is_ours("[]") &&
           !ceni_inspect_host_is_ours("[::1"));
    expect(!ceni_inspect_host_is_ours("localhos") && !ceni_inspect_host_is_ours("localhost.") &&
           !ceni_inspect_host_is_ours("1.2.3"));
    char long_one[300];
    memset(long_one, '1', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = 0;
    expect(!ceni_inspect_host_is_ours(long_one));
}
