/* SPDX-License-Identifier: MIT */
/*
 * A target: the real resource that the tool drives through a pool, by its URL.
 *
 *     sqlite:[PATH]                    default: a file with sample data, made in a temporary directory and removed at the end
 *     postgresql://, postgres://       libcenote-pq
 *     mariadb://, mysql://             libcenote-mariadb
 *     redis://, unix://                libcenote-redis
 *     http://, https://                libcenote-curl
 *
 * Each kind is one file, target_KIND.c, behind this interface.
 *
 * What is done: one operation is a query or a command, with a number drawn for each of its parameters, from 1 to `keys`:
 * ?, ?1 and $1 in SQL, {} in a command of Redis or a path of HTTP. The whole answer is read and checked. If write_share is above 0,
 * that share of the operations are writes, by another query; with SQLite these have a pool of one connection for themselves.
 *
 * Life: target_open, target_probe, target_pools_new, load_run, target_pools_free, target_close.
 * Threads: operate from any, all else from one.
 */
#ifndef CENOTE_TOOL_TARGET_H
#define CENOTE_TOOL_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/driver.h>
#include <cenote/pool.h>
#include <cenote/status.h>

#include "tool/command.h"

typedef struct target target;
struct progress;

/* What users may say of a target; part of a command's settings. */
typedef struct target_settings {
    const char *url;           /* NULL: the sample file */
    const char *query, *write; /* NULL: the usual ones */
    double write_share;        /* 0 to 1 */
    int64_t keys;              /* 0: as many as the sample has */
    const char *ca;            /* https: whom to trust */
    bool insecure;             /* https: anybody */
} target_settings;

/* Rows for a command's table of options, whose settings of type `type` have the field `field` of target_settings. */
#define TARGET_ROWS(type, field) \
    {"query", \
     'q', \
     OPTION_TEXT, \
     "TEXT", \
     offsetof(type, field.query), \
     0, \
     0, \
     NULL, \
     "what one operation does: SQL, a Redis command, an HTTP path"}, \
        {"write", \
         0, \
         OPTION_TEXT, \
         "TEXT", \
         offsetof(type, field.write), \
         0, \
         0, \
         NULL, \
         "what an operation that writes does"}, \
        {"write-share", \
         0, \
         OPTION_SHARE, \
         "SHARE", \
         offsetof(type, field.write_share), \
         0, \
         1, \
         NULL, \
         "so many of the operations write, 0.1 or 10% (0)"}, \
        {"keys", \
         0, \
         OPTION_COUNT, \
         "N", \
         offsetof(type, field.keys), \
         1, \
         1e15, \
         NULL, \
         "parameters of a query are drawn from 1 to N (20,000)"}, \
        {"ca", \
         0, \
         OPTION_TEXT, \
         "FILE", \
         offsetof(type, field.ca), \
         0, \
         0, \
         NULL, \
         "https: certificates of authorities to trust"}, \
    { \
        "insecure", 0, OPTION_FLAG, NULL, offsetof(type, field.insecure), 0, 0, NULL, \
            "https: the server may be anybody" \
    }

/* What its server allows and has in use, to all, the connection that asks included; most 0: it does not tell. */
typedef struct target_limit {
    uint32_t most, reserved, in_use;
    char words[160]; /* the same: "allows 100 connections, of which 3 are reserved; 12 in use before" */
} target_limit;

/* One operation: what is drawn for it. */
typedef struct target_turn {
    bool writes;
    uint64_t draw; /* random: parameters come from it */
} target_turn;

/* The pools of a target: writes have one of their own, or go where reads go (NULL). */
typedef struct target_pools {
    cen_pool *pool, *writer;
    void *own;
} target_pools;

typedef struct target_kind {
    const char *system;              /* "postgresql" */
    const char *schemes;             /* "postgresql postgres" */
    const char *usual, *usual_write; /* what is done if the user names no query; NULL: writes have no usual form */
    cen_status (*open)(target *self, cen_error *error);
    void (*close)(target *self); /* leaves nothing behind */
    /* One operation: the whole answer is read and checked. */
    cen_status (*operate)(target *self, void *object, const target_turn *turn, cen_error *error);
    /* NULL: there is none. */
    cen_status (*limit)(target *self, void *object, target_limit *out, cen_error *error);
    /* Makes both pools; NULL: one, of the driver. */
    cen_status (*pools_new)(target *self, const cen_pool_options *options, target_pools *out, cen_error *error);
    void (*pools_free)(target *self, target_pools *pools);
} target_kind;

struct target {
    const target_kind *kind;
    target_settings settings; /* as given, or the usual ones */
    char shown[256];          /* the URL without its password */
    cen_driver driver;        /* set by open */
    cen_runtime *runtime;     /* of its pools, so that close can await its threads */
    void *own;                /* the kind's */
};

/* Opens it: reads the URL, and, for SQLite, makes the file. Connects to nothing. The text of an error says what is wrong and
 * what forms there are. Errors: INVALID, SYSTEM, ABSENT, NO_MEMORY, DRIVER (SQLite: the file cannot be used). */
cen_status target_open(const target_settings *settings, target **out, cen_error *error);
void target_close(target *self);

/* Opens one connection and does one operation of each kind there is, so that what is wrong is known before a load begins; asks for
 * the limit, if `limit` is not NULL. If that takes long `line` says so. *status gets what the program should exit with if this is
 * not OK. A signal interrupts an operation; while the connection is opened it ends the program at once, by stop_leave. */
cen_status target_probe(target *self, struct progress *line, target_limit *limit, int *status, cen_error *error);

/* Makes the pool, or pools: options as for cen_pool_new, whose driver and name are set here. */
cen_status target_pools_new(target *self, const cen_pool_options *options, target_pools *out, cen_error *error);
/* Closes them, within five seconds, and frees them. */
void target_pools_free(target *self, target_pools *pools);

/* The parameter number `index` of that operation, from 1 to `keys`. */
uint64_t target_draw(const target *self, const target_turn *turn, unsigned index);

#endif
