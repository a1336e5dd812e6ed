# SPDX-License-Identifier: MIT
"""The measured part of the project's README, and bench/measured.md, from a folder of results."""
import os

import page
from contest import Column, Figure, table
from results import ROOT
from sections import OUTAGES, SERVERS, TURNS, UNBOUNDED, column, has_turns, is_ours, shape_of

NONE = "No full run of the whole table is recorded yet. `make bench-all` makes one in under an hour: " \
    "[how it is measured](%s).\n"
BESIDE = "[findings.md](findings.md) has what single benchmarks showed beyond that: what crews of their own are for, " \
    "what asking costs, drivers beside no pool at all.\n"
TASKS = {"submit1": "from outside, 1", "submit2": "2", "yield": "yield", "spawn": "spawn many", "inside": "inside",
         "result": "result, us"}
PICKS = ["random", "quick-peek-random", "peek-random", "quick-route-random", "quick-route-two", "shared-two", "mutex-random",
         "elixir-random"]
PICK_CELLS = {"10/1": "10, 1 thread", "10/2": "10, 2", "10000/1": "10,000, 1", "10000/2": "10,000, 2"}


def bare(each):
    """Medians alone: the spreads are in the results."""
    figures = {name: Figure(f.value, f.text, "", f.disturbed) for name, f in each.figures.items()}
    return Column(each.heading, figures, each.better, each.ours, each.outside)


def short_table(results, bench, names, columns):
    columns = [bare(each) for each in columns if each.figures]
    names = [name for name in names if any(name in each.figures for each in columns)]
    return table("", names, columns, lambda name: results.name(name, bench), False) if columns else ""


def checkout(results, link):
    cells = [cell for cell in results.cells("pool-throughput") if cell.endswith("/0")]
    if not cells:
        return ""
    text = "**Checkout**: nanoseconds per take and give with no work between, T threads over S objects."
    text += (" " + UNBOUNDED if "syncpool" in results.contestants("pool-throughput") else "") + "\n\n"
    text += short_table(results, "pool-throughput", results.contestants("pool-throughput", cells), [
        column(results, "pool-throughput", cell, shape_of(cell)) for cell in cells])
    return text + fairness(results) + "\n![%s](%s/checkout.svg)\n" % ("Nanoseconds per take and give of every contestant", link)


def best_words(results, each):
    """Ours, and the best peer's with its name."""
    ours, peer = each.best(each.ours), each.best(each.peers)
    return (each.figures[ours].words(False) if ours else "-",
            "%s (%s)" % (each.figures[peer].words(False), results.name(peer, "pool")) if peer else "-")


def fairness(results):
    sentences = []
    for cell in results.cells("pool-fairness"):
        share = bare(column(results, "pool-fairness", cell, "", "share_min", 1, 2, "more"))
        wait = bare(column(results, "pool-fairness", cell, "", "wait_max_ns", 1e6, 1, "less"))
        sentences.append("%s: %s of the mean, the best peer %s; longest wait %s ms, the best peer %s" % (
            shape_of(cell), *best_words(results, share), *best_words(results, wait)))
    return "\nThe slowest thread's share and the longest wait, every take timed. %s.\n" % ". ".join(sentences) if sentences else ""


def tasks(results):
    cells = [cell for cell in TASKS if cell in results.cells("crew-cell")]
    columns = [column(results, "crew-cell", cell, TASKS[cell], scale=1000 if cell == "result" else 1) for cell in cells]
    body = short_table(results, "crew-cell", results.contestants("crew-cell", cells), columns)
    return body and "**Tasks**: nanoseconds per task with two workers, submitted from outside by one thread and by two; " \
        "tasks that yield; a task that submits many; submit and await inside a task; submit to result from outside.\n\n" + body


def routing(results):
    names = [name for name in PICKS if name in results.contestants("route-picks")]
    others = {name for name in results.contestants("route-picks") if name not in PICKS or name == "random" or "route-" in name
              or name == "shared-two"}
    columns = [column(results, "route-picks", cell, heading, ours=[name for name in names if is_ours(name)], outside=others)
               for cell, heading in PICK_CELLS.items() if cell in results.cells("route-picks")]
    body = short_table(results, "route-picks", names, columns)
    return body and "**Routing**: nanoseconds of a thread's time for a pick, by members and threads. What counts uses, " \
        "and the floor, are shown and not compared.\n\n" + body


