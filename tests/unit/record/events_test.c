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
    cen_event event;
    expect_equal(ceni_events_take(stream, cursor, &event), CEN_OK);
    return event;
}

static void expect_no_more(ceni_stream stream, ceni_cursor *cursor)
{
    cen_event event;
    expect_equal(ceni_events_take(stream, cursor, &event), CEN_EMPTY);
}

/* guarantees: events.order */
TEST(an_event_has_all_that_was_told_and_when)
{
    ceni_directory_entry entry = {.kind = "pool", .name = "orders", .snapshot = no_metrics};
    ceni_directory_join(ceni_directory_process(), &entry);
    int64_t before = ceni_clock_wall();
    ceni_event_tell(CEN_LEVEL_WARNING, CEN_EVENT_TIMED_OUT, &entry, 500, "Nobody gave anything back.");
    ceni_event_tell(CEN_LEVEL_ERROR, CEN_EVENT_GAVE_UP, NULL, -1, NULL);
    ceni_cursor at = {0};
    cen_event event = read_one(CENI_LIFE, &at);
    expect_equal(event.number, 0);
    expect(event.time_ns >= before && event.time_ns <= ceni_clock_wall());
    expect(event.time_ns > INT64_C(1600000000) * 1000000000);
    expect_equal(event.level, CEN_LEVEL_WARNING);
    expect_equal(event.component, entry.number);
    expect_equal(event.value, 500);
    expect_equal(event.kind, CEN_EVENT_TIMED_OUT);
    expect_text(event.what, "timed_out");
    expect_text(event.component_kind, "pool");
    expect_text(event.component_name, "orders");
    expect_text(event.text, "Nobody gave anything back.");
    event = read_one(CENI_LIFE, &at);
    expect_equal(event.number, 1);
    expect_equal(event.component, 0);
    expect_equal(event.value, -1);
    expect_text(event.component_kind, "");
    expect_text(event.component_name, "");
    expect_text(event.text, "");
    expect_no_more(CENI_LIFE, &at);
    ceni_directory_leave(ceni_directory_process(), &entry);
}

/* guarantees: events.traces */
TEST(traces_push_nothing_else_out)
{
    ceni_event_tell(CEN_LEVEL_DETAIL, CEN_EVENT_OPENED, NULL, 0, NULL);
    for (int i = 0; i < 5000; i++) ceni_event_tell(CEN_LEVEL_TRACE, CEN_EVENT_TAKEN, NULL, i, NULL);
    ceni_cursor life = {0}, trace = {0};
    expect_text(read_one(CENI_LIFE, &life).what, "opened");
    expect_equal(life.missed, 0);
    expect_no_more(CENI_LIFE, &life);
    expect_equal(read_one(CENI_TRACE, &trace).value, 5000 - 1024);
    expect_equal(trace.missed, 5000 - 1024);
    expect_equal(ceni_events_begun(CENI_TRACE), 5000);
}

/* guarantees: events.order */
TEST(two_thousand_and_forty_eight_are_there_and_the_others_are_counted)
{
    for (int i = 0; i < 3000; i++) ceni_event_tell(CEN_LEVEL_DETAIL, CEN_EVENT_OPENED, NULL, i, NULL);
    ceni_cursor at = {0};
    for (int i = 3000 - 2048; i < 3000; i++) expect_equal(read_one(CENI_LIFE, &at).value, i);
    expect_no_more(CENI_LIFE, &at);
    expect_equal(at.missed, 3000 - 2048);
}

/* guarantees: events.texts */
TEST(what_is_too_long_is_cut_between_two_characters)
{
    char text[600] = "";
    for (int i = 0; i < 180; i++) memcpy(text + 3 * i, "\xE2\x82\xAC", 3); /* a character of three bytes */
    cen_event_emit(CEN_LEVEL_NOTICE, "sixteen_letters_and_sixteen_more", text);
    text[0] = 'x'; /* moves the cut by as much as it takes */
    memmove(text + 1, text + 3, 530);
    ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_STOPPED, NULL, 0, text);
    ceni_cursor at = {0};
    cen_event event = read_one(CENI_LIFE, &at);
    expect_equal(strlen(event.text), 477);
    expect_equal(strlen(event.what), sizeof event.what - 1);
    expect_equal(event.kind, CEN_EVENT_PROGRAM);
    event = read_one(CENI_LIFE, &at);
    expect_equal(strlen(event.text), 478);
    expect_equal((unsigned char)event.text[477], 0xAC);
}

TEST(of_a_place_that_is_too_long_the_end_is_kept)
{
    char place[100], other[100];
    memset(place, '/', sizeof place);
    memcpy(place + 90, "pay.c:107", 10);
    memcpy(other, place, sizeof other);
    memcpy(other + 35, "\xE2\x82\xAC", 3); /* where it is cut */
    ceni_event_write(&(ceni_occurrence){.level = CEN_LEVEL_WARNING,
                                        .kind = CEN_EVENT_STALE_GIVE,
                                        .holder = 7,
                                        .held_ns = 8,
                                        .status = CEN_STALE,
                                        .code = -9,
                                        .cause = CEN_CAUSE_QUEUE_FULL,
                                        .part = "a part",
                                        .where = place,
                                        .given_where = other},
                     NULL);
    ceni_cursor at = {0};
    cen_event event = read_one(CENI_LIFE, &at);
    expect_equal(strlen(event.where), sizeof event.where - 1);
    expect_text(event.where + sizeof event.where - 10, "pay.c:107");
    expect_equal(strlen(event.given_where), sizeof event.given_where - 2 - 1);
    expect_text(event.given_where + strlen(event.given_where) - 9, "pay.c:107");
    expect_text(event.part, "a part");
    expect(event.holder == 7 && event.held_ns == 8 && event.code == -9);
    expect(event.status == CEN_STALE && event.cause == CEN_CAUSE_QUEUE_FULL);
}

