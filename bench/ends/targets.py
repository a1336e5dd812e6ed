# SPDX-License-Identifier: MIT
"""cenote is to be first in throughput, in waits and in processor time, beside each of the others. Every figure is compared with
those of the same repetition."""
from cells import FULL_NAMES, NO_PEERS
from pairs import interval, ratio_words
from report import Verdict

MEASURES = [("per_s", "throughput", True), ("wait_p99_us", "p99 of waits", False),
            ("wait_max_ms", "longest wait", False), ("turn_p99_ms", "p99 of turns by time", False), ("cpu_s_per_100k", "processor time", False)]


def beside(figures, cell, peer, key, words, more_is_better):
    name = "%s, %s, %s" % (cell.name, peer, words)
    target = "%s: no %s than %s" % (words, "less" if more_is_better else "more", FULL_NAMES[peer])
    ours, theirs = ([max(value, 1e-6) for value in figures.values(cell.name, who, key)] for who in ("cenote", peer))
    if not ours or not theirs:
        return Verdict(name, target, "-", 1.0, None, more_is_better)
    disturbed = figures.is_disturbed(cell.name)
    if len(ours) < 2:
        ratio = ours[0] / theirs[0]
        return Verdict(name, target, "%.3fx, one run" % ratio, 1.0, ratio, more_is_better, disturbed)
    ratio = interval(ours, theirs)
    return Verdict(name, target, "%s, %d pairs" % (ratio_words(ratio), len(ours)), 1.0, ratio[2 if more_is_better else 1],
                   more_is_better, disturbed)


def targets(selection, figures):
    return [beside(figures, cell, peer, *measure) for cell in selection.cells for measure in MEASURES
            for peer in selection.of(cell) if peer not in NO_PEERS]
