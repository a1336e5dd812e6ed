/* SPDX-License-Identifier: MIT */
#include "faultproxy/proxy.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

/* ---- Commands ------------------------------------------------------------------------------- */

/* Call `each` for every open link. It may end its link. */
static void for_each_link(fp_proxy *proxy, void (*each)(fp_link *))
{
    for (fp_link *link = proxy->oldest, *next; link; link = next) {
        next = link->newer;
        each(link);
    }
}

static uint64_t kill_oldest(fp_proxy *proxy, uint64_t count)
{
    uint64_t killed = 0;
    for (; killed < count && proxy->oldest; killed++) fp_link_reset(proxy->oldest);
    return killed;
}

static void change_faults(fp_proxy *proxy, const fp_command *command)
{
    fp_faults_apply(&proxy->faults, command);
    if (command->only_new) return;
    for (fp_link *link = proxy->oldest, *next; link; link = next) {
        next = link->newer;
        fp_faults_apply(&link->faults, command);
        fp_link_changed(link);
    }
}

static bool close_slowly(fp_proxy *proxy, const fp_command *command, char *why)
{
    fp_faults before = proxy->faults;
    bool now = command->given & 2;
    if (now && command->only_new) {
        snprintf(why, FP_SENTENCE, "New connections cannot be closed now; use now without new.");
        return false;
    }
    change_faults(proxy, command);
    if (!now) return true;
    proxy->faults = before; /* `now` applies to open connections only */
    for_each_link(proxy, fp_link_end_to_client);
    return true;
}

static bool obey(fp_proxy *proxy, const fp_command *command, char *why)
{
    switch (command->verb) {
    case FP_RESET:
        if (command->given) change_faults(proxy, command);
        else for_each_link(proxy, fp_link_reset);
        return true;
    case FP_CLOSE_SLOWLY: return close_slowly(proxy, command, why);
    case FP_REFUSE: fp_listener_refuse(&proxy->listener); return true;
    case FP_ACCEPT_EVERY: fp_listener_pace(&proxy->listener, command->value[0]); return true;
    case FP_TO: proxy->target = command->address; return true;
    case FP_CLEAR:
        change_faults(proxy, command);
        fp_listener_pace(&proxy->listener, 0);
        return fp_listener_reopen(&proxy->listener, why);
    case FP_FORGET: fp_stats_forget(&proxy->stats); return true;
    case FP_QUIT: proxy->quits = true; return true;
    default: change_faults(proxy, command); return true;
    }
}

void fp_proxy_obey(fp_proxy *proxy, const char *line, size_t size, char answer[FP_ANSWER])
{
    fp_command command;
    char why[FP_SENTENCE];
    const size_t head = sizeof "ok " - 1;
    bool good = fp_command_parse(&command, line, size, why);
    snprintf(answer, FP_ANSWER, "ok ");
    if (good && command.verb == FP_HELP) fp_command_forms(answer + head, FP_ANSWER - head);
    else if (good && command.verb == FP_STATS) fp_stats_text(&proxy->stats, answer + head, FP_ANSWER - head);
    else if (good && command.verb == FP_KILL)
        snprintf(answer, FP_ANSWER, "ok killed=%" PRIu64, kill_oldest(proxy, command.value[0]));
    else if (good && obey(proxy, &command, why)) answer[head - 1] = 0;
    else snprintf(answer, FP_ANSWER, "error: %s", why);
}

/* ---- Start and end -------------------------------------------------------------------------- */

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    fp_proxy_end(handle->data);
}

static void start_signals(fp_proxy *proxy)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 0; i < 2; i++) {
        uv_signal_init(&proxy->loop, &proxy->signals[i]);
        proxy->signals[i].data = proxy;
        uv_signal_start(&proxy->signals[i], on_signal, numbers[i]);
    }
}

static void start_faults(fp_proxy *proxy, const fp_options *options)
{
    char unused[FP_SENTENCE];
    for (unsigned i = 0; i < options->faults_used; i++) obey(proxy, &options->faults[i], unused);
}

bool fp_proxy_start(fp_proxy *proxy, const fp_options *options, char why[FP_SENTENCE])
{
    memset(proxy, 0, sizeof *proxy);
    if (uv_loop_init(&proxy->loop) != 0) {
        snprintf(why, FP_SENTENCE, "Cannot create the event loop: the system is out of resources.");
        return false;
    }
    proxy->target = options->to;
    proxy->stats.seed = proxy->random = options->seed;
    /* separate generators: how bytes arrive in pieces must not change which connections are reset */
    proxy->jitter = ~options->seed;
    if (!fp_control_start(&proxy->control, proxy, options->control, why)) goto undo_loop;
    if (!fp_listener_start(&proxy->listener, proxy, &options->listen, why)) goto undo_control;
    start_signals(proxy);
    start_faults(proxy, options);
    return true;
undo_control:
    fp_control_stop(&proxy->control);
undo_loop:
    uv_run(&proxy->loop, UV_RUN_DEFAULT);
    uv_loop_close(&proxy->loop);
    return false;
}

void fp_proxy_end(fp_proxy *proxy)
{
    if (!proxy->listener.on) return;
    fp_listener_stop(&proxy->listener);
    fp_control_stop(&proxy->control);
    for_each_link(proxy, fp_link_close);
    for (unsigned i = 0; i < 2; i++) uv_close((uv_handle_t *)&proxy->signals[i], NULL);
}

void fp_proxy_run(fp_proxy *proxy)
{
    uv_run(&proxy->loop, UV_RUN_DEFAULT);
    uv_loop_close(&proxy->loop);
}
