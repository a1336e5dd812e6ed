/* SPDX-License-Identifier: MIT */
/*
 * Once per process: curl's initialisation, and a number that tells a forked child from its parent.
 *
 * curl's global cleanup is never called: other code in the program may use curl, and this driver cannot know when the
 * last user stops.
 */
#include "curl/internal.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;
static unsigned process = 1; /* written in the child by its only thread */

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
