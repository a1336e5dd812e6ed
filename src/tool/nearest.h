/* SPDX-License-Identifier: MIT */
/*
 * Suggestions for mistyped words: the candidate with the fewest letters left out, added, replaced or exchanged with
 * their neighbour, if these are few.
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
    unsigned distance; /* of the best candidate; at first one more than allowed */
    const char *found; /* or NULL */
} nearest;

nearest nearest_to(const char *word, size_t length);
/* Try a candidate. If two are equally near, the first one stays. */
void nearest_try(nearest *self, const char *candidate);

/* Return the end of a sentence: '. Did you mean "top"?' or, if no candidate is near, "; " and `others`. `sign` precedes
 * the word, such as "--" for an option. */
enum { NEAREST_ROOM = 100 };
const char *nearest_question(const nearest *self, const char *sign, const char *others, char out[NEAREST_ROOM]);

#endif
