# SPDX-License-Identifier: MIT
"""Says how far a longer piece of work is: on a terminal in one line that changes, elsewhere every few seconds."""
import sys
import time


class Progress:
    SECONDS = 2

    def __init__(self, what, total):
        self.what, self.total, self.count = what, total, 0
        self.shown, self.terminal = time.monotonic(), sys.stderr.isatty()

    def step(self):
        self.count += 1
        now = time.monotonic()
        if now - self.shown >= (0.1 if self.terminal else self.SECONDS):
            self.shown = now
            self.show("" if self.terminal else "\n")

    def show(self, end):
        sys.stderr.write(f"{chr(13) * self.terminal}  {self.what}: {self.count} of {self.total}{end}")
        sys.stderr.flush()

    def end(self):
        if self.terminal:
            self.show("\n")
