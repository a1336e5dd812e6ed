# SPDX-License-Identifier: MIT
"""What is measured, by whom, how often and for how long; and which of it the environment asks for."""
import measuring
from measuring import LOOK, QUICK, REPETITIONS, TABLE

PARTS = ["floor", "throughput", "fairness", "holds", "deadlines", "growth", "memory"]
LEFT_OUT = ["deadlines", "growth", "memory"] if TABLE else []  # the whole table has them elsewhere, for all contestants
BUDGET = measuring.budget(70, 1140)

# In the order of the tables. "strict" is cenote with overtaking off.
FULL_NAMES = {
    "cenote": "cenote", "strict": "cenote, strict order", "stack": "mutex + condvar stack", "apr": "apr_reslist",
    "moodycamel": "moodycamel queue", "tbb": "oneTBB bounded queue", "crossbeam": "array + crossbeam channel", "r2d2": "r2d2",
    "channel": "Go buffered channel", "puddle": "Go puddle", "hikari": "HikariCP ConcurrentBag",
    "datasource": "HikariCP DataSource", "commons": "commons-pool2", "ruby": "Ruby connection_pool", "poolboy": "Erlang poolboy",
    "sqlalchemy": "SQLAlchemy QueuePool", "psycopg": "psycopg-pool", "syncpool": "Go sync.Pool, unbounded",
    "fifo": "ideal first come, first served", "none": "no pool at all",
}
NO_PEERS = ["cenote", "strict", "syncpool", "fifo", "none"]  # ourselves, what has no bound, and yardsticks
PEERS = [name for name in FULL_NAMES if name not in NO_PEERS]
JAVA = ["hikari", "datasource", "commons"]
SLOW = ["ruby", "poolboy", "sqlalchemy", "psycopg"]  # a microsecond and more for a pair, and a while to start
QUICKEST = ["cenote", "stack", "apr", "moodycamel", "tbb", "crossbeam", "hikari"]  # those that 200 ns of work can tell apart
PACKAGES = ["libaprutil1-dev", "libconcurrentqueue-dev", "libtbb-dev", "librust-crossbeam-channel-dev", "librust-r2d2-dev", "rustc",
            "golang-go", "golang-github-jackc-puddle-dev", "libhikaricp-java", "libcommons-pool2-java", "default-jdk-headless",
            "ruby-connection-pool", "ruby", "erlang-poolboy", "erlang-base", "python3-sqlalchemy",
            "python3-sqlalchemy-ext", "python3-psycopg-pool",
            "python3"]

SHAPES = [(1, 1), (1, 10), (2, 10), (2, 1), (8, 10), (8, 2), (64, 10), (64, 64)]
WORKS = [0, 200, 1000]
QUICK_SHAPES = [(1, 1), (2, 10), (8, 2), (64, 10)]  # with everybody even in a quick look
TWO_VALUED = ["T2S10/0", "T2S1/0", "T2S1/200", "T2S1/1000"]  # two threads on a shared line: now quick, now slow
FAIR_SHAPES = [(8, 2), (64, 10)]
HOLD_SHAPES = [(16, 4)] if QUICK else [(16, 4), (64, 10)]
HOLDS = [("10us-spinning", 10_000, False), ("100us-spinning", 100_000, False), ("100us-asleep", 100_000, True),
         ("1ms-asleep", 1_000_000, True)]

# Seconds of a run: a quick look, the whole table, this benchmark alone.
SECONDS = {"throughput": (0.04, 0.2, 0.3), "crowded": (0.08, 0.35, 0.5), "fairness": (0.3, 2, 5), "holds": (0.1, 0.5, 1)}
WARM = 0.5 if QUICK else 2  # of Java's contestants, in each process, before its first cell
REWARM = 0.3                # and before each of the others
STARTS = {"ruby": 0.25, "poolboy": 0.6, "sqlalchemy": 0.5, "psycopg": 0.4, **{name: REWARM + 0.05 for name in JAVA}}
START = 0.03  # of all others: until it runs, and afterwards the check
SELF_TEST = 10  # planted bugs, in every language


def seconds_of(key):
    return SECONDS[key][0 if QUICK else 1 if TABLE else 2]


