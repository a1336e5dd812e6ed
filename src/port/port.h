/* SPDX-License-Identifier: MIT */
/*
 * The seam to the operating system: threads, the clock, the futex, the end of
 * a thread, fork, and a descriptor to wake an event loop.
 *
 * Everything that waits, reads a clock or makes a thread comes through here.
 * Which files implement it is the build's choice, never an #ifdef in a caller:
 *     linux/   the futex and the event descriptor by system call
 *     posix/   the same on a mutex and a condition variable, and a pipe;
 *              threads, clock, thread end and fork for both
 *     fake/    all of it under the hand of a test: virtual time and the
 *              controlled scheduler
 */
#ifndef CENI_PORT_PORT_H
#define CENI_PORT_PORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/status.h>

#include "base/atomic.h"
#include "base/spi.h"

CENI_SPI_BEGIN

/* ---- Time: nanoseconds on the monotonic clock, always positive ---------- */

#define CENI_FOREVER INT64_MAX

int64_t ceni_clock_now(void);

/* Nanoseconds since 1970, for people: this clock may be set. */
int64_t ceni_clock_wall(void);

/* Returns at `moment` or later. */
void ceni_sleep_until(int64_t moment);

/* ---- Futex ---------------------------------------------------------------
 * The only way to sleep until another thread does something.
 *
 * ceni_futex_wait sleeps if *word == expected, until a wake on the same
 * address or until `moment` (CENI_FOREVER: no limit). Comparing and going to
 * sleep are one step with respect to ceni_futex_wake. It may also return for
 * no reason, and when a signal was handled: callers loop.
 *
 * ceni_futex_wake wakes up to `count` sleepers. A signal handler may call it;
 * it may change errno. It uses the address as a name
 * only and never reads the word, so the memory may be gone by then; sleepers
 * on other words at a reused address may wake for no reason, as above. */

typedef enum ceni_woken {
    CENI_WOKEN,    /* by a wake, a changed word, or for no reason: look again */
    CENI_TIMED_OUT /* the moment passed */
} ceni_woken;

ceni_woken ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment);

/* The same as a cancellation point. A thread that is cancelled here calls `leave`, once, on itself, and
 * ends: this never returns then. `leave` may do whatever the thread may do. Nothing else in the library
 * is a cancellation point. */
ceni_woken ceni_futex_wait_cancellable(_Atomic uint32_t *word, uint32_t expected, int64_t moment, void (*leave)(void *),
                                       void *argument);
void ceni_futex_wake(_Atomic uint32_t *word, uint32_t count);

/* ---- Threads ------------------------------------------------------------- */

typedef struct ceni_thread {
    uint64_t handle;
} ceni_thread;

typedef struct ceni_thread_options {
    const char *name;     /* cut to what the system shows; NULL: none */
    size_t stack_size;    /* in bytes, rounded up to what the system takes; 0: ceni_thread_stack_size */
    const uint32_t *cpus; /* the processors it may run on, by the system's numbers; not needed after the call */
    size_t cpu_count;     /* 0: all that the starter may use */
} ceni_thread_options;

/* Starts a thread that blocks all signals. Errors: SYSTEM, with errno's value
 * in *code; EINVAL if one of the processors is not there or not allowed. Then
 * nothing was run. */
cen_status ceni_thread_start_with(ceni_thread *thread, const ceni_thread_options *options, void (*run)(void *),
                                  void *argument, int *code);
/* The same with nothing but a name (may be NULL). */
cen_status ceni_thread_start(ceni_thread *thread, const char *name, void (*run)(void *), void *argument, int *code);
void ceni_thread_join(ceni_thread *thread);

/* What a thread has that asks for no size of its own. */
size_t ceni_thread_stack_size(void);

/* Calls run. If the thread leaves it by pthread_exit or by cancellation, calls
 * lost on the same thread, once, before any thread-specific destructor and exit
 * hook; if run returns, never. Neither the library nor the program need be built
 * with -fexceptions for that. */
void ceni_thread_run_guarded(void (*run)(void *), void (*lost)(void *), void *argument);

/* The calling thread, as the one who joins it or lets go of it names it. */
ceni_thread ceni_thread_self(void);

/* Nobody will join the thread: it clears up after itself when it ends. */
void ceni_thread_detach(ceni_thread *thread);

/* Lets another runnable thread go first. */
void ceni_thread_yield(void);

/* A number of the calling thread's that no other thread of the process has
 * or had; never 0. */
enum { CENI_THREAD_ID_BITS = 45 };
uint64_t ceni_thread_id(void);

/* Processors this process may use; at least 1. Cheap to ask again. */
unsigned ceni_cpu_count(void);

/* The processor the calling thread runs on, or ran on a moment ago. */
unsigned ceni_cpu_current(void);

/* Different in every thread and run; under the controlled scheduler, the same in every replay. */
uint64_t ceni_random(void);

