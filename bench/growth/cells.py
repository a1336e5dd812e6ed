# SPDX-License-Identifier: MIT
"""What is measured, by whom, how often and for how long; and which of it the environment asks for."""
import measuring
from measuring import QUICK
from siblings import sibling

PARTS = ["size", "threads", "waiters", "members", "memory"]
NUMBERS = [10, 100, 1000, 10_000, 100_000]  # of objects, of waiters, of members
FEW, FEW_MEMBERS = [10, 1000, 100_000], [10, 1000, 10_000]  # in a quick look
SIZE_THREADS = [2] if QUICK else [1, 2]
THREADS = [1, 8, 256] if QUICK else [1, 2, 8, 64, 256, 1024]
WORKS = [0] if QUICK else [0, 1000]
CROWD = 64                                  # with more threads a run is longer, or most would have no turn

POOL_NAMES = sibling("pool", "cells").FULL_NAMES
ASYNC_NAMES = sibling("async", "cells").FULL_NAMES
ROUTE = sibling("route", "cells")
PACKAGES = sorted({package for part in ("pool", "async", "route") for package in sibling(part, "cells").PACKAGES})

# Who takes part unless BENCH_CONTESTANTS says otherwise: of each kind one, so that the time suffices.
LENDING = ["cenote", "stack", "apr", "crossbeam", "puddle", "hikari", "commons"]
WAITING = ["cenote", "libuv", "puddle", "kotlin"]
OUTSIDE_POOL = ["syncpool", "fifo", "none", "strict"]  # what has no bound, and yardsticks
JAVA = ["hikari", "datasource", "commons", "kotlin"]
PICKING = ["%s-%s" % (call, name) for call in ("peek", "route") for name in ("random", "turn", "two", "hash")]
PICKING = ["random", "turn", "random-counted", "turn-counted", "two", "two-counted", "hash", "hash-counted", *("quick-" + name for name in PICKING if not name.endswith("hash")),
           *PICKING, "mutex-random", "mutex-turn", "elixir-random", "elixir-turn"]

WARM = 0.2 if QUICK else 0.6                # of Java's, in each process
LIMITS = {  # (part, contestant) -> the largest number, and why
    ("size", "hikari"): (10_000, "its list is copied for each object that is added"),
    ("size", "r2d2"): (10_000, "it takes minutes to fill"),
    ("size", "datasource"): (1000, "its list is copied for each object that is added"),
}
MANY = 100_000  # members


def numbers():
    return FEW if QUICK else NUMBERS


def seconds(quick, whole):
    return quick if QUICK else whole


class Cell:
    """One number of one line of a chart. A line is `part` and `kind`."""

    def __init__(self, part, kind, number):
        self.part, self.kind, self.number = part, kind, number
        self.line = "%s/%s" % (part, kind)
        self.name = "%s/%d" % (self.line, number)

    def impossible(self, contestant):
        """Why that contestant is not measured here, or None."""
        limit, why = LIMITS.get((self.part, contestant), (self.number, None))
        return why if self.number > limit else None

    def repetitions(self, contestant):
        if measuring.REPETITIONS or QUICK:
            return measuring.REPETITIONS or 1
        return 1 if contestant == "kotlin" else 2 if contestant in JAVA else 3


class Lend(Cell):
    """By the rules of rules/lend.h."""

    def __init__(self, part, kind, number, threads, size, work_ns, length):
        super().__init__(part, kind, number)
        self.words = [threads, size, work_ns, length]

    def contestants(self):
        return [name for name in dict.fromkeys([*LENDING, *POOL_NAMES]) if name not in OUTSIDE_POOL]

    def defaults(self):
        """A machine of Java's takes a second or two to start and to warm up: a quick look has it once for each line, and one
        thread beside two is left to the others."""
        without = self.number not in (8, 1000) if QUICK else self.kind == "T1"
        return [name for name in LENDING if not (without and name in JAVA)]

    def repetitions(self, contestant):
        if contestant in JAVA and (self.kind == "1000" or contestant != "hikari"):
            return 1
        return super().repetitions(contestant)

    def program(self, contestant):
        return "pool-" + contestant

    def command(self, programs, contestant):
        return [programs[self.program(contestant)], *self.words, *["warm=%g" % WARM] * (contestant in JAVA)]


class Wait(Cell):
    """By the rules of rules/serve.h: two objects, given back at once, and all others wait. With the most clients a time round may
    take more than half a second, and everybody is to be served more than once."""

    def __init__(self, number):
        super().__init__("waiters", "asks", number)

    def contestants(self):
        return [name for name in ASYNC_NAMES if name not in ("blocking", "partitioned")]

    def defaults(self):
        return [name for name in WAITING if not (QUICK and name in JAVA and self.number != 1000)]

    def program(self, contestant):
        return "async-" + contestant

    def command(self, programs, contestant):
        return [programs[self.program(contestant)], self.number, 2, 0, seconds(0.2, 2.4 if self.number > 10_000 else 0.3),
                *["warm=%g" % WARM] * (contestant in JAVA)]


