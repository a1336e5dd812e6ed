/* SPDX-License-Identifier: MIT */
/*
 * A pool's copy of its options, and the hosts in its address.
 *
 * libpq tries several hosts by itself, but when the caller keeps the time, a host that does not respond is never left.
 * So each host is tried separately here, with its share of the time. An address that leaves the choice to libpq, as
 * "prefer-standby" does, is not split.
 */
#include <arpa/inet.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pq/internal.h"

enum { STATEMENTS = 64, STATEMENTS_MOST = 4096, HOSTS_MOST = 64 };
static const int64_t SECOND = 1000000000;
static const char DEFAULT_PORT[] = "5432"; /* libpq's */

__attribute__((format(printf, 3, 4))) static cen_status refuse(cen_error *error, cen_status status, const char *format,
                                                               ...)
{
    va_list values;
    *error = (cen_error){.status = status};
    va_start(values, format);
    vsnprintf(error->text, sizeof error->text, format, values);
    va_end(values);
    return status;
}

static const char *given(const PQconninfoOption *parsed, const char *keyword)
{
    for (; parsed && parsed->keyword; parsed++)
        if (strcmp(parsed->keyword, keyword) == 0) return parsed->val && *parsed->val ? parsed->val : NULL;
    return NULL;
}

/* ---- Hosts ---------------------------------------------------------------------------------------- */

static uint32_t count_of(const char *list)
{
    uint32_t count = list ? 1 : 0;
    for (; list && *list; list++) count += *list == ',';
    return count;
}

/* Return entry i of a list; a list with one entry applies to all. NULL: none, or out of memory, which sets *failed. */
static char *part_of(const char *list, uint32_t i, bool *failed)
{
    if (!list) return NULL;
    if (count_of(list) == 1) i = 0;
    while (i-- > 0) list = strchr(list, ',') + 1;
    size_t length = strcspn(list, ",");
    if (length == 0) return NULL;
    char *part = strndup(list, length);
    if (!part) *failed = true;
    return part;
}

/* Return true if a list has an empty entry. libpq's default for it cannot be given for a single host, because an empty
 * value counts as none. */
static bool has_gap(const char *list)
{
    if (!list) return false;
    size_t length = strlen(list);
    return list[0] == ',' || list[length - 1] == ',' || strstr(list, ",,") != NULL;
}

/* Return true if each host can be tried separately: as many addresses as names, and one port for all or for each. */
static bool can_part(const PQconninfoOption *parsed, uint32_t *count)
{
    const char *attributes = given(parsed, "target_session_attrs");
    uint32_t names = count_of(given(parsed, "host")), addresses = count_of(given(parsed, "hostaddr")),
             ports = count_of(given(parsed, "port"));
    *count = names > addresses ? names : addresses;
    if (*count < 2 || *count > HOSTS_MOST || (names && addresses && names != addresses)) return false;
    if (has_gap(given(parsed, "host")) || has_gap(given(parsed, "hostaddr"))) return false;
    return ports <= 1 || ports == *count ? !attributes || strcmp(attributes, "prefer-standby") != 0 : false;
}

/* Return true if a host is a name. Without hosts libpq takes them from the environment or a file, which may have
 * names. */
static bool has_name(const char *hosts, const char *addresses)
{
    if (!addresses && !hosts) return true;
    while (!addresses && *hosts) {
        char part[100];
        unsigned char number[sizeof(struct in6_addr)];
        size_t length = strcspn(hosts, ",");
        snprintf(part, sizeof part, "%.*s", length < sizeof part ? (int)length : (int)sizeof part, hosts);
        bool is_path = *part == '/' || *part == '@';
        if (length && !is_path && !inet_pton(AF_INET, part, number) && !inet_pton(AF_INET6, part, number)) return true;
        hosts += length + (hosts[length] == ',');
    }
    return false;
}

static cen_status find_hosts(ceni_pq_state *state, const PQconninfoOption *parsed)
{
    uint32_t count;
    bool is_parted = can_part(parsed, &count), failed = false;
    state->host_count = is_parted ? count : 1;
    state->hosts = calloc(state->host_count, sizeof *state->hosts);
    if (!state->hosts) return CEN_NO_MEMORY;
    state->hosts[0].is_name = has_name(given(parsed, "host"), given(parsed, "hostaddr"));
    for (uint32_t i = 0; is_parted && i < count; i++) {
        state->hosts[i] = (ceni_pq_host){.host = part_of(given(parsed, "host"), i, &failed),
                                         .hostaddr = part_of(given(parsed, "hostaddr"), i, &failed),
                                         .port = part_of(given(parsed, "port"), i, &failed)};
        /* "a,b:5433": the first host has libpq's default port, not the list. */
        bool is_bare = count_of(given(parsed, "port")) > 1 && !state->hosts[i].port && !failed;
        if (is_bare) failed = !(state->hosts[i].port = strdup(DEFAULT_PORT));
        state->hosts[i].is_name = !failed && has_name(state->hosts[i].host, state->hosts[i].hostaddr);
    }
    return failed ? CEN_NO_MEMORY : CEN_OK;
}

