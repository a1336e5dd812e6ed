# SPDX-License-Identifier: MIT
"""What is measured, by whom and how often; and which of it the environment asks for."""
import measuring
from measuring import QUICK

PAIRS = measuring.REPETITIONS or (2 if QUICK else 10)  # interleaved; the interval of their ratio is a target
REPETITIONS = PAIRS
SECONDS = 0.3 if QUICK else 2
PARTS = ["pq", "bouncer", "loop", "redis", "count"]
PACKAGES = ["libpq5", "postgresql-15", "pgbouncer", "libhiredis0.14", "redis-server"]
THREADS = 16

FULL_NAMES = {
    "new": "a connection for each query", "own": "a connection of its own for each thread, no pool", "pool": "cenote",
    "handed": "the same, opened by another thread before",
    "bouncer": "PgBouncer, transactions", "hand": "epoll by hand", "cenote": "cenote", "redis-benchmark": "redis-benchmark",
}


class Cell:
    def __init__(self, part, name, title, contestants, seldom=()):
        self.part, self.name, self.title, self.names = part, name, title, contestants
        self.seldom = seldom  # those that are measured in the first three repetitions only

    def of(self, repetition):
        return [name for name in self.names if name not in self.seldom or repetition < 3]


CELLS = [
    Cell("pq", "pq16", "PostgreSQL, `select 1`, 16 threads, 16 connections", ["new", "own", "handed", "pool"], ["new"]),
    Cell("bouncer", "bouncer16", "PostgreSQL, 16 threads, 16 connections at the server", ["bouncer", "pool"]),
    Cell("bouncer", "bouncer4", "PostgreSQL, 16 threads, 4 connections at the server", ["bouncer", "pool"]),
    Cell("loop", "loop8", "PostgreSQL, one epoll thread, 1,000 requests, 8 connections", ["hand", "cenote"]),
    Cell("redis", "redis16", "Redis, GET, 16 connections", ["redis-benchmark", "own", "pool"]),
]


class Selection:
    def __init__(self):
        self.only, _, _ = measuring.asked_for(PARTS, [], [])
        self.is_all = not self.only
        self.cells = [cell for cell in CELLS if self.has(cell.part)]

    def has(self, part):
        return self.is_all or part in self.only
