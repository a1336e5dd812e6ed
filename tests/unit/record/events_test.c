/* SPDX-License-Identifier: MIT */
/* Events as the rooms write them. With the system's threads and processes. */
#include "record/events.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

static size_t no_metrics(const void *object, cen_metric *metrics, size_t room)
{
    (void)object;
    (void)metrics;
    (void)room;
    return 0;
}

static cen_event read_one(ceni_stream stream, ceni_cursor *cursor)
{
    cen_event events;
    expect_equal(ceni_events_take(stream, cursor, &events), CEN_OK);
    return events;
}

static void expect_no_more(ceni_stream stream, ceni_cursor *cursor)
{
    cen_event events;
    expect_equal(ceni_events_take(stream, cursor, &events), CEN_EMPTY);
}

TEST(events_has_all_that_was_told_and_when)
{
    ceni_directory_entry entry = {.kind = "pool", .name = "orders", .snapshot = no_metrics};
    ceni_directory_join(ceni_directory_process(), &entry);
    int64_t before = ceni_clock_wall();
    ceni_event_emit(CEN_LEVEL_WARNING, "timed_out", &entry, 500, "Nobody gave anything back.");
    ceni_event_emit(CEN_LEVEL_ERROR, "gave_up", NULL, -1, NULL);
    ceni_cursor at = {0};
    cen_event events = read_one(CENI_LIFE, &at);
    expect_equal(events.number, 0);
    expect(events.time_ns >= before && events.time_ns <= ceni_clock_wall());
    expect(events.time_ns > INT64_C(1600000000) * 1000000000);
    expect_equal(events.level, CEN_LEVEL_WARNING);
    expect_equal(events.component, entry.number);
    expect_equal(events.value, 500);
    expect_text(events.what, "timed_out");
    expect_text(events.kind, "pool");
    expect_text(events.name, "orders");
    expect_text(events.text, "Nobody gave anything back.");
    events = read_one(CENI_LIFE, &at);
    expect_equal(events.number, 1);
    expect_equal(events.component, 0);
    expect_equal(events.value, -1);
    expect_text(events.kind, "");
    expect_text(events.name, "");
    expect_text(events.text, "");
    expect_no_more(CENI_LIFE, &at);
    ceni_directory_leave(ceni_directory_process(), &entry);
}

TEST(traces_push_nothing_else_out)
{
    ceni_event_emit(CEN_LEVEL_DETAIL, "opened", NULL, 0, NULL);
    for (int i = 0; i < 5000; i++) ceni_event_emit(CEN_LEVEL_TRACE, "taken", NULL, i, NULL);
    ceni_cursor life = {0}, trace = {0};
    expect_text(read_one(CENI_LIFE, &life).what, "opened");
    expect_equal(life.missed, 0);
    expect_no_more(CENI_LIFE, &life);
    expect_equal(read_one(CENI_TRACE, &trace).value, 5000 - 1024);
    expect_equal(trace.missed, 5000 - 1024);
    expect_equal(ceni_events_begun(CENI_TRACE), 5000);
}

TEST(two_thousand_and_forty_eight_are_there_and_the_others_are_counted)
{
    for (int i = 0; i < 3000; i++) ceni_event_emit(CEN_LEVEL_DETAIL, "opened", NULL, i, NULL);
    ceni_cursor at = {0};
    for (int i = 3000 - 2048; i < 3000; i++) expect_equal(read_one(CENI_LIFE, &at).value, i);
    expect_no_more(CENI_LIFE, &at);
    expect_equal(at.missed, 3000 - 2048);
}

TEST(what_is_too_long_is_cut_between_two_characters)
{
    char text[400] = "";
    for (int i = 0; i < 130; i++) memcpy(text + 3 * i, "\xE2\x82\xAC", 3); /* a character of three bytes */
    ceni_event_emit(CEN_LEVEL_NOTICE, "twelve_bytes_and_twelve_more", NULL, 0, text);
    text[0] = 'x'; /* moves the cut by as much as it takes */
    memmove(text + 1, text + 3, 380);
    ceni_event_emit(CEN_LEVEL_NOTICE, "a", NULL, 0, text);
    ceni_cursor at = {0};
    cen_event events = read_one(CENI_LIFE, &at);
    expect_equal(strlen(events.text), 327);
    expect_equal(strlen(events.what), sizeof events.what - 1);
    events = read_one(CENI_LIFE, &at);
    expect_equal(strlen(events.text), 325);
    expect_equal((unsigned char)events.text[324], 0xAC);
}

