# SPDX-License-Identifier: MIT
"""What the benchmarks of several parts share: what the environment asks for, the turns, and the way from build to report."""
import os
import time

import build
from gate import Gate, in_turns, say, without_places
from report import append_lines
from runs import Runs

QUICK = os.environ.get("BENCH_QUICK", "") not in ("", "0")
TABLE = os.environ.get("BENCH_TABLE", "") not in ("", "0")  # a part of the whole table: the cells that its claims need, no more
STRETCH = 1.15  # how far a busy machine may take a part over its budget
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


def budget(quick, table):
    """Seconds of wall time, building excepted, that a quick look or a part of the whole table has on a quiet machine. None: as
    many as it takes."""
    return quick if QUICK else table if TABLE else None


FAILURES = []  # what contestants complained of


def fail(failure):
    """A contestant that fails must not cost the figures of all others; they are written, and then the benchmark fails."""
    say("bench: FAILED: %s" % failure)
    FAILURES.append(str(failure))


LOOK, START = 0.2, 0.05  # seconds that a look at the machine takes, and a program of C, C++, Rust or Go beside what it measures


def choose(quick, table, alone):
    """What a quick look wants, what a part of the whole table, and what the benchmark alone."""
    return quick if QUICK else table if TABLE else alone


def estimate(repetitions, seconds, starts):
    """Seconds that a cell takes: of its contestants it is given how long each takes beside what it measures."""
    return repetitions * (LOOK * (not QUICK) + sum(seconds + start for start in starts)) if starts else 0.0


class Figures(Runs):
    """Everything that was measured; a benchmark adds its own."""

    def __init__(self):
        super().__init__()
        self.probe = []  # ns per round trip of a cache line, one per repetition


class Bench:
    def __init__(self, selection, programs, gate, figures):
        self.selection, self.programs, self.gate, self.figures = selection, programs, gate, figures
        self.begun = time.monotonic()  # the whole, and the repetition before this one
        self.last = None

    def begin(self, number):
        """Of a repetition: the probe."""
        self.gate.wait_for_quiet()
        self.figures.probe.append(self.gate.run_once([self.programs["pingpong"], 30])["round_trip_ns"])
        say("repetition %d: a cache line's round trip takes %.0f ns" % (number + 1, self.figures.probe[-1]))

    def has_time(self, number, budget, least=3):
        """Whether another repetition fits: a busy machine, on which everything starts slowly, must not stretch the whole by more
        than 15 %. Fewer than `least` make no median."""
        now = time.monotonic()
        took, self.last = now - (self.last or self.begun), now
        if budget is None or number < least or now + took < self.begun + STRETCH * budget:
            return True
        say("bench: %.0f s are over and there is no time for repetition %d" % (now - self.begun, number + 1))
        return False

    def look(self):
        """Before each cell; a quick look has no time for more than one of them."""
        if not QUICK:
            self.gate.wait_for_quiet()

    def run(self, cell, contestant):
        return self.gate.run_once(cell.command(self.programs, contestant))

    def turns(self, cell, name, contestants, repetition, heading, words):
        """All of them run the cell, another one first each time; words(answer) is for the line that is said."""
        if not contestants:
            return
        self.look()
        line = []
        for contestant in in_turns(contestants, repetition):
            try:
                answer = self.run(cell, contestant)
            except RuntimeError as failure:
                fail(failure)
                continue
            self.figures.runs.setdefault((name, contestant), []).append(answer)
            line.append("%s %s" % (contestant, words(answer)))
        say("  %s: %s" % (heading, "; ".join(line)))


def gate_for(selection, seconds=None, budget=None, estimate=0.0):
    """A busy machine must not keep a quick look for an hour. With a budget, what waiting and repeating may add is what the estimate
    leaves of it, and a tenth more."""
    if budget is not None:
        say("bench: some %.0f s of %d on a quiet machine" % (estimate, budget))
        extra = max(0.02 * budget, 1.1 * budget - estimate)
        patience = 2 if QUICK else 180 if selection.is_all else 20
        return Gate(patience=min(extra, patience), tries=2 if QUICK else 4, extra=extra)
    if QUICK:
        return Gate(patience=2, tries=2, seconds=15)
    if estimate:
        say("bench: some %.0f s on a quiet machine" % estimate)
    return Gate(patience=180 if selection.is_all else 20, tries=4, seconds=seconds)


def write(name, selection, text):
    """The answer is the file's name without its ending."""
    path = build.out(name if selection.is_all else name + "-part")
    if FAILURES:
        text += "\n## Failed\n\n" + "".join("- `%s`\n" % without_places(failure) for failure in FAILURES)
    with open(path + ".md", "w") as file:
        file.write(text)
    print(text)
    return path


def append_records(records, names=None):
    """names: what the contestants are called in tables, so that a table can be made of the records alone."""
    if os.environ.get("BENCH_OUT"):
        append_lines(os.environ["BENCH_OUT"], [{**record, **name_of(record, names or {})} for record in records])


def name_of(record, names):
    return {"name": names[record["contestant"]]} if record["contestant"] in names else {}


def main(body):
    """body(begin), with the time it began."""
    try:
        body(time.monotonic())
    except RuntimeError as failure:
        raise SystemExit("bench: %s" % failure)
    if FAILURES:
        raise SystemExit("bench: %d runs failed, the first: %s" % (len(FAILURES), FAILURES[0]))
