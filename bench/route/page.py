# SPDX-License-Identifier: MIT
"""The report of the benchmark of routing: Markdown and JSON lines."""
from cells import FULL_NAMES, PACKAGES, PICKERS, REPETITIONS
from pages import closing_records, opening, targets_part
from report import Spread, table


def figure(figures, cell, name, key="ns", scale=1.0, digits=1):
    values = figures.values(cell.name, name, key)
    return Spread(values).text(scale, digits) if values else "-"


def foreign(figures, cells):
    return "%.0f %%" % (100 * max(figures.foreign(cell.name) for cell in cells))


def picks_table(figures, cells, key, digits):
    rows = [[FULL_NAMES[name], *(figure(figures, cell, name, key, 1, digits) for cell in cells)] for name in PICKERS
            if any(figures.values(cell.name, name, "ns") and key in figures.runs[cell.name, name][0] for cell in cells)]
    return table(["members/threads", *(cell.name for cell in cells)], rows)


MUX_COLUMNS = [  # key, heading, scale, digits
    ("per_s", "thousand a second", 1000, 1), ("p50_ns", "p50, us", 1000, 1), ("p99_ns", "p99, us", 1000, 1),
    ("max_ns", "longest, ms", 1e6, 1), ("cpu_ns", "CPU a request, us", 1000, 2), ("waits", "times it slept, a request", 1, 3),
    ("preemptions", "times it was preempted", 1, 4), ("server_cpu_ns", "the server's CPU, us", 1000, 2),
    ("server_waits", "times that slept", 1, 3),
]


def mux_table(figures, cell):
    rows = [[FULL_NAMES[name], *(figure(figures, cell, name, key, scale, digits) for key, _, scale, digits in MUX_COLUMNS),
             "%.0f %%" % (100 * max(figures.values(cell.name, name, "foreign")))]
            for name in cell.contestants() if (cell.name, name) in figures.runs]
    return table(["", *(heading for _, heading, _, _ in MUX_COLUMNS), "foreign"], rows)


def document(selection, figures, verdicts, gate, seconds):
    text = opening("Routing beside the original, a mutex and the floor", selection, figures, gate, seconds,
                   REPETITIONS, PACKAGES)
    text += targets_part(selection, verdicts)
    cells = [cell for cell in selection.cells if cell.part == "picks"]
    if cells:
        text += "\n## A pick, ns of a thread's time\n\n" + picks_table(figures, cells, "ns", 1)
        text += "\nForeign CPU at most %s.\n" % foreign(figures, cells)
    for cell in selection.cells:
        if cell.part == "mux":
            text += "\n## %s: %s\n\n" % (cell.name, cell.title) + mux_table(figures, cell)
    return text


# ---- JSON lines --------------------------------------------------------------

def picks_record(figures, cell, name):
    record = {"bench": "route-picks", "contestant": name, "cell": cell.name, "threads": str(cell.threads), "size": cell.members,
              **Spread(figures.values(cell.name, name, "ns")).fields()}
    if "ratio" in figures.runs[cell.name, name][0]:
        record["ratio"] = round(figures.median(cell.name, name, "ratio"), 3)
    record.update(figures.foreign_fields(cell.name, name))
    return {**record, "unit": "ns"}


def mux_record(figures, cell, name):
    record = {"bench": "route-mux", "contestant": name, "cell": cell.name, "size": cell.connections,
              **Spread(figures.values(cell.name, name, "ns")).fields()}
    for key in ("per_s", "p50_ns", "p99_ns", "max_ns", "cpu_ns", "waits", "preemptions", "server_cpu_ns", "server_waits"):
        record[key] = round(figures.median(cell.name, name, key), 4)
    record.update(figures.foreign_fields(cell.name, name))
    return {**record, "unit": "ns/request"}


def records(selection, figures, verdicts):
    ways = {"picks": picks_record, "mux": mux_record}
    lines = [ways[cell.part](figures, cell, name) for cell in selection.cells for name in cell.contestants()
             if (cell.name, name) in figures.runs]
    return lines + closing_records("route", figures, verdicts)
