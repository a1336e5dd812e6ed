# SPDX-License-Identifier: MIT
"""What the pool is to reach, and whether it did. Ratios are to the best peer of the same run."""
import math
import statistics

from cells import PEERS, SHAPES
from gate import TOLERATED
from report import Verdict

FASTER = {"T2S10": 2.2, "T2S1": 2.5, "T8S10": 2.0, "T64S64": 2.0, "T8S2": 1.7, "T64S10": 2.0}
FLOOR = 1.5
SAME, SAME_T8S2 = 0.98, 0.95            # with work
FAIR = {"T8S2": (0.9, 40), "T64S10": (0.8, 100)}  # the slowest thread's share, the longest wait in ms
STRETCH_MS = {"T64S10": 50}
ASLEEP_SAME, ASLEEP_WAIT = 0.98, 2.2    # holds of 1 ms; the wait in that of the ideal queue
SPINNING_SAME = {"T16S4": 0.95, "T64S10": 0.93}
SPINNING_MS = 20
STRICT_WAIT = 1.2
PAIR_GROWTH = LINE_GROWTH = 1.2
LAST_TOLD, CPU_US = 1.2, 3              # of a thousand takes with one deadline: beside a condition variable, and each
FIND_GROWTH = 2.0                       # for every factor of a thousand
BYTES_A_SLOT, FROM_SIZE = 256, 100


def best_peer(figures, cell):
    """The peer with the least time per pair, and that time."""
    times = {name: figures.median(cell, name, "ns") for name in PEERS}
    times = {name: ns for name, ns in times.items() if ns is not None}
    return min(times.items(), key=lambda item: item[1]) if times else (None, None)


def speed(figures, cell, limit, contestant="cenote"):
    ours, (peer, theirs) = figures.median(cell, contestant, "ns"), best_peer(figures, cell)
    ratio = theirs / ours if ours and theirs else None
    measured = "%.2fx %s (%.1f to %.1f ns)" % (ratio, peer, ours, theirs) if ratio else "-"
    return Verdict(cell, "throughput at least %.2fx the best peer" % limit, measured, limit, ratio, True,
                   figures.is_disturbed(cell, contestant, peer))


def longest_wait(figures, cell, limit_ms, target, contestant="cenote", suffix=""):
    waits = figures.values(cell, contestant, "wait_max_ms")
    value = statistics.median(waits) if waits and limit_ms else None
    measured = "%.1f ms (%.1f-%.1f)%s" % (value, min(waits), max(waits), suffix) if value else "-"
    return Verdict(cell, target, measured, limit_ms or 1, value, False, figures.is_disturbed(cell, contestant))


def floors(figures):
    rows = []
    for size in (1, 10):
        ratios = [run["ratio"] for run in figures.floor.get(size, [])]
        value = statistics.median(ratios) if ratios else None
        measured = "%.2fx, %.2f ns" % (value, statistics.median(r["cenote_ns"] for r in figures.floor[size])) if value else "-"
        foreign = max((run["foreign"] for run in figures.floor.get(size, [])), default=0.0)
        rows.append(Verdict("T1S%d/0" % size, "at most %.1fx the CAS + xchg floor" % FLOOR, measured, FLOOR, value, False,
                            foreign > TOLERATED))
    return rows


def throughput(figures):
    rows = [speed(figures, shape + "/0", limit) for shape, limit in FASTER.items()]
    for work in (200, 1000):
        for shape in SHAPES:
            name = "T%dS%d" % shape
            rows.append(speed(figures, "%s/%d" % (name, work), SAME_T8S2 if name == "T8S2" else SAME))
    return rows


def fairness(figures):
    rows = []
    for shape, (share, wait_ms) in FAIR.items():
        cell = shape + "/fair"
        shares = figures.values(cell, "cenote", "smallest_share")
        value = statistics.median(shares) if shares else None
        rows.append(Verdict(cell, "slowest thread at least %.1f of the mean" % share,
                            "%.2f (%.2f-%.2f)" % (value, min(shares), max(shares)) if shares else "-", share, value, True,
                            figures.is_disturbed(cell, "cenote")))
        rows.append(longest_wait(figures, cell, wait_ms, "longest wait at most %d ms" % wait_ms))
        if shape in STRETCH_MS:
            rows.append(longest_wait(figures, cell, STRETCH_MS[shape], "stretch: at most %d ms" % STRETCH_MS[shape]))
    return rows


def holds(figures):
    rows = []
    for shape in SPINNING_SAME:
        cell = shape + "/1ms-asleep"
        ideal = figures.median(cell, "fifo", "wait_max_ms")
        beside = ", ideal %.1f ms" % ideal if ideal else ""
        rows.append(speed(figures, cell, ASLEEP_SAME))
        rows.append(longest_wait(figures, cell, ideal and ASLEEP_WAIT * ideal,
                                 "longest wait at most %.1fx that of strict order" % ASLEEP_WAIT, suffix=beside))
        rows.append(longest_wait(figures, cell, ideal and STRICT_WAIT * ideal,
                                 "strict: longest wait within %.1fx of the ideal queue" % STRICT_WAIT, "strict", beside))
    for shape, limit in SPINNING_SAME.items():
        cell = shape + "/100us-spinning"
        rows.append(speed(figures, cell, limit))
        rows.append(longest_wait(figures, cell, SPINNING_MS, "longest wait at most %d ms" % SPINNING_MS))
    return rows