def ends(results):
    columns = []
    for cell in results.cells("ends-cell"):
        columns += [column(results, "ends-cell", cell, "%s, thousand a second" % SERVERS.get(cell, cell), "per_s", 1e3, 1, "more"),
                    column(results, "ends-cell", cell, "wait p99, ms", "wait_p99_us", 1e3, 1, None),
                    column(results, "ends-cell", cell, "longest, ms", "wait_max_ms", 1, 1),
                    column(results, "ends-cell", cell, "turn p99 by time, ms", "turn_p99_ms", 1, 1),
                    column(results, "ends-cell", cell, "CPU s per 100,000", "cpu_s_per_100k", 1, 2)]
    body = short_table(results, "ends-cell", results.contestants("ends-cell"), [each for each in columns if each.figures])
    words = " " + TURNS if has_turns(results) else ""
    return body and "**End to end**: `select 1` on PostgreSQL and GET on Redis, 64 threads over 8 connections.%s\n\n" % words + body


def outage(results):
    def of(server):
        """Their contestants are others."""
        cells = [cell for cell in results.cells("outage-run") if cell.startswith("redis-") == (server == "redis")]
        columns = []
        for cell in cells:
            columns += [column(results, "outage-run", cell, "%s: back after, s" % cell, "first_s", 1, 2),
                        column(results, "outage-run", cell, "longest call, s", "longest_s", 1, 1)]
        return short_table(results, "outage-run", results.contestants("outage-run"), columns)

    body = "\n".join(each for each in (of("pq"), of("redis")) if each)
    return body and "**Outage**: the same fault for each of them at the same moment; back is the first answer after its end. " \
        "%s\n\n" % OUTAGES + body


def opening(results, link):
    machine = results.machine
    reached, known, disturbed = page.counted(results.targets())
    text = page.warnings(results)
    text += "One run of `%s` on %s, %s, commit %s: %s min, [the whole table](%s/table.md) with spreads, growth and every " \
        "target, and [how it is measured](README.md#the-whole-table). " % (machine["command"], page.machine_words(machine),
                                                                     machine["date"][:10],
                                                                     page.commit_words(machine), page.minutes(machine["seconds"]),
                                                                     link)
    text += "Medians; lower is better unless it says a second; the first of a column is bold; `~` was disturbed, `-` not measured."
    if known:
        text += " %d of %d targets were reached%s" % (reached, known, ", %d of the verdicts disturbed" % disturbed if disturbed
                                                      else "")
        text += "; [those that were missed](%s/table.md#missed)." % link if reached < known else "."
    return text + "\n"


def first_of(results, cell):
    """Ours and the best peer's nanoseconds of a cell without work, with the peer's name; None if one of them is missing."""
    each = bare(column(results, "pool-throughput", cell, ""))
    ours, peer = each.best(each.ours), each.best(each.peers)
    if not ours or not peer:
        return None
    return "%s ns %%s (best peer: %s, %s)" % (each.figures[ours].words(False), each.figures[peer].words(False),
                                              results.name(peer, "pool"))


def brief(results, root=ROOT):
    """For the front page: a sentence, what is missed, a chart."""
    if results is None:
        return NONE % "bench/README.md"
    link = os.path.relpath(results.folder, root)
    reached, known, _ = page.counted(results.targets())
    cells = [(words, first_of(results, cell)) for cell, words in (("T1S1/0", "with one thread"), ("T2S10/0", "with two threads over ten objects"), ("T64S10/0", "with 64 threads over ten objects"))
             if cell in results.cells("pool-throughput")]
    said = [figures % words for words, figures in cells if figures]
    text = page.warnings(results)
    text += "A take and a give cost %s." % ", ".join(said) if said else "One run of every benchmark."
    if known and reached < known:
        text += " cenote is not first everywhere: each cell of the table has a target, usually a ratio to the best peer, and it misses [%d of %d targets](%s/table.md#missed)." % (known - reached, known, link)
    text += " [All tables](bench/measured.md), [how it is measured](bench/README.md#the-whole-table).\n"
    if os.path.exists(os.path.join(results.folder, "checkout.svg")):
        text += "\n![Nanoseconds per take and give of every contestant](%s/checkout.svg)\n" % link
    return text


def section(results, root=ROOT):
    """For bench/measured.md: all tables, medians alone."""
    if results is None:
        return NONE % "README.md" + "\n" + BESIDE
    link = os.path.relpath(results.folder, os.path.join(root, "bench"))
    parts = [opening(results, link), checkout(results, link), tasks(results), routing(results), ends(results), outage(results),
             BESIDE]
    return "\n".join(part for part in parts if part)
