/* SPDX-License-Identifier: MIT */
/* News as a program reads and writes them. */
#include <cenote/news.h>

#include "record/news.h"
#include "support/test.h"

TEST(what_a_program_tells_can_be_read)
{
    cen_cursor at = {0};
    cen_news news = {.value = 77};
    expect_equal(cen_news_read(&at, &news), CEN_EMPTY);
    expect_equal(news.value, 77); /* written only on OK */
    expect_equal(cen_news_count(), 0);
    cen_news_tell(CEN_LEVEL_NOTICE, "started", "The service has started.");
    expect_equal(cen_news_count(), 1);
    expect_equal(cen_news_read(&at, &news), CEN_OK);
    expect_text(news.what, "started");
    expect_text(news.text, "The service has started.");
    expect_equal(news.level, CEN_LEVEL_NOTICE);
    expect_equal(news.component, 0);
    expect_equal(news.value, 0);
    expect_equal(cen_news_read(&at, &news), CEN_EMPTY);
    cen_news_tell(CEN_LEVEL_NOTICE, NULL, NULL);
    expect_equal(cen_news_read(&at, &news), CEN_OK);
    expect_text(news.what, "");
    expect_text(news.text, "");
}

TEST(both_rings_are_read_as_one_stream_in_the_order_of_time)
{
    for (int i = 0; i < 300; i++) cen_news_tell(i % 3 ? CEN_LEVEL_TRACE : CEN_LEVEL_ERROR, "a", "b");
    cen_cursor at = {0};
    cen_news news;
    int64_t time = 0;
    uint64_t life = 0, traces = 0;
    while (cen_news_read(&at, &news) == CEN_OK) {
        expect(news.time_ns >= time);
        time = news.time_ns;
        expect_equal(news.number, news.level == CEN_LEVEL_TRACE ? traces : life);
        if (news.level == CEN_LEVEL_TRACE) traces++;
        else life++;
    }
    expect_equal(life, 100);
    expect_equal(traces, 200);
    expect_equal(at.next, 100);
    expect_equal(at.next_trace, 200);
    expect_equal(cen_news_count(), 100); /* traces are not counted */
}

TEST(a_reader_that_comes_late_learns_how_many_it_missed_of_each)
{
    for (int i = 0; i < 2100; i++) cen_news_tell(CEN_LEVEL_NOTICE, "a", NULL);
    for (int i = 0; i < 1100; i++) cen_news_tell(CEN_LEVEL_TRACE, "b", NULL);
    cen_cursor at = {0};
    cen_news news;
    uint64_t read = 0;
    while (cen_news_read(&at, &news) == CEN_OK) read++;
    expect_equal(read, 2048 + 1024);
    expect_equal(at.missed, 2100 - 2048);
    expect_equal(at.missed_trace, 1100 - 1024);
}

TEST(a_reader_without_cursor_or_room_is_told_so)
{
    cen_cursor at = {0};
    cen_news news;
    expect_equal(cen_news_read(NULL, &news), CEN_INVALID);
    expect_equal(cen_news_read(&at, NULL), CEN_INVALID);
}

TEST(levels_have_names)
{
    expect_text(cen_level_name(CEN_LEVEL_TRACE), "trace");
    expect_text(cen_level_name(CEN_LEVEL_DETAIL), "detail");
    expect_text(cen_level_name(CEN_LEVEL_NOTICE), "notice");
    expect_text(cen_level_name(CEN_LEVEL_WARNING), "warning");
    expect_text(cen_level_name(CEN_LEVEL_ERROR), "error");
    expect_text(cen_level_name((cen_level)0), "?");
    expect_text(cen_level_name((cen_level)6), "?");
    expect_text(cen_level_name((cen_level)-1), "?");
}
