# SPDX-License-Identifier: MIT
"""Pages that show a file of the tree with its lines numbered, or what is in a folder. They stand beside the site's own pages."""
import html
import os

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

COLOURED_BYTES = 300_000  # a longer file is shown without colours
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%(path)s - cenote</title>
<link rel="icon" href="%(up)sassets/icon.svg">
<link rel="stylesheet" href="%(up)sassets/listing.css">
<script src="%(up)sassets/listing.js" data-root="%(up)s"></script>
</head>
<body>
<header><a class="home" href="%(up)sindex.html">cenote</a> <span class="path">%(trail)s</span>%(more)s</header>
<main>%(body)s</main>
</body>
</html>
"""


def place(path):
    """Where the page of a file is on the site: MkDocs leaves out names that begin with a dot."""
    return "/".join(part.lstrip(".") for part in path.split("/")) + ".html"


def framed(path, up, body, folders, more=""):
    """up: the way to the top of the site. folders: those that have a page."""
    parts, trail = path.split("/"), []
    for number, part in enumerate(parts):
        here = "/".join(parts[:number + 1])
        linked = here in folders and number + 1 < len(parts)
        trail.append(f'<a href="{up}{html.escape(here)}/index.html">{html.escape(part)}</a>' if linked else html.escape(part))
    return PAGE % {"path": html.escape(path), "up": up, "trail": "/<wbr>".join(trail), "body": body, "more": more}


def lexer_of(path, size):
    try:
        return get_lexer_for_filename(path) if size <= COLOURED_BYTES else TextLexer()
    except ClassNotFound:
        return TextLexer()


def source(root, path, folders, reference):
    """The page of a text file; None if the file is no text."""
    with open(os.path.join(root, path), "rb") as file:
        data = file.read()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    lines = highlight(text, lexer_of(path, len(data)), HtmlFormatter(linespans="L"))
    up = "../" * path.count("/")
    more = f' <a href="{up}{reference}">API reference</a>' if reference else ""
    return framed(path, up, lines, folders, more)


def folder(path, entries, folders):
    """entries: {shown name: address on the site}."""
    up = "../" * (path.count("/") + 1)
    rows = "\n".join(f'<li><a href="{up}{html.escape(address)}">{html.escape(name)}</a></li>' for name, address in entries.items())
    return framed(path, up, f"<h1>{html.escape(path)}</h1>\n<ul>\n{rows}\n</ul>", folders)
