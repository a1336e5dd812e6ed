# SPDX-License-Identifier: MIT
"""Reads the public headers: chapters, comments, and the declarations that each comment serves.

It understands the C of these headers: comments, #define, prototypes, inline functions, structs, enums and typedefs. It reads the
branch for C of each conditional, otherwise the first branch. A comment serves the declarations that follow it directly, without
an empty line. A comment that serves none is a note of its chapter.
"""
import bisect
import glob
import os
import re

COMMENT = re.compile(r"/\*.*?\*/", re.S)
CHAPTER = re.compile(r"-{3,}\s*(.*?)\s*-*$")
ATTRIBUTE = re.compile(r"\bCEN_(?:API|[A-Z]+_)\b\s*(?!\()|\bstatic inline\b|__attribute__\s*\(\(.*?\)\)")
LIBRARY = re.compile(r"\blib(cenote-[a-z]+)\.$")


def is_public(name):
    return re.match(r"(cen|CEN)_\w*[^_\W]$", name) is not None and name != "CEN_API"


def plain(text):
    """The text on one line, without comments."""
    return re.sub(r"\s+", " ", COMMENT.sub(" ", text)).strip()


def split_list(text, mark=","):
    """Splits at the marks outside brackets and strings."""
    parts, depth, begin = [], 0, 0
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|[(){}\[\]%s]' % mark, text):
        char = found.group()
        depth += (char in "({[") - (char in ")}]")
        if char == mark and depth == 0:
            parts.append(text[begin:found.start()].strip())
            begin = found.end()
    rest = text[begin:].strip()
    return parts + [rest] if rest or parts else []


class Comment:
    """lines: [(line number, text without the stars)]"""

    def __init__(self, raw, number):
        lines = [re.sub(r"^ ", "", line) if at == 0 else re.sub(r"^\s*(\* ?)?", "", line)
                 for at, line in enumerate(raw[2:-2].split("\n"))]
        self.number = number
        self.lines = [(number + at, line.rstrip()) for at, line in enumerate(lines)]
        while self.lines and not self.lines[0][1]:
            self.lines.pop(0)
        while self.lines and not self.lines[-1][1]:
            self.lines.pop()


class Declaration:
    """kind: function, inline, macro, struct, union, enum, callback, alias or opaque. remark: the comment behind it on its line."""

    def __init__(self, kind, name, number, text):
        self.kind, self.name, self.number, self.text = kind, name, number, text
        self.remark = self.group = self.header = None

    @property
    def prototype(self):
        return re.sub(r"\s+", " ", ATTRIBUTE.sub("", plain(self.text).split("{")[0])).strip(" ;")

    @property
    def result(self):
        return self.prototype.split(self.name, 1)[0].strip()

    @property
    def arguments(self):
        """The parameters of a function or macro; None for a macro without parentheses."""
        if self.kind == "macro":
            found = re.match(r"#\s*define\s+\w+\(([^)]*)\)", self.text)
            return split_list(found.group(1)) if found else None
        return split_list(self.prototype.split(self.name, 1)[1].strip()[1:-1])

    @property
    def body(self):
        """The replacement of a macro; the text between the braces of a struct or enum, comments included."""
        if self.kind == "macro":
            return re.sub(r"^#\s*define\s+\w+(\([^)]*\))?\s*", "", re.sub(r"\\\n", " ", self.text)).strip()
        return self.text[self.text.index("{") + 1:self.text.rindex("}")]

    @property
    def is_list(self):
        return self.kind == "macro" and self.arguments == ["X"]

    @property
    def options(self):
        """The struct that a macro CEN_X_OPTIONS makes; None for anything else."""
        found = self.kind == "macro" and re.match(r"CEN_OPTIONS_\((cen_\w+),", self.body)
        return found.group(1) if found else None

    @property
    def is_callable(self):
        is_macro = self.kind == "macro" and self.arguments is not None and not self.is_list and not self.options
        return self.kind in ("function", "inline") or is_macro

    @property
    def is_type(self):
        return self.kind not in ("function", "inline", "macro")

    @property
    def shelf(self):
        """The list it belongs to: functions, types or macros."""
        return "functions" if self.is_callable else "types" if self.is_type else "macros"

    @property
    def first_value(self):
        """The first enumerator: it stands for the name of an enum without one."""
        found = re.match(r"\s*(\w+)", COMMENT.sub("", self.body))
        return found.group(1) if found else ""


