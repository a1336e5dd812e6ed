/* SPDX-License-Identifier: MIT */
#include "faultproxy/options.h"

#include <stdarg.h>
#include <string.h>
#include <sys/un.h>

__attribute__((format(printf, 2, 3))) static bool fail(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, FP_SENTENCE, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- One function per option ---------------------------------------------------------------- */

static bool set_address(fp_address *address, bool *has, const char *value, char *why)
{
    *has = fp_address_parse(address, value, strlen(value));
    return *has || fail(why, "\"%.60s\" is not an address; write 127.0.0.1:5432, [::1]:5432 or unix:/path.", value);
}

static bool set_listen(fp_options *options, const char *value, char *why)
{
    return set_address(&options->listen, &options->has_listen, value, why);
}

static bool set_to(fp_options *options, const char *value, char *why)
{
    return set_address(&options->to, &options->has_to, value, why);
}

static bool set_control(fp_options *options, const char *value, char *why)
{
    size_t most = sizeof((struct sockaddr_un *)0)->sun_path - 1, size = strlen(value);
    options->control = value;
    return (size > 0 && size <= most) || fail(why, "The path of the control socket must have 1 to %zu bytes.", most);
}

static bool set_seed(fp_options *options, const char *value, char *why)
{
    const uint64_t most = UINT64_MAX;
    bool good = *value != 0;
    options->seed = 0;
    for (const char *at = value; good && *at; at++) {
        unsigned digit = (unsigned)(*at - '0');
        good = *at >= '0' && *at <= '9' && options->seed <= (most - digit) / 10;
        options->seed = options->seed * 10 + digit;
    }
    options->has_seed = good;
    return good || fail(why, "\"%.60s\" is not a seed; write a whole number.", value);
}

static bool set_follow_stdin(fp_options *options, const char *value, char *why)
{
    (void)value;
    (void)why;
    return options->follow_stdin = true;
}

static bool set_help(fp_options *options, const char *value, char *why)
{
    (void)value;
    (void)why;
    return options->help = true;
}

static bool set_version(fp_options *options, const char *value, char *why)
{
    (void)value;
    (void)why;
    return options->version = true;
}

/* ---- All options ---------------------------------------------------------------------------- */

static const struct option {
    const char *name, *value, *meaning;
    bool (*set)(fp_options *options, const char *value, char *why);
} known[] = {
    {"--listen", "ADDRESS", "address for clients; port 0 picks a free port", set_listen},
    {"--to", "ADDRESS", "address of the server", set_to},
    {"--control", "PATH", "also take commands on a Unix socket at PATH", set_control},
    {"--follow-stdin", NULL, "exit when standard input ends", set_follow_stdin},
    {"--seed", "NUMBER", "seed for jitter and shares; without it, a random seed is used and printed", set_seed},
    {"--help", NULL, "print this help", set_help},
    {"--version", NULL, "print the version", set_version},
};

enum { KNOWN = sizeof known / sizeof *known };

static const struct option *find(const char *name)
{
    for (unsigned i = 0; i < KNOWN; i++)
        if (strcmp(known[i].name, name) == 0) return &known[i];
    return NULL;
}

static bool add_fault(fp_options *options, const char *text, char *why)
{
    char reason[FP_SENTENCE];
    fp_command *fault = &options->faults[options->faults_used];
    if (options->faults_used == FP_FAULTS) return fail(why, "More than %d faults are given.", FP_FAULTS);
    if (!fp_command_parse(fault, text, strlen(text), reason)) return fail(why, "%.*s", FP_SENTENCE - 1, reason);
    if (!fp_command_is_setting(fault))
        return fail(why, "\"%.60s\" is not a fault but a command, which cannot be an argument.", text);
    options->faults_used++;
    return true;
}

bool fp_options_parse(fp_options *options, int count, char **arguments, char why[FP_SENTENCE])
{
    memset(options, 0, sizeof *options);
    for (int i = 1; i < count; i++) {
        const struct option *option = find(arguments[i]);
        if (!option && arguments[i][0] == '-')
            return fail(why, "Unknown option \"%.60s\"; --help lists all options.", arguments[i]);
        if (!option) {
            if (!add_fault(options, arguments[i], why)) return false;
            continue;
        }
        if (option->value && i + 1 == count) return fail(why, "%s needs a value: %s.", option->name, option->value);
        if (!option->set(options, option->value ? arguments[++i] : NULL, why)) return false;
        if (options->help || options->version) return true;
    }
    if (!options->has_listen) return fail(why, "--listen is missing: give the address for clients.");
    if (!options->has_to) return fail(why, "--to is missing: give the address of the server.");
    return true;
}

void fp_options_print_help(FILE *out)
{
    fputs("Usage: cenote-faultproxy --listen ADDRESS --to ADDRESS [OPTION...] [FAULT...]\n"
          "\n"
          "A proxy between a client and a server that injects faults on demand: delays, limits, resets, refusals and\n"
          "more. It prints \"listening on ADDRESS\" when it is ready. Each line of standard input, or of a connection\n"
          "to the control socket, is a command. The response is one line: \"ok\", \"ok NAME=VALUE...\" or\n"
          "\"error: sentence\".\n"
          "\n"
          "Options:\n",
          out);
    for (unsigned i = 0; i < KNOWN; i++)
        fprintf(out, "  %s%s%s\n      %s\n", known[i].name, known[i].value ? " " : "",
                known[i].value ? known[i].value : "", known[i].meaning);
    fp_command_print_help(out);
    fputs(
        "\n"
        "The command quit, SIGTERM and SIGINT close everything and exit with status 0. Status 1: the proxy could not\n"
        "start. Status 2: the arguments are invalid.\n"
        "\n"
        "Example: cenote-faultproxy --listen 127.0.0.1:6432 --to 127.0.0.1:5432 'delay 50 jitter 20' refuse\n",
        out);
}
