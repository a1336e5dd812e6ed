/* SPDX-License-Identifier: MIT */
/*
 * A holder and the age of its lease, as text:
 *
 *     thread 7 (worker, tid 4711)   the system's name and number of the thread, at the moment when the text is made
 *     thread 7 (ended)              the thread has ended and has run the library's exit hook
 *     thread 7                      the system does not know it, or there have been 1024 newer threads
 *     task 12
 *
 * The name costs a read of /proc, so it is only for texts that are made from time to time.
 */
#include <stdio.h>

#include "pool/internal.h"
#include "port/port.h"

const char *ceni_holder_say(uint64_t holder, char text[CENI_HOLDER_ROOM])
{
    int length = snprintf(text, CENI_HOLDER_ROOM, "%s %llu", ceni_holder_word(holder), ceni_holder_figure(holder));
    if (holder & CENI_HOLDER_TASK) return text;
    char name[CENI_THREAD_NAME_ROOM];
    uint32_t tid = 0;
    ceni_thread_life life = ceni_thread_look(holder, name, &tid);
    char *end = text + length;
    size_t room = CENI_HOLDER_ROOM - (size_t)length;
    if (life == CENI_THREAD_ENDED) snprintf(end, room, " (ended)");
    else if (life == CENI_THREAD_LIVES && tid) snprintf(end, room, " (%s, tid %u)", name, tid);
    else if (life == CENI_THREAD_LIVES) snprintf(end, room, " (%s)", name);
    return text;
}

const char *ceni_held_say(int64_t ns, char text[CENI_HOLDER_ROOM])
{
    const int64_t us = 1000, ms = 1000 * us, s = 1000 * ms, min = 60 * s;
    long long most = ns;
    if (ns < us) snprintf(text, CENI_HOLDER_ROOM, "for an unknown time");
    else if (ns < 10 * ms) snprintf(text, CENI_HOLDER_ROOM, "for at least %lld us", most / us);
    else if (ns < 10 * s) snprintf(text, CENI_HOLDER_ROOM, "for at least %lld ms", most / ms);
    else if (ns < 10 * min) snprintf(text, CENI_HOLDER_ROOM, "for at least %lld s", most / s);
    else snprintf(text, CENI_HOLDER_ROOM, "for at least %lld min", most / min);
    return text;
}
