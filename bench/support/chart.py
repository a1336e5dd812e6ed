# SPDX-License-Identifier: MIT
"""Draws panels of horizontal bars as SVG, without any library. Readable on light and on dark pages."""
import math
from xml.sax.saxutils import escape

PANEL_WIDTH, ROW, HEAD, GAP, LABEL, MARGIN, COLUMNS = 450, 18, 30, 18, 178, 16, 2
VALUE = 62  # room for the figure behind the longest bar
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.note { fill: #59636e; }
.panel { font-weight: 600; }
.page { fill: #ffffff; }
.bar { fill: #b6bec9; }
.own { fill: #0b6bcb; }
.spread { stroke: #59636e; stroke-width: 1; }
.end { text-anchor: end; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .note { fill: #9198a1; }
  .page { fill: #0d1117; }
  .bar { fill: #4b5563; }
  .own { fill: #4aa3ff; }
  .spread { stroke: #c5ccd4; }
}
"""


class Panel:
    """A title and rows of (label, spread, whether it is our own)."""

    def __init__(self, title, rows):
        self.title, self.rows = title, rows

    def height(self):
        return HEAD + ROW * len(self.rows) + GAP


class Scale:
    """Logarithmic from 1 on: figures of one chart may be a thousand times apart."""

    def __init__(self, high, width):
        self.unit = width / math.log10(max(high, 10))

    def at(self, value):
        return max(0.0, math.log10(value)) * self.unit


def figure(value):
    return "%.1f" % value if value < 100 else format(round(value), ",")


def text(x, y, content, style=""):
    return '<text x="%.1f" y="%.1f"%s>%s</text>' % (x, y, ' class="%s"' % style if style else "", escape(content))


def draw_panel(panel, x, y, scale):
    shapes = [text(x, y + 18, panel.title, "panel")]
    for number, (label, spread, own) in enumerate(panel.rows):
        top, start = y + HEAD + number * ROW, x + LABEL
        middle = top + ROW / 2 - 1.5
        shapes.append(text(start - 6, top + 12, label, "end"))
        shapes.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2" class="%s"/>'
                      % (start, top, scale.at(spread.mid), ROW - 3, "own" if own else "bar"))
        if spread.high > spread.low:
            shapes.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="spread"/>'
                          % (start + scale.at(spread.low), middle, start + scale.at(spread.high), middle))
        shapes.append(text(start + scale.at(max(spread.mid, spread.high)) + 5, top + 12, figure(spread.mid)))
    return shapes


def bars(title, note, panels):
    """The whole chart: `note` stands below the title; panels go in columns, row by row."""
    spreads = [spread for panel in panels for _, spread, _ in panel.rows]
    scale = Scale(max(s.high for s in spreads), PANEL_WIDTH - LABEL - VALUE)
    y, shapes = MARGIN + 56, []
    for first in range(0, len(panels), COLUMNS):
        line = panels[first:first + COLUMNS]
        for column, panel in enumerate(line):
            shapes += draw_panel(panel, MARGIN + column * (PANEL_WIDTH + GAP), y, scale)
        y += max(panel.height() for panel in line)
    width = 2 * MARGIN + COLUMNS * PANEL_WIDTH + (COLUMNS - 1) * GAP
    head = [text(MARGIN, MARGIN + 16, title, "title"), text(MARGIN, MARGIN + 36, note, "note")]
    return '\n'.join(['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">'
                      % (width, y, width, y), "<title>%s</title>" % escape(title), "<style>%s</style>" % STYLE,
                      '<rect width="100%" height="100%" class="page"/>', *head, *shapes, "</svg>\n"])
