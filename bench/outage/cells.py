# SPDX-License-Identifier: MIT
"""Which outages, by whom, and how long; and which of it the environment asks for."""
import measuring
from measuring import QUICK

CONTESTANTS = {
    "cenote": "cenote", "stack": "by hand: mutex, condition variable, stack", "zdb": "libzdb", "apr": "apr_reslist and libpq",
    "hikari": "HikariCP, JDBC", "pgx": "Go, pgxpool", "gosql": "Go, database/sql, pgx", "sqlalchemy": "SQLAlchemy, psycopg2",
    "psycopg": "psycopg_pool, psycopg 3", "ruby": "Ruby, connection_pool",
}
PACKAGES = ["libpq5", "postgresql-15", "libzdb11", "libaprutil1", "libhikaricp-java", "libpostgresql-jdbc-java",
            "golang-github-jackc-pgx-v4-dev", "python3-sqlalchemy",
            "python3-sqlalchemy-ext", "python3-psycopg2",
            "python3-psycopg", "python3-psycopg-pool", "ruby-connection-pool", "ruby-pg"]
THREADS, CONNECTIONS = 8, 4
HEALTHY = 2                    # seconds before the outage, with all of them ready
AFTER = 5 if QUICK else 10     # seconds that are looked at after its end
APART = 3 if QUICK else 8      # seconds that the first may be ready before the last
SETTINGS = ["default", "advised"]


class Outage:
    def __init__(self, name, title, dark):
        self.name, self.title, self.dark = name, title, dark


OUTAGES = [
    Outage("silent", "Its host falls silent, and after %d s another answers new connections", 3 if QUICK else 10),
    Outage("killed", "The server is killed, and started again after %d s", 3 if QUICK else 4),
]


class Selection:
    def __init__(self):
        only, settings, contestants = measuring.asked_for([outage.name for outage in OUTAGES], SETTINGS, list(CONTESTANTS))
        self.is_all = not only and not settings and not contestants
        self.outages = [outage for outage in OUTAGES if not only or outage.name in only]
        self.settings = settings or (["advised"] if QUICK else SETTINGS)
        self.contestants = [name for name in CONTESTANTS if not contestants or name in contestants]
