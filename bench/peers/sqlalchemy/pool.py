# SPDX-License-Identifier: MIT
"""SQLAlchemy's QueuePool, without an engine, over connections that connect to nothing. All are made before the start.
reset_on_return is None: the default would call rollback() at each give, and the documentation allows None where there are no
transactions. Last in, first out is an option, as quick as the default with few objects and quicker with ten thousand."""
import operator
import os
import sys

sys.path.insert(0, os.environ["BENCH_RULES"])
import lend
import sqlalchemy.exc
import sqlalchemy.pool


class Connection:
    """As much of a DBAPI connection as a pool wants."""
    __slots__ = ("uses", "index")

    def __init__(self, index):
        self.uses, self.index = 0, index

    def close(self):
        lend.fail("the pool closed a connection")


def make(plan):
    def connect():
        plan.objects.append(Connection(len(plan.objects)))
        return plan.objects[-1]

    pool = sqlalchemy.pool.QueuePool(connect, pool_size=plan.size, max_overflow=0, timeout=plan.patience_s, reset_on_return=None,
                                     use_lifo=True)
    for lease in [pool.connect() for _ in range(plan.size)]:
        lease.close()
    give = operator.methodcaller("close")
    return lend.Pool(pool.connect, give, sqlalchemy.exc.TimeoutError, operator.attrgetter("dbapi_connection"))


lend.main(make)
