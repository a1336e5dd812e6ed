# SPDX-License-Identifier: MIT
"""The report of the benchmark end to end: Markdown and JSON lines."""
from cells import CONNECTIONS, FULL_NAMES, PACKAGES, THREADS
from pages import closing_records, opening, targets_part
from report import Spread, table

COLUMNS = [("per_s", "thousand a second", 1000, 2), ("wait_p50_us", "wait p50, us", 1, 0), ("wait_p99_us", "p99, us", 1, 0),
           ("wait_p999_us", "p99.9, us", 1, 0), ("wait_max_ms", "longest, ms", 1, 1), ("turn_p50_ms", "turn p50 by time, ms", 1, 2),
           ("turn_p99_ms", "p99 by time, ms", 1, 2), ("call_p50_us", "call p50, us", 1, 0),
           ("call_p99_us", "p99, us", 1, 0), ("cpu_s_per_100k", "client, s for 100,000", 1, 2),
           ("server_cpu_s_per_100k", "server, s for 100,000", 1, 2), ("smallest_share", "smallest share", 1, 2)]
WITH_ENDS = ("per_s", "wait_p99_us", "turn_p99_ms", "cpu_s_per_100k")  # those whose smallest and largest are in the JSON lines too


def spread_text(figures, cell, name, key, scale, digits):
    values = [run[key] for run in figures.runs[cell.name, name] if key in run]
    return Spread(values).text(scale, digits) if values else "-"


def cell_table(selection, figures, cell):
    names = sorted(selection.of(cell), key=lambda name: -figures.median(cell.name, name, "per_s"))
    rows = [[FULL_NAMES[name], *(spread_text(figures, cell, name, key, scale, digits) for key, _, scale, digits in COLUMNS),
             "%.0f" % max(figures.values(cell.name, name, "most"), default=0),
             "%.0f %%" % (100 * max(figures.values(cell.name, name, "foreign")))] for name in names]
    return table(["", *(heading for _, heading, _, _ in COLUMNS), "connections seen", "foreign"], rows)


def document(selection, figures, verdicts, gate, seconds):
    remark = ", %d threads over %d connections" % (THREADS, CONNECTIONS)
    title, repetitions = "Real servers through pools, end to end", len(figures.probe)
    text = opening(title, selection, figures, gate, seconds, repetitions, PACKAGES, remark)
    for cell in selection.cells:
        text += "\n## %s\n\n" % cell.title + cell_table(selection, figures, cell)
    return text + targets_part(selection, verdicts)


def record(figures, cell, name):
    line = {"bench": "ends-cell", "contestant": name, "cell": cell.name, "threads": THREADS, "size": CONNECTIONS}
    for key, _, _, _ in COLUMNS:
        values = [run[key] for run in figures.runs[cell.name, name] if key in run]
        if not values:
            continue
        spread = Spread(values)
        line[key] = round(spread.mid, 3)
        if key in WITH_ENDS:
            line.update({key + "_min": round(spread.low, 3), key + "_max": round(spread.high, 3)})
    return {**line, **figures.foreign_fields(cell.name, name), "unit": "questions/s"}


def records(selection, figures, verdicts):
    lines = [record(figures, cell, name) for cell in selection.cells for name in selection.of(cell)]
    return lines + closing_records("ends", figures, verdicts)
