# SPDX-License-Identifier: MIT
"""What asking is to cost at most, and whether it does. Each figure is beside its floor of the same run."""
import statistics

from gate import TOLERATED
from report import Verdict

SAME = 3.0    # ask, poll and give in a blocking take and give
CROSS = 1.10  # give to completion in an eventfd's write to epoll_wait's return
GROWTH = 2.0  # from a thousand that wait to a hundred thousand


def micro(figures, name, limit, target):
    runs = figures.micro.get(name, [])
    if not runs:
        return Verdict(name, target, "-", limit, None, False)
    ratios = [run["ratio"] for run in runs]
    floor = "blocking_ns" if name == "same" else "floor_ns"
    measured = "%.2fx (%.2f-%.2f), %.1f to %.1f ns" % (
        statistics.median(ratios), min(ratios), max(ratios), *(statistics.median(run[key] for run in runs)
                                                               for key in ("ask_ns", floor)))
    return Verdict(name, target, measured, limit, statistics.median(ratios), False,
                   max(run["foreign"] for run in runs) > TOLERATED)


def grown(figures, operation):
    """Medians by how many wait."""
    keys = [key for key in (figures.growth[0] if figures.growth else {}) if key.startswith(operation + "_")]
    return {int(key[len(operation) + 1:]): statistics.median(run[key] for run in figures.growth) for key in keys}


def growth(figures, operation, sentence):
    costs = grown(figures, operation)
    target = "%s costs at most %.1fx from 1,000 to 100,000" % (sentence, GROWTH)
    if not costs:
        return Verdict("pending", target, "-", GROWTH, None, False)
    measured = ", ".join("%s: %.1f ns" % (format(count, ","), ns) for count, ns in costs.items())
    return Verdict("pending", target, measured, GROWTH, max(costs.values()) / costs[min(costs)], False,
                   max(run["foreign"] for run in figures.growth) > TOLERATED)


def memory(figures):
    found = figures.memory
    count = format(round(found["pending"]), ",") if found else "100,000"
    return [
        Verdict("pending", "no allocation while %s ask, are served and cancelled" % count,
                "%d" % found["allocations"] if found else "-", 0, found.get("allocations"), False),
        Verdict("pending", "the pool's memory does not grow for %s who wait" % count,
                "%d bytes; a cen_take_op has %d" % (found["grown_bytes"], found["take_bytes"]) if found else "-", 0,
                found.get("grown_bytes"), False),
    ]


def targets(figures):
    return [
        micro(figures, "same", SAME, "ask, poll and give at most %.1fx a blocking pair" % SAME),
        micro(figures, "cross", CROSS, "give to completion at most %.2fx the eventfd floor" % CROSS),
        growth(figures, "serve", "serving one of so many"),
        growth(figures, "cancel", "cancelling one of so many"),
        *memory(figures),
    ]
