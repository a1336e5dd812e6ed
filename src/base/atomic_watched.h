/* SPDX-License-Identifier: MIT */
/*
 * The operations of atomic.h as calls to the controlled scheduler.
 *
 * Each call tells the scheduler the operation, its address and its place in the source, for the story that the
 * scheduler prints. Values are passed as 64 bits. The comma in CENI_VALUE_ strips the _Atomic qualifier from the
 * type.
 *
 * Included by atomic.h only. port/fake implements the functions.
 */
#ifndef CENI_BASE_ATOMIC_WATCHED_H
#define CENI_BASE_ATOMIC_WATCHED_H

typedef enum ceni_watch_order {
    CENI_RELAXED,
    CENI_ACQUIRE,
    CENI_RELEASE,
    CENI_ACQ_REL,
    CENI_SEQ_CST,
} ceni_watch_order;

typedef enum ceni_watch_op {
    CENI_OP_LOAD,
    CENI_OP_STORE,
    CENI_OP_EXCHANGE,
    CENI_OP_ADD,
    CENI_OP_SUB,
    CENI_OP_OR,
    CENI_OP_AND,
    CENI_OP_CAS,
} ceni_watch_op;

/* A place in the source that touches shared memory. */
typedef struct ceni_site {
    const char *file;
    int line;
    ceni_watch_op op;
    ceni_watch_order order;
    const char *object; /* the expression, as written */
} ceni_site;

uint64_t ceni_watch_load(const ceni_site *site, const volatile void *object, size_t size);
void ceni_watch_store(const ceni_site *site, volatile void *object, size_t size, uint64_t value);
uint64_t ceni_watch_rmw(const ceni_site *site, volatile void *object, size_t size, uint64_t operand);
bool ceni_watch_cas(const ceni_site *site, volatile void *object, size_t size, uint64_t *expected, uint64_t value);
void ceni_watch_pause(const char *file, int line);

/* A copy of plain bytes that other threads may be claiming, publishing or freeing. The copy is a scheduling point, so
 * that a copy on the wrong side of a publication is detected. */
void ceni_watch_copy(void *to, const void *from, size_t size);

#define CENI_VALUE_(p) __typeof__(((void)0, *(p)))

/* The address of a static description of this place. Its scope is the expression, so that one operation may be an
 * argument of another. */
#define CENI_SITE_(op, order, p) \
    (__extension__({ \
        static const ceni_site site_ = {__FILE__, __LINE__, CENI_OP_##op, CENI_##order, #p}; \
        &site_; \
    }))
#define CENI_BITS_(p, v) ((uint64_t)(uintptr_t)(CENI_VALUE_(p))(v))

#define CENI_LOAD_(p, order) ((CENI_VALUE_(p))(uintptr_t)ceni_watch_load(CENI_SITE_(LOAD, order, p), (p), sizeof(*(p))))
#define CENI_STORE_(p, v, order) ceni_watch_store(CENI_SITE_(STORE, order, p), (p), sizeof(*(p)), CENI_BITS_(p, v))
#define CENI_RMW_(p, v, op, order) \
    (__extension__({ \
        (CENI_VALUE_(p))(uintptr_t) ceni_watch_rmw(CENI_SITE_(op, order, p), (p), sizeof(*(p)), CENI_BITS_(p, v)); \
    }))
#define CENI_CAS_(p, expected, v, order) \
    (__extension__({ \
        uint64_t found_ = (uint64_t)(uintptr_t)(*(expected)); \
        bool done_ = ceni_watch_cas(CENI_SITE_(CAS, order, p), (p), sizeof(*(p)), &found_, CENI_BITS_(p, v)); \
        if (!done_) *(expected) = (CENI_VALUE_(p))(uintptr_t)found_; \
        done_; \
    }))

#define ceni_load_relaxed(p) CENI_LOAD_(p, RELAXED)
#define ceni_load_acquire(p) CENI_LOAD_(p, ACQUIRE)
#define ceni_load_seq_cst(p) CENI_LOAD_(p, SEQ_CST)

#define ceni_store_relaxed(p, v) CENI_STORE_(p, v, RELAXED)
#define ceni_store_release(p, v) CENI_STORE_(p, v, RELEASE)
#define ceni_store_seq_cst(p, v) CENI_STORE_(p, v, SEQ_CST)

#define ceni_exchange_acquire(p, v) CENI_RMW_(p, v, EXCHANGE, ACQUIRE)
#define ceni_exchange_release(p, v) CENI_RMW_(p, v, EXCHANGE, RELEASE)
#define ceni_exchange_acq_rel(p, v) CENI_RMW_(p, v, EXCHANGE, ACQ_REL)
#define ceni_exchange_seq_cst(p, v) CENI_RMW_(p, v, EXCHANGE, SEQ_CST)

#define ceni_add_relaxed(p, v) CENI_RMW_(p, v, ADD, RELAXED)
#define ceni_add_acq_rel(p, v) CENI_RMW_(p, v, ADD, ACQ_REL)
#define ceni_add_seq_cst(p, v) CENI_RMW_(p, v, ADD, SEQ_CST)
#define ceni_sub_relaxed(p, v) CENI_RMW_(p, v, SUB, RELAXED)
#define ceni_sub_seq_cst(p, v) CENI_RMW_(p, v, SUB, SEQ_CST)
#define ceni_or_seq_cst(p, v) CENI_RMW_(p, v, OR, SEQ_CST)
#define ceni_and_seq_cst(p, v) CENI_RMW_(p, v, AND, SEQ_CST)

#define ceni_cas_relaxed(p, expected, v) CENI_CAS_(p, expected, v, RELAXED)
#define ceni_cas_acquire(p, expected, v) CENI_CAS_(p, expected, v, ACQUIRE)
#define ceni_cas_release(p, expected, v) CENI_CAS_(p, expected, v, RELEASE)
#define ceni_cas_acq_rel(p, expected, v) CENI_CAS_(p, expected, v, ACQ_REL)
#define ceni_cas_seq_cst(p, expected, v) CENI_CAS_(p, expected, v, SEQ_CST)

#define ceni_pause() ceni_watch_pause(__FILE__, __LINE__)

#endif
