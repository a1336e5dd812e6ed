/* SPDX-License-Identifier: MIT */
/* The page's files, embedded by cmake/embed.cmake. */
#ifndef CENI_INSPECT_PAGE_H
#define CENI_INSPECT_PAGE_H

#include <stddef.h>

typedef struct ceni_inspect_file {
    const char *name; /* "index.html" */
    const char *type;
    const char *tag; /* an entity tag, with quotes */
    const unsigned char *bytes;
    size_t size;
} ceni_inspect_file;

/* Ends with an entry whose name is NULL. */
extern const ceni_inspect_file ceni_inspect_page[];

#endif
