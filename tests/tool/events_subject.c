/* SPDX-License-Identifier: MIT */
/* A process that keeps its events in a file, if one is named, and then waits to be killed: events_subject [FILE] */
#include <stdio.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/events.h>

int main(int count, char **arguments)
{
    cen_error error = {.text = "usage: events_subject [FILE]"};
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "doomed");
    bool kept = count == 1 || (count == 2 && cen_events_persist(arguments[1], &error) == CEN_OK);
    if (!kept || cen_pool_new(&options, &pool, &error) != CEN_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    cen_event_emit(CEN_LEVEL_NOTICE, "begun", "it goes well");
    cen_event_emit(CEN_LEVEL_NOTICE, "strange", "caf\xe9, which is no UTF-8, for \xe2\x82\xac 3");
    cen_pool_pause(pool, NULL);
    cen_event_emit(CEN_LEVEL_ERROR, "last_words", "it goes badly");
    printf("ready\n");
    fflush(stdout);
    for (;;) pause();
}
