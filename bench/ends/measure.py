# SPDX-License-Identifier: MIT
"""The benchmark end to end: runs what is selected beside real servers. bench/README.md says how and why."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import gate
import measuring
import page
from cells import CONNECTIONS, FULL_NAMES, REPETITIONS, SECONDS, Selection
from gate import execute, in_turns, must_refuse, say
from measuring import QUICK
from programs import build_ends
from servers import Server
from targets import targets
from watching import Watch, wait_until_alone

WHOLE = 215    # seconds after which nothing is repeated
LONGEST = 300  # and after which, on a busy machine, no repetition is begun
LEAST = 3      # repetitions there are in any case


class WatchingGate(gate.Gate):
    """Looks at the server during each run, and refuses whoever has more connections than the pool may have."""
    port, connections, seconds = None, CONNECTIONS, SECONDS

    def execute(self, command):
        if self.port is None:
            return execute(command)
        wait_until_alone(self.port)
        with Watch(self.port) as watch:
            answer = execute(command)
        if watch.most > self.connections:
            raise RuntimeError("%s: the server had %d connections, and %d were allowed" % (" ".join(map(str, command)), watch.most,
                                                                                          self.connections))
        cores = watch.cores(0.6 * self.seconds)
        return {**answer, "most": watch.most, "cpu_s_per_100k": answer["cpu_s"] * 1e5 / answer["asked"],
                **({} if cores is None else {"server_cpu_s_per_100k": cores * 1e5 / answer["per_s"]})}


def make_gate(selection):
    if QUICK:
        return WatchingGate(patience=2, tries=2, seconds=15)
    return WatchingGate(patience=25 if selection.is_all else 20, tries=3, seconds=WHOLE)


class Bench(measuring.Bench):
    def __init__(self, selection, programs, gates, figures):
        super().__init__(selection, programs, gates, figures)
        servers = {"pq": Server("POSTGRESQL"), "redis": Server("REDIS")}
        self.ports = {name: server.port for name, server in servers.items()}
        gate.SERVERS.update(server.pid() for server in servers.values())
        servers["redis"].put_key()

    def self_test(self):
        """Each contestant must notice a wrong answer, and the driver a connection too many."""
        for cell in self.selection.cells:
            for name in self.selection.of(cell):
                words = [self.programs[name], cell.name, "127.0.0.1", self.ports[cell.name], 2, 2, 0.05]
                must_refuse(words, "an answer was wrong", {"BENCH_BROKEN": "answer"})
            strict = WatchingGate(patience=0, tries=1)
            strict.port, strict.connections = self.ports[cell.name], 2
            strict.execute([*words[:5], 2, 0.3])
            try:
                strict.execute([*words[:4], 3, 3, 0.3])
            except RuntimeError as refusal:
                if "3 connections, and 2 were allowed" in str(refusal):
                    continue
                raise
            raise SystemExit("bench: the harness did not notice a third connection")

    def cell(self, cell, repetition):
        self.gate.wait_for_quiet()
        self.gate.port = self.ports[cell.name]
        line = []
        for contestant in in_turns(self.selection.of(cell), repetition):
            answer = self.gate.run_once(cell.command(self.programs, contestant, self.gate.port))
            self.figures.runs.setdefault((cell.name, contestant), []).append(answer)
            line.append("%s %.1f, %.2f ms" % (contestant, answer["per_s"] / 1000, answer["wait_p99_us"] / 1000))
        self.gate.port = None
        say("  %s, thousand a second, p99 of waits: %s" % (cell.name, "; ".join(line)))

    def everything(self):
        self.self_test()
        begun = time.monotonic()
        for number in range(REPETITIONS):
            if number >= LEAST and (time.monotonic() - begun) * (number + 1) / number > LONGEST:
                say("bench: there is no time for repetition %d" % (number + 1))
                break
            self.begin(number)
            for cell in self.selection.cells:
                self.cell(cell, number)
        return self.figures


def build_all():
    return build_ends([*Selection().programs(), "with-server", "pingpong"])


def main(begin):
    selection = Selection()
    programs = build_all()
    gates = make_gate(selection)
    figures = Bench(selection, programs, gates, measuring.Figures()).everything()
    verdicts = targets(selection, figures)
    measuring.write("ends", selection, page.document(selection, figures, verdicts, gates, time.monotonic() - begin))
    measuring.append_records(page.records(selection, figures, verdicts), FULL_NAMES)


if __name__ == "__main__":
    if sys.argv[1:] == ["--build"]:
        say("bench: building")
        print(build_all()["with-server"])
    else:
        measuring.main(main)