class Pick(Cell):
    """By the rules of rules/picks.h; all that are in C run in one process."""

    def __init__(self, number):
        super().__init__("members", "picks", number)

    def contestants(self):
        return PICKING

    def defaults(self):
        """The original looks up all members for each pick: a quick look has it with few, and the most have one kind of it."""
        left_out = {"elixir-turn"} if QUICK or self.number >= MANY else set()
        if QUICK and self.number > 1000:
            left_out |= {"elixir-random", "peek-hash", "route-hash", "hash", "hash-counted"}
        return [name for name in PICKING if name not in left_out]

    def repetitions(self, contestant):
        if measuring.REPETITIONS or QUICK:
            return measuring.REPETITIONS or 1
        return 1 if contestant.startswith("elixir") else 3

    def program(self, contestant):
        return "route-elixir" if contestant.startswith("elixir") else "route-picks"

    def together(self, programs, names):
        return [programs["route-picks"], self.number, 2, *seconds((3, 0.003), (11, 0.005)), *names]

    def command(self, programs, contestant):
        length = seconds(0.1, 0.5)
        return [programs["route-elixir"], contestant[len("elixir-"):], self.number, 2, length, length]


# What cenote alone can show: part, kind, program, its words in a quick look and otherwise, numbers, prefix of what it answers,
# and what it is.
ALONE = [
    ("size", "find", "pool-growth", ["find", 3], ["find", 21], [10, 1000, 100_000], "ns_",
     "a pair whose take must look for the only idle object"),
    ("waiters", "serve", "growth-waiters", [3], [21], NUMBERS, "serve_", "a give that serves one of so many, and the poll"),
    ("waiters", "cancel", "growth-waiters", [3], [21], NUMBERS, "cancel_", "a cancel in the middle of so many"),
    ("waiters", "give", "pool-growth", ["hand", 50, "overtake"], ["hand", 200, "overtake"], [10, 100, 1000], "all_",
     "CPU of a give while so many threads wait"),
    ("waiters", "give-strict", "pool-growth", ["hand", 50, "strict"], ["hand", 200, "strict"], [10, 100, 1000], "all_",
     "the same in strict order"),
    ("waiters", "leave", "pool-growth", ["leave", 100], ["leave", 200], [10, 100, 1000], "all_",
     "CPU of a take that times out in the middle of so many threads"),
]
PENDING = [10_000] if QUICK else [10_000, 100_000]  # takes that wait, and what they weigh
HEAVY = [10, 100_000] if QUICK else [10, 1000, 100_000]  # objects of a pool that is weighed; the first is taken off


def all_cells():
    cells = [Lend("size", "T%d" % threads, size, threads, size, 0, seconds(0.03, 0.15)) for threads in SIZE_THREADS
             for size in numbers()]
    cells += [Lend("threads", str(work), threads, threads, 10, work, seconds(0.05, 0.3 if threads > CROWD else 0.15))
              for work in WORKS for threads in THREADS]
    return cells + [Wait(number) for number in numbers()] + [Pick(number) for number in (FEW_MEMBERS if QUICK else NUMBERS)]


class Selection:
    """BENCH_ONLY (parts), BENCH_CELLS (cells or lines), BENCH_CONTESTANTS."""

    def __init__(self):
        cells = all_cells()
        known = [cell.name for cell in cells] + sorted({cell.line for cell in cells})
        contestants = {name for cell in cells for name in cell.contestants()}
        only, names, self.contestants = measuring.asked_for(PARTS, known, sorted(contestants))
        self.is_all = not (only or names or self.contestants)
        self.parts = only or (sorted({name.split("/")[0] for name in names}) if names else PARTS)
        self.with_alone = not names and (not self.contestants or "cenote" in self.contestants)
        self.cells = [cell for cell in cells if cell.part in self.parts and (not names or cell.name in names or cell.line in names)]

    def of(self, cell):
        """Those that were asked for and can be in it."""
        if self.contestants:
            return [name for name in cell.contestants() if name in self.contestants]
        return cell.defaults()

    def able(self, cell):
        return [name for name in self.of(cell) if cell.impossible(name) is None]

    def alone(self):
        return [row for row in ALONE if row[0] in self.parts and self.with_alone and not (QUICK and row[1] == "give-strict")]

    def weighed(self):
        """Contestants whose pools and whose waiters are weighed: of the pools, and of the asynchronous ones."""
        if "memory" not in self.parts:
            return [], []
        wanted = self.contestants
        pools = [name for name in dict.fromkeys([*LENDING, *POOL_NAMES])
                 if (name in wanted if wanted else name in LENDING and not (QUICK and name in JAVA))]
        waiters = [name for name in ASYNC_NAMES if (name in wanted if wanted else name in WAITING and not (QUICK and name in JAVA))]
        return ([name for name in pools if name not in OUTSIDE_POOL],
                [name for name in waiters if name not in ("blocking", "partitioned")])

    def programs(self):
        """Their names, for programs.build_growth."""
        pools, waiters = self.weighed()
        wanted = {"pool-broken", "pool-none", "async-broken", "route-broken", "pingpong", "growth-waiters"}
        wanted |= {cell.program(name) for cell in self.cells for name in self.able(cell)}
        wanted |= {row[2] for row in self.alone()}
        wanted |= {"pool-" + name for name in pools} | {"async-" + name for name in waiters}
        if "memory" in self.parts and self.with_alone:
            wanted |= {"pool-memory", "async-pending"}
        return sorted(wanted)
