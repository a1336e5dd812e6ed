# SPDX-License-Identifier: MIT
"""The charts of a folder of results, from its records alone."""
import os
import sys

from results import HERE
from sections import growth_key, growth_lines, growth_name, is_ours, is_own_line, shape_of

sys.path.insert(0, os.path.join(HERE, "..", "support"))
import chart
import lines
import strips

FEW = ["quick-peek-random", "peek-random", "shared-turn", "mutex-random", "elixir-random", "random"]  # of the picks
FEW_MEMBERS = ["floor, random", "quick-peek-random", "peek-random", "quick-route-random", "peek-hash", "mutex, random",
               "elixir, random"]


class Chart:
    """draw(results, chart) answers the SVG, or None if there is nothing to draw."""

    def __init__(self, file, title, note, draw):
        self.file, self.title, self.note, self.draw = file, title, note, draw


class Bar:
    """A spread, as chart.bars wants it."""

    def __init__(self, record, key="ns", scale=1.0):
        self.mid = record[key] / scale
        self.low, self.high = (record.get(key + end, record[key]) / scale for end in ("_min", "_max"))


def panel(results, bench, cell, title, key="ns", scale=1.0, names=None):
    """In the order of the tables."""
    rows = []
    for name in names or results.contestants(bench, [cell]):
        record = results.at(bench, cell, name)
        if record and record.get(key):
            rows.append((results.name(name, bench), Bar(record, key, scale), name == "cenote"
                         or name.startswith(("quick-", "peek-"))))
    return chart.Panel(title, rows)


def bars(about, panels):
    panels = [each for each in panels if each.rows]
    return chart.bars(about.title, about.note, panels) if panels else None


def checkout(results, about):
    cells = [cell for cell in results.cells("pool-throughput") if cell.endswith("/0")]
    return bars(about, [panel(results, "pool-throughput", cell, shape_of(cell)) for cell in cells])


def tasks(results, about):
    cells = [cell for cell in results.cells("crew-cell") if cell not in ("idle", "result", "idle10")]
    return bars(about, [panel(results, "crew-cell", cell, cell) for cell in cells])


def picks_title(cell):
    members, _, threads = cell.partition("/")
    return "%s members, %s" % (format(int(members), ","), threads + (" thread" if threads == "1" else " threads"))


def routing(results, about):
    names = [name for name in FEW if name in results.contestants("route-picks")]
    return bars(about, [panel(results, "route-picks", cell, picks_title(cell), names=names)
                        for cell in results.cells("route-picks")])


def ends(results, about):
    return bars(about, [panel(results, "ends-cell", cell, cell, "per_s") for cell in results.cells("ends-cell")])


def outage(results, about):
    """One panel for each kind of outage, one strip for each contestant."""
    panels = []
    for cell in results.cells("outage-run"):
        known = [record for record in results.of("outage-run") if record["cell"] == cell and record.get("answers")]
        rows = [(results.name(record["contestant"], "outage"), record["answers"], record["failures"],
                 record["contestant"] == "cenote")
                for record in known]
        if rows:
            panels.append(strips.Strips(cell, rows, known[0]["step_ms"], known[0]["begin_ms"], known[0]["end_ms"]))
    return strips.draw(about.title, about.note, panels) if panels else None


def growth(results, about):
    panels = []
    for (bench, cell), found in growth_lines(results).items():
        shown = [name for name in found if bench != "growth-members" or name in FEW_MEMBERS]
        series = [(name if is_ours(name) or name.startswith("floor") else growth_name(bench, name, found[name]),
                   [(r["size"], r.get(growth_key(r))) for r in found[name]], is_own_line(bench, name))
                  for name in shown]
        unit = next(iter(found.values()))[0].get("unit", "ns")
        panels.append(lines.Lines("%s: %s" % (bench.partition("-")[2], cell), bench.partition("-")[2], unit, series))
    panels = [each for each in panels if any(len(points) > 1 for _, points, _ in each.series)]
    return lines.lines(about.title, about.note, panels) if panels else None


LESS = "Less is better; logarithmic; the line is the spread of the repetitions."
CHARTS = {
    "pool": Chart("checkout.svg", "Nanoseconds per take and give, no work between", "T threads, S objects. " + LESS, checkout),
    "crew": Chart("tasks.svg", "Nanoseconds per task, two workers", LESS, tasks),
    "route": Chart("routing.svg", "Nanoseconds of a thread's time per pick", LESS, routing),
    "ends": Chart("ends.svg", "Operations per second on a real server, 64 threads over 8 connections",
                  "More is better; logarithmic; the line is the spread of the repetitions.", ends),
    "outage": Chart("outage.svg", "What callers see of an outage",
                    "Each strip is a pool: answers blue, the more the darker; only failures "
                    "red; neither: grey. Between the lines the server is away.", outage),
    "growth": Chart("growth.svg", "How cost grows", "Less is better; both axes logarithmic.", growth),
}


def write(results, folder):
    """All of them; one that has nothing to show is removed, so that it cannot be one of an earlier run."""
    for about in CHARTS.values():
        path, drawn = os.path.join(folder, about.file), about.draw(results, about)
        if drawn:
            with open(path, "w") as file:
                file.write(drawn)
        elif os.path.exists(path):
            os.remove(path)
