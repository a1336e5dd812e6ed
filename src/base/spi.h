/* SPDX-License-Identifier: MIT */
/*
 * What our own libraries need of libcenote, beyond the public headers.
 *
 * Names between these two marks can be seen from outside libcenote; which of
 * them really are is listed, one by one, in src/cenote.map under a version that
 * carries the whole version number. A library of ours therefore only loads with the very
 * libcenote that it was built with, and nobody else has business there.
 * tools/check-symbols fails if one is listed that no library of ours needs.
 *
 * Sources of the other libraries are compiled with CENI_OUTSIDE: what is an inline
 * touch of the library's own variables goes through an exported name there.
 */
#ifndef CENI_BASE_SPI_H
#define CENI_BASE_SPI_H

#define CENI_SPI_BEGIN _Pragma("GCC visibility push(default)")
#define CENI_SPI_END _Pragma("GCC visibility pop")

#endif
