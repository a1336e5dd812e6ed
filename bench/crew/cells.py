# SPDX-License-Identifier: MIT
"""What is measured, by whom and how often; and which of it the environment asks for."""
import measuring
from measuring import QUICK, START, TABLE, choose

REPETITIONS = measuring.REPETITIONS or (1 if QUICK else 5)
PARTS = ["cells", "motives"]
LEFT_OUT = ["motives"] if TABLE else []  # no claim speaks of them
BUDGET = measuring.budget(20, 360)

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


JAVA = ["forkjoin", "executor"]
WARM = choose(0.2, 1.2, 1.5)  # of Java's, in each process
THREE = 3 if TABLE else None


class Cell:
    def __init__(self, name, title, seconds, unit="ns", repetitions=None):
        self.name, self.title, self.seconds, self.unit = name, title, seconds, unit
        self.repetitions = min(repetitions or REPETITIONS, REPETITIONS)

    def is_empty(self):
        return self.name in ("submit1", "submit2")

    def contestants(self):
        left_out = [] if self.is_empty() else ["bulk"]
        if self.name == "inside":
            left_out = [name for name in FULL_NAMES if name not in HELPERS]
        elif self.name == "submit2":
            left_out = ["libuv"]  # its submits belong to one thread
        elif self.name in ("chain", "pairs", "spawn", "yield"):
            left_out = ["bulk", *OUTSIDE_ONLY]
        if QUICK and self.name not in ("submit1", "result"):
            left_out = left_out + JAVA
        return [name for name in FULL_NAMES if name not in left_out]

    def command(self, programs, contestant):
        words = [programs[program_of(contestant)], *([contestant] if contestant in PROGRAMS else []), self.name, self.seconds]
        return words + ["warm=%g" % WARM] * (contestant in JAVA)

    def estimate(self, contestants):
        return measuring.estimate(self.repetitions, self.seconds, [0.5 + WARM if name in JAVA else START for name in contestants])


# In the whole table what claims speak of most has five repetitions, everything else three.
CELLS = [
    Cell("submit1", "Empty tasks from one producer outside", choose(0.05, 0.3, 0.5)),
    Cell("submit2", "Empty tasks from two producers outside", choose(0.05, 0.3, 0.5)),
    Cell("chain", "A task submits the next", choose(0.02, 0.2, 0.3), "ns", THREE),
    Cell("pairs", "Pairs of tasks that alternate", choose(0.02, 0.2, 0.3), "ns", THREE),
    Cell("spawn", "A task submits many", choose(0.02, 0.2, 0.3), "ns", THREE),
    Cell("yield", "Many tasks that yield", choose(0.02, 0.2, 0.3), "ns", THREE),
    Cell("result", "Submit to result from outside, back to back", choose(0.05, 0.3, 0.5), "us", THREE),
    Cell("idle10", "Submit to result from outside, after 10 ms of idleness", choose(0.15, 1, 2), "us", THREE),
    Cell("inside", "Submit to result from inside a task", choose(0.02, 0.2, 0.3), "ns", THREE),
    Cell("idle", "CPU of the process while nothing is submitted", choose(0.2, 2, 5), "ms", THREE or 2),
]


def program_of(contestant):
    return PROGRAMS.get(contestant, contestant)


class Selection:
    """BENCH_ONLY (parts), BENCH_CELLS, BENCH_CONTESTANTS."""

    def __init__(self):
        only, names, contestants = measuring.asked_for(PARTS, [cell.name for cell in CELLS], FULL_NAMES)
        self.is_all = not (only or names or contestants)
        self.parts = only or (["cells"] if names else [part for part in PARTS if part not in LEFT_OUT])
        self.contestants = contestants or list(FULL_NAMES)
        self.cells = [cell for cell in CELLS if "cells" in self.parts and (not names or cell.name in names)]

    def has(self, part):
        """The motives speak of cenote alone."""
        return part in self.parts and "cenote" in self.contestants

    def of(self, cell):
        return [name for name in cell.contestants() if name in self.contestants]

    def programs(self):
        """Their names, for programs.build_crew."""
        wanted = {"broken", "pingpong", "wake"} | {program_of(name) for cell in self.cells for name in self.of(cell)}
        return sorted(wanted | ({"motives"} if self.has("motives") else set()))

    def estimate(self):
        """Seconds on a quiet machine, building excepted: with the planted bugs, the yardsticks and the motives."""
        whole = choose(4, 5, 5) + REPETITIONS * choose(0.9, 4.5, 4.5) + sum(cell.estimate(self.of(cell)) for cell in self.cells)
        return whole + self.has("motives") * choose(2, 54, 54)
