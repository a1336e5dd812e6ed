# SPDX-License-Identifier: MIT
"""Writes static HTML: an index by header, an index by name, and a page for each header.

Every known name, header and status is a link.
"""
import html
import os
import re

from headers import Group, is_public
from members import members_of
from man import ended, status_of
from prose import Prose, about
from roff import folded

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%(title)s</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<header><nav aria-label="Reference"><a href="index.html">Headers</a><a href="names.html">Names</a>\
<span class="version">cenote %(version)s</span></nav></header>
<main>
%(body)s
</main>
</body>
</html>
"""
WORD = re.compile(r"`([^`]+)`|\b(?:cen|CEN)_\w+|\b(?:cenote/)?([a-z_]+)\.h\b")
KINDS = {"functions": "function", "types": "type", "macros": "macro", "values": "constant"}


def quote(text):
    return html.escape(text, quote=False)


def anchor(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


class Site:
    """pages: {file name: text}"""

    def __init__(self, reference, headers):
        self.reference, self.headers = reference, headers
        self.places, self.shelves = {}, {}  # {name: address}, {name: the list it is in}
        for header in headers:
            for chapter in header.chapters:
                for group in chapter.groups:
                    for one in group.public:
                        self.place(header, one)
        self.pages = {header.name + ".html": self.page(f"cenote/{header.name}.h", self.header_page(header)) for header in headers}
        self.pages["index.html"] = self.page("cenote reference", self.index())
        self.pages["names.html"] = self.page("Names of cenote", self.names())
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "style.css"), encoding="utf-8") as style:
            self.pages["style.css"] = style.read()

    def place(self, header, one):
        if one.name:
            self.places.setdefault(one.name, f"{header.name}.html#{one.name}")
            self.shelves.setdefault(one.name, one.shelf)
        if one.kind == "enum":
            for member in members_of(one, self.reference):
                if member.name:
                    self.places[member.name] = f"{header.name}.html#{member.name}"
                    self.shelves[member.name] = "values"

    def page(self, title, body):
        return PAGE % {"title": quote(title), "version": self.reference.version, "body": body}

    def link(self, name, text=None):
        shown = quote(text or name)
        return f'<a href="{self.places[name]}">{shown}</a>' if name in self.places else shown

    def linked(self, text):
        """Code with its known names as links."""
        return re.sub(r"\b(?:cen|CEN)_\w+", lambda found: self.link(found.group()), quote(text))

    def marked(self, text):
        """Running text with its code marked and its known names as links."""
        parts, at = [], 0
        there = {header.name for header in self.headers}
        for found in WORD.finditer(text):
            parts.append(quote(text[at:found.start()]))
            at = found.end()
            if found.group(2) and found.group(2) in there:
                parts.append(f'<a href="{found.group(2)}.html">{found.group()}</a>')
            elif found.group(2):
                parts.append(quote(found.group()))
            else:
                parts.append(f"<code>{self.linked(found.group(1) or found.group())}</code>")
        return "".join(parts) + quote(text[at:])

    def block(self, block):
        if block.kind == "text":
            label = f"<strong>{quote(block.label)}:</strong> " if block.label else ""
            return f"<p>{label}{self.marked(block.text)}</p>"
        if block.kind == "code":
            return f"<pre>{self.linked(chr(10).join(block.lines).rstrip())}</pre>"
        if block.kind == "items":
            return "<ul>" + "".join(f"<li>{self.marked(text)}</li>" for _, text in block.pairs) + "</ul>"
        return self.terms([(quote(term), self.marked(text)) for term, text in block.pairs])

    @staticmethod
    def terms(pairs):
        return "<dl>" + "".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in pairs) + "</dl>"

    def prose(self, prose):
        parts = [self.block(block) for block in prose.blocks]
        if prose.returns:
            parts.append("<h4>Returns</h4>")
            parts.append(self.terms([(self.link(status_of(status), status), self.marked(text)) for _, status, text in prose.returns]))
        return "\n".join(parts)

    def header_page(self, header):
        parts = [f"<h1>cenote/{header.name}.h</h1>", f"<p><code>lib{header.part_of}</code></p>", self.prose(about(header))]
        titles = [chapter.title for chapter in header.chapters if chapter.title]
        if titles:
            parts.append(self.jumps({anchor(title): title for title in titles}))
        for chapter in header.chapters:
            if chapter.title:
                parts.append(f'<h2 id="{anchor(chapter.title)}">{self.marked(chapter.title)}</h2>')
            for item in chapter.items:
                if not isinstance(item, Group):
                    parts.append(self.prose(Prose(item)))
                elif item.public:
                    parts.append(self.entry(item))
        return "\n".join(parts)

    def entry(self, group):
        """A comment and its declarations."""
        shown = self.reference.callables(group) + [one for one in group.public if not one.is_callable]
        first, others = shown[0], shown[1:]
        kind = {one.shelf: KINDS[one.shelf] for one in shown}
        parts = [f'<section class="entry" id="{first.name or first.first_value + "-enum"}">',
                 f'<span class="kind">{", ".join(kind.values())}</span>']
        parts += [f'<a id="{one.name}"></a>' for one in others if one.name]
        parts.append("<h3>" + ", ".join(quote(one.name or "enum") for one in shown) + "</h3>")
        parts.append("<pre>" + "\n".join(self.signature(one) for one in shown) + "</pre>")
        parts.append(self.prose(Prose(group.comment)))
        for one in shown:
            if one.remark:
                name = f"<code>{quote(one.name)}</code>: " if others else ""
                parts.append(f"<p>{name}{self.marked(Prose(one.remark).text)}</p>")
            if one.options:
                parts.append(f"<p>Makes a {self.marked(one.options)} with its size set.</p>")
            if one.kind in ("struct", "union", "enum"):
                parts.append(self.members(one))
        return "\n".join(parts + ["</section>"])

    def signature(self, one):
        if one.kind in ("function", "inline", "macro"):
            value = self.reference.value(one) if one.kind == "macro" else ""
            text = "\n".join(folded(self.reference.signature(one), one.name))
            return ("#define " if one.shelf == "macros" else "") + self.linked(text + f" {value}".rstrip())
        if one.kind in ("struct", "union", "enum"):
            return f"{one.kind} {one.name or ''}".strip() + " { ... };"
        return self.linked(one.prototype + ";")

    def members(self, one):
        """The fields or enumerators with their comments."""
        parts, is_open = [], False
        for member in members_of(one, self.reference):
            if member.name is None:
                parts.append("</dl>" * is_open + f'<p class="heading">{self.marked(ended(member.prose[0].text))}</p>')
                is_open = False
                continue
            place = f' id="{member.name}"' if one.kind == "enum" else ""
            said = "".join(self.prose(prose) for prose in member.prose)
            parts.append("<dl>" * (not is_open) + f"<dt{place}>{self.member_text(one, member)}</dt><dd>{said}</dd>")
            is_open = True
        return "\n".join(parts) + "</dl>" * is_open

    def member_text(self, one, member):
        return quote(member.text) if one.kind == "enum" else self.linked(member.text)

    def index(self):
        parts = ["<h1>cenote reference</h1>", "<p>By header. The same by name: <a href=\"names.html\">names</a>.</p>"]
        libraries = dict.fromkeys(["cenote"] + [header.part_of for header in self.headers])
        for library in libraries:
            of_it = [header for header in self.headers if header.part_of == library]
            if of_it:
                parts.append(f"<h2>lib{library}</h2>")
                parts.append('<dl class="headers">' + "\n".join(self.index_entry(header) for header in of_it) + "</dl>")
        return "\n".join(parts)

    def index_entry(self, header):
        names = [one.name for chapter in header.chapters for group in chapter.groups for one in group.public
                 if one.name]
        links = ", ".join(self.link(name) for name in dict.fromkeys(names))
        inside = f"<details><summary>{len(set(names))} names</summary><p>{links}</p></details>" if names else ""
        return (f'<dt><a href="{header.name}.html">cenote/{header.name}.h</a></dt>'
                f"<dd>{self.marked(ended(about(header).summary))}{inside}</dd>")

    def names(self):
        kinds = [shelf for shelf in KINDS if shelf in self.shelves.values()]
        titles = {shelf: KINDS[shelf].capitalize() + "s" for shelf in kinds}
        parts = ["<h1>Names</h1>", self.jumps(titles)]
        for shelf in kinds:
            of_it = sorted((name for name in self.places if self.shelves[name] == shelf and is_public(name)), key=str.lower)
            parts.append(f'<h2 id="{shelf}">{titles[shelf]}</h2>')
            parts.append('<ul class="names">' + "\n".join(f"<li><code>{self.link(name)}</code></li>" for name in of_it) + "</ul>")
        return "\n".join(parts)

    @staticmethod
    def jumps(titles):
        """Links to the parts of a page: {anchor: title}."""
        links = "\n".join(f'<li><a href="#{place}">{quote(title)}</a></li>' for place, title in titles.items())
        return f'<ul class="jumps">{links}</ul>'
