/* SPDX-License-Identifier: MIT */
/* The one reader of options, by a command that is made up. */
#include "tool/command.h"

#include "support/test.h"

typedef struct settings {
    bool loud, fast;
    const char *name, *page;
    int64_t count, time, size, colour;
    double number, share;
} settings;

#define AT(field) offsetof(settings, field)
static const option_row rows[] = {
    {"loud", 'l', OPTION_FLAG, NULL, AT(loud), 0, 0, NULL, ""},
    {"fast", 'f', OPTION_FLAG, NULL, AT(fast), 0, 0, NULL, ""},
    {"name", 'n', OPTION_TEXT, "TEXT", AT(name), 0, 0, NULL, ""},
    {"page", 0, OPTION_MAYBE, "ADDRESS", AT(page), 0, 0, NULL, ""},
    {"count", 'c', OPTION_COUNT, "N", AT(count), 1, 1000000, NULL, ""},
    {"time", 't', OPTION_DURATION, "TIME", AT(time), 0, 3600e9, NULL, ""},
    {"size", 0, OPTION_SIZE, "BYTES", AT(size), 0, 0, NULL, ""},
    {"number", 0, OPTION_NUMBER, "N", AT(number), 0, 0, NULL, ""},
    {"share", 0, OPTION_SHARE, "SHARE", AT(share), 0, 1, NULL, ""},
    {"colour", 0, OPTION_CHOICE, "COLOUR", AT(colour), 0, 0, "red green blue", ""},
    {0},
};
static const command made_up = {
    .name = "made", .arguments = "[A] [B]", .rows = rows, .settings_size = sizeof(settings), .most = 2};

static char why[400];

/* Reads up to eight words, ended by NULL. */
static options_answer read_words(settings *out, int *count, char **words)
{
    memset(out, 0, sizeof *out);
    why[0] = 0;
    for (*count = 0; words[*count];) ++*count;
    return options_read(&made_up, out, count, words, why, sizeof why);
}

#define READ(out, count, ...) read_words(out, count, (char *[]){__VA_ARGS__, NULL})

TEST(options_come_in_every_usual_form)
{
    settings got;
    int count;
    expect_equal(READ(&got, &count, "--count", "20", "--name=a=b", "-lf", "-t250ms"), OPTIONS_READ);
    expect(got.count == 20 && strcmp(got.name, "a=b") == 0 && got.loud && got.fast && got.time == 250000000 &&
           count == 0);
    expect_equal(READ(&got, &count, "-c", "3k", "-ln", "x", "--name", ""), OPTIONS_READ);
    expect(got.count == 3000 && got.loud && strcmp(got.name, "") == 0);
}

TEST(arguments_may_be_anywhere_and_anything_after_two_dashes)
{
    settings got;
    int count;
    char *words[] = {"one", "-l", "--", "--fast", NULL};
    expect_equal(read_words(&got, &count, words), OPTIONS_READ);
    expect(count == 2 && strcmp(words[0], "one") == 0 && strcmp(words[1], "--fast") == 0 && got.loud && !got.fast);
    char *dash[] = {"-", NULL};
    expect_equal(read_words(&got, &count, dash), OPTIONS_READ);
    expect(count == 1 && strcmp(dash[0], "-") == 0);
    expect_equal(READ(&got, &count, "1", "2", "3"), OPTIONS_WRONG);
    expect(strcmp(why, "Unexpected argument \"3\".") == 0);
}

TEST(an_option_with_a_value_that_may_be_missing_never_takes_the_next_word)
{
    settings got;
    int count;
    expect_equal(READ(&got, &count, "--page", "word"), OPTIONS_READ);
    expect(strcmp(got.page, "") == 0 && count == 1);
    expect_equal(READ(&got, &count, "--page=here"), OPTIONS_READ);
    expect(strcmp(got.page, "here") == 0);
}

TEST(histogram_and_sizes_and_shares_have_their_units)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"2", 2000000000},     {"2s", 2000000000},    {"1.5m", 90000000000},
                {"1min", 60000000000}, {"1h", 3600000000000}, {"10us", 10000},
                {"500ns", 500},        {".5ms", 500000},      {"0", 0},
                {"0.0000000001s", 0}};
    static const char *const bad[] = {"",     "s",   "2 s", "2S",    "-1s", "1e3",
                                      "0x10", "nan", "inf", "1.2.3", "2ss", "99999999999999h"};
    int64_t ns;
    double number;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        expect(options_duration(good[i].text, &ns));
        expect_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) expect(!options_duration(bad[i], &ns));
    expect(options_number("2.5k", &number) && number == 2500);
    settings got;
    int count;
    expect_equal(READ(&got, &count, "--size", "64KiB", "--share", "25%", "--number", "0.125", "--colour", "blue"),
                 OPTIONS_READ);
    expect(got.size == 65536 && got.share == 0.25 && got.number == 0.125 && got.colour == 2);
}

TEST(what_is_wrong_names_the_option)
{
    static const struct {
        char *words[3];
        const char *why;
    } table[] = {
        {{"--fly"}, "Unknown option --fly; \"cenote made --help\" lists all options."},
        {{"--coun=3"}, "Unknown option --coun. Did you mean \"--count\"?"},
        {{"-lx"}, "Unknown option -x; \"cenote made --help\" lists all options."},
        {{"--loud=yes"}, "--loud takes no value."},
        {{"--count"}, "--count needs a value: N."},
        {{"-lc"}, "-c (--count) needs a value: N."},
        {{"--count", "0"}, "--count: 0 is out of range (1 to 1000000)."},
        {{"--count", "1.5"}, "--count: \"1.5\" is not a whole number, such as 20 or 20k."},
        {{"--time", "2h"}, "--time: 2h is out of range (0ns to 1h)."},
        {{"--size", "4 KiB"}, "--size: \"4 KiB\" is not a size, such as 4096 or 64KiB."},
        {{"--share", "1.01"}, "--share: 1.01 is out of range (0 to 1)."},
        {{"--colour", "gree"}, "--colour: \"gree\" is not one of: red green blue."},
    };
    settings got;
    int count;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *words[] = {table[i].words[0], table[i].words[1], NULL};
        expect_equal(read_words(&got, &count, words), OPTIONS_WRONG);
        if (strcmp(why, table[i].why) != 0) test_fail(__FILE__, __LINE__, "%s: %s", table[i].words[0], why);
    }
}

TEST(help_is_asked_for_by_any_command_before_anything_else_counts)
{
    settings got;
    int count;
    expect_equal(READ(&got, &count, "--loud", "--help", "--fly"), OPTIONS_HELP);
    expect_equal(READ(&got, &count, "-h"), OPTIONS_HELP);
}