/* The return addresses of the calls that led here, innermost first, from `from`
 * on, or all if that is none of them; returns how many. Allocates nothing. */
unsigned ceni_backtrace(void **frames, unsigned most, const void *from);

/* What is at an address of the code, for a person: "function+0x12 (program)", "program+0x1234", or the address. */
enum { CENI_SYMBOL_ROOM = 224 };
void ceni_symbol(const void *address, char text[CENI_SYMBOL_ROOM]);

/* What the system shows of the thread with that ceni_thread_id, now: its name and its number, 0 if it has none. One that has
 * ended without the exit hooks may be UNKNOWN, or have the name of another that got its number. */
enum { CENI_THREAD_NAME_ROOM = 32 };
typedef enum ceni_thread_life { CENI_THREAD_UNKNOWN = 0, CENI_THREAD_LIVES, CENI_THREAD_ENDED } ceni_thread_life;
ceni_thread_life ceni_thread_look(uint64_t id, char name[CENI_THREAD_NAME_ROOM], uint32_t *tid);

/* The name alone; false if it is not known. */
static inline bool ceni_thread_name(uint64_t id, char name[CENI_THREAD_NAME_ROOM])
{
    uint32_t tid;
    return ceni_thread_look(id, name, &tid) == CENI_THREAD_LIVES;
}

/* The calling thread has just got that number; it ends. Only for ceni_thread_id and the end of a thread. */
void ceni_thread_remember(uint64_t id);
void ceni_thread_forget(uint64_t id);

/* ---- What the rooms above remember per thread ---------------------------- */

/* Whose the words are. Never a pointer to what may be freed: nobody tells the
 * words when something ends. */
enum {
    /* three words: the current owner (sync/holder.h), with which the pool's begin (pool/own.h) */
    CENI_ROOM_HOLDER = 0,
    CENI_ROOM_NUMBERS = 24, /* numbers for tasks (sync/owner.c) */
    CENI_ROOM_WORKER = 25,  /* the worker that this thread is, of whoever made it one */
    CENI_ROOM_INLINE = 26,  /* the thread's outermost call (sync/inline.c) */
    CENI_THREAD_ROOM = 27,
    /* in a world, where a thread's own variables are all threads': words of others, which otherwise have such variables */
    CENI_THREAD_ROOM_BEYOND = 13, /* of the libraries above */
    CENI_THREAD_ROOM_NOTED = 26   /* of pool/noted.c */
};

/* The calling thread's own words, zero when it begins. */
#ifdef CENI_WATCHED
uint64_t *ceni_thread_room(void);
#elif defined CENI_OUTSIDE
uint64_t *ceni_thread_room_of(void);
#define ceni_thread_room() ceni_thread_room_of()
#else
uint64_t *ceni_thread_room_of(void); /* the same, for our other libraries */
extern __attribute__((visibility("hidden"),
                      tls_model("initial-exec"))) _Thread_local uint64_t ceni_words[CENI_THREAD_ROOM];

static inline uint64_t *ceni_thread_room(void)
{
    return ceni_words;
}
#endif

/* Where the thread's worker is noted: NULL when it begins, and the same until it ends. */
static inline void **ceni_thread_worker(void)
{
    return (void **)(void *)&ceni_thread_room()[CENI_ROOM_WORKER];
}

/* ---- Cancellation ----------------------------------------------------------
 * Around a call of the program's code, which may contain cancellation points
 * where the library cannot be left. A request stays pending. */

int ceni_cancel_hold(void);
void ceni_cancel_release(int held);

/* ---- The end of a thread -------------------------------------------------
 * One thread-specific key serves the whole library. A hook runs on the
 * thread that ends, after the program's own thread-specific destructors, in
 * the order of rank (lowest first). A rank has one hook per thread: arming it
 * again is the same as once, and another replaces it. The main thread's hooks
 * run when it calls pthread_exit, not when main returns. */

typedef enum ceni_exit_rank {
    CENI_EXIT_LEASES,  /* what the thread still holds */
    CENI_EXIT_ENTRIES, /* what it has registered */
    CENI_EXIT_RANKS
} ceni_exit_rank;

/* Errors: SYSTEM if the key could not be made. */
cen_status ceni_thread_at_exit(ceni_exit_rank rank, void (*hook)(void));

/* Whether this thread's hooks have run already. A hook that is armed now is called only if another round of destructors
 * follows. */
bool ceni_thread_exit_is_late(void);

/* How another thread learns that one has ended, after its last destructor. */
typedef struct ceni_thread_watch {
    _Alignas(16) char room[64];
} ceni_thread_watch;

/* Watch the calling thread. The memory stays until await has returned. Errors: SYSTEM. */
cen_status ceni_thread_watch_begin(ceni_thread_watch *watch);

/* Sleep until the watched thread has ended. For another thread, once. */
void ceni_thread_watch_await(ceni_thread_watch *watch);

