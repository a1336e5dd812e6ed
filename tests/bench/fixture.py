# SPDX-License-Identifier: MIT
"""A small folder of results, as a run of the whole table would have written it, for the tests of what is made of it."""
import json
import os

PARTS = ["pool", "crew", "route", "async", "queue", "ends", "outage", "growth"]


def spread(value):
    return {"ns": value, "ns_min": round(0.9 * value, 2), "ns_max": round(1.2 * value, 2)}


def checkout(contestant, name, cells):
    return [{"bench": "pool-throughput", "contestant": contestant, "cell": cell, **spread(value), "share_min": 0.9, "foreign": 0.01,
             "disturbed": False, "unit": "ns/pair", "name": name} for cell, value in cells.items()]


def fair(contestant, name, share, wait_ms):
    return {"bench": "pool-fairness", "contestant": contestant, "cell": "T8S2/fair", **spread(8.0), "share_min": share,
            "wait_p99_ns": 900.0,
            "wait_max_ns": 1e6 * wait_ms, "foreign": 0.0, "disturbed": False, "name": name}


def outage(contestant, first_s, dead):
    """Eight steps of health, eight of the outage, sixteen more."""
    answers = [10] * 8 + [0] * 8 + ([0] * 16 if dead else [0] * 2 + [10] * 14)
    return {"bench": "outage-run", "contestant": contestant, "outage": "silent", "setting": "default", "first_s": first_s,
            "again_s": first_s,
            "failed_during": 3, "failed_after": 0, "longest_s": 2.1, "connects": 9, "stuck": 0, "answers": answers,
            "failures": [0] * 8 + [1] * 8 + [0] * 16, "step_ms": 250, "begin_ms": 2000, "end_ms": 4000}


def members(contestant, strategy, values):
    """By size; None: not possible."""
    return [{"bench": "growth-members", "contestant": contestant, "cell": strategy, "size": size, "ns": value, "unit": "ns",
             **({} if value else {"why": "it takes a minute"})} for size, value in values.items()]


def target(part, cell, reached, disturbed=False):
    return {"bench": part + "-target", "contestant": "cenote", "cell": cell, "target": "at least 2x", "measured": "1.9x",
            "reached": reached,
            "disturbed": disturbed}


def records():
    """Each of a kind that the table treats in its own way."""
    lines = checkout("cenote", "cenote", {"T1S1/0": 6.4, "T2S1/0": 7.46, "T1S1/200": 210.0})
    lines += checkout("stack", "mutex + condvar stack", {"T1S1/0": 13.1, "T2S1/0": 43.3, "T1S1/200": 208.0})
    lines += checkout("hikari", "HikariCP ConcurrentBag", {"T1S1/0": 14.7, "T2S1/0": 7.54})
    lines += checkout("syncpool", "Go sync.Pool, unbounded", {"T1S1/0": 2.0})
    lines += [fair("cenote", "cenote", 0.97, 9.1), fair("stack", "mutex + condvar stack", 0.2, 88.0)]
    for contestant, value in (("cenote", 53.9), ("forkjoin", 33.8)):
        lines += [{"bench": "crew-cell", "contestant": contestant, "cell": cell, **spread(value * scale),
                   "p99_ns": 9.0 * value * scale,
                   "foreign": 0.0, "disturbed": False} for cell, scale in (("submit1", 1), ("result", 100))]
    for contestant, value in (("random", 1.9), ("quick-peek-random", 2.6), ("mutex-random", 6.3), ("quick-route-two", 8.9),
                              ("shared-two", 5.3)):
        lines.append({"bench": "route-picks", "contestant": contestant, "cell": "10/1", **spread(value), "foreign": 0.0,
                      "disturbed": False})
    for contestant, value in (("cenote", 54700.0), ("zdb", 41000.0)):
        lines.append({"bench": "ends-cell", "contestant": contestant, "cell": "pq", "per_s": value, "per_s_min": value - 9,
                      "per_s_max": value + 9,
                      "wait_p99_us": 1e6 / value, "turn_p99_ms": 1e5 / value, "cpu_s_per_100k": 4.0, "smallest_share": 0.9, "foreign": 0.2,
                      "disturbed": contestant == "zdb"})
    lines += [outage("cenote", 0.5, False), outage("zdb", None, True)]
    lines += [{"bench": "growth-size", "contestant": name, "cell": "pair", "size": size, "ns": value, "unit": "ns"}
              for name, value in (("cenote", 6.0), ("stack", 13.0)) for size in (10, 1000, 100000)]
    lines += members("cenote", "quick-peek-random", {10: 2.6, 1000: None}) + members("cenote", "quick-route-two", {10: 1.1})
    lines += members("floor", "random", {10: 1.9}) + members("random", "counted", {10: 1.2}) + members("mutex", "random",
                                                                                                       {10: 6.5, 1000: 7.0})
    return lines + [target("pool", "T1S1/0", True), target("pool", "T2S1/0", False), target("crew", "submit1", True, True),
                    target("ends", "pq", None)]


def machine(**changes):
    parts = {part: {"status": "done", "seconds": 10.0} for part in PARTS}
    parts.update(changes.pop("parts", {}))
    return {"cpu": "Model T", "processors": 2, "kernel": "6.1", "debian": "12.0", "compiler": "gcc 12",
            "commit": "0123456789abcdef", "clean": True,
            "library": None, "packages": {"gcc": "12"}, "date": "2026-01-02 03:04 UTC", "command": "make bench-all", "quick": False,
            "seconds": 3000.0, "parts": parts, "gate": {"runs": 100, "repeated": 3, "largest_foreign": 0.07}, **changes}


def write(folder, lines=None, **changes):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "records.jsonl"), "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in (records() if lines is None else lines))
    with open(os.path.join(folder, "machine.json"), "w") as file:
        json.dump(machine(**changes), file)
    return folder
