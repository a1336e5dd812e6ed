/* SPDX-License-Identifier: MIT */
/*
 * The private interface of libcenote for the project's other libraries.
 *
 * Names between these two marks are visible outside libcenote. src/cenote.map lists, one by one, those that are
 * exported, under a version that contains the whole version number. So another library of the project loads only with
 * the libcenote that it was built with, and no other program can rely on these names. tools/check-symbols fails if a
 * listed name is not needed.
 *
 * Sources of the other libraries are compiled with CENI_OUTSIDE: an inline function that accesses a variable of
 * libcenote calls an exported function there instead.
 */
#ifndef CENI_BASE_SPI_H
#define CENI_BASE_SPI_H

#define CENI_SPI_BEGIN _Pragma("GCC visibility push(default)")
#define CENI_SPI_END _Pragma("GCC visibility pop")

#endif
