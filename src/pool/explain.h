/* SPDX-License-Identifier: MIT */
/* What explanations share: the picture of a pool (picture.c) and its sentences (sentence.c). */
#ifndef CENI_POOL_EXPLAIN_H
#define CENI_POOL_EXPLAIN_H

#include "pool/internal.h"

enum {
    CENI_OLDEST = 5,     /* holders that are listed */
    CENI_FAR_OLDER = 10, /* factor: a lease that is so much older than another may be a leak */
};
#define CENI_VERY_LONG_NS INT64_C(60000000000) /* if no object came back for this time, all leases may be leaks */

/* A text that is being written. */
typedef struct ceni_writer {
    char *text;
    size_t room, used; /* used: including the bytes that did not fit */
} ceni_writer;

typedef struct ceni_picture {
    cen_pool *pool;
    cen_pool_stats s;
    bool partial;   /* only the counts at hand: idle and held are not distinguished, and are both in `held` */
    bool full;      /* no further object may be opened */
    cen_error last; /* the last failed opening; status OK: there was none */
    int64_t last_ago;
    uint64_t asker; /* the holder that takes; 0: none */
    int64_t waited;
    bool patient;                   /* may wait until another thread has read the statistics */
    uint64_t sole;                  /* the holder of all leases met; 0: there are several */
    uint32_t crowded, limit;        /* driver calls that wait for a helper; the runtime's limit of helpers */
    bool is_for_error;              /* the text has CEN_ERROR_TEXT_SIZE bytes */
    uint32_t holders, mine, listed; /* leases met; of these the asker's; entries of `oldest` */
    int64_t youngest;
    cen_object_view oldest[CENI_OLDEST]; /* the oldest first */
} ceni_picture;

/* ---- picture.c ---------------------------------------------------------------------------------- */

/* Fill in the picture; the fields pool, asker, waited, patient and is_for_error are set. `most`: the largest number of
 * slots to read. */
void ceni_picture_take(ceni_picture *p, uint32_t most);

/* Parts of it: the counts that are available in a few steps; the state of openings, all at one moment. */
void ceni_picture_count(ceni_picture *p);
void ceni_picture_read_gate(ceni_picture *p);

/* The cause; the second function: without regard to helper threads. The third returns the cause that a program gets: that
 * of the last failed opening, if it says more. */
cen_cause ceni_picture_cause(const ceni_picture *p);
cen_cause ceni_picture_place_cause(const ceni_picture *p);
cen_cause ceni_picture_told_cause(const ceni_picture *p, cen_cause cause);

/* Whether the cause's sentence already has the failures of opening. */
bool ceni_cause_is_of_opening(cen_cause cause);

/* ---- sentence.c --------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) void ceni_say(ceni_writer *w, const char *format, ...);

/* Write a duration, in the largest unit that keeps two digits. */
void ceni_say_time(ceni_writer *w, int64_t ns);

void ceni_say_counts(ceni_writer *w, const ceni_picture *p);
void ceni_say_holder(ceni_writer *w, const cen_object_view *h);
void ceni_say_last(ceni_writer *w, const ceni_picture *p);     /* the last failed opening */
void ceni_say_failures(ceni_writer *w, const ceni_picture *p); /* that, how many there were, and the next attempt */
void ceni_say_crowd(ceni_writer *w, const ceni_picture *p);    /* driver calls that wait for a helper */

/* Write the sentence of the cause. Returns true if it has named the oldest holder. */
bool ceni_say_cause(ceni_writer *w, const ceni_picture *p, cen_cause cause);

/* The driver's text, without the pool's name before it. */
const char *ceni_picture_words(const cen_pool *pool, const cen_error *error);

#endif
