# SPDX-License-Identifier: MIT
"""The report of the pool benchmark: Markdown, JSON lines, chart."""
import os
import statistics

import build
import chart
from cells import FULL_NAMES, PACKAGES, WORKS
from measuring import QUICK, REPETITIONS
from report import Spread, table, target_table
from targets import best_peer, grown, short


def measured(selection, figures, part):
    """The cells of a part that have figures, and the contestants that have any in them."""
    cells = [c for c in selection.cells if c.part == part and any((c.name(), n) in figures.runs for n in c.contestants())]
    names = [n for n in FULL_NAMES if any((c.name(), n) in figures.runs for c in cells)]
    return cells, names


def spread_of(figures, cell, name, key):
    values = figures.values(cell, name, key)
    return Spread(values) if values else None


def percent(fraction):
    return "%.0f %%" % (100 * fraction)


# ---- Tables ------------------------------------------------------------------

def ratio_to_best(figures, cell):
    peer, theirs = best_peer(figures, cell)
    ours = figures.median(cell, "cenote", "ns")
    return "%.2fx %s" % (theirs / ours, peer) if ours and theirs else "-"


def throughput_table(figures, cells, names):
    """Contestants down, shapes across."""
    rows = []
    for name in names:
        spreads = [spread_of(figures, cell.name(), name, "ns") for cell in cells]
        if any(spreads):
            rows.append([FULL_NAMES[name], *(s.text() if s else "-" for s in spreads)])
    rows.append(["cenote's throughput", *(ratio_to_best(figures, cell.name()) for cell in cells)])
    rows.append(["foreign", *(percent(figures.foreign(cell.name())) for cell in cells)])
    return table(["", *(cell.shape_name() for cell in cells)], rows)


def share_table(figures, cells, names):
    rows = []
    for name in names:
        row = [FULL_NAMES[name]]
        for cell in cells:
            low, high = (figures.median(cell.name(), name, key) for key in ("smallest_share", "largest_share"))
            row.append("-" if low is None else "%.2f-%.2f" % (low, high))
        rows.append(row)
    return table(["", *(cell.shape_name() for cell in cells)], rows)


WAIT_COLUMNS = [  # key, heading, digits
    ("ns", "a pair, %s", 1), ("smallest_share", "slowest share", 2), ("largest_share", "largest", 2),
    ("wait_p50_us", "wait p50, us", 2), ("wait_p99_us", "p99, us", 1), ("wait_max_ms", "longest, ms", 1),
]


def wait_table(figures, cell, names):
    """What a pair takes, which share the slowest and the quickest thread had, and how long they waited."""
    rows, scale = [], {"ns": 1000} if cell.work_ns else {}
    for name in names:
        spreads = [spread_of(figures, cell.name(), name, key) for key, _, _ in WAIT_COLUMNS]
        if spreads[0] is None:
            continue
        row = [spread.text(scale.get(key, 1), digits) if spread else "-" for spread, (key, _, digits) in zip(spreads, WAIT_COLUMNS)]
        rows.append([FULL_NAMES[name], *row, percent(max(figures.values(cell.name(), name, "foreign")))])
    headings = [heading for _, heading, _ in WAIT_COLUMNS]
    headings[0] %= "us" if cell.work_ns else "ns"
    return table(["", *headings, "foreign"], rows)


def floor_table(figures):
    rows = []
    for size, runs in figures.floor.items():
        rows.append(["T1S%d" % size, *("%.2f" % statistics.median(run[key] for run in runs)
                                      for key in ("exchange_ns", "compare_ns", "cenote_ns", "ratio"))])
    return table(["", "CAS + xchg", "CAS + CAS", "cenote", "cenote to CAS + xchg"], rows)


def deadline_table(figures):
    rows = []
    for name, title in (("explained", "cenote"), ("silent", "cenote, no error to write into"), ("condvar", "condition variable")):
        rows.append([title, *(Spread([run["%s_%s" % (name, key)] for run in figures.deadlines]).text()
                              for key in ("last_ms", "cpu_us"))])
    return table(["", "the last told, ms", "of a processor each, us"], rows)


GROWTH_ROWS = [
    ("pairs", "ns_", "an uncontended pair, by size"),
    ("find", "ns_", "a pair whose take must look for the only idle object, by size"),
    ("hand", "all_", "CPU of a give, by number of waiters"), ("hand", "own_", "the same without system calls"),
    ("hand-strict", "all_", "CPU of a give in strict order, by number of waiters"),
    ("hand-strict", "own_", "the same without system calls"),
    ("leave", "all_", "CPU of a take that times out in the middle of so many"),
    ("leave", "own_", "the same without system calls"),
    ("cancel", "ns_", "a cancel in the middle of so many that do not park"),
]


def growth_table(figures):
    numbers = sorted({n for name, prefix, _ in GROWTH_ROWS for n in grown(figures, name, prefix)})
    rows = []
    for name, prefix, sentence in GROWTH_ROWS:
        costs = grown(figures, name, prefix)
        rows.append([sentence, *(short(costs[n]) if n in costs else "-" for n in numbers)])
    return table(["ns", *(format(n, ",") for n in numbers)], rows)


# ---- The page ----------------------------------------------------------------

def opening(selection, figures, gate, seconds):
    text = "# The pool beside its peers\n\n"
    if QUICK:
        text += "A QUICK LOOK, NOT A MEASUREMENT. "
    if not selection.is_all:
        text += "A PART ONLY. "
    if REPETITIONS:
        text += "%d REPETITIONS ONLY. " % REPETITIONS
    text += "Medians with (smallest-largest), %d processors; " % os.cpu_count()
    if figures.probe:
        text += "a cache line's round trip took %s ns; " % Spread(figures.probe).text()
    text += "%d runs repeated because others were busy; %.0f s in all.\n\n" % (gate.repeated, seconds)
    if os.environ.get("BENCH_LIBDIR"):
        text += "NOT the release build of this tree: libcenote.so from `%s`.\n\n" % build.folder_of_cenote()
    return text + "Packages: %s.\n" % build.versions(PACKAGES)


