/* SPDX-License-Identifier: MIT */
/*
 * What the files of this folder share: a recipe per kind of server, the post of a guardian, and the few things
 * it does for all kinds. Everything that takes a `post` runs in the guardian's process only.
 */
#ifndef TESTS_SUPPORT_SERVERS_GUARDIAN_H
#define TESTS_SUPPORT_SERVERS_GUARDIAN_H

#include "support/servers.h"

enum {
    POST_PORTS = 2,
    POST_PATH = 96, /* short enough for a Unix socket's path with a name behind it */
    POST_WHY = 6000,
    POST_SETTINGS = 4096,
    POST_REQUEST = POST_SETTINGS + 1,
    POST_START_SECONDS = 60,
    POST_PAUSE_MS = 10000
};

typedef struct post post;

/* How one kind of server is made and addressed. */
typedef struct recipe {
    const char *name, *title;
    const char *program; /* found by post_find_program unless `find` does it */
    bool (*find)(char *path, size_t room);
    int ports;
    int shutdown_signal;
    bool reloads;          /* at SIGHUP */
    const char *key;       /* text of which the template's name is made: a changed recipe makes a new template */
    bool (*make)(post *);  /* fills the data directory from nothing; slow, and kept as a template if there is a key */
    bool (*write)(post *); /* writes the configuration, from the settings */
    /* what to execute: at most 7, NULL */
    void (*command)(const post *, const char **arguments, char *text, size_t room);
    bool (*answers)(const uint16_t *ports);
    void (*clean)(post *);       /* after a kill: what the dead server left outside its memory; may be NULL */
    const char *url, *admin_url; /* with %u for a port: the first one, and the last one */
} recipe;

extern const recipe recipe_postgresql, recipe_mariadb, recipe_redis, recipe_nginx;
const recipe *recipe_of(server_kind kind);

struct post {
    const recipe *recipe;
    char program[POST_PATH * 2];
    char directory[POST_PATH];    /* "" until it is made */
    char settings[POST_SETTINGS]; /* lines, "name=value" */
    char why[POST_WHY];           /* the sentence to report when something has failed */
    uint16_t ports[POST_PORTS];
    int held[POST_PORTS]; /* sockets that keep the ports while nobody listens; -1 otherwise */
    uid_t user;
    gid_t group;
    bool drops;             /* to that user: the guardian is root */
    bool paused, abandoned; /* abandoned: the lifeline is cut */
    pid_t main;             /* the server's first process, not yet waited for; 0 if there is none */
    int lifeline;
};

/* What the owner hears when the server has been started, or has not. */
typedef struct birth {
    bool ok;
    uint16_t ports[POST_PORTS];
    char directory[POST_PATH];
    char why[POST_WHY];
} birth;

/* The guardian's whole life; does not return. */
_Noreturn void guardian_live(server_kind kind, const char *settings, int lifeline, int cradle);

/* Where it listens for requests: one packet each way per connection. A request is a command, and its text. */
bool guardian_address(const char *directory, void *sockaddr_un_);
typedef enum post_command {
    COMMAND_PID = 'p',
    COMMAND_KILL = 'k',
    COMMAND_SHUTDOWN = 'd',
    COMMAND_RESTART = 'r',
    COMMAND_PAUSE = 's',
    COMMAND_RESUME = 'c',
    COMMAND_CONFIGURE = 'f',
    COMMAND_RELOAD = 'h',
    COMMAND_STOP = 'q'
} post_command;

/* ---- guardian.c -------------------------------------------------------------------------------------------- */

/* Notes why, and returns false. */
__attribute__((format(printf, 2, 3))) bool post_fail(post *here, const char *format, ...);

/* Lets some time pass; false if the owner has gone meanwhile, in which case everybody hurries home. */
bool post_wait(post *here, int milliseconds);

/* ---- processes.c ------------------------------------------------------------------------------------------- */

/* Starts a process as the server's user, in the directory, with what it says going to the log and its input
 * from the file `input` (NULL: nothing). 0 if it could not be forked. */
pid_t post_spawn(post *here, const char *const *arguments, const char *input);

/* Runs one to its end; false, with why, if that was no good one. */
bool post_run(post *here, const char *const *arguments, const char *input);

/* Whether `process`, a child of the guardian, has ended; it is waited for then. */
bool post_ended(pid_t process, int *status);

void post_kill_all(post *here);
bool post_pause_all(post *here);
void post_resume_all(post *here);

/* ---- files.c ----------------------------------------------------------------------------------------------- */

bool post_make_directory(post *here);
void post_remove_directory(post *here);
bool post_path(const post *here, char *path, size_t room, const char *name); /* DIRECTORY/name; false if too long */
bool post_subdirectory(post *here, const char *name);

/* Writes a file of the server's user into the directory. */
__attribute__((format(printf, 3, 4))) bool post_write(post *here, const char *name, const char *format, ...);

/* The last lines of the log, at most `room`. */
void post_log_tail(const post *here, char *text, size_t room);

/* Finds `name` along the usual folders of programs. */
bool post_find_program(const char *name, char *path, size_t room);

bool tree_copy(const char *from, const char *to, const post *owner); /* owner NULL: the caller's files */
void tree_remove(const char *path);

/* ---- template.c -------------------------------------------------------------------------------------------- */

/* Makes the data directory, from the template if there is one. */
bool post_fill(post *here);

/* ---- settings.c --------------------------------------------------------------------------------------------- */

/* The settings as lines of a configuration: before, name, between, value, after; but only those that `wanted`
 * wants (NULL: all). A quote in the value is doubled if `after` begins with one. */
typedef struct setting_form {
    const char *before, *between, *after;
    bool (*wanted)(const char *name, size_t length);
} setting_form;
bool settings_write(const char *settings, const setting_form *form, char *text, size_t room);
bool settings_have(const char *settings, const char *name);

/* ---- ports.c ------------------------------------------------------------------------------------------------ */

/* Chooses and holds the ports that the recipe needs. */
bool post_choose_ports(post *here);
bool post_hold_ports(post *here); /* false if somebody else has one */
void post_release_ports(post *here);

/* Connects to the port, says `request`, and hears up to `room` bytes: until there are `enough`, or a while
 * after some, or a second. Returns how many. */
size_t port_ask(uint16_t port, const void *request, size_t size, void *reply, size_t room, size_t enough);

#endif
