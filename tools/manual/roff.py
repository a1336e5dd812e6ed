# SPDX-License-Identifier: MIT
"""Writes one manual page with the man macros of roff."""
import re
import textwrap

from headers import is_public, split_list

WIDTH = 76
MARKED = re.compile(r"`([^`]+)`|\b((?:cen|CEN)_\w+)\b(?!\*)")
SPECIAL = {"\\": "\\e", "-": "\\-", "~": "\\(ti", "^": "\\(ha", "`": "\\(ga"}
BREAKS = {"break_long_words": False, "break_on_hyphens": False}


def escape(text, is_code=False):
    found = "".join(SPECIAL.get(char, char if ord(char) < 128 else "\\[u%04X]" % ord(char)) for char in text)
    return found.replace("'", "\\(aq") if is_code else found


def quoted(text):
    return '"%s"' % escape(text, True).replace('"', "\\(dq")


def guard(line):
    """Protects a line of text that would be read as a request."""
    return "\\&" + line if line[:1] in (".", "'") else line


def folded(prototype, name):
    """The lines of a prototype, broken between arguments."""
    if len(prototype) <= WIDTH or name + "(" not in prototype:
        return [prototype]
    head, rest = prototype.split(name + "(", 1)
    head += name + "("
    arguments = ", ".join(argument.replace(" ", "\0") for argument in split_list(rest[:rest.rindex(")")]))
    lines = textwrap.wrap(head + arguments + rest[rest.rindex(")"):], WIDTH, subsequent_indent=" " * min(len(head), 12), **BREAKS)
    return [line.replace("\0", " ") for line in lines]


class Page:
    """refers: tells whether a name has a page of its own, so that its section is shown."""

    def __init__(self, name, version, refers):
        self.refers = refers
        self.lines = ['.\\" SPDX-License-Identifier: MIT', '.\\" Made by tools/reference from include/cenote.',
                      '.TH %s 3 "" "%s" "cenote"' % (escape(name.upper()), f"cenote {version}".strip()), ".nr HY 0", ".nh", ".ad l"]
        self.begun = True  # the last line is a heading or a term: no space before the next paragraph

    def text(self):
        return "\n".join(self.lines) + "\n"

    def section(self, title):
        self.lines.append(f".SH {title}")
        self.begun = True

    def part(self, title):
        self.lines.append(f".SS {quoted(title)}")
        self.begun = True

    def name(self, names, summary):
        self.section("NAME")
        self.lines += textwrap.wrap(f"{', '.join(names)} \\- {escape(summary.replace('`', ''))}", WIDTH, **BREAKS)

    def of_part(self, library):
        self.section("LIBRARY")
        self.lines.append(escape(f"lib{library} (-l{library})"))

    def synopsis(self, include, prototypes):
        """prototypes: [(name, prototype)]"""
        self.section("SYNOPSIS")
        self.lines += [".nf", f".B {escape(include)}"] + ([".PP"] if prototypes else [])
        self.lines += [f"\\fB{escape(line)}\\fP" for name, prototype in prototypes for line in folded(prototype, name)]
        self.lines.append(".fi")

    def see_also(self, names):
        self.section("SEE ALSO")
        self.lines += [f".BR {escape(name)} (3)," for name in names[:-1]] + [f".BR {escape(name)} (3)" for name in names[-1:]]

    def marked(self, text):
        """The text with names in bold and code in italics."""
        parts, at = [], 0
        for found in MARKED.finditer(text):
            parts.append(escape(text[at:found.start()]))
            at = found.end()
            if found.group(2) and is_public(found.group(2)):
                section = "(3)" if self.refers(found.group(2)) and text[at:at + 2].strip()[:1] != "(" else ""
                parts.append(f"\\fB{escape(found.group(2))}\\fP{section}")
            else:
                parts.append(f"\\fI{escape(found.group(1) or found.group(2), True)}\\fP")
        return "".join(parts) + escape(text[at:])

    def put(self, text):
        """Adds running text. Code is not broken at its blanks."""
        text = self.marked(re.sub(r"`[^`]*`", lambda found: found.group().replace(" ", "\0"), text))
        self.lines += [guard(line.replace("\0", " ")) for line in textwrap.wrap(text, WIDTH, **BREAKS)] or ["\\&"]
        self.begun = False

    def paragraph(self, text, label=None, inside=False):
        if not self.begun:
            self.lines.append(".IP" if inside else ".PP")
        if label:
            self.lines.append(f".B {escape(label)}:")
        self.put(text)

    def code(self, lines, inside=False):
        space = [] if self.begun else [".PP"]
        begin = [".RS"] + space if inside else space + [".RS 4"]
        self.lines += begin + [".EX"] + [guard(escape(line, True)) for line in lines] + [".EE", ".RE"]
        self.begun = False

    def block(self, block, inside=False):
        """inside: the block belongs to an item of a list."""
        if block.kind == "text":
            self.paragraph(block.text, block.label, inside)
            return
        if block.kind == "code":
            self.code("\n".join(block.lines).rstrip().split("\n"), inside)
            return
        if inside:
            self.lines.append(".RS")
        for term, text in block.pairs:
            if block.kind == "items":
                self.lines.append(".IP \\(bu 2")
                self.put(text)
            else:
                self.item(f".B {escape(term)}", [text])
        if inside:
            self.lines.append(".RE")

    def item(self, term, said):
        """said: a list of texts and blocks."""
        self.lines += [".TP", term]
        self.begun = True
        for one in said:
            if isinstance(one, str):
                self.put(one)
            else:
                self.block(one, inside=True)
        if self.begun:
            self.lines.append("\\&")
        self.begun = False

    def prose(self, prose):
        for block in prose.blocks:
            self.block(block)
