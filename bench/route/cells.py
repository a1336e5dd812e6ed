# SPDX-License-Identifier: MIT
"""What is measured, by whom and how often; and which of it the environment asks for."""
import measuring
from measuring import LOOK, QUICK, START, TABLE, choose

REPETITIONS = measuring.REPETITIONS or choose(1, 3, 5)
PARTS = ["picks", "mux"]
BUDGET = measuring.budget(25, 300)
PACKAGES = ["liburcu-dev", "libuv1-dev", "elixir", "erlang-base"]


# ---- Picks -------------------------------------------------------------------

SIZES, THREADS = [10, 100, 10_000], [1, 2]
FLOORS = {  # contestants of route-picks, in the order of the tables
    "random": "floor: RCU, the thread's own random number", "turn": "floor: RCU, the thread's own turn",
    "random-counted": "floor: own random number, and a pair of read-modify-writes",
    "turn-counted": "floor: own turn, and a pair of read-modify-writes",
    "two": "floor: RCU, the less used of two by counts of the thread's own, side by side",
    "two-counted": "floor: the same, and a pair of read-modify-writes",
    "hash": "floor: RCU, a plain circle of eight points a member", "hash-counted": "floor: the same, and a pair of read-modify-writes",
    "random-called": "the first floor behind three calls into a shared library",
    "turn-called": "the second behind three calls",
    "random-counted-called": "the third behind two calls", "turn-counted-called": "the fourth behind two calls",
}
DESIGNS = {
    "shared-turn": "RCU, one counter of turns", "shared-two": "RCU, two choices by shared counters, and done",
    "shared-least": "RCU, least by shared counters, and done",
    "mutex-random": "mutex, random", "mutex-turn": "mutex, turns",
}
STRATEGIES = {"random": "random", "turn": "round robin", "shared": "round robin, shared", "strict": "round robin, strict",
              "least": "least in flight", "two": "two choices", "ewma": "peak EWMA", "weighted": "weighted",
              "hash": "consistent hash"}
CALLS = {"peek": "cenote peek", "route": "cenote route + done"}
BY_CALLS = {"%s-%s" % (call, name): "%s, %s" % (words, title) for call, words in CALLS.items()
            for name, title in STRATEGIES.items()}
QUICK_STRATEGIES = ["random", "turn", "two"]
QUICK_CALLS = {"quick-peek": "cenote peek, inline", "quick-route": "cenote route + done, inline"}
OURS = {**{"%s-%s" % (call, name): "%s, %s" % (words, STRATEGIES[name]) for call, words in QUICK_CALLS.items()
           for name in QUICK_STRATEGIES}, **BY_CALLS}
ORIGINAL = {"elixir-random": "Elixir Registry, Enum.random", "elixir-turn": "Elixir Registry, turns by ETS"}
PICKERS = {**FLOORS, **OURS, **DESIGNS, **ORIGINAL}


ROUNDS = choose((3, 0.004), (15, 0.01), (21, 0.01))  # of all in one process: how many, and seconds of each
ELIXIR = choose((0.15, 0.15), (0.7, 0.7), (1, 1))    # seconds of warm-up, and measured


class Picks:
    part = "picks"

    def __init__(self, members, threads):
        self.members, self.threads, self.name = members, threads, "%d/%d" % (members, threads)

    def contestants(self):
        return [name for name in PICKERS if not self.is_left_out(name)]

    def is_left_out(self, name):
        """Of a quick look."""
        if self.members < SIZES[-1]:
            return QUICK and name in ORIGINAL and self.threads == 1
        return QUICK and name in {**BY_CALLS, **DESIGNS, **ORIGINAL}

    def programs(self, contestants):
        return {"elixir" if name in ORIGINAL else "picks" for name in contestants}

    def together(self, programs, names):
        """All that are in C, in one process."""
        return [programs["picks"], self.members, self.threads, *ROUNDS, *names]

    def command(self, programs, contestant):
        kind = contestant[len("elixir-"):]
        return [programs["elixir"], kind, self.members, self.threads, *ELIXIR]

    def estimate(self, contestants):
        """Ten thousand members are longer in coming, and longer checked."""
        beside = [name for name in contestants if name in ORIGINAL]
        rounds, seconds = ROUNDS
        start = 0.02 if self.members < SIZES[-1] else 0.1
        return REPETITIONS * ((len(contestants) - len(beside)) * (start + rounds * seconds) + len(beside) * (0.8 + sum(ELIXIR)) +
                              2 * LOOK * (not QUICK))


# ---- Multiplexed connections ---------------------------------------------------

CLIENTS = {"epoll": "epoll by hand", "bare": "blocking send and recv", "cenote": "cenote"}
PROGRAMS = {"epoll": "epoll", "bare": "epoll", "cenote": "mux"}


MUX_SECONDS = choose(0.2, 1, 2)


class Mux:
    part = "mux"

    def __init__(self, name, title, server, connections=0, in_flight=0):
        self.name, self.title, self.server, self.connections, self.in_flight = name, title, server, connections, in_flight

    def contestants(self):
        return ["epoll" if self.connections else "bare", "cenote"]

    def command(self, programs, contestant):
        shape = [self.connections, self.in_flight] if self.connections else []
        return [programs[PROGRAMS[contestant]], "many" if shape else "one", programs[self.server], *shape, MUX_SECONDS]

    def estimate(self, contestants):
        return measuring.estimate(REPETITIONS, MUX_SECONDS, [START for _ in contestants])

    def programs(self, contestants):
        return {self.server, *(PROGRAMS[name] for name in contestants)}


OWN = [  # beside them no claim is made
    Mux("mux64-own", "8 connections, 64 in flight over all, cenote's server", "own-server", 8, 64),
    Mux("one-own", "One caller, who waits for each reply, cenote's server", "own-server"),
]
CELLS = [*(Picks(members, threads) for members in SIZES for threads in THREADS),
         Mux("mux64", "8 connections, 64 in flight over all", "server", 8, 64),
         Mux("mux512", "8 connections, 64 in flight on each", "server", 8, 512),
         Mux("one", "One caller, who waits for each reply", "server"), *([] if TABLE else OWN)]
FULL_NAMES = {**PICKERS, **CLIENTS}


class Selection:
    """BENCH_ONLY (parts), BENCH_CELLS, BENCH_CONTESTANTS."""

    def __init__(self):
        only, names, contestants = measuring.asked_for(PARTS, [cell.name for cell in CELLS], FULL_NAMES)
        self.is_all = not (only or names or contestants)
        self.contestants = contestants or list(FULL_NAMES)
        self.cells = [cell for cell in CELLS if (not only or cell.part in only) and (not names or cell.name in names)]

    def of(self, cell):
        return [name for name in cell.contestants() if name in self.contestants]

    def programs(self):
        """Their names, for programs.build_route."""
        wanted = {"broken", "epoll", "server", "pingpong"}
        for cell in self.cells:
            wanted |= cell.programs(self.of(cell))
        return sorted(wanted)

    def estimate(self):
        """Seconds on a quiet machine, building excepted: with the planted bugs and the probes."""
        return 4 + 0.7 * REPETITIONS + sum(cell.estimate(self.of(cell)) for cell in self.cells)
