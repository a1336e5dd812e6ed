# SPDX-License-Identifier: MIT
"""The rules for programs in Python that ask a real server through a pool: those of ends.h, with the same words and answers.

A contestant calls main({"pq": Make}) or main({"redis": Make}); Make(plan) answers an object with open(), after which all
connections are there, and turn(), which asks once and answers when it had a connection, when it had the answer (both by now()), and
the answer.
"""
import array
import logging
import os
import sys
import threading
import time

from lend import fail, now, percentiles

RIGHT = {"pq": 1, "redis": b"value"}
WRONG = {"pq": 2, "redis": b"other"}  # a planted bug, BENCH_BROKEN=answer: the rules want another answer
SLOT_NS, PAUSE_S, STUCK_NS = 25_000_000, 0.02, 5_000_000_000


class Plan:
    def __init__(self, words, kinds):
        if len(words) not in (6, 7) or words[0] not in kinds:
            fail("usage: %s HOST PORT THREADS CONNECTIONS SECONDS [warm=SECONDS | outage=default|advised]" % "|".join(kinds))
        self.kind, self.host = words[:2]
        self.port, self.threads, self.connections = (int(word) for word in words[2:5])
        self.seconds, self.warm, self.outage = float(words[5]), 0, None
        name, _, value = words[6].partition("=") if len(words) == 7 else ("warm", "", "0")
        if name == "warm":
            self.warm = float(value)
        elif name == "outage" and value in ("default", "advised"):
            self.outage = value
        else:
            fail("%s is none of: warm=SECONDS, outage=default, outage=advised" % words[6])
        self.advised = self.outage == "advised"
        self.wanted = (WRONG if os.environ.get("BENCH_BROKEN") == "answer" else RIGHT)[self.kind]


def together(plan, bodies, start):
    """Threads that begin when all are there and start() has been called; not waited for."""
    barrier = threading.Barrier(plan.threads, action=start)

    def run(body):
        barrier.wait()
        body()

    threads = [threading.Thread(target=run, args=(body,), daemon=True) for body in bodies]
    for thread in threads:
        thread.start()
    return threads


# ---- How quick ---------------------------------------------------------------

class Worker:
    def __init__(self, plan, turn):
        self.plan, self.turn = plan, turn
        self.waits, self.calls, self.turns, self.end = array.array("q"), array.array("q"), array.array("q"), 0

    def loop(self, until):
        waits, calls, turns, turn, wanted = array.array("q"), array.array("q"), array.array("q"), self.turn, self.plan.wanted
        asked = now()
        while True:
            had, answered, answer = turn()
            if answer != wanted:
                fail("an answer was wrong: %r" % (answer,))
            waits.append(had - asked)
            calls.append(answered - had)
            over = now()
            turns.append(over - asked)
            asked = over
            if over >= until:
                break
        self.waits, self.calls, self.turns, self.end = waits, calls, turns, over

    def guarded(self, clock):
        try:
            self.loop(clock["until"])
        except Exception as failure:
            fail("%s: %s" % (type(failure).__name__, failure))


def phase(plan, workers, seconds):
    """When it began, and the processor time that was used in it."""
    clock = {}

    def start():
        clock.update(cpu=time.process_time(), begin=now(), until=now() + int(seconds * 1e9))

    for thread in together(plan, [lambda worker=worker: worker.guarded(clock) for worker in workers], start):
        thread.join()
    return clock["begin"], time.process_time() - clock["cpu"]


def percentile_by_time(times, part):
    """What no more than the rest of the time that they took together was in longer ones than."""
    rest = (1 - part) * sum(times)
    for ns in sorted(times, reverse=True):
        rest -= ns
        if rest < 0:
            return ns
    return 0


def measure(plan, contestant):
    workers = [Worker(plan, contestant.turn) for _ in range(plan.threads)]
    if plan.warm:
        phase(plan, workers, plan.warm)
    begin, cpu_s = phase(plan, workers, plan.seconds)
    elapsed = max(worker.end for worker in workers) - begin
    waits, calls, turns = array.array("q"), array.array("q"), array.array("q")
    for worker in workers:
        waits.extend(worker.waits)
        calls.extend(worker.calls)
        turns.extend(worker.turns)
    words = ["elapsed_ms=%.1f" % (elapsed / 1e6), "asked=%d" % len(waits), "per_s=%.1f" % (len(waits) / (elapsed / 1e9))]
    waited, called = percentiles(waits, (0.5, 0.99, 0.999)), percentiles(calls, (0.5, 0.99))
    words += ["wait_p50_us=%.1f wait_p99_us=%.1f wait_p999_us=%.1f" % tuple(ns / 1e3 for ns in waited)]
    words += ["wait_max_ms=%.3f" % (max(waits) / 1e6)]
    words += ["turn_p50_ms=%.4f turn_p99_ms=%.4f" % tuple(percentile_by_time(turns, part) / 1e6 for part in (0.5, 0.99))]
    words += ["call_p50_us=%.1f call_p99_us=%.1f" % tuple(ns / 1e3 for ns in called)]
    smallest = min(len(worker.waits) for worker in workers) * plan.threads / len(waits)
    print(*words, "cpu_s=%.3f smallest_share=%.3f" % (cpu_s, smallest), flush=True)


# ---- An outage ---------------------------------------------------------------

class Sufferer:
    def __init__(self, plan, turn):
        self.plan, self.turn = plan, turn
        self.ended, self.began, self.longest = [], 0, 0  # (when, whether it was answered); 0: between two turns

    def loop(self):
        while True:
            self.began = now()
            try:
                right = self.turn()[2] == self.plan.wanted
            except Exception:
                right = False
            end = now()
            self.longest = max(self.longest, end - self.began)
            self.ended.append((end, right))
            self.began = 0
            time.sleep(PAUSE_S)


def suffer(plan, contestant):
    logging.disable(logging.WARNING)  # what a pool says of its failed connections is counted, not read
    workers = [Sufferer(plan, contestant.turn) for _ in range(plan.threads)]
    started = threading.Event()

    def start():
        print("ready", flush=True)
        plan.begin = now()
        started.set()

    together(plan, [worker.loop for worker in workers], start)
    started.wait()
    time.sleep(plan.seconds)
    over = now()
    slots = [[0, 0] for _ in range(int(plan.seconds * 1e9) // SLOT_NS)]
    for worker in workers:
        for end, right in list(worker.ended):
            slot = (end - plan.begin) // SLOT_NS
            if slot < len(slots):
                slots[slot][0 if right else 1] += 1
    open_for = [over - began for began in [worker.began for worker in workers] if began]
    longest = max([worker.longest for worker in workers] + open_for)
    words = ["a%d=%d f%d=%d" % (i, slot[0], i, slot[1]) for i, slot in enumerate(slots)]
    print(*words, "longest_ms=%.1f stuck=%d" % (longest / 1e6, sum(ns > STUCK_NS for ns in open_for)), flush=True)


def main(makes):
    plan = Plan(sys.argv[1:], makes)
    try:
        contestant = makes[plan.kind](plan)
        contestant.open()
    except Exception as failure:
        fail("%s: %s" % (type(failure).__name__, failure))
    threading.stack_size(256 << 10)
    (suffer if plan.outage else measure)(plan, contestant)
    os._exit(0)  # connections and helpers of a pool may wait for anything
