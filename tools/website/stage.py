# SPDX-License-Identifier: MIT
"""Collects what the site consists of, and writes it for MkDocs.

Pages are the seeds below and every Markdown page that a page links to. A link to another file makes a page that shows the file,
a link to a folder a page that lists it. A staged page is a title for MkDocs and finished HTML; hook.py hands it on.
"""
import glob
import json
import os
import posixpath
import re
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor

import listing
import markup
from progress import Progress

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "manual"))
from headers import Reference
from web import Site

SEEDS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/measured.md", "examples/README.md"]
GLOBS = ["docs/**/*.md", "src/*/README.md"]
FURNITURE = {"icon.svg": "src/inspect/page/icon.svg", "site.css": "tools/website/site.css", "listing.css": "tools/website/listing.css",
             "listing.js": "tools/website/listing.js", "search.js": "tools/website/search.js"}
PICTURES = (".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)


def site_path(path):
    """Where a Markdown page is on the site."""
    folder, name = posixpath.split(path)
    return posixpath.join(folder, "index.html" if name == "README.md" else name[:-3] + ".html")


class Stage:
    """markup: {page: HTML}; files, folders, pictures: what pages link to; problems: links that lead nowhere."""

    def __init__(self, root):
        self.root, self.problems = root, []
        self.markup, self.files, self.folders, self.pictures = {}, set(), set(), set()
        self.waiting = []
        for path in SEEDS + [path for pattern in GLOBS for path in sorted(glob.glob(pattern, root_dir=root, recursive=True))]:
            self.want_page(path)

    def want_page(self, path):
        if path not in self.markup:
            self.markup[path] = None
            self.waiting.append(path)

    def collect(self):
        while self.waiting:
            path = self.waiting.pop()
            self.markup[path] = markup.page(os.path.join(self.root, path), lambda link, path=path: self.address(path, link))

    def address(self, page, link):
        """What a link of a page becomes; its target is noted."""
        name, mark, anchor = link.partition("#")
        if ELSEWHERE.match(link) or not name:
            return link
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
        if target.startswith("..") or name.startswith("/") or not os.path.exists(os.path.join(self.root, target)):
            self.problems.append(f"{page}: {link}: there is no {target}")
            return link
        return posixpath.relpath(self.want(target), posixpath.dirname(site_path(page)) or ".") + mark + anchor

    def want(self, target):
        """Notes a target; returns where it is on the site."""
        if os.path.isdir(os.path.join(self.root, target)):
            self.want_folder(target)
            return target + "/index.html"
        if target.endswith(".md"):
            self.want_page(target)
            return site_path(target)
        if target.endswith(PICTURES):
            self.pictures.add(target)
            return target
        self.files.add(target)
        return listing.place(target)

    def want_folder(self, target):
        if target in self.folders or target + "/README.md" in self.markup:
            return
        if os.path.exists(os.path.join(self.root, target, "README.md")):
            self.want_page(target + "/README.md")
            return
        self.folders.add(target)
        for name in self.listed(target):
            self.want(f"{target}/{name}")

    def listed(self, folder):
        return sorted(name for name in os.listdir(os.path.join(self.root, folder)) if not name.startswith((".", "__")))


def titled(title, body):
    return f"---\ntitle: {json.dumps(title)}\n---\n{body}\n"


def reference_pages(root):
    """The API reference, as bodies of pages: its anchors are moved to the headings, so that contents and search know them."""
    reference = Reference(root)
    site = Site(reference, reference.headers)
    pages = {header.name: (f"cenote/{header.name}.h", site.header_page(header)) for header in reference.headers}
    pages["README"] = ("API reference", site.index())
    pages["names"] = ("All names", site.names())
    for name, (title, body) in pages.items():
        body = re.sub(r'<section class="entry" id="([^"]+)">(.*?)<h3>(.*?)</h3>', lambda found: (
            f'<section class="entry">{found.group(2)}{markup.heading(3, found.group(1), found.group(3))}'), body, flags=re.S)
        body = re.sub(r'<h2 id="([^"]+)">(.*?)</h2>', lambda found: markup.heading(2, found.group(1), found.group(2)), body)
        body = body.replace("<h4>", '<p class="heading">').replace("</h4>", "</p>")
        body = body.replace("<pre>", '<div class="highlight"><pre><code>').replace("</pre>", "</code></pre></div>")
        yield f"reference/{name}.md", titled(title, f'<div class="reference">{markup.with_anchors(body)}</div>')


class Output:
    """Writes files below a folder, only where they change, and removes what an earlier run left."""

    def __init__(self, folder):
        self.folder, self.written = folder, set()

    def path(self, name):
        self.written.add(name)
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def copy(self, origin, name):
        shutil.copyfile(origin, self.path(name))

    def is_newer(self, name, *origins):
        """Whether a file is there already and younger than what it is made of."""
        path = self.path(name)
        return os.path.exists(path) and all(os.path.getmtime(path) > os.path.getmtime(origin) for origin in origins)

    def remove_others(self):
        for folder, _, names in os.walk(self.folder, topdown=False):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.folder) not in self.written:
                    os.remove(path)
            if not os.listdir(folder):
                os.rmdir(folder)


def shown(job):
    root, path, folders, reference = job
    return path, listing.source(root, path, folders, reference)


def write_sources(stage, output, references):
    makers = [listing.__file__, __file__]
    old = [path for path in sorted(stage.files) if not output.is_newer(listing.place(path), os.path.join(stage.root, path), *makers)]
    progress = Progress("files shown", len(old))
    jobs = [(stage.root, path, stage.folders, references.get(path)) for path in old]
    with ProcessPoolExecutor() as pool:
        for path, text in pool.map(shown, jobs, chunksize=8):
            progress.step()
            if text is None:
                stage.problems.append(f"{path} is linked to, and no text")
            else:
                output.write(listing.place(path), text)
    if old:
        progress.end()


def write_folders(stage, output):
    for path in sorted(stage.folders):
        entries = {name + "/" * os.path.isdir(os.path.join(stage.root, path, name)): stage.want(f"{path}/{name}") for name in stage.listed(path)}
        output.write(path + "/index.html", listing.folder(path, entries, stage.folders))


def write_stage(root, folder):
    """Returns what to print, and the problems."""
    stage, output = Stage(root), Output(folder)
    stage.collect()
    references = {}
    for name, text in reference_pages(root):
        output.write(name, text)
        references[f"include/cenote/{name[10:-3]}.h"] = name[:-3] + ".html"
    for path, body in stage.markup.items():
        output.write(path, titled(markup.title(body) or path, body))
    write_folders(stage, output)
    write_sources(stage, output, references)
    for path in stage.pictures:
        output.copy(os.path.join(root, path), path)
    for name, origin in FURNITURE.items():
        output.copy(os.path.join(root, origin), "assets/" + name)
    output.remove_others()
    return f"{len(stage.markup)} pages, {len(references)} of the reference, {len(stage.files)} files, {len(stage.folders)} folders", stage.problems
