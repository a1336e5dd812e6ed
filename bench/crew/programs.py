# SPDX-License-Identifier: MIT
"""The programs of the crew's benchmark."""
import os

from build import OUT, bench, build_c, build_crate, build_go, build_java, build_library, build_probe, build_user, fresh, out, package_flags


def crew_peer(name, source="crew.c", *libraries):
    return build_c("crew-" + name, bench("peers", name, source), "tasks", libraries)


def crew_variant(name, source, base):
    """A source that includes another one."""
    if not fresh(out(name), [source, base]) and os.path.exists(out(name)):
        os.remove(out(name))
    return build_c(name, source, "tasks")


def build_crew(wanted=None):
    """The programs of the crew benchmark by name: those that are wanted, or all."""
    os.makedirs(OUT, exist_ok=True)
    library = build_library() if not wanted or {"cenote", "bulk", "motives"} & set(wanted) else None
    rules, plain = bench("rules", "tasks.rs"), bench("peers", "plain", "crew.c")
    ways = {
        "cenote": lambda: build_user("crew-cenote", bench("crew", "cenote.c"), "tasks", library),
        "bulk": lambda: build_user("crew-bulk", bench("crew", "bulk.c"), "tasks", library),
        "motives": lambda: build_user("crew-motives", bench("crew", "motives.c"), None, library),
        "plain": lambda: crew_peer("plain"),
        "intrusive": lambda: crew_variant("crew-intrusive", bench("peers", "plain", "intrusive.c"), plain),
        "glib": lambda: crew_peer("glib", "crew.c", *package_flags("glib-2.0")),
        "libuv": lambda: crew_peer("libuv", "crew.c", *package_flags("libuv")),
        "tbb": lambda: crew_peer("tbb", "crew.cc", "-ltbb"),
        "rayon": lambda: build_crate("rayon", "crew", rules),
        "tokio": lambda: build_crate("tokio", "crew", rules),
        "java": lambda: build_java("crew-java", "Tasks", bench("rules", "Tasks.java"), bench("peers", "java", "Crew.java")),
        "go": lambda: build_go("crew-go", bench("rules", "tasks.go"), bench("peers", "go", "crew.go")),
        "wake": lambda: build_c("crew-wake", bench("crew", "wake.c")),
        "broken": lambda: crew_variant("crew-broken", bench("crew", "broken.c"), plain),
        "pingpong": build_probe,
    }
    return {name: ways[name]() for name in wanted or ways}
