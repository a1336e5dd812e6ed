# SPDX-License-Identifier: MIT
"""What the benchmarks of several parts share: what the environment asks for, the turns, and the way from build to report."""
import os
import time

import build
from gate import Gate, in_turns, say
from report import append_lines
from runs import Runs

QUICK = os.environ.get("BENCH_QUICK", "") not in ("", "0")
REPETITIONS = int(os.environ.get("BENCH_REPS") or 0)  # 0: as many as the benchmark wants


def asked_for(parts, cells, contestants):
    """The words of BENCH_ONLY, BENCH_CELLS and BENCH_CONTESTANTS, each of which must be among those."""
    answer = []
    for variable, allowed in (("ONLY", parts), ("CELLS", cells), ("CONTESTANTS", contestants)):
        words = os.environ.get("BENCH_" + variable, "").replace(",", " ").split()
        for word in words:
            if word not in allowed:
                raise SystemExit("bench: %s is none of: %s" % (word, ", ".join(allowed)))
        answer.append(words)
    return answer


class Figures(Runs):
    """Everything that was measured; a benchmark adds its own."""

    def __init__(self):
        super().__init__()
        self.probe = []  # ns per round trip of a cache line, one per repetition


class Bench:
    def __init__(self, selection, programs, gate, figures):
        self.selection, self.programs, self.gate, self.figures = selection, programs, gate, figures

    def begin(self, number):
        """Of a repetition: the probe."""
        self.gate.wait_for_quiet()
        self.figures.probe.append(self.gate.run_once([self.programs["pingpong"], 30])["round_trip_ns"])
        say("repetition %d: a cache line's round trip takes %.0f ns" % (number + 1, self.figures.probe[-1]))

    def turns(self, cell, name, contestants, repetition, heading, words):
        """All of them run the cell, another one first each time; words(answer) is for the line that is said."""
        if not contestants:
            return
        self.gate.wait_for_quiet()
        line = []
        for contestant in in_turns(contestants, repetition):
            answer = self.gate.run_once(cell.command(self.programs, contestant))
            self.figures.runs.setdefault((name, contestant), []).append(answer)
            line.append("%s %s" % (contestant, words(answer)))
        say("  %s: %s" % (heading, "; ".join(line)))


def gate_for(selection, seconds=None):
    """A busy machine must not keep a quick look for an hour."""
    if QUICK:
        return Gate(patience=2, tries=2, seconds=15)
    return Gate(patience=180 if selection.is_all else 20, tries=4, seconds=seconds)


def write(name, selection, text):
    """The answer is the file's name without its ending."""
    path = build.out(name if selection.is_all else name + "-part")
    with open(path + ".md", "w") as file:
        file.write(text)
    print(text)
    return path


def append_records(records):
    if os.environ.get("BENCH_OUT"):
        append_lines(os.environ["BENCH_OUT"], records)


def main(body):
    """body(begin), with the time it began. What a contestant complains of ends it."""
    try:
        body(time.monotonic())
    except RuntimeError as failure:
        raise SystemExit("bench: %s" % failure)
