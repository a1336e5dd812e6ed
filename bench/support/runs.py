# SPDX-License-Identifier: MIT
"""What the runs of cells by contestants answered."""
import statistics

from gate import TICK, TOLERATED


class Runs:
    def __init__(self):
        self.runs = {}  # (cell's name, contestant) -> list of a run's answers, with "foreign" added

    def values(self, cell, contestant, key):
        return [run[key] for run in self.runs.get((cell, contestant), [])]

    def median(self, cell, contestant, key):
        values = self.values(cell, contestant, key)
        return statistics.median(values) if values else None

    def of_cell(self, cell):
        return [run for (name, _), runs in self.runs.items() if name == cell for run in runs]

    def foreign(self, cell):
        return max((run["foreign"] for run in self.of_cell(cell)), default=0.0)

    def is_disturbed(self, cell):
        return any(run["foreign"] > max(TOLERATED, 2 * TICK / (run["elapsed_ms"] / 1000)) for run in self.of_cell(cell))
