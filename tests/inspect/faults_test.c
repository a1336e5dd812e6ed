/* SPDX-License-Identifier: MIT */
/* Memory that cannot be had, at every place where it is asked for: the client is told, or cut off, and all goes on. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cenote/cenote.h>

#include "inspect/client.h"
#include "support/test.h"

/* The linker puts these in place of the calls of the library and of this program; libmicrohttpd and libcurl have their own. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);

static atomic_int left;  /* before one fails; 0: none does */
static atomic_int fails; /* so many have */
static pthread_t main_thread;
static bool main_only; /* or the others only */

static bool is_denied(void)
{
    if (left == 0 || main_only != (bool)pthread_equal(pthread_self(), main_thread) || --left > 0) return false;
    fails++;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return is_denied() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_denied() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return is_denied() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
    return is_denied() ? NULL : __real_strdup(text);
}

static void arm(int which)
{
    fails = 0;
    left = which;
}

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

TEST(a_start_without_memory_says_so_and_leaves_nothing)
{
    cen_inspect_options options = CEN_INSPECT_OPTIONS(.at = "127.0.0.1:0", .token = "a-token", .title = "a title");
    int before = open_files(), which = 0;
    main_thread = pthread_self();
    main_only = true;
    for (bool failed = true; failed;) {
        cen_inspect *inspect = NULL;
        cen_error error = {.text = ""};
        arm(++which);
        cen_status status = cen_inspect_start(&options, &inspect, &error);
        left = 0;
        failed = fails > 0;
        expect_equal(status, failed ? CEN_NO_MEMORY : CEN_OK);
        expect(!failed || error.text[0]);
        cen_inspect_stop(inspect);
        expect_equal(open_files(), before);
    }
    expect(which > 3); /* the component, its title, its token */
}

/* All that is asked for in one answer fails in turn. Answers how many that were. A component that has no memory for a part of its
 * description leaves it out. */
static int starve(const char *at, const char *path, bool may_lack)
{
    for (int which = 1;; which++) {
        arm(which);
        reply r = ask(at, "GET", path, NULL);
        left = 0;
        bool failed = fails > 0;
        if (!failed) {
            expect_equal(r.code, 200);
            reply_fini(&r);
            return which - 1;
        }
        if (r.curl == 0 && r.code != 200) expect_error(r, 503, "NO_MEMORY", "out of memory");
        else if (r.curl != 0) expect(r.length == 0); /* there was not even memory to say so */
        else if (may_lack) json_decref(reply_json(&r));
        else test_fail(__FILE__, __LINE__, "%s: 200 without memory", path);
        if (r.curl != 0 || r.code == 200) reply_fini(&r);
        r = ask(at, "GET", path, NULL);
        expect_equal(r.code, 200);
        reply_fini(&r);
    }
}

static cen_status make_nothing(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    static int object;
    *out = &object;
    return CEN_OK;
}

/* guarantees: inspect.out-of-memory */
TEST(an_answer_without_memory_is_an_error_and_the_next_is_whole)
{
    static const cen_driver_calls calls = {
        .size = sizeof calls, .open = make_nothing, .closes_nothing = true, .system = "sqlite"};
    cen_pool *pools[3];
    main_thread = pthread_self();
    for (int i = 0; i < 3; i++) {
        cen_pool_options options = CEN_POOL_OPTIONS(.name = "twice", .driver = {&calls, NULL}, .max = 2);
        expect_equal(cen_pool_new(&options, &pools[i], NULL), CEN_OK);
    }
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    const char *at = cen_inspect_address(inspect);
    /* what the history needs it has after its first sample, before any answer */
    reply first = ask(at, "GET", "/api/history", NULL);
    expect_equal(first.code, 200);
    reply_fini(&first);
    expect(starve(at, "/api/history", false) >= 2);
    expect(starve(at, "/api/process", false) >= 2);
    expect(starve(at, "/api/components", false) >= 4);
    expect(starve(at, "/api/components?parts=1", true) >= 4);
    expect(starve(at, "/api/events", false) >= 2);
    expect(starve(at, "/metrics", false) >= 12);
    cen_inspect_stop(inspect);
    for (int i = 0; i < 3; i++) cen_pool_free(pools[i]);
}

/* guarantees: inspect.out-of-memory */
TEST(metrics_without_memory_are_none)
{
    main_thread = pthread_self();
    main_only = true;
    for (int which = 1;; which++) {
        size_t length = 7;
        arm(which);
        char *text = cen_inspect_metrics(&length);
        left = 0;
        if (!fails) {
            expect(text && length == strlen(text));
            free(text);
            return;
        }
        expect(!text && length == 0);
    }
}
