# SPDX-License-Identifier: MIT
"""The benchmark of routing: runs what is selected and writes what came of it. bench/README.md says how and why."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import measuring
import page
from cells import BUDGET, FULL_NAMES, ORIGINAL, REPETITIONS, Selection
from gate import execute, in_turns, must_refuse, say, split
from programs import build_route
from targets import targets


def self_test(programs):
    """The harness must refuse each planted bug, by each of its checks, and pass what is sound."""
    run = [programs["broken"], 10, 2, 1, 0.001]
    execute(run)
    must_refuse(run, "turn is uneven", {"BENCH_BROKEN": "skip"})
    must_refuse(run, "random is uneven", {"BENCH_BROKEN": "shun"})
    must_refuse(run, "is no member", {"BENCH_BROKEN": "foreign"})
    must_refuse(run, "nobody uses it", {"BENCH_BROKEN": "forget"})
    run = [programs["epoll"], "many", programs["server"], 2, 16, 0.5]  # long enough for a busy machine to come to the fault
    execute(run)
    must_refuse(run, "never answered", {"BENCH_BROKEN": "lose", "BENCH_PATIENCE": "1"})
    for fault in ("double", "corrupt", "swap"):
        must_refuse(run, "not what was sent", {"BENCH_BROKEN": fault})


class Bench(measuring.Bench):
    def picks(self, cell, repetition):
        wanted = self.selection.of(cell)
        names = [name for name in wanted if name not in ORIGINAL]
        if names:
            self.gate.wait_for_quiet()
            answers = split(self.gate.run_once(cell.together(self.programs, in_turns(names, repetition))))
            for name in names:
                self.figures.runs.setdefault((cell.name, name), []).append(answers[name])
            say("  %s ns: %s" % (cell.name, "; ".join("%s %.1f" % (name, answers[name]["ns"]) for name in names)))
        self.turns(cell, cell.name, [name for name in wanted if name in ORIGINAL], repetition, cell.name + " ns",
                   lambda answer: "%.1f" % answer["ns"])

    def mux(self, cell, repetition):
        self.turns(cell, cell.name, self.selection.of(cell), repetition, cell.name + " us, p99",
                   lambda answer: "%.2f, %.0f" % (answer["ns"] / 1000, answer["p99_ns"] / 1000))

    def everything(self):
        for number in range(REPETITIONS):
            if not self.has_time(number, BUDGET):
                break
            self.begin(number)
            for cell in self.selection.cells:
                (self.picks if cell.part == "picks" else self.mux)(cell, number)
        return self.figures


def main(begin):
    selection = Selection()
    say("bench: building")
    programs = build_route(selection.programs())
    self_test(programs)
    gate = measuring.gate_for(selection, seconds=420, budget=BUDGET, estimate=selection.estimate())
    figures = Bench(selection, programs, gate, measuring.Figures()).everything()
    verdicts = targets(figures)
    measuring.write("route", selection, page.document(selection, figures, verdicts, gate, time.monotonic() - begin))
    measuring.append_records(page.records(selection, figures, verdicts), FULL_NAMES)


if __name__ == "__main__":
    measuring.main(main)
