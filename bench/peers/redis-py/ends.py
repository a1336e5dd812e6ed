# SPDX-License-Identifier: MIT
"""redis-py by a client over a BlockingConnectionPool, the one of its pools whose callers wait. The client takes and gives by itself
in each command; the pool notes when it had a connection, and the give belongs to the call. hiredis is installed, so it is used.

For bad days: a wait for the pool, and limits for connecting and for an answer."""
import os
import sys
import threading

sys.path.insert(0, os.environ["BENCH_RULES"])
import ends
import redis


class Pool(redis.BlockingConnectionPool):
    noted = threading.local()

    def get_connection(self, command_name, *keys, **options):
        connection = super().get_connection(command_name, *keys, **options)
        self.noted.had = ends.now()
        return connection


class Client:
    def __init__(self, plan):
        limits = {"timeout": 1, "socket_connect_timeout": 1, "socket_timeout": 2} if plan.advised else {}
        self.pool = Pool(plan.connections, host=plan.host, port=plan.port, password="secret", **limits)
        self.client = redis.Redis(connection_pool=self.pool)

    def open(self):
        for connection in [self.pool.get_connection("GET") for _ in range(self.pool.max_connections)]:
            self.pool.release(connection)

    def turn(self):
        answer = self.client.get("cenote-bench")
        return self.pool.noted.had, ends.now(), answer


ends.main({"redis": Client})
