# SPDX-License-Identifier: MIT
"""One line that says how far a run is: rewritten on a terminal, repeated now and then elsewhere."""
import sys
import time

EVERY = 30  # seconds, where lines stay


def clock(seconds):
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    return "%d:%02d" % (minutes, seconds)


class Progress:
    def __init__(self, out=sys.stderr):
        self.out, self.terminal, self.said, self.width = out, out.isatty(), None, 0

    def show(self, text, at_once=False):
        if self.terminal:
            self.out.write("\r" + text.ljust(self.width))
            self.width = len(text)
        elif at_once or self.said is None or time.monotonic() - self.said >= EVERY:
            self.out.write(text + "\n")
            self.said = time.monotonic()
        self.out.flush()

    def say(self, text):
        """A line that stays."""
        if self.terminal and self.width:
            self.out.write("\r" + " " * self.width + "\r")
            self.width = 0
        self.out.write(text + "\n")
        self.out.flush()


class Estimate:
    """When the whole will be over, by what the parts were planned to take and what they took."""

    def __init__(self, planned):
        self.planned, self.taken = planned, {}

    def pace(self):
        """How the parts that are over compare with the plan; one odd part must not upset it."""
        planned = sum(self.planned[part] for part in self.taken)
        return min(2.0, max(0.5, sum(self.taken.values()) / planned)) if planned else 1.0

    def left(self, part, elapsed):
        """Seconds, with `part` running for so long."""
        rest = list(self.planned)[list(self.planned).index(part) + 1:]
        return self.pace() * (max(0.05 * self.planned[part], self.planned[part] - elapsed) + sum(self.planned[each]
                                                                                                 for each in rest))
