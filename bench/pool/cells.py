# SPDX-License-Identifier: MIT
"""What is measured, by whom and how often; and which of it the environment asks for."""
import measuring
from measuring import QUICK, REPETITIONS

PARTS = ["floor", "throughput", "fairness", "holds", "growth", "memory"]

# In the order of the tables. "strict" is cenote with overtaking off.
PEERS = ["stack", "apr", "moodycamel", "tbb", "crossbeam", "hikari"]
FULL_NAMES = {
    "cenote": "cenote", "strict": "cenote, strict order", "stack": "mutex + condvar stack", "apr": "apr_reslist",
    "moodycamel": "moodycamel queue", "tbb": "oneTBB bounded queue", "crossbeam": "array + crossbeam channel",
    "hikari": "HikariCP ConcurrentBag", "fifo": "ideal first come, first served", "none": "no pool at all",
}
PACKAGES = ["libaprutil1-dev", "libconcurrentqueue-dev", "libtbb-dev", "librust-crossbeam-channel-dev", "rustc",
            "libhikaricp-java", "default-jdk-headless"]

SHAPES = [(1, 1), (1, 10), (2, 10), (2, 1), (8, 10), (8, 2), (64, 10), (64, 64)]
WORKS = [0, 200, 1000]
TWO_VALUED = ["T2S10/0", "T2S1/0", "T2S1/200", "T2S1/1000"]  # two threads on a shared line: now quick, now slow
FAIR_SHAPES = [(8, 2), (64, 10)]
HOLD_SHAPES = [(16, 4), (64, 10)]


class Cell:
    def __init__(self, part, shape, work_ns, seconds, kind=None, asleep=False):
        self.part, self.shape, self.work_ns, self.seconds, self.asleep = part, shape, work_ns, seconds, asleep
        self.kind = str(work_ns) if kind is None else kind
        self.waits = part != "throughput"

    def shape_name(self):
        return "T%dS%d" % self.shape

    def name(self):
        return "%s/%s" % (self.shape_name(), self.kind)

    def contestants(self):
        if self.part == "throughput":
            return ["cenote", *PEERS]
        return ["cenote", "strict", "fifo", *PEERS] + (["none"] if self.part == "fairness" else [])

    def repetitions(self, contestant):
        """How often a contestant runs. In the fairness part only those that a target speaks of need five."""
        if REPETITIONS or QUICK:
            return REPETITIONS or 1
        if self.part == "fairness":
            return 5 if contestant in ("cenote", "fifo") else 2
        return 10 if self.name() in TWO_VALUED else 5

    def command(self, programs, contestant):
        threads, size = self.shape
        words = [programs["cenote" if contestant == "strict" else contestant], threads,
                 threads if contestant == "none" else size, self.work_ns, self.seconds]
        words += ["waits"] * self.waits + ["asleep"] * self.asleep + ["strict"] * (contestant == "strict")
        return words + ["warm=%g" % (0.3 if QUICK else 1.5)] * (contestant == "hikari")


def all_cells():
    short, long = (0.05, 0.1) if QUICK else (0.3, 0.5)
    cells = [Cell("throughput", shape, work, long if shape[0] == 64 else short) for work in WORKS for shape in SHAPES]
    cells += [Cell("fairness", shape, 0, 0.6 if QUICK else 5, "fair") for shape in FAIR_SHAPES]
    for kind, work, asleep in (("1ms-asleep", 1_000_000, True), ("100us-spinning", 100_000, False)):
        cells += [Cell("holds", shape, work, 0.25 if QUICK else 1, kind, asleep) for shape in HOLD_SHAPES]
    return cells


class Selection:
    """BENCH_ONLY (parts), BENCH_CELLS (cells or shapes), BENCH_CONTESTANTS."""

    def __init__(self):
        known = sorted({cell.name() for cell in all_cells()} | {cell.shape_name() for cell in all_cells()})
        only, names, contestants = measuring.asked_for(PARTS, known, FULL_NAMES)
        self.is_all = not (only or names or contestants)
        self.parts = only or (PARTS if not names else ["throughput", "fairness", "holds"])
        self.contestants = contestants or list(FULL_NAMES)
        self.cells = [cell for cell in all_cells() if cell.part in self.parts
                      and (not names or cell.name() in names or cell.shape_name() in names)]

    def has(self, part):
        """Whether a part without cells, which measures cenote alone, is wanted."""
        return part in self.parts and "cenote" in self.contestants

    def of(self, cell):
        return [name for name in cell.contestants() if name in self.contestants]

    def programs(self):
        """Their names, for build.build_pool."""
        wanted = {"broken", "none", "pingpong"}
        for cell in self.cells:
            wanted |= {"cenote" if name == "strict" else name for name in self.of(cell)}
        parts = (("floor", "cenote"), ("growth", "growth"), ("growth", "cancel"), ("memory", "memory"))
        wanted |= {program for part, program in parts if self.has(part)}
        return sorted(wanted)
