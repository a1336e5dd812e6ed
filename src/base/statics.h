/* SPDX-License-Identifier: MIT */
/*
 * Process-wide variables of the library.
 *
 * A variable that outlives every object (a directory's head, say) is marked
 * CENI_STATIC. In the watched build such variables live in a section of their
 * own, which the controlled scheduler keeps before and restores after each
 * schedule, so that a schedule finds what the first one found. In every other
 * build the mark means nothing.
 */
#ifndef CENI_BASE_STATICS_H
#define CENI_BASE_STATICS_H

#ifdef CENI_WATCHED
#define CENI_STATIC __attribute__((section("ceni_statics")))
void statics_keep(void);
void statics_restore(void);
#else
#define CENI_STATIC
#endif

#endif
