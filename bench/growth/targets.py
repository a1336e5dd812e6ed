# SPDX-License-Identifier: MIT
"""How much cenote's costs may grow, and whether they do. Each is compared with the cost of the smallest number in the same run."""
import math
import statistics

from cells import ALONE, NUMBERS, THREADS, WORKS
from report import Verdict
from runs import Runs
from siblings import sibling

POOL = sibling("pool", "targets")
FLAT = 1.2      # members, in multiples of the floor where there is one
WAITERS = 2.0   # from ten to a hundred thousand
CROWDED = 2.0   # 1,024 threads in 64


def short(ns):
    return "%.2f" % ns if ns < 10 else "%.1f" % ns if ns < 1000 else format(round(ns), ",")


def of_line(figures, line, contestant, key="ns"):
    """number -> median."""
    found = {}
    for name, who in figures.runs:
        head, _, number = name.rpartition("/")
        values = [run[key] for run in figures.runs[name, who] if key in run]
        if head == line and who == contestant and values:
            found[int(number)] = statistics.median(values)
    return dict(sorted(found.items()))


def of_alone(figures, part, kind):
    runs = figures.alone.get((part, kind), [])
    prefix = next(row[6] for row in ALONE if row[:2] == (part, kind))
    keys = [key for key in (runs[0] if runs else {}) if key.startswith(prefix)]
    return {int(key[len(prefix):]): statistics.median(run[key] for run in runs) for key in keys}


def is_disturbed(runs):
    judge = Runs()
    judge.runs = {("", ""): [{"elapsed_ms": 1000.0, **run} for run in runs]}
    return judge.is_disturbed("")


def grown(name, sentence, costs, limit_of, disturbed, unit="ns"):
    """limit_of(factor): what a number that much larger than the smallest may cost, in the cost of that."""
    whole = limit_of(1000)
    target = "%s: at most %.1fx%s" % (sentence, whole, "" if limit_of(10) == whole else " for a factor of 1,000")
    if len(costs) < 2:
        return Verdict(name, target, "-", 1, None, False)
    least = min(costs)
    ratios = {number: costs[number] / costs[least] for number in costs if number > least}
    worst = max(ratios, key=lambda number: ratios[number] / limit_of(number / least))
    measured = "%.2fx at %s; %s %s" % (ratios[worst], format(worst, ","), ", ".join(
        "%s: %s" % (format(number, ","), short(cost)) for number, cost in costs.items()), unit)
    return Verdict(name, target, measured, 1, ratios[worst] / limit_of(worst / least), False, disturbed)


def at_most(limit):
    return lambda factor: limit


def line_is_disturbed(figures, line):
    return any(figures.is_disturbed(name) for name, who in figures.runs if name.rpartition("/")[0] == line)


def sizes(figures):
    def find_limit(factor):
        return POOL.FIND_GROWTH ** (math.log(factor) / math.log(1000))

    rows = [grown("size/T%d" % threads, "a pair by size, %d %s" % (threads, "thread" if threads == 1 else "threads"),
                  of_line(figures, "size/T%d" % threads, "cenote"), at_most(POOL.PAIR_GROWTH),
                  line_is_disturbed(figures, "size/T%d" % threads)) for threads in (1, 2)]
    return rows + [grown("size/find", "a pair whose take must look for the only idle object", of_alone(figures, "size", "find"),
                         find_limit, is_disturbed(figures.alone.get(("size", "find"), [])))]


def threads(figures):
    rows = []
    for work in WORKS:
        line = "threads/%d" % work
        costs = of_line(figures, line, "cenote")
        some = {number: costs[number] for number in (64, THREADS[-1]) if number in costs}
        rows.append(grown(line, "1,024 threads in 64, %s" % ("1 us of work" if work else "no work"), some, at_most(CROWDED),
                          line_is_disturbed(figures, line)))
    return rows


def waiters(figures):
    limits = {"serve": WAITERS, "cancel": WAITERS, "give": POOL.LINE_GROWTH, "give-strict": POOL.LINE_GROWTH,
              "leave": POOL.LINE_GROWTH}
    rows = [grown("waiters/" + row[1], row[7], of_alone(figures, "waiters", row[1]), at_most(limits[row[1]]),
                  is_disturbed(figures.alone.get(row[:2], []))) for row in ALONE if row[0] == "waiters"]
    return rows + [grown("waiters/asks", "a pair while so many ask, wait and ask again", of_line(figures, "waiters/asks", "cenote"),
                         at_most(WAITERS), line_is_disturbed(figures, "waiters/asks"))]


def beside_floor(name, sentence, figures, contestant, kind, disturbed):
    """What is judged is the multiple of the floor at each number; how both grow in themselves is said beside it, because the floor
    grows too: where members are many, their lines lie in a slower memory for everybody."""
    verdict = grown(name, sentence + ", in multiples of its floor there", of_line(figures, "members/picks", contestant, "ratio"),
                    at_most(FLAT), disturbed, "times the floor")
    floor = kind + "-counted" * contestant.startswith("route-")
    for who, title in ((contestant, "itself"), (floor, "the floor")):
        costs = of_line(figures, "members/picks", who)
        if len(costs) > 1:
            verdict.measured += "; %s %.1fx, %s to %s ns" % (title, costs[max(costs)] / costs[min(costs)], short(costs[min(costs)]),
                                                             short(costs[max(costs)]))
    return verdict


def members(figures):
    disturbed, rows = line_is_disturbed(figures, "members/picks"), []
    for name, sentence in (("quick-peek-random", "a random peek"), ("quick-peek-turn", "a peek in turn"),
                           ("quick-route-random", "a random route and done"), ("quick-route-turn", "a route in turn and done")):
        rows.append(grown("members/" + name, sentence + ", in multiples of its floor there",
                          of_line(figures, "members/picks", name, "ratio"), at_most(FLAT), disturbed, "times the floor"))
    for name, sentence in (("peek-two", "a peek by two choices"), ("route-two", "two choices and done"),
                           ("peek-hash", "a peek by consistent hash"), ("route-hash", "a route by consistent hash and done")):
        rows.append(beside_floor("members/" + name, sentence, figures, name, name.partition("-")[2], disturbed))
    return rows


def memory(figures):
    found = figures.memory
    slots = {int(key[6:]): value / int(key[6:]) for key, value in found.items() if key.startswith("bytes_")}
    worst = max((each for size, each in slots.items() if size >= POOL.FROM_SIZE), default=None)
    count = format(round(found["pending"]), ",") if found else format(NUMBERS[-1], ",")
    return [
        Verdict("memory/object", "at most %d bytes a slot from %d on" % (POOL.BYTES_A_SLOT, POOL.FROM_SIZE),
                ", ".join("%s: %.0f" % (format(size, ","), each) for size, each in slots.items()) or "-", POOL.BYTES_A_SLOT, worst,
                False),
        Verdict("memory/waiter", "the pool's own memory does not grow for %s who wait, nor does anybody allocate" % count,
                "%d bytes, %d allocations; a cen_take_op has %d bytes" % tuple(found[key] for key in (
                    "grown_bytes", "allocations", "take_bytes")) if found else "-",
                0, found["grown_bytes"] + found["allocations"] if found else None, False),
    ]


def targets(figures):
    return sizes(figures) + threads(figures) + waiters(figures) + members(figures) + memory(figures)
