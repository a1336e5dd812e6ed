# SPDX-License-Identifier: MIT
"""The programs of the asynchronous benchmark."""
import os

from build import OUT, bench, build_c, build_go, build_kotlin, build_library, build_probe, build_user, package_flags


def async_part(name, library=None, rules="serve"):
    build = build_user if library else build_c
    return build("async-" + name, bench("async", name + ".c"), rules, library or ())


def build_async(wanted=None):
    """The programs of the asynchronous benchmark by name: those that are wanted, or all."""
    os.makedirs(OUT, exist_ok=True)
    library = build_library() if not wanted or {"cenote", "actor", "actors", "micro", "pending"} & set(wanted) else None
    ways = {
        "cenote": lambda: async_part("cenote", library),
        "actor": lambda: async_part("actor", library),
        "actors": lambda: async_part("actors", library),
        "micro": lambda: async_part("micro", library, None),
        "pending": lambda: async_part("pending", library, None),
        "libuv": lambda: build_c("async-libuv", bench("peers", "libuv", "async.c"), "serve", package_flags("libuv")),
        "puddle": lambda: build_go("async-puddle", bench("rules", "serve.go"), bench("peers", "puddle", "async.go")),
        "kotlin": build_kotlin,
        "broken": lambda: async_part("broken"),
        "pingpong": build_probe,
    }
    return {name: ways[name]() for name in wanted or ways}