class Group:
    """A comment, or None, and the declarations that it serves."""

    def __init__(self, comment, chapter):
        self.comment, self.chapter, self.declarations = comment, chapter, []

    @property
    def public(self):
        return [one for one in self.declarations if is_public(one.name or one.first_value)]

    @property
    def notes(self):
        """The notes before this group in its chapter, with only functions between them and it."""
        found = []
        for item in self.chapter.items:
            if item is self:
                return found
            if isinstance(item, Comment):
                found.append(item)
            elif any(one.shelf != "functions" for one in item.public):
                found = []
        return found

    def leads(self, one):
        """Whether the comment is shown with this declaration: it is the first of its list in the group."""
        return next(other for other in self.public if other.shelf == one.shelf) is one


class Chapter:
    """items: notes (Comment) and groups, in the order of the header."""

    def __init__(self, title, number):
        self.title, self.number, self.items = title, number, []

    @property
    def groups(self):
        return [item for item in self.items if isinstance(item, Group) and item.public]

    @property
    def notes(self):
        return [item for item in self.items if isinstance(item, Comment)]


def for_c(text):
    """[(line number, line)] of the text for a C compiler, without the conditionals themselves."""
    lines, stack, in_comment = [], [], False
    for number, line in enumerate(text.split("\n"), 1):
        found = None if in_comment else re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*(\w*)", line)
        if not found:
            if all(here for here, _ in stack):
                lines.append((number, line))
            ends = [mark for mark in re.findall(r"/\*|\*/", line)]
            in_comment = ends[-1] == "/*" if ends else in_comment
        elif found.group(1) == "endif":
            stack.pop()
        elif found.group(1) in ("elif", "else"):
            stack[-1] = (not stack[-1][1], True)
        else:
            here = found.group(2) != "__cplusplus" or found.group(1) == "ifndef"
            stack.append((here, here))
    return lines


def end_of_directive(text, at):
    for found in re.compile(r"/\*.*?\*/|\\\n|\n|$", re.S).finditer(text, at):
        if found.group() in ("\n", ""):
            return found.start()
    return len(text)


def end_of_declaration(text, at):
    depth = 0
    is_function = False
    for found in re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|[(){}\[\];]', re.S).finditer(text, at):
        char = found.group()
        if char == "{" and depth == 0:
            is_function = plain(text[at:found.start()]).endswith(")")
        depth += (char in "({[") - (char in ")}]")
        if depth == 0 and (char == ";" or char == "}" and is_function):
            return found.end()
    return len(text)


def items_of(text):
    """Yields (text, number, newlines before it) of each comment, directive and declaration."""
    lines = for_c(text)
    joined = "\n".join(line for _, line in lines)
    starts = [0]
    for _, line in lines:
        starts.append(starts[-1] + len(line) + 1)
    at = 0
    while True:
        gap = re.compile(r"\s*").match(joined, at)
        at = gap.end()
        if at == len(joined):
            return
        if joined.startswith("/*", at):
            end = joined.index("*/", at) + 2
        else:
            end = end_of_directive(joined, at) if joined[at] == "#" else end_of_declaration(joined, at)
        yield joined[at:end], lines[bisect.bisect_right(starts, at) - 1][0], gap.group().count("\n")
        at = end


def declaration_of(text, number):
    """The declaration; None for a forward declaration, an #include and the like."""
    short = plain(text)
    found = re.match(r"#\s*define\s+(\w+)", text)
    if found:
        return Declaration("macro", found.group(1), number, text) if re.match(r"cen_|CEN_", found.group(1)) else None
    if short.startswith("#"):
        return None
    if short.startswith("static inline") or "CEN_API " in short:
        found = re.search(r"(\w+) ?\(", ATTRIBUTE.sub("", short))
        return Declaration("inline" if short.startswith("static") else "function", found.group(1), number, text) if found else None
    found = re.match(r"typedef (?:struct|union|enum) \w+ (\w+);$", short)
    if found:
        return Declaration("opaque", found.group(1), number, text)
    found = re.match(r"(?:typedef )?(struct|union|enum)\b ?(\w*) ?\{", short)
    if found:
        last = re.search(r"\} ?(\w*);$", short)
        return Declaration(found.group(1), found.group(2) or last and last.group(1) or None, number, text)
    if short.startswith("typedef"):
        found = re.search(r"\(\*(\w+)\) ?\(", short) or re.search(r"(\w+);$", short)
        return Declaration("callback" if "(*" in short else "alias", found.group(1), number, text)
    return None


