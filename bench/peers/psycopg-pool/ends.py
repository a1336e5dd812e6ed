# SPDX-License-Identifier: MIT
"""psycopg 3 and its ConnectionPool, by `with pool.connection()`, as the documentation shows. Autocommit: a query is one round trip.
After some turns psycopg prepares it by itself. Debian has psycopg in Python only, which calls libpq by ctypes; upstream's part in C
would be quicker.

For bad days: a wait for the pool, a limit for connecting, statement_timeout and tcp_user_timeout. There is no limit for an answer:
a server that accepts bytes and is silent is waited for."""
import os
import sys

sys.path.insert(0, os.environ["BENCH_RULES"])
import ends
from psycopg_pool import ConnectionPool

LIMITS = {"connect_timeout": 1, "options": "-c statement_timeout=2000", "tcp_user_timeout": 2000}


class Pool:
    def __init__(self, plan):
        where = {"host": plan.host, "port": plan.port, "user": "tester", "password": "secret", "dbname": "test", "autocommit": True}
        self.pool = ConnectionPool(min_size=plan.connections, max_size=plan.connections, open=False,
                                   kwargs={**where, **(LIMITS if plan.advised else {})}, **({"timeout": 1} if plan.advised else {}))

    def open(self):
        self.pool.open(wait=True)

    def turn(self):
        with self.pool.connection() as connection:
            had = ends.now()
            answer = connection.execute("select 1").fetchone()[0]
            return had, ends.now(), answer


ends.main({"pq": Pool})
