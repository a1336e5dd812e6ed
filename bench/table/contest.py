# SPDX-License-Identifier: MIT
"""Tables of contestants: who is first in a column is bold, and a last row says how cenote stands to the best of its peers."""

DISTURBED = "~"  # behind a figure that others disturbed


class Figure:
    def __init__(self, value, text, beside="", disturbed=False):
        self.value, self.text, self.beside, self.disturbed = value, text, beside, disturbed

    def words(self, first):
        return ("**%s**" % self.text if first else self.text) + self.beside + (DISTURBED if self.disturbed else "")


def number(value, digits=1):
    """Without decimals from a hundred on, with groups from ten thousand on."""
    if abs(value) >= 9999.5:
        return format(round(value), ",")
    return "%.*f" % (digits if abs(value) < 99.95 else 0, value)


class Column:
    """One figure of each contestant. better is "less", "more", or None where nobody is first."""

    def __init__(self, heading, figures, better="less", ours=("cenote",), outside=()):
        self.heading, self.figures, self.better = heading, figures, better
        self.ours, self.outside = [name for name in ours if name in figures], outside
        self.peers = [name for name in figures if name not in self.ours and name not in outside]

    def best(self, names):
        """The one of them with the best figure; none where there is no contest."""
        known = [name for name in names if self.figures[name].value is not None]
        if not known or self.better is None:
            return None
        return (min if self.better == "less" else max)(known, key=lambda name: self.figures[name].value)

    def first(self):
        """Who is first, by what is shown: figures that look alike are a tie, and where all look alike nobody is first."""
        everybody = self.ours + self.peers
        best = self.best(everybody)
        leaders = [name for name in everybody if best and self.figures[name].text == self.figures[best].text]
        return leaders if len(leaders) < len(everybody) else []

    def ratio(self):
        """How many times better the best of ours is than the best peer, that peer, and whether one of the two was disturbed."""
        ours, peer = self.best(self.ours), self.best(self.peers)
        if ours is None or peer is None:
            return None
        mine, theirs = self.figures[ours], self.figures[peer]
        above, below = (theirs.value, mine.value) if self.better == "less" else (mine.value, theirs.value)
        return (above / below if below else None), peer, mine.disturbed or theirs.disturbed


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]) + "\n"


def ratio_words(column, name_of):
    ratio = column.ratio()
    if ratio is None or ratio[0] is None:
        return "-"
    return "%.2fx%s%s" % (ratio[0], " " + name_of(ratio[1]) if name_of else "", DISTURBED if ratio[2] else "")


def table(corner, contestants, columns, name_of, name_best=True):
    """Contestants down, columns across. A contestant without a figure in a column has a dash there. name_best: the last row
    says who the best peer is, too."""
    first = [set(column.first()) for column in columns]
    rows = []
    for name in contestants:
        figures = [column.figures[name].words(name in leaders) if name in column.figures else "-"
                   for column, leaders in zip(columns, first)]
        ours = any(name in column.ours for column in columns)
        rows.append(["**%s**" % name_of(name) if ours else name_of(name), *figures])
    if any(column.ratio() for column in columns):
        rows.append(["*cenote to the best peer*", *(ratio_words(column, name_of if name_best else None) for column in columns)])
    return markdown([corner, *(column.heading for column in columns)], rows)
