# SPDX-License-Identifier: MIT
"""What routing is to cost at most, and whether it does. Every figure is compared with others of the same run."""
from cells import SIZES, THREADS
from report import Verdict

PEEK = 1.5      # a peek in its floor
FLAT = 1.2      # how much farther from its floor a call may be with more threads, or more members
TWO = 3.0       # two choices at two threads, in those by shared counters
ORIGINAL = 100  # a peek in the original's lookup and choice
MUX = 0.9       # throughput in that of the client by hand
ONE = 1.5       # a request by one caller in a bare send and recv

OWN = ["random", "turn"]  # the strategies that share nothing, and have a floor
# What is judged: the inline functions of quick_route.h, because a call costs as much as the floor. By call is shown beside it.
PEEK_BY, ROUTE_BY = "quick-peek-", "quick-route-"
PICKS = ["%d/%d" % (members, threads) for members in SIZES for threads in THREADS]


def verdict(figures, name, target, limit, at_least, by_cell, words):
    """Of the worst of several cells. by_cell: cell -> value, None where it was not measured."""
    known = {cell: value for cell, value in by_cell.items() if value is not None}
    if not known:
        return Verdict(name, target, "-", limit, None, at_least)
    worst = (min if at_least else max)(known, key=known.get)
    disturbed = any(figures.is_disturbed(cell) for cell in known)
    measured = words(worst, known[worst])
    if len(known) < len(by_cell):
        measured += "; %d of %d cells" % (len(known), len(by_cell))
    return Verdict(name, target, measured, limit, known[worst], at_least, disturbed)


def each(known):
    return ", ".join("%s: %.2f" % (cell, value) for cell, value in known.items() if value is not None) or "-"


def number(value):
    return "-" if value is None else "%.1f" % value


def peek(figures, strategy):
    ratios = {cell: figures.median(cell, PEEK_BY + strategy, "ratio") for cell in PICKS}
    words = "%.2fx at %s (%.1f to %.1f ns; by calls %s, and the floor behind three calls %s); %s"
    return verdict(figures, PEEK_BY + strategy, "at most %.1fx the RCU floor in every cell" % PEEK, PEEK, False, ratios,
                   lambda cell, value: words % (
                       value, cell, figures.median(cell, PEEK_BY + strategy, "ns"), figures.median(cell, strategy, "ns"),
                       number(figures.median(cell, "peek-" + strategy, "ns")),
                       number(figures.median(cell, strategy + "-called", "ns")), each(ratios)))


def flat(figures, name, what, pairs):
    """pairs: (cell, the cell it must not be worse than). Relative to the floor, because that is not quite flat either."""
    ratios, grown = {}, {}
    for larger, smaller in pairs:
        (r1, n1), (r2, n2) = ([figures.median(cell, name, key) for key in ("ratio", "ns")] for cell in (smaller, larger))
        ratios[larger] = r2 / r1 if r1 and r2 else None
        grown[larger] = n2 / n1 if n1 and n2 else None
    return verdict(figures, name, "flat %s: at most %.1fx, in multiples of the floor there" % (what, FLAT), FLAT, False, ratios,
                   lambda cell, value: "%.2fx at %s; in ns %s" % (value, cell, each(grown)))


def flats(figures, name):
    first, last = SIZES[0], SIZES[-1]
    return [
        flat(figures, name, "from 1 to 2 threads", [("%d/2" % size, "%d/1" % size) for size in SIZES]),
        flat(figures, name, "from %d to %s members" % (first, format(last, ",")),
             [("%d/%d" % (last, threads), "%d/%d" % (first, threads)) for threads in THREADS]),
    ]


