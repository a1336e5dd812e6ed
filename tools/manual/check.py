# SPDX-License-Identifier: MIT
"""Checks that the headers have everything that the reference needs."""
import collections
import glob
import os
import re

from headers import is_public
from man import Manual, page_of
from members import members_of
from prose import Prose

RECORD = os.path.join("tools", "reference.todo")
# name: of the declaration; text: what to do.
Complaint = collections.namedtuple("Complaint", "name path number text")


def name_of(one):
    return one.name or one.first_value


def without_comment(one):
    where = (name_of(one), one.header.path, one.number)
    if one.shelf == "functions":
        return Complaint(*where, "write a comment above it, or move it directly under the one that serves it")
    return Complaint(*where, "write a comment above it: what it is, and what it is for")


def needs_comment(one):
    """Not an opaque type, whose header describes it, and not CEN_X_OPTIONS, which its struct describes."""
    return one.kind != "opaque" and not one.options


def check_list(one, prose, statuses):
    path = one.header.path
    if prose.returns is None:
        begun = re.search(r"\bReturns:", prose.text)
        yield Complaint(one.name, path, one.number, "put `Returns:` alone on its line, and below it a status a line" if begun else
                        "it returns cen_status: add a `Returns:` list, a status a line")
        return
    if not prose.returns:
        yield Complaint(one.name, path, one.number, "its `Returns:` list is empty: name each status with its condition")
    for number, line in prose.strays:
        yield Complaint(one.name, path, number, f'"{line.strip()}" is no line of a `Returns:` list: a status, two blanks, its condition')
    seen = set()
    for number, status, _ in prose.returns:
        if status in seen:
            yield Complaint(one.name, path, number, f"{status} is in the list already: say all of it on one line")
        seen.add(status)
        if status.startswith("CEN_") and status[4:] in statuses:
            yield Complaint(one.name, path, number, f"write {status[4:]}, without CEN_")
        elif status not in statuses | {"others"}:
            yield Complaint(one.name, path, number, f"{status} is not a status: name one of enum cen_status, or `others`")


def check_groups(reference):
    status = reference.types.get("cen_status")
    statuses = {member.name[4:] for member in members_of(status, reference) if member.name} if status else set()
    for header in reference.headers:
        for group in (group for chapter in header.chapters for group in chapter.groups):
            for one in group.public:
                if needs_comment(one) and not group.comment and not one.remark:
                    yield without_comment(one)
            returning = [one for one in group.public if one.kind in ("function", "inline") and one.result == "cen_status"]
            if returning and group.comment:
                prose = Prose(group.comment)
                for one in returning if prose.returns is None else returning[:1]:
                    yield from check_list(one, prose, statuses)


def check_twice(reference):
    first = {}
    for one in reference.declarations:
        if one.kind in ("function", "inline") and is_public(one.name):
            if one.name in first:
                before = first[one.name]
                yield Complaint(one.name, one.header.path, one.number,
                                f"it is declared already, in {before.header.path}:{before.number}: remove one")
            first.setdefault(one.name, one)


def exported(root):
    """Yields (name, path, number) of every line of src/*.symbols."""
    for path in sorted(glob.glob(os.path.join(root, "src", "*.symbols"))):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield line.strip(), os.path.relpath(path, root), number


def check_exports(reference):
    """Every exported function must be declared, and every private one used by a macro or an inline function."""
    listed = list(exported(reference.root))
    code = " ".join(one.text for one in reference.declarations)
    for name, path, number in listed:
        if name not in reference.functions:
            yield Complaint(name, path, number, "no public header declares it: declare it there with CEN_API, or do not export it")
        elif not is_public(name) and len(re.findall(rf"\b{name}\b", code)) < 2:
            yield Complaint(name, path, number, "no macro and no inline function uses it: give it a public name, or do not export it")
    names = {name for name, _, _ in listed}
    for one in reference.functions.values():
        if listed and one.kind == "function" and one.name not in names:
            yield Complaint(one.name, one.header.path, one.number, "it is in no src/*.symbols: tools/check-symbols --update")


def check_pages(reference):
    """Every function must have its page. The functions are found by a regular expression and not by headers.py, which may miss one."""
    pages = set(Manual(reference, reference.headers).pages)
    for header in reference.headers:
        if page_of(header.name) + ".3" not in pages:
            yield Complaint(header.name, header.path, 1, "it has no page")
        code = re.sub(r"/\*.*?\*/", lambda found: "\n" * found.group().count("\n"), header.text, flags=re.S)
        for found in re.finditer(r"\bCEN_API\s[^;({#]*?\b(cen_\w+)\(", code):
            if is_public(found.group(1)) and found.group(1) + ".3" not in pages:
                yield Complaint(found.group(1), header.path, code.count("\n", 0, found.start()) + 1, "it has no page")


def complaints(reference):
    found = [*check_groups(reference), *check_twice(reference), *check_exports(reference), *check_pages(reference)]
    return sorted(set(found), key=lambda one: (one.path, one.number, one.text))


def recorded(root):
    """{name: its line in the record}, and the comments of the record."""
    names, comments = {}, []
    path = os.path.join(root, RECORD)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.startswith("#"):
                    comments.append(line)
                elif line.strip():
                    names[line.strip()] = number
    return names, comments


def shrink(root, names, comments, left):
    """Removes names that lack nothing from the record, and the record when it is empty."""
    path = os.path.join(root, RECORD)
    if not any(name in left for name in names):
        os.remove(path)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(comments + [name + "\n" for name in names if name in left])


def check(reference, is_update):
    """Prints complaints. Returns whether there was none."""
    root = reference.root
    found = complaints(reference)
    left = {one.name for one in found}
    names, comments = recorded(root)
    if is_update and os.path.exists(os.path.join(root, RECORD)):
        shrink(root, names, comments, left)
        names, comments = recorded(root)
    new = [one for one in found if one.name not in names]
    for one in new:
        print(f"{one.path}:{one.number}: {one.name}: {one.text}")
    done = [name for name in names if name not in left]
    for name in done:
        print(f"{RECORD}:{names[name]}: {name} has all that it needs: remove the line (tools/reference --update)")
    empty = os.path.exists(os.path.join(root, RECORD)) and not names
    if empty:
        print(f"{RECORD}:1: nothing is left: remove the file (tools/reference --update)")
    print_counts(reference, len({one.name for one in new}), len(left & set(names)))
    return not new and not done and not empty


def print_counts(reference, missing, known):
    shelves = {"functions": set(), "types": set(), "macros": set()}
    for one in reference.declarations:
        if one in one.group.public:
            shelves[one.shelf].add(name_of(one))
    counts = ", ".join(f"{len(names)} {shelf}" for shelf, names in shelves.items())
    print(f"{counts}; {missing} lack something, and {known} more, which {RECORD} names" if missing or known else
          f"{counts} have what the reference needs")
