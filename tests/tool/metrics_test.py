# SPDX-License-Identifier: MIT
"""`cenote metrics` on a real process, judged by Prometheus' own promtool."""
import re
import shutil
import subprocess
import sys
import types

from top_harness import Place, Subject, Tool, expect, run_all, test


def prepare(cenote, inspected):
    place = Place()
    subject = Subject(inspected, place)
    return types.SimpleNamespace(subject=subject, tool=Tool(cenote, place), pid=str(subject.pid))


def promtool_accepts(text):
    """promtool reads what came before OpenMetrics, and calls the last line a comment."""
    expect(shutil.which("promtool"), "there is no promtool (prometheus)")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30)
    # 3: it would name something differently; anything else but 0: it cannot be read.
    expect(done.returncode == 0, f"promtool says {done.returncode}: {done.stdout}")


COMMENT = "# Content-Type: text/plain; version=0.0.4; charset=utf-8\n"


@test
def the_format_is_the_one_that_was_asked_for_and_is_said(w):
    for words in ([], ["--format", "prometheus"]):
        answer = w.tool("metrics", *words, w.pid)
        expect(answer.status == 0 and answer.out.startswith(COMMENT), str(answer))
        expect("# UNIT" not in answer.out and re.search(r"^# TYPE \S+_total counter", answer.out, re.M), str(answer))
    answer = w.tool("metrics", "--format", "openmetrics", w.pid)
    expect(answer.status == 0 and answer.out.startswith("# ") and "Content-Type" not in answer.out, str(answer))
    expect(re.search(r"^# UNIT \S+_seconds seconds$", answer.out, re.M) and answer.out.endswith("# EOF\n"), str(answer))
    expect(all(line.split()[1] in ("TYPE", "HELP", "UNIT", "EOF") for line in answer.out.split("\n") if line.startswith("#")), str(answer))
    answer = w.tool("metrics", "--format", "json", w.pid)
    expect(answer.status == 2 and "is not one of: prometheus openmetrics" in answer.err, str(answer))


@test
def what_is_printed_is_accepted_by_promtool(w):
    answer = w.tool("metrics", w.pid)
    expect(answer.status == 0 and not answer.err, str(answer))
    expect(answer.out.endswith("# EOF\n"), "the end is missing")
    for name in ("orders", "reports", "invoices", "replicas", "service"):
        expect(f'"{name}"' in answer.out, f"{name} is not in it")
    promtool_accepts(answer.out)


@test
def a_filter_keeps_whole_families_or_the_samples_of_one_component(w):
    everything = w.tool("metrics", w.pid).out
    family = next(line.split()[2] for line in everything.split("\n") if line.startswith("# TYPE"))
    answer = w.tool("metrics", "--filter", family, w.pid)
    samples = [line for line in answer.out.split("\n") if line and line[0] != "#"]
    expect(answer.status == 0 and samples and all(family in line for line in samples), str(answer))
    expect(f"# TYPE {family} " in answer.out and answer.out.endswith("# EOF\n"), str(answer))
    promtool_accepts(answer.out)
    answer = w.tool("metrics", "-f", '"reports"', w.pid)
    samples = [line for line in answer.out.split("\n") if line and line[0] != "#"]
    expect(samples and all('"reports"' in line for line in samples), str(answer))
    heads = re.findall(r"^# TYPE (\S+)", answer.out, re.M)
    expect(all(any(line.startswith(head) for line in samples) for head in heads), f"a family has a head and no sample: {answer}")
    promtool_accepts(answer.out)
    answer = w.tool("metrics", "-f", "no such component", w.pid)
    expect(answer.status == 0 and answer.out == f"{COMMENT}# EOF\n", str(answer))


if __name__ == "__main__":
    sys.exit(run_all(prepare))
