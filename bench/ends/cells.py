# SPDX-License-Identifier: MIT
"""What is measured, by whom and how often; and which of it the environment asks for."""
import measuring
from measuring import QUICK

REPETITIONS = measuring.REPETITIONS or (1 if QUICK else 5)
SECONDS = 0.4 if QUICK else 1.5
WARM = {"hikari": 1.0 if QUICK else 4.0}  # a just-in-time compiler wants more, and shares two processors with 64 threads
WARM_USUALLY = 0.1 if QUICK else 0.3
THREADS, CONNECTIONS = 64, 8
PACKAGES = ["libpq5", "postgresql-15", "libhiredis0.14", "redis-server", "libzdb11", "libaprutil1", "libhikaricp-java",
            "libpostgresql-jdbc-java", "golang-github-jackc-pgx-v4-dev",
            "golang-github-gomodule-redigo-dev", "python3-sqlalchemy",
            "python3-sqlalchemy-ext", "python3-psycopg2", "python3-psycopg",
            "python3-psycopg-pool", "python3-redis", "ruby-connection-pool", "ruby-pg", "ruby-redis", "golang-go",
            "default-jdk-headless", "python3", "ruby"]

FULL_NAMES = {
    "cenote": "cenote", "asks": "cenote, asks of one loop", "bare": "no pool: 8 threads, a connection each",
    "stack": "by hand: mutex, condition variable, stack", "zdb": "libzdb", "apr": "apr_reslist and libpq",
    "hikari": "HikariCP, JDBC", "pgx": "Go, pgxpool", "gosql": "Go, database/sql, pgx", "sqlalchemy": "SQLAlchemy, psycopg2",
    "psycopg": "psycopg_pool, psycopg 3", "ruby": "Ruby, connection_pool", "redigo": "Go, redigo", "redispy": "redis-py",
}

OURS = ["cenote", "asks"]  # the second has no thread for each client, and is compared with nobody
NO_PEERS = [*OURS, "bare"]  # and what has no pool, the most that threads which block can have


class Cell:
    def __init__(self, name, title, contestants):
        self.name, self.title, self.names = name, title, contestants

    def command(self, programs, contestant, port):
        threads = CONNECTIONS if contestant == "bare" else THREADS
        return [programs[contestant], self.name, "127.0.0.1", port, threads, CONNECTIONS, SECONDS,
                "warm=%g" % WARM.get(contestant, WARM_USUALLY)]


CELLS = [
    Cell("pq", "PostgreSQL, `select 1`",
         ["cenote", "asks", "bare", "stack", "zdb", "apr", "hikari", "pgx", "gosql", "sqlalchemy", "psycopg", "ruby"]),
    Cell("redis", "Redis, GET", ["cenote", "asks", "bare", "stack", "redigo", "redispy", "ruby"]),
]


class Selection:
    def __init__(self):
        names = sorted({name for cell in CELLS for name in cell.names})
        _, cells, self.contestants = measuring.asked_for([], [cell.name for cell in CELLS], names)
        self.is_all = not cells and not self.contestants
        self.cells = [cell for cell in CELLS if self.of(cell) and (not cells or cell.name in cells)]

    def of(self, cell):
        return [name for name in cell.names if not self.contestants or name in self.contestants]

    def programs(self):
        return sorted({name for cell in self.cells for name in self.of(cell)})
