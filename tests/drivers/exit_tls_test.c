/* SPDX-License-Identifier: MIT */
/*
 * The end of a process whose helper threads make TLS handshakes.
 *
 * Each run is a process of its own: a child that has not used OpenSSL before, makes a pool, lets helpers shake hands with a
 * local TLS server and ends in one of several ways. It must end with its own status: a crash is a signal, and a hang is SIGALRM.
 * CENOTE_EXITS says how many runs there are in all; the default is 300, and `make stress` has 10,000.
 */
#include "drivers/exit_tls.h"

#include <openssl/x509.h>

#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "support/test.h"

enum { SERVERS = 4, WAYS = 10, SECONDS = 60 };

/* ---- The server: a process of its own, so that the runs begin without OpenSSL ---------------------------- */

static struct sockaddr_in address;
static pid_t server;

static void certify(SSL_CTX *server_context)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    expect(SSL_CTX_use_certificate(server_context, certificate) == 1 &&
           SSL_CTX_use_PrivateKey(server_context, key) == 1);
}

static int listener;
static SSL_CTX *serving;

static void *serve(void *unused)
{
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) continue;
        SSL *session = SSL_new(serving);
        SSL_set_fd(session, fd);
        SSL_accept(session);
        SSL_free(session);
        close(fd);
    }
    return unused;
}

void test_program_begin(void)
{
    socklen_t size = sizeof address;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1000) == 0);
    expect(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    fflush(stdout);
    server = fork();
    if (server != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    alarm(0);
    serving = SSL_CTX_new(TLS_server_method());
    certify(serving);
    pthread_t threads[SERVERS];
    for (int i = 0; i < SERVERS; i++) pthread_create(&threads[i], NULL, serve, NULL);
    for (;;) pause();
}

void test_program_end(void)
{
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
}

/* ---- The runs --------------------------------------------------------------------------------------------------- */

static void run_all(void (*body)(unsigned run))
{
    const char *text = getenv("CENOTE_EXITS");
    unsigned runs = (text ? (unsigned)atoi(text) : 300) / WAYS + 1, crashed = 0, hung = 0, else_ended = 0;
    alarm(120 + runs); /* in place of the harness's */
    fflush(stdout);
    for (unsigned run = 0; run < runs; run++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(SECONDS);
            body(run);
            exit(ENDED_AS_IT_SHOULD);
        }
        int status = 0;
        expect(child > 0 && waitpid(child, &status, 0) == child);
        bool signalled = WIFSIGNALED(status), late = signalled && WTERMSIG(status) == SIGALRM;
        hung += late;
        crashed += signalled && !late;
        else_ended += !signalled && WEXITSTATUS(status) != ENDED_AS_IT_SHOULD;
    }
    if (crashed + hung + else_ended > 0)
        test_fail(__FILE__, __LINE__, "of %u runs %u crashed, %u hung and %u ended with another status", runs, crashed,
                  hung, else_ended);
}

static void return_in_open(unsigned run)
{
    make_pool(&address, NULL);
    stay_a_little(run);
}

/* guarantees: runtime.exit-tls */
TEST(main_may_return_while_helpers_shake_hands)
{
    run_all(return_in_open);
}

static void free_and_return(unsigned run)
{
    cen_pool *pool = make_pool(&address, NULL);
    stay_a_little(run);
    cen_pool_close(pool, CEN_NOW, NULL, NULL);
    cen_pool_free(pool);
}

/* guarantees: runtime.exit-tls */
TEST(main_may_return_after_close_and_free_while_helpers_shake_hands)
{
    run_all(free_and_return);
}

static void close_orderly_and_return(unsigned run)
{
    is_cancelled = run % 2; /* few handshakes, or many */
    cen_pool *pool = make_pool(&address, NULL);
    stay_a_little(run);
    is_cancelled = true;
    cen_pool_close(pool, cen_in_s(30), NULL, NULL);
    cen_pool_free(pool);
}

/* guarantees: runtime.exit-tls */
TEST(main_may_return_after_an_orderly_end_while_helpers_leave)
{
    run_all(close_orderly_and_return);
}

static void await_and_return(unsigned run)
{
    free_and_return(run);
    is_cancelled = true;
    if (cen_runtime_wait_idle(NULL, cen_in_s(30)) != CEN_OK) _exit(1);
    OPENSSL_cleanup(); /* no handler of cenote's was needed for this */
}

/* guarantees: runtime.exit-tls */
TEST(a_client_library_may_be_finalised_after_await)
{
    run_all(await_and_return);
}

static void return_with_explicit_runtime(unsigned run)
{
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.name = "explicit");
    if (cen_runtime_new(&options, &runtime, NULL) != CEN_OK) _exit(1);
    make_pool(&address, runtime);
    stay_a_little(run);
}

/* guarantees: runtime.exit-tls */
TEST(main_may_return_while_helpers_of_an_explicit_runtime_shake_hands)
{
    run_all(return_with_explicit_runtime);
}

static void *exit_here(void *unused)
{
    (void)unused;
    exit(ENDED_AS_IT_SHOULD);
}

static void exit_on_a_thread(unsigned run)
{
    pthread_t thread;
    return_in_open(run);
    if (pthread_create(&thread, NULL, exit_here, NULL) != 0) _exit(1);
    for (;;) pause();
}

/* guarantees: runtime.exit-tls */
TEST(a_thread_may_exit_while_helpers_shake_hands)
{
    run_all(exit_on_a_thread);
}

static void exit_in_driver(unsigned run)
{
    (void)run;
    exits_in_open = true;
    make_pool(&address, NULL);
    for (;;) pause();
}

/* guarantees: runtime.exit-tls */
TEST(exit_may_be_called_in_a_driver)
{
    run_all(exit_in_driver);
}

static void end_quickly(unsigned run)
{
    return_in_open(run);
    quick_exit(ENDED_AS_IT_SHOULD);
}

/* guarantees: runtime.exit-tls */
TEST(quick_exit_does_not_crash_while_helpers_shake_hands)
{
    run_all(end_quickly);
}

/* ---- A plugin -------------------------------------------------------------------------------------------------------- */

typedef void plugin_run(struct sockaddr_in *server, unsigned run, bool ends);

static void *run_plugin(unsigned run, bool ends)
{
    plugin_run *plugin;
    void *handle = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!handle) _exit(1);
    *(void **)(void *)&plugin = dlsym(handle, "plugin_run");
    plugin(&address, run, ends);
    return handle;
}

static void return_beside_a_plugin(unsigned run)
{
    run_plugin(run, false);
}

/* guarantees: runtime.exit-tls */
TEST(main_may_return_while_helpers_of_a_plugin_shake_hands)
{
    run_all(return_beside_a_plugin);
}

static void unload_a_plugin(unsigned run)
{
    dlclose(run_plugin(run, true));
}

/* guarantees: runtime.exit-tls */
TEST(a_plugin_that_awaits_its_helpers_may_be_unloaded)
{
    run_all(unload_a_plugin);
}
