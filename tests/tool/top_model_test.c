/* SPDX-License-Identifier: MIT */
/* What `cenote top` makes of two answers, without a process, a terminal or a clock. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "tool/address.h"
#include "tool/explain_advice.h"
#include "tool/model.h"
#include "tool/terminal.h"
#include "tool/view.h"

/* There is no terminal here: tables of words.c, of which none is printed, would have no colours. */
const char *terminal_ink(FILE *stream, ink wanted)
{
    (void)stream, (void)wanted;
    return "";
}

/* JSON, with ' for its quotes. */
static json_t *parse(const char *text)
{
    json_error_t why;
    char *quoted = strdup(text);
    for (char *at = quoted; *at; at++)
        if (*at == '\'') *at = '"';
    json_t *value = json_loads(quoted, 0, &why);
    free(quoted);
    if (!value) test_fail(__FILE__, __LINE__, "the test's own JSON is wrong at %d: %s", why.position, why.text);
    return value;
}

/* Between the two are two seconds: 600 takes, of which 100 waited, and 64 uses for each of the samples. */
static const char *const earlier =
    "{'now_ns': 1000000000, 'components': ["
    " {'number': 1, 'kind': 'pool', 'name': 'orders', 'metrics': {'max': 4, 'taken': 1000, 'timed_out': 1},"
    "  'counters': ['taken', 'timed_out'],"
    "  'histograms': {'wait': {'one_in': 1, 'instant': 900, 'count': 100, 'largest_ns': 5000, 'buckets': [[1023, 60], "
    "[4095, 40]]},"
    "                'use': {'one_in': 64, 'instant': 0, 'count': 10, 'largest_ns': 900, 'buckets': [[1023, 10]]}}}]}";
static const char *const later =
    "{'now_ns': 3000000000, 'components': ["
    " {'number': 1, 'kind': 'pool', 'name': 'orders', 'system': 'postgresql',"
    "  'metrics': {'max': 4, 'held': 3, 'moving': 1, 'idle': 0, 'opening': 0, 'waiting': 2, 'taken': 1600, "
    "'timed_out': 5,"
    "               \"closed\": 7, \"is_closed\": 0, \"paused\": 0, \"breaker\": 0},"
    "  'counters': ['taken', 'timed_out', 'closed'],"
    "  'histograms': {'wait': {'one_in': 1, 'instant': 1400, 'count': 200, 'largest_ns': 70000,"
    "                          'buckets': [[1023, 60], [4095, 134], [65535, 5], [131071, 1]]},"
    "                'use': {'one_in': 64, 'instant': 0, 'count': 10, 'largest_ns': 900, 'buckets': [[1023, 10]]}},"
    "  'actions': ['pause'],"
    "  'description': {'leak_after_ns': 1000000000, 'breaker': 'closed', 'cause': 'exhausted',"
    "                  'explanation': 'a sentence that nobody compares.\\n',"
    "    'holders': [{'index': 0, 'holder': 'thread 3', 'where': 'a.c:1', 'held_ns': 500, 'exact': true},"
    "                {'index': 2, 'holder': 'task 9', 'where': 'b.c:2', 'held_ns': 4000000000, 'exact': false, "
    "'detached': true},"
    "                {'index': 1, 'holder': 'thread 4', 'where': 'a.c:1', 'held_ns': 900, 'exact': true}],"
    "    'waiters': [{'kind': 'thread', 'holder': 'thread 5', 'waited_ns': 80, 'priority': 'high', 'deadline_in_ns': "
    "10},"
    "                {'kind': 'future', 'waited_ns': 70, 'priority': 'normal'}]}},"
    " {'number': 2, 'kind': 'pool', 'name': 'young', 'metrics': {'max': 8, 'idle': 2, 'taken': 10}, 'counters': "
    "['taken']},"
    " {'number': 3, 'kind': 'supervisor', 'name': 'inner', 'description': {'children': [{'name': 'leaf', 'state': "
    "'down'}]}},"
    " {'number': 4, 'kind': 'supervisor', 'name': 'outer', 'description': {'children': [{'name': 'inner', "
    "'supervisor': "
    "3}]}},"
    " {'number': 5, 'kind': 'crew', 'name': 'staff', 'metrics': {'queued': 12, 'finished': 500, 'lost': 0},"
    "  'counters': ['finished', 'lost'], 'description': {'workers': [{'number': 0, 'state': 'running', 'queued': 3}]}},"
    " {'number': 6, 'kind': 'router', 'name': 'replicas', 'metrics': {'down': 1},"
    "  'description': {'members': [{'name': 'b:1', 'state': 'down'}]}}"
    "]}";