/* The thread runs code of a driver or of the program, or it does not: a mark, for process_exit.h. */
void ceni_thread_set_in_call(bool in_call);
bool ceni_thread_in_call(void);

/* When the thread-specific destructors and the hooks of this thread have run, ceni_exit_left is called on it. False: that cannot
 * be arranged. */
bool ceni_thread_mark_leaving(void);

/* ---- The end of the process ----------------------------------------------- */

/* Calls the handler at exit, as atexit does: last in, first out. False: there is no memory for it. */
bool ceni_process_at_exit(void (*handler)(void));

/* ---- Fork ----------------------------------------------------------------
 * The epoch is 0 never; it stays the same for the life of a process and is
 * different in a forked child. One relaxed load. */

#ifdef CENI_WATCHED
uint64_t ceni_fork_epoch(void);
#else
extern __attribute__((visibility("hidden"))) _Atomic uint64_t ceni_fork_page[]; /* its first word; 0: to be assigned */
extern _Atomic uint64_t ceni_fork_page_of[]; /* the same page, for our other libraries */
#ifdef CENI_OUTSIDE
#define ceni_fork_page ceni_fork_page_of
#endif
/* The word of process_exit.c. The epoch has its lines to itself, because it is read always and the others are written. */
enum { CENI_FORK_EXIT_WORD = CENI_CACHE_LINE / sizeof(uint64_t), CENI_FORK_FIRST_FREE_WORD };
uint64_t ceni_fork_assign(void);

static inline uint64_t ceni_fork_epoch(void)
{
    uint64_t epoch = ceni_load_relaxed(&ceni_fork_page[0]); /* carries nothing */
    return __builtin_expect(epoch != 0, 1) ? epoch : ceni_fork_assign();
}
#endif

/* A word for the caller's own use that is 0 in every forked child, whatever it is here: who loads something else from it
 * is in the process that put it there. It is 0 at first. NULL: all are taken, or this is a world. A child never has a word that its
 * parent had taken. */
#ifdef CENI_WATCHED
static inline _Atomic uint64_t *ceni_fork_take_word(void)
{
    return NULL;
}

static inline void ceni_fork_give_word(_Atomic uint64_t *word)
{
    (void)word;
}
#else
_Atomic uint64_t *ceni_fork_take_word(void);
void ceni_fork_give_word(_Atomic uint64_t *word);
#endif

/* Whether `epoch` is this process'. May say no to a fresh child's own epoch, never yes to another's. */
static inline bool ceni_fork_is(uint64_t epoch)
{
#ifdef CENI_WATCHED
    return ceni_fork_epoch() == epoch;
#else
    return ceni_load_relaxed(&ceni_fork_page[0]) == epoch; /* carries nothing */
#endif
}

/* ---- Bell: a descriptor that wakes an event loop ------------------------- */

typedef struct ceni_bell {
    int read_fd, write_fd; /* the same number where one descriptor does both */
} ceni_bell;

/* Errors: SYSTEM, with errno's value in *code. Close-on-exec, non-blocking. */
cen_status ceni_bell_init(ceni_bell *bell, int *code);
void ceni_bell_fini(ceni_bell *bell);
/* Makes read_fd readable; ringing a bell that rings changes nothing. */
void ceni_bell_ring(const ceni_bell *bell);
/* Makes it unreadable again, however often it was rung, and tells how often that was. */
uint32_t ceni_bell_silence(const ceni_bell *bell);

/* ---- Files ------------------------------------------------------------------
 * Errors: SYSTEM, with errno's value in *code. */

/* The caller needs nothing of what is in these bytes any more. The system may take whole pages of them back; what is read
 * there afterwards is zero, or what it was. The memory stays the caller's. */
void ceni_pages_forget(void *start, size_t size);

/* A new file of that size under a name that nobody looks for yet: "PATH.number". All zero, all of it on disk, mapped, and
 * shared with whoever maps or reads it; not with a forked child. */
typedef struct ceni_shared_file {
    void *memory;
    size_t size;
    char path[4096];
} ceni_shared_file;

cen_status ceni_shared_file_make(ceni_shared_file *file, const char *path, size_t size, int *code);

/* Gives it the name that it is for. What has that name gets `old`, and what had that is gone. */
cen_status ceni_shared_file_name(ceni_shared_file *file, const char *path, const char *old, int *code);

/* Undoes make, before it has its name. */
void ceni_shared_file_discard(ceni_shared_file *file);

/* Whether there is something of that name that is no regular file. */
bool ceni_file_is_special(const char *path);

/* Opens a regular file to be read; EINVAL if it is something else. */
cen_status ceni_file_open(int *file, const char *path, int *code);
/* Reads up to `size` bytes from there on; *read is less only at the end of the file. */
cen_status ceni_file_read(int file, uint64_t at, void *bytes, size_t size, size_t *read, int *code);
void ceni_file_close(int file);

CENI_SPI_END

#endif
