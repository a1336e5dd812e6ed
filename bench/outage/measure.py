# SPDX-License-Identifier: MIT
"""What a program sees of an outage, through every pool at the same moment. Nothing here is a matter of nanoseconds: one run."""
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import faults
import gate
import measuring
import page
from cells import AFTER, APART, CONNECTIONS, CONTESTANTS, HEALTHY, THREADS, Selection
from gate import say
from programs import build_outage
from seen import Seen, self_test
from servers import Server

PATIENCE = 60  # seconds until all are ready


class Contestant:
    """A program behind a proxy of its own."""

    def __init__(self, name, program, proxy, server, setting, seconds):
        self.name, self.proxy, self.ready_at, self.line, self.errors = name, proxy, None, "", tempfile.TemporaryFile("w+")
        words = [program, server, "127.0.0.1", proxy.port, THREADS, CONNECTIONS, "%g" % seconds, "outage=" + setting]
        self.command = [str(word) for word in words]
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=gate.ENVIRONMENT)
        self.became_ready = threading.Event()
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        if self.process.stdout.readline().strip() == "ready":
            self.ready_at = time.monotonic()
        self.became_ready.set()
        self.line = self.process.stdout.read()

    def fail(self, what):
        self.errors.seek(0)
        raise RuntimeError("%s %s: %s" % (self.name, what, self.errors.read()[-500:].strip()))

    def expect_ready(self, until):
        if not self.became_ready.wait(max(0, until - time.monotonic())) or self.ready_at is None:
            self.fail("did not become ready")

    def expect_end(self, until):
        self.thread.join(max(0, until - time.monotonic()))
        if self.thread.is_alive() or self.process.wait() != 0 or not self.line:
            self.fail("did not end as it should")

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.errors.close()


def sleep_until(moment):
    time.sleep(max(0, moment - time.monotonic()))


def watch(outage, server, contestants, seconds):
    """The outage, as soon as all are ready; what each saw of it."""
    proxies, until = [each.proxy for each in contestants], time.monotonic() + PATIENCE
    for each in contestants:
        each.expect_ready(until)
    earliest, latest = min(each.ready_at for each in contestants), max(each.ready_at for each in contestants)
    sleep_until(latest + HEALTHY)
    began = time.monotonic()
    faults.begin(outage, server, proxies)
    sleep_until(began + outage.dark)
    if not outage.silent:
        server.start()
        if outage.server == "redis":
            server.put_key()
    ended = time.monotonic()
    faults.end(outage, server, proxies)
    after = min(AFTER, earliest + seconds - ended)
    if after < 1:
        raise RuntimeError("the contestants became ready %.1f s apart, and %d are allowed" % (latest - earliest, APART))
    sleep_until(ended + after)
    connects = [proxy.stats() for proxy in proxies]
    for each in contestants:
        each.expect_end(latest + seconds + 10)
    return [answer(each, began, ended, after, stats) for each, stats in zip(contestants, connects)]


def answer(each, began, ended, after, stats):
    try:
        seen = Seen(each.line, began - each.ready_at, ended - each.ready_at, after)
        seen.expect_an_outage()
    except RuntimeError as failure:
        raise RuntimeError("%s: %s" % (each.name, failure))
    return {"contestant": each.name, **seen.fields(), "connects": int(stats["accepted"]),
            "connects_peak_per_s": int(stats["peak_per_second"])}


def run(outage, setting, names, programs, server):
    """What all of them saw, and the foreign CPU meanwhile."""
    gate.SERVERS = {server.guardian(), server.pid()}
    meter = gate.Meter()
    answers, commands = run_all(outage, setting, names, programs, server)
    gate.SERVERS = {server.guardian(), server.pid()}
    foreign, _ = meter.foreign()
    for answer, command in zip(answers, commands):
        gate.write_raw(command, [answer], foreign)
    return [{**answer, "foreign": round(foreign, 3)} for answer in answers]


def run_all(outage, setting, names, programs, server):
    seconds = APART + HEALTHY + outage.dark + AFTER + (0 if outage.silent else 2)
    proxies = [faults.Proxy(programs["faultproxy"], server.port) for _ in names]
    contestants = []
    try:
        for name, proxy in zip(names, proxies):
            contestants.append(Contestant(name, programs[name], proxy, outage.server, setting, seconds))
        return watch(outage, server, contestants, seconds), [each.command for each in contestants]
    finally:
        for each in [*contestants, *proxies]:
            each.stop()


def build_all():
    return build_outage(Selection().programs())


def main(begin):
    selection, programs, runs = Selection(), build_all(), {}
    servers = {"pq": Server("POSTGRESQL"), "redis": Server("REDIS")}
    servers["redis"].put_key()
    self_test()
    for setting in selection.settings:
        for outage in selection.outages:
            say("%s, %s" % (outage.title, setting))
            runs[outage.name, setting] = run(outage, setting, selection.of(outage), programs, servers[outage.server])
            for row in page.rows(runs[outage.name, setting]):
                say("  " + " | ".join(row))
    measuring.write("outage", selection, page.document(selection, runs, time.monotonic() - begin))
    measuring.append_records(page.records(runs), CONTESTANTS)


if __name__ == "__main__":
    if sys.argv[1:] == ["--build"]:
        say("bench: building")
        print(build_all()["with-server"])
    else:
        measuring.main(main)
