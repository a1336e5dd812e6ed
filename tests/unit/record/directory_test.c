/* SPDX-License-Identifier: MIT */
#include "record/directory.h"

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

static ceni_directory directory;

enum { ENTRIES = 5 };
static ceni_directory_entry entries[ENTRIES];

static size_t read_object(const void *object, cen_metric *metrics, size_t room)
{
    if (room > 0) metrics[0] = (cen_metric){"length", *(const int *)object, CEN_GAUGE};
    return 1;
}

static const int lengths[ENTRIES] = {10, 11, 12, 13, 14};

static void begin(void)
{
    static const char *const names[ENTRIES] = {"a", "b", "c", "d", "e"};
    ceni_directory_init(&directory);
    for (int i = 0; i < ENTRIES; i++) {
        entries[i] = (ceni_directory_entry){"queue", names[i], read_object, &lengths[i], NULL, 0, 0, {NULL, NULL}};
        ceni_directory_join(&directory, &entries[i]);
    }
}

static char seen[64];

static void note_name(void *argument, ceni_directory_entry *entry)
{
    (void)argument;
    strcat(seen, entry->name);
}

static const char *names_now(void)
{
    seen[0] = 0;
    ceni_directory_each(&directory, note_name, NULL);
    return seen;
}

TEST(a_walk_visits_every_entry_once_oldest_first)
{
    ceni_directory_init(&directory);
    expect_text(names_now(), "");
    begin();
    expect_text(names_now(), "abcde");
    expect_equal(ceni_directory_count(&directory), ENTRIES);
    ceni_directory_leave(&directory, &entries[0]);
    ceni_directory_leave(&directory, &entries[3]);
    expect_text(names_now(), "bce");
    ceni_directory_join(&directory, &entries[0]);
    expect_text(names_now(), "bcea");
    expect_equal(ceni_directory_count(&directory), 4);
}

static void read_entry(void *argument, ceni_directory_entry *entry)
{
    int64_t *sum = argument;
    cen_metric metric;
    expect_equal(entry->snapshot(entry->object, &metric, 1), 1);
    expect_text(metric.name, "length");
    expect_text(entry->kind, "queue");
    *sum += metric.value;
}

TEST(a_visitor_can_ask_each_component_for_its_numbers)
{
    begin();
    int64_t sum = 0;
    ceni_directory_each(&directory, read_entry, &sum);
    expect_equal(sum, 10 + 11 + 12 + 13 + 14);
}

TEST(numbers_of_entries_are_never_used_again)
{
    begin();
    uint64_t last = entries[ENTRIES - 1].number;
    ceni_directory_leave(&directory, &entries[ENTRIES - 1]);
    ceni_directory_join(&directory, &entries[ENTRIES - 1]);
    expect(entries[ENTRIES - 1].number > last);
    expect(entries[0].number != 0);
}

TEST(leaving_twice_and_leaving_without_joining_change_nothing)
{
    begin();
    ceni_directory_entry never = {0};
    ceni_directory_leave(&directory, &never);
    ceni_directory_leave(&directory, &entries[1]);
    ceni_directory_leave(&directory, &entries[1]);
    expect_text(names_now(), "acde");
    expect_equal(ceni_directory_count(&directory), 4);
}

/* ---- Visitors that change the directory ---------------------------------- */

static void leave_itself(void *argument, ceni_directory_entry *entry)
{
    note_name(argument, entry);
    ceni_directory_leave(&directory, entry);
    memset(entry, 0xEE, sizeof *entry); /* as if its memory were gone */
}

TEST(a_visitor_may_leave_the_entry_it_visits)
{
    begin();
    seen[0] = 0;
    ceni_directory_each(&directory, leave_itself, NULL);
    expect_text(seen, "abcde");
    expect_equal(ceni_directory_count(&directory), 0);
}

static void leave_the_next(void *argument, ceni_directory_entry *entry)
{
    note_name(argument, entry);
    if (entry == &entries[1]) {
        ceni_directory_leave(&directory, &entries[2]);
        ceni_directory_leave(&directory, &entries[3]);
        ceni_directory_leave(&directory, &entries[0]);
    }
}

