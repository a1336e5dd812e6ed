# SPDX-License-Identifier: MIT
"""Draws panels of lines with logarithmic axes as SVG, without any library. Readable on light and on dark pages.

    draw(path, "Title", "A note below it.", [Lines("10 objects", "threads", "ns", [("cenote", [(1, 9.5), (64, 11.0)], True), ...])])

A line is named at its end, in the order of the ends; a peer has the same colour in every panel. A contestant of ours has the same
colour everywhere and a thicker line. What is not above zero has no place on such an axis and is left out.
"""
import math
from xml.sax.saxutils import escape

COLUMNS, MARGIN, GAP = 2, 16, 22
WIDTH, HEIGHT = 480, 300         # of a panel
LEFT, RIGHT, TOP, BOTTOM = 46, 168, 30, 44  # in it, around the plot: figures, names, title, figures
ROW = 14                         # between names that would lie on each other
OURS = ("#0b6bcb", "#4aa3ff")    # on a light page, on a dark one
PEERS = [("#c2570c", "#f0883e"), ("#2e7d32", "#56b366"), ("#8250df", "#b78aff"), ("#bf3989", "#ff7eb6"), ("#0e7c86", "#39c5cf"),
         ("#7d5a2f", "#c9a26b"), ("#59636e", "#9198a1"), ("#cf222e", "#ff7b72")]
