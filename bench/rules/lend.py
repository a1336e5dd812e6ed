# SPDX-License-Identifier: MIT
"""The rules of the pool benchmark for contestants in Python: those of lend.h, with the same words and answers.

Work is not lend.h's chain, which an interpreter would be many times slower at: a worker looks at the clock until the time has
passed. Each worker also looks at the clock to see whether the run is over, because one thread that was to say so might not get its
turn in time. A contestant calls main(make); make(plan) fills the pool with plan.objects and answers a Pool.
"""
import array
import gc
import itertools
import os
import sys
import threading
import time

now = time.monotonic_ns
BROKEN = os.environ.get("BENCH_BROKEN", "")  # a planted bug: share, lose, more
VICTIM = 20                                  # which give goes wrong
STEPS = 32                                   # of lengths.h


def fail(text):
    print(text, file=sys.stderr, flush=True)
    os._exit(1)  # other workers may be in the middle of anything


class Pool:
    """What a contestant brings: take() answers a lease, object_of(lease) what was lent, give(lease) gives it back. Without
    object_of the lease is the object. take() raises `late` if it waited too long."""

    def __init__(self, take, give, late, object_of=None):
        self.take, self.give, self.late, self.object_of = take, give, late, object_of or (lambda lease: lease)


class Plan:
    def __init__(self, words):
        if len(words) < 4:
            fail("usage: THREADS SIZE WORK-NS SECONDS [waits] [asleep]")
        self.threads, self.size, self.work_ns = (int(word) for word in words[:3])
        self.time_ns = int(float(words[3]) * 1e9)
        # A take waits no longer. Not the 5 s of lend.h, because there are pools that let single threads starve for a whole run.
        self.patience_s = 0.3 if BROKEN else 5 + self.time_ns / 1e9
        for word in words[4:]:
            if word not in ("waits", "asleep"):
                fail("%s is none of: waits, asleep" % word)
        self.waits, self.asleep = "waits" in words, "asleep" in words
        self.objects = []  # a contestant puts the SIZE objects here, which have uses = 0 and index


class Worker:
    def __init__(self):
        self.pairs = self.clashes = self.start = self.end = 0
        self.waited = array.array("q")


# ---- The run -----------------------------------------------------------------

def work(plan):
    if plan.asleep:
        time.sleep(plan.work_ns / 1e9)
        return
    until = now() + plan.work_ns
    while now() < until:
        pass


def loop(plan, pool, worker, until):
    take, give, object_of, waits = pool.take, pool.give, pool.object_of, plan.waits
    work_ns, note = plan.work_ns, worker.waited.append
    pairs = clashes = 0
    worker.start = now()
    while True:
        if waits:
            asked = now()
        lease = take()
        if waits:
            note(now() - asked)
        lent = object_of(lease)
        uses = lent.uses + 1
        lent.uses = uses
        if work_ns:
            work(plan)
        clashes += lent.uses != uses
        give(lease)
        pairs += 1
        if now() >= until[0]:
            break
    worker.end, worker.pairs, worker.clashes = now(), pairs, clashes


