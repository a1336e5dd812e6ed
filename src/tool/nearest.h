/* SPDX-License-Identifier: MIT */
/*
 * Which of the words that there are somebody may have meant: the one with the fewest letters left out, added, replaced or
 * exchanged with their neighbour, if they are few.
 *
 *     nearest near = nearest_to("tpo", 3);
 *     nearest_try(&near, "run"), nearest_try(&near, "top");
 *     near.found is "top"
 */
#ifndef CENOTE_TOOL_NEAREST_H
#define CENOTE_TOOL_NEAREST_H

#include <stddef.h>

typedef struct nearest {
    const char *word;
    size_t length;
    unsigned distance; /* of what was found; before that, one more than is allowed */
    const char *found; /* or NULL */
} nearest;

nearest nearest_to(const char *word, size_t length);
/* Of two that are equally near the first stays. */
void nearest_try(nearest *self, const char *candidate);

/* The end of a sentence: '. Did you mean "top"?', or, if nothing is near, "; " and what says which words there are. `sign` comes
 * before the word: "--" of an option. */
enum { NEAREST_ROOM = 100 };
const char *nearest_question(const nearest *self, const char *sign, const char *others, char out[NEAREST_ROOM]);

#endif
