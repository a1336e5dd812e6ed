/* SPDX-License-Identifier: MIT */
/*
 * Process-wide variables of the library.
 *
 * A variable that outlives every object, such as the head of the directory, is marked CENI_STATIC. In the watched
 * build these variables are in a section of their own. The controlled scheduler saves the section before the first
 * schedule and restores it after each one, so that every schedule starts from the same values. In all other builds
 * the mark means nothing.
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
