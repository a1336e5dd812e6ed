# SPDX-License-Identifier: MIT
"""The programs that ask a real server through a pool: all take the same words and answer in the same ones, see rules/ends.h."""
import os

from build import (OUT, ROOT, bench, build_go, build_java, build_library, build_probe, build_script, build_user,
                   build_with_server, call, folder_of_cenote, package_flags)

JDBC = ["HikariCP", "slf4j-api", "slf4j-nop", "postgresql"]


def there(name, *sources):
    """A contestant without its harness is no contestant that may be left out in silence."""
    for source in sources:
        if not os.path.exists(source):
            raise SystemExit("bench: %s has no harness: there is no %s" % (name, os.path.relpath(source, ROOT)))
    return sources


def in_c(name, folder, library, *packages):
    flags = [bench("rules", "ends.c"), *library, *package_flags(*packages)]
    return build_user("ends-" + name, *there(name, bench(*folder, "ends.c")), None, flags)


def in_go(name, *where):
    return build_go("ends-" + name, *there(name, bench("rules", "ends.go"), bench("peers", *where)))


def in_script(name, interpreter, rules, source):
    there(name, rules, source)
    return build_script("ends-" + name, interpreter, source)


def in_java(name, main, *where):
    rules = [bench("rules", rule + ".java") for rule in ("Ends", "EndsOutage", "Lengths")]
    return build_java("ends-" + name, main, *there(name, *rules, bench("peers", *where)), jars=JDBC)


def in_python(name, folder):
    return in_script(name, "python3", bench("rules", "ends.py"), bench("peers", folder, "ends.py"))


def build_faultproxy():
    """Beside the library; who names a folder with another one has it there."""
    build_library()
    if not os.environ.get("BENCH_LIBDIR"):
        call(["cmake", "--build", folder_of_cenote(), "--target", "cenote-faultproxy"], cwd=ROOT)
    return there("the outage", os.path.join(folder_of_cenote(), "cenote-faultproxy"))[0]


def build_ends(wanted=None):
    """By name: those that are wanted, or all."""
    os.makedirs(OUT, exist_ok=True)
    ways = {
        "cenote": lambda: build_user("ends-cenote", bench("ends", "cenote.c"), None, [
            bench("rules", "ends.c"), *build_library("cenote-pq", "cenote-redis"), *package_flags("libpq", "hiredis")]),
        "asks": lambda: build_user("ends-asks", bench("ends", "asks.c"), None, [
            bench("rules", "ends.c"), *build_library("cenote-pq", "cenote-redis"), *package_flags("libpq", "hiredis")]),
        "bare": lambda: build_user("ends-bare", bench("ends", "bare.c"), None, [bench("rules", "ends.c"),
                                                                              *package_flags("libpq", "hiredis")]),
        "stack": lambda: in_c("stack", ["peers", "stack"], [], "libpq", "hiredis"),
        "zdb": lambda: in_c("zdb", ["peers", "zdb"], [], "zdb"),
        "apr": lambda: in_c("apr", ["peers", "apr"], [], "libpq", "apr-util-1", "apr-1"),
        "hikari": lambda: in_java("hikari", "Jdbc", "hikari", "Jdbc.java"),
        "pgx": lambda: in_go("pgx", "pgx", "ends.go"),
        "gosql": lambda: in_go("gosql", "go", "sql.go"),
        "redigo": lambda: in_go("redigo", "redigo", "ends.go"),
        "sqlalchemy": lambda: in_python("sqlalchemy", "sqlalchemy"),
        "psycopg": lambda: in_python("psycopg", "psycopg-pool"),
        "redispy": lambda: in_python("redispy", "redis-py"),
        "ruby": lambda: in_script("ruby", "ruby", bench("rules", "ends.rb"), bench("peers", "connection_pool", "ends.rb")),
        "faultproxy": build_faultproxy,
        "with-server": build_with_server,
        "pingpong": build_probe,
    }
    return {name: ways[name]() for name in wanted or ways}
