# SPDX-License-Identifier: MIT
"""Writes manual pages of section 3.

A header has the page cenote_NAME, and cenote.h the page cenote. Functions that share a comment share a page with the name of the
first function. The pages of the others refer to it (.so).
"""
import re

from headers import Group
from members import members_of
from prose import Prose, about
from roff import Page, escape, quoted

INCLUDES = re.compile(r"^#include <cenote/(\w+)\.h>", re.M)


def page_of(name):
    return "cenote" if name == "cenote" else "cenote_" + name


def lower(sentence):
    """The sentence as it follows a name and a dash. A name or an abbreviation at its beginning stays as it is."""
    return sentence[:1].lower() + sentence[1:] if re.match(r"[A-Z]([a-z]+|)\b(?!_)", sentence) else sentence


def status_of(word):
    """The whole name of a status of a `Returns:` list."""
    return word if word == "others" or word.startswith("CEN_") else "CEN_" + word


def ended(sentence):
    return sentence + "." if sentence[-1:] not in ".?!:" else sentence


class Manual:
    """pages: {file name: text}"""

    def __init__(self, reference, headers):
        self.reference, self.headers = reference, headers
        self.groups = [group for header in headers for chapter in header.chapters for group in chapter.groups]
        self.page_by_function = {}
        for group in self.groups:
            functions = reference.callables(group)
            self.page_by_function.update({one.name: functions[0].name for one in functions})
        self.pages = {page_of(header.name) + ".3": self.header_page(header) for header in headers}
        for group in self.groups:
            self.add_functions(group)

    def add_functions(self, group):
        functions = self.reference.callables(group)
        if functions:
            self.pages[functions[0].name + ".3"] = self.function_page(group, functions)
        for one in functions[1:]:
            self.pages[one.name + ".3"] = f".so man3/{functions[0].name}.3\n"

    def page(self, name, own=()):
        return Page(name, self.reference.version, lambda other: other in self.page_by_function and other not in own)

    def function_page(self, group, functions):
        header, prose = functions[0].header, Prose(group.comment)
        names = [one.name for one in functions]
        page = self.page(names[0], names)
        page.name(names, lower(self.summary(group)) or f"a function of {page_of(header.name)}(3)")
        page.of_part(header.part_of)
        page.synopsis(f"#include <cenote/{header.name}.h>", [(one.name, self.reference.signature(one)) for one in functions])
        page.section("DESCRIPTION")
        page.prose(prose)
        for one in functions:
            if one.remark:
                page.item(f".B {escape(one.name)}", Prose(one.remark).blocks)
        if page.begun:
            page.put(f"See {page_of(header.name)}(3).")
        if prose.returns:
            page.section("RETURN VALUE")
            for _, status, condition in prose.returns:
                page.item(f".B {escape(status_of(status))}", [condition] if condition else [])
        notes = group.notes
        if notes:
            page.section("NOTES")
        for note in notes:
            page.prose(Prose(note))
        page.see_also([page_of(header.name)] + self.siblings(group, names, prose))
        return page.text()

    def summary(self, group):
        """The first sentence of the comment, or of the first remark."""
        remarks = [Prose(one.remark).summary for one in self.reference.callables(group) if one.remark]
        return Prose(group.comment).summary or (remarks or [""])[0]

    def siblings(self, group, own, prose):
        """The pages of the functions that the text names, then of the other functions of the chapter."""
        texts = [text for block in prose.blocks for text in [block.text] + [said for _, said in block.pairs]]
        names = [name for text in texts for name in re.findall(r"\b(?:cen|CEN)_\w+", text)]
        names += [one.name for other in group.chapter.groups for one in self.reference.callables(other)]
        pages = [self.page_by_function[name] for name in names if name in self.page_by_function]
        return [page for page in dict.fromkeys(pages) if page not in own]

    def header_page(self, header):
        prose, name = about(header), page_of(header.name)
        page = self.page(name)
        page.name([name], lower(prose.summary) or f"a header of lib{header.part_of}")
        page.of_part(header.part_of)
        page.synopsis(f"#include <cenote/{header.name}.h>", [])
        page.section("DESCRIPTION")
        page.prose(prose)
        if page.begun:
            page.put(f"A header of lib{header.part_of}.")
        self.put_functions(page, header)
        declared = [one for chapter in header.chapters for group in chapter.groups for one in group.public]
        types = [one for one in declared if one.is_type]
        self.put_types(page, "TYPES", [one for one in types if not (one.name or "").endswith("_options")])
        self.put_types(page, "OPTIONS", [one for one in types if (one.name or "").endswith("_options")])
        self.put_macros(page, [one for one in declared if one.shelf == "macros" and not one.options])
        self.put_notes(page, header)
        page.see_also(self.relatives(header))
        return page.text()

    def relatives(self, header):
        """The pages of cenote.h and of the headers that this one includes."""
        there = [other.name for other in self.headers if other.name != header.name]
        found = [name for name in dict.fromkeys(["cenote"] + INCLUDES.findall(header.text)) if name in there]
        return [page_of(name) for name in found] or [page_of(header.name)]

    def put_functions(self, page, header):
        chapters = [chapter for chapter in header.chapters if any(self.reference.callables(group) for group in chapter.groups)]
        if chapters:
            page.section("FUNCTIONS")
        for chapter in chapters:
            if chapter.title:
                page.part(chapter.title)
            for item in chapter.items:
                if not isinstance(item, Group):
                    page.prose(Prose(item))
                    continue
                names = [f"\\fB{escape(one.name)}\\fP(3)" for one in self.reference.callables(item)]
                if names:
                    page.item(", ".join(names), [ended(self.summary(item))])

    def put_notes(self, page, header):
        """Notes of chapters without functions."""
        for chapter in header.chapters:
            if chapter.notes and not any(self.reference.callables(group) for group in chapter.groups):
                page.section(quoted(chapter.title.upper()) if chapter.title else "NOTES")
                for note in chapter.notes:
                    page.prose(Prose(note))

    def put_types(self, page, title, types):
        if types:
            page.section(title)
        for one in types:
            page.part(one.name or "enum " + one.first_value)
            if one.group.leads(one):
                page.prose(Prose(one.group.comment))
            if one.kind == "opaque":
                page.paragraph("Opaque: a program only has pointers to it.")
            elif one.kind in ("callback", "alias"):
                page.code([one.prototype + ";"])
            else:
                self.put_members(page, one)
            if one.remark:
                page.paragraph(Prose(one.remark).text)

    def put_members(self, page, one):
        for made in one.header.declarations:
            if made.options == one.name:
                page.paragraph(f"{made.name}(...) makes one with its size set.")
        members = members_of(one, self.reference)
        if not members:
            page.paragraph("All of its fields are private.")
        for member in members:
            if member.name:
                page.item(".B " + quoted(member.text), [block for prose in member.prose for block in prose.whole])
            else:
                page.paragraph(ended(member.prose[0].text))

    def put_macros(self, page, macros):
        if macros:
            page.section("MACROS")
        for one in macros:
            value = self.reference.value(one)
            said = [Prose(one.group.comment)] if one.group.leads(one) else []
            said += [Prose(one.remark)] if one.remark else []
            page.item(f"\\fB{escape(self.reference.signature(one))}\\fP {escape(value, True)}".rstrip(),
                      [block for prose in said for block in prose.blocks])