static model *model_of_both(void)
{
    json_t *before = parse(earlier), *after = parse(later);
    model *m = model_new(before, after);
    expect(m != NULL);
    json_decref(before); /* what it needs of them it has */
    json_decref(after);
    return m;
}

/* ---- The model ------------------------------------------------------------------------------- */

TEST(counters_become_rates_of_the_time_between_two_looks)
{
    model *m = model_of_both();
    expect_equal(m->interval_ns, 2000000000);
    expect_equal(m->pool_count, 2);
    expect_equal((long long)m->pools[0].takes, 300);
    expect_equal((long long)m->pools[0].timeouts, 2);
    expect_equal((long long)m->pools[1].takes, 5); /* it came into being meanwhile */
    model_free(m);
}

TEST(a_percentile_is_of_the_interval_and_counts_takes_that_did_not_wait)
{
    model *m = model_of_both();
    const model_spread *wait = &m->pools[0].wait;
    expect(wait->known && !wait->is_old);
    expect_equal((long long)wait->count, 600); /* 500 at once, 94 up to 4095, 5 up to 65535, 1 more */
    expect_equal(wait->p50_ns, 0);
    expect_equal(wait->p99_ns, 4095);
    expect_equal(wait->largest_ns, 70000); /* the bucket goes on to 131071, and nothing was ever that long */
    model_free(m);
}

TEST(histogram_without_events_are_those_of_all_time_and_say_so)
{
    model *m = model_of_both();
    expect(m->pools[0].use.known && m->pools[0].use.is_old);
    expect_equal((long long)m->pools[0].use.count, 640); /* one in 64 is timed */
    expect(!m->pools[1].use.known);
    model_free(m);
}

TEST(a_bucket_that_only_one_answer_has_is_counted_right)
{
    json_t *a = parse("{'histograms': {'x': {'count': 3, 'buckets': [[10, 1], [20, 2]]}}}");
    json_t *b = parse("{'histograms': {'x': {'count': 7, 'largest_ns': 28,"
                      " 'buckets': [[5, 1], [10, 1], [15, 2], [20, 2], [30, 1]]}}}");
    model_spread s = model_spread_of(a, b, "x");
    expect_equal((long long)s.count, 4);
    expect_equal(s.p50_ns, 15);
    expect_equal(s.p99_ns, 28);
    json_decref(a);
    json_decref(b);
}

TEST(one_look_alone_has_no_rates_and_percentiles_of_all_time)
{
    json_t *after = parse(later);
    model *m = model_new(NULL, after);
    expect_equal(m->interval_ns, 0);
    expect(m->pools[0].takes < 0);
    expect_equal((long long)m->pools[0].wait.count, 1600);
    expect(!m->pools[0].wait.is_old);
    model_free(m);
    json_decref(after);
}

TEST(a_clock_that_was_set_back_gives_no_rates_and_no_crash)
{
    json_t *before = parse(later), *after = parse(earlier);
    model *m = model_new(before, after);
    expect(m != NULL);
    expect_equal(m->interval_ns, 0);
    expect(m->pools[0].takes < 0);
    model_free(m);
    json_decref(before);
    json_decref(after);
}

TEST(holders_of_all_pools_are_sorted_by_age)
{
    model *m = model_of_both();
    expect_equal(m->holder_count, 3);
    expect_equal(m->holders[0].index, 2);
    expect_equal(m->holders[1].index, 1);
    expect_equal(m->holders[2].index, 0);
    expect(strcmp(m->holders[0].where, "b.c:2") == 0 && m->holders[0].detached && !m->holders[0].exact);
    model_free(m);
}