def route(figures, strategy):
    """Allowed is what a peek may cost, and what the pair of read-modify-writes adds to the floor: that without any allowance."""
    values = {}
    for cell in PICKS:
        ours, floor, counted = (figures.median(cell, name, "ns") for name in (ROUTE_BY + strategy, strategy, strategy + "-counted"))
        values[cell] = ours / (PEEK * floor + counted - floor) if ours and floor and counted else None
    return verdict(figures, ROUTE_BY + strategy,
                   "route and done at most %.1fx the floor, plus what a pair of read-modify-writes adds, in every cell" % PEEK,
                   1.0, False, values,
                   lambda cell, value: "%.2f of that at %s: %.1f ns (by calls %s), the floor with its pair %.1f; %s" % (
                       value, cell, figures.median(cell, ROUTE_BY + strategy, "ns"),
                       number(figures.median(cell, "route-" + strategy, "ns")), figures.median(cell, strategy + "-counted", "ns"), each(values)))


def two_choices(figures):
    def times(cell):
        ours, shared = (figures.median(cell, name, "ns") for name in (ROUTE_BY + "two", "shared-two"))
        return shared / ours if ours and shared else None
    return verdict(figures, ROUTE_BY + "two", "two choices at 10/2 at least %.0fx as quick as by shared counters" % TWO, TWO, True,
                   {"10/2": times("10/2")},
                   lambda cell, value: "%.2fx (%.1f to %.1f ns; by calls %s); without a target %s" % (
                       value, figures.median(cell, ROUTE_BY + "two", "ns"), figures.median(cell, "shared-two", "ns"),
                       number(figures.median(cell, "route-two", "ns")), each({cell: times(cell) for cell in ("100/2", "10000/2")})))


def original(figures, strategy):
    def times(cell, name):
        ours, theirs = (figures.median(cell, each, "ns") for each in (name, "elixir-" + strategy))
        return theirs / ours if ours and theirs else None
    return verdict(figures, PEEK_BY + strategy, "at least %dx the original in every cell" % ORIGINAL, ORIGINAL, True,
                   {cell: times(cell, PEEK_BY + strategy) for cell in PICKS},
                   lambda cell, value: "%.0fx at %s (%.1f to %.1f ns; by calls %s); route and done, without a target, %s" % (
                       value, cell, figures.median(cell, PEEK_BY + strategy, "ns"),
                       figures.median(cell, "elixir-" + strategy, "ns"), number(figures.median(cell, "peek-" + strategy, "ns")),
                       "%.0fx" % times(cell, ROUTE_BY + strategy) if times(cell, ROUTE_BY + strategy) else "-"))


def mux(figures, cell):
    ours, theirs = (figures.median(cell, name, "per_s") for name in ("cenote", "epoll"))
    return verdict(figures, cell, "throughput at least %.1fx the client by hand" % MUX, MUX, True,
                   {cell: ours / theirs if ours and theirs else None},
                   lambda _, value: "%.2fx (%.0f to %.0f thousand a second), p50 %.0f to %.0f us, p99 %.0f to %.0f us" % (
                       value, ours / 1000, theirs / 1000, *(figures.median(cell, name, key) / 1000 for key in ("p50_ns", "p99_ns")
                                                            for name in ("cenote", "epoll"))))


def one(figures):
    ours, theirs = (figures.median("one", name, "ns") for name in ("cenote", "bare"))
    words = "%.2fx (%.1f to %.1f us), p50 %.1f to %.1f, CPU %.1f to %.1f us, slept %.2f to %.2f times a request"
    return verdict(figures, "one", "a request at most %.1fx a bare send and recv" % ONE, ONE, False,
                   {"one": ours / theirs if ours and theirs else None},
                   lambda cell, value: words % (
                       value, ours / 1000, theirs / 1000, *(figures.median(cell, name, key) / scale for key, scale in (
                           ("p50_ns", 1000), ("cpu_ns", 1000), ("waits", 1)) for name in ("cenote", "bare"))))


def targets(figures):
    verdicts = []
    for strategy in OWN:
        verdicts += [peek(figures, strategy), *flats(figures, PEEK_BY + strategy)]
    for strategy in OWN:
        verdicts += [route(figures, strategy), *flats(figures, ROUTE_BY + strategy)]
    verdicts += [two_choices(figures), *(original(figures, strategy) for strategy in OWN)]
    return [*verdicts, mux(figures, "mux64"), one(figures)]
