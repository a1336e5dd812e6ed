/* SPDX-License-Identifier: MIT */
/* The grammar of commands. */
#include <netinet/in.h>

#include "faultproxy/command.h"
#include "support/test.h"

static fp_command parsed(const char *line)
{
    fp_command command;
    char why[FP_SENTENCE] = "";
    if (!fp_command_parse(&command, line, strlen(line), why))
        test_fail(__FILE__, __LINE__, "\"%s\" is refused: %s", line, why);
    return command;
}

static void expect_refused_bytes(const char *line, size_t size, const char *sentence)
{
    fp_command command;
    char why[FP_SENTENCE] = "";
    if (fp_command_parse(&command, line, size, why)) test_fail(__FILE__, __LINE__, "\"%s\" is understood", line);
    expect_text(why, sentence);
}

static void expect_refused(const char *line, const char *sentence)
{
    expect_refused_bytes(line, strlen(line), sentence);
}

TEST(a_delay_has_a_jitter_a_way_and_a_which_in_any_order)
{
    fp_command command = parsed("delay 50");
    expect_equal(command.verb, FP_DELAY);
    expect_equal(command.value[0], 50);
    expect_equal(command.value[1], 0);
    expect_equal(command.way, FP_BOTH);
    expect(!command.only_new);
    command = parsed("  delay\t50 new to-client   jitter 7 \r");
    expect_equal(command.value[0], 50);
    expect_equal(command.value[1], 7);
    expect_equal(command.way, FP_TO_CLIENT);
    expect(command.only_new);
}

TEST(a_part_that_is_left_out_moves_no_other)
{
    fp_command command = parsed("reset after 100");
    expect_equal(command.given, 2);
    expect_equal(command.value[1], 100);
    command = parsed("reset 50% after 100");
    expect_equal(command.given, 3);
    expect_equal(command.value[0], 50);
    expect_equal(command.value[1], 100);
    command = parsed("close-slowly 9 now");
    expect_equal(command.value[0], 9);
    expect_equal(command.value[1], 1);
    command = parsed("slice 1 to-server 5");
    expect_equal(command.value[0], 1);
    expect_equal(command.value[1], 5);
    expect_equal(command.way, FP_TO_SERVER);
}

TEST(every_command_of_the_list_is_understood)
{
    static const char *const lines[] = {"delay 50",
                                        "throttle 10000",
                                        "slice 1 5",
                                        "slice 1",
                                        "blackhole",
                                        "blackhole hold",
                                        "reset",
                                        "reset 50%",
                                        "refuse",
                                        "accept-every 500",
                                        "close-slowly 1000",
                                        "clear",
                                        "clear new",
                                        "stats",
                                        "kill 3",
                                        "help",
                                        "quit",
                                        "forget",
                                        "to 127.0.0.1:5432",
                                        "to unix:/tmp/x",
                                        "to [::1]:80"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) parsed(lines[i]);
}

