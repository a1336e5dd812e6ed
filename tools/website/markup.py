# SPDX-License-Identifier: MIT
"""HTML of a Markdown page, by cmark-gfm: lists, tables and anchors are those that the repository's pages are written for."""
import html
import importlib.machinery
import importlib.util
import os
import re
import subprocess

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

COMMAND = ["cmark-gfm", "--unsafe", "--github-pre-lang", "-e", "table", "-e", "autolink", "-e", "strikethrough"]
HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.S)
NAMED_HEADING = re.compile(r'<h([1-6]) id="([^"]+)">(.*?)</h\1>', re.S)
PERMALINK = re.compile(r'<a class="headerlink".*?</a>', re.S)
CODE = re.compile(r'<pre(?: lang="([^"]*)")?><code>(.*?)</code></pre>', re.S)
CELL = re.compile(r"<td( align=[^>]*|)>(.*?)</td>", re.S)
LONG_NAME, LONG_TEXT = re.compile(r"[\w./]{24,}"), 60
TARGET = re.compile(r'(<(?:a|img|source)\b[^>]*?\b(href|src)=")([^"]+)(")')


def checked_links():
    """tools/check-links, which knows the anchors of headings."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check-links")
    loader = importlib.machinery.SourceFileLoader("check_links", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


slug = checked_links().slug


def plain(markup):
    """The text of a piece of HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", PERMALINK.sub("", markup))).strip()


def heading(level, name, markup):
    link = f'<a class="headerlink" href="#{html.escape(name)}" title="Link to this place">&para;</a>'
    return f'<h{level} id="{html.escape(name)}">{markup}{link}</h{level}>'


def with_anchors(markup):
    seen = {}

    def named(found):
        name = slug(plain(found.group(2)))
        count = seen.get(name, 0)
        seen[name] = count + 1
        return heading(found.group(1), f"{name}-{count}" if count else name, found.group(2))

    return HEADING.sub(named, markup)


def coloured(language, text):
    try:
        return highlight(text, get_lexer_by_name(language, stripnl=False), HtmlFormatter(nowrap=True))
    except ClassNotFound:
        return html.escape(text, quote=False)


def with_colours(markup):
    def block(found):
        language = (found.group(1) or "").split()
        inner = coloured(language[0], html.unescape(found.group(2))) if language else found.group(2)
        return f'<div class="highlight"><pre><code>{inner}</code></pre></div>'

    return CODE.sub(block, markup)


def with_room(markup):
    """Tables that stay readable on a narrow screen: text is not squeezed, and a long name may be broken at a mark in it."""
    def broken(name):
        return re.sub(r"([_/.])(?=\w)", r"\1<wbr>", name.group())

    def cell(found):
        kind = ' class="long"' if len(plain(found.group(2))) > LONG_TEXT else ""
        inner = re.sub(r"(?<=>)[^<>]+", lambda text: LONG_NAME.sub(broken, text.group()), f">{found.group(2)}")
        return f"<td{kind}{found.group(1)}{inner}</td>"

    return CELL.sub(cell, markup)


def page(path, address):
    """The HTML of the page in a file. address: what a link of the page becomes on the site."""
    made = subprocess.run([*COMMAND, path], check=True, stdout=subprocess.PIPE).stdout.decode()
    linked = TARGET.sub(lambda found: found.group(1) + html.escape(address(html.unescape(found.group(3)))) + found.group(4), made)
    return with_colours(with_anchors(linked))


def title(markup):
    found = re.search(r"<h1[^>]*>(.*?)</h1>", markup, re.S)
    return plain(found.group(1)) if found else None
