/* SPDX-License-Identifier: MIT */
/*
 * An intrusive doubly linked list with a sentinel. Insertion and removal take constant time. An element that is in no
 * list points at itself, so removing it twice is harmless, and ceni_list_linked() is always valid.
 *
 *     struct job { int n; ceni_list link; };
 *     struct job *first = CENI_LIST_ENTRY(ceni_list_first(&jobs), struct job, link);
 *
 * Threads: the list has no lock. The caller's lock protects it.
 */
#ifndef CENI_BASE_LIST_H
#define CENI_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ceni_list {
    struct ceni_list *next, *previous;
} ceni_list;

#define CENI_LIST_ENTRY(link, type, field) ((type *)(void *)(((char *)(link)) - offsetof(type, field)))

static inline void ceni_list_init(ceni_list *list)
{
    list->next = list->previous = list;
}

static inline bool ceni_list_empty(const ceni_list *list)
{
    return list->next == list;
}

static inline bool ceni_list_linked(const ceni_list *link)
{
    return link->next != link;
}

static inline void ceni_list_insert_before(ceni_list *position, ceni_list *link)
{
    link->previous = position->previous;
    link->next = position;
    position->previous->next = link;
    position->previous = link;
}

static inline void ceni_list_push_back(ceni_list *list, ceni_list *link)
{
    ceni_list_insert_before(list, link);
}

static inline void ceni_list_push_front(ceni_list *list, ceni_list *link)
{
    ceni_list_insert_before(list->next, link);
}

static inline void ceni_list_remove(ceni_list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    ceni_list_init(link);
}

/* The first element, or NULL. */
static inline ceni_list *ceni_list_first(const ceni_list *list)
{
    return ceni_list_empty(list) ? NULL : list->next;
}

#endif
