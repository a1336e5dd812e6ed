# SPDX-License-Identifier: MIT
"""The programs of the benchmark of growth: most of them are other benchmarks'. Names are those of the files: pool-cenote."""
import os

from build import OUT, bench, build_library, build_probe, build_user
from siblings import sibling

OTHERS = ["pool", "async", "route"]
ALL = ["pool-" + name for name in ("cenote", "stack", "apr", "crossbeam", "puddle", "hikari", "commons", "growth", "memory", "none",
                                   "broken")]
ALL += ["async-" + name for name in ("cenote", "libuv", "puddle", "kotlin", "pending", "broken")]
ALL += ["route-" + name for name in ("picks", "elixir", "broken")] + ["growth-waiters", "pingpong"]


def build_growth(wanted=None):
    """By name: those that are wanted, or all."""
    os.makedirs(OUT, exist_ok=True)
    wanted, built = wanted or ALL, {}
    for part in OTHERS:
        names = [name[len(part) + 1:] for name in wanted if name.startswith(part + "-")]
        if names:
            build = getattr(sibling(part, "programs"), "build_" + part)
            built.update({"%s-%s" % (part, name): path for name, path in build(names).items()})
    if "growth-waiters" in wanted:
        built["growth-waiters"] = build_user("growth-waiters", bench("growth", "waiters.c"), None, build_library())
    if "pingpong" in wanted:
        built["pingpong"] = build_probe()
    return built
