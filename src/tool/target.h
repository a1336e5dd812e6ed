/* SPDX-License-Identifier: MIT */
/*
 * A target: the real resource that the tool drives through a pool, named by its URL.
 *
 *     sqlite:[PATH]                    default: sample data in a temporary file, which is removed at the end
 *     postgresql://, postgres://       libcenote-pq
 *     mariadb://, mysql://             libcenote-mariadb
 *     redis://, unix://                libcenote-redis
 *     http://, https://                libcenote-curl
 *
 * Each kind is one file, target_KIND.c, behind this interface.
 *
 * An operation is a query or a command, with a random number from 1 to `keys` for each of its parameters: ?, ?1 and $1
 * in SQL, {} in a Redis command or an HTTP path. The whole response is read and checked. If write_share is above 0,
 * that share of the operations are writes, by another query; with SQLite these have their own pool of one connection.
 *
 * Order of calls: target_open, target_probe, target_pools_new, load_run, target_pools_free, target_close.
 * Threads: operate from any thread, everything else from one.
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

/* The options of a target; part of a command's settings. */
typedef struct target_settings {
    const char *url;           /* NULL: the sample file */
    const char *query, *write; /* NULL: the defaults */
    double write_share;        /* 0 to 1 */
    int64_t keys;              /* 0: the number of keys in the sample */
    const char *ca;            /* https: file of trusted CA certificates */
    bool insecure;             /* https: do not verify the server */
} target_settings;

/* Option rows for settings of type `type` with a target_settings in the field `field`. */
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
        {"write", 0, OPTION_TEXT, "TEXT", offsetof(type, field.write), 0, 0, NULL, "what a write does"}, \
        {"write-share", \
         0, \
         OPTION_SHARE, \
         "SHARE", \
         offsetof(type, field.write_share), \
         0, \
         1, \
         NULL, \
         "share of the operations that write, 0.1 or 10% (0)"}, \
        {"keys", \
         0, \
         OPTION_COUNT, \
         "N", \
         offsetof(type, field.keys), \
         1, \
         1e15, \
         NULL, \
         "draw the parameters of queries from 1 to N (20,000)"}, \
        {"ca", 0, OPTION_TEXT, "FILE", offsetof(type, field.ca), 0, 0, NULL, "https: file of CA certificates to trust"}, \
    { \
        "insecure", 0, OPTION_FLAG, NULL, offsetof(type, field.insecure), 0, 0, NULL, \
            "https: do not verify the server" \
    }

/* The server's connection limit and the connections in use, including the one that reads them. most 0: the server does
 * not reveal it. */
typedef struct target_limit {
    uint32_t most, reserved, in_use;
    char words[160]; /* the same as text: "allows 100 connections, 3 of them reserved; 12 in use before" */
} target_limit;

/* The random choice of one operation. */
typedef struct target_turn {
    bool writes;
    uint64_t draw; /* a random number, from which the parameters are derived */
} target_turn;

/* The pools of a target: writes have their own, or use the readers' (NULL). */
typedef struct target_pools {
    cen_pool *pool, *writer;
    void *own;
} target_pools;

typedef struct target_kind {
    const char *system;              /* "postgresql" */
    const char *schemes;             /* "postgresql postgres" */
    const char *usual, *usual_write; /* the query if the user gives none; NULL: writes have no default */
    cen_status (*open)(target *self, cen_error *error);
    void (*close)(target *self); /* leaves nothing behind */
    /* Do one operation. The whole response is read and checked. */
    cen_status (*operate)(target *self, void *object, const target_turn *turn, cen_error *error);
    /* Read the server's limit. NULL: not available. */
    cen_status (*limit)(target *self, void *object, target_limit *out, cen_error *error);
    /* Create both pools. NULL: one pool of the driver. */
    cen_status (*pools_new)(target *self, const cen_pool_options *options, target_pools *out, cen_error *error);
    void (*pools_free)(target *self, target_pools *pools);
} target_kind;

struct target {
    const target_kind *kind;
    target_settings settings; /* as given, or defaults */
    char shown[256];          /* the URL without its password */
    cen_driver driver;        /* set by open */
    cen_runtime *runtime;     /* of its pools, so that close can wait for its threads */
    void *own;                /* the kind's */
};

/* Open a target: read the URL and, for SQLite, create the file. Connects to nothing. An error's text says what is wrong
 * and lists the valid forms. Errors: INVALID, SYSTEM, ABSENT, NO_MEMORY, DRIVER (SQLite: the file cannot be used). */
cen_status target_open(const target_settings *settings, target **out, cen_error *error);
void target_close(target *self);

/* Open one connection and do one operation of each kind, so that errors show before a load begins. Reads the limit if
 * `limit` is not NULL. If that takes long, `line` shows it. *status: the exit status if the result is not OK. A signal
 * interrupts an operation; while the connection is opened it ends the program at once, by stop_leave. */
cen_status target_probe(target *self, struct progress *line, target_limit *limit, int *status, cen_error *error);

/* Create the pools. `options`: as for cen_pool_new; driver and name are set here. */
cen_status target_pools_new(target *self, const cen_pool_options *options, target_pools *out, cen_error *error);
/* Close the pools within 5 s and free them. */
void target_pools_free(target *self, target_pools *pools);

/* Return parameter `index` of that operation, from 1 to `keys`. */
uint64_t target_draw(const target *self, const target_turn *turn, unsigned index);

#endif
