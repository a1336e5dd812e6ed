#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What is made of a folder of results: the whole table, the charts, and the measured part of README.md."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest
import xml.dom.minidom

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "..", "..", "bench", "table")
sys.path[:0] = [HERE, TABLE, os.path.join(TABLE, "..", "support")]
import fixture
import gate
import machine
import page
import progress
from results import Results, newest


def program(name):
    """A script without an ending, as a module."""
    loader = importlib.machinery.SourceFileLoader("table_" + name, os.path.join(TABLE, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


render, readme = program("render"), program("readme")


def row(text, begin, heading=""):
    """The cells of the first row that begins so, below a heading."""
    lines = text[text.index(heading):].splitlines()
    return next([cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| " + begin))


class Folder(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="cenote-table-")
        self.addCleanup(self.place.cleanup)
        self.folder = os.path.join(self.place.name, "bench", "results", "2026-01-02-model-t-2")

    def table(self, lines=None, **changes):
        return page.document(Results(fixture.write(self.folder, lines, **changes)))

    def without(self, **fields):
        """The records but for those that have all these fields."""
        return [line for line in fixture.records() if any(line.get(key) != value for key, value in fields.items())]


class TheTable(Folder):
    def test_the_first_of_a_column_is_bold_and_the_others_are_not(self):
        text = self.table()
        self.assertEqual(row(text, "**cenote**", "no work between")[1], "**6.4** (5.8-7.7)")
        self.assertEqual(row(text, "mutex", "no work between")[1], "13.1 (11.8-15.7)")

    def test_more_is_better_where_operations_are_counted(self):
        self.assertTrue(row(self.table(), "**cenote**", "PostgreSQL through a pool")[1].startswith("**54.70**"))

    def test_a_tie_is_by_what_is_shown(self):
        text = self.table()
        self.assertEqual([row(text, name, "no work between")[2][:7] for name in ("**cenote**", "HikariCP")], ["**7.5**", "**7.5**"])

    def test_where_all_are_alike_nobody_is_first(self):
        self.assertEqual(row(self.table(), "**cenote**", "PostgreSQL through a pool")[4], "4.00")

    def test_the_ratio_is_to_the_best_peer_and_says_who_that_is(self):
        ratios = row(self.table(), "*cenote to", "no work between")
        self.assertEqual(ratios[1:], ["2.05x mutex + condvar stack", "1.01x HikariCP ConcurrentBag"])
        self.assertEqual(row(self.table(), "*cenote to", "200 ns of work")[1], "0.99x mutex + condvar stack")

    def test_who_makes_another_promise_is_shown_and_not_compared(self):
        text = self.table()
        self.assertEqual(row(text, "Go sync.Pool", "no work between")[1], "2.0 (1.8-2.4)")
        self.assertIn("Go's sync.Pool is unbounded", text)

    def test_a_cell_that_was_not_measured_is_a_dash(self):
        self.assertEqual(row(self.table(), "Go sync.Pool", "no work between")[2], "-")
        text = self.table(self.without(contestant="cenote", cell="T2S1/0", bench="pool-throughput"))
        self.assertEqual(row(text, "**cenote**", "no work between")[2], "-")
        self.assertEqual(row(text, "*cenote to", "no work between")[2], "-")

    def test_a_figure_that_cannot_be_is_said_so_and_is_not_first(self):
        lines = fixture.records() + fixture.checkout("tbb", "oneTBB", {"T1S1/0": -16.0})
        text = self.table(lines)
        self.assertEqual(row(text, "oneTBB", "no work between")[1], "invalid")
        self.assertTrue(row(text, "**cenote**", "no work between")[1].startswith("**6.4**"))

    def test_a_single_run_has_no_spread(self):
        self.assertEqual(row(self.table(), "stack", "Size: pair")[1], "13.0")

    def test_a_contestant_that_is_missing_leaves_the_others(self):
        text = self.table(self.without(contestant="hikari"))
        self.assertNotIn("HikariCP", text)
        self.assertEqual(row(text, "*cenote to", "no work between")[2], "5.80x mutex + condvar stack")
        text = self.table(self.without(contestant="cenote"))
        self.assertTrue(row(text, "mutex", "no work between")[1].startswith("**13.1**"))

    def test_what_was_disturbed_is_marked_and_listed(self):
        text = self.table()
        self.assertTrue(row(text, "zdb", "PostgreSQL through a pool")[1].endswith("~"))
        self.assertEqual(row(text, "*cenote to", "PostgreSQL through a pool")[1], "1.33x zdb~")
        self.assertEqual(row(text, "ends-cell", "Disturbed figures")[1:], ["pq", "zdb", "20 %"])

    def test_turns_by_time_are_compared_where_they_were_measured(self):
        text = self.table()
        self.assertEqual(row(text, "*cenote to", "PostgreSQL through a pool")[3], "1.33x zdb~")
        self.assertIn("p99 by time", text)
        for record in (records := fixture.records()):
            record.pop("turn_p99_ms", None)
        self.assertNotIn("by time", self.table(records))

    def test_verdicts_are_counted_and_those_missed_come_first(self):
        text = self.table()
        self.assertEqual(row(text, "Checkout", "## Verdicts")[1], "1 of 2")
        self.assertEqual(row(text, "all", "## Verdicts")[1:3], ["2 of 3", "1"])
        self.assertEqual(row(text, "Checkout", "### Missed")[1], "T2S1/0")

    def test_who_never_answered_again_is_said_so(self):
        self.assertEqual(row(self.table(), "zdb", "Outage: silent, default")[1], "never")

    def test_of_members_picks_are_compared_and_what_is_not_possible_says_why(self):
        text = self.table()
        self.assertEqual(row(text, "**cenote, quick-peek-random**", "Members: picks")[1:], ["**2.6**", "-"])
        self.assertEqual(row(text, "cenote, quick-route-two", "Members: picks")[1], "1.1")
        self.assertEqual(row(text, "*cenote to", "Members: picks")[1:], ["2.50x mutex, random", "-"])
        self.assertIn("cenote, quick-peek-random at 1,000: it takes a minute.", text)

    def test_a_run_that_was_interrupted_is_marked_and_says_what_is_missing(self):
        text = self.table([line for line in fixture.records() if "growth" not in line["bench"]],
                          parts={"growth": {"status": "interrupted", "seconds": 3.0}})
        self.assertIn("**INCOMPLETE**: growth (interrupted).", text[:300])
        self.assertIn("There are no figures: interrupted.", text)

    def test_a_part_that_failed_is_said_with_its_reason(self):
        text = self.table(parts={"ends": {"status": "failed", "seconds": 3.0, "why": "an answer was wrong"}})
        self.assertEqual(row(text, "End to end", "## Verdicts")[5], "failed: an answer was wrong")

    def test_a_quick_look_is_marked(self):
        self.assertIn("NOT A MEASUREMENT", self.table(quick=True)[:200])

    def test_nothing_at_all_is_a_table_too(self):
        text = self.table([], parts={part: {"status": "not run"} for part in fixture.PARTS})
        self.assertEqual(row(text, "all", "## Verdicts")[1], "0 of 0")

    def test_a_line_that_was_cut_off_is_left_out(self):
        fixture.write(self.folder)
        with open(os.path.join(self.folder, "records.jsonl"), "a") as file:
            file.write('{"bench": "pool-thro')
        self.assertEqual(len(Results(self.folder).records), len(fixture.records()))


class Rendered(Folder):
    def test_charts_are_whole_and_have_every_contestant(self):
        render.write(fixture.write(self.folder), self.folder)
        for name in ("checkout", "tasks", "routing", "ends", "outage", "growth"):
            xml.dom.minidom.parse(os.path.join(self.folder, name + ".svg"))
        with open(os.path.join(self.folder, "checkout.svg")) as file:
            text = file.read()
        for name in ("cenote", "mutex + condvar stack", "HikariCP ConcurrentBag", "Go sync.Pool, unbounded"):
            self.assertIn(">%s<" % name, text)

    def test_what_belongs_together_passes_and_a_figure_by_hand_does_not(self):
        render.write(fixture.write(self.folder), self.folder)
        self.assertEqual(render.check(self.folder), [])
        path = os.path.join(self.folder, "table.md")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace("**6.4**", "**3.2**"))
        self.assertEqual(render.check(self.folder), ["table.md"])

    def test_a_chart_of_an_earlier_run_goes(self):
        render.write(fixture.write(self.folder), self.folder)
        fixture.write(self.folder, [line for line in fixture.records() if "growth" not in line["bench"]])
        self.assertEqual(render.check(self.folder), ["growth.svg", "table.md"])
        render.write(self.folder, self.folder)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "growth.svg")))


