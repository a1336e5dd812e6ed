# SPDX-License-Identifier: MIT
"""What is measured, by whom and how often; and which of it the environment asks for."""
import measuring
from measuring import QUICK

REPETITIONS = measuring.REPETITIONS or (1 if QUICK else 5)
PARTS = ["cells", "motives"]

FULL_NAMES = {  # in the order of the tables
    "cenote": "cenote", "bulk": "cenote, 64 at a time", "plain": "mutex + condvar queue",
    "intrusive": "mutex + condvar queue, no allocation", "glib": "GLib GThreadPool",
    "libuv": "libuv uv_queue_work", "tbb": "oneTBB", "rayon": "rayon", "tokio": "tokio", "forkjoin": "Java ForkJoinPool",
    "executor": "Java ThreadPoolExecutor", "channels": "Go channel workers", "goroutines": "goroutines",
}
PROGRAMS = {"forkjoin": "java", "executor": "java", "channels": "go", "goroutines": "go"}  # others have the contestant's name
PACKAGES = ["libglib2.0-dev", "libuv1-dev", "libtbb-dev", "librust-rayon-dev", "librust-tokio-dev", "rustc",
            "default-jdk-headless", "golang-go"]
# Of the two plain queues the first is a peer of which the crew is to be several times as fast, since that is what
# programs have; the second is among all those that it is not to be slower than.
NATIVE = ["plain", "glib", "libuv", "tbb", "rayon", "tokio"]  # the C, C++ and Rust ones
PEERS = [*NATIVE, "intrusive", "forkjoin", "executor", "channels", "goroutines"]

OUTSIDE_ONLY = ["libuv", "channels"]  # where a task cannot submit another
HELPERS = ["cenote", "tbb", "rayon", "tokio", "forkjoin", "goroutines"]  # where one that waits does not cost a worker


class Cell:
    def __init__(self, name, title, seconds, unit="ns", repetitions=None):
        self.name, self.title, self.seconds, self.unit = name, title, seconds, unit
        self.repetitions = min(repetitions or REPETITIONS, REPETITIONS)

    def is_empty(self):
        return self.name in ("submit1", "submit2")

    def contestants(self):
        if self.name == "inside":
            return HELPERS
        if self.name == "submit2":
            return [name for name in FULL_NAMES if name != "libuv"]  # its submits belong to one thread
        left_out = [] if self.is_empty() else ["bulk"]
        if self.name in ("chain", "pairs", "spawn", "yield"):
            left_out = ["bulk", *OUTSIDE_ONLY]
        return [name for name in FULL_NAMES if name not in left_out]

    def command(self, programs, contestant):
        words = [programs[program_of(contestant)], *([contestant] if contestant in PROGRAMS else []), self.name, self.seconds]
        warm = 0.3 if QUICK else 1.5
        return words + ["warm=%g" % warm] * (program_of(contestant) == "java")


def seconds(quick, whole):
    return quick if QUICK else whole


CELLS = [
    Cell("submit1", "Empty tasks from one producer outside", seconds(0.1, 0.5)),
    Cell("submit2", "Empty tasks from two producers outside", seconds(0.1, 0.5)),
    Cell("chain", "A task submits the next", seconds(0.05, 0.3)),
    Cell("pairs", "Pairs of tasks that alternate", seconds(0.05, 0.3)),
    Cell("spawn", "A task submits many", seconds(0.05, 0.3)),
    Cell("yield", "Many tasks that yield", seconds(0.05, 0.3)),
    Cell("result", "Submit to result from outside, back to back", seconds(0.1, 0.5), "us"),
    Cell("idle10", "Submit to result from outside, after 10 ms of idleness", seconds(0.3, 2), "us"),
    Cell("inside", "Submit to result from inside a task", seconds(0.05, 0.3)),
    Cell("idle", "CPU of the process while nothing is submitted for 5 s", seconds(1, 5), "ms", 2),
]


def program_of(contestant):
    return PROGRAMS.get(contestant, contestant)


class Selection:
    """BENCH_ONLY (parts), BENCH_CELLS, BENCH_CONTESTANTS."""

    def __init__(self):
        only, names, contestants = measuring.asked_for(PARTS, [cell.name for cell in CELLS], FULL_NAMES)
        self.is_all = not (only or names or contestants)
        self.parts = only or (["cells"] if names else PARTS)
        self.contestants = contestants or list(FULL_NAMES)
        self.cells = [cell for cell in CELLS if "cells" in self.parts and (not names or cell.name in names)]

    def has(self, part):
        """The motives speak of cenote alone."""
        return part in self.parts and "cenote" in self.contestants

    def of(self, cell):
        return [name for name in cell.contestants() if name in self.contestants]

    def programs(self):
        """Their names, for build.build_crew."""
        wanted = {"broken", "pingpong", "wake"} | {program_of(name) for cell in self.cells for name in self.of(cell)}
        return sorted(wanted | ({"motives"} if self.has("motives") else set()))
