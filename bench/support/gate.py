# SPDX-License-Identifier: MIT
"""Runs programs one at a time and measures how much CPU everybody else used meanwhile.

Foreign CPU is the machine's busy time (/proc/stat, time stolen by the
hypervisor included) less what the program and this driver used, as a fraction
of one core. /proc/stat counts in ticks, so a short run cannot be judged more
finely than two of them.
"""
import os
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
    def __init__(self, patience, tries, seconds=None):
        self.patience = patience  # seconds that may be spent waiting for quiet, in all
        self.tries = tries        # runs of one measurement at most
        self.end = None if seconds is None else time.monotonic() + seconds  # afterwards nothing is repeated
        self.repeated = 0

    def is_late(self):
        return self.end is not None and time.monotonic() > self.end

    def wait_for_quiet(self):
        while self.patience > 0:
            meter = Meter()
            time.sleep(0.2)
            foreign, _ = meter.foreign()
            if foreign < QUIET:
                return
            self.patience -= 0.2
            if self.patience <= 0:
                say("bench: the machine does not become quiet; going on, see the foreign column")

    def run(self, command, seconds=0.0):
        """Runs the program, again and again until `seconds` have passed, and repeats the whole if others disturbed it.

        The answer is the list of its key=value lines as dicts, and the foreign CPU: of the least disturbed try.
        """
        best, least = None, None
        for attempt in range(self.tries):
            if attempt > 0:
                self.repeated += 1
                self.wait_for_quiet()
            meter = Meter()
            results = [execute(command)]
            while time.monotonic() - meter.wall < seconds:
                results.append(execute(command))
            foreign, tolerated = meter.foreign()
            if best is None or foreign < least:
                best, least = results, foreign
            if foreign <= tolerated or self.is_late():
                break
        return best, least

    def run_once(self, command):
        """One run of it; the answer has the foreign CPU in it."""
        answers, foreign = self.run(command)
        return {**answers[0], "foreign": foreign}


def in_turns(names, repetition):
    """Another one begins each time."""
    turn = repetition % len(names)
    return names[turn:] + names[:turn]


def execute(command, environment=None):
    command = [str(word) for word in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                          env={**ENVIRONMENT, **(environment or {})})
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(command), done.stderr.strip() or "status %d" % done.returncode))
    return {key: float(value) for key, value in (word.split("=") for word in done.stdout.split())}


def must_refuse(command, text, environment=None):
    """The harness must find out that the program does it wrong, and say so in these words."""
    try:
        execute(command, environment)
    except RuntimeError as refusal:
        if text in str(refusal):
            return
        raise
    raise SystemExit("bench: the harness did not notice: %s %s" % (" ".join(map(str, command)), environment or ""))
