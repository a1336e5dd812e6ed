# SPDX-License-Identifier: MIT
"""Which outages, by whom, and how long; and which of it the environment asks for."""
import measuring
from measuring import QUICK

CONTESTANTS = {
    "cenote": "cenote", "stack": "by hand: mutex, condition variable, stack", "zdb": "libzdb", "apr": "apr_reslist and libpq",
    "hikari": "HikariCP, JDBC", "pgx": "Go, pgxpool", "gosql": "Go, database/sql, pgx", "sqlalchemy": "SQLAlchemy, psycopg2",
    "psycopg": "psycopg_pool, psycopg 3", "ruby": "Ruby, connection_pool", "redigo": "Go, redigo", "redispy": "redis-py",
}
OF_SERVER = {"pq": [name for name in CONTESTANTS if name not in ("redigo", "redispy")],
             "redis": ["cenote", "stack", "redigo", "redispy", "ruby"]}
SERVERS = {"pq": "PostgreSQL", "redis": "Redis"}
PACKAGES = ["libpq5", "postgresql-15", "libzdb11", "libaprutil1", "libhikaricp-java", "libpostgresql-jdbc-java",
            "golang-github-jackc-pgx-v4-dev", "python3-sqlalchemy",
            "python3-sqlalchemy-ext", "python3-psycopg2",
            "python3-psycopg", "python3-psycopg-pool", "ruby-connection-pool", "ruby-pg", "redis-server",
            "libhiredis0.14", "golang-github-gomodule-redigo-dev", "python3-redis", "ruby-redis"]
THREADS, CONNECTIONS = 8, 4
HEALTHY = 2                    # seconds before the outage, with all of them ready
AFTER = 5 if QUICK else 10     # seconds that are looked at after its end
APART = 3 if QUICK else 8      # seconds that the first may be ready before the last
SETTINGS = ["default", "advised"]


class Outage:
    def __init__(self, server, silent):
        self.server, self.silent, self.dark = server, silent, 3 if QUICK else 10 if silent else 4
        self.name = "redis-" * (server == "redis") + ("silent" if silent else "killed")
        what = "its host falls silent, and after %d s another answers new connections" if silent else \
            "the server is killed, and started again after %d s"
        self.title = "%s: %s" % (SERVERS[server], what % self.dark)


OUTAGES = [Outage(server, silent) for server in SERVERS for silent in (True, False)]


class Selection:
    def __init__(self):
        only, settings, contestants = measuring.asked_for([outage.name for outage in OUTAGES], SETTINGS, list(CONTESTANTS))
        self.is_all = not only and not settings and not contestants
        wanted = only or [outage.name for outage in OUTAGES if outage.server == "pq" or not QUICK]
        self.outages = [outage for outage in OUTAGES if outage.name in wanted]
        self.settings = settings or (["advised"] if QUICK else SETTINGS)
        self.contestants = [name for name in CONTESTANTS if not contestants or name in contestants]
        self.outages = [outage for outage in self.outages if self.of(outage)]

    def of(self, outage):
        return [name for name in OF_SERVER[outage.server] if name in self.contestants]

    def programs(self):
        return sorted({name for outage in self.outages for name in self.of(outage)})
