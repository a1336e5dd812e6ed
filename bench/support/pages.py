# SPDX-License-Identifier: MIT
"""What the reports of several benchmarks have alike: how they begin, the targets, and the last JSON lines."""
import os

import build
from measuring import QUICK
from report import Spread, target_table


def opening(title, selection, figures, gate, seconds, repetitions, packages, remark=""):
    text = "# %s\n\n" % title
    if QUICK:
        text += "A QUICK LOOK, NOT A MEASUREMENT. "
    if not selection.is_all:
        text += "A PART ONLY. "
    text += "Medians with (smallest-largest) of %d, %d processors%s; " % (repetitions, os.cpu_count(), remark)
    text += "a cache line's round trip took %s ns; " % Spread(figures.probe).text()
    text += "%d runs repeated because others were busy; %.0f s in all.\n\n" % (gate.repeated, seconds)
    if os.environ.get("BENCH_LIBDIR"):
        text += "NOT the release build of this tree: libcenote.so from `%s`.\n\n" % build.folder_of_cenote()
    return text + "Packages: %s.\n" % build.versions(packages)


def targets_part(selection, verdicts):
    """In a part of the benchmark only those that were measured."""
    known = [v for v in verdicts if v.reached is not None]
    if not known:
        return ""
    return "\n## Targets\n\n%d of %d reached.\n\n%s" % (sum(v.reached for v in known), len(known),
                                                         target_table(verdicts if selection.is_all else known))


def closing_records(bench, figures, verdicts):
    """The probe and the targets."""
    lines = [{"bench": bench + "-probe", "contestant": "cache-line", "threads": "2", **Spread(figures.probe).fields(),
              "unit": "ns/round trip"}]
    return lines + [{"bench": bench + "-target", "contestant": "cenote", "cell": v.name, "target": v.target,
                     "measured": v.measured, "reached": v.reached, "disturbed": v.disturbed} for v in verdicts]
