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
