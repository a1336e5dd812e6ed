# SPDX-License-Identifier: MIT
"""What is measured, by whom and how often; and which of it the environment asks for."""
import measuring
from measuring import QUICK, START, choose

REPETITIONS = measuring.REPETITIONS or choose(1, 4, 5)
BUDGET = measuring.budget(30, 360)
SECONDS = choose(0.1, 0.7, 1)
WARM = choose(0.2, 1.5, 1.5)  # of the Java machine, in each process
PARTS = ["cells", "pending", "micro", "growth", "memory"]
PENDING = 10_000 if QUICK else 100_000

FULL_NAMES = {  # in the order of the tables
    "cenote": "cenote", "blocking": "cenote, blocking driver", "partitioned": "partitioned, one cenote pool per loop",
    "actor": "one actor on a thread", "actors": "an actor per loop, on the runtime", "libuv": "libuv + mutex",
    "puddle": "Go puddle", "kotlin": "Kotlin actor",
}
PROGRAMS = {"blocking": "cenote", "partitioned": "cenote"}  # of the others it has the contestant's name
PACKAGES = ["libuv1-dev", "golang-github-jackc-puddle-dev", "golang-go", "kotlin", "libkotlinx-coroutines-java",
            "libkotlinx-atomicfu-java", "default-jdk-headless"]

MS = 1_000_000


class Cell:
    def __init__(self, name, title, clients, size, hold_ns, *words):
        self.name, self.title, self.clients, self.size, self.hold_ns, self.words = name, title, clients, size, hold_ns, words
        self.is_slow = name in ("open", "test")  # the driver has something to do

    def contestants(self):
        return [name for name in FULL_NAMES if name != "blocking" or self.is_slow]

    def command(self, programs, contestant):
        words = [programs[program_of(contestant)], self.clients, self.size, self.hold_ns, SECONDS, *self.words]
        return words + own_words(contestant)

    def estimate(self, contestants):
        return measuring.estimate(REPETITIONS, SECONDS, [0.8 + WARM if name == "kotlin" else 2 * START for name in contestants])


CELLS = [
    Cell("calm/0", "No contention, given back at once", 16, 32, 0),
    Cell("calm/1ms", "No contention, held for 1 ms", 16, 32, MS),
    Cell("crowd/0", "Contention, given back at once", 1000, 8, 0),
    Cell("crowd/1ms", "Contention, held for 1 ms", 1000, 8, MS),
    Cell("open", "Slow open: 10 ms, and every object is discarded after 100 uses", 64, 16, MS, "open=%d" % (10 * MS), "uses=100"),
    Cell("test", "Slow test: 10 ms for each idle object, every 50 ms; 1 ms between uses", 32, 24, MS, "think=%d" % MS,
         "test=%d" % (10 * MS), "every=%d" % (50 * MS)),
    Cell("stuck", "One stuck holder", 64, 8, MS, "stuck"),
]


def program_of(contestant):
    return PROGRAMS.get(contestant, contestant)


def own_words(contestant):
    if contestant in PROGRAMS:
        return [contestant]
    return ["warm=%g" % WARM] if contestant == "kotlin" else []


def pending_command(programs, contestant):
    return [programs[program_of(contestant)], "pending", PENDING, *([contestant] if contestant in PROGRAMS else [])]


class Selection:
    """BENCH_ONLY (parts), BENCH_CELLS, BENCH_CONTESTANTS."""

    def __init__(self):
        only, names, contestants = measuring.asked_for(PARTS, [cell.name for cell in CELLS], FULL_NAMES)
        self.is_all = not (only or names or contestants)
        self.parts = only or (["cells"] if names else PARTS)
        self.contestants = contestants or list(FULL_NAMES)
        self.cells = [cell for cell in CELLS if "cells" in self.parts and (not names or cell.name in names)]

    def has(self, part):
        """Parts other than cells and pending measure cenote alone."""
        return part in self.parts and (part == "pending" or "cenote" in self.contestants)

    def of(self, cell):
        return [name for name in cell.contestants() if name in self.contestants]

    def waiting(self):
        """Contestants whose pending takes are measured: a blocking driver makes no difference to them."""
        return [name for name in self.contestants if name != "blocking"] if self.has("pending") else []

    def programs(self):
        """Their names, for programs.build_async."""
        wanted = {"broken", "pingpong"} | {program_of(name) for cell in self.cells for name in self.of(cell)}
        wanted |= {program_of(name) for name in self.waiting()}
        wanted |= {program for part, program in (("micro", "micro"), ("growth", "pending"), ("memory", "pending"))
                   if self.has(part)}
        return sorted(wanted)

    def estimate(self):
        """Seconds on a quiet machine, building excepted: with the planted bugs and the probes."""
        whole = choose(3, 4, 4) + 0.7 * REPETITIONS + sum(cell.estimate(self.of(cell)) for cell in self.cells)
        whole += min(REPETITIONS, 3) * (len(self.waiting()) * choose(0.4, 1, 1) + self.has("growth") * choose(1, 4, 4))
        return whole + self.has("micro") * REPETITIONS * choose(1, 4, 4) + self.has("memory") * 1
