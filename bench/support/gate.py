# SPDX-License-Identifier: MIT
"""Runs programs one at a time and measures how much CPU everybody else used meanwhile.

Foreign CPU is the machine's busy time (/proc/stat, time stolen by the
hypervisor included) less what the program and this driver used, as a fraction
of one core. /proc/stat counts in ticks, so a short run cannot be judged more
finely than two of them.

With BENCH_RAW every single run is appended to that file as a JSON object.
"""
import json
import os
import re
import resource
import subprocess
import sys
import time

TICK = 1.0 / os.sysconf("SC_CLK_TCK")
QUIET = 0.25    # others may use this much of a core before a run starts
TOLERATED = 0.08  # and this much during a run before it is repeated

# A clean environment: no tuning variable of a runtime or of malloc gets through.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C"}


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- Every single run --------------------------------------------------------

BEGAN = float(os.environ.get("BENCH_BEGAN") or time.monotonic())  # of the whole table, or of this part of it


def without_places(word):
    """No folder of this machine: what is left of a path is its last name."""
    return re.sub(r"(?<![\w./:-])/(?:[^/\s=]+/)*(?=[^/\s])", "", str(word))


def shortened(answer):
    """Whole numbers without their .0: there are many of them."""
    return {key: int(value) if isinstance(value, float) and value.is_integer() else value for key, value in answer.items()}


def write_raw(command, answers, foreign, kept=True, at=None):
    """`kept` is false for a run that others disturbed, and that was run again; `at` is when it was over, if not now."""
    path = os.environ.get("BENCH_RAW")
    if path:
        program, *words = map(without_places, command)
        part = os.path.basename(os.path.dirname(os.path.abspath(sys.argv[0])))
        line = {"part": part, "program": program, "words": words, "answers": [shortened(answer) for answer in answers],
                "foreign": round(foreign, 4), "kept": kept, "at_s": round((at or time.monotonic()) - BEGAN, 2)}
        with open(path, "a") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


# ---- Foreign CPU -------------------------------------------------------------

def busy_seconds():
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) * TICK


# Servers of the run: what they use is not foreign.
SERVERS = set()


def seconds_of(pid, with_ended):
    """CPU of a process, and of the children that it has waited for; 0 if it is gone."""
    try:
        with open("/proc/%d/stat" % pid) as stat:
            words = stat.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15 if with_ended else 13])) * TICK


def children_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def served_seconds():
    return sum(seconds_of(pid, True) + sum(seconds_of(child, False) for child in children_of(pid)) for pid in SERVERS)


def own_seconds():
    """CPU of this process and of the children it has waited for, and of the servers."""
    total = served_seconds()
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


class Meter:
    """Foreign CPU between its making and foreign()."""

    def __init__(self):
        self.wall, self.busy, self.own = time.monotonic(), busy_seconds(), own_seconds()

    def foreign(self):
        wall = time.monotonic() - self.wall
        foreign = (busy_seconds() - self.busy) - (own_seconds() - self.own)
        return max(0.0, foreign / wall), max(TOLERATED, 2 * TICK / wall)


class Gate:
    def __init__(self, patience, tries, seconds=None, extra=None):
        self.default_deadline = patience  # seconds that may be spent waiting for quiet, in all
        self.tries = tries        # runs of one measurement at most
        self.end = None if seconds is None else time.monotonic() + seconds  # afterwards nothing is repeated
        self.extra = extra        # seconds that waiting and repeating may take together; None: as many as they like
        self.repeated = 0

    def spend(self, seconds):
        if self.extra is not None:
            self.extra -= seconds

    def is_late(self, seconds=0.0):
        """Whether there is no time for something more that takes so long."""
        return (self.end is not None and time.monotonic() > self.end) or (self.extra is not None and self.extra <= seconds)

    def wait_for_quiet(self):
        while self.default_deadline > 0 and not self.is_late():
            meter = Meter()
            time.sleep(0.2)
            foreign, _ = meter.foreign()
            if foreign < QUIET:
                return
            self.default_deadline -= 0.2
            self.spend(0.2)
            if self.default_deadline <= 0 or self.is_late():
                say("bench: the machine does not become quiet; going on, see the foreign column")

    def run(self, command, seconds=0.0, by=None):
        """Runs the program, again and again until `seconds` have passed, and repeats the whole if others disturbed it.

        The answer is the list of its key=value lines as dicts, and the foreign CPU: of the least disturbed try. by(command) is for
        a program that runs already.
        """
        tried = []  # what was answered, the foreign CPU, and when it was over
        for attempt in range(self.tries):
            if attempt > 0:
                self.repeated += 1
                self.wait_for_quiet()
            meter = Meter()
            results = [(by or self.execute)(command)]
            while time.monotonic() - meter.wall < seconds:
                results.append((by or self.execute)(command))
            foreign, tolerated = meter.foreign()
            took = time.monotonic() - meter.wall
            tried.append((results, foreign, meter.wall + took))
            if attempt > 0:
                self.spend(took)
            if foreign <= tolerated or self.is_late(took):
                break
        best = min(tried, key=lambda each: each[1])
        for results, foreign, at in tried:
            write_raw(command, results, foreign, results is best[0], at)
        return best[:2]

    def execute(self, command):
        """For those who look at something else meanwhile."""
        return execute(command)

    def run_once(self, command, by=None):
        """One run of it; the answer has the foreign CPU in it."""
        answers, foreign = self.run(command, by=by)
        return {**answers[0], "foreign": foreign}


def in_turns(names, repetition):
    """Another one begins each time."""
    turn = repetition % len(names)
    return names[turn:] + names[:turn]


def execute(command, environment=None):
    command = [str(word) for word in command]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                              env={**ENVIRONMENT, **(environment or {})})
    except subprocess.TimeoutExpired:
        raise RuntimeError("%s: no end after 120 s" % " ".join(command))
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(command), done.stderr.strip() or "status %d" % done.returncode))
    return fields(done.stdout)


def fields(text):
    return {key: float(value) for key, value in (word.split("=") for word in text.split())}


def split(answer):
    """By contestant, what one process answered of several: NAME.KEY=VALUE."""
    each = {}
    for key, value in answer.items():
        name, dot, rest = key.rpartition(".")
        if dot:
            each.setdefault(name, {"foreign": answer["foreign"], "elapsed_ms": answer["elapsed_ms"]})[rest] = value
    return each


def must_refuse(command, text, environment=None):
    """The harness must find out that the program does it wrong, and say so in these words, or in one of several."""
    try:
        execute(command, environment)
    except RuntimeError as refusal:
        if any(each in str(refusal) for each in ([text] if isinstance(text, str) else text)):
            return
        raise
    raise SystemExit("bench: the harness did not notice: %s %s" % (" ".join(map(str, command)), environment or ""))
