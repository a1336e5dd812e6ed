/* SPDX-License-Identifier: MIT */
/*
 * What there is once in a process: curl's own beginning, and a number that tells a child of a fork from its parent.
 *
 * curl is never ended: others in the program may use it, and when the last of them stops is not ours to know.
 */
#include "curl/internal.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;
static unsigned process = 1; /* written by the only thread of a child, before it goes on */

static void child(void)
{
    process++;
    ceni_http_exit_forget();
    ceni_curl_records_unlock();
}

static void begin(void)
{
    if (pthread_atfork(ceni_curl_records_lock, ceni_curl_records_unlock, child) != 0) return;
    ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK && ceni_http_exit_register();
}

bool ceni_curl_begin(void)
{
    pthread_once(&once, begin);
    return ready;
}

unsigned ceni_curl_process(void)
{
    return process;
}