/* The word of a kind is its name in lower case: docs and tools go by it. */
TEST(each_kind_has_a_word_of_its_own)
{
    for (int kind = CEN_EVENT_PROGRAM; kind <= CEN_EVENT_MESSAGE_SLOW; kind++) {
        const char *word = cen_event_kind_name((cen_event_kind)kind);
        expect(word[0] && strcmp(word, "?") != 0 && strlen(word) < sizeof((cen_event *)0)->what);
        for (int other = CEN_EVENT_PROGRAM; other < kind; other++)
            expect(strcmp(word, cen_event_kind_name((cen_event_kind)other)) != 0);
    }
    expect_text(cen_event_kind_name(CEN_EVENT_BREAKER_HALF_OPEN), "breaker_half_open");
    expect_text(cen_event_kind_name((cen_event_kind)(CEN_EVENT_MESSAGE_SLOW + 1)), "?");
    expect_text(cen_event_kind_name((cen_event_kind)-1), "?");
}

TEST(a_level_that_is_none_is_the_nearest)
{
    cen_event_emit((cen_event_level)0, "low", NULL);
    cen_event_emit((cen_event_level)99, NULL, NULL);
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

/* guarantees: events.memory */
TEST(memory_that_no_event_is_in_is_not_touched)
{
    long before = faults();
    for (int i = 0; i < 10; i++) ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_STOPPED, NULL, 0, NULL);
    expect(faults() - before < 200); /* all of it would be 340, and the sanitizers touch some of their own */
}

/* ---- Fork -------------------------------------------------------------------- */

static void expect_child_succeeds(pid_t child)
{
    int status;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
}

/* guarantees: events.L14 */
TEST(a_forked_child_begins_with_no_events_and_the_parent_keeps_its_own)
{
    for (int i = 0; i < 3; i++)
        ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_PAUSED, NULL, i, "A longer text than the child's.");
    ceni_event_tell(CEN_LEVEL_TRACE, CEN_EVENT_PAUSED, NULL, 0, NULL);
    ceni_cursor at = {.next = 3};
    pid_t child = fork();
    if (child == 0) {
        expect_equal(ceni_events_begun(CENI_LIFE), 0);
        expect_equal(ceni_events_begun(CENI_TRACE), 0);
        expect_no_more(CENI_LIFE, &at);
        expect_equal(at.next, 0); /* the parent's cursor is at the beginning again */
        ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_RESUMED, NULL, 9, "short");
        cen_event event = read_one(CENI_LIFE, &at);
        expect_text(event.what, "resumed");
        expect_text(event.text, "short");
        expect_equal(event.number, 0);
        expect_no_more(CENI_LIFE, &at);
        fflush(stdout);
        _exit(0);
    }
    expect_child_succeeds(child);
    expect_equal(ceni_events_begun(CENI_LIFE), 3);
    ceni_cursor own = {0};
    for (int i = 0; i < 3; i++) expect_text(read_one(CENI_LIFE, &own).what, "paused");
}

/* guarantees: events.L14 */
TEST(a_child_writes_nothing_into_the_memory_that_its_parent_moved_to)
{
    static _Alignas(4096) unsigned char memory[4 << 20];
    expect(ceni_events_size() <= sizeof memory);
    ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_PAUSED, NULL, 0, NULL);
    ceni_events_lay(memory);
    ceni_events_move(memory);
    ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_PAUSED, NULL, 1, NULL);
    pid_t child = fork();
    if (child == 0) {
        static unsigned char kept[sizeof memory];
        memcpy(kept, memory, sizeof memory);
        for (int i = 0; i < 5; i++) ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_RESUMED, NULL, i, NULL);
        ceni_cursor at = {0};
        for (int i = 0; i < 5; i++) expect_text(read_one(CENI_LIFE, &at).what, "resumed");
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
        ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_STOPPED, NULL, (int64_t)(intptr_t)argument * EACH + i, "b");
}

/* guarantees: events.writers */
TEST(every_event_of_several_threads_is_read_or_counted_while_the_rings_move)
{
    static _Alignas(4096) unsigned char memory[4 << 20];
    ceni_thread threads[WRITERS];
    int code;
    for (intptr_t i = 0; i < WRITERS; i++)
        expect_equal(ceni_thread_start(&threads[i], "write", write_many, (void *)i, &code), CEN_OK);
    ceni_cursor at = {0};
    uint64_t read = 0, last = 0;
    bool moved = false;
    while (at.next < WRITERS * EACH) {
        cen_event event;
        if (!moved && ceni_events_begun(CENI_LIFE) > WRITERS * EACH / 3) {
            ceni_events_lay(memory);
            ceni_events_move(memory);
            moved = true;
        }
        if (ceni_events_take(CENI_LIFE, &at, &event) != CEN_OK) {
            ceni_thread_yield();
            continue;
        }
        expect(read == 0 || event.number > last);
        last = event.number;
        read++;
    }
    for (int i = 0; i < WRITERS; i++) ceni_thread_join(&threads[i]);
    expect_equal(ceni_events_begun(CENI_LIFE), WRITERS * EACH);
    expect_equal(read + at.missed, WRITERS * EACH);
}
