# SPDX-License-Identifier: MIT
"""What the crew is to reach, and whether it did. Every figure is compared with others of the same run."""
import statistics

from cells import FULL_NAMES, NATIVE, PEERS
from gate import TOLERATED
from report import Verdict

SAME = 0.95       # external submission: speed in that of the best of all peers
FASTER = 4.0      # ... and of the best of the C, C++ and Rust ones
WAKES = 1.0       # back to back, in wake-ups across cores
IDLE_WAKES = 2.4  # after 10 ms of idleness: two, and 20 %
JOIN = 2.0        # from inside, in rayon's join
IDLE_MS = 1.0


def best(figures, cell, names):
    """The one with the least time, and that time."""
    times = {name: figures.median(cell, name, "ns") for name in names}
    times = {name: ns for name, ns in times.items() if ns is not None}
    return min(times.items(), key=lambda item: item[1]) if times else (None, None)


def speed(figures, cell, names, limit, whom):
    ours, (peer, theirs) = figures.median(cell, "cenote", "ns"), best(figures, cell, names)
    ratio = theirs / ours if ours and theirs else None
    measured = "%.2fx %s (%.1f to %.1f ns)" % (ratio, FULL_NAMES[peer], ours, theirs) if ratio else "-"
    bare = figures.median(cell, "intrusive", "ns")
    if ratio and bare and names is NATIVE:
        measured += "; %.2fx the queue without allocation" % (bare / ours)
    return Verdict(cell, "speed at least %.2fx the best of %s" % (limit, whom), measured, limit, ratio, True,
                   figures.is_disturbed(cell))


def wake_up(figures, key):
    return statistics.median(run[key] for run in figures.wake) if figures.wake else None


def result(figures, cell, key, limit, sentence):
    ours, wake = figures.median(cell, "cenote", "ns"), wake_up(figures, key)
    ratio = ours / wake if ours and wake else None
    measured = "%.2f wake-ups of %.1f us, p50 %.1f us, p99 %.1f us" % (
        ratio, wake / 1000, ours / 1000, figures.median(cell, "cenote", "p99_ns") / 1000) if ratio else "-"
    if ratio and key != "wake_ns":
        measured += "; %.2f of those back to back" % (ours / wake_up(figures, "wake_ns"))
    disturbed = figures.is_disturbed(cell) or any(run["foreign"] > TOLERATED for run in figures.wake)
    return Verdict(cell, sentence, measured, limit, ratio, False, disturbed)


def inside(figures):
    ours, theirs = (figures.median("inside", name, "ns") for name in ("cenote", "rayon"))
    ratio = ours / theirs if ours and theirs else None
    measured = "%.2fx (%.1f to %.1f ns)" % (ratio, ours, theirs) if ratio else "-"
    return Verdict("inside", "submit and await at most %.1fx rayon's join" % JOIN, measured, JOIN, ratio, False,
                   figures.is_disturbed("inside"))


def idle(figures):
    used = figures.values("idle", "cenote", "cpu_ms")
    measured = "%.3f ms at most, of %d runs of %.0f s" % (
        max(used), len(used), figures.median("idle", "cenote", "elapsed_ms") / 1000) if used else "-"
    return Verdict("idle", "less than %.0f ms of CPU" % IDLE_MS, measured, IDLE_MS, max(used) if used else None, False)


def targets(figures):
    return [
        *(speed(figures, cell, PEERS, SAME, "all") for cell in ("submit1", "submit2")),
        *(speed(figures, cell, NATIVE, FASTER, "C, C++ and Rust") for cell in ("submit1", "submit2")),
        result(figures, "result", "wake_ns", WAKES, "p50 at most one wake-up across cores"),
        result(figures, "idle10", "idle_wake_ns", IDLE_WAKES, "p50 at most two such wake-ups after 10 ms of idleness, plus 20 %"),
        inside(figures),
        idle(figures),
    ]
