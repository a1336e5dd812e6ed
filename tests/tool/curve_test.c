/* SPDX-License-Identifier: MIT */
/* The curve as text, at every width. */
#include "tool/curve.h"

#include <stdlib.h>

#include "support/test.h"

static const curve_column columns[] = {
    {.size = 1, .height = 3000, .latency = 0.0008},  {.size = 2, .height = 5900, .latency = 0.0009},
    {.size = 3, .height = 8800, .latency = 0.0011},  {.size = 4, .height = 11900, .latency = 0.0031},
    {.size = 8, .height = 12300, .latency = 0.0062}, {.size = 16, .height = 12100, .latency = 0.0125},
    {.size = 32, .failed = true, .latency = -1},
};

static char *drawn(const curve *self)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    expect(out != NULL);
    curve_print(self, out);
    expect(fclose(out) == 0);
    return text;
}

static curve usual(unsigned width)
{
    return (curve){
        .columns = columns, .count = 7, .chosen = 3, .best = 4, .latency_name = "p99", .width = width, .plain = true};
}

/* Characters of the widest line; UTF-8's following bytes are none. */
static unsigned widest(const char *text)
{
    unsigned most = 0, now = 0;
    for (; *text; text++) {
        if (*text == '\n') now = 0;
        else if (((unsigned char)*text & 0xc0) != 0x80) now++;
        if (now > most) most = now;
    }
    return most;
}

TEST(a_curve_shows_sizes_heights_latencies_and_the_recommended_one)
{
    curve self = usual(80);
    char *text = drawn(&self);
    puts(text);
    expect(strstr(text, "12.3k/s +") != NULL);
    expect(strstr(text, "3.10ms") != NULL);
    expect(strstr(text, "failed") != NULL);
    expect(strstr(text, "^ recommended") != NULL);
    free(text);
}

TEST(a_curve_fits_every_width_and_keeps_the_recommended_size)
{
    for (unsigned width = 20; width <= 200; width++)
        for (int plain = 0; plain <= 1; plain++) {
            curve self = usual(width);
            self.plain = plain;
            char *text = drawn(&self);
            if (widest(text) > width) printf("%u\n%s", width, text);
            expect(widest(text) <= width);
            if (width >= 40) expect(strstr(text, " 4 ") != NULL);
            if (width >= 40) expect(strstr(text, "recommended") != NULL);
            free(text);
        }
}

TEST(a_curve_of_many_sizes_leaves_some_out_but_not_those_that_matter)
{
    curve_column many[CURVE_SIZES_MOST];
    for (uint32_t i = 0; i < CURVE_SIZES_MOST; i++)
        many[i] = (curve_column){.size = i + 1, .height = i < 40 ? i + 1 : 41, .latency = 0.001};
    curve self = {.columns = many,
                  .count = CURVE_SIZES_MOST,
                  .chosen = 38,
                  .best = 60,
                  .latency_name = "p99",
                  .width = 80,
                  .plain = true};
    char *text = drawn(&self);
    expect(widest(text) <= 80);
    const char *needed[] = {" 1 ", " 38 ", " 39 ", " 61 ", " 96 "};
    for (size_t i = 0; i < 5; i++) expect(strstr(text, needed[i]) != NULL);
    free(text);
}

TEST(one_size_nothing_and_zero_are_drawn)
{
    curve self = usual(80);
    self.count = 0;
    char *text = drawn(&self);
    expect_text(text, "");
    free(text);
    curve_column nothing = {.size = 1, .height = 0, .latency = -1};
    curve one = {
        .columns = &nothing, .count = 1, .chosen = -1, .best = -1, .latency_name = "p99", .width = 80, .plain = true};
    text = drawn(&one);
    expect(strstr(text, "size") != NULL && strstr(text, "recommended") == NULL);
    free(text);
}

TEST(unicode_is_for_locales_that_have_it)
{
    unsetenv("LC_ALL"), unsetenv("LC_CTYPE"), unsetenv("LANG");
    expect(!curve_may_be_unicode());
    setenv("LANG", "de_DE.UTF-8", 1);
    expect(curve_may_be_unicode());
    setenv("LC_CTYPE", "C", 1);
    expect(!curve_may_be_unicode());
    setenv("LC_ALL", "C.utf8", 1);
    expect(curve_may_be_unicode());
}