TEST(what_is_asked_for_before_the_start_must_be_a_state_to_be_in)
{
    static const char *const settings[] = {"delay 1", "reset 50%",      "reset after 3",
                                           "refuse",  "close-slowly 5", "blackhole hold"};
    static const char *const others[] = {"reset", "close-slowly 5 now", "clear", "stats", "kill 1",
                                         "quit",  "to 127.0.0.1:1"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        fp_command command = parsed(settings[i]);
        if (!fp_command_is_setting(&command)) test_fail(__FILE__, __LINE__, "%s is no setting", settings[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        fp_command command = parsed(others[i]);
        if (fp_command_is_setting(&command)) test_fail(__FILE__, __LINE__, "%s is a setting", others[i]);
    }
}

TEST(an_address_is_read_as_it_is_written)
{
    static const char *const texts[] = {"127.0.0.1:5432", "[::1]:80", "unix:/tmp/a.sock", "0.0.0.0:0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fp_address address;
        char text[FP_ADDRESS_TEXT];
        expect(fp_address_parse(&address, texts[i], strlen(texts[i])));
        fp_address_text(&address, text);
        expect_text(text, texts[i]);
    }
    static const char *const wrong[] = {
        "",      ":",     "127.0.0.1", "127.0.0.1:",   "127.0.0.1:65536", "127.0.0.1:+1", "::1:80",
        "[::1]", "unix:", "host:80",   "127.0.0.1:8 ", "[127.0.0.1]:80",  "1.2.3:4"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fp_address address;
        if (fp_address_parse(&address, wrong[i], strlen(wrong[i])))
            test_fail(__FILE__, __LINE__, "\"%s\" is an address", wrong[i]);
    }
    char path[300] = "unix:/";
    memset(path + 6, 'x', sizeof path - 7);
    fp_address address;
    expect(!fp_address_parse(&address, path, strlen(path)));
}

TEST(a_line_that_is_not_understood_is_told_why_in_a_sentence)
{
    expect_refused("", "The line is empty.");
    expect_refused(" \t ", "The line is empty.");
    expect_refused("Delay 5", "Unknown command \"Delay\"; help lists all commands.");
    expect_refused("delays 5", "Unknown command \"delays\"; help lists all commands.");
    expect_refused("delay", "A value is missing; write: delay MS [jitter MS] [WAY] [WHICH].");
    expect_refused("delay x", "\"x\" is not a number of milliseconds from 0 to 3600000.");
    expect_refused("delay -1", "\"-1\" is not a number of milliseconds from 0 to 3600000.");
    expect_refused("delay 3600001", "\"3600001\" is not a number of milliseconds from 0 to 3600000.");
    expect_refused("delay 99999999999999999999",
                   "\"99999999999999999999\" is not a number of milliseconds from 0 to 3600000.");
    expect_refused("delay 5 jitter", "A value is missing after \"jitter\".");
    expect_refused("delay 5 jitter to-client", "\"to-client\" is not a number of milliseconds from 0 to 3600000.");
    expect_refused("delay 5 6", "Unexpected \"6\"; write: delay MS [jitter MS] [WAY] [WHICH].");
    expect_refused("delay 5 both both", "Unexpected \"both\"; write: delay MS [jitter MS] [WAY] [WHICH].");
    expect_refused("refuse now", "Unexpected \"now\"; write: refuse.");
    expect_refused("reset 50", "\"50\" is not a share from 0% to 100%.");
    expect_refused("reset 101%", "\"101%\" is not a share from 0% to 100%.");
    expect_refused("kill", "A value is missing; write: kill N.");
    expect_refused("to nowhere", "\"nowhere\" is not an address; write 127.0.0.1:5432, [::1]:5432 or unix:/path.");
}

TEST(what_is_shown_of_a_wrong_word_is_short_and_harmless)
{
    expect_refused_bytes("\x1b[2J\x80", 5, "Unknown command \"?[2J?\"; help lists all commands.");
    expect_refused_bytes("ab\0cd", 5, "Unknown command \"ab?cd\"; help lists all commands.");
    expect_refused_bytes("clear\0", 6, "Unknown command \"clear?\"; help lists all commands.");
    char line[FP_LINE + 2];
    memset(line, 'y', sizeof line);
    expect_refused_bytes(line, FP_LINE + 1, "The line is longer than 255 bytes.");
    expect_refused_bytes(line, FP_LINE,
                         "Unknown command \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"; help lists all commands.");
}

TEST(the_list_of_forms_names_every_command_once)
{
    char forms[2048];
    fp_command_forms(forms, sizeof forms);
    unsigned bars = 0;
    for (const char *at = forms; *at; at++) bars += *at == '|';
    expect_equal(bars, FP_VERBS - 1);
    expect(strncmp(forms, "delay MS [jitter MS] [WAY] [WHICH] | throttle", 45) == 0);
    expect(strcmp(forms + strlen(forms) - 4, "quit") == 0);
    fp_command_forms(forms, 10); /* what does not fit is cut off */
    expect_text(forms, "delay MS ");
}
