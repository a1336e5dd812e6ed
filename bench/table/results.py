# SPDX-License-Identifier: MIT
"""A folder of results, as a run of the whole table writes it: records.jsonl, machine.json and raw.jsonl."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(ROOT, "bench", "results")

PARTS = {  # in the order in which they run: title, seconds that it may take, and in a quick look
    "pool": ("Checkout", 1140, 70), "crew": ("Tasks", 360, 20), "route": ("Routing", 300, 25),
    "async": ("Asking without waiting", 360, 30),
    "queue": ("Queues", 100, 15), "ends": ("End to end", 270, 35), "outage": ("Outage", 320, 40),
    "growth": ("How cost grows", 270, 25),
}


def read_lines(path):
    """A line that was not written to its end, as of a run that was interrupted, is left out."""
    records = []
    if os.path.exists(path):
        with open(path) as lines:
            for line in lines:
                try:
                    records.append(json.loads(line))
                except ValueError:
                    continue
    return records


def with_cell(record):
    """An outage is named by two words."""
    return {"cell": "%(outage)s, %(setting)s" % record, **record} if "outage" in record else record


class Results:
    def __init__(self, folder):
        self.folder = folder
        self.records = [with_cell(record) for record in read_lines(os.path.join(folder, "records.jsonl"))]
        with open(os.path.join(folder, "machine.json")) as file:
            self.machine = json.load(file)
        self.by_bench, self.by_place, self.names = {}, {}, {}
        for record in self.records:
            bench, contestant = record["bench"], record["contestant"]
            self.by_bench.setdefault(bench, []).append(record)
            self.by_place[bench, record.get("cell"), contestant] = record
            if "name" in record:
                self.names.setdefault((bench.partition("-")[0], contestant), record["name"])

    def of(self, bench):
        return self.by_bench.get(bench, [])

    def benches(self, part):
        """Of a part, in the order of their first records."""
        return [bench for bench in self.by_bench if bench.startswith(part + "-")]

    def cells(self, bench):
        return list(dict.fromkeys(record["cell"] for record in self.of(bench) if "cell" in record))

    def contestants(self, bench, cells=None):
        return list(dict.fromkeys(record["contestant"] for record in self.of(bench) if cells is None
                                  or record.get("cell") in cells))

    def at(self, bench, cell, contestant):
        """The record, or None."""
        return self.by_place.get((bench, cell, contestant))

    def name(self, contestant, bench):
        """What tables of that part call it."""
        return self.names.get((bench.partition("-")[0], contestant), contestant)

    def targets(self, part=None):
        """In the order of the parts."""
        return [record for each in PARTS if part in (None, each) for record in self.of(each + "-target")]

    def disturbed(self):
        """Records whose figure others disturbed."""
        return [record for record in self.records if record.get("disturbed") and not record["bench"].endswith("-target")]

    def part(self, name):
        """What machine.json says of it."""
        return self.machine.get("parts", {}).get(name, {"status": "not run"})

    def is_complete(self):
        return all(self.part(name)["status"] == "done" for name in PARTS)


def newest(folder=FOLDER):
    """The newest results below a folder, or None."""
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if os.path.exists(os.path.join(folder, name, "machine.json")):
            found.append(Results(os.path.join(folder, name)))
    return max(found, key=lambda results: results.machine["date"], default=None)
