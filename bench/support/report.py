# SPDX-License-Identifier: MIT
"""Medians with spreads, JSON lines and Markdown tables."""
import json
import statistics


class Spread:
    """The median of some measurements, with the smallest and the largest."""

    def __init__(self, values):
        self.mid, self.low, self.high = statistics.median(values), min(values), max(values)

    def overlaps(self, other):
        return self.low <= other.high and other.low <= self.high

    def fields(self):
        return {"ns": round(self.mid, 2), "ns_min": round(self.low, 2), "ns_max": round(self.high, 2)}

    def text(self, scale=1.0, digits=1):
        return "%.*f (%.*f-%.*f)" % (digits, self.mid / scale, digits, self.low / scale, digits, self.high / scale)


def append_lines(path, records):
    with open(path, "a") as lines:
        for record in records:
            lines.write(json.dumps(record) + "\n")


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


class Verdict:
    """One row. `by` is how far from the limit it is, as a fraction of it. A value of None was not measured."""

    def __init__(self, name, target, measured, limit, value, at_least, disturbed=False):
        self.name, self.target, self.measured, self.disturbed = name, target, measured, disturbed
        self.reached = None if value is None else value >= limit if at_least else value <= limit
        self.by = None if value is None or limit == 0 else abs(value - limit) / limit

    def text(self):
        if self.reached is None:
            return "not measured"
        by = "" if self.by is None else " by %.1f %%" % (100 * self.by)
        text = "reached" if self.reached else "MISSED" + by
        return text + (", disturbed" if self.disturbed else "")


def target_table(verdicts):
    return table(["", "target", "measured", "verdict"], [[v.name, v.target, v.measured, v.text()] for v in verdicts])
