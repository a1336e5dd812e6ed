# SPDX-License-Identifier: MIT
"""Reads the members of a struct or an enum and their comments.

A comment behind a member describes that member. A comment above a member describes it too; a short one is a heading if the
member has a comment behind it, or if another comment follows. Private members (name_, reserved) are left out with their comments.
"""
import re

from headers import Comment, is_public, plain, split_list
from prose import Prose

TOKEN = re.compile(r'/\*.*?\*/|"(?:[^"\\]|\\.)*"|#[^\n]*(?:\\\n[^\n]*)*|[(){}\[\];,]', re.S)
ENTRY = re.compile(r'X\(((?:[^()"]|"[^"]*")*)\)\s*(?:/\*(.*?)\*/)?', re.S)

LONGEST_HEADING = 100


class Member:
    """A member, or a heading, whose name is None. prose: its comments, a list of Prose."""

    def __init__(self, name, text, prose):
        self.name, self.text, self.prose = name, text, prose


def name_of(text, kind):
    if kind == "enum":
        return re.match(r"\w+", text).group()
    found = re.search(r"\(\*(\w+)\)\s*\(", text) or re.search(r"(\w+)(?:\s*\[[^\]]*\])*(?:\s*:\s*\d+)?$", text)
    return found.group(1) if found else text


def is_own(name, kind):
    """Whether a program must not use the member."""
    return not is_public(name) if kind == "enum" else name.endswith("_") or name.startswith("reserved")


def pieces(body, end):
    """Yields (kind, text): "comment", "behind" (a comment on the line of the member before it) or "member"."""
    depth, begin = 0, 0
    ended = None  # end of the last member
    for found in TOKEN.finditer(body):
        token = found.group()
        if token.startswith("/*") and depth == 0:
            rest = body[begin:found.start()].strip()
            if rest:
                yield "member", rest
                ended = found.start()
            is_behind = ended is not None and "\n" not in body[ended:found.start()]
            yield ("behind" if is_behind else "comment"), token
            begin = found.end()
            continue
        depth += (token in "({[") - (token in ")}]") if len(token) == 1 else 0
        if token == end and depth == 0:
            if body[begin:found.start()].strip():
                yield "member", body[begin:found.start()]
            begin = ended = found.end()
    if body[begin:].strip():
        yield "member", body[begin:]


def expanded(declaration, reference):
    """The enumerators of an enum that a list makes: its body defines M(...) and calls LIST(M)."""
    macro = re.search(r"#\s*define (\w+)\(([^)]*)\) (.*?),?\n", declaration.body)
    made_by = reference.list_of(declaration)
    if not macro or not made_by:
        return []
    names = split_list(macro.group(2))
    found = []
    for arguments, remark in ENTRY.findall(made_by.body):
        values = dict(zip(names, split_list(arguments)))
        text = re.sub(r"(?:##)?\b(\w+)\b", lambda word: values.get(word.group(1), word.group()), macro.group(3))
        said = remark.strip() or next((value.strip('"') for value in values.values() if value.startswith('"')), "")
        found.append(Member(name_of(text, "enum"), plain(text), [Prose(Comment(f"/* {said} */", 0))]))
    return found


def members_of(declaration, reference):
    """The members and headings of a struct, union or enum, in their order."""
    kind = "enum" if declaration.kind == "enum" else "struct"
    body = declaration.body
    if kind == "enum" and "#" in body:
        return expanded(declaration, reference)
    rows, waiting = [], []
    for what, text in pieces(body, "," if kind == "enum" else ";"):
        if what == "comment":
            rows += [Member(None, None, [prose]) for prose in waiting]
            waiting = [Prose(Comment(text, 0))]
        elif what == "behind" and rows:
            rows[-1].prose.append(Prose(Comment(text, 0)))
        elif what == "member":
            rows.append(Member(name_of(plain(text), kind), plain(text), waiting))
            waiting = []
    return without_own(split_headings(rows), kind)


def split_headings(rows):
    found = []
    for row in rows:
        if row.name and len(row.prose) > 1 and len(row.prose[0].text) <= LONGEST_HEADING:
            found.append(Member(None, None, row.prose[:1]))
            row.prose = row.prose[1:]
        found.append(row)
    return found


def without_own(rows, kind):
    kept = []
    for at, row in enumerate(rows):
        if row.name:
            if not is_own(row.name, kind):
                kept.append(row)
            continue
        below = []
        for after in rows[at + 1:]:
            if not after.name and below:
                break
            if after.name:
                below.append(after)
        if any(not is_own(after.name, kind) for after in below):
            kept.append(row)
    return kept
