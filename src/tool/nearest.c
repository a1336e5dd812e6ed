/* SPDX-License-Identifier: MIT */
#include "tool/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LETTERS_MOST = 32 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edit distance in letters, with an exchange of neighbours as one step. Of the usual table only 3 rows are kept. */
static unsigned distance_of(const char *one, size_t length, const char *other, size_t size)
{
    unsigned rows[3][LETTERS_MOST + 1];
    unsigned *above = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= size; j++) last[j] = (unsigned)j;
    for (size_t i = 1; i <= length; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= size; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (one[i - 1] != other[j - 1]));
            bool exchanged = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
            if (exchanged) now[j] = least(now[j], above[j - 2] + 1);
        }
        unsigned *free_row = above;
        above = last, last = now, now = free_row;
    }
    return last[size];
}

nearest nearest_to(const char *word, size_t length)
{
    unsigned allowed = length < 2 ? 0 : length < 6 ? 1 : length < 10 ? 2 : 3;
    return (nearest){.word = word, .length = length, .distance = allowed + 1};
}

/* A prefix of a word is as near as one wrong letter. */
void nearest_try(nearest *self, const char *candidate)
{
    size_t size = strlen(candidate);
    if (size > LETTERS_MOST || self->length > LETTERS_MOST || self->length < 2) return;
    unsigned distance = distance_of(self->word, self->length, candidate, size);
    if (size > self->length && memcmp(self->word, candidate, self->length) == 0) distance = least(distance, 1);
    if (distance >= self->distance) return;
    self->distance = distance;
    self->found = candidate;
}

const char *nearest_question(const nearest *self, const char *sign, const char *others, char out[NEAREST_ROOM])
{
    if (self->found) snprintf(out, NEAREST_ROOM, ". Did you mean \"%s%s\"?", sign, self->found);
    else snprintf(out, NEAREST_ROOM, "; %s", others);
    return out;
}