class Header:
    def __init__(self, root, path):
        self.path = os.path.relpath(path, root)
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.head = None
        self.chapters = [Chapter(None, 1)]
        self.gather()
        ends = [LIBRARY.search(line) for _, line in self.head.lines] if self.head else []
        self.part_of = next((found.group(1) for found in ends if found), "cenote")
        self.declarations = [one for chapter in self.chapters for item in chapter.items if isinstance(item, Group)
                             for one in item.declarations]

    def gather(self):
        comment = group = last = None  # a comment without declarations so far; the open group; the declaration before
        for text, number, newlines in items_of(self.text):
            if newlines > 1 and comment:
                self.note(comment)
                comment = None
            if text.startswith("/*"):
                if newlines == 0 and last:
                    last.remark = Comment(text, number)
                    continue
                if comment:
                    self.note(comment)
                comment, group, last = Comment(text, number), None, None
                continue
            last = declaration_of(text, number)
            if last and last.kind == "macro":
                self.cut_remark(last)
            if last:
                group = self.join(last, group if newlines == 1 else None, comment)
                comment = None
        if comment:
            self.note(comment)

    @staticmethod
    def cut_remark(macro):
        """Takes the comment behind a macro of one line as its remark."""
        found = re.search(r"\s*(/\*.*\*/)$", macro.text, re.S)
        if found and "\\\n" not in macro.text:
            macro.remark = Comment(found.group(1), macro.number)
            macro.text = macro.text[:found.start()]

    def join(self, declaration, group, comment):
        chapter = self.chapters[-1]
        if comment or not group:
            group = Group(comment, chapter)
            chapter.items.append(group)
        group.declarations.append(declaration)
        declaration.group, declaration.header = group, self
        return group

    def note(self, comment):
        if not comment.lines or "SPDX-License-Identifier" in comment.lines[0][1]:
            return
        found = CHAPTER.match(comment.lines[0][1])
        if found:
            self.chapters.append(Chapter(found.group(1), comment.number))
            comment.lines.pop(0)
            if comment.lines:
                self.chapters[-1].items.append(comment)
        elif not self.head and len(self.chapters) == 1 and not self.chapters[0].items:
            self.head = comment
        else:
            self.chapters[-1].items.append(comment)


class Reference:
    """All declarations of the headers of a tree."""

    def __init__(self, root):
        self.root = root
        self.headers = [Header(root, path) for path in sorted(glob.glob(os.path.join(root, "include/cenote/*.h")))]
        self.declarations = [one for header in self.headers for one in header.declarations]
        self.functions = {one.name: one for one in self.declarations if one.kind in ("function", "inline")}
        self.types = {}
        for one in self.declarations:
            if one.is_type and one.name and (one.kind != "opaque" or one.name not in self.types):
                self.types[one.name] = one
        for one in self.declarations:
            if one.kind == "opaque" and self.types[one.name] is not one:
                one.group.declarations.remove(one)
        self.lists = {one.name: one for one in self.declarations if one.is_list}
        for one in self.declarations:
            if one.kind == "macro" and one.is_callable:
                self.adopt(one)
            elif one.kind == "enum" and self.list_of(one):
                self.move(one, self.list_of(one).group)
        version = re.findall(r"#define CEN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", "".join(one.text for one in self.headers))
        self.version = ".".join(version)

    def called_by(self, macro):
        """The function that a macro calls, and the arguments of that call."""
        found = re.match(r"\(?(cen_\w+)\)?\((.*)\)$", plain(macro.body))
        function = found and self.functions.get(found.group(1))
        return (function, split_list(found.group(2))) if function else (None, [])

    def list_of(self, enum):
        """The macro LIST(X) that makes the enumerators; None if they are written out."""
        found = re.search(r"^\s*(\w+)\(\w+\)$", enum.body, re.M)
        return self.lists.get(found.group(1)) if found else None

    @staticmethod
    def move(one, group):
        """Moves a declaration without a comment of its own to the group."""
        if not one.group.comment and one.group is not group:
            one.group.declarations.remove(one)
            group.declarations.append(one)
            one.group = group

    def adopt(self, macro):
        """The comment of a macro NAME serves the function NAME_at or NAME_sized that it calls, too."""
        function, _ = self.called_by(macro)
        if function and function.name.startswith(macro.name + "_"):
            self.move(function, macro.group)

    def signature(self, one):
        """The prototype. A macro has one if the function that it calls gives types to all of its parameters."""
        if one.kind != "macro":
            return one.prototype + ";"
        function, call = self.called_by(one)
        names = one.arguments
        if function and names:
            typed = dict(zip((argument.strip("()") for argument in call), function.arguments))
            if all(name in typed for name in names):
                gap = "" if function.result.endswith("*") else " "
                return f"{function.result}{gap}{one.name}({', '.join(typed[name] for name in names)});"
        return one.name if names is None else f"{one.name}({', '.join(names)})"

    @staticmethod
    def value(macro):
        """The replacement of a macro if it is short and names nothing private."""
        value = plain(macro.body)
        own = any(not is_public(name) for name in re.findall(r"\b(?:cen|CEN)_\w+", value))
        return "" if own or macro.is_list or len(value) > 60 else value

    def callables(self, group):
        """The public functions of a group, one for each name."""
        found = {}
        for one in group.public:
            if one.is_callable and (one.name not in found or one.kind != "macro"):
                found[one.name] = one
        return list(found.values())
