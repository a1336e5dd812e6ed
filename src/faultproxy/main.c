/* SPDX-License-Identifier: MIT */
/* cenote-faultproxy: a proxy that injects faults on command. */
#include <cenote/version.h>

#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "faultproxy/proxy.h"

/* Static because they are large. */
static fp_options options;
static fp_proxy proxy;

/* A connection needs two descriptors, and the usual limit is about 1000. */
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* If one of the three descriptors is closed, a socket would get its number and be taken for it. */
static void fill_standard_descriptors(void)
{
    int fd;
    do fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

static void draw_seed(void)
{
    if (options.has_seed) return;
    options.seed = uv_hrtime() ^ ((uint64_t)uv_os_getpid() << 32);
    fprintf(stderr, "cenote-faultproxy: --seed %" PRIu64 "\n", options.seed);
}

int main(int count, char **arguments)
{
    char why[FP_SENTENCE], address[FP_ADDRESS_TEXT];
    if (!fp_options_parse(&options, count, arguments, why)) {
        fprintf(stderr, "cenote-faultproxy: %s\n", why);
        return 2;
    }
    if (options.help) fp_options_print_help(stdout);
    if (options.version)
        printf("cenote-faultproxy %d.%d.%d\n", CEN_VERSION_MAJOR, CEN_VERSION_MINOR, CEN_VERSION_PATCH);
    if (options.help || options.version) return 0;
    fill_standard_descriptors();
    raise_limit();
    draw_seed();
    if (!fp_proxy_start(&proxy, &options, why)) {
        fprintf(stderr, "cenote-faultproxy: %s\n", why);
        return 1;
    }
    fp_address_text(&proxy.listener.at, address);
    printf("listening on %s\n", address);
    fflush(stdout);
    fp_control_read_stdin(&proxy.control, &proxy, options.follow_stdin);
    fp_proxy_run(&proxy);
    return 0;
}
