/* SPDX-License-Identifier: MIT */
/*
 * R concurrent requests of W seconds each, to a server with T workers, through a pool of P HTTP clients: how long do
 * they take? At any time min(T, P) requests are served, so the time is ceil(R / min(T, P)) times W.
 *
 *     wait_client --threads 3 --pool 2 --requests 10 --wait 2            10 seconds
 *     wait_client --threads 3 --pool 3 --requests 10 --wait 2             8 seconds: best is P = T
 *     wait_client --threads 3 --pool 1 --requests 10 --wait 2 --http2     8 seconds: one connection carries many requests
 *     wait_client --shared                                      one client for all threads, without a pool: what goes wrong
 *     wait_client --table                                       over HTTP/2: a connection lent to each request, or shared by all
 *
 * The server is wait_server.c. It is started from the same folder and stopped at the end, unless --url, or
 * CENOTE_SERVER_URL in the environment, names a running one; then --threads must be its number of workers. --within 5
 * makes the program fail if the time differs by more than 5 percent.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/curl.h>
#include <cenote/http.h>

enum { MOST = 1000 };

static struct {
    char url[256];
    long threads, pool, requests;
    double wait, within;
    bool shared, http2, table;
} asked = {.threads = 3, .pool = 2, .requests = 10, .wait = 0.2};

/* ---- Callers: a thread per request -------------------------------------------------------------------- */

struct crowd {
    cen_pool *pool; /* one of these three */
    cen_http *http;
    CURL *shared;
    pthread_barrier_t start;
    pthread_mutex_t mutex;
    int right, wrong, failed; /* under the mutex */
    char error[256];          /* the last one */
};

struct caller {
    struct crowd *crowd;
    int number;
    pthread_t thread;
};

static void path_of(int number, char *path, size_t room)
{
    snprintf(path, room, "/?wait=%g&n=%d", asked.wait, number);
}

/* A reply is right if it belongs to this request. */
static void judge(struct crowd *crowd, const char *path, const char *body, const char *error)
{
    char uri[96];
    snprintf(uri, sizeof uri, "\"uri\":\"%s\"", path);
    pthread_mutex_lock(&crowd->mutex);
    if (!body) crowd->failed++;
    else if (strstr(body, uri)) crowd->right++;
    else crowd->wrong++;
    if (!body) snprintf(crowd->error, sizeof crowd->error, "%s", error);
    pthread_mutex_unlock(&crowd->mutex);
}

static void call_pooled(struct crowd *crowd, const char *path)
{
    cen_error error = {.text = ""};
    cen_curl_response response = {0};
    cen_status status = CEN_TIMEOUT;
    CEN_WITH (crowd->pool, CEN_NEVER, CURL *, curl, &error) {
        status = cen_curl_get(curl, path, &response, &error);
    }
    judge(crowd, path, status == CEN_OK && response.status == 200 ? response.body : NULL, error.text);
    cen_curl_response_free(&response);
}

static void call_routed(struct crowd *crowd, const char *path)
{
    cen_error error = {.text = ""};
    cen_http_reply *reply = NULL;
    cen_http_request request = CEN_HTTP_REQUEST(.path = path, .deadline = CEN_NEVER);
    cen_status status = cen_http_fetch(crowd->http, &request, &reply, &error);
    judge(crowd, path, status == CEN_OK && reply->status == 200 ? reply->body : NULL, error.text);
    cen_http_reply_free(reply);
}

/* The mistake of a program that knows that clients are expensive to create, but not that only one thread at a time may
 * use one. */
static size_t keep(char *bytes, size_t size, size_t count, void *body)
{
    snprintf(body, 512, "%.*s", (int)(size * count), bytes);
    return size * count;
}