/* ---- Options ----------------------------------------------------------------------------------------- */

static int64_t limit(int64_t ns, int64_t other)
{
    return ns == 0 ? other : ns < 0 ? INT64_MAX : ns;
}

static void fill_in(cen_pq_options *options, const PQconninfoOption *parsed)
{
    const char *seconds = given(parsed, "connect_timeout");
    long from_uri = seconds ? strtol(seconds, NULL, 10) : 0;
    options->connect_timeout_ns =
        limit(options->connect_timeout_ns, from_uri > 0 && from_uri < 100000 ? from_uri * SECOND : 5 * SECOND);
    options->test_timeout_ns = limit(options->test_timeout_ns, 2 * SECOND);
    options->reset_timeout_ns = limit(options->reset_timeout_ns, 2 * SECOND);
    options->cancel_timeout_ns = limit(options->cancel_timeout_ns, 2 * SECOND);
    if (options->statements == 0) options->statements = STATEMENTS;
    if (options->statements < 0) options->statements = 0;
}

static cen_status examine_times(const cen_pq_options *options, cen_error *error)
{
    const int64_t times[] = {options->connect_timeout_ns, options->test_timeout_ns, options->reset_timeout_ns,
                             options->cancel_timeout_ns};
    static const char *const names[] = {"connect_timeout_ns", "test_timeout_ns", "reset_timeout_ns",
                                        "cancel_timeout_ns"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (times[i] < CEN_OFF)
            return refuse(error, CEN_INVALID, "cen_pq_options.%s must not be below CEN_OFF (got %lld)", names[i],
                          (long long)times[i]);
        if (cen_time_is_tiny(times[i]))
            return refuse(error, CEN_INVALID, "cen_pq_options.%s " CEN_TIME_IS_TINY, names[i], (long long)times[i]);
    }
    return CEN_OK;
}

static cen_status examine(const cen_pq_options *options, cen_error *error)
{
    if (examine_times(options, error) != CEN_OK) return CEN_INVALID;
    if ((unsigned)options->role > CEN_PQ_READ_WRITE)
        return refuse(error, CEN_INVALID, "cen_pq_options.role is not a cen_pq_role (got %d)", (int)options->role);
    if ((unsigned)options->reset > CEN_PQ_RESET_ROLLBACK)
        return refuse(error, CEN_INVALID, "cen_pq_options.reset is not a cen_pq_reset_policy (got %d)",
                      (int)options->reset);
    if (options->statements == CEN_OFF)
        return refuse(error, CEN_INVALID,
                      "cen_pq_options.statements must not be CEN_OFF (limit 4096); use CEN_NONE to keep none");
    if (options->statements < CEN_NONE)
        return refuse(error, CEN_INVALID, "cen_pq_options.statements must not be below CEN_NONE (got %lld)",
                      (long long)options->statements);
    if (options->statements > STATEMENTS_MOST)
        return refuse(error, CEN_INVALID, "cen_pq_options.statements must be at most %d (got %lld)", STATEMENTS_MOST,
                      (long long)options->statements);
    return CEN_OK;
}

/* Return true if all entries are port numbers or empty. */
static bool are_ports(const char *list)
{
    for (; list && *list; list += *list == ',') {
        size_t length = strcspn(list, ",");
        unsigned long port = strtoul(list, NULL, 10);
        if (length && (strspn(list, "0123456789") != length || port < 1 || port > 65535)) return false;
        list += length;
    }
    return true;
}

/* If a password contains an @ or a / that is not written as %40 or %2F, libpq parses a part of it as host, port or
 * database, and error texts contain these. So addresses that look like that are refused. */
static const char *mistaken(const char *uri, const PQconninfoOption *parsed)
{
    bool is_uri = strncmp(uri, "postgres://", 11) == 0 || strncmp(uri, "postgresql://", 13) == 0;
    const char *host = given(parsed, "host"), *base = given(parsed, "dbname");
    for (const char *at = is_uri ? host : NULL; at && (at = strchr(at, '@')); at++)
        if (at > host && at[-1] != ',')
            return "cen_pq_options.uri: the host contains an @; write an @ of the password as %40";
    if (!are_ports(given(parsed, "port")))
        return "cen_pq_options.uri: a port is not a number from 1 to 65535; write a / of the password as %2F";
    if (is_uri && !given(parsed, "user") && base && strchr(base, '@') && strchr(uri, '@'))
        return "cen_pq_options.uri: the database contains an @ and the user is missing; write a / of the password as "
               "%2F";
    return NULL;
}

