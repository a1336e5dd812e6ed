#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The run of the whole table, with parts that take no time: what becomes of one that fails, of Ctrl-C, and where the results go."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "..", "bench")
sys.path.insert(0, HERE)
import fixture

PART = """import json, os, sys, time
part = os.path.basename(os.path.dirname(os.path.abspath(__file__)))
with open(os.environ["BENCH_RAW"], "a") as file:
    file.write(json.dumps({"part": part, "program": part, "words": [], "answers": [], "foreign": 0.01, "kept": True}) + "\\n")
kind = os.environ.get("FAKE_" + part, "")
if kind == "fail":
    sys.exit("bench: %s: an answer was wrong" % os.path.abspath(__file__))
if kind == "hang":
    print("hanging", flush=True)
    time.sleep(60)
record = {"bench": part + "-target", "contestant": "cenote", "cell": "x", "target": "t", "measured": os.environ.get("BENCH_TABLE"),
          "reached": True, "disturbed": False}
if kind == "path":
    record["measured"] = os.path.abspath(__file__)
with open(os.environ["BENCH_OUT"], "a") as file:
    file.write(json.dumps(record) + "\\n")
"""


def is_in(path, word):
    if not os.path.exists(path):
        return False
    with open(path) as file:
        return word in file.read()


class TheRun(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="cenote-run-")
        self.addCleanup(self.place.cleanup)
        self.root = os.path.realpath(self.place.name)
        for name in ("table", "support"):
            shutil.copytree(os.path.join(BENCH, name), os.path.join(self.root, "bench", name),
                            ignore=shutil.ignore_patterns("__pycache__"))
        for part in fixture.PARTS:
            os.makedirs(os.path.join(self.root, "bench", part))
            with open(os.path.join(self.root, "bench", part, "measure.py"), "w") as file:
                file.write(PART)
        os.makedirs(os.path.join(self.root, "build", "bench"))
        self.put_failed({})

    def put_failed(self, parts):
        with open(os.path.join(self.root, "build", "bench", "table-failed.json"), "w") as file:
            json.dump(parts, file)

    def start(self, **environment):
        kept = {key: value for key, value in os.environ.items() if not key.startswith("BENCH_")}
        return subprocess.Popen(["/usr/bin/python3", "-B", os.path.join(self.root, "bench", "table", "measure.py")],
                                stderr=subprocess.PIPE, text=True,
                                env={**kept, **environment})

    def run_all(self, **environment):
        """Status, and what was said."""
        process = self.start(**environment)
        said = process.communicate(timeout=60)[1]
        return process.returncode, said

    def results(self, *below):
        """The one folder of results, what is in it, and what machine.json says."""
        where = os.path.join(self.root, *below)
        folders = [name for name in os.listdir(where) if name[:2] == "20" or name.startswith(("quick-", "part-", "incomplete-"))]
        self.assertEqual(len(folders), 1)
        with open(os.path.join(where, folders[0], "machine.json")) as file:
            return folders[0], set(os.listdir(os.path.join(where, folders[0]))), json.load(file)

    def test_a_whole_run_goes_into_the_tree(self):
        status, said = self.run_all()
        self.assertEqual(status, 0, said)
        _, files, about = self.results("bench", "results")
        self.assertLessEqual({"records.jsonl", "raw.jsonl", "machine.json", "table.md"}, files)
        self.assertEqual({part["status"] for part in about["parts"].values()}, {"done"})
        self.assertEqual(about["gate"]["runs"], len(fixture.PARTS))
        self.assertNotIn(self.root, json.dumps(about))

    def test_parts_run_as_parts_of_the_table_one_after_another(self):
        self.run_all()
        folder, _, _ = self.results("bench", "results")
        with open(os.path.join(self.root, "bench", "results", folder, "records.jsonl")) as lines:
            records = [json.loads(line) for line in lines]
        self.assertEqual([record["bench"] for record in records], [part + "-target" for part in fixture.PARTS])
        self.assertEqual({record["measured"] for record in records}, {"1"})

    def test_a_quick_look_leaves_the_tree_alone(self):
        status, _ = self.run_all(BENCH_QUICK="1")
        self.assertEqual(status, 0)
        self.assertTrue(self.results("build", "bench")[0].startswith("quick-"))
        self.assertFalse(os.path.exists(os.path.join(self.root, "bench", "results")))

    def test_some_parts_leave_the_tree_alone(self):
        status, _ = self.run_all(BENCH_PARTS="pool crew")
        self.assertEqual(status, 0)
        folder, _, about = self.results("build", "bench")
        self.assertTrue(folder.startswith("part-"))
        self.assertEqual(about["command"], 'make bench-all BENCH_PARTS="pool crew"')

    def test_a_part_that_fails_is_told_and_the_rest_runs(self):
        status, said = self.run_all(FAKE_route="fail")
        self.assertEqual(status, 1)
        self.assertIn("an answer was wrong", said)
        _, _, about = self.results("bench", "results")
        self.assertEqual(about["parts"]["route"]["status"], "failed")
        self.assertNotIn(self.root, about["parts"]["route"]["why"])
        self.assertEqual(about["parts"]["growth"]["status"], "done")

    def test_a_part_that_does_not_build_is_left_out_and_told(self):
        self.put_failed({"queue": "does not build: no such header"})
        status, said = self.run_all()
        self.assertEqual(status, 1)
        self.assertIn("no such header", said)
        self.assertEqual(self.results("bench", "results")[2]["parts"]["queue"]["status"], "failed")

    def test_what_is_interrupted_ends_soon_with_what_there_is(self):
        process = self.start(FAKE_crew="hang")
        log = os.path.join(self.root, "build", "bench", "table.log")
        while not is_in(log, "hanging"):
            time.sleep(0.05)
        begin = time.monotonic()
        for _ in range(3):  # several may pass it on
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1)
        self.assertLess(time.monotonic() - begin, 8)
        folder, files, about = self.results("build", "bench")
        self.assertTrue(folder.startswith("incomplete-"))
        self.assertIn("table.md", files)
        self.assertEqual([about["parts"][part]["status"] for part in ("pool", "crew", "route")], ["done", "interrupted", "not run"])

    def test_a_folder_of_the_machine_in_the_results_is_noticed(self):
        status, said = self.run_all(FAKE_async="path")
        self.assertEqual(status, 1)
        self.assertIn("records.jsonl has", said)
        self.assertFalse(os.path.exists(os.path.join(self.root, "bench", "results")))


if __name__ == "__main__":
    unittest.main()