def document(selection, figures, verdicts, gate, seconds):
    text = opening(selection, figures, gate, seconds)
    known = [v for v in verdicts if v.reached is not None]
    if known:
        reached = sum(v.reached for v in known)
        text += "\n## Targets\n\n%d of %d reached.\n\n" % (reached, len(known))
        text += target_table(verdicts if selection.is_all else known)
    if figures.floor:
        text += "\n## The floor in the same process, ns\n\n" + floor_table(figures)
    cells, names = measured(selection, figures, "throughput")
    for work in WORKS:
        some = [c for c in cells if c.work_ns == work]
        if some:
            text += "\n## Nanoseconds per take and give, %s\n\n" % ("%d ns of work between" % work if work else "no work between")
            text += throughput_table(figures, some, [name for name in names if name in some[0].contestants()])
    some = [c for c in cells if c.work_ns == 0]
    if some:
        text += "\n## Smallest and largest share of a thread, no work between\n\n" + share_table(figures, some, names)
    for part, title in (("fairness", "Fairness over %g s, no work between"), ("holds", "Objects held, runs of %g s")):
        cells, names = measured(selection, figures, part)
        for cell in cells:
            text += "\n## %s: %s\n\n" % (cell.name(), title % cell.seconds) + wait_table(figures, cell, names)
    if figures.deadlines:
        text += "\n## A thousand takes with one deadline\n\n" + deadline_table(figures)
    if figures.growth:
        text += "\n## Growth\n\n" + growth_table(figures)
    return text


# ---- JSON lines --------------------------------------------------------------

FIELDS = [  # of a record, of an answer, and by how much they differ
    ("share_min", "smallest_share", 1), ("share_max", "largest_share", 1), ("wait_p50_ns", "wait_p50_us", 1e3),
    ("wait_p99_ns", "wait_p99_us", 1e3), ("wait_max_ns", "wait_max_ms", 1e6),
]


def cell_record(figures, cell, name):
    record = {"bench": "pool-" + cell.part, "contestant": name, "threads": str(cell.shape[0]), "size": cell.shape[1],
              "work_ns": cell.work_ns, "asleep": cell.asleep, "seconds": cell.seconds, "cell": cell.name(),
              **spread_of(figures, cell.name(), name, "ns").fields()}
    for field, key, scale in FIELDS:
        median = figures.median(cell.name(), name, key)
        if median is not None:
            record[field] = round(median * scale, 3)
    record["runs"] = [round(value, 2) for value in figures.values(cell.name(), name, "ns")]
    record.update(figures.foreign_fields(cell.name(), name))
    return {**record, "unit": "ns/pair"}


def records(selection, figures, verdicts):
    lines = [cell_record(figures, cell, name) for cell in selection.cells for name in cell.contestants()
             if (cell.name(), name) in figures.runs]
    for size, runs in figures.floor.items():
        for name in ("cenote", "exchange", "compare"):
            lines.append({"bench": "pool-floor", "contestant": name, "threads": "1", "size": size, "work_ns": 0,
                          **Spread([run[name + "_ns"] for run in runs]).fields(), "unit": "ns/pair"})
    for name in ("explained", "silent", "condvar") if figures.deadlines else ():
        lines += [{"bench": "pool-deadlines", "contestant": name, "cell": key, "threads": "1000",
                   **Spread([run["%s_%s" % (name, key)] for run in figures.deadlines]).fields(), "unit": key[-2:]}
                  for key in ("last_ms", "cpu_us")]
    for name, prefix, _ in GROWTH_ROWS:
        for number, ns in grown(figures, name, prefix).items():
            lines.append({"bench": "pool-growth", "contestant": "cenote", "cell": name + "/" + prefix.rstrip("_"),
                          "size": number, "ns": round(ns, 2), "unit": "ns"})
    lines += [{"bench": "pool-memory", "contestant": "cenote", "cell": key, "size": value}
              for key, value in figures.memory.items()]
    if figures.probe:
        lines.append({"bench": "pool-probe", "contestant": "cache-line", "threads": "2", **Spread(figures.probe).fields(),
                      "unit": "ns/round trip"})
    return lines + [{"bench": "pool-target", "contestant": "cenote", "cell": v.name, "target": v.target,
                     "measured": v.measured, "reached": v.reached, "disturbed": v.disturbed} for v in verdicts]


# ---- Chart -------------------------------------------------------------------

def draw(selection, figures, path):
    """Time per pair with no work between; nothing if that was not measured."""
    cells, names = measured(selection, figures, "throughput")
    panels = []
    for cell in cells:
        rows = [(FULL_NAMES[n], spread_of(figures, cell.name(), n, "ns"), n == "cenote") for n in names]
        rows = [row for row in rows if row[1] is not None]
        if cell.work_ns == 0 and rows:
            threads, size = cell.shape
            title = "%d %s, %d %s" % (threads, "thread" if threads == 1 else "threads", size, "object" if size == 1 else "objects")
            panels.append(chart.Panel(title, rows))
    if panels:
        with open(path, "w") as file:
            file.write(chart.bars("Nanoseconds per take and give, no work between",
                                  "Less is better; logarithmic; %d processors; the line is the spread of the repetitions."
                                  % os.cpu_count(), panels))
