# SPDX-License-Identifier: MIT
"""The report of the crew benchmark: Markdown and JSON lines."""
import statistics

from cells import CELLS, FULL_NAMES, PACKAGES, REPETITIONS
from motives import MOTIVES
from pages import closing_records, opening, targets_part
from report import Spread, table

GROUPS = [  # title, cells
    ("Empty tasks from outside, ns each", ["submit1", "submit2"]),
    ("Inside, ns each", ["chain", "pairs", "spawn", "yield", "inside"]),
]
RESULTS = ["result", "idle10"]


def names_in(figures, cells):
    return [name for name in FULL_NAMES if any((cell, name) in figures.runs for cell in cells)]


def figure(figures, cell, name, key="ns", scale=1.0):
    values = figures.values(cell, name, key)
    return Spread(values).text(scale) if values else "-"


def foreign(figures, cells, name):
    return "%.0f %%" % (100 * max((value for cell in cells for value in figures.values(cell, name, "foreign")), default=0))


def group_table(figures, cells):
    rows = [[FULL_NAMES[name], *(figure(figures, cell, name) for cell in cells), foreign(figures, cells, name)]
            for name in names_in(figures, cells)]
    return table(["", *cells, "foreign"], rows)


def result_table(figures):
    rows = [[FULL_NAMES[name], *(figure(figures, cell, name, key, 1000) for cell in RESULTS for key in ("ns", "p99_ns")),
             foreign(figures, RESULTS, name)] for name in names_in(figures, RESULTS)]
    if figures.wake:
        row = [Spread([run[key] for run in figures.wake]).text(1000) for key in (
            "wake_ns", "wake_p99_ns", "idle_wake_ns", "idle_wake_p99_ns")]
        rows.append(["one wake-up across cores, by futex", *row, "%.0f %%" % (100 * max(r["foreign"] for r in figures.wake))])
    return table(["us", "back to back, p50", "p99", "after 10 ms, p50", "p99", "foreign"], rows)


def idle_table(figures):
    rows = [[FULL_NAMES[name], "%.3f" % max(figures.values("idle", name, "cpu_ms"))] for name in names_in(figures, ["idle"])]
    return table(["", "ms of CPU, at most"], rows)


def document(selection, figures, verdicts, gate, seconds):
    text = opening("Crews of two workers beside other task pools", selection, figures, gate, seconds,
                   REPETITIONS, PACKAGES)
    text += targets_part(selection, verdicts)
    wanted = [cell.name for cell in selection.cells]
    for title, cells in GROUPS:
        cells = [cell for cell in cells if cell in wanted]
        if cells:
            text += "\n## %s\n\n" % title
            text += "".join("- %s: %s\n" % (cell.name, cell.title) for cell in CELLS if cell.name in cells) + "\n"
            text += group_table(figures, cells)
    if set(RESULTS) & set(wanted):
        text += "\n## Submit to result, from outside\n\n" + result_table(figures)
    if "idle" in wanted:
        seconds = statistics.median(run["elapsed_ms"] for run in figures.of_cell("idle")) / 1000
        text += "\n## Idle for %.0f s\n\n" % seconds + idle_table(figures)
    for motive in MOTIVES:
        if motive.name in figures.motives:
            text += "\n## %s\n\n" % motive.title + motive.table(figures.motives[motive.name])
    return text


# ---- JSON lines --------------------------------------------------------------

def cell_record(figures, cell, name):
    key = "cpu_ms" if cell.name == "idle" else "ns"
    record = {"bench": "crew-cell", "contestant": name, "cell": cell.name, "threads": "2"}
    if key == "ns":
        record.update(Spread(figures.values(cell.name, name, "ns")).fields(), p99_ns=round(figures.median(
            cell.name, name, "p99_ns"), 1), unit="ns")
    record["runs"] = [round(value, 3) for value in figures.values(cell.name, name, key)]
    record.update(figures.foreign_fields(cell.name, name))
    return {**record, "unit": "ms of CPU" if cell.name == "idle" else "ns"}


def records(selection, figures, verdicts):
    lines = [cell_record(figures, cell, name) for cell in selection.cells for name in cell.contestants()
             if (cell.name, name) in figures.runs]
    lines += [{"bench": "crew-wake", "contestant": "futex", "cell": key, **Spread([run[key] for run in figures.wake]).fields(),
               "unit": "ns"} for key in ("wake_ns", "idle_wake_ns")]
    lines += [{"bench": "crew-motive", "contestant": "cenote", "cell": name, "runs": runs}
              for name, runs in figures.motives.items()]
    return lines + closing_records("crew", figures, verdicts)
