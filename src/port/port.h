/* SPDX-License-Identifier: MIT */
/*
 * The interface to the operating system: threads, clocks, the futex, the end of a thread, the end of the process,
 * fork, files, and a descriptor to wake an event loop.
 *
 * All waiting, clock reading and thread creation goes through here. The build chooses the files that implement it; no
 * caller has an #ifdef:
 *     linux/   the futex and the event descriptor by system call
 *     posix/   the same on mutexes and semaphores, and a pipe;
 *              threads, clock, thread end and fork for both
 *     fake/    all of it under a test's control: virtual time and the
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

/* Nanoseconds since 1970, to show to people: this clock may be set. */
int64_t ceni_clock_wall(void);

/* Returns at `moment` or later. */
void ceni_sleep_until(int64_t moment);

/* ---- Futex ---------------------------------------------------------------
 * The only way to sleep until another thread does something.
 *
 * ceni_futex_wait sleeps if *word == expected, until a wake on the same address or until `moment` (CENI_FOREVER: no
 * limit). Comparing and going to sleep are one step with respect to ceni_futex_wake. It may also return spuriously,
 * and when a signal was handled: callers loop.
 *
 * ceni_futex_wake wakes up to `count` sleepers. A signal handler may call it; it may change errno. It uses the
 * address only as a name and never reads the word, so the memory may have been freed by then. If the address is
 * reused, sleepers on the new word may wake spuriously. */

typedef enum ceni_woken {
    CENI_WOKEN,    /* by a wake, a changed word, or spuriously: look again */
    CENI_TIMED_OUT /* the moment passed */
} ceni_woken;

ceni_woken ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment);

/* The same as a cancellation point. A thread that is cancelled here calls `leave` once, on itself, and ends; this
 * function then does not return. `leave` may do whatever the thread may do. No other function of the library is a
 * cancellation point. */
ceni_woken ceni_futex_wait_cancellable(_Atomic uint32_t *word, uint32_t expected, int64_t moment, void (*leave)(void *),
                                       void *argument);
void ceni_futex_wake(_Atomic uint32_t *word, uint32_t count);

/* ---- Threads ------------------------------------------------------------- */

typedef struct ceni_thread {
    uint64_t handle;
} ceni_thread;

typedef struct ceni_thread_options {
    const char *name;     /* truncated to the length that the system shows; NULL: none */
    size_t stack_size;    /* bytes, rounded up to a size that the system accepts; 0: ceni_thread_stack_size */
    const uint32_t *cpus; /* processors it may run on, by the system's numbers; not needed after the call */
    size_t cpu_count;     /* 0: all processors that the starting thread may use */
} ceni_thread_options;

/* Start a thread that blocks all signals. SYSTEM, with errno's value in *code: the thread was not started, and `run`
 * was not called; EINVAL if one of the processors does not exist or is not allowed. */
cen_status ceni_thread_start_with(ceni_thread *thread, const ceni_thread_options *options, void (*run)(void *),
                                  void *argument, int *code);
/* The same with only a name (may be NULL). */
cen_status ceni_thread_start(ceni_thread *thread, const char *name, void (*run)(void *), void *argument, int *code);
void ceni_thread_join(ceni_thread *thread);

/* The default stack size of a thread, in bytes. */
size_t ceni_thread_stack_size(void);

/* Call run. If the thread leaves it by pthread_exit or by cancellation, call lost on the same thread, once, before
 * any thread-specific destructor and exit hook. If run returns, lost is not called. Neither the library nor the
 * program needs to be built with -fexceptions. */
void ceni_thread_run_guarded(void (*run)(void *), void (*lost)(void *), void *argument);

/* The calling thread, for a later join or detach. */
ceni_thread ceni_thread_self(void);

/* The thread will not be joined: the system frees its resources when it ends. */
void ceni_thread_detach(ceni_thread *thread);

/* Let another runnable thread run first. */
void ceni_thread_yield(void);

/* The calling thread's number. No other thread of the process has it or has had it; never 0. */
enum { CENI_THREAD_ID_BITS = 45 };
uint64_t ceni_thread_id(void);

/* The number of processors this process may use; at least 1. Cheap to call again. */
unsigned ceni_cpu_count(void);

/* The processor the calling thread runs on, or ran on a moment ago. */
unsigned ceni_cpu_current(void);

/* Return a pseudo-random number. The sequence differs in every thread and run; under the controlled scheduler it is
 * the same in every replay. */
uint64_t ceni_random(void);

/* Write the return addresses of the current call stack, innermost first, beginning with `from`, or all if `from` is
 * not among them. Returns their number, at most `most`. Allocates nothing. */
