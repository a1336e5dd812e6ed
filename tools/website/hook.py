# SPDX-License-Identifier: MIT
"""What MkDocs asks while it builds the site: the navigation's patterns, and pages that are finished HTML already."""
import glob
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import markup
from mkdocs.exceptions import PluginError
from mkdocs.structure.toc import AnchorLink, TableOfContents
from progress import Progress

state = {}
LISTS = re.compile(r"(reference/(index|names)|bench/results/.*)\.html")


def order(path):
    """The index of a folder first, then the list of names."""
    name = os.path.basename(path)
    return name != "README.md", name != "names.md", path


def filled(entry, folder):
    """An entry of the navigation, with a pattern such as src/*/README.md replaced by the pages that it names."""
    if isinstance(entry, dict):
        pages = {title: filled(value, folder) for title, value in entry.items()}
        return {title: value[0] if entry[title] != value and len(value) == 1 else value for title, value in pages.items()}
    if isinstance(entry, list):
        return [filled(one, folder) for one in entry]
    if "*" not in entry:
        return entry
    found = sorted(glob.glob(entry, root_dir=folder), key=order)
    if not found:
        raise PluginError(f"the navigation names {entry}, and there is no such page")
    return found


def on_config(config):
    config["nav"] = filled(config["nav"], config["docs_dir"])
    return config


def on_nav(nav, config, files):
    named = {page.file.src_uri for page in nav.pages}
    others = [file.src_uri for file in files.documentation_pages() if file.src_uri not in named]
    if others:
        raise PluginError(f"not in the navigation: {', '.join(others)}; add them to nav in mkdocs.yml")
    state["progress"] = Progress("pages", len(nav.pages))
    return nav


def on_page_markdown(text, page, config, files):
    page.finished = text
    return ""


def contents(text):
    """The headings of a page as a tree."""
    top, path = [], []
    for level, name, title in markup.NAMED_HEADING.findall(text):
        link = AnchorLink(markup.plain(title), name, int(level))
        while path and path[-1].level >= link.level:
            path.pop()
        (path[-1].children if path else top).append(link)
        path.append(link)
    return TableOfContents(top)


def on_page_content(text, page, config, files):
    page.toc = contents(page.finished)
    return page.finished


def on_post_page(output, page, config):
    state["progress"].step()
    return markup.with_room(output)


def on_post_build(config):
    state["progress"].end()
    # Both need to know at which address the site will stand.
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):
        os.remove(os.path.join(config["site_dir"], name))
    leave_out(os.path.join(config["site_dir"], "search", "search_index.json"))


def leave_out(path):
    """Takes mere lists out of what the search knows."""
    with open(path, encoding="utf-8") as file:
        index = json.load(file)
    index["docs"] = [entry for entry in index["docs"] if not LISTS.match(entry["location"])]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(index, file, separators=(",", ":"))
