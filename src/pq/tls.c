/* SPDX-License-Identifier: MIT */
/*
 * Early initialisation of OpenSSL, for the exit of the process.
 *
 * libpq initialises OpenSSL in its first connection over TLS, and OpenSSL then registers its exit handler. cenote's
 * handler waits for helpers that connect, and must be registered later to run earlier. So prepare initialises OpenSSL.
 * The function is looked up in libpq and what it links: this library links no TLS library, and libpq may have been
 * built without one.
 */
#include <dlfcn.h>

#include "pq/internal.h"

static void initialise(void)
{
    Dl_info libpq;
    int (*init)(uint64_t, const void *) = NULL;
    void *handle =
        dladdr((void *)(uintptr_t)PQconnectStart, &libpq) ? dlopen(libpq.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = dlsym(handle ? handle : RTLD_DEFAULT, "OPENSSL_init_ssl");
    *(void **)(void *)&init = found;
    if (init) init(0, NULL);
    if (handle) dlclose(handle);
}

void ceni_pq_tls_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
}
