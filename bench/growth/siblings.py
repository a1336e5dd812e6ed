# SPDX-License-Identifier: MIT
"""Modules of the other benchmarks, which have the same names as those here: names and limits have one home."""
import importlib
import sys

from build import bench

ALIKE = ["cells", "targets", "programs"]


def sibling(part, name):
    ours = {each: sys.modules.pop(each) for each in ALIKE if each in sys.modules}
    sys.path.insert(0, bench(part))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(bench(part))
        for each in ALIKE:
            sys.modules.pop(each, None)
        sys.modules.update(ours)
