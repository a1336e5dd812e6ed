# SPDX-License-Identifier: MIT
"""The asynchronous benchmark: runs what is selected and writes what came of it. bench/README.md says how and why."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import measuring
import page
from cells import BUDGET, FULL_NAMES, PENDING, REPETITIONS, Selection, pending_command
from gate import execute, in_turns, must_refuse, say
from measuring import QUICK
from programs import build_async
from targets import targets

GROWTH = [1000, 10_000, 100_000]
MICRO = {  # name -> words for async-micro, quick and whole
    "same": (["same", 5, 0.02], ["same", 31, 0.02]),
    "cross": (["cross", 300, 200], ["cross", 3000, 200]),
}


def self_test(programs):
    """The harness must refuse each planted bug, by each of its checks, and pass the sound pool."""
    run = [programs["broken"], 16, 4, 0, 0.1]
    execute(run)
    execute(run + ["stuck"])
    must_refuse(run, "shared", {"BENCH_BROKEN": "double"})
    must_refuse(run, "was lost", {"BENCH_BROKEN": "lose"})
    must_refuse(run, "never served", {"BENCH_BROKEN": "forget"})
    must_refuse(run, "may have", {"BENCH_BROKEN": "excess"})
    must_refuse(run, "never put in", {"BENCH_BROKEN": "foreign"})
    if "pending" in programs:
        run = [programs["pending"], "memory", 1000]
        if execute(run + ["malloc"])["allocations"] != 1 + execute(run)["allocations"]:
            raise SystemExit("bench: the harness did not notice an allocation")


class Figures(measuring.Figures):
    def __init__(self):
        super().__init__()
        self.pending = {}  # contestant -> list of answers
        self.micro = {}    # name -> list of answers
        self.growth = []
        self.memory = {}


class Bench(measuring.Bench):
    def cell(self, cell, repetition):
        self.turns(cell, cell.name, self.selection.of(cell), repetition, cell.name + " pairs/s, p99 us",
                   lambda answer: "%.0f, %.1f" % (answer["per_s"], answer["wait_p99_us"]))

    def wait_in_line(self, repetition):
        names = self.selection.waiting()
        for name in in_turns(names, repetition) if names else []:
            answer = self.gate.run_once(pending_command(self.programs, name))
            self.figures.pending.setdefault(name, []).append(answer)

    def micro(self):
        for name, (quick, whole) in MICRO.items():
            self.gate.wait_for_quiet()
            answer = self.gate.run_once([self.programs["micro"], *(quick if QUICK else whole)])
            self.figures.micro.setdefault(name, []).append(answer)
            say("  %s: %.2f times its floor" % (name, answer["ratio"]))

    def repetition(self, number):
        self.begin(number)
        if self.selection.has("micro"):
            self.micro()
        for cell in self.selection.cells:
            self.cell(cell, number)
        if number < 3:
            self.wait_in_line(number)
        if self.selection.has("growth") and number < 3:
            answer = self.gate.run_once([self.programs["pending"], "growth", 3 if QUICK else 7, *GROWTH])
            self.figures.growth.append(answer)

    def everything(self):
        for number in range(REPETITIONS):
            if not self.has_time(number, BUDGET):
                break
            self.repetition(number)
        if self.selection.has("memory"):
            self.figures.memory = execute([self.programs["pending"], "memory", PENDING])
        return self.figures


def main(begin):
    selection = Selection()
    say("bench: building")
    programs = build_async(selection.programs())
    self_test(programs)
    gate = measuring.gate_for(selection, seconds=480, budget=BUDGET, estimate=selection.estimate())
    figures = Bench(selection, programs, gate, Figures()).everything()
    verdicts = targets(figures)
    measuring.write("async", selection, page.document(selection, figures, verdicts, gate, time.monotonic() - begin))
    measuring.append_records(page.records(selection, figures, verdicts), FULL_NAMES)


if __name__ == "__main__":
    measuring.main(main)
