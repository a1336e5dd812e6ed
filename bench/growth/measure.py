# SPDX-License-Identifier: MIT
"""The benchmark of growth: runs what is selected and writes what came of it. bench/README.md says how and why."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import gate as gates
import measuring
import page
import weight
from cells import HEAVY, JAVA, LIMITS, PENDING, Selection
from gate import execute, in_turns, must_refuse, say, split
from measuring import QUICK
from programs import build_growth
from targets import targets

SECONDS = 235  # afterwards nothing is repeated, neither for others who were busy nor as another repetition; then pools are weighed


def self_test(programs):
    """The rules refuse planted bugs here, too; each of their checks is tried in its own benchmark."""
    crowd = [programs["pool-broken"], 2, 2, 1_000_000, 0.2, "asleep"]
    execute(crowd)
    must_refuse(crowd, "shared", {"BENCH_BROKEN": "double"})
    asking = [programs["async-broken"], 16, 2, 0, 0.05]
    execute(asking)
    must_refuse(asking, "shared", {"BENCH_BROKEN": "double"})
    must_refuse([programs["route-broken"], 10, 2, 1, 0.001], "turn is uneven", {"BENCH_BROKEN": "skip"})
    must_refuse([programs["growth-waiters"], 1, 10], "out of turn", {"BENCH_BROKEN": "overtake"})
    weight.self_test()


class Figures(measuring.Figures):
    def __init__(self):
        super().__init__()
        self.failed = {}   # (cell's name, contestant) -> why: what a peer could not do
        self.alone = {}    # (part, kind) -> list of answers
        self.objects = {}  # contestant -> size -> bytes of an object, and of these its own
        self.waiters = {}  # the same of takes that wait
        self.memory = {}   # what cenote says itself


class Bench(measuring.Bench):
    def __init__(self, *words):
        super().__init__(*words)
        self.end, self.took = time.monotonic() + SECONDS, 0.0  # the repetition before this one

    def fits_in(self, number):
        """Whether there is time for that repetition. The second one is shorter than the first, which has what is measured once."""
        if time.monotonic() + self.took * (0.6 if number == 1 else 1) < self.end:
            return True
        say("bench: there is no time for repetition %d" % (number + 1))
        return False

    def attempt(self, key, contestant, action):
        """A peer that cannot do it is reported and not tried again; if cenote cannot, everything ends."""
        if (key, contestant) in self.figures.failed:
            return None
        try:
            return action()
        except (RuntimeError, subprocess.TimeoutExpired) as failure:
            if contestant == "cenote":
                raise
            self.figures.failed[key, contestant] = str(failure).rpartition(": ")[2].splitlines()[0]
            say("  %s: %s FAILED: %s" % (key, contestant, failure))
            return None

    def note(self, cell, contestant, answer, line):
        if answer is not None and answer["ns"] > 0:  # on a very busy machine the time may be over before all have asked
            answer.setdefault("elapsed_ms", 1000.0)
            self.figures.runs.setdefault((cell.name, contestant), []).append(answer)
            line.append("%s %.1f" % (contestant, answer["ns"]))

    def picks(self, cell, repetition, names, line):
        """Those in C, in one process, and the others' names."""
        in_c = [name for name in names if not name.startswith("elixir")]
        if in_c:
            answers = split(self.gate.run_once(cell.together(self.programs, in_turns(in_c, repetition))))
            for name in in_c:
                self.note(cell, name, answers[name], line)
        return [name for name in names if name not in in_c]

    def cell(self, cell, repetition):
        names = [name for name in self.selection.able(cell) if repetition < cell.repetitions(name)]
        line = []
        if cell.part == "members":
            names = self.picks(cell, repetition, names, line)
        for name in in_turns(names, repetition) if names else []:
            run = lambda: self.gate.run_once(cell.command(self.programs, name))
            self.note(cell, name, self.attempt(cell.name, name, run), line)
        if line:
            say("  %s ns: %s" % (cell.name, "; ".join(line)))

    def alone(self, repetition):
        """Rows that need the same run share it."""
        ran = {}
        for part, kind, program, quick, whole, numbers, _, _ in self.selection.alone():
            if repetition >= (1 if QUICK else 3 if program == "pool-growth" else 2):
                continue
            words = [program, *(quick if QUICK else whole)]
            numbers = [number for number in numbers if not (QUICK and number in (100, 10_000))]
            if tuple(words) not in ran:
                ran[tuple(words)] = self.gate.run_once([self.programs[program], *words[1:], *numbers])
            self.figures.alone.setdefault((part, kind), []).append(ran[tuple(words)])

    def repetition(self, number):
        self.begin(number)
        for part in self.selection.parts:
            self.gate.wait_for_quiet()
            for cell in self.selection.cells:
                if cell.part == part:
                    self.cell(cell, number)
        self.alone(number)

    def weigh(self):
        pools, waiters = self.selection.weighed()
        for name in pools:
            limit = LIMITS.get(("size", name), (HEAVY[-1], None))[0]
            sizes = sorted({min(size, limit) for size in HEAVY})
            found = self.attempt("memory/object", name, lambda: weight.pools(self.programs, name, sizes, 0.12 if QUICK else 0.4,
                                                                            name in JAVA))
            if found:
                self.figures.objects[name] = found
        for name in waiters:
            found = self.attempt("memory/waiter", name, lambda: weight.waiters(self.programs, name, PENDING))
            if found:
                self.figures.waiters[name] = found
        if "pool-memory" in self.programs:
            self.figures.memory = {**execute([self.programs["pool-memory"], "sizes", *HEAVY]),
                                   **execute([self.programs["async-pending"], "memory", PENDING[-1]])}

    def everything(self):
        gates.ENVIRONMENT["BENCH_STEPS_PER_US"] = "%.3f" % max(execute([self.programs["pool-none"], "calibrate"])["steps_per_us"]
                                                              for _ in range(3))
        number = 0
        while number < (measuring.REPETITIONS or (1 if QUICK else 3)) and (measuring.REPETITIONS or self.fits_in(number)):
            before = time.monotonic()
            self.repetition(number)
            number, self.took = number + 1, time.monotonic() - before
        if "memory" in self.selection.parts:
            self.weigh()
        return self.figures


def main(begin):
    selection = Selection()
    say("bench: building")
    programs = build_growth(selection.programs())
    self_test(programs)
    gate = measuring.gate_for(selection, seconds=SECONDS / 2)
    figures = Bench(selection, programs, gate, Figures()).everything()
    verdicts = targets(figures)
    text = page.document(selection, figures, verdicts, gate, time.monotonic() - begin)
    page.draw(figures, measuring.write("growth", selection, text) + ".svg")
    measuring.append_records(page.records(selection, figures, verdicts))


if __name__ == "__main__":
    measuring.main(main)
