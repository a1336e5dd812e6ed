#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cenote tune, end to end: the program as it is, beside real servers.

  tests/tool/tune_test.py CENOTE WITH_SERVER WAIT_SERVER [WORDS OF A TEST'S NAME]

Starts itself again beside PostgreSQL and Redis by WITH_SERVER.

A busy machine delays everything by some milliseconds. So all times of a test are multiples of a scale: how long the server waits,
how long a sweep takes, what is too late. A test that fails is repeated with twice the scale, where the same delays are half as much;
at the largest scale its verdict stands. A quiet machine needs the first scale only.

Tests whose servers sleep nearly all the time ("asleep") come first,
side by side and before everything else on the machine where the system lets them; then those that measure a server at work, one
after another; then the rest. Ends only processes that it has started, by their ids.
"""
import concurrent.futures
import html.parser
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

# Whoever starts the tests in the background has them ignore SIGINT, and what they start would do so, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

KINDS = ["postgresql", "redis"]
TESTS = []


class Failure(Exception):
    pass


def expect(truth, *words):
    if not truth:
        raise Failure(" ".join(str(word) for word in words))


def test(how="beside"):
    def register(function):
        TESTS.append((how, function.__name__.replace("_", " "), function))
        return function
    return register


def hurry(priority):
    """What else the machine does is not to be measured. What is started inherits it."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, priority)
    except PermissionError:
        print("the system gives no priority: other work on this machine is measured, too")


def started(words, **options):
    """Starts it in a session of its own: Linux may share time out between sessions first, and then these have priorities, too."""
    process = subprocess.Popen(words, start_new_session=True, **options)
    if os.getpriority(os.PRIO_PROCESS, 0) < 0:
        try:
            with open(f"/proc/{process.pid}/autogroup", "w", encoding="ascii") as group:
                group.write("-20")
        except OSError:
            pass  # it knows no such groups, or does not let us
    return process


class Place:
    """A test's own directory: where it runs, and TMPDIR."""

    def __init__(self, cenote, wait_server, scale):
        self.cenote, self.wait_server, self.scale = cenote, wait_server, scale
        self.home = tempfile.mkdtemp(prefix="cenote-test-")
        self.temporary, self.work = os.path.join(self.home, "tmp"), os.path.join(self.home, "work")
        os.mkdir(self.temporary)
        os.mkdir(self.work)

    def seconds(self, number):
        """An option's value for so many seconds at the first scale."""
        return f"{round(number * self.scale * 1000)}ms"

    def short(self):
        return ["--time", self.seconds(1), "--max", "2"]

    def environment(self, **more):
        dropped = ("NO_COLOR", "TERM", "COLUMNS", "LC_ALL", "LC_CTYPE")
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        return {**kept, "TMPDIR": self.temporary, "LANG": "C.UTF-8", **more}

    def start(self, *words, **options):
        options.setdefault("env", self.environment())
        options.setdefault("cwd", self.work)
        return started([self.cenote, "tune", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True, **options)

    def run(self, *words, **options):
        process = self.start(*words, **options)
        out, said = process.communicate(timeout=90 * self.scale)
        expect(not os.listdir(self.temporary), "left behind:", os.listdir(self.temporary))
        return process.returncode, out, said

    def tune(self, *words, status=0):
        """Runs it with --json: what it found, which adds up."""
        began = time.monotonic()
        code, out, said = self.run("--json", *words)
        expect(code == status, f"status {code} instead of {status}: {said}{out}")
        found = adds_up(json.loads(out))
        # Starting, and the last operations and connections, take their time beyond the time_limit.
        expect(time.monotonic() - began < found["time_seconds"] + 3 * self.scale, "took", time.monotonic() - began)
        return found

    def end(self):
        shutil.rmtree(self.home, ignore_errors=True)


def adds_up(found):
    """What must hold whatever was measured."""
    expect(found["schema"] == "cenote-tune/1", found["schema"])
    points = {point["size"]: point for point in found["points"]}
    sizes = [point["size"] for point in found["points"]]
    expect(sizes == sorted(set(sizes)), "sizes", sizes)
    expect(max(sizes) <= found["max"] or points[max(sizes)]["failed"], "larger than max", sizes, found["max"])
    advice = found["recommendation"]
    expect(advice["size"] in points and advice["best_size"] in points, advice)
    chosen, best = points[advice["size"]], points[advice["best_size"]]
    expect(not chosen["failed"] and not best["failed"], "failed sizes")
    share = chosen["throughput"]["mean"] / best["throughput"]["mean"]
    expect(abs(share - advice["share_of_best"]["mean"]) < 1e-6, "share", share, advice)
    if advice["keeps_goal"] is not False:
        expect(share >= 1 - found["margin"] - 1e-9, "not within the margin", share)
        expect(advice["size"] <= advice["best_size"], advice)
    for point in found["points"]:
        if point["failed"]:
            expect(point["cause"], "no cause", point)
            continue
        between = point["throughput"]
        expect(0 <= between["low"] <= between["mean"] <= between["high"], point)
        expect(point["visits"] >= 1 and point["operations"] > 0, point)
        expect(0 <= point["utilisation"] <= 1, point)
        for name in ("use", "wait", "whole"):
            order = [point[name][part] for part in ("p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns")]
            expect(order == sorted(order), name, order)
    expect(sum(point["visits"] for point in found["points"]) <= found["visits"], "visits")
    connections = found["connections"]
    expect(connections["connections"] == connections["replicas"] * advice["size"], connections)
    if connections["usable"]:
        expect(connections["over"] == (connections["connections"] > connections["usable"]), connections)
    if connections["over"]:
        expect(connections["fitting"] * connections["replicas"] <= connections["usable"], connections)
    return found


class Server:
    """The HTTP server of the example, with so many workers."""

    def __init__(self, place, threads, *words):
        self.process = started([place.wait_server, "--threads", str(threads), *words], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.url = f"http://127.0.0.1:{self.port}/?wait={0.05 * place.scale}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


# ---- Sizes ---------------------------------------------------------------------------------------------------------------

# One less than T does at most 80 %, and T does all but what the way there and back costs, on a busy machine some of the 50 ms: in a
# short time a margin of 10 % is safely between the two.
def quickly(place):
    return ["--time", place.seconds(8), "--max", "16", "--margin", "10%"]


def tune_workers(place, threads, words):
    with Server(place, threads) as server:
        found = place.tune(server.url, "--replicas", "3", *words)
    measured = [(point["size"], point["throughput"]) for point in found["points"]]
    expect(found["recommendation"]["size"] == threads, found["recommendation"], measured)
    expect(found["connections"]["connections"] == 3 * threads, found["connections"])
    per_second = next(point for point in found["points"] if point["size"] == threads)["throughput"]["mean"]
    most = threads / (0.05 * place.scale)
    expect(0.85 * most < per_second < 1.05 * most, "throughput", per_second)


@test("asleep")
def a_server_of_2_workers_is_told_a_pool_of_2(place):
    tune_workers(place, 2, quickly(place))


@test("asleep")
def a_server_of_3_workers_is_told_a_pool_of_3(place):
    tune_workers(place, 3, quickly(place))


@test("asleep")
def a_server_of_5_workers_is_told_a_pool_of_5(place):
    tune_workers(place, 5, quickly(place))


@test("asleep")
def a_server_of_3_workers_is_told_a_pool_of_3_without_any_setting(place):
    tune_workers(place, 3, [] if place.scale == 1 else ["--time", place.seconds(30)])


@test("asleep")
def a_goal_leaves_out_sizes_that_queue_at_the_server(place):
    # Beyond two workers requests wait for one another: 50 ms become 100. Without the goal 4 % more would be worth a pool of 3.
    with Server(place, 2) as server:
        found = place.tune(server.url, "--time", place.seconds(6), "--max", "4", "--goal", f"p90={80 * place.scale}ms", "--margin", "0.5%")
    expect(found["recommendation"]["size"] == 2 and found["recommendation"]["keeps_goal"] is True, found["recommendation"])


@test("asleep")
def a_goal_that_no_size_keeps_is_said_and_is_a_status(place):
    with Server(place, 2) as server:
        found = place.tune(server.url, "--time", place.seconds(3), "--max", "2", "--goal", "p99=1ms", status=1)
    expect(found["recommendation"]["keeps_goal"] is False, found["recommendation"])
    expect(found["recommendation"]["text"].startswith("No size meets the goal"), found["recommendation"])


@test("asleep")
def at_a_rate_the_smallest_size_that_keeps_up_is_enough(place):
    # 24 a second of 50 ms each want 1.2 connections of the 8 that there could be.
    with Server(place, 8) as server:
        found = place.tune(server.url, "--time", place.seconds(6), "--max", "8", "--rate", str(24 / place.scale), "--clients", "16")
    expect(found["recommendation"]["size"] == 2, found["recommendation"], [(p["size"], p["throughput"]) for p in found["points"]])


@test("asleep")
def a_server_that_is_full_ends_the_sweep_with_its_cause(place):
    with Server(place, 8, "--connections", "3") as server:
        found = place.tune(server.url, "--time", place.seconds(6), "--max", "8")
    failed = [point for point in found["points"] if point["failed"]]
    expect(failed and "503" in failed[0]["cause"], [(p["size"], p["failed"], p["cause"]) for p in found["points"]])
    expect(found["recommendation"]["size"] <= 3, found["recommendation"])
    expect(f"A pool of {min(point['size'] for point in failed)} failed" in found["trouble"], found["trouble"])


@test("asleep")
def a_server_that_goes_away_ends_the_sweep_and_is_a_status(place):
    # With two workers 1, 2, 4 and 8 are measured, and then it goes while sizes between them are looked at.
    with Server(place, 2) as server:
        process = place.start(server.url, "--time", place.seconds(10), "--max", "8", "--json")
        expect("at most" in process.stderr.readline(), "no progress")
        for line in process.stderr:
            if "climbing" not in line:
                break
        server.process.kill()
        out, _ = process.communicate(timeout=30 * place.scale)
    found = json.loads(out)
    expect(process.returncode == 1 and found["end"] == "failed", process.returncode, found["end"])
    expect("The sweep ended after" in found["recommendation"]["doubts"], found["recommendation"])
    expect("no larger one was tried" not in found["trouble"], found["trouble"], [point["size"] for point in found["points"]])


@test("alone")
def sqlite_gets_a_size_in_its_time(place):
    found = place.tune("--time", place.seconds(2))
    expect(found["system"] == "sqlite" and found["connections"]["usable"] is None, found["system"], found["connections"])
    expect(found["elapsed_seconds"] <= 2.5 * place.scale, found["elapsed_seconds"])


@test("alone")
def postgresql_gets_a_size_and_is_asked_for_its_limit(place):
    url = os.environ["CENOTE_POSTGRESQL_URL"]
    found = place.tune(url, "--time", place.seconds(2), "--replicas", "60")
    expect(found["connections"]["usable"] == 97, found["connections"])
    over = found["recommendation"]["size"] * 60 > 97
    expect(found["connections"]["over"] == over, found["connections"])
    expect(not over or found["connections"]["fitting"] == 1, found["connections"])
    expect("secret" not in json.dumps(found), "the password is shown")


@test("alone")
def redis_gets_a_size(place):
    found = place.tune(os.environ["CENOTE_REDIS_URL"], "--time", place.seconds(2), "--max", "16")
    expect(found["system"] == "redis" and found["connections"]["usable"] > 100, found["system"], found["connections"])


@test("asleep")
def a_server_that_hangs_ends_the_sweep_with_what_was_known(place):
    pid = int(os.environ["CENOTE_REDIS_PID"])
    process = place.start(os.environ["CENOTE_REDIS_URL"], "--time", place.seconds(5), "--max", "4", "--rate", "50", "--json")
    expect("at most" in process.stderr.readline(), "no progress")  # after two seconds: something has been measured
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        out, said = process.communicate(timeout=60 * place.scale)
    finally:
        os.kill(pid, signal.SIGCONT)
    expect(time.monotonic() - began < 25 * place.scale, "took", time.monotonic() - began)
    found = adds_up(json.loads(out))
    expect(found["trouble"] and process.returncode in (0, 1), found["trouble"], process.returncode, said)


# ---- The report ------------------------------------------------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """Every element is closed, and nothing is fetched from anywhere."""

    ALONE = ("meta", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.count, self.text = [], {}, []
        self.feed(text)
        self.close()
        expect(not self.open, "not closed:", self.open)

    def handle_starttag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1
        expect(not {"src", "href", "onload", "onclick"} & {name for name, _ in attributes}, "fetches", tag, attributes)
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag):
        expect(self.open and self.open[-1] == tag, "closes", tag, "in", self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def read_page(place, name="cenote-tune.html"):
    with open(os.path.join(place.work, name), encoding="utf-8") as file:
        text = file.read()
    return text, Page(text)


@test()
def the_page_is_whole_and_needs_nothing_else(place):
    strange = "select '<script>alert(1)</script>' || \"id\" & ?1 from orders limit 1"
    code, out, said = place.run("-q", strange, "--replicas", "4", *place.short())
    expect(code == 0, code, said)
    expect("The report with charts is cenote-tune.html." in out, out)
    expect(os.listdir(place.work) == ["cenote-tune.html"], os.listdir(place.work))
    text, page = read_page(place)
    expect("<script" not in text and "url(" not in text and "@import" not in text, "a script or something fetched")
    expect(page.count["svg"] == 4 and page.count["table"] == 1, page.count)
    shown = "".join(page.text)
    expect(strange in shown, "the query is not shown as it is")
    expect(re.search(r"A pool of \d+ (gives|is)", out).group(0) in shown, "the advice")
    expect("What is not claimed" in shown and "prefers-color-scheme:dark" in text, "parts are missing")


@test()
def passwords_are_not_in_the_page(place):
    code, _, said = place.run(os.environ["CENOTE_REDIS_URL"], *place.short())
    expect(code == 0, code, said)
    text, _ = read_page(place)
    expect("secret" not in text and "redis://" in text, "the password is in the page")


@test()
def a_page_is_written_over_a_page_and_over_nothing_else(place):
    path = os.path.join(place.work, "mine.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write("<p>my own</p>")
    code, out, said = place.run("--report", "mine.html", *place.short())
    expect(code == 4 and out == "" and "mine.html exists and is not a report" in said, code, out, said)
    with open(path, encoding="utf-8") as file:
        expect(file.read() == "<p>my own</p>", "it was changed")
    for words in (["--force"], []):
        code, _, said = place.run("--report", "mine.html", *place.short(), *words)
        expect(code == 0, code, said)
        read_page(place, "mine.html")
    expect(os.listdir(place.work) == ["mine.html"], os.listdir(place.work))


@test()
def the_usual_page_is_left_out_where_another_file_has_its_name(place):
    with open(os.path.join(place.work, "cenote-tune.html"), "w", encoding="utf-8") as file:
        file.write("something")
    code, out, said = place.run(*place.short())
    expect(code == 0 and "No report will be written" in said and "The report" not in out, code, out, said)


@test()
def a_page_that_cannot_be_written_is_said_before_anything_is_measured(place):
    began = time.monotonic()
    for path in ("absent/page.html", ".", "/proc/page.html"):
        code, out, said = place.run("--report", path, "--time", place.seconds(20))
        expect(code == 4 and out == "" and said.count("\n") == 1 and path in said, path, code, out, said)
    expect(time.monotonic() - began < 5 * place.scale, "it was measured first")


# ---- Manners ---------------------------------------------------------------------------------------------------------------

@test()
def what_is_wrong_is_said_in_one_sentence_and_nothing_is_done(place):
    for words, part in ((["--goal", "fast"], "p99=20ms"), (["--goal", "p101=1ms"], "p99=20ms"), (["--goal", "p99=0"], "p99=20ms"),
                        (["--goal", "nap.p99=1s"], "p99=20ms"), (["--margin", "0.9"], "--margin"), (["--max", "0"], "--max"),
                        (["--time", "0.1s"], "--time"), (["--replicas", "none"], "--replicas"),
                        (["--report", "a", "--no-report"], "contradict"), (["gopher://x/"], "gopher"), (["a:", "b:"], "argument")):
        code, out, said = place.run(*words)
        expect(code == 2 and out == "" and said.count("\n") == 1 and part in said, words, code, out, said)
    expect(os.listdir(place.work) == [], os.listdir(place.work))


@test()
def a_server_that_is_absent_is_a_status_of_its_own(place):
    code, out, said = place.run("redis://127.0.0.1:1", *place.short())
    expect(code == 3 and out == "" and "127.0.0.1" in said, code, out, said)
    expect(os.listdir(place.work) == [], os.listdir(place.work))


@test()
def a_query_that_fails_is_said(place):
    code, out, said = place.run("-q", "select 1 from nowhere", *place.short())
    expect(code in (1, 2, 3) and out == "" and "nowhere" in said, code, out, said)


@test("asleep")
def ctrl_c_gives_the_report_so_far(place):
    with Server(place, 2) as server:
        process = place.start(server.url, "--time", place.seconds(30), "--max", "8")
        said = process.stderr.readline()  # a line of progress, after two seconds: something has been measured
        expect("at most" in said, said)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, _ = process.communicate(timeout=20 * place.scale)
    expect(process.returncode == 130, process.returncode, out)
    expect(time.monotonic() - began < 5 * place.scale, "took", time.monotonic() - began)
    expect("A pool of" in out and "The sweep was stopped after" in out, out)
    _, page = read_page(place)
    expect("The sweep was stopped" in "".join(page.text), "the page does not say so")


@test()
def ctrl_c_at_once_leaves_nothing(place):
    process = place.start("--time", "30s")
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20 * place.scale)
    expect(process.returncode in (130, -signal.SIGINT), process.returncode)
    expect(not os.listdir(place.temporary), os.listdir(place.temporary))


def on_terminal(place, *words, **more):
    """What a terminal of 100 columns gets."""
    main, second = pty.openpty()
    process = subprocess.Popen([place.cenote, "tune", *words], stdin=second, stdout=second, stderr=second, cwd=place.work,
                               env=place.environment(TERM="xterm-256color", COLUMNS="100", **more))
    os.close(second)
    seen = b""
    while True:
        ready, _, _ = select.select([main], [], [], 60)
        expect(ready, "nothing for a minute")
        try:
            some = os.read(main, 65536)
        except OSError:
            break
        if not some:
            break
        seen += some
    os.close(main)
    expect(process.wait() == 0, process.returncode, seen)
    return seen.decode()


@test()
def a_terminal_sees_a_bar_and_a_curve_in_colour(place):
    seen = on_terminal(place, "--no-report", *place.short())
    expect(re.search(r"\[#+\.*\] at most \d+ s left, (climbing|bisecting|checking): size [12]", seen), seen)
    expect("\r" in seen and "\033[32m" in seen and "\u2588" in seen and "\u25b2 recommended" in seen, seen)
    last = seen[seen.rindex("\033[K"):]
    expect("at most" not in last, "the bar is left behind", seen)


@test()
def no_color_and_ascii_are_kept(place):
    seen = on_terminal(place, "--no-report", "--ascii", *place.short(), NO_COLOR="1")
    expect("\033[3" not in seen and "\033[1" not in seen, seen)
    expect(seen.isascii() and "^ recommended" in seen and "#####" in seen, seen)


@test()
def without_a_terminal_or_unicode_it_is_plain(place):
    code, out, _ = place.run("--no-report", *place.short(), env=place.environment(LANG="C"))
    expect(code == 0 and "\033" not in out and out.isascii() and "^ recommended" in out, code, out)
    expect(max(len(line) for line in out.splitlines()) <= 80, out)
    expect(os.listdir(place.work) == [], os.listdir(place.work))


@test()
def help_teaches(place):
    code, out, said = place.run("--help")
    expect(code == 0 and said == "", code, said)
    for word in ("--goal", "--replicas", "--time", "--report", "--margin", "cenote tune postgresql://"):
        expect(word in out, word, out)


# ---- Running them ------------------------------------------------------------------------------------------------------------

SCALES = (1, 2, 4, 8)


def judge(name, function, programs):
    began, complaint = time.monotonic(), None
    for scale in SCALES:
        place = Place(*programs, scale)
        try:
            function(place)
            complaint = None
        except Failure as failure:
            complaint = str(failure)
        except Exception:  # pylint: disable=broad-except
            complaint = traceback.format_exc()
        place.end()
        if not complaint:
            break
        print(f"     {name}: at scale {scale}: {complaint.strip().splitlines()[-1][:400]}", flush=True)
    return name, complaint, time.monotonic() - began


def record(result, lock):
    name, complaint, seconds = result
    with lock:
        print(f"{'FAIL' if complaint else 'ok  '} {name} ({seconds:.1f} s)", flush=True)
        if complaint:
            print("     " + complaint, flush=True)
        if os.environ.get("CENOTE_TEST_LOG"):
            with open(os.environ["CENOTE_TEST_LOG"], "a", encoding="utf-8") as log:
                log.write(f"{'fail' if complaint else 'pass'} {name.replace(' ', '_')}\n")
    return complaint is None


def run_all(programs, words):
    chosen = [entry for entry in TESTS if all(word in entry[1] or word in entry[2].__name__ for word in words)]
    lock, good = threading.Lock(), []
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    for how, workers in (("asleep", 8), ("alone", 1), ("beside", 4)):
        hurry(-20 if how == "asleep" else usual)
        with concurrent.futures.ThreadPoolExecutor(workers) as several:
            judged = [several.submit(judge, entry[1], entry[2], programs) for entry in chosen if entry[0] == how]
            for one in concurrent.futures.as_completed(judged):
                good.append(record(one.result(), lock))
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if good and all(good) else 1


def main():
    cenote, with_server, wait_server, *words = sys.argv[1:]
    if os.environ.get("CENOTE_TOOL_TEST_INSIDE"):
        return run_all((os.path.abspath(cenote), os.path.abspath(wait_server)), words)
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:]]
    for kind in KINDS:
        command = [with_server, kind, "--", *command]
    return subprocess.run(command, env={**os.environ, "CENOTE_TOOL_TEST_INSIDE": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
