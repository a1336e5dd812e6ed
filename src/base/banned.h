/* SPDX-License-Identifier: MIT */
/*
 * Calls that the library does without: using one does not compile.
 *
 * The build puts this file before every source of the library, so that nobody
 * has to remember it. The headers that declare the names come first, because
 * after the pragma even a declaration is an error.
 */
#ifndef CENI_BASE_BANNED_H
#define CENI_BASE_BANNED_H

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the system makes a macro cannot be poisoned while it is one. */
#undef alloca
#undef sprintf
#undef vsprintf

/* They write without knowing how much room there is, or leave text without
 * its end: use snprintf, or memcpy with a length. */
#pragma GCC poison strcpy strcat sprintf vsprintf gets strncpy strncat stpcpy

/* They keep their answer in memory that all threads share. */
#pragma GCC poison strtok asctime ctime gmtime localtime strerror rand srand

/* They cannot say that the text was no number, or that the stack is at its end. */
#pragma GCC poison atoi atol atoll atof alloca

#endif