TEST(a_leak_is_the_state_of_its_pool_before_the_timeouts_that_it_causes)
{
    model *m = model_of_both();
    expect_equal(m->pools[0].leaks, 1);
    view_table table = view_of(PANE_POOLS, m, NULL);
    expect(strcmp(table.rows[0].cells[1].text, "leak") == 0);
    expect(strcmp(table.rows[1].cells[1].text, "ok") == 0);
    view_table_free(&table);
    m->pools[0].leaks = 12;
    table = view_of(PANE_POOLS, m, NULL);
    expect(strcmp(table.rows[0].cells[1].text, "12 leaks") == 0);
    view_table_free(&table);
    m->pools[0].leaks = 0;
    table = view_of(PANE_POOLS, m, NULL);
    expect(strcmp(table.rows[0].cells[1].text, "timeouts") == 0);
    view_table_free(&table);
    model_free(m);
}

TEST(waiters_keep_their_order_and_may_have_no_deadline)
{
    model *m = model_of_both();
    expect_equal(m->waiter_count, 2);
    expect_equal(m->waiters[0].place, 1);
    expect_equal(m->waiters[0].left_ns, 10);
    expect_equal(m->waiters[1].left_ns, -1);
    expect(strcmp(m->waiters[0].priority, "high") == 0 && strcmp(m->waiters[1].holder, "") == 0);
    model_free(m);
}

TEST(the_count_of_closed_objects_does_not_close_a_pool)
{
    model *m = model_of_both();
    expect(!m->pools[0].closed);
    expect_equal(m->pools[0].held, 4); /* one is changing hands */
    model_free(m);
}

TEST(a_supervisor_is_drawn_once_below_the_child_that_it_is)
{
    static const char *const titles[] = {"supervisor outer", "inner", "supervisor inner", "leaf",
                                         "router replicas",  "b:1"};
    static const unsigned depths[] = {0, 1, 2, 3, 0, 1};
    model *m = model_of_both();
    expect_equal(m->tree_count, 6);
    for (size_t i = 0; i < 6; i++) {
        expect(strcmp(m->tree[i].title, titles[i]) == 0);
        expect_equal(m->tree[i].depth, depths[i]);
    }
    expect_equal(m->worker_count, 2);
    expect(strcmp(m->workers[0].numbers, "queued 12, finished 250/s") == 0);
    expect(strcmp(m->workers[1].title, "worker 0") == 0);
    model_free(m);
}

TEST(supervisors_in_a_ring_are_drawn_and_do_not_hang)
{
    json_t *components = parse("{'now_ns': 1, 'components': ["
                               "{'number': 1, 'kind': 'supervisor', 'name': 'a',"
                               " 'description': {'children': [{'name': 'b', 'supervisor': 2}]}},"
                               "{'number': 2, 'kind': 'supervisor', 'name': 'b',"
                               " 'description': {'children': [{'name': 'a', 'supervisor': 1}]}}]}");
    model *m = model_new(NULL, components);
    expect_equal(m->tree_count, 4);
    model_free(m);
    json_decref(components);
}

TEST(an_answer_with_wrong_types_or_nothing_in_it_is_survived)
{
    static const char *const texts[] = {
        "{'components': []}",
        "{'components': [1, null, 'x', {}, []]}",
        "{'components': [{'kind': 'pool', 'metrics': [], 'histograms': 7, 'description': 'x'}]}",
        ("{'components': [{'kind': 'pool', 'description': {'holders': [1, {}], 'waiters': {}},"
         " 'histograms': {'wait': {'count': 5, 'buckets': [1, [2]]}}}]}"),
        "{'components': [{'kind': 'crew', 'counters': [1], 'metrics': {'x': 'y'}, 'description': {'workers': [null, "
        "{}]}}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *components = parse(texts[i]), *events = parse("[{}, {'time_ns': -5, 'level': 3}]");
        model *m = model_new(components, components);
        expect(m != NULL);
        for (int pane = 0; pane < PANES; pane++) {
            view_table table = view_of((view_pane)pane, m, events);
            view_sort(&table, 0, true);
            view_filter(&table, "x");
            view_table_free(&table);
        }
        model_free(m);
        json_decref(components);
        json_decref(events);
    }
    json_t *no = parse("{'error': {}}");
    expect(model_new(NULL, no) == NULL);
    json_decref(no);
}

/* ---- Tables -------------------------------------------------------------------------------------- */

static const char *cell(const view_table *table, size_t row, unsigned column)
{
    return table->rows[row].cells[column].text;
}

