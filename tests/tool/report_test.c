/* SPDX-License-Identifier: MIT */
/* Words, JSON and the page of findings that are made up: what they say, and what becomes of hostile texts. */
#include "tool/report.h"

#include <jansson.h>
#include <stdlib.h>

#include "support/test.h"

typedef struct made {
    tuning found;
    tune_size sizes[4];
} made;

static made *begin(void)
{
    static const double per_second[] = {4000, 7800, 12000, 12300};
    made *self = calloc(1, sizeof *self);
    expect(self != NULL);
    tuning *found = &self->found;
    *found = (tuning){.shown = "postgresql://ann@db/shop",
                      .system = "postgresql",
                      .query = "select 1",
                      .clients = 16,
                      .max = 8,
                      .time_limit = 30,
                      .elapsed = 21.5,
                      .rule = {.margin = 0.05},
                      .replicas = 10,
                      .visits = 20,
                      .rounds = 4,
                      .count = 4,
                      .end = SWEEP_SETTLED};
    found->limit = (target_limit){.most = 100,
                                  .reserved = 3,
                                  .in_use = 2,
                                  .words = "allows 100 connections, 3 of them reserved; 1 in use before"};
    found->answer = (knee_answer){.chosen = 2,
                                  .best = 3,
                                  .fastest = 3,
                                  .keeps_goal = true,
                                  .share = {0.976, 0.96, 0.99},
                                  .doubt = -1,
                                  .rival = -1,
                                  .hope = -1,
                                  .is_sure = true,
                                  .is_settled = true};
    for (uint32_t i = 0; i < 4; i++) {
        tune_size *size = &self->sizes[i];
        *size = (tune_size){
            .size = 1u << i, .visits = 4, .operations = 1000, .seconds = 2, .held_seconds = 1.5 * (1u << i)};
        size->throughput = (knee_interval){per_second[i], per_second[i] * 0.98, per_second[i] * 1.02};
        for (int k = 0; k < 100; k++)
            cen_histogram_record(&size->use, 3100000), cen_histogram_record(&size->wait, 1000);
        found->sizes[i] = size;
    }
    return self;
}

static bool says(const tuning *found, size_t (*words)(const tuning *, char *, size_t), const char *part)
{
    char text[1024];
    words(found, text, sizeof text);
    if (strstr(text, part)) return true;
    printf("says: %s\n", text);
    return false;
}

TEST(the_advice_is_one_sentence_with_the_numbers)
{
    made *self = begin();
    expect(says(&self->found, tune_advice,
                "A pool of 4 gives 98 % (95 % CI 96..99) of the best throughput (12,300/s at 8) and p99 of use 3.10 "
                "ms; with 10 replicas "
                "that is 40 of the server's 97 usable connections."));
    expect(says(&self->found, tune_doubts, ""));
    char text[64];
    expect_equal(tune_doubts(&self->found, text, sizeof text), 0);
    free(self);
}

TEST(what_the_table_shows_beaten_is_never_called_the_best)
{
    made *self = begin();
    self->found.answer.chosen = self->found.answer.best = self->found.answer.fastest = 2;
    self->found.answer.hope = -1, self->found.answer.share = (knee_interval){1, 1, 1};
    self->sizes[3].visits = 1; /* 12,300/s, and only once */
    self->sizes[3].throughput = (knee_interval){12300, 9000, 15600};
    expect(says(
        &self->found, tune_advice,
        "A pool of 4 is the smallest size not proven worse than another by more than 5 %: it gives 12,000/s (95 % CI "
        "11,760..12,240), while 8 gave 12,300/s (9,000..15,600) in 1 visit; its p99 of use 3.10 ms; with 10 replicas"));
    expect(!says(&self->found, tune_advice, "best"));
    self->found.answer.hope = 1; /* 2 may do as well: then 4 is not the smallest */
    expect(says(&self->found, tune_advice, "A pool of 4 is not proven worse than another by more than 5 %"));
    self->sizes[3].failed = true;
    expect(says(&self->found, tune_advice, "A pool of 4 gives the best throughput (12,000/s"));
    self->sizes[3].failed = false;
    self->found.goal = (tune_goal){.per_million = 990000, .time = TUNE_USE, .ns = 4000000};
    for (int k = 0; k < 100; k++) cen_histogram_record(&self->sizes[3].use, 9000000);
    expect(says(&self->found, tune_advice, "A pool of 4 gives the best throughput")); /* 8 does not keep the goal */
    free(self);
}

TEST(visits_that_differ_by_more_than_a_fifth_are_warned_of)
{
    made *self = begin();
    self->found.spread = 0.19;
    expect(!says(&self->found, tune_doubts, "differ"));
    self->found.spread = 0.31;
    expect(says(&self->found, tune_doubts, "Visits to the same size differ by 31 %"));
    free(self);
}

TEST(too_many_replicas_are_told_what_fits)
{
    made *self = begin();
    self->found.replicas = 40;
    expect(says(&self->found, tune_advice, "that is 160 connections, more than the server's 97."));
    expect(says(&self->found, tune_capacity_words, "A pool of 2 in each replica fits"));
    self->found.replicas = 98;
    expect(says(&self->found, tune_capacity_words, "Not even one connection per replica fits"));
    expect(tune_capacity_of(&self->found, 4).is_over && tune_capacity_of(&self->found, 4).fitting == 0);
    self->found.limit = (target_limit){0};
    expect(says(&self->found, tune_capacity_words, "need 392 connections; the resource reports no limit."));
    free(self);
}

