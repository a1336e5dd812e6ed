# SPDX-License-Identifier: MIT
"""Draws strips of time as SVG, without any library: what each of several pools answered while its server was away."""
from xml.sax.saxutils import escape

MARGIN, LABEL, WIDTH, ROW, HEAD, GAP, FOOT = 16, 256, 660, 18, 26, 20, 18
LEVELS = 5  # of blue: a fifth of the usual number of answers, two fifths, and so on
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.note, .tick { fill: #59636e; }
.tick { font-size: 11px; }
.panel, .own { font-weight: 600; }
.page { fill: #ffffff; }
.base { fill: #eef0f3; }
.failed { fill: #d1242f; }
.answered { fill: #0b6bcb; }
.edge { stroke: #1f2328; stroke-width: 1; stroke-dasharray: 4 3; }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .note, .tick { fill: #9198a1; }
  .page { fill: #0d1117; }
  .base { fill: #1c222b; }
  .failed { fill: #f85149; }
  .answered { fill: #4aa3ff; }
  .edge { stroke: #e6edf3; }
}
"""


class Strips:
    """A panel. rows: (label, answers by step, failures by step, whether it is our own); the outage is from begin to end, in ms."""

    def __init__(self, title, rows, step_ms, begin_ms, end_ms):
        self.title, self.rows, self.step_ms, self.begin_ms, self.end_ms = title, rows, step_ms, begin_ms, end_ms
        self.steps = max(len(row[1]) for row in rows)

    def height(self):
        return HEAD + ROW * len(self.rows) + FOOT + GAP

    def x(self, ms):
        return MARGIN + LABEL + ms / (self.steps * self.step_ms) * WIDTH


def text(x, y, content, style):
    return '<text x="%.1f" y="%.1f" class="%s">%s</text>' % (x, y, style, escape(content))


def box(x, y, width, style, opacity=1.0):
    return '<rect x="%.2f" y="%.1f" width="%.2f" height="%d" class="%s" opacity="%.2f"/>' % (x, y, width, ROW - 4, style, opacity)


def usual(panel, answers):
    """Answers a step before the outage, its first steps left out."""
    before = answers[: max(1, int(panel.begin_ms / panel.step_ms))]
    before = before[len(before) // 4:]
    return max(1.0, sum(before) / len(before))


def kind(answered, failed, usually):
    """(class, opacity) of one step; nothing where nobody was told anything."""
    if answered:
        level = min(LEVELS, 1 + int(LEVELS * answered / (usually * 1.0001)))
        return "answered", level / LEVELS
    return ("failed", 1.0) if failed else None


def draw_strip(panel, y, answers, failures):
    """Steps that look alike become one box."""
    usually, shapes = usual(panel, answers), [box(panel.x(0), y, WIDTH, "base")]
    kinds = [kind(answered, failed, usually) for answered, failed in zip(answers, failures)]
    start = 0
    for step in range(1, len(kinds) + 1):
        if step == len(kinds) or kinds[step] != kinds[start]:
            if kinds[start]:
                left = panel.x(start * panel.step_ms)
                shapes.append(box(left, y, panel.x(step * panel.step_ms) - left, *kinds[start]))
            start = step
    return shapes


def draw_panel(panel, y):
    shapes = [text(MARGIN, y + 14, panel.title, "panel")]
    top, bottom = y + HEAD, y + HEAD + ROW * len(panel.rows)
    for number, (label, answers, failures, own) in enumerate(panel.rows):
        line = top + number * ROW
        shapes.append(text(MARGIN + LABEL - 6, line + 11, label, "end own" if own else "end"))
        shapes += draw_strip(panel, line, answers, failures)
    for ms in (panel.begin_ms, panel.end_ms):
        shapes.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="edge"/>' % (panel.x(ms), top - 4, panel.x(ms), bottom))
    seconds = panel.steps * panel.step_ms / 1000
    for second in range(0, int(seconds) + 1, 5 if seconds > 12 else 2):
        shapes.append(text(panel.x(1000 * second), bottom + 12, "%d s" % second, "tick middle"))
    return shapes


def draw(title, note, panels):
    """The whole chart, panels below each other."""
    y, shapes = MARGIN + 54, [text(MARGIN, MARGIN + 16, title, "title"), text(MARGIN, MARGIN + 36, note, "note")]
    for panel in panels:
        shapes += draw_panel(panel, y)
        y += panel.height()
    width = 2 * MARGIN + LABEL + WIDTH + 12
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">'
                      % (width, y, width, y), "<title>%s</title>" % escape(title), "<style>%s</style>" % STYLE,
                      '<rect width="100%" height="100%" class="page"/>', *shapes, "</svg>\n"])