unsigned ceni_backtrace(void **frames, unsigned most, const void *from);

/* Write what is at a code address as readable text: "function+0x12 (program)", "program+0x1234", or the address. */
enum { CENI_SYMBOL_ROOM = 224 };
void ceni_symbol(const void *address, char text[CENI_SYMBOL_ROOM]);

/* Look up the thread with this ceni_thread_id: whether it is alive, its name, and the system's number for it (0 if
 * there is none). For a thread that has ended without running the exit hooks, the result may be UNKNOWN, or the name
 * of another thread that has got the same system number. */
enum { CENI_THREAD_NAME_ROOM = 32 };
typedef enum ceni_thread_life { CENI_THREAD_UNKNOWN = 0, CENI_THREAD_LIVES, CENI_THREAD_ENDED } ceni_thread_life;
ceni_thread_life ceni_thread_look(uint64_t id, char name[CENI_THREAD_NAME_ROOM], uint32_t *tid);

/* The name alone; false if it is not known. */
static inline bool ceni_thread_name(uint64_t id, char name[CENI_THREAD_NAME_ROOM])
{
    uint32_t tid;
    return ceni_thread_look(id, name, &tid) == CENI_THREAD_LIVES;
}

/* Note that the calling thread has got this number; that it ends. Called only by ceni_thread_id and at the end of a
 * thread. */
void ceni_thread_remember(uint64_t id);
void ceni_thread_forget(uint64_t id);

/* ---- Thread-local words of the rooms above ------------------------------- */

/* The owners of the words. A word is never a pointer to memory that may be freed: words are not updated when an
 * object ends. */
enum {
    /* three words for the current holder (sync/holder.h); the pool's words (pool/own.h) begin with them */
    CENI_ROOM_HOLDER = 0,
    CENI_ROOM_NUMBERS = 24, /* numbers for tasks (sync/holder.c) */
    CENI_ROOM_WORKER = 25,  /* the crew's worker that this thread is, if it is one */
    CENI_ROOM_INLINE = 26,  /* the thread's outermost call (sync/inline.c) */
    CENI_THREAD_ROOM = 27,
    /* In a world all fibers share one thread-local variable. So files that have thread-local variables elsewhere have
     * words here there: */
    CENI_THREAD_ROOM_BEYOND = 13, /* the libraries above */
    CENI_THREAD_ROOM_NOTED = 26   /* pool/noted.c */
};

/* The calling thread's words, zero when it starts. */
#ifdef CENI_WATCHED
uint64_t *ceni_thread_room(void);
#elif defined CENI_OUTSIDE
uint64_t *ceni_thread_room_of(void);
#define ceni_thread_room() ceni_thread_room_of()
#else
uint64_t *ceni_thread_room_of(void); /* the same, for the project's other libraries */
extern __attribute__((visibility("hidden"),
                      tls_model("initial-exec"))) _Thread_local uint64_t ceni_words[CENI_THREAD_ROOM];

static inline uint64_t *ceni_thread_room(void)
{
    return ceni_words;
}
#endif

/* The word for the thread's worker: NULL when the thread starts. */
static inline void **ceni_thread_worker(void)
{
    return (void **)(void *)&ceni_thread_room()[CENI_ROOM_WORKER];
}

/* ---- Cancellation ----------------------------------------------------------
 * Hold off cancellation around a call of the program's code. That code may contain cancellation points, and a thread
 * must not leave the library there. A request stays pending. */

int ceni_cancel_hold(void);
void ceni_cancel_release(int held);

/* ---- The end of a thread -------------------------------------------------
 * One thread-specific key serves the whole library. A hook runs on the thread that ends, after the program's own
 * thread-specific destructors. Hooks run in the order of their ranks, lowest first. A rank has one hook per thread:
 * arming the same hook twice has no further effect, and another hook replaces it. The main thread's hooks run when it
 * calls pthread_exit, not when main returns. */

typedef enum ceni_exit_rank {
    CENI_EXIT_LEASES,  /* leases that the thread still holds */
    CENI_EXIT_ENTRIES, /* entries that it has registered */
    CENI_EXIT_RANKS
} ceni_exit_rank;

/* Arm a hook for the calling thread. SYSTEM: the key could not be created. */
cen_status ceni_thread_at_exit(ceni_exit_rank rank, void (*hook)(void));

/* Return true if this thread's hooks have already run. A hook that is armed then is called only if another round of
 * destructors follows. */
bool ceni_thread_exit_is_late(void);

/* A watch reports to another thread that the watched thread has ended, after its last destructor. */
typedef struct ceni_thread_watch {
    _Alignas(16) char room[64];
} ceni_thread_watch;

