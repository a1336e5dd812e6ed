# SPDX-License-Identifier: MIT
"""Why there is more than one crew, and why tasks can wait without a worker: what motives.c measures."""
from measuring import QUICK
from report import Spread, table

ALIKE = [("p50_us", "short: p50, us"), ("p99_us", "p99, us"), ("max_us", "longest, us"), ("heavy_per_s", "heavy ones a second")]
REQUESTS = [("count", "requests"), ("per_s", "a second"), ("p50_ms", "p50, ms"), ("p99_ms", "p99, ms")]


class Motive:
    def __init__(self, name, title, quick, whole, rows, columns):
        self.name, self.title, self.quick, self.whole, self.rows, self.columns = name, title, quick, whole, rows, columns

    def words(self):
        return [self.quick if QUICK else self.whole]

    def line(self, answer):
        key = self.columns[1][0]
        return "; ".join("%s %s %.0f" % (prefix, key, answer["%s_%s" % (prefix, key)]) for prefix in self.rows)

    def table(self, runs):
        rows = [[title, *(Spread([run["%s_%s" % (prefix, key)] for run in runs]).text() for key, _ in self.columns)]
                for prefix, title in self.rows.items()]
        text = table(["", *(heading for _, heading in self.columns)], rows)
        if "crew_suspended" in runs[0]:
            text += "\nAt most %.0f were suspended at once, with %.0f threads.\n" % (
                max(run["crew_suspended"] for run in runs), max(run["crew_threads"] for run in runs))
        return text


MOTIVES = [
    Motive("reads", "Short reads beside writes that block for 5 ms", 0.2, 4,
           {"one": "one crew of two workers", "two": "a crew of one worker each"}, ALIKE),
    Motive("priority", "Short urgent tasks beside others that compute for 5 ms", 0.2, 4,
           {"one": "one crew of two workers", "two": "three crews of two, one for each priority"}, ALIKE),
    Motive("snapshot", "Requests that wait 20 ms for a snapshot", 1000, 10_000,
           {"crew": "suspended in a crew of two workers", "own": "one thread of their own, which blocks for each"}, REQUESTS),
]
