/* SPDX-License-Identifier: MIT */
/*
 * cenote-faultproxy for a test: a process between the test and its server.
 *
 *     fault_proxy *proxy = proxy_start("127.0.0.1", server_port);
 *     ... connect to 127.0.0.1:proxy_port(proxy), or to proxy_url(proxy, "postgresql://me@127.0.0.1:5432/test")
 *     proxy_say(proxy, "blackhole");
 *     ...
 *     proxy_say(proxy, "clear");
 *     expect_equal(proxy_stat(proxy, "accepted"), 3);
 *     proxy_stop(proxy);
 *
 * Whatever goes wrong fails the test. The proxy ends with the process that started it, however that ends; start it on
 * a thread that lives as long, since the system counts the thread. Any thread may say and ask. docs/faultproxy.md has
 * the commands and the counts.
 */
#ifndef TESTS_SUPPORT_FAULTPROXY_H
#define TESTS_SUPPORT_FAULTPROXY_H

#include <stdint.h>
#include <sys/types.h>

typedef struct fault_proxy fault_proxy;

/* A proxy at a free port of 127.0.0.1, to a server at a port of a host that is written as a number or "localhost". */
fault_proxy *proxy_start(const char *host, unsigned port);

/* The same with arguments of one's own, the last of them NULL. */
fault_proxy *proxy_start_with(const char *const *arguments);

unsigned proxy_port(const fault_proxy *proxy);
const char *proxy_address(const fault_proxy *proxy); /* "127.0.0.1:40123", or "unix:/path" */
pid_t proxy_process(const fault_proxy *proxy);

/* The URL with the proxy's host and port instead of the server's. It is the proxy's, until it is asked again. */
const char *proxy_url(fault_proxy *proxy, const char *url);

/* Says a command that must be answered by ok. */
void proxy_say(fault_proxy *proxy, const char *command);

/* Says anything; the answer is the proxy's, until it is told or asked again. */
const char *proxy_answer(fault_proxy *proxy, const char *command);

/* A count, by its name; and waits until it is so, which must be within ten seconds. */
uint64_t proxy_stat(fault_proxy *proxy, const char *name);
void proxy_await(fault_proxy *proxy, const char *name, uint64_t value);

/* Ends it by closing its standard input, and expects that it ends well. */
void proxy_stop(fault_proxy *proxy);

#endif