def short(ns):
    return "%.1f" % ns if ns < 1000 else format(round(ns), ",")


def grown(figures, name, prefix):
    """Medians by number: how much each is of the smallest one's."""
    runs = figures.growth.get(name, [])
    keys = [key for key in (runs[0] if runs else {}) if key.startswith(prefix)]
    return {int(key[len(prefix):]): statistics.median(run[key] for run in runs) for key in keys}


def growth_row(figures, name, prefix, sentence, limit_of):
    """limit_of(factor) is what a number that much larger than the smallest may cost."""
    costs = grown(figures, name, prefix)
    target = "%s, at most %.1fx%s" % (sentence, limit_of(1000), "" if limit_of(10) == limit_of(1000) else " a factor of 1,000")
    if not costs:
        return Verdict("growth", target, "-", 1, None, False)
    least = min(costs)
    worst = max((costs[n] / costs[least] / limit_of(n / least) for n in costs if n > least), default=0)
    foreign = max(run["foreign"] for run in figures.growth[name])
    measured = ", ".join("%s: %s ns" % (format(n, ","), short(ns)) for n, ns in costs.items())
    return Verdict("growth", target, measured, 1, worst, False, foreign > TOLERATED)


def growth(figures):
    def find_limit(factor):
        return FIND_GROWTH ** (math.log(factor) / math.log(1000))

    return [
        growth_row(figures, "pairs", "ns_", "an uncontended pair by size", lambda factor: PAIR_GROWTH),
        growth_row(figures, "find", "ns_", "a pair whose take must look for the only idle object, by size", find_limit),
        growth_row(figures, "hand", "all_", "a give while so many wait", lambda factor: LINE_GROWTH),
        growth_row(figures, "hand-strict", "all_", "the same in strict order", lambda factor: LINE_GROWTH),
        growth_row(figures, "leave", "all_", "a time-out in the middle of so many", lambda factor: LINE_GROWTH),
        growth_row(figures, "cancel", "ns_", "a cancel in the middle of so many", lambda factor: LINE_GROWTH),
    ]


def deadlines(figures):
    """Of takes that want to be told why, and of those that do not."""
    rows, runs = [], figures.deadlines
    foreign = max((run["foreign"] for run in runs), default=0.0)
    for name, who in (("explained", "1,000 takes with one deadline"), ("silent", "the same without an error to write into")):
        ratios = [run[name + "_last_ms"] / run["condvar_last_ms"] for run in runs]
        value = statistics.median(ratios) if ratios else None
        measured = "%.2fx (%.1f to %.1f ms)" % (value, *(statistics.median(run[key + "_last_ms"] for run in runs)
                                                         for key in (name, "condvar"))) if value else "-"
        rows.append(Verdict("deadlines", "%s: the last told at most %.1fx later than by a condition variable" % (who, LAST_TOLD),
                            measured, LAST_TOLD, value, False, foreign > TOLERATED))
        spent = [run[name + "_cpu_us"] - run["condvar_cpu_us"] for run in runs]
        value = statistics.median(spent) if spent else None
        measured = "%.1f us (%.1f to %.1f us)" % (value, *(statistics.median(run[key + "_cpu_us"] for run in runs)
                                                           for key in (name, "condvar"))) if spent else "-"
        rows.append(Verdict("deadlines", "%s: at most %d us of a processor each more" % (who, CPU_US), measured, CPU_US, value,
                            False, foreign > TOLERATED))
    return rows


def memory(figures):
    sizes = sorted(int(key[6:]) for key in figures.memory if key.startswith("bytes_"))
    slots = {size: figures.memory["bytes_%d" % size] / size for size in sizes}
    worst = max((each for size, each in slots.items() if size >= FROM_SIZE), default=None)
    runs = {key[12:]: count for key, count in figures.memory.items() if key.startswith("allocations_")}
    return [
        Verdict("memory", "no allocation and no new mapping after the start",
                ", ".join("%s: %d" % item for item in runs.items()) or "-", 0, sum(runs.values()) if runs else None, False),
        Verdict("memory", "at most %d bytes a slot from %d on" % (BYTES_A_SLOT, FROM_SIZE),
                ", ".join("%s: %.0f" % (format(size, ","), each) for size, each in slots.items()) or "-", BYTES_A_SLOT,
                worst, False),
    ]


def targets(figures, left_out=()):
    parts = {"floor": floors, "throughput": throughput, "fairness": fairness, "holds": holds, "deadlines": deadlines,
             "growth": growth, "memory": memory}
    return [verdict for part, judge in parts.items() if part not in left_out for verdict in judge(figures)]
