# SPDX-License-Identifier: MIT
"""The report of the benchmark of growth: Markdown, JSON lines, chart."""
import os

import lines
from cells import ALONE, ASYNC_NAMES, PACKAGES, POOL_NAMES, ROUTE
from measuring import QUICK, REPETITIONS
from pages import closing_records, opening, targets_part
from report import Spread, table
from targets import of_alone, of_line, short

LINES = {  # line -> heading, what is counted below, unit
    "size/T1": ("A pair by the size of the pool, one thread", "objects", "ns a pair"),
    "size/T2": ("A pair by the size of the pool, two threads", "objects", "ns a pair"),
    "threads/0": ("A pair by threads, ten objects, no work between", "threads", "ns a pair"),
    "threads/1000": ("A pair by threads, ten objects, 1 us of work between", "threads", "ns a pair"),
    "waiters/asks": ("A pair while so many ask without a thread, two objects", "clients, all but two of them waiting", "ns a pair"),
    "members/picks": ("Picking one of so many, two threads", "members", "ns of a thread"),
}
CHARTED = ["quick-peek-random", "peek-random", "route-random", "peek-two", "route-two", "two-counted", "peek-hash",
           "hash", "mutex-random", "elixir-random"]  # of members


def name_of(line, contestant):
    part = line.split("/")[0]
    names = ROUTE.PICKERS if part == "members" else ASYNC_NAMES if part == "waiters" else POOL_NAMES
    return names.get(contestant, contestant)


def is_own(line, contestant):
    return contestant.startswith(("peek-", "route-", "quick-")) if line.startswith("members/") else contestant == "cenote"


def numbers_of(cells):
    return sorted({cell.number for cell in cells})


def cells_of(selection, figures, line):
    """Those of the line, and who was to run in any of them."""
    cells = [cell for cell in selection.cells if cell.line == line]
    names = [name for cell in cells for name in selection.of(cell)]
    return cells, list(dict.fromkeys(names))


def missing(selection, figures, cell, contestant):
    """Why there is no figure, or None."""
    if contestant not in selection.of(cell):
        return None
    return cell.impossible(contestant) or figures.failed.get((cell.name, contestant))


# ---- Tables ------------------------------------------------------------------

def spread_text(values):
    spread = Spread(values)
    return short(spread.mid) if len(values) == 1 else "%s (%s-%s)" % (short(spread.mid), short(spread.low), short(spread.high))


def growth_of(costs):
    """How much the largest number costs, in the smallest one's."""
    return "%.2fx" % (costs[max(costs)] / costs[min(costs)]) if len(costs) > 1 else "-"


def line_table(selection, figures, line):
    cells, names = cells_of(selection, figures, line)
    rows, remarks = [], []
    for name in names:
        row = [name_of(line, name)]
        for cell in cells:
            values, why = figures.values(cell.name, name, "ns"), missing(selection, figures, cell, name)
            row.append(spread_text(values) if values else "none" if why else "-")
            if why and not values:
                remarks.append("None: %s." % why)
        rows.append(row + [growth_of(of_line(figures, line, name))])
    foreign = max((figures.foreign(cell.name) for cell in cells), default=0)
    text = table([LINES[line][2], *(format(cell.number, ",") for cell in cells), "largest to smallest"], rows)
    remarks.append("Others used up to %.0f %% of a processor." % (100 * foreign))
    return text + "\n" + " ".join(dict.fromkeys(remarks)) + "\n"


def alone_table(figures):
    rows, numbers = [], sorted({n for part, kind, *_ in ALONE for n in of_alone(figures, part, kind)})
    for part, kind, _, _, _, _, _, sentence in ALONE:
        costs = of_alone(figures, part, kind)
        if costs:
            rows.append([sentence, *(short(costs[n]) if n in costs else "-" for n in numbers), growth_of(costs)])
    return table(["ns", *(format(n, ",") for n in numbers), "largest to smallest"], rows)


def objects_table(figures):
    rows = []
    for name, found in figures.objects.items():
        for size, each in found.items():
            rows.append([POOL_NAMES.get(name, name), format(size, ","), "%.0f" % each["bytes"], "%.0f" % each["own_bytes"],
                         "%.0f" % (each["bytes"] - each["own_bytes"])])
    slots = [(int(key[6:]), value) for key, value in figures.memory.items() if key.startswith("bytes_")]
    for size, value in slots:
        rows.append(["cenote, asked of its allocator", format(size, ","), "-", "-", "%.0f" % (value / size)])
    return table(["", "objects", "bytes for each", "of these the object's own", "the pool's"], rows)