TEST(what_leaves_before_its_turn_is_not_visited_and_the_walk_goes_on)
{
    begin();
    seen[0] = 0;
    ceni_directory_each(&directory, leave_the_next, NULL);
    expect_text(seen, "abe");
}

static void walk_again(void *argument, ceni_directory_entry *entry)
{
    if (entry == &entries[0]) ceni_directory_each(&directory, leave_itself, NULL);
    else note_name(argument, entry);
}

TEST(an_entry_left_in_a_walk_inside_a_walk_is_gone_from_both)
{
    begin();
    seen[0] = 0;
    ceni_directory_each(&directory, walk_again, NULL);
    expect_text(seen, "abcde"); /* all from the inner walk */
    expect_equal(ceni_directory_count(&directory), 0);
}

/* ---- Leaving while another thread visits --------------------------------- */

static _Atomic uint32_t visiting, visited;

static void visit_slowly(void *argument, ceni_directory_entry *entry)
{
    (void)argument;
    if (entry != &entries[2]) return;
    ceni_store_release(&visiting, 1);
    ceni_futex_wake(&visiting, 1);
    for (int i = 0; i < 2000; i++) ceni_thread_yield(); /* a leave that does not wait returns meanwhile */
    expect_text(entry->name, "c");
    ceni_store_release(&visited, 1);
}

static void walk_slowly(void *argument)
{
    (void)argument;
    ceni_directory_each(&directory, visit_slowly, NULL);
}

/* guarantees: record.directory */
TEST(leave_waits_for_a_visit_in_progress)
{
    begin();
    ceni_thread thread;
    int code;
    expect_equal(ceni_thread_start(&thread, "walk", walk_slowly, NULL, &code), CEN_OK);
    while (!ceni_load_acquire(&visiting)) ceni_futex_wait(&visiting, 0, CENI_FOREVER);
    ceni_directory_leave(&directory, &entries[1]); /* nobody is there: no waiting */
    ceni_directory_leave(&directory, &entries[2]);
    expect_equal(ceni_load_acquire(&visited), 1);
    memset(&entries[2], 0xEE, sizeof entries[2]);
    ceni_thread_join(&thread);
    expect_text(names_now(), "ade");
}

enum { OWNERS = 3, ROUNDS = 300 };

static _Atomic uint32_t owners_left;

static void come_and_go(void *argument)
{
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        int length = 1;
        ceni_directory_entry entry = {"queue", "x", read_object, &length, NULL, 0, 0, {NULL, NULL}};
        ceni_directory_join(&directory, &entry);
        ceni_thread_yield(); /* lets a walk find it */
        ceni_directory_leave(&directory, &entry);
        length = 1000; /* a visit from here on would be seen in the sum */
        memset(&entry, 0xEE, sizeof entry);
    }
    ceni_sub_relaxed(&owners_left, 1);
}

static void read_after_a_pause(void *argument, ceni_directory_entry *entry)
{
    ceni_thread_yield(); /* a leave that does not wait returns meanwhile */
    read_entry(argument, entry);
}

/* guarantees: record.directory */
TEST(walks_and_owners_that_come_and_go_never_meet_a_dead_entry)
{
    ceni_directory_init(&directory);
    ceni_store_relaxed(&owners_left, OWNERS);
    ceni_thread threads[OWNERS];
    int code;
    for (int i = 0; i < OWNERS; i++)
        expect_equal(ceni_thread_start(&threads[i], "own", come_and_go, NULL, &code), CEN_OK);
    while (ceni_load_relaxed(&owners_left) > 0) {
        int64_t sum = 0;
        ceni_directory_each(&directory, read_after_a_pause, &sum);
        expect(sum < 1000);
        ceni_thread_yield();
    }
    for (int i = 0; i < OWNERS; i++) ceni_thread_join(&threads[i]);
    expect_equal(ceni_directory_count(&directory), 0);
}

TEST(the_process_has_one_directory)
{
    ceni_directory *process = ceni_directory_process();
    expect(process == ceni_directory_process());
    ceni_directory_entry entry = {"queue", "q", read_object, &lengths[0], NULL, 0, 0, {NULL, NULL}};
    ceni_directory_join(process, &entry);
    expect_equal(ceni_directory_count(ceni_directory_process()), 1);
    ceni_directory_leave(process, &entry);
    expect_equal(ceni_directory_count(process), 0);
}