static void call_shared(struct crowd *crowd, const char *path)
{
    char url[512], body[512] = "";
    snprintf(url, sizeof url, "%s%s", asked.url, path);
    curl_easy_setopt(crowd->shared, CURLOPT_URL, url);
    curl_easy_setopt(crowd->shared, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(crowd->shared, CURLOPT_WRITEDATA, (void *)body);
    CURLcode code = curl_easy_perform(crowd->shared);
    judge(crowd, path, code == CURLE_OK ? body : NULL, curl_easy_strerror(code));
}

static void *call(void *argument)
{
    struct caller *caller = argument;
    struct crowd *crowd = caller->crowd;
    char path[64];
    path_of(caller->number, path, sizeof path);
    pthread_barrier_wait(&crowd->start);
    if (crowd->pool) call_pooled(crowd, path);
    else if (crowd->http) call_routed(crowd, path);
    else call_shared(crowd, path);
    return NULL;
}

/* Make all callers start at once. Returns the seconds that they took. */
static double run(struct crowd *crowd)
{
    static struct caller callers[MOST];
    pthread_barrier_init(&crowd->start, NULL, (unsigned)asked.requests + 1);
    pthread_mutex_init(&crowd->mutex, NULL);
    for (int i = 0; i < asked.requests; i++) {
        callers[i] = (struct caller){.crowd = crowd, .number = i};
        if (pthread_create(&callers[i].thread, NULL, call, &callers[i])) exit(1);
    }
    pthread_barrier_wait(&crowd->start);
    int64_t begin = cen_clock();
    for (int i = 0; i < asked.requests; i++) pthread_join(callers[i].thread, NULL);
    return (double)(cen_clock() - begin) / 1e9;
}

/* ---- Three ways ------------------------------------------------------------------------------------------- */

static void die(const cen_error *error)
{
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static double by_pool(struct crowd *crowd, cen_curl_version version)
{
    cen_error error;
    cen_curl_options site = CEN_CURL_OPTIONS(.url = asked.url, .version = version, .total_timeout_ns = CEN_OFF);
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "clients", .driver = cen_curl_with(&site), .max = (uint32_t)asked.pool, .eager = true);
    if (cen_pool_new(&options, &crowd->pool, &error) != CEN_OK) die(&error);
    double seconds = run(crowd);
    cen_pool_close(crowd->pool, cen_in_s(5), NULL, NULL);
    cen_pool_free(crowd->pool);
    return seconds;
}

static double by_router(struct crowd *crowd)
{
    cen_error error;
    cen_http_options options = CEN_HTTP_OPTIONS(.name = "clients", .url = asked.url, .loops = (uint32_t)asked.pool,
                                                .streams = MOST, .default_deadline = CEN_NEVER);
    if (cen_http_new(&options, &crowd->http, &error) != CEN_OK) die(&error);
    double seconds = run(crowd);
    cen_http_free(crowd->http);
    return seconds;
}

/* In a separate process, because anything may happen. Returns true if it failed visibly. */
static bool by_one_for_all(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        /* twice the time of all requests in sequence: it hangs */
        alarm(5 + (unsigned)(2 * (double)asked.requests * asked.wait));
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* its crash needs no core file */
        struct crowd crowd = {.shared = curl_easy_init()};
        curl_easy_setopt(crowd.shared, CURLOPT_NOSIGNAL, 1L);
        run(&crowd);
        printf("one client for %ld threads: %d right replies, %d wrong ones, %d errors, the last of them: %s\n",
               asked.requests, crowd.right, crowd.wrong, crowd.failed, crowd.failed ? crowd.error : "none");
        fflush(stdout);
        _exit(crowd.right == asked.requests ? 0 : 3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    bool crashed = WIFSIGNALED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3);
    if (crashed)
        printf("one client for %ld threads: the process crashed (signal %d)\n", asked.requests, WTERMSIG(status));
    return status != 0;
}

/* ---- Results ------------------------------------------------------------------------------------------------ */

static double expected(long at_once)
{
    return (double)((asked.requests + at_once - 1) / at_once) * asked.wait;
}

static long least(long a, long b)
{
    return a < b ? a : b;
}

/* Returns false if a reply was wrong, or the time is off. */
static bool report(const struct crowd *crowd, const char *how, double seconds, double should)
{
    double off = should > 0 ? (seconds / should - 1) * 100 : 0;
    printf("%s: T %ld, P %ld, R %ld, W %g s: %.3f s, expected %.3f s, %+.1f %%\n", how, asked.threads, asked.pool,
           asked.requests, asked.wait, seconds, should, off);
    bool all = crowd->right == asked.requests;
    if (!all) printf("%d wrong replies, %d errors: %s\n", crowd->wrong, crowd->failed, crowd->error);
    return all && (asked.within == 0 || (off <= asked.within && off >= -asked.within));
}

static bool table(void)
{
    bool fine = true;
    printf("%ld requests of %g s over HTTP/2 to a server of %ld workers\n", asked.requests, asked.wait, asked.threads);
    puts("| connections | lent to one request at a time | expected | shared by all, routed | expected |");
    puts("|---|---|---|---|---|");
    for (asked.pool = 1; asked.pool <= asked.threads + 1; asked.pool++) {
        struct crowd lent = {0}, shared = {0};
        double first = by_pool(&lent, CEN_CURL_VERSION_2), second = by_router(&shared);
        printf("| %ld | %.3f s | %.3f s | %.3f s | %.3f s |\n", asked.pool, first,
               expected(least(asked.threads, asked.pool)), second, expected(asked.threads));
        fine = fine && lent.right == asked.requests && shared.right == asked.requests;
    }
    return fine;
}

static bool demonstrate(void)
{
    struct crowd crowd = {0};
    if (asked.table) return table();
    if (asked.shared) return by_one_for_all();
    if (asked.http2) return report(&crowd, "by a router, HTTP/2", by_router(&crowd), expected(asked.threads));
    double seconds = by_pool(&crowd, CEN_CURL_VERSION_1_1);
    return report(&crowd, "by a pool", seconds, expected(least(asked.threads, asked.pool)));
}

/* ---- The server, and the arguments ------------------------------------------------------------------------------ */

/* Start the server from this program's folder. */
static pid_t start_server(const char *program)
{
    char path[512], threads[16], line[128] = "";
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*swait_server", slash ? (int)(slash + 1 - program) : 0, program);
    snprintf(threads, sizeof threads, "%ld", asked.threads);
    int out[2];
    if (pipe(out)) exit(1);
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(out[1], STDOUT_FILENO);
        execl(path, path, "--threads", threads, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    FILE *said = fdopen(out[0], "r");
    if (!said || !fgets(line, sizeof line, said) || sscanf(line, "listening on %63s", asked.url + 7) != 1) {
        fprintf(stderr, "%s could not be started\n", path);
        exit(1);
    }
    memcpy(asked.url, "http://", 7);
    fclose(said);
    return server;
}

static void explain(void)
{
    fputs("wait_client [--url URL] [--threads T] [--pool P] [--requests R] [--wait SECONDS] [--within PERCENT]\n"
          "            [--shared | --http2 | --table]\n",
          stderr);
    exit(2);
}

static void read_words(int count, char **words)
{
    const char *from_environment = getenv("CENOTE_SERVER_URL");
    if (from_environment) snprintf(asked.url, sizeof asked.url, "%s", from_environment);
    for (int i = 1; i < count; i++) {
        const char *word = words[i], *value = i + 1 < count ? words[i + 1] : "";
        bool has_value = true;
        if (strcmp(word, "--url") == 0) snprintf(asked.url, sizeof asked.url, "%s", value);
        else if (strcmp(word, "--threads") == 0) asked.threads = strtol(value, NULL, 10);
        else if (strcmp(word, "--pool") == 0) asked.pool = strtol(value, NULL, 10);
        else if (strcmp(word, "--requests") == 0) asked.requests = strtol(value, NULL, 10);
        else if (strcmp(word, "--wait") == 0) asked.wait = strtod(value, NULL);
        else if (strcmp(word, "--within") == 0) asked.within = strtod(value, NULL);
        else has_value = false;
        if (strcmp(word, "--shared") == 0) asked.shared = true;
        else if (strcmp(word, "--http2") == 0) asked.http2 = true;
        else if (strcmp(word, "--table") == 0) asked.table = true;
        else if (!has_value) explain();
        i += has_value;
    }
    bool fits =
        asked.threads > 0 && asked.pool > 0 && asked.pool <= 256 && asked.requests > 0 && asked.requests <= MOST;
    if (!fits || asked.wait < 0) explain();
}

int main(int count, char **words)
{
    read_words(count, words);
    pid_t server = asked.url[0] ? 0 : start_server(words[0]);
    bool fine = demonstrate();
    if (server) {
        kill(server, SIGTERM);
        waitpid(server, NULL, 0);
    }
    return fine ? 0 : 1;
}
