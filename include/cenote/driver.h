/* SPDX-License-Identifier: MIT */
/*
 * A driver makes and ends one kind of object for a pool.
 *
 *     static cen_status open_buffer(void *argument, void **out, cen_error *error)
 *     {
 *         (void)argument, (void)error;
 *         *out = malloc(4096);
 *         return *out ? CEN_OK : CEN_NO_MEMORY;
 *     }
 *     static void close_buffer(void *argument, void *object) { (void)argument; free(object); }
 *
 *     static const cen_driver_calls buffers = {.size = sizeof buffers, .open = open_buffer, .close = close_buffer};
 *     cen_driver driver = {&buffers, NULL};
 *
 * A driver value is two pointers, copied by whoever receives it; what they
 * point to must live as long as the pool.
 *
 * Threads: a pool calls its driver's functions from whatever thread needs one,
 * several at a time, each for another object, and holds no lock meanwhile.
 * Cancellation of the thread is disabled during the call.
 */
#ifndef CENOTE_DRIVER_H
#define CENOTE_DRIVER_H

#include <stddef.h>

#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Any of the functions may be NULL. Fields are only ever appended. */
typedef struct cen_driver_calls {
    size_t size; /* sizeof(cen_driver_calls) */

    /* Makes an object; any pointer-sized value will do, NULL included. On
     * failure returns any status but OK and may say more in `error`, which is
     * never NULL here. NULL: the pool makes no objects, it holds what it is
     * given by cen_pool_adopt. */
    cen_status (*open)(void *argument, void **out, cen_error *error);

    /* Ends an object. NULL: there is nothing to do. */
    void (*close)(void *argument, void *object);

    /* The object was taken away from a holder who did not give it back in
     * time: make whatever it is doing with it fail soon. The holder may be
     * using it right now, and may give it back, and so have it closed, only
     * after this returned. NULL: there is nothing that could be done. */
    void (*interrupt)(void *argument, void *object);
} cen_driver_calls;

typedef struct cen_driver {
    const cen_driver_calls *calls; /* NULL: no driver */
    void *argument;                /* passed to each of the calls */
} cen_driver;

#ifdef __cplusplus
}
#endif
#endif
