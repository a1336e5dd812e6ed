/* SPDX-License-Identifier: MIT */
/*
 * The records of the pools' handles, found by the handle. The handle's one pointer for users, CURLOPT_PRIVATE, belongs
 * to the program.
 *
 * Records are on shelves by the handle's address. Each shelf has a mutex that is held for a few instructions, so
 * threads seldom contend. All of them are held during a fork, so the child's copies are consistent and unlocked.
 */
#include "curl/internal.h"

enum { SHELVES = 32 };

static struct shelf {
    pthread_mutex_t mutex;
    ceni_curl_record *first;
    char apart[64]; /* padding against false sharing */
} shelves[SHELVES] = {
#define SHELF \
    { \
        .mutex = PTHREAD_MUTEX_INITIALIZER \
    }
    SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF,
    SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF, SHELF,
};

static struct shelf *shelf_of(CURL *easy)
{
    return &shelves[((uintptr_t)easy * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SHELVES];
}

void ceni_curl_record_add(ceni_curl_record *record)
{
    struct shelf *shelf = shelf_of(record->easy);
    record->sockets.mutex = &shelf->mutex;
    record->process = ceni_curl_process();
    pthread_mutex_lock(&shelf->mutex);
    record->next = shelf->first;
    shelf->first = record;
    pthread_mutex_unlock(&shelf->mutex);
}

void ceni_curl_record_remove(ceni_curl_record *record)
{
    struct shelf *shelf = shelf_of(record->easy);
    pthread_mutex_lock(&shelf->mutex);
    ceni_curl_record **link = &shelf->first;
    while (*link != record) link = &(*link)->next;
    *link = record->next;
    pthread_mutex_unlock(&shelf->mutex);
}

ceni_curl_record *ceni_curl_record_of(CURL *easy)
{
    struct shelf *shelf = shelf_of(easy);
    pthread_mutex_lock(&shelf->mutex);
    ceni_curl_record *record = shelf->first;
    while (record && record->easy != easy) record = record->next;
    pthread_mutex_unlock(&shelf->mutex);
    return record;
}

void ceni_curl_records_cancel(const ceni_curl_site *site)
{
    for (int i = 0; i < SHELVES; i++) {
        pthread_mutex_lock(&shelves[i].mutex);
        for (ceni_curl_record *record = shelves[i].first; record; record = record->next) {
            if (record->site != site || !record->is_warming || record->process != ceni_curl_process()) continue;
            record->interrupted = true;
            ceni_curl_sockets_shut_locked(&record->sockets, true);
        }
        pthread_mutex_unlock(&shelves[i].mutex);
    }
}

void ceni_curl_records_lock(void)
{
    for (int i = 0; i < SHELVES; i++) pthread_mutex_lock(&shelves[i].mutex);
}

void ceni_curl_records_unlock(void)
{
    for (int i = 0; i < SHELVES; i++) pthread_mutex_unlock(&shelves[i].mutex);
}