class Cell:
    def __init__(self, part, shape, work_ns, kind=None, asleep=False):
        self.part, self.shape, self.work_ns, self.asleep = part, shape, work_ns, asleep
        self.seconds = seconds_of("crowded" if part == "throughput" and shape[0] == 64 else part)
        self.kind = str(work_ns) if kind is None else kind
        self.waits = part != "throughput"

    def kin(self):
        """Cells alike in this may be measured in one process of Java's: a single thread, and takes that are timed, are compiled
        otherwise than the rest."""
        return self.waits, self.shape[0] == 1

    def shape_name(self):
        return "T%dS%d" % self.shape

    def name(self):
        return "%s/%s" % (self.shape_name(), self.kind)

    def contestants(self):
        if self.part == "throughput" and self.work_ns == 200:
            return QUICKEST
        left_out = {"throughput": ["strict", "fifo", "none"], "fairness": [], "holds": ["none"]}[self.part]
        if QUICK and not (self.part == "throughput" and self.work_ns == 0 and self.shape in QUICK_SHAPES):
            left_out = left_out + JAVA + SLOW
        if self.part == "holds" and not self.asleep:
            left_out = left_out + SLOW  # they spin by the clock, which goes on while another has the processor
        elif self.asleep and self.work_ns % 1_000_000:
            left_out = left_out + ["poolboy"]  # Erlang sleeps for whole milliseconds
        return [name for name in FULL_NAMES if name not in left_out]

    def repetitions(self, contestant):
        """How often a contestant runs: those that a target speaks of most often. A slow one takes long to start, and is
        farther from the others than its runs are from each other."""
        if REPETITIONS or QUICK:
            return REPETITIONS or 1
        if self.part == "fairness" and contestant in ("cenote", "fifo"):
            return 5
        if TABLE:
            return self.repetitions_in_table(contestant)
        if self.part == "fairness" or contestant in SLOW:
            return 2
        return 10 if self.name() in TWO_VALUED and contestant in QUICKEST else 5

    def repetitions_in_table(self, contestant):
        if contestant in SLOW:
            return 2 if self.part == "throughput" else 1
        return {"fairness": 2, "holds": 3, "throughput": 5}[self.part]

    def command(self, programs, contestant):
        threads, size = self.shape
        words = [programs["cenote" if contestant == "strict" else contestant], threads,
                 threads if contestant == "none" else size, self.work_ns, self.seconds]
        return words + ["waits"] * self.waits + ["asleep"] * self.asleep + ["strict"] * (contestant == "strict")

    def estimate(self, contestants):
        """Seconds on a quiet machine, of all repetitions."""
        if not contestants:
            return 0
        runs = [self.repetitions(name) * (self.seconds + STARTS.get(name, START)) for name in contestants]
        return sum(runs) + (0 if QUICK else LOOK * max(self.repetitions(name) for name in contestants))


def all_cells():
    cells = [Cell("throughput", shape, work) for work in WORKS for shape in (QUICK_SHAPES if QUICK and work else SHAPES)]
    cells += [Cell("fairness", shape, 0, "fair") for shape in FAIR_SHAPES]
    return cells + [Cell("holds", shape, work, kind, asleep) for kind, work, asleep in HOLDS for shape in HOLD_SHAPES]


class Selection:
    """BENCH_ONLY (parts), BENCH_CELLS (cells or shapes), BENCH_CONTESTANTS."""

    def __init__(self):
        known = sorted({cell.name() for cell in all_cells()} | {cell.shape_name() for cell in all_cells()})
        only, names, contestants = measuring.asked_for(PARTS, known, FULL_NAMES)
        self.is_all = not (only or names or contestants)
        self.parts = only or (["throughput", "fairness", "holds"] if names else [part for part in PARTS if part not in LEFT_OUT])
        self.contestants = contestants or list(FULL_NAMES)
        self.cells = [cell for cell in all_cells() if cell.part in self.parts
                      and (not names or cell.name() in names or cell.shape_name() in names)]

    def has(self, part):
        """Whether a part without cells, which measures cenote alone, is wanted."""
        return part in self.parts and "cenote" in self.contestants

    def of(self, cell):
        return [name for name in cell.contestants() if name in self.contestants]

    def programs(self):
        """Their names, for programs.build_pool."""
        wanted = {"broken", "none", "pingpong"}
        for cell in self.cells:
            wanted |= {"cenote" if name == "strict" else name for name in self.of(cell)}
        parts = (("floor", "cenote"), ("growth", "growth"), ("growth", "cancel"), ("deadlines", "deadlines"),
                 ("memory", "memory"))
        wanted |= {program for part, program in parts if self.has(part)}
        return sorted(wanted)

    def estimate(self):
        """Seconds on a quiet machine, building excepted."""
        repetitions = REPETITIONS or (1 if QUICK else 5)
        whole = SELF_TEST + 0.7 * repetitions + sum(cell.estimate(self.of(cell)) for cell in self.cells)
        processes = {(name, cell.kin()) for cell in self.cells for name in self.of(cell) if name in JAVA}
        whole += len(processes) * repetitions * (0.5 + WARM)
        whole += self.has("floor") * repetitions * (0.8 if QUICK else 2.6)
        whole += self.has("deadlines") * repetitions * (2 if QUICK else 6)
        whole += self.has("growth") * (6 if QUICK else 120)
        return whole + self.has("memory") * (2 if QUICK else 5)