class TheReadme(Folder):
    def setUp(self):
        super().setUp()
        for page in readme.PAGES:
            self.put("# cenote\n\n## Measured\n%sold words\n%s\n## After\n" % (readme.BEGIN, readme.END), page)

    def put(self, text, page="bench/measured.md"):
        path = os.path.join(self.place.name, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def text(self, page="bench/measured.md"):
        with open(os.path.join(self.place.name, page)) as file:
            return file.read()

    def run_readme(self, *words):
        with contextlib.redirect_stdout(io.StringIO()):
            readme.main([*words, self.place.name])

    def refuses(self, words):
        with self.assertRaises(SystemExit) as refusal:
            self.run_readme("--check")
        self.assertIn(words, str(refusal.exception))

    def test_it_is_written_between_the_marks_and_nowhere_else(self):
        render.write(fixture.write(self.folder), self.folder)
        self.run_readme()
        text = self.text()
        self.assertTrue(text.startswith("# cenote\n\n## Measured\n") and text.endswith("\n## After\n"))
        for words in ("make bench-all", "Model T, 2 processors", "2026-01-02", "(results/2026-01-02-model-t-2/table.md",
                      "2 of 3 targets",
                      "(results/2026-01-02-model-t-2/checkout.svg"):
            self.assertIn(words, text)
        self.assertNotIn("old words", text)
        self.assertEqual(row(text, "**cenote**")[1], "**6.4**")
        self.run_readme("--check")

    def test_the_front_page_has_one_sentence_what_is_missed_and_a_chart(self):
        render.write(fixture.write(self.folder), self.folder)
        self.run_readme()
        text = self.text("README.md")
        self.assertTrue(text.startswith("# cenote\n\n## Measured\n") and text.endswith("\n## After\n"))
        for words in ("6.4 ns with one thread (best peer: 13.1, mutex + condvar stack)", "[1 of 3 targets](bench/results/2026-01-02-model-t-2/table.md#missed)",
                      "(bench/measured.md)", "(bench/results/2026-01-02-model-t-2/checkout.svg)"):
            self.assertIn(words, text)
        self.assertNotIn("|", text)
        self.put(text.replace("6.4 ns", "3.2 ns"), "README.md")
        self.refuses("README.md is not what the newest results say")

    def test_one_that_is_out_of_date_is_noticed(self):
        render.write(fixture.write(self.folder), self.folder)
        self.refuses("is not what the newest results say")
        self.run_readme()
        fixture.write(self.folder, self.without(contestant="hikari"))
        render.write(self.folder, self.folder)
        self.refuses("is not what the newest results say")

    def test_a_figure_changed_by_hand_is_noticed(self):
        render.write(fixture.write(self.folder), self.folder)
        self.run_readme()
        self.put(self.text().replace("**6.4**", "**3.2**"))
        self.refuses("is not what the newest results say")

    def test_the_newest_results_count(self):
        fixture.write(self.folder)
        fixture.write(self.folder + "-older", date="2025-12-31 23:59 UTC", cpu="Model S")
        self.assertEqual(newest(os.path.dirname(self.folder)).machine["cpu"], "Model T")

    def test_results_that_do_not_belong_together_are_noticed(self):
        render.write(fixture.write(self.folder), self.folder)
        self.run_readme()
        os.remove(os.path.join(self.folder, "checkout.svg"))
        with open(os.devnull, "w") as nowhere:
            kept, place = os.dup(2), nowhere.fileno()
            os.dup2(place, 2)
            try:
                self.refuses("does not belong together")
            finally:
                os.dup2(kept, 2)
                os.close(kept)

    def test_without_results_it_says_so(self):
        self.run_readme()
        self.assertIn("No full run", self.text())
        self.run_readme("--check")

    def test_marks_that_are_missing_are_noticed(self):
        for page in readme.PAGES:
            self.put("# cenote\n", page)
        self.refuses("the two marks")


class TheRun(unittest.TestCase):
    def test_a_processor_makes_a_short_name(self):
        self.assertEqual(machine.slug("AMD EPYC", 2), "amd-epyc-2")
        self.assertEqual(machine.slug("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", 28), "intel-xeon-e5-2680-v4-28")
        self.assertEqual(machine.slug("AMD Ryzen 9 7950X 16-Core Processor", 32), "amd-ryzen-9-7950x-32")

    def test_no_folder_of_a_machine_is_in_what_is_kept_of_a_command(self):
        self.assertEqual([gate.without_places(word) for word in (
            "/srv/tree/build/bench/pool-cenote", 8, "T8S2/0", "--control=/tmp/x/control", "postgresql://u@127.0.0.1:5/test")],
            ["pool-cenote", "8", "T8S2/0", "--control=control", "postgresql://u@127.0.0.1:5/test"])

    def test_runs_that_were_repeated_are_counted(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write('{"kept": false, "foreign": 0.5}\n{"kept": true, "foreign": 0.02}\n{"kept": true, "foreign": 0.04}\n')
            file.flush()
            self.assertEqual(machine.gate_statistics(file.name), {"runs": 3, "repeated": 1, "largest_foreign": 0.04})

    def test_the_end_is_estimated_by_the_plan_and_then_by_what_parts_took(self):
        estimate = progress.Estimate({"a": 100, "b": 50, "c": 50})
        self.assertEqual(estimate.left("a", 40), 160)
        estimate.taken["a"] = 150
        self.assertEqual(estimate.left("b", 10), 135)


if __name__ == "__main__":
    unittest.main()