def run(plan, pool):
    """The workers, and the processor time that they used."""
    workers, until, used = [Worker() for _ in range(plan.threads)], [0], []

    def start():
        used.append(time.process_time())
        until[0] = now() + plan.time_ns

    barrier = threading.Barrier(plan.threads, action=start)

    def body(worker):
        barrier.wait()
        try:
            loop(plan, pool, worker, until)
        except pool.late:
            fail("a take waited too long")
        except Exception as failure:
            fail("%s: %s" % (type(failure).__name__, failure))

    threading.stack_size(256 << 10)
    threads = [threading.Thread(target=body, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return workers, time.process_time() - used[0]


def check_all_there(plan, pool):
    """Takes every object, to see that each is there once. Whoever wants one more then must wait."""
    leases, seen, more = [], set(), []
    for _ in range(plan.size):
        try:
            leases.append(pool.take())
        except pool.late:
            fail("a take waited too long: an object is lost")
        index = pool.object_of(leases[-1]).index
        if index in seen:
            fail("the pool lends object %d twice" % index)
        seen.add(index)
    asked = threading.Event()

    def take_one_more():
        asked.set()
        try:
            more.append(pool.take())
        except pool.late:
            pass

    threading.Thread(target=take_one_more, daemon=True).start()
    asked.wait()
    time.sleep(0.005)
    if more or len(seen) != len(plan.objects):
        fail("the pool lends more objects than were put in")


# ---- Planted bugs ------------------------------------------------------------

def plant(plan, pool):
    """share: everybody holds the first object; lose: a give is forgotten; more: when all are lent, the last is lent again."""
    take, give, gives, lent = pool.take, pool.give, itertools.count(), []

    def forgetful(lease):
        if next(gives) == VICTIM:
            lent.append(lease)  # or the lease would give itself back when nobody knows it any more
        else:
            give(lease)

    def generous():
        if len(lent) < plan.size:
            lent.append(take())
        return lent[-1]

    def noted(lease):
        lent.remove(lease)
        give(lease)

    if BROKEN == "share":
        pool.object_of = lambda lease: plan.objects[0]
    elif BROKEN == "lose":
        pool.give = forgetful
    elif BROKEN == "more":
        pool.take, pool.give = generous, noted
    elif BROKEN:
        fail("BENCH_BROKEN is none of: share, lose, more")


# ---- The answer --------------------------------------------------------------

def length_of(ns):
    length = max(ns, 1)
    power = length.bit_length() - 1
    return power * STEPS + ((length << 5 >> power) & (STEPS - 1))


def length_end(length):
    return (1 << length // STEPS) * (1 + (length % STEPS + 1) / STEPS)


def percentiles(times, parts):
    """By lengths, as the others have them: ns for each part."""
    counts = [0] * (64 * STEPS)
    for ns in times:
        counts[length_of(ns)] += 1
    answers, longest = [], max(times)
    for part in parts:
        running = 0
        for length, count in enumerate(counts):
            running += count
            if running > part * len(times):
                break
        answers.append(min(length_end(length), longest))
    return answers


def main(make):
    plan = Plan(sys.argv[1:])
    gc.disable()  # the objects of a large pool would be looked at again and again while it fills
    pool = make(plan)
    gc.enable()
    plant(plan, pool)
    workers, cpu_s = run(plan, pool)
    gc.disable()
    pairs, uses = sum(w.pairs for w in workers), sum(o.uses for o in plan.objects)
    clashes = sum(w.clashes for w in workers)
    if uses != pairs or clashes:
        fail("objects were shared: %d uses in %d pairs, %d seen by their holder" % (uses, pairs, clashes))
    check_all_there(plan, pool)
    elapsed, mean = max(w.end for w in workers) - min(w.start for w in workers), pairs / plan.threads
    words = ["ns=%.2f" % (elapsed / pairs), "smallest_share=%.3f" % (min(w.pairs for w in workers) / mean),
             "largest_share=%.3f" % (max(w.pairs for w in workers) / mean)]
    if plan.waits:
        waited = array.array("q")
        for worker in workers:
            waited.extend(worker.waited)
        p50, p99 = percentiles(waited, (0.5, 0.99))
        words += ["wait_p50_us=%.3f" % (p50 / 1e3), "wait_p99_us=%.3f" % (p99 / 1e3), "wait_max_ms=%.3f" % (max(waited) / 1e6),
                  "wait_mean_us=%.3f" % (sum(waited) / pairs / 1e3)]
    print(*words, "pairs=%d elapsed_ms=%.1f cpus=%.2f" % (pairs, elapsed / 1e6, cpu_s / (elapsed / 1e9)), flush=True)
    os._exit(0)  # somebody may be waiting for one more object