/* Find errors that libpq would report only at each connect. */
static const char *impossible(const PQconninfoOption *parsed)
{
    static const char *const numbers[] = {"connect_timeout",     "keepalives",       "keepalives_idle",
                                          "keepalives_interval", "keepalives_count", "tcp_user_timeout"};
    uint32_t names = count_of(given(parsed, "host")), addresses = count_of(given(parsed, "hostaddr")),
             ports = count_of(given(parsed, "port")), count = names > addresses ? names : addresses;
    if ((names && addresses && names != addresses) || (count && ports > 1 && ports != count))
        return "cen_pq_options.uri: needs one hostaddr per host, and one port per host or one for all";
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *value = given(parsed, numbers[i]);
        char *end = NULL;
        long number = value ? strtol(value, &end, 10) : 0;
        bool is_number =
            !value || (end != value && end[strspn(end, " \t")] == 0 && number >= INT_MIN && number <= INT_MAX);
        if (!is_number)
            return "cen_pq_options.uri: connect_timeout, tcp_user_timeout and all keepalives settings must be numbers";
    }
    return NULL;
}

/* Let libpq check the rest of the address. It does that before it looks at the server's address. So it gets an invalid
 * one, and complains about that one if everything else is valid. No name is looked up, and no connection is made. */
static cen_status rehearse(const char *uri, cen_error *error)
{
    static const char nowhere[] = "*nowhere*";
    const char *const keywords[] = {"dbname", "host", "hostaddr", "port", "password", NULL};
    const char *const values[] = {uri, nowhere, nowhere, DEFAULT_PORT, "none", NULL};
    PGconn *conn = PQconnectStartParams(keywords + !uri, values + !uri, 1); /* later entries override earlier ones */
    if (!conn) return CEN_NO_MEMORY;
    const char *words = PQerrorMessage(conn);
    bool is_right = strstr(words, nowhere) != NULL;
    cen_status status = is_right ? CEN_OK : ceni_pq_say_unreadable(error, words);
    PQfinish(conn);
    return status;
}

static cen_status copy(ceni_pq_state *state, cen_error *error)
{
    cen_pq_options *options = &state->options;
    PQconninfoOption *parsed = NULL;
    if (options->uri && *options->uri) {
        char *words = NULL;
        parsed = PQconninfoParse(options->uri, &words);
        if (!parsed) {
            cen_status status = words ? ceni_pq_say_unreadable(error, words) : CEN_NO_MEMORY;
            PQfreemem(words);
            return status;
        }
        const char *mistake = mistaken(options->uri, parsed);
        if (!mistake) mistake = impossible(parsed);
        if (mistake) {
            PQconninfoFree(parsed);
            return refuse(error, CEN_INVALID, "%s", mistake);
        }
        state->uri = strdup(options->uri);
    }
    cen_status judged = rehearse(parsed ? options->uri : NULL, error);
    if (judged == CEN_INVALID) {
        PQconninfoFree(parsed);
        return judged;
    }
    if (options->setup && *options->setup) state->setup = strdup(options->setup);
    cen_status status = judged == CEN_OK ? find_hosts(state, parsed) : judged;
    if ((parsed && !state->uri) || (options->setup && *options->setup && !state->setup)) status = CEN_NO_MEMORY;
    fill_in(options, parsed);
    PQconninfoFree(parsed);
    state->is_nonblocking = options->poller != NULL;
    state->looks_briefly = options->role == CEN_PQ_ANY &&
                           (options->reset == CEN_PQ_RESET_ROLLBACK || options->reset == CEN_PQ_RESET_NOTHING);
    options->uri = state->uri;
    options->setup = state->setup;
    return status == CEN_OK ? CEN_OK : refuse(error, status, "cen_pq_options: out of memory");
}

cen_status ceni_pq_prepare_with(void *argument, void **out, cen_error *error)
{
    cen_pq_options known;
    cen_status status = cen_sized_read(&known, sizeof known, argument, "cen_pq_with: options", error);
    if (status != CEN_OK) return status;
    ceni_pq_state *state = calloc(1, sizeof *state);
    if (!state) return refuse(error, CEN_NO_MEMORY, "cen_pq_options: out of memory");
    state->options = known;
    pthread_mutex_init(&state->lock, NULL);
    state->process = getpid();
    state->exits = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ceni_pq_tls_begin();
    status = examine(&state->options, error);
    if (status == CEN_OK) status = copy(state, error);
    if (status == CEN_OK) *out = state;
    else ceni_pq_fini(state);
    return status;
}

cen_status ceni_pq_prepare_uri(void *uri, void **out, cen_error *error)
{
    cen_pq_options options = CEN_PQ_OPTIONS(.uri = uri);
    return ceni_pq_prepare_with(&options, out, error);
}

void ceni_pq_fini(void *argument)
{
    ceni_pq_state *state = argument;
    for (uint32_t i = 0; state->hosts && i < state->host_count; i++) {
        free(state->hosts[i].host);
        free(state->hosts[i].hostaddr);
        free(state->hosts[i].port);
    }
    free(state->hosts);
    free(state->uri);
    free(state->setup);
    pthread_mutex_destroy(&state->lock);
    if (state->exits >= 0) close(state->exits);
    free(state);
}