TEST(a_table_is_sorted_by_numbers_as_numbers_and_the_other_way_round)
{
    model *m = model_of_both();
    view_table table = view_of(PANE_HOLDERS, m, NULL);
    view_sort(&table, 0, true); /* ages rise */
    expect(strcmp(cell(&table, 0, 2), "0") == 0 && strcmp(cell(&table, 2, 2), "2") == 0);
    view_sort(&table, 6, false); /* by place; equal ones stay as they came, the oldest first */
    expect(strcmp(cell(&table, 0, 2), "1") == 0 && strcmp(cell(&table, 1, 2), "0") == 0 &&
           strcmp(cell(&table, 2, 2), "2") == 0);
    view_sort(&table, -1, false);
    expect(strcmp(cell(&table, 0, 2), "2") == 0);
    view_table_free(&table);
    model_free(m);
}

TEST(a_filter_leaves_rows_with_the_text_and_what_is_above_them_in_a_tree)
{
    model *m = model_of_both();
    view_table table = view_of(PANE_TREE, m, NULL);
    view_filter(&table, "LEAF");
    expect_equal(table.count, 4);
    expect(strcmp(cell(&table, 0, 0), "supervisor outer") == 0 && strcmp(cell(&table, 3, 0), "leaf") == 0);
    view_filter(&table, "no such");
    expect_equal(table.count, 0);
    view_table_free(&table);
    model_free(m);
}

TEST(no_width_of_the_screen_makes_a_line_longer_than_it)
{
    model *m = model_of_both();
    for (unsigned columns = 1; columns < 200; columns++)
        for (int pane = 0; pane < PANES; pane++) {
            unsigned widths[VIEW_COLUMNS], sum = 0;
            char text[4096];
            view_table table = view_of((view_pane)pane, m, NULL);
            view_layout(&table, columns, widths);
            for (unsigned c = 0; c < table.column_count; c++) {
                sum += widths[c] ? widths[c] + (sum > 0) : 0;
                for (size_t i = 0; i < table.count && widths[c]; i++) {
                    view_cell_text(&table, &table.rows[i], c, widths[c], text, sizeof text);
                    expect_equal(view_width(text), widths[c]);
                }
            }
            if (sum > columns) test_fail(__FILE__, __LINE__, "pane %d takes %u of %u columns", pane, sum, columns);
            view_table_free(&table);
        }
    model_free(m);
}

TEST(a_name_cannot_make_the_terminal_do_anything)
{
    char out[64];
    view_clean(out, sizeof out, "a\x1b[2J\tb\nc\x7f", false);
    expect(strcmp(out, "a?[2J b c?") == 0);
    view_clean(out, sizeof out, "two\nlines\x07", true);
    expect(strcmp(out, "two\nlines?") == 0);
    view_clean(out, 4, "abcdef", false);
    expect(strcmp(out, "abc") == 0);
    view_is_wide = false;
    view_clean(out, sizeof out, "gr\xC3\xBC\xC3\x9F", false);
    expect(strcmp(out, "gr??") == 0);
}

TEST(times_are_short_and_round_at_the_right_places)
{
    static const struct {
        int64_t ns;
        const char *text;
    } times[] = {
        {0, "0"},
        {850, "850ns"},
        {1000, "1.0us"},
        {9949, "9.9us"},
        {9950, "10us"},
        {999499, "999us"},
        {999500, "1.0ms"},
        {56000000, "56ms"},
        {999500000, "1.0s"},
        {9950000000, "10s"},
        {59999999999, "59s"},
        {60000000000, "1m00s"},
        {200000000000, "3m20s"},
        {7500000000000, "2h05m"},
        {356400000000000, "4d03h"},
    };
    char text[16];
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(view_time(text, times[i].ns), times[i].text) != 0)
            test_fail(__FILE__, __LINE__, "%lld is %s, expected %s", (long long)times[i].ns, text, times[i].text);
}

/* ---- Advice ----------------------------------------------------------------------------------------- */

static explain_verdict judge(model_pool pool)
{
    return explain_judge(&pool);
}

