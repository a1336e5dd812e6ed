/* SPDX-License-Identifier: MIT */
/*
 * Unsafe libc calls that the library does not use: a call of one does not compile.
 *
 * The build includes this file before every source of the library. The headers that declare the names are included
 * first, because after the pragma even a declaration is an error.
 */
#ifndef CENI_BASE_BANNED_H
#define CENI_BASE_BANNED_H

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A name that the system defines as a macro cannot be poisoned. */
#undef alloca
#undef sprintf
#undef vsprintf

/* They do not know the size of the buffer, or may leave a string unterminated: use snprintf, or memcpy with a length.
 * */
#pragma GCC poison strcpy strcat sprintf vsprintf gets strncpy strncat stpcpy

/* They keep their result or their state in memory that all threads share. */
#pragma GCC poison strtok asctime ctime gmtime localtime strerror rand srand

/* They cannot report that the text is not a number, or that the stack is full. */
#pragma GCC poison atoi atol atoll atof alloca

#endif
