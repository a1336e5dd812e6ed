/* SPDX-License-Identifier: MIT */
/* A plugin that has a pool of TLS sessions. Its host knows neither cenote nor OpenSSL. */
#include "drivers/exit_tls.h"

__attribute__((visibility("default"))) void plugin_run(struct sockaddr_in *server, unsigned run, bool ends);

void plugin_run(struct sockaddr_in *server, unsigned run, bool ends)
{
    cen_pool *pool = make_pool(server, NULL);
    stay_a_little(run);
    if (!ends) return;
    cen_pool_close(pool, CEN_NOW, NULL, NULL);
    cen_pool_free(pool);
    is_cancelled = true;
    if (cen_runtime_wait_idle(NULL, cen_in_s(30)) != CEN_OK) _exit(1); /* the driver is part of what is unloaded */
}
