# SPDX-License-Identifier: MIT
"""psycopg's ConnectionPool, of a fixed size, over connections that connect to nothing: its connection_class is ours, whose state is
an attribute instead of a call of libpq, so the figures are those of the pool alone. getconn and putconn, because the context
manager that the documentation prefers adds a commit."""
import itertools
import os
import sys

sys.path.insert(0, os.environ["BENCH_RULES"])
import lend
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout


class Connection:
    """As much of a connection as the pool looks at."""
    __slots__ = ("uses", "index", "_pool", "_expire_at", "closed", "pgconn", "transaction_status")
    numbers, made = itertools.count(), []

    def __init__(self):
        self.uses, self.index, self.closed = 0, next(self.numbers), False
        self.pgconn, self.transaction_status = self, TransactionStatus.IDLE
        self.made.append(self)

    @classmethod
    def connect(cls, conninfo):
        return cls()

    def close(self):
        lend.fail("the pool closed a connection")


def make(plan):
    plan.objects = Connection.made
    pool = ConnectionPool(connection_class=Connection, min_size=plan.size, max_size=plan.size, timeout=plan.patience_s)
    pool.wait(60)
    return lend.Pool(pool.getconn, pool.putconn, PoolTimeout)


lend.main(make)