TEST(a_level_that_is_none_is_the_nearest)
{
    ceni_event_emit((cen_event_level)0, "low", NULL, 0, NULL);
    ceni_event_emit((cen_event_level)99, "high", NULL, 0, NULL);
    ceni_cursor life = {0}, trace = {0};
    expect_equal(read_one(CENI_TRACE, &trace).level, CEN_LEVEL_TRACE);
    expect_equal(read_one(CENI_LIFE, &life).level, CEN_LEVEL_ERROR);
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

TEST(memory_that_no_events_is_in_is_not_touched)
{
    long before = faults();
    for (int i = 0; i < 10; i++) ceni_event_emit(CEN_LEVEL_NOTICE, "a", NULL, 0, NULL);
    expect(faults() - before < 200); /* all of it would be 340, and the sanitizers touch some of their own */
}

/* ---- Fork -------------------------------------------------------------------- */

static void expect_child_succeeds(pid_t child)
{
    int status;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
}

TEST(a_forked_child_begins_with_no_events_and_the_parent_keeps_its_own)
{
    for (int i = 0; i < 3; i++) ceni_event_emit(CEN_LEVEL_NOTICE, "parent", NULL, i, "A longer text than the child's.");
    ceni_event_emit(CEN_LEVEL_TRACE, "parent", NULL, 0, NULL);
    ceni_cursor at = {.next = 3};
    pid_t child = fork();
    if (child == 0) {
        expect_equal(ceni_events_begun(CENI_LIFE), 0);
        expect_equal(ceni_events_begun(CENI_TRACE), 0);
        expect_no_more(CENI_LIFE, &at);
        expect_equal(at.next, 0); /* the parent's cursor is at the beginning again */
        ceni_event_emit(CEN_LEVEL_NOTICE, "child", NULL, 9, "short");
        cen_event events = read_one(CENI_LIFE, &at);
        expect_text(events.what, "child");
        expect_text(events.text, "short");
        expect_equal(events.number, 0);
        expect_no_more(CENI_LIFE, &at);
        fflush(stdout);
        _exit(0);
    }
    expect_child_succeeds(child);
    expect_equal(ceni_events_begun(CENI_LIFE), 3);
    ceni_cursor own = {0};
    for (int i = 0; i < 3; i++) expect_text(read_one(CENI_LIFE, &own).what, "parent");
}

TEST(a_child_writes_nothing_into_the_memory_that_its_parent_moved_to)
{
    static _Alignas(4096) unsigned char memory[2 << 20];
    expect(ceni_events_size() <= sizeof memory);
    ceni_event_emit(CEN_LEVEL_NOTICE, "parent", NULL, 0, NULL);
    ceni_events_lay(memory);
    ceni_events_move(memory);
    ceni_event_emit(CEN_LEVEL_NOTICE, "parent", NULL, 1, NULL);
    pid_t child = fork();
    if (child == 0) {
        static unsigned char kept[sizeof memory];
        memcpy(kept, memory, sizeof memory);
        for (int i = 0; i < 5; i++) ceni_event_emit(CEN_LEVEL_NOTICE, "child", NULL, i, NULL);
        ceni_cursor at = {0};
        for (int i = 0; i < 5; i++) expect_text(read_one(CENI_LIFE, &at).what, "child");
        expect(memcmp(kept, memory, sizeof memory) == 0);
        _exit(0);
    }
    expect_child_succeeds(child);
    ceni_cursor at = {0};
    expect_equal(read_one(CENI_LIFE, &at).value, 0);
    expect_equal(read_one(CENI_LIFE, &at).value, 1);
    expect_no_more(CENI_LIFE, &at);
}

/* ---- Threads ------------------------------------------------------------------ */

enum { WRITERS = 4, EACH = 3000 };

static void write_many(void *argument)
{
    for (int i = 0; i < EACH; i++)
        ceni_event_emit(CEN_LEVEL_NOTICE, "a", NULL, (int64_t)(intptr_t)argument * EACH + i, "b");
}

TEST(every_events_of_several_threads_is_read_or_counted_while_the_rings_move)
{
    static _Alignas(4096) unsigned char memory[2 << 20];
    ceni_thread threads[WRITERS];
    int code;
    for (intptr_t i = 0; i < WRITERS; i++)
        expect_equal(ceni_thread_start(&threads[i], "write", write_many, (void *)i, &code), CEN_OK);
    ceni_cursor at = {0};
    uint64_t read = 0, last = 0;
    bool moved = false;
    while (at.next < WRITERS * EACH) {
        cen_event events;
        if (!moved && ceni_events_begun(CENI_LIFE) > WRITERS * EACH / 3) {
            ceni_events_lay(memory);
            ceni_events_move(memory);
            moved = true;
        }
        if (ceni_events_take(CENI_LIFE, &at, &events) != CEN_OK) {
            ceni_thread_yield();
            continue;
        }
        expect(read == 0 || events.number > last);
        last = events.number;
        read++;
    }
    for (int i = 0; i < WRITERS; i++) ceni_thread_join(&threads[i]);
    expect_equal(ceni_events_begun(CENI_LIFE), WRITERS * EACH);
    expect_equal(read + at.missed, WRITERS * EACH);
}