/* Watch the calling thread. The memory must stay valid until await has returned. SYSTEM: it is not watched. */
cen_status ceni_thread_watch_begin(ceni_thread_watch *watch);

/* Sleep until the watched thread has ended. Called once, by another thread. */
void ceni_thread_watch_await(ceni_thread_watch *watch);

/* A mark of the calling thread, for process_exit.h: it runs code of a driver or of the program. */
void ceni_thread_set_in_call(bool in_call);
bool ceni_thread_in_call(void);

/* Have ceni_exit_left called on this thread after its thread-specific destructors and hooks have run. Returns false
 * if that cannot be arranged. */
bool ceni_thread_mark_leaving(void);

/* ---- The end of the process ----------------------------------------------- */

/* Register a handler with atexit: handlers run last in, first out. Returns false if there is no memory for it. */
bool ceni_process_at_exit(void (*handler)(void));

/* ---- Fork ----------------------------------------------------------------
 * The epoch is never 0. It stays the same for the life of a process, and is different in a forked child. Reading it
 * is one relaxed load. */

#ifdef CENI_WATCHED
uint64_t ceni_fork_epoch(void);
#else
extern __attribute__((visibility("hidden"))) _Atomic uint64_t ceni_fork_page[]; /* its first word; 0: to be assigned */
extern _Atomic uint64_t ceni_fork_page_of[]; /* the same page, for the project's other libraries */
#ifdef CENI_OUTSIDE
#define ceni_fork_page ceni_fork_page_of
#endif
/* The word of process_exit.c. The epoch has its cache lines to itself, because every call reads it and the other
 * words are written. */
enum { CENI_FORK_EXIT_WORD = CENI_CACHE_LINE / sizeof(uint64_t), CENI_FORK_FIRST_FREE_WORD };
uint64_t ceni_fork_assign(void);

static inline uint64_t ceni_fork_epoch(void)
{
    uint64_t epoch = ceni_load_relaxed(&ceni_fork_page[0]); /* carries nothing */
    return __builtin_expect(epoch != 0, 1) ? epoch : ceni_fork_assign();
}
#endif

/* Reserve a word for the caller. The word is 0 at first, and 0 in every forked child, whatever its value is here. So
 * a thread that loads a nonzero value from it runs in the process that stored the value. A child never gets a word
 * that its parent has reserved. Returns NULL if all words are taken, or in a world. */
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

/* Return true if `epoch` is this process's. May return false for the own epoch of a child that was just forked; never
 * returns true for the epoch of another process. */
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
    int read_fd, write_fd; /* equal where one descriptor does both */
} ceni_bell;

/* Create the descriptors, close-on-exec and non-blocking. SYSTEM: errno's value is in *code. */
cen_status ceni_bell_init(ceni_bell *bell, int *code);
void ceni_bell_fini(ceni_bell *bell);
/* Make read_fd readable. It stays so until ceni_bell_silence. */
void ceni_bell_ring(const ceni_bell *bell);
/* Make read_fd unreadable again, and return how often the bell was rung. */
uint32_t ceni_bell_silence(const ceni_bell *bell);

/* ---- Files ------------------------------------------------------------------
 * A function that fails returns SYSTEM, with errno's value in *code. */

/* The caller does not need the contents of these bytes. The system may take back whole pages; reading them later
 * gives zeros or the old contents. The memory stays allocated. */
void ceni_pages_forget(void *start, size_t size);

/* Create a file of this size under a temporary name, "PATH.number". It is zeroed, all its blocks are allocated on
 * disk, and it is mapped. The mapping is shared with every process that maps or reads the file, but is not inherited
 * by a forked child. */
typedef struct ceni_shared_file {
    void *memory;
    size_t size;
    char path[4096];
} ceni_shared_file;

cen_status ceni_shared_file_make(ceni_shared_file *file, const char *path, size_t size, int *code);

/* Give the file its final name. A file that has this name is renamed to `old`, and replaces a file of that name. */
cen_status ceni_shared_file_name(ceni_shared_file *file, const char *path, const char *old, int *code);

/* Undo make, before the file has its final name. */
void ceni_shared_file_discard(ceni_shared_file *file);

/* Return true if the path exists and is not a regular file. */
bool ceni_file_is_special(const char *path);

/* Open a regular file for reading. The code is EINVAL if it is something else, EISDIR if it is a directory. */
cen_status ceni_file_open(int *file, const char *path, int *code);
/* Read up to `size` bytes at offset `at`; *read is less than `size` only at the end of the file. */
cen_status ceni_file_read(int file, uint64_t at, void *bytes, size_t size, size_t *read, int *code);
void ceni_file_close(int file);

CENI_SPI_END

#endif