DASHES = ["", "6 3", "2 3"]      # when the colours come round
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.note, .tick { fill: #59636e; }
.tick { font-size: 11px; }
.name { font-size: 11px; }
.panel, .own { font-weight: 600; }
.page { fill: #ffffff; }
.grid { stroke: #e3e6ea; stroke-width: 1; }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
.line { fill: none; stroke-width: 1.5; stroke-linejoin: round; }
.thick { stroke-width: 3; }
"""
DARK = """text { fill: #e6edf3; }
.note, .tick { fill: #9198a1; }
.page { fill: #0d1117; }
.grid { stroke: #262c36; }
"""


class Lines:
    """A panel. series: (label, [(x, y), ...], whether it is our own)."""

    def __init__(self, title, x_label, y_label, series):
        self.title, self.x_label, self.y_label = title, x_label, y_label
        cleaned = [(label, sorted((x, y) for x, y in points if y is not None and x > 0 and y > 0), own)
                   for label, points, own in series]
        self.series = [each for each in cleaned if each[1]]


class Axis:
    """From the smallest value to the largest on `length` pixels, with a little room; at least a decade, so that flat looks flat."""

    def __init__(self, values, length):
        low, high = math.log10(min(values)), math.log10(max(values))
        room = max(0.04 * (high - low), (1 - (high - low)) / 2)
        self.low, self.high = low - room, high + room
        self.unit = length / (self.high - self.low)

    def at(self, value):
        return (math.log10(value) - self.low) * self.unit

    def ticks(self):
        """Powers of ten; of a short axis also twice and five times those."""
        steps = (1, 2, 5) if self.high - self.low < 2.2 else (1,)
        values = [step * 10.0 ** power for power in range(math.floor(self.low), math.ceil(self.high) + 1) for step in steps]
        return [value for value in values if self.low <= math.log10(value) <= self.high]


def figure(value):
    return format(round(value), ",") if value >= 1 else "%g" % value


def text(x, y, content, style, more=""):
    return '<text x="%.1f" y="%.1f" class="%s"%s>%s</text>' % (x, y, style, more, escape(content))


def line(x1, y1, x2, y2, style):
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>' % (x1, y1, x2, y2, style)


def spread_out(wanted, low, high):
    """Heights near the wanted ones, which ascend, ROW apart and between low and high as far as there is room."""
    heights = []
    for height in wanted:
        heights.append(max(height, heights[-1] + ROW if heights else low))
    limit = max(high, low + ROW * (len(heights) - 1))
    for number in range(len(heights) - 1, -1, -1):
        heights[number] = min(heights[number], limit)
        limit = heights[number] - ROW
    return heights


class Plot:
    """One panel at its place; styles: label -> class."""

    def __init__(self, panel, x, y, styles):
        self.panel, self.styles = panel, styles
        self.left, self.right, self.top, self.bottom = x + LEFT, x + WIDTH - RIGHT, y + TOP + 14, y + HEIGHT - BOTTOM
        points = [point for _, each, _ in panel.series for point in each]
        self.across = Axis([point[0] for point in points], self.right - self.left)
        self.up = Axis([point[1] for point in points], self.bottom - self.top)
        self.shapes = [text(x, y + 14, panel.title, "panel"), text(x, y + 31, panel.y_label, "tick")]

    def place(self, point):
        return self.left + self.across.at(point[0]), self.bottom - self.up.at(point[1])

    def draw_grid(self):
        for value in self.up.ticks():
            y = self.bottom - self.up.at(value)
            self.shapes += [line(self.left, y, self.right, y, "grid"), text(self.left - 6, y + 4, figure(value), "tick end")]
        for value in self.across.ticks():
            x = self.left + self.across.at(value)
            self.shapes += [line(x, self.top, x, self.bottom, "grid"), text(x, self.bottom + 15, figure(value), "tick middle")]
        self.shapes.append(text((self.left + self.right) / 2, self.bottom + 31, self.panel.x_label, "tick middle"))

    def draw_line(self, label, points, own):
        style, places = self.styles[label], [self.place(point) for point in points]
        path = " ".join("%.1f,%.1f" % place for place in places)
        self.shapes.append('<polyline points="%s" class="line %s%s"/>' % (path, style, " thick" if own else ""))
        for (x, y), point in zip(places, points):
            told = "%s: %s at %s" % (label, "%.1f" % point[1] if point[1] < 100 else figure(point[1]), figure(point[0]))
            self.shapes.append('<circle cx="%.1f" cy="%.1f" r="%.1f" class="dot %s"><title>%s</title></circle>'
                               % (x, y, 3.5 if own else 2.5, style, escape(told)))

    def draw_names(self):
        """Beside the ends of the lines, with a stroke from one to the other."""
        ends = sorted(((self.place(points[-1]), label, own) for label, points, own in self.panel.series), key=lambda end: end[0][1])
        heights = spread_out([end[0][1] for end in ends], self.top, self.bottom + 28)
        for ((x, y), label, own), height in zip(ends, heights):
            self.shapes.append('<polyline points="%.1f,%.1f %.1f,%.1f %.1f,%.1f" class="line %s" opacity="0.5"/>'
                               % (x, y, self.right + 4, y, self.right + 14, height, self.styles[label]))
            self.shapes.append(text(self.right + 18, height + 4, label, "name own" if own else "name"))

    def draw(self):
        self.draw_grid()
        for label, points, own in sorted(self.panel.series, key=lambda each: each[2]):  # ours above the others
            self.draw_line(label, points, own)
        self.draw_names()
        return self.shapes


def styles_of(panels):
    """label -> class, and the rules of the classes on a light page and on a dark one."""
    styles, light, dark = {}, "", ""
    peers = 0
    for label, own in [(label, own) for panel in panels for label, _, own in panel.series]:
        if label in styles:
            continue
        number = len(styles)
        colours = OURS if own else PEERS[peers % len(PEERS)]
        dash = "" if own else DASHES[peers // len(PEERS) % len(DASHES)]
        peers += not own
        styles[label] = "s%d" % number
        light += ".s%d { stroke: %s;%s }\n.dot.s%d { fill: %s; }\n" % (
            number, colours[0], " stroke-dasharray: %s;" % dash if dash else "", number, colours[0])
        dark += ".s%d { stroke: %s; }\n.dot.s%d { fill: %s; }\n" % (number, colours[1], number, colours[1])
    return styles, "%s%s@media (prefers-color-scheme: dark) {\n%s%s}\n" % (STYLE, light, DARK, dark)


def lines(title, note, panels):
    """The whole chart: `note` stands below the title; panels go in columns, row by row."""
    styles, rules = styles_of(panels)
    shapes = [text(MARGIN, MARGIN + 16, title, "title"), text(MARGIN, MARGIN + 36, note, "note")]
    for number, panel in enumerate(panels):
        x, y = MARGIN + number % COLUMNS * (WIDTH + GAP), MARGIN + 56 + number // COLUMNS * (HEIGHT + GAP)
        shapes += Plot(panel, x, y, styles).draw()
    width = 2 * MARGIN + COLUMNS * WIDTH + (COLUMNS - 1) * GAP
    height = MARGIN + 56 + math.ceil(len(panels) / COLUMNS) * (HEIGHT + GAP)
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">'
                      % (width, height, width, height), "<title>%s</title>" % escape(title), "<style>%s</style>" % rules,
                      '<rect width="100%" height="100%" class="page"/>', *shapes, "</svg>\n"])


def draw(path, title, note, panels):
    """Into the file; nothing if no panel has a line."""
    panels = [panel for panel in panels if panel.series]
    if panels:
        with open(path, "w") as file:
            file.write(lines(title, note, panels))