TEST(a_take_is_judged_by_what_it_would_meet_now)
{
    expect_equal(judge((model_pool){.max = 4, .held = 3, .idle = 1}), VERDICT_WELL);
    expect_equal(judge((model_pool){.max = 4, .held = 3}), VERDICT_WELL); /* there is room for another */
    expect_equal(judge((model_pool){.max = 4, .held = 4}), VERDICT_WAITS);
    expect_equal(judge((model_pool){.max = 4, .held = 3, .revoked = 1}), VERDICT_WAITS);
    expect_equal(judge((model_pool){.max = 4, .held = 2, .others = 2}), VERDICT_WAITS);
    expect_equal(judge((model_pool){.max = 4, .idle = 4, .paused = true}), VERDICT_WAITS);
    expect_equal(judge((model_pool){.max = 4, .idle = 4, .closed = true}), VERDICT_FAILS);
    expect_equal(judge((model_pool){.max = 4, .breaker = BREAKER_OPEN}), VERDICT_FAILS);
    expect_equal(judge((model_pool){.max = 4, .held = 1, .breaker = BREAKER_OPEN}), VERDICT_WAITS);
    expect_equal(judge((model_pool){.max = 4, .idle = 1, .breaker = BREAKER_OPEN}), VERDICT_WELL);
}

TEST(who_has_held_for_longer_than_leak_ns_is_named_with_the_place)
{
    model *m = model_of_both();
    char text[400];
    explain_advise(m, &m->pools[0], text, sizeof text);
    expect(strstr(text, "b.c:2") != NULL);
    explain_advise(m, &m->pools[1], text, sizeof text);
    expect(strcmp(text, "nothing.") == 0);
    model_free(m);
}

