/* SPDX-License-Identifier: MIT */
/* Events in a file: of a process that was killed, of one that crashed, of one that goes on. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/events.h>

#include "base/atomic.h"
#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"

/* ---- A folder of the test's own, and what is in a file ---------------------------- */

static char folder[64], path[128];

static void begin(void)
{
    snprintf(folder, sizeof folder, "%s", "/tmp/cenote-keep-XXXXXX");
    expect(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/events", folder);
}

/* Removes all that is there, and says how many files there were. */
static int end(void)
{
    int count = 0;
    DIR *listing = opendir(folder);
    expect(listing != NULL);
    for (struct dirent *file; (file = readdir(listing));) {
        if (file->d_name[0] == '.') continue;
        expect(unlinkat(dirfd(listing), file->d_name, 0) == 0);
        count++;
    }
    closedir(listing);
    expect(rmdir(folder) == 0);
    return count;
}

enum { MOST = 4096 };

static struct {
    size_t count;
    cen_event events[MOST];
} shown;

static void show(void *argument, const cen_event *event)
{
    (void)argument;
    if (shown.count < MOST) shown.events[shown.count] = *event;
    shown.count++;
}

static void read_events(const char *from)
{
    cen_error error = {.text = ""};
    shown.count = 0;
    if (cen_events_read_file(from, show, NULL, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
}

static void keep(void)
{
    cen_error error = {.text = ""};
    if (cen_events_persist(path, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
}

/* ---- Keeping ------------------------------------------------------------------------ */

/* guarantees: events.file */
TEST(what_was_told_before_and_what_comes_after_is_in_the_file)
{
    begin();
    cen_event_emit(CEN_LEVEL_NOTICE, "before", "It was before.");
    cen_event_emit(CEN_LEVEL_TRACE, "trace", NULL);
    keep();
    cen_event_emit(CEN_LEVEL_ERROR, "after", "It was after.");
    read_events(path);
    expect_equal(shown.count, 3);
    expect_text(shown.events[0].what, "before");
    expect_text(shown.events[1].what, "trace");
    expect_text(shown.events[2].what, "after");
    expect_text(shown.events[2].text, "It was after.");
    expect_equal(shown.events[2].number, 1);
    struct stat found;
    expect(stat(path, &found) == 0);
    expect_equal(found.st_mode & 0777, 0600);
    cen_event_cursor at = {0}; /* and the process itself reads on */
    cen_event event;
    for (int i = 0; i < 3; i++) expect_equal(cen_events_read(&at, &event), CEN_OK);
    expect_text(event.what, "after");
    expect_equal(at.missed + at.missed_trace, 0);
    expect_equal(end(), 1);
}

/* guarantees: events.file-error */
TEST(a_process_has_one_file)
{
    begin();
    keep();
    cen_error error;
    char other[140];
    snprintf(other, sizeof other, "%s2", path);
    expect_equal(cen_events_persist(other, &error), CEN_EXISTS);
    expect_equal(error.status, CEN_EXISTS);
    expect_equal(end(), 1);
}

static void expect_child_ends(pid_t child, int wanted)
{
    int status;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, wanted);
}

/* guarantees: events.file-error */
TEST(what_an_earlier_run_left_is_kept_beside_and_one_that_still_runs_goes_on)
{
    begin();
    int go[2], done[2];
    char byte = 0, old[140];
    expect(pipe(go) == 0 && pipe(done) == 0);
    pid_t child = fork();
    if (child == 0) { /* the earlier instance, which has not ended yet */
        keep();
        cen_event_emit(CEN_LEVEL_NOTICE, "earlier", NULL);
        expect(write(done[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1);
        for (int i = 0; i < 2500; i++) cen_event_emit(CEN_LEVEL_NOTICE, "goes_on", NULL); /* touches all of it */
        _exit(0);
    }
    expect(read(done[0], &byte, 1) == 1);
    keep();
    cen_event_emit(CEN_LEVEL_NOTICE, "later", NULL);
    snprintf(old, sizeof old, "%s.old", path);
    read_events(old);
    expect_equal(shown.count, 1);
    expect_text(shown.events[0].what, "earlier");
    expect(write(go[1], &byte, 1) == 1);
    expect_child_ends(child, 0);
    read_events(old);
    expect_text(shown.events[shown.count - 1].what, "goes_on");
    read_events(path);
    expect_equal(shown.count, 1);
    expect_text(shown.events[0].what, "later");
    expect_equal(end(), 2);
}

/* guarantees: events.L14 */
TEST(a_forked_child_leaves_its_parents_file_alone_and_may_have_its_own)
{
    begin();
    keep();
    cen_event_emit(CEN_LEVEL_NOTICE, "parent", NULL);
    pid_t child = fork();
    if (child == 0) {
        cen_event_emit(CEN_LEVEL_NOTICE, "child", NULL);
        char own[140];
        snprintf(own, sizeof own, "%s.child", path);
        expect_equal(cen_events_persist(own, NULL), CEN_OK);
        cen_event_emit(CEN_LEVEL_NOTICE, "child", NULL);
        read_events(own);
        expect_equal(shown.count, 2);
        expect_text(shown.events[0].what, "child");
        _exit(0);
    }
    expect_child_ends(child, 0);
    cen_event_emit(CEN_LEVEL_NOTICE, "parent", NULL);
    read_events(path);
    expect_equal(shown.count, 2);
    expect_text(shown.events[1].what, "parent");
    expect_equal(end(), 2);
}

/* ---- What cannot be ------------------------------------------------------------------- */

static void expect_refused(const char *where, cen_status wanted, const char *words)
{
    cen_error error = {.text = ""};
    expect_equal(cen_events_persist(where, &error), wanted);
    expect_equal(error.status, wanted);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
}

/* guarantees: events.file-error */
TEST(a_file_that_cannot_be_made_is_refused_with_the_reason_and_may_be_tried_again)
{
    begin();
    char missing[160], longest[5000];
    snprintf(missing, sizeof missing, "%s/none/events", folder);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    expect_refused(NULL, CEN_INVALID, "path is NULL or empty");
    expect_refused("", CEN_INVALID, "path is NULL or empty");
    expect_refused(longest, CEN_INVALID, "too long");
    expect_refused("/dev/null", CEN_INVALID, "/dev/null exists and is not a regular file");
    expect_refused(folder, CEN_INVALID, "not a regular file");
    expect_refused(missing, CEN_SYSTEM, "No such file or directory");
    keep();
    expect_equal(end(), 1);
}

/* guarantees: events.file-error */
TEST(a_step_that_fails_leaves_nothing_behind)
{
    begin();
    cen_event_emit(CEN_LEVEL_NOTICE, "one", NULL);
    int faults = 0;
    for (;; faults++) {
        ceni_fault_arm(CENI_FAULT_FD | CENI_FAULT_MAP, (unsigned)faults + 1);
        cen_error error;
        cen_status status = cen_events_persist(path, &error);
        if (!ceni_fault_disarm()) break;
        expect_equal(status, CEN_SYSTEM);
        expect(error.code != 0);
        expect_equal(end(), 0);
        expect(mkdir(folder, 0700) == 0);
    }
    expect_equal(faults, 3);
    read_events(path);
    expect_equal(shown.count, 1);
    expect_equal(end(), 1);
}

static void expect_unreadable(const char *from, cen_status wanted, const char *words)
{
    cen_error error = {.text = ""};
    expect_equal(cen_events_read_file(from, show, NULL, &error), wanted);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
    expect_equal(shown.count, 0);
}

/* guarantees: events.untrusted */
TEST(a_file_without_events_is_refused_with_the_reason)
{
    begin();
    expect_unreadable(path, CEN_SYSTEM, "No such file or directory");
    expect_unreadable(folder, CEN_SYSTEM, "Is a directory");
    expect_unreadable("/dev/zero", CEN_SYSTEM, "Invalid argument");
    expect_unreadable(NULL, CEN_INVALID, "NULL");
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    expect(fd >= 0 && write(fd, "nothing of ours", 15) == 15 && close(fd) == 0);
    expect_unreadable(path, CEN_ABSENT, "neither an event file nor a core file");
    expect_equal(cen_events_read_file(path, NULL, NULL, NULL), CEN_INVALID);
    expect_equal(end(), 1);
}

/* ---- Processes that are gone --------------------------------------------------------------- */

static int told; /* the writing end of a pipe */

/* Tells of events whose parts follow from one another, and after each which it was. */
static void tell_for_ever(void *argument)
{
    (void)argument;
    for (uint32_t n = 0;; n++) {
        char what[24], text[120];
        snprintf(what, sizeof what, "w%u", n);
        snprintf(text, sizeof text, "This is event w%u, and it is the same as w%u and w%u.", n, n, n);
        cen_event_emit(CEN_LEVEL_NOTICE, what, text);
        if (n % 64 == 0 && write(told, &n, sizeof n) != sizeof n) _exit(1);
    }
}

static void expect_whole(const cen_event *event)
{
    char text[200];
    snprintf(text, sizeof text, "This is event %s, and it is the same as %s and %s.", event->what, event->what,
             event->what);
    expect_text(event->text, text);
}

/* Starts a child that tells for ever, and reads what it says until it has told so many. */
static pid_t start_teller(uint32_t until, uint32_t *last)
{
    int ends[2];
    expect(pipe(ends) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        told = ends[1];
        alarm(60);
        keep();
        tell_for_ever(NULL);
    }
    close(ends[1]);
    *last = 0;
    while (*last < until) expect(read(ends[0], last, sizeof *last) == sizeof *last);
    if (until > 3000) { /* it goes on while the test reads its file: nothing must stop it */
        fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
    }
    return child;
}

/* guarantees: events.crash */
TEST(the_file_of_a_process_that_was_killed_tells_its_last_events)
{
    begin();
    uint32_t last;
    pid_t child = start_teller(1000, &last);
    expect(kill(child, SIGKILL) == 0);
    expect_child_ends(child, SIGKILL);
    read_events(path);
    expect(shown.count >= 1000 && shown.count <= 2048);
    for (size_t i = 0; i < shown.count; i++) {
        expect_whole(&shown.events[i]);
        expect(i == 0 || shown.events[i].number == shown.events[i - 1].number + 1); /* none is missing between */
    }
    expect(shown.events[shown.count - 1].number >= last);
    expect_equal(end(), 1);
}

/* guarantees: events.crash */
TEST(the_file_of_a_process_that_goes_on_shows_only_whole_events)
{
    begin();
    uint32_t last;
    pid_t child = start_teller(4096, &last);
    for (int round = 0; round < 20; round++) {
        read_events(path);
        expect(shown.count <= 2048);
        for (size_t i = 0; i < shown.count; i++) expect_whole(&shown.events[i]);
    }
    expect(kill(child, SIGKILL) == 0);
    expect_child_ends(child, SIGKILL);
    expect_equal(end(), 1);
}

/* ---- Core files -------------------------------------------------------------------------------
 * Those of a sanitizer's process are as large as its address space. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HAS_CORES 0
#elif defined __has_feature
#define HAS_CORES !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HAS_CORES 1
#endif

/* The file in the folder whose name begins so. */
static bool find(const char *beginning, char *out, size_t size)
{
    bool found = false;
    DIR *listing = opendir(folder);
    expect(listing != NULL);
    for (struct dirent *file; (file = readdir(listing));) {
        if (strncmp(file->d_name, beginning, strlen(beginning)) != 0) continue;
        snprintf(out, size, "%s/%s", folder, file->d_name);
        found = true;
    }
    closedir(listing);
    return found;
}

static void tell_some(void)
{
    for (int i = 0; i < 100; i++) {
        char what[24], text[120];
        snprintf(what, sizeof what, "w%d", i);
        snprintf(text, sizeof text, "This is event w%d, and it is the same as w%d and w%d.", i, i, i);
        cen_event_emit(i % 2 ? CEN_LEVEL_TRACE : CEN_LEVEL_NOTICE, what, text);
    }
}

static void expect_some(const char *core)
{
    read_events(core);
    expect_equal(shown.count, 100);
    for (size_t i = 0; i < 100; i++) {
        char what[24];
        snprintf(what, sizeof what, "w%zu", i);
        expect_text(shown.events[i].what, what);
        expect_whole(&shown.events[i]);
    }
}

/* guarantees: events.crash */
TEST(the_core_file_of_a_process_that_crashed_tells_its_events)
{
    begin();
    fflush(stdout);
    pid_t child = HAS_CORES ? fork() : -1;
    if (child == 0) {
        tell_some();
        struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
        if (chdir(folder) != 0 || setrlimit(RLIMIT_CORE, &limit) != 0) _exit(1);
        abort();
    }
    int status = 0;
    char core[400];
    if (child > 0) expect(waitpid(child, &status, 0) == child);
    if (find("core", core, sizeof core)) expect_some(core);
    else
        printf("     there is no core file here: not tested (the system puts them elsewhere, or a sanitizer forbids "
               "them)\n");
    end();
}

/* guarantees: events.crash */
TEST(a_core_file_that_a_debugger_makes_tells_its_events)
{
    begin();
    bool there = HAS_CORES && system("command -v gcore >/dev/null 2>&1") == 0;
    if (!there) printf("     there is no gcore, or a sanitizer: not tested\n");
    int ends[2];
    char byte = 0, command[200], core[400];
    expect(pipe(ends) == 0);
    fflush(stdout);
    pid_t child = there ? fork() : -1;
    if (child == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        alarm(60);
        tell_some();
        expect(write(ends[1], &byte, 1) == 1);
        for (;;) pause();
    }
    if (child > 0) {
        expect(read(ends[0], &byte, 1) == 1);
        snprintf(command, sizeof command, "cd %s && gcore -o core %ld >gcore.log 2>&1 </dev/null", folder, (long)child);
        int failed = system(command);
        kill(child, SIGKILL);
        expect_child_ends(child, SIGKILL);
        if (!failed && find("core", core, sizeof core)) expect_some(core);
        else printf("     gcore may not look at a process here: not tested\n");
    }
    end();
}