TEST(doubts_rivals_and_limits_are_said)
{
    made *self = begin();
    self->found.answer.doubt = 1, self->found.answer.rival = 3, self->found.answer.is_sure = false;
    self->found.end = SWEEP_TIME;
    expect(says(&self->found, tune_doubts, "A pool of 2 may also be within 5 % of the best"));
    expect(says(&self->found, tune_doubts, "A pool of 8 may do better than one of 4 by more than 5 %."));
    expect(says(&self->found, tune_doubts, "A --time longer than 30 s gives a clearer result."));
    self->found.answer.chosen = 0, self->found.answer.rival = 1; /* of 2, 4 and 8, all better, the best is named */
    expect(says(&self->found, tune_doubts, "A pool of 8 may do better than one of 1 by more than 5 %."));
    self->sizes[3].failed = true;
    expect(says(&self->found, tune_doubts, "A pool of 4 may do better than one of 1 by more than 5 %."));
    self->sizes[3].failed = false;
    self->found.answer.chosen = 3;
    expect(says(&self->found, tune_doubts, "This is the largest size tried"));
    free(self);
}

TEST(a_goal_that_is_not_kept_is_said)
{
    char why[400];
    made *self = begin();
    expect(tune_goal_read("p99=1ms", TUNE_USE, &self->found.goal, why, sizeof why));
    self->found.answer.keeps_goal = false;
    expect(says(&self->found, tune_advice,
                "No size meets the goal (p99 of use at most 1.00 ms); a pool of 4 comes closest, with p99 of use"));
    free(self);
}

TEST(goals_are_read_and_nonsense_is_not)
{
    static const char *const bad[] = {
        "",           "p",       "p99",     "p99=",        "p99=x",    "p=1ms", "p0=1ms",
        "p100.1=1ms", "99=1ms",  "use.p99", "used.p99=1s", "p99=-1ms", "p99=0", "p9999999999999999999=1s",
        "=1ms",       "p99 =1ms"};
    tune_goal goal;
    char why[400];
    expect(tune_goal_read("p99=20ms", TUNE_USE, &goal, why, sizeof why));
    expect(goal.ns == 20000000 && goal.per_million == 990000 && goal.time == TUNE_USE);
    expect(tune_goal_read("wait.p99.9=1s", TUNE_USE, &goal, why, sizeof why));
    expect(goal.ns == 1000000000 && goal.per_million == 999000 && goal.time == TUNE_WAIT);
    expect(tune_goal_read("p100=5us", TUNE_WHOLE, &goal, why, sizeof why));
    expect(goal.per_million == 1000000 && goal.time == TUNE_WHOLE);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (tune_goal_read(bad[i], TUNE_USE, &goal, why, sizeof why)) printf("read: %s\n", bad[i]);
        expect(!tune_goal_read(bad[i], TUNE_USE, &goal, why, sizeof why));
    }
}

static char *page_of(const tuning *found)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    expect(out != NULL);
    report_html(found, out);
    expect(fclose(out) == 0);
    return text;
}

TEST(hostile_texts_stay_texts_in_the_page)
{
    made *self = begin();
    self->found.query = "</style></script><script>alert('x')</script>\"&\x01\xff\xc0\x80\xed\xa0\x80 caf\xc3\xa9";
    snprintf(self->found.trouble, sizeof self->found.trouble, "<img src=x onerror=alert(1)>");
    self->sizes[3].failed = true;
    snprintf(self->sizes[3].cause, sizeof self->sizes[3].cause, "<b>full</b>");
    self->found.answer.best = self->found.answer.fastest = 2;
    char *text = page_of(&self->found);
    expect(strstr(text, "<script") == NULL && strstr(text, "<img") == NULL && strstr(text, "<b>full") == NULL);
    expect(strstr(text, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;??????? caf") != NULL);
    expect(strstr(text, "caf\xc3\xa9") != NULL);
    expect(strstr(text, "\xff") == NULL && strstr(text, "\xc0\x80") == NULL && strchr(text, '\x01') == NULL);
    free(text);
    free(self);
}

TEST(a_page_is_made_of_anything_that_was_found)
{
    made *self = begin();
    for (uint32_t count = 0; count <= 4; count++) {
        self->found.count = count;
        self->found.answer.chosen = self->found.answer.best = self->found.answer.fastest = (int)count - 1;
        char *text = page_of(&self->found);
        expect(strstr(text, "nan") == NULL && strstr(text, "inf ") == NULL && strstr(text, "-inf") == NULL);
        expect(strstr(text, "</html>") != NULL);
        free(text);
    }
    free(self);
}

TEST(the_json_is_one_object_with_all_points)
{
    made *self = begin();
    char *text = NULL;
    size_t size = 0;
    self->found.query = "select '\xff'";
    FILE *out = open_memstream(&text, &size);
    expect(out && report_json(&self->found, out) && fclose(out) == 0);
    json_t *read = json_loads(text, 0, NULL);
    expect(read != NULL);
    expect_equal(json_array_size(json_object_get(read, "points")), 4);
    json_t *advice = json_object_get(read, "recommendation");
    expect_equal(json_integer_value(json_object_get(advice, "size")), 4);
    expect_equal(json_integer_value(json_object_get(advice, "best_size")), 8);
    expect_text(json_string_value(json_object_get(read, "query")), "select '\xef\xbf\xbd'");
    json_decref(read);
    free(text);
    free(self);
}
