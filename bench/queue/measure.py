# SPDX-License-Identifier: MIT
"""The queue benchmark: cells, contestants, repetitions, verdicts. bench/README.md says how and why."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import build
import measuring
from gate import TICK, TOLERATED, execute, in_turns, must_refuse, say
from measuring import QUICK, START, choose
from programs import build_queue
from report import Spread, table

CAPACITY = int(os.environ.get("BENCH_CAPACITY", "1024"))
SHAPES = [(1, 1), (2, 2), (8, 8)]
REPETITIONS = measuring.REPETITIONS or choose(1, 4, 7)
ELEMENTS = choose(100_000, 500_000, 4_000_000)  # the same for every contestant of a cell
SECONDS = choose(0.05, 0.2, 0.25)               # short transfers are run again until then
WAKE_ROUNDS = choose(300, 1500, 2000)
WAKE_PAUSE_US = 200
IDLE_MS = choose(500, 2000, 2000)
BUDGET = measuring.budget(15, 100)
SLOW_NS = {"tbb": 2500, "glib": 1000}  # about as long an element takes in the mean of the cells, for the estimate

CONTESTANTS = {
    "bounded": ["cenote", "crossbeam", "tbb", "go", "ring"],
    "unbounded": ["cenote", "crossbeam", "moodycamel", "tbb", "glib", "ring"],
}
PACKAGES = ["librust-crossbeam-channel-dev", "rustc", "libconcurrentqueue-dev", "libtbb-dev", "golang-go", "libglib2.0-dev"]
WAKERS = ["floor", "cenote", "crossbeam", "go", "ring"]
FULL_NAMES = {
    "crossbeam": "crossbeam-channel", "moodycamel": "moodycamel::BlockingConcurrentQueue",
    "tbb": "oneTBB concurrent_bounded_queue", "go": "Go channel", "glib": "GAsyncQueue", "ring": "mutex + condvar ring",
    "floor": "raw futex",
}

REACH = 0.95          # of the best peer's throughput
WAKE_REACH = 1.15     # times the floor
DISTURBED = max(TOLERATED, 2 * TICK / SECONDS)  # foreign CPU above this spoils a figure
IDLE_REACH_NS = 500_000  # of CPU for a whole wait: going to sleep and waking up, and nothing between


def same_promise(name, producers):
    """Whether a peer promises the same order. moodycamel is in order for each producer only."""
    return name != "moodycamel" or producers == 1


def self_test(programs):
    """The harness must refuse each planted bug and pass the sound queue."""
    command = [programs["broken"], "transfer", "unbounded", 0, 1, 1, 50_000]
    execute(command)
    for fault in ("lose", "double", "swap"):
        must_refuse(command, "", {"BENCH_BROKEN": fault})


class Measurements:
    """Everything that was measured."""

    def __init__(self):
        self.ns = {}       # (kind, shape, name) -> ns per element, one per repetition
        self.foreign = {}  # the same keys, and ("wake", name)
        self.wake = {}     # name -> [(p50, p99, max)]
        self.probe = []    # ns per round trip of a cache line, one per repetition
        self.idle = {}

    def wake_spread(self, name, column):
        return Spread([row[column] for row in self.wake[name]])


class Bench(measuring.Bench):
    def transfer(self, kind, shape, name):
        producers, consumers = shape
        results, foreign = self.gate.run([self.programs[name], "transfer", kind, CAPACITY if kind == "bounded" else 0,
                                          producers, consumers, ELEMENTS // producers], SECONDS)
        ns = sum(r["elapsed_ns"] for r in results) / sum(r["elements"] for r in results)
        key = (kind, shape, name)
        self.figures.ns.setdefault(key, []).append(ns)
        self.figures.foreign.setdefault(key, []).append(foreign)
        return ns

    def wake_up(self, name):
        results, foreign = self.gate.run([self.programs[name], "wake", "bounded", CAPACITY, WAKE_ROUNDS, WAKE_PAUSE_US])
        result = results[0]
        if result.get("slept", result["rounds"]) < 0.95 * result["rounds"]:
            say("bench: %s slept in only %d of %d rounds: its wake-up time is not that of a sleeper"
                % (name, result["slept"], result["rounds"]))
        self.figures.wake.setdefault(name, []).append((result["p50_ns"], result["p99_ns"], result["max_ns"]))
        self.figures.foreign.setdefault(("wake", name), []).append(foreign)
        return result["p50_ns"]

    def repetition(self, number):
        self.begin(number)
        for kind, names in CONTESTANTS.items():
            for shape in SHAPES:
                self.look()
                line = ["%s %.1f" % (name, self.transfer(kind, shape, name)) for name in in_turns(names, number)]
                say("  %s %d-%d ns/element: %s" % (kind, *shape, ", ".join(line)))
        self.look()
        line = ["%s %.1f" % (name, self.wake_up(name) / 1000) for name in in_turns(WAKERS, number)]
        say("  wake-up p50 us: %s" % ", ".join(line))

    def wait_idle(self):
        result = execute([self.programs["idle"], IDLE_MS])
        self.figures.idle = {way: result[way + "_cpu_ns"] for way in ("pop", "pop_until", "select")}

    def everything(self):
        for number in range(REPETITIONS):
            if not self.has_time(number, BUDGET):
                break
            self.repetition(number)
        self.wait_idle()
        return self.figures


class Selection:
    """There is no part of it."""
    is_all = True

    @staticmethod
    def estimate():
        """Seconds on a quiet machine, building excepted."""
        names = [name for kind in CONTESTANTS.values() for name in kind]
        transfers = len(SHAPES) * sum(max(SECONDS, SLOW_NS.get(name, 0) * ELEMENTS / 1e9) + START for name in names)
        wakes = len(WAKERS) * (WAKE_ROUNDS * (WAKE_PAUSE_US + 100) / 1e6 + START)
        return 2 + IDLE_MS / 1000 + REPETITIONS * (transfers + wakes + choose(0.5, 2, 2))


# ---- Verdicts ----------------------------------------------------------------

class Cell:
    """cenote against the best peer that makes the same promise."""

    def __init__(self, measured, kind, shape):
        self.kind, self.shape = kind, shape
        self.spreads = {name: Spread(measured.ns[kind, shape, name]) for name in CONTESTANTS[kind]}
        peers = [n for n in CONTESTANTS[kind] if n != "cenote" and same_promise(n, shape[0])]
        self.best = min(peers, key=lambda n: self.spreads[n].mid)
        ours, theirs = self.spreads["cenote"], self.spreads[self.best]
        self.ratio = theirs.mid / ours.mid
        self.overlap = ours.overlaps(theirs)
        self.first = self.ratio >= 1
        self.reached = self.ratio >= REACH or self.overlap
        self.foreign = max(max(measured.foreign[kind, shape, name]) for name in self.spreads)
        self.disturbed = self.foreign > DISTURBED

    def name(self):
        return "%s %d-%d" % (self.kind, *self.shape)

    def verdict(self):
        place = "first" if self.first else "reached" if self.reached else "BEHIND"
        return place + (", spreads overlap" if self.overlap else "") + (", disturbed" if self.disturbed else "")


def cell_rows(cells):
    rows = []
    for cell in cells:
        row = [cell.name()]
        for name in ["cenote", *FULL_NAMES]:
            if name == "floor":
                continue
            spread = cell.spreads.get(name)
            mark = "" if same_promise(name, cell.shape[0]) else " *"
            row.append(spread.text() + mark if spread else "-")
        row += ["%.2f of %s" % (cell.ratio, cell.best), cell.verdict(), "%.0f %%" % (100 * cell.foreign)]
        rows.append(row)
    return rows


def wake_rows(measured):
    floor = measured.wake_spread("floor", 0)
    rows = []
    for name in WAKERS:
        p50, p99 = measured.wake_spread(name, 0), measured.wake_spread(name, 1)
        longest = max(row[2] for row in measured.wake[name])
        rows.append([FULL_NAMES.get(name, name), p50.text(1000), p99.text(1000), "%.0f" % (longest / 1000),
                     "%.2f" % (p50.mid / floor.mid), "%.0f %%" % (100 * max(measured.foreign["wake", name]))])
    return rows


def targets(cells, measured):
    floor, ours = measured.wake_spread("floor", 0), measured.wake_spread("cenote", 0)
    reached, first = sum(c.reached for c in cells), sum(c.first for c in cells)
    wake, idle = ours.mid / floor.mid, max(measured.idle.values())

    def line(good, text):
        return "- %s: %s\n" % ("reached" if good else "MISSED", text)

    wake_foreign = max(measured.foreign["wake", "floor"] + measured.foreign["wake", "cenote"])
    disturbed = sum(c.disturbed for c in cells)
    note = "\n%d of %d cells were disturbed: run again on a quiet machine.\n" % (disturbed, len(cells))
    return (line(reached == len(cells), "at least %.2f of the best peer, or overlapping, in %d of %d cells"
                 % (REACH, reached, len(cells)))
            + line(2 * first > len(cells), "first in %d of %d cells" % (first, len(cells)))
            + line(wake <= WAKE_REACH, "a sleeping consumer runs after %.2f times the futex floor%s%s"
                   % (wake, "; the spreads overlap" if ours.overlaps(floor) else "",
                      "; disturbed" if wake_foreign > DISTURBED else ""))
            + line(idle <= IDLE_REACH_NS, "a wait of %.1f s costs at most %.0f us of CPU"
                   % (IDLE_MS / 1000, idle / 1000)) + (note if disturbed else ""))


def document(cells, measured, gate, seconds):
    peers = [n for n in FULL_NAMES if n != "floor"]
    text = "# The queue beside its peers\n\n"
    text += "%s%d repetitions, medians with (smallest-largest), capacity %d, %d elements a run, %d processors; " % (
        "A QUICK LOOK, NOT A MEASUREMENT. " if QUICK else "", len(measured.probe), CAPACITY, ELEMENTS, os.cpu_count())
    text += "a cache line's round trip took %s ns; %d runs repeated because others were busy; %.0f s in all.\n\n" % (
        Spread(measured.probe).text(), gate.repeated, seconds)
    if os.environ.get("BENCH_LIBDIR"):
        text += "NOT the release build of this tree: libcenote.so from `%s`.\n\n" % build.folder_of_cenote()
    text += "Packages: %s.\n\n" % build.versions(PACKAGES)
    text += "## Nanoseconds per element\n\n"
    text += table(["cell", "cenote", *peers, "cenote's throughput", "verdict", "foreign"], cell_rows(cells))
    text += "\n`*` not in order across producers: shown, not compared. `-` has no such form.\n"
    text += "Go's workers are goroutines, which change places without the kernel.\n\n"
    text += "## Wake-up of a sleeping consumer, microseconds\n\n"
    text += table(["", "p50", "p99", "longest", "p50 to the floor's", "foreign"], wake_rows(measured))
    text += "\n## CPU of one waiter on an empty queue for %.1f s\n\n" % (IDLE_MS / 1000)
    text += table(["pop", "pop with a deadline", "select over three"],
                  [["%.0f us" % (measured.idle[way] / 1000) for way in ("pop", "pop_until", "select")]])
    return text + "\n## Targets\n\n" + targets(cells, measured)


def foreign_fields(measured, key):
    foreign = max(measured.foreign[key])
    return {"foreign": round(foreign, 3), "disturbed": foreign > DISTURBED}


def wake_target(measured):
    floor, ours = measured.wake_spread("floor", 0), measured.wake_spread("cenote", 0)
    return {"bench": "queue-target", "contestant": "cenote", "cell": "wake",
            "target": "a sleeping consumer runs after at most %.2f times the futex floor" % WAKE_REACH,
            "measured": "%.2f times, %.1f us" % (ours.mid / floor.mid, ours.mid / 1000), "reached": ours.mid / floor.mid <= WAKE_REACH,
            "disturbed": any(foreign_fields(measured, ("wake", name))["disturbed"] for name in ("floor", "cenote"))}


def idle_target(measured):
    idle = max(measured.idle.values())
    return {"bench": "queue-target", "contestant": "cenote", "cell": "idle",
            "target": "a wait of %.1f s costs at most %.0f us of CPU" % (IDLE_MS / 1000, IDLE_REACH_NS / 1000),
            "measured": "%.0f us" % (idle / 1000), "reached": idle <= IDLE_REACH_NS, "disturbed": False}


def records(cells, measured):
    lines = []
    for cell in cells:
        for name, spread in cell.spreads.items():
            lines.append({"bench": "queue-" + cell.kind, "contestant": name, "threads": "%d-%d" % cell.shape,
                          "size": CAPACITY if cell.kind == "bounded" else 0, "work_ns": 0, **spread.fields(),
                          "cell": cell.name(), **foreign_fields(measured, (cell.kind, cell.shape, name)),
                          "unit": "ns/element"})
    for name in WAKERS:
        lines.append({"bench": "queue-wake", "contestant": name, "threads": "1-1", "size": CAPACITY,
                      "wait_p50_ns": measured.wake_spread(name, 0).mid,
                      "wait_p99_ns": measured.wake_spread(name, 1).mid,
                      "wait_max_ns": max(row[2] for row in measured.wake[name]),
                      **measured.wake_spread(name, 0).fields(),
                      "cell": "wake", **foreign_fields(measured, ("wake", name)), "unit": "ns/wake-up"})
    for way, ns in measured.idle.items():
        lines.append({"bench": "queue-idle", "contestant": "cenote-" + way.replace("_", "-"), "threads": "0-1",
                      "ns": ns, "unit": "ns of CPU/%d ms wait" % IDLE_MS})
    lines.append({"bench": "queue-probe", "contestant": "cache-line", "threads": "1-1",
                  **Spread(measured.probe).fields(), "unit": "ns/round trip"})
    return lines + [{"bench": "queue-target", "contestant": "cenote", "cell": cell.name(),
                     "target": "at least %.2f of the best peer, or overlapping" % REACH,
                     "measured": "%.2f of %s" % (cell.ratio, FULL_NAMES[cell.best]), "reached": cell.reached,
                     "disturbed": cell.disturbed} for cell in cells] + [wake_target(measured), idle_target(measured)]


def main(begin):
    say("bench: building")
    programs = build_queue()
    self_test(programs)
    gate = measuring.gate_for(Selection, budget=BUDGET, estimate=Selection.estimate())
    measured = Bench(Selection, programs, gate, Measurements()).everything()
    cells = [Cell(measured, kind, shape) for kind in CONTESTANTS for shape in SHAPES]
    measuring.write("queue", Selection, document(cells, measured, gate, time.monotonic() - begin))
    measuring.append_records(records(cells, measured), {"cenote": "cenote", **FULL_NAMES})


if __name__ == "__main__":
    measuring.main(main)