static void expect_advice(model_pool pool, const char *words)
{
    static const model nobody;
    char text[400];
    if (!pool.last_error) pool.last_error = "";
    explain_advise(&nobody, &pool, text, sizeof text);
    if (!strstr(text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", text, words);
}

TEST(advice_goes_by_the_cause_and_not_by_words)
{
    const model_pool full = {.max = 4, .held = 4, .explanation = "pool \"p\": Self-wait: Leak suspected: Empty: "};
    model_pool pool = full;
    static const struct {
        cen_cause cause;
        const char *says;
    } all[] = {
        {CEN_CAUSE_NONE, "cenote tune"},       {CEN_CAUSE_EXHAUSTED, "cenote tune"},
        {CEN_CAUSE_LEAK, "the oldest holder"}, {CEN_CAUSE_SELF_WAIT, "before taking another"},
        {CEN_CAUSE_OPENING_SLOW, "min_idle"},  {CEN_CAUSE_NO_OBJECTS, "adopt"},
        {CEN_CAUSE_REVOKED, "on_max_hold"},    {CEN_CAUSE_OPENING_FAILED, "can be opened"},
        {CEN_CAUSE_BREAKER_OPEN, "opened"},    {CEN_CAUSE_HEALTH_CHECK, "health check"},
        {CEN_CAUSE_RESETTING, "reset"},        {CEN_CAUSE_CLOSING, "close"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        pool.cause = all[i].cause;
        expect_advice(pool, all[i].says);
    }
    expect_advice((model_pool){.max = 4, .idle = 4, .paused = true, .cause = CEN_CAUSE_PAUSED}, "resume the pool");
    expect_advice((model_pool){.max = 4, .closed = true, .cause = CEN_CAUSE_CLOSED}, "closed this pool");
}

TEST(the_cause_of_a_pool_is_read_by_its_word_and_one_that_is_not_known_is_none)
{
    static const struct {
        const char *description;
        cen_cause cause;
    } all[] = {{"{'cause': 'self_wait'}", CEN_CAUSE_SELF_WAIT},
               {"{'cause': 'of_the_future'}", CEN_CAUSE_NONE},
               {"{'explanation': 'pool: Leak suspected: ...'}", CEN_CAUSE_NONE}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "{'now_ns': 1, 'components': [{'number': 1, 'kind': 'pool', 'description': %s}]}",
                 all[i].description);
        json_t *answer = parse(text);
        model *m = model_new(NULL, answer);
        expect_equal(m->pools[0].cause, all[i].cause);
        model_free(m);
        json_decref(answer);
    }
}

/* ---- Addresses ------------------------------------------------------------------------------------------ */

TEST(an_address_is_read_in_all_its_forms_and_its_token_not_shown)
{
    static const struct {
        const char *text, *url, *socket, *token, *shown;
    } good[] = {
        {"127.0.0.1:9911", "http://127.0.0.1:9911", "", "", "http://127.0.0.1:9911/"},
        {"[::1]:9911", "http://[::1]:9911", "", "", "http://[::1]:9911/"},
        {"http://h:1/", "http://h:1", "", "", "http://h:1/"},
        {"http://h:1/?token=se%20cret", "http://h:1", "", "se cret", "http://h:1/"},
        {"https://h/below/", "https://h/below", "", "", "https://h/below/"},
        {"unix:/run/s", "http://localhost", "/run/s", "", "unix:/run/s"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        address at;
        cen_error error = {.text = ""};
        if (address_find(good[i].text, &at, &error) != CEN_OK)
            test_fail(__FILE__, __LINE__, "%s: %s", good[i].text, error.text);
        expect(strcmp(at.url, good[i].url) == 0 && strcmp(at.socket, good[i].socket) == 0);
        expect(strcmp(at.token, good[i].token) == 0 && strcmp(at.shown, good[i].shown) == 0);
    }
}

TEST(what_is_no_address_is_refused_with_a_sentence)
{
    static const char *const bad[] = {"nonsense",        "unix:", "http://", "http:///x",
                                      "http://u:p@h:1/", "h:1 2", ":80",     "ftp"};
    char long_path[300] = "unix:/";
    memset(long_path + 6, 'x', sizeof long_path - 7);
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        const char *text = i < sizeof bad / sizeof *bad ? bad[i] : long_path;
        address at;
        cen_error error = {.text = ""};
        if (address_find(text, &at, &error) != CEN_MISUSE)
            test_fail(__FILE__, __LINE__, "\"%s\" was taken for an address", text);
        expect(strlen(error.text) > 15 && error.text[strlen(error.text) - 1] == '.');
    }
}

/* ---- What led here ------------------------------------------------------------------------- */

/* Samples: when, held, waiting, taken, timed out, and the percentiles of waits. */
static const char *const kept =
    "{'now_ns': 400000000000, 'components': [{'number': 9, 'metrics': [], 'timings': [], 'samples': [[1]]},"
    " {'number': 1, 'metrics': ['held', 'waiting', 'taken', 'timed_out'], 'timings': ['use', 'wait'], 'samples': ["
    "  [90000000000, 9, 9, 10, 0, null, null, null, null, null, null, null, null]," /* more than five minutes ago */
    "  [341000000000, 1, 0, 1000, 5, 1, 1, 1, 1, 7, 8, 2000000, 9],"                /* 59 s ago */
    "  [351000000000, 4, 2, 1500, 5, 1, 1, 1, 1, 7, 8, 3000000, 9],"
    "  [371000000000, 3, 7, 3500, 8, 1, 1, 1, 1, null, null, null, null],"
    "  [391000000000, 2, 6, 5500, 8, 1, 1, 1, 1, 7, 8, 1000000, 9]]}]}";

static bool has_line(const view_page *page, const char *words)
{
    char wanted[200], line[200];
    for (size_t i = 0; i < page->count; i++) {
        size_t length = 0;
        for (const char *at = page->lines[i]; *at && length < sizeof line - 1; at++) /* runs of blanks as one */
            if (*at != ' ' || (length > 0 && line[length - 1] != ' ')) line[length++] = *at;
        line[length] = '\0';
        snprintf(wanted, sizeof wanted, "%s", words);
        if (strcmp(line, wanted) == 0) return true;
    }
    return false;
}

TEST(what_a_process_kept_of_a_pool_is_shown_by_half_minutes)
{
    json_t *after = parse(earlier), *history = parse(kept);
    model *m = model_new(NULL, after);
    model_set_history(m, NULL);
    expect(m->pools[0].number == 1 && !m->pools[0].history);
    model_set_history(m, history);
    view_page page = {.count = 0};
    view_say_history(&page, m->pools[0].history, m->pools[0].now_ns);
    expect(has_line(&page, "AGO HELD WAITING TIMED OUT WAIT P99 TAKES/s"));
    expect_equal(page.count, 5); /* a blank, two heads, two half minutes: what is older is left out */
    expect(has_line(&page, "60 s 4 2 0 3.00 ms 50"));
    expect(has_line(&page, "30 s 3 7 3 1.00 ms 100")); /* 4,000 takes in the 40 s since the sample before */
    view_page_free(&page);
    page = (view_page){.count = 0};
    view_say_history(&page, NULL, 0);
    expect_equal(page.count, 0);
    model_free(m);
    json_decref(after);
    json_decref(history);
}
