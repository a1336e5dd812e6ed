# SPDX-License-Identifier: MIT
"""The crew benchmark: runs what is selected and writes what came of it. bench/README.md says how and why."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import measuring
import page
from cells import BUDGET, FULL_NAMES, REPETITIONS, Selection
from gate import execute, must_refuse, say
from measuring import QUICK
from motives import MOTIVES
from programs import build_crew
from targets import targets

SCALES = {"ns": 1, "us": 1000}


def self_test(programs):
    """The harness must refuse each planted bug, by each of its checks, and pass the sound queue."""
    impatient = {"BENCH_PATIENCE": "0.5"}
    for cell in ("submit1", "submit2", "spawn"):
        run = [programs["broken"], cell, 0.05]
        execute(run)
        must_refuse(run, "never ran", {"BENCH_BROKEN": "lose", **impatient})
        must_refuse(run, "ran twice", {"BENCH_BROKEN": "double", **impatient})
    for cell in ("chain", "pairs"):
        must_refuse([programs["broken"], cell, 0.05], "never ran", {"BENCH_BROKEN": "lose", **impatient})
    must_refuse([programs["broken"], "result", 0.2], "task 0", {"BENCH_BROKEN": "double"})  # too early, or twice


class Figures(measuring.Figures):
    def __init__(self):
        super().__init__()
        self.wake = []     # answers of the yardstick, one per repetition
        self.motives = {}  # name -> list of answers


class Bench(measuring.Bench):
    def yardstick(self):
        answer = self.gate.run_once([self.programs["wake"], *((3000, 30) if QUICK else (20000, 200))])
        if answer["slept"] < 0.95:
            say("bench: in the yardstick a thread often did not sleep")
        self.figures.wake.append(answer)
        say("  a wake-up across cores: %.1f us, after 10 ms of idleness %.1f us" % (
            answer["wake_ns"] / 1000, answer["idle_wake_ns"] / 1000))

    def cell(self, cell, repetition):
        def words(answer):
            return "%.2f" % answer["cpu_ms"] if cell.name == "idle" else "%.1f" % (answer["ns"] / SCALES[cell.unit])
        self.turns(cell, cell.name, self.selection.of(cell), repetition, "%s %s" % (cell.name, cell.unit), words)

    def motives(self):
        for motive in MOTIVES:
            self.gate.wait_for_quiet()
            answer = self.gate.run_once([self.programs["motives"], motive.name, *motive.words()])
            self.figures.motives.setdefault(motive.name, []).append(answer)
            say("  %s: %s" % (motive.name, motive.line(answer)))

    def everything(self):
        for number in range(REPETITIONS):
            if not self.has_time(number, BUDGET):
                break
            self.begin(number)
            self.yardstick()
            for cell in self.selection.cells:
                if number < cell.repetitions:
                    self.cell(cell, number)
            if self.selection.has("motives") and number < 3:
                self.motives()
        return self.figures


def main(begin):
    selection = Selection()
    say("bench: building")
    programs = build_crew(selection.programs())
    self_test(programs)
    gate = measuring.gate_for(selection, seconds=420, budget=BUDGET, estimate=selection.estimate())
    figures = Bench(selection, programs, gate, Figures()).everything()
    verdicts = targets(figures)
    measuring.write("crew", selection, page.document(selection, figures, verdicts, gate, time.monotonic() - begin))
    measuring.append_records(page.records(selection, figures, verdicts), FULL_NAMES)


if __name__ == "__main__":
    measuring.main(main)
