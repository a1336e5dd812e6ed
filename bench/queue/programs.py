# SPDX-License-Identifier: MIT
"""The programs of the queue's benchmark."""
import os

from build import OUT, bench, build_c, build_crate, build_go, build_library, build_probe, build_user, package_flags


def build_queue():
    """Every program of the queue benchmark, by name."""
    os.makedirs(OUT, exist_ok=True)
    library = build_library()

    def peer(name, source, *libraries):
        return build_c("queue-" + name, bench("peers", name, source), "transfer", libraries)

    return {
        "cenote": build_user("queue-cenote", bench("queue", "cenote.c"), "transfer", library),
        "idle": build_user("queue-idle", bench("queue", "idle.c"), None, library),
        "floor": build_c("queue-floor", bench("queue", "floor.c"), "transfer"),
        "crossbeam": build_crate("crossbeam", "queue"),
        "moodycamel": peer("moodycamel", "queue.cc"),
        "tbb": peer("tbb", "queue.cc", "-ltbb"),
        "go": build_go("queue-go", bench("peers", "go", "queue.go")),
        "glib": peer("glib", "queue.c", *package_flags("glib-2.0")),
        "ring": peer("ring", "queue.c"),
        "pingpong": build_probe(),
        "broken": build_c("queue-broken", bench("queue", "broken.c"), "transfer"),
    }
