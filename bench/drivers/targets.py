# SPDX-License-Identifier: MIT
"""What pooling is to cost at most, and whether it does. Every figure is compared with others of the same run."""
from pairs import interval, ratio_words
from report import Verdict

INSTRUCTIONS = 100  # fewer for each query than threads with connections of their own
CALLS = 0.01        # system calls more for each query: none, but for what happens once in a run


def free(figures, cell, title, other="own", words="threads with their own"):
    ours, theirs = figures.values(cell, "pool", "per_s"), figures.values(cell, other, "per_s")
    target = "%s: the 95 %% interval of the ratio to %s includes 1, or is above" % (title, words)
    if len(ours) < 2:
        return Verdict(cell, target, "-", 1, None, True)
    ratio = interval(ours, theirs)
    return Verdict(cell, target, "%s, %d pairs" % (ratio_words(ratio), len(ours)), 1.0, ratio[2], True, figures.is_disturbed(cell))


def ahead(figures, cell, ours, peer, title, least=1.0):
    mine, others = figures.values(cell, ours, "per_s"), figures.values(cell, peer, "per_s")
    target = "%s: at least %.1fx" % (title, least)
    if len(mine) < 2:
        return Verdict(cell, target, "-", least, None, True)
    ratio = interval(mine, others)
    words = "%s; p99 %.0f to %.0f us" % (ratio_words(ratio), *(figures.median(cell, name, "p99_ns") / 1000 for name in (ours, peer)))
    return Verdict(cell, target, words, least, ratio[0], True, figures.is_disturbed(cell))


def at_most(figures):
    """The server never sees more than max."""
    seen = {cell: max(figures.values(cell, "pool", "most"), default=None) for cell in ("pq16", "bouncer4")}
    known = {cell: (most, 16 if cell == "pq16" else 4) for cell, most in seen.items() if most is not None}
    if not known:
        return Verdict("max", "the server never sees more connections than max", "-", 1, None, False)
    worst = max(most / limit for most, limit in known.values())
    words = ", ".join("%s: %d of %d" % (cell, most, limit) for cell, (most, limit) in known.items())
    return Verdict("max", "the server never sees more connections than max", words, 1.0, worst, False)


def counts(figures):
    verdicts = []
    for key, words, limit in (("instructions", "instructions for a query, in take and give and all they call (callgrind, 16 threads)",
                               INSTRUCTIONS), ("calls", "system calls for a query (strace), more than threads with their own", CALLS)):
        values = figures.counted.get(key)
        if not values:
            verdicts.append(Verdict(key, "fewer than %g %s" % (limit, words), "-", limit, None, False))
            continue
        more = values["pool"] - values.get("own", 0)
        measured = "%.2f more" % more + (" (%.2f to %.2f)" % (values["pool"], values["own"]) if "own" in values else "")
        verdicts.append(Verdict(key, "fewer than %g %s" % (limit, words), measured, limit, more, False))
    return verdicts


def targets(figures):
    return [free(figures, "pq16", "PostgreSQL, 16 threads and connections"),
            free(figures, "pq16", "the same", "handed", "threads with their own that another has opened"), *counts(figures), at_most(figures),
            ahead(figures, "bouncer4", "pool", "bouncer", "ahead of PgBouncer, 4 connections"),
            ahead(figures, "bouncer16", "pool", "bouncer", "ahead of PgBouncer, 16 connections"),
            free(figures, "redis16", "Redis, 16 threads and connections"),
            ahead(figures, "redis16", "pool", "redis-benchmark", "beside redis-benchmark, 16 connections"),
            ahead(figures, "loop8", "cenote", "hand", "one epoll thread, beside a loop by hand", 0.9)]
