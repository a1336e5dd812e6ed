# SPDX-License-Identifier: MIT
"""The programs of the drivers' benchmark."""
import os

from build import OUT, bench, build_library, build_probe, build_user, build_with_server, package_flags


def build_drivers():
    """The programs of the benchmark of the drivers by name."""
    os.makedirs(OUT, exist_ok=True)
    library = build_library("cenote-pq", "cenote-redis")
    postgresql, hiredis, rules = package_flags("libpq"), package_flags("hiredis"), bench("drivers", "queries.c")
    return {
        "pq": build_user("drivers-pq", bench("drivers", "pq.c"), None, [rules, *library, *postgresql]),
        "loop": build_user("drivers-loop", bench("drivers", "loop.c"), None, [*library, *postgresql]),
        "redis": build_user("drivers-redis", bench("drivers", "redis.c"), None, [rules, *library, *hiredis]),
        "with-server": build_with_server(),
        "pingpong": build_probe(),
    }
