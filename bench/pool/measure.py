# SPDX-License-Identifier: MIT
"""The pool benchmark: runs what is selected and writes what came of it. bench/README.md says how and why."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import gate as gates
import measuring
import page
from cells import BUDGET, FULL_NAMES, JAVA, LEFT_OUT, WARM, Selection
from gate import execute, must_refuse, say
from measuring import QUICK, REPETITIONS
from programs import build_pool
from talk import Talk
from targets import targets

FLOOR_SIZES = [1, 10]
GROWTH = {  # name -> words for pool-growth or pool-cancel, quick and whole
    "pairs": (["pairs", 5], ["pairs", 31], [10, 1000, 100_000, 1_000_000]),
    "find": (["find", 5], ["find", 51], [10, 10_000, 1_000_000]),
    "hand": (["hand", 50, "overtake"], ["hand", 500, "overtake"], [10, 100, 1000, 10_000]),
    "hand-strict": (["hand", 50, "strict"], ["hand", 500, "strict"], [10, 100, 1000, 10_000]),
    "leave": (["leave", 100], ["leave", 200], [10, 100, 1000, 10_000]),
    "cancel": ([11], [51], [10, 100, 1000, 10_000]),
}
OTHER_RULES = {"crossbeam", "channel", "hikari", "ruby", "poolboy", "sqlalchemy"}  # one for each language that has the rules again
MEMORY_SIZES = [10, 100, 10_000, 1_000_000]


def self_test(programs):
    """The harness must refuse each planted bug, by each of its checks, and pass the sound pool."""
    alone = [programs["broken"], 1, 3, 0, 0.1]
    crowd = [programs["broken"], 2, 2, 1_000_000, 0.2, "asleep"]  # they overlap even on a busy machine
    execute(alone)
    execute(crowd)
    must_refuse(alone, "twice", {"BENCH_BROKEN": "confuse"})
    must_refuse([programs["broken"], 1, 1, 0, 0.05], "more objects", {"BENCH_BROKEN": "double"})
    must_refuse(crowd, "shared", {"BENCH_BROKEN": "double"})
    must_refuse(alone, "too long", {"BENCH_BROKEN": "lose"})
    for name in sorted(OTHER_RULES & set(programs)):
        run = [programs[name], 2, 2, 0, 0.2, *["warm=0.2"] * (name in JAVA)]
        must_refuse(run, ("shared", "twice", "more objects"), {"BENCH_BROKEN": "share"})
        must_refuse(run, "too long", {"BENCH_BROKEN": "lose"})
    if "memory" in programs:
        run = [programs["memory"], "run", 2, 2, 0.05]
        if execute(run + ["malloc"])["allocations"] != 1 + execute(run)["allocations"]:
            raise SystemExit("bench: the harness did not notice an allocation")
        if not execute(run + ["map"])["mappings_changed"]:
            raise SystemExit("bench: the harness did not notice a new mapping")


class Figures(measuring.Figures):
    def __init__(self):
        super().__init__()
        self.floor = {}   # size -> list of answers
        self.deadlines = []  # answers
        self.growth = {}  # name -> list of answers
        self.memory = {}


class Bench(measuring.Bench):
    def __init__(self, *words):
        super().__init__(*words)
        self.talks = {}  # (contestant, a cell's kin) -> a process of Java's that stays for the repetition

    def run(self, cell, contestant):
        """A Java machine rehearses all cells that it will be told of, so that it has compiled what it needs before the first."""
        command = cell.command(self.programs, contestant)
        if contestant not in JAVA:
            return self.gate.run_once(command)
        key = (contestant, cell.kin())
        if key not in self.talks:
            kin = [each for each in self.selection.cells if each.kin() == cell.kin() and contestant in self.selection.of(each)]
            words = [",".join(map(str, each.command(self.programs, contestant)[1:])) for each in kin]
            self.talks[key] = Talk([command[0], "cells", "told", "warm=%g" % WARM, *words])
        try:
            return self.gate.run_once(command, lambda words: self.talks[key].ask(words[1:]))
        except RuntimeError:
            del self.talks[key]  # it has ended
            raise

    def end_talks(self):
        while self.talks:
            _, talk = self.talks.popitem()
            complaint = talk.end()
            if complaint:
                raise RuntimeError("%s: %s" % (talk.name, complaint))

    def calibrate(self):
        """All contestants do the same number of steps: the most that a microsecond was seen to hold."""
        self.gate.wait_for_quiet()
        steps = max(execute([self.programs["none"], "calibrate"])["steps_per_us"] for _ in range(5))
        gates.ENVIRONMENT["BENCH_STEPS_PER_US"] = "%.3f" % steps

    def cell(self, cell, repetition):
        names = [name for name in self.selection.of(cell) if repetition < cell.repetitions(name)]
        heading = "%s ns/pair%s" % (cell.name(), ", longest wait" if cell.waits else "")
        self.turns(cell, cell.name(), names, repetition, heading, lambda answer: "%.1f%s" % (
            answer["ns"], ", %.1f ms" % answer["wait_max_ms"] if "wait_max_ms" in answer else ""))

    def repetition(self, number):
        cells = [c for c in self.selection.cells if any(number < c.repetitions(n) for n in self.selection.of(c))]
        floor = self.selection.has("floor") and number < (REPETITIONS or (1 if QUICK else 5))
        if not cells and not floor:
            return False
        self.begin(number)
        for size in FLOOR_SIZES if floor else []:
            answer = self.gate.run_once([self.programs["cenote"], "floor", 1, size, 5 if QUICK else 21, 0.02])
            self.figures.floor.setdefault(size, []).append(answer)
            say("  T1S%d: %.2f times the floor" % (size, answer["ratio"]))
        for cell in cells:
            self.cell(cell, number)
        self.end_talks()
        return True

    def expire(self):
        """A thousand takes with one deadline."""
        for _ in range(REPETITIONS or (1 if QUICK else 5)):
            self.gate.wait_for_quiet()
            answer = self.gate.run_once([self.programs["deadlines"], 3 if QUICK else 11, 1000])
            self.figures.deadlines.append(answer)
            say("  deadlines: %s" % ", ".join("%s %.1f" % item for item in answer.items() if item[0] != "foreign"))

    def grow(self):
        for name, (quick, whole, numbers) in GROWTH.items():
            for _ in range(REPETITIONS or (1 if QUICK else 3)):
                self.gate.wait_for_quiet()
                numbers = numbers[:3] if QUICK else numbers
                program = self.programs["cancel" if name == "cancel" else "growth"]
                answer = self.gate.run_once([program, *(quick if QUICK else whole), *numbers])
                self.figures.growth.setdefault(name, []).append(answer)
            say("  growth, %s: %s" % (name, ", ".join("%s %.1f" % item for item in answer.items() if item[0] != "foreign")))

    def remember(self):
        program = self.programs["memory"]
        self.figures.memory = execute([program, "sizes", *MEMORY_SIZES])
        for threads, size in ((8, 2), (64, 10)):
            answer = execute([program, "run", threads, size, 0.3 if QUICK else 1])
            if answer["waited"] == 0:
                raise SystemExit("bench: nobody waited in a run that was to be contended")
            self.figures.memory["allocations_T%dS%d" % (threads, size)] = answer["allocations"] + answer["mappings_changed"]

    def everything(self):
        self.calibrate()
        number = 0
        while self.has_time(number, BUDGET) and self.repetition(number):
            number += 1
        if self.selection.has("deadlines"):
            self.expire()
        if self.selection.has("growth"):
            self.grow()
        if self.selection.has("memory"):
            self.remember()
        return self.figures


def main(begin):
    selection = Selection()
    say("bench: building")
    programs = build_pool(selection.programs())
    self_test(programs)
    gate = measuring.gate_for(selection, budget=BUDGET, estimate=selection.estimate())
    figures = Bench(selection, programs, gate, Figures()).everything()
    verdicts = targets(figures, LEFT_OUT)
    text = page.document(selection, figures, verdicts, gate, time.monotonic() - begin)
    page.draw(selection, figures, measuring.write("pool", selection, text) + ".svg")
    measuring.append_records(page.records(selection, figures, verdicts), FULL_NAMES)


if __name__ == "__main__":
    measuring.main(main)
