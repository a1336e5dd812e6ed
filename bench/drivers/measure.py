# SPDX-License-Identifier: MIT
"""The benchmark of the drivers: runs what is selected beside real servers. bench/README.md says how and why."""
import csv
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import counting
import gate
import measuring
import page
from bouncer import Bouncer
from cells import PAIRS, SECONDS, THREADS, Selection
from gate import execute, in_turns, must_refuse, say
from measuring import QUICK
from programs import build_drivers
from targets import targets

PASSWORD = "secret"


class Figures(measuring.Figures):
    def __init__(self):
        super().__init__()
        self.counted = {}  # "instructions", "calls" -> way -> for a query


def redis_benchmark(port):
    """As the others answer."""
    count = 5000 if QUICK else 100000
    command = ["/usr/bin/redis-benchmark", "-p", str(port), "-a", PASSWORD, "-c", str(THREADS), "-n", str(count), "-t", "get", "--csv"]
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120)
    row = list(csv.DictReader(done.stdout.splitlines()))[0]
    return {"elapsed_ms": 1000 * (time.monotonic() - begin), "per_s": float(row["rps"]),
            "p50_ns": 1e6 * float(row["p50_latency_ms"]), "p99_ns": 1e6 * float(row["p99_latency_ms"])}


class Bench(measuring.Bench):
    def __init__(self, selection, programs, gates, figures):
        super().__init__(selection, programs, gates, figures)
        self.pq, self.redis = os.environ["CENOTE_POSTGRESQL_URL"], os.environ["CENOTE_REDIS_URL"]
        self.redis_port = int(os.environ["CENOTE_REDIS_PORT"])
        gate.ENVIRONMENT.update(BENCH_ADMIN=os.environ["CENOTE_POSTGRESQL_ADMIN_URL"], BENCH_PASSWORD=PASSWORD)
        gate.SERVERS.update(int(os.environ["CENOTE_%s_PID" % name]) for name in ("POSTGRESQL", "REDIS"))

    def self_test(self):
        """The harness must refuse a wrong answer, and pass a right one."""
        for name, url in (("pq", self.pq), ("redis", self.redis)):
            for way in ("own", "pool"):
                run = [self.programs[name], way, url, 2, 2, 0.05]
                execute(run)
                must_refuse(run, "an answer was wrong", {"BENCH_BROKEN": "answer"})

    def command(self, cell, contestant, bouncer):
        if cell.part == "loop":
            return [self.programs["loop"], contestant, self.pq, 1000, 8, SECONDS]
        if cell.part == "redis":
            return [self.programs["redis"], contestant, self.redis, THREADS, THREADS, SECONDS]
        connections = 4 if cell.name == "bouncer4" else THREADS
        if contestant == "bouncer":
            return [self.programs["pq"], "own", bouncer.url, THREADS, connections, SECONDS]
        return [self.programs["pq"], contestant, self.pq, THREADS, connections, SECONDS]

    def one(self, cell, contestant, bouncer):
        if contestant != "redis-benchmark":
            return self.gate.run_once(self.command(cell, contestant, bouncer))
        meter = gate.Meter()
        answer = redis_benchmark(self.redis_port)
        return {**answer, "foreign": meter.foreign()[0]}

    def cell(self, cell, repetition):
        bouncer = Bouncer(self.pq, 4 if cell.name == "bouncer4" else THREADS) if cell.part == "bouncer" else None
        if bouncer:
            gate.SERVERS.add(bouncer.process.pid)
        try:
            self.gate.wait_for_quiet()
            line = []
            for contestant in in_turns(cell.of(repetition), repetition):
                answer = self.one(cell, contestant, bouncer)
                self.figures.runs.setdefault((cell.name, contestant), []).append(answer)
                line.append("%s %.1f" % (contestant, answer["per_s"] / 1000))
            say("  %s thousand a second: %s" % (cell.name, "; ".join(line)))
        finally:
            if bouncer:
                gate.SERVERS.discard(bouncer.process.pid)
                bouncer.stop()

    def count(self):
        few, more = (20, 120) if QUICK else (50, 550)
        for key, way_to, ways in (("instructions", counting.instructions, ["pool"]), ("calls", counting.calls, ["own", "pool"])):
            self.figures.counted[key] = {
                way: counting.for_a_query(way_to, self.programs["pq"], way, self.pq, THREADS, few, more) for way in ways}
            say("  %s for a query: %s" % (key, ", ".join("%s %.2f" % pair for pair in self.figures.counted[key].items())))

    def everything(self):
        self.self_test()
        if self.selection.has("count"):
            self.count()
        for number in range(PAIRS):
            self.begin(number)
            for cell in self.selection.cells:
                self.cell(cell, number)
        return self.figures


def main(begin):
    selection = Selection()
    programs = build_drivers()
    gates = measuring.gate_for(selection, seconds=600)
    figures = Bench(selection, programs, gates, Figures()).everything()
    verdicts = targets(figures)
    measuring.write("drivers", selection, page.document(selection, figures, verdicts, gates, time.monotonic() - begin))
    measuring.append_records(page.records(selection, figures, verdicts))


if __name__ == "__main__":
    if sys.argv[1:] == ["--build"]:
        say("bench: building")
        print(build_drivers()["with-server"])
    else:
        measuring.main(main)