def waiters_table(figures):
    rows = [[ASYNC_NAMES.get(name, name), format(count, ","), "%.0f" % each["bytes"], "%.0f" % each["own_bytes"]]
            for name, found in figures.waiters.items() for count, each in found.items()]
    return table(["", "waiting", "bytes for each", "of these the caller's struct"], rows)


def document(selection, figures, verdicts, gate, seconds):
    text = opening("How cost grows", selection, figures, gate, seconds, REPETITIONS or (1 if QUICK else 3), PACKAGES)
    text += targets_part(selection, verdicts)
    for line in LINES:
        if any(cell.line == line for cell in selection.cells):
            text += "\n## %s\n\n" % LINES[line][0] + line_table(selection, figures, line)
    if figures.alone:
        text += "\n## What cenote alone can show\n\n" + alone_table(figures)
    if figures.objects or figures.memory:
        text += "\n## Memory of an object in an idle pool\n\n" + objects_table(figures)
    if figures.waiters:
        text += "\n## Memory of one who waits without a thread\n\n" + waiters_table(figures)
    failed = ["%s in %s: %s" % (who, what, why) for (what, who), why in figures.failed.items()]
    if failed:
        text += "\n## What failed\n\n" + "".join("- %s\n" % each for each in failed)
    return text


# ---- JSON lines --------------------------------------------------------------

def who_and_what(line, contestant):
    """The contestant and the cell of a record; of members the strategy is in the cell."""
    if not line.startswith("members/"):
        return contestant, line.split("/")[1]
    if is_own(line, contestant):
        return "cenote", contestant
    if contestant in ROUTE.FLOORS:
        return "floor", contestant
    kind, _, rest = contestant.partition("-")
    return kind, rest


def cell_record(selection, figures, cell, contestant):
    who, what = who_and_what(cell.line, contestant)
    record = {"bench": "growth-" + cell.part, "contestant": who, "cell": what, "size": cell.number,
              "name": "cenote" if who == "cenote" else name_of(cell.line, contestant)}
    values = figures.values(cell.name, contestant, "ns")
    if not values:
        why = missing(selection, figures, cell, contestant)
        return {**record, "ns": None, "why": why, "unit": "ns"} if why else None
    runs = figures.runs[cell.name, contestant]
    return {**record, **Spread(values).fields(), "foreign": round(max(run["foreign"] for run in runs), 3),
            "disturbed": figures.is_disturbed(cell.name), "unit": LINES[cell.line][2]}


def records(selection, figures, verdicts):
    found = [cell_record(selection, figures, cell, name) for cell in selection.cells for name in selection.of(cell)]
    found = [record for record in found if record]
    for part, kind, _, _, _, _, prefix, sentence in ALONE:
        for number in of_alone(figures, part, kind):
            runs = figures.alone[part, kind]
            found.append({"bench": "growth-" + part, "contestant": "cenote", "cell": kind, "size": number, "name": "cenote",
                          **Spread([run["%s%d" % (prefix, number)] for run in runs]).fields(),
                          "foreign": round(max(run["foreign"] for run in runs), 3), "unit": "ns"})
    for kind, weights, names in (("object", figures.objects, POOL_NAMES), ("waiter", figures.waiters, ASYNC_NAMES)):
        found += [{"bench": "growth-memory", "contestant": who, "cell": kind, "size": number, "name": names.get(who, who),
                   "bytes": round(each["bytes"], 1), "own_bytes": round(each["own_bytes"], 1), "unit": "bytes"}
                  for who, by_number in weights.items() for number, each in by_number.items()]
    found += [{"bench": "growth-memory", "contestant": "cenote", "cell": "asked", "size": int(key[6:]), "name": "cenote",
               "bytes": round(value / int(key[6:]), 1), "unit": "bytes"}
              for key, value in figures.memory.items() if key.startswith("bytes_")]
    return found + closing_records("growth", figures, verdicts)


# ---- Chart -------------------------------------------------------------------

def draw(figures, path):
    panels = []
    for line, (title, below, unit) in LINES.items():
        names = list(dict.fromkeys(who for name, who in figures.runs if name.rpartition("/")[0] == line))
        if line.startswith("members/"):
            names = [name for name in CHARTED if name in names]
        series = [(name_of(line, name), list(of_line(figures, line, name).items()), is_own(line, name)) for name in names]
        panels.append(lines.Lines(title, below, unit, series))
    series = [(kind, list(of_alone(figures, part, kind).items()), True) for part, kind, *_ in ALONE if part == "waiters"]
    panels.append(lines.Lines("cenote by how many wait", "waiting", "ns", series))
    lines.draw(path, "How cost grows", "Less is better; logarithmic; medians; %d processors." % os.cpu_count(), panels)
