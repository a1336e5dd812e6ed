# SPDX-License-Identifier: MIT
"""SQLAlchemy's engine with psycopg2 and its QueuePool, by `with engine.connect()`. Autocommit, and no reset on return, which is
what the documentation has for it: a query is one round trip as it is with the others. The default form sends BEGIN and ROLLBACK
too, two more. exec_driver_sql, because it is quicker than text().

For bad days: pre-ping, a wait for the pool, libpq's limit for connecting, which it makes 2 s at least, statement_timeout and
tcp_user_timeout. psycopg2 has no limit of its own for an answer: a server that accepts bytes and is silent is waited for."""
import os
import sys

sys.path.insert(0, os.environ["BENCH_RULES"])
import ends
import sqlalchemy

LIMITS = {"connect_timeout": 1, "options": "-c statement_timeout=2000", "tcp_user_timeout": 2000}


class Engine:
    def __init__(self, plan):
        url = sqlalchemy.engine.URL.create("postgresql+psycopg2", "tester", "secret", plan.host, plan.port, "test")
        advised = {"pool_pre_ping": True, "pool_timeout": 1, "connect_args": LIMITS} if plan.advised else {}
        self.size = plan.connections
        self.engine = sqlalchemy.create_engine(url, pool_size=self.size, max_overflow=0, isolation_level="AUTOCOMMIT",
                                               pool_reset_on_return=None, **advised)

    def open(self):
        for connection in [self.engine.connect() for _ in range(self.size)]:
            connection.close()

    def turn(self):
        with self.engine.connect() as connection:
            had = ends.now()
            answer = connection.exec_driver_sql("select 1").scalar()
            return had, ends.now(), answer


ends.main({"pq": Engine})
