# SPDX-License-Identifier: MIT
"""The programs of the pool's benchmark: all of them take the same words and answer in the same ones, see rules/lend.h."""
import os

from build import (OUT, bench, build_c, build_crate, build_erlang, build_go, build_java, build_library, build_probe, build_script,
                   build_user, package_flags)

HIKARI = ["HikariCP", "slf4j-api", "slf4j-nop"]


def peer_in_c(name, source="pool.c", *libraries):
    return build_c("pool-" + name, bench("peers", name, source), "lend", libraries)


def part(name, library=None):
    build = build_user if library else build_c
    return build("pool-" + name, bench("pool", name + ".c"), "lend", library or ())


def peer_in_rust(name):
    return build_crate(name, "pool", bench("rules", "lend.rs"))


def peer_in_go(name, *where):
    return build_go("pool-" + name, bench("rules", "lend.go"), bench("peers", *where))


def peer_in_java(name, main, jars, *where):
    rules = [bench("rules", rule + ".java") for rule in ("Lend", "Lending", "LendPlan", "LendBroken", "Lengths")]
    return build_java("pool-" + name, main, *rules, bench("peers", *where), jars=jars)


def build_pool(wanted=None):
    """By name: those that are wanted, or all."""
    os.makedirs(OUT, exist_ok=True)
    library = None if wanted and not {"cenote", "growth", "cancel", "deadlines", "memory"} & set(wanted) else build_library()
    ways = {
        "cenote": lambda: part("cenote", library),
        "growth": lambda: part("growth", library),
        "cancel": lambda: part("cancel", library),
        "deadlines": lambda: part("deadlines", library),
        "memory": lambda: part("memory", library),
        "stack": lambda: peer_in_c("stack"),
        "apr": lambda: peer_in_c("apr", "pool.c", *package_flags("apr-util-1", "apr-1")),
        "moodycamel": lambda: peer_in_c("moodycamel", "pool.cc"),
        "tbb": lambda: peer_in_c("tbb", "pool.cc", "-ltbb"),
        "crossbeam": lambda: peer_in_rust("crossbeam"),
        "r2d2": lambda: peer_in_rust("r2d2"),
        "channel": lambda: peer_in_go("channel", "go", "channel.go"),
        "syncpool": lambda: peer_in_go("syncpool", "go", "syncpool.go"),
        "puddle": lambda: peer_in_go("puddle", "puddle", "pool.go"),
        "hikari": lambda: peer_in_java("hikari", "Bag", HIKARI, "hikari", "Bag.java"),
        "datasource": lambda: peer_in_java("datasource", "Source", HIKARI, "hikari", "Source.java"),
        "commons": lambda: peer_in_java("commons", "Commons", ["commons-pool2"], "commons-pool2", "Commons.java"),
        "ruby": lambda: build_script("pool-ruby", "ruby", bench("peers", "connection_pool", "pool.rb")),
        "poolboy": lambda: build_erlang("pool-poolboy", bench("peers", "poolboy", "pool.erl"), bench("rules", "lend.erl")),
        "sqlalchemy": lambda: build_script("pool-sqlalchemy", "python3", bench("peers", "sqlalchemy", "pool.py")),
        "psycopg": lambda: build_script("pool-psycopg", "python3", bench("peers", "psycopg-pool", "pool.py")),
        "fifo": lambda: peer_in_c("fifo"),
        "none": lambda: part("none"),
        "broken": lambda: part("broken"),
        "pingpong": build_probe,
    }
    return {name: ways[name]() for name in wanted or ways}
