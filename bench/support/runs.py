# SPDX-License-Identifier: MIT
"""What the runs of cells by contestants answered."""
import statistics

from gate import TICK, TOLERATED


def is_disturbed(run):
    return run["foreign"] > max(TOLERATED, 2000 * TICK / run.get("elapsed_ms", 1e9))


class Runs:
    def __init__(self):
        self.runs = {}  # (cell's name, contestant) -> list of a run's answers, with "foreign" added

    def values(self, cell, contestant, key):
        return [run[key] for run in self.runs.get((cell, contestant), []) if key in run]

    def median(self, cell, contestant, key):
        values = self.values(cell, contestant, key)
        return statistics.median(values) if values else None

    def of_cell(self, cell, contestant=None):
        return [run for (name, who), runs in self.runs.items() if name == cell and contestant in (None, who) for run in runs]

    def foreign(self, cell):
        return max((run["foreign"] for run in self.of_cell(cell)), default=0.0)

    def is_disturbed(self, cell, *contestants):
        """Whether a run of one of them was; without a name of anybody."""
        return any(is_disturbed(run) for name in contestants or [None] for run in self.of_cell(cell, name))

    def foreign_fields(self, cell, contestant):
        """Of a record: the most that others used, and whether that is too much."""
        runs = self.runs[cell, contestant]
        return {"foreign": round(max(run["foreign"] for run in runs), 3), "disturbed": any(map(is_disturbed, runs))}
