# SPDX-License-Identifier: MIT
"""Splits a comment into blocks: paragraphs, code, lists, and the `Returns:` list.

    Returns:                       alone on its line
      TIMEOUT  the deadline ...    two blanks or more, a status without CEN_, two blanks or more, its condition
               goes on             deeper than the status
      others   as cen_pool_take

Lines indented by four columns or more are code. An item of a list begins with "- ". A line that ends a sentence and has room for
the next word ends its paragraph.
"""
import re

STATUS_LINE = re.compile(r" {2,3}(\w+)(?: {2,}(\S.*))?$")
TERM = re.compile(r" {2,3}([A-Z][A-Z_0-9]+)(?: {2,}(\S.*))$")
ITEM = re.compile(r"( {0,3})- (.*)$")
LABEL = re.compile(r"([A-Z][a-z]+(?: [a-z]+)?): (?=\S)")
LABELS = ("Ownership", "Blocking", "Threads", "Callbacks", "Fork", "Memory", "Cost", "Cancellation", "Progress", "Systems", "Life", "Order",
          "Owners", "Limits", "Error", "Errors", "Example", "Returns")
OWN_LINE = re.compile(r"(?:%s): " % "|".join(LABELS))
ROOM = 76
SENTENCE = re.compile(r"(.*?[.!?])(?:\s+(?=[A-Z`\"(*])|$)")


class Block:
    """kind: text (label, text), code (lines), items ([text]), terms ([(term, text)])."""

    def __init__(self, kind, label=None, text="", lines=None, pairs=None):
        self.kind, self.label, self.text, self.lines, self.pairs = kind, label, text, lines or [], pairs or []


class Prose:
    """blocks, and returns: [(number, status, condition)], or None if there is no list in the form above.

    strays: [(number, line)] of lines of the list that have another form.
    """

    def __init__(self, comment):
        self.blocks, self.returns, self.strays = [], None, []
        self.reset()
        for number, line in comment.lines if comment else []:
            self.take(number, line)
        self.flush()

    def reset(self):
        self.words, self.list, self.depth = [], None, 0  # the open paragraph; the open list, which goes on from column depth

    def flush(self):
        if self.words:
            text = " ".join(self.words)
            found = LABEL.match(text)
            known = found and found.group(1) in LABELS
            self.blocks.append(Block("text", found.group(1) if known else None, text[found.end():] if known else text))
        self.reset()

    def take(self, number, line):
        indent = len(line) - len(line.lstrip())
        if not line:
            self.blank()
        elif self.list is not None and indent >= self.depth and not self.begins_item(line):
            self.go_on(line.strip())
        elif line == "Returns:":
            self.flush()
            self.returns = self.returns or []
            self.list, self.depth = "returns", 4
        elif self.list == "returns" and STATUS_LINE.match(line):
            self.returns.append((number, STATUS_LINE.match(line).group(1), STATUS_LINE.match(line).group(2) or ""))
        elif self.list == "returns" and indent >= 2:
            self.strays.append((number, line))
        elif not self.takes_part(line):
            self.take_text(line, indent)

    def begins_item(self, line):
        return self.list == "items" and ITEM.match(line) is not None

    def blank(self):
        if self.blocks and self.blocks[-1].kind == "code" and not self.words and self.list is None:
            self.blocks[-1].lines.append("")
        else:
            self.flush()

    def go_on(self, text):
        if self.list == "returns":
            if self.returns:
                number, status, condition = self.returns[-1]
                self.returns[-1] = (number, status, (condition + " " + text).strip())
            return
        term, before = self.blocks[-1].pairs[-1]
        self.blocks[-1].pairs[-1] = (term, before + " " + text)

    def takes_part(self, line):
        """Takes the first line of an item of a list. Returns whether it was one."""
        for kind, pattern in (("items", ITEM), ("terms", TERM)):
            found = pattern.match(line)
            if found:
                if self.list != kind:
                    self.flush()
                    self.blocks.append(Block(kind))
                    self.list = kind
                # An item goes on behind its mark, a term to the right of its own column.
                self.depth = len(found.group(1)) + 2 if kind == "items" else 4
                self.blocks[-1].pairs.append((found.group(1).strip(), found.group(2)))
                return True
        return False

    def take_text(self, line, indent):
        if indent >= 4:
            self.flush()
            if not self.blocks or self.blocks[-1].kind != "code":
                self.blocks.append(Block("code"))
            self.blocks[-1].lines.append(line[4:])
            return
        if self.list is not None or OWN_LINE.match(line) or self.ended_before(line):
            self.flush()
        self.words.append(line.strip())

    def ended_before(self, line):
        before = self.words[-1] if self.words else ""
        return before.endswith((".", ":")) and len(before) + len(line.split()[0]) + 1 < ROOM and not line[:1].islower()

    @property
    def whole(self):
        """The blocks and the `Returns:` list as blocks: for a function that is a member of a struct."""
        pairs = [(status, condition) for _, status, condition in self.returns or []]
        return self.blocks + ([Block("text", text="Returns:"), Block("terms", pairs=pairs)] if pairs else [])

    @property
    def summary(self):
        """The first sentence, without its full stop."""
        first = next((block for block in self.blocks if block.kind == "text"), None)
        if not first:
            return ""
        found = SENTENCE.match(first.text)
        return (found.group(1) if found else first.text).rstrip(".")

    @property
    def text(self):
        """All paragraphs as one, for a remark."""
        return " ".join(block.text if not block.label else f"{block.label}: {block.text}" for block in self.blocks if block.kind == "text")


def about(header):
    """The head comment, without the library's name at the end of its first paragraph."""
    prose = Prose(header.head)
    for block in prose.blocks:
        block.text = re.sub(r"\s*\blib%s\.$" % re.escape(header.part_of), "", block.text)
    return prose
