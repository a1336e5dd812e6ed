# SPDX-License-Identifier: MIT
"""The report of the asynchronous benchmark: Markdown and JSON lines."""
import statistics

from cells import CELLS, FULL_NAMES, PACKAGES, PENDING, REPETITIONS
from pages import closing_records, opening, targets_part
from report import Spread, table
from targets import grown

COLUMNS = [  # key, heading, scale, digits
    ("wait_p50_us", "wait p50, us", 1, 1), ("wait_p99_us", "p99, us", 1, 1), ("wait_max_us", "longest, ms", 1000, 1),
    ("starved", "never served", 1, 0), ("threads", "threads", 1, 0), ("rss_kib", "RSS, MiB", 1024, 1),
    ("cpu_s", "CPU, s", 1, 2), ("cpu_us", "CPU a pair, us", 1, 2),
]


def cell_table(figures, cell):
    rows = []
    for name in FULL_NAMES:
        if (cell.name, name) not in figures.runs:
            continue
        row = [FULL_NAMES[name], Spread(figures.values(cell.name, name, "per_s")).text(1000, 1)]
        row += ["%.*f" % (digits, figures.median(cell.name, name, key) / scale) for key, _, scale, digits in COLUMNS]
        rows.append(row + ["%.0f %%" % (100 * max(figures.values(cell.name, name, "foreign")))])
    return table(["", "thousand pairs a second", *(heading for _, heading, _, _ in COLUMNS), "foreign"], rows)


def median_of(runs, key):
    return statistics.median(run[key] for run in runs)


def pending_table(figures):
    rows = [[FULL_NAMES[name], "%.0f" % median_of(runs, "pending_bytes"), "%.0f" % median_of(runs, "request_bytes"),
             "%.0f" % median_of(runs, "serve_ns")] for name, runs in figures.pending.items()]
    return table(["", "bytes a pending take", "of these the caller's struct", "ns to serve each"], rows)


def growth_table(figures):
    rows = []
    for operation, sentence in (("ask", "an ask"), ("serve", "a give that serves one, and the poll"), ("cancel", "a cancel")):
        costs = grown(figures, operation)
        rows.append([sentence, *("%.1f" % costs[count] for count in sorted(costs))])
    return table(["ns", *(format(count, ",") for count in sorted(grown(figures, "ask")))], rows)


def micro_table(figures):
    rows = []
    for name, floor, title in (("same", "blocking_ns", "one thread: ask, poll, give; the floor is a blocking take and give"),
                               ("cross", "floor_ns", "two threads: give to completion; the floor is a bare eventfd")):
        runs = figures.micro.get(name, [])
        if runs:
            rows.append([title, *(Spread([run[key] for run in runs]).text() for key in ("ask_ns", floor)),
                         Spread([run["ratio"] for run in runs]).text(1, 2)])
    return table(["", "ns", "its floor, ns", "ratio"], rows)


def document(selection, figures, verdicts, gate, seconds):
    text = opening("The asynchronous pool beside other designs and its peers", selection, figures, gate, seconds,
                   REPETITIONS, PACKAGES, ", two loops")
    text += targets_part(selection, verdicts)
    if figures.micro:
        text += "\n## What an ask costs\n\n" + micro_table(figures)
    for cell in selection.cells:
        text += "\n## %s\n\n%s: %s clients, %d objects.\n\n" % (cell.title, cell.name, format(cell.clients, ","), cell.size)
        text += cell_table(figures, cell)
    if figures.pending:
        text += "\n## %s takes that wait\n\n" % format(PENDING, ",") + pending_table(figures)
    if figures.growth:
        text += "\n## cenote, by how many wait\n\n" + growth_table(figures)
    return text


# ---- JSON lines --------------------------------------------------------------

def cell_record(figures, cell, name):
    record = {"bench": "async-cell", "contestant": name, "cell": cell.name, "threads": str(round(figures.median(
        cell.name, name, "threads"))), "clients": cell.clients, "size": cell.size, "work_ns": cell.hold_ns,
        **Spread(figures.values(cell.name, name, "ns")).fields()}
    for key in ("p50", "p99", "max"):
        record["wait_%s_ns" % key] = round(1000 * figures.median(cell.name, name, "wait_%s_us" % key))
    for key in ("per_s", "starved", "rss_kib", "cpu_s", "cpu_us"):
        record[key] = round(figures.median(cell.name, name, key), 3)
    record.update(figures.foreign_fields(cell.name, name))
    return {**record, "unit": "ns/pair"}


def records(selection, figures, verdicts):
    lines = [cell_record(figures, cell, name) for cell in CELLS for name in cell.contestants()
             if (cell.name, name) in figures.runs]
    for name, runs in figures.pending.items():
        lines.append({"bench": "async-pending", "contestant": name, "size": PENDING, "ns": median_of(runs, "serve_ns"),
                      "bytes": median_of(runs, "pending_bytes"), "request_bytes": median_of(runs, "request_bytes"),
                      "unit": "ns/serve"})
    for name, runs in figures.micro.items():
        floor = "blocking_ns" if name == "same" else "floor_ns"
        lines += [{"bench": "async-micro", "contestant": contestant, "cell": name,
                   **Spread([run[key] for run in runs]).fields(), "foreign": round(max(run["foreign"] for run in runs), 3),
                   "unit": "ns"} for contestant, key in (("cenote", "ask_ns"), ("floor", floor))]
    for operation in ("ask", "serve", "cancel"):
        lines += [{"bench": "async-growth", "contestant": "cenote", "cell": operation, "size": count, "ns": round(ns, 2),
                   "unit": "ns"} for count, ns in grown(figures, operation).items()]
    lines += [{"bench": "async-memory", "contestant": "cenote", "cell": key, "size": value}
              for key, value in figures.memory.items()]
    return lines + closing_records("async", figures, verdicts)
