/* SPDX-License-Identifier: MIT */
/*
 * Early initialisation of OpenSSL, for the exit of the process.
 *
 * Connector/C initialises OpenSSL in its first connection over TLS, and OpenSSL then registers its exit handler.
 * cenote's handler waits for helpers that connect, and must be registered later to run earlier. So prepare initialises
 * OpenSSL. The function is looked up in Connector/C and what it links, because Connector/C may have been built with
 * another TLS library, which is not initialised here.
 */
#include <dlfcn.h>

#include "mariadb/internal.h"

static void initialise(void)
{
    Dl_info connector;
    int (*init)(uint64_t, const void *) = NULL;
    void *handle =
        dladdr((void *)(uintptr_t)mysql_init, &connector) ? dlopen(connector.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = dlsym(handle ? handle : RTLD_DEFAULT, "OPENSSL_init_ssl");
    *(void **)(void *)&init = found;
    if (init) init(0, NULL);
    if (handle) dlclose(handle);
}

void ceni_mariadb_tls_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
}
