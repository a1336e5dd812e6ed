# SPDX-License-Identifier: MIT
"""The report of the benchmark of the drivers: Markdown and JSON lines."""
from cells import FULL_NAMES, PACKAGES, PAIRS
from pages import closing_records, opening, targets_part
from report import Spread, table

COLUMNS = [("per_s", "thousand a second", 1000, 2), ("p50_ns", "p50, us", 1000, 0), ("p99_ns", "p99, us", 1000, 0)]


def cell_table(figures, cell):
    rows = [[FULL_NAMES[name], *(Spread(figures.values(cell.name, name, key)).text(scale, digits) for key, _, scale, digits in COLUMNS),
             "%.0f %%" % (100 * max(figures.values(cell.name, name, "foreign")))]
            for name in cell.names if (cell.name, name) in figures.runs]
    return table(["", *(heading for _, heading, _, _ in COLUMNS), "foreign"], rows)


def document(selection, figures, verdicts, gate, seconds):
    text = opening("Drivers beside no pool at all, and peers", selection, figures, gate, seconds, PAIRS, PACKAGES)
    text += targets_part(selection, verdicts)
    for cell in selection.cells:
        text += "\n## %s\n\n" % cell.title + cell_table(figures, cell)
    return text


def record(figures, cell, name):
    return {"bench": "drivers", "contestant": name, "cell": cell.name,
            **{key: round(figures.median(cell.name, name, key), 1) for key, _, _, _ in COLUMNS},
            "foreign": round(max(figures.values(cell.name, name, "foreign")), 3), "unit": "queries/s"}


def records(selection, figures, verdicts):
    lines = [record(figures, cell, name) for cell in selection.cells for name in cell.names if (cell.name, name) in figures.runs]
    return lines + closing_records("drivers", figures, verdicts)
