# SPDX-License-Identifier: MIT
"""`cenote events` of a real process, of one that was killed, and of the memory of one."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import types

from top_harness import Place, Subject, Tool, await_that, clean_up, expect, run_all, test


def prepare(cenote, inspected):
    place = Place()
    subject = Subject(inspected, place, "--control")
    doomed = os.path.join(os.path.dirname(cenote), "tests/tool-events_subject")
    return types.SimpleNamespace(inspected=inspected, place=place, subject=subject, tool=Tool(cenote, place), pid=str(subject.pid), doomed=doomed)


LINE = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (trace|detail|notice|warning|error) +\w+ +\S"


@test
def events_of_a_process_are_printed_oldest_first(w):
    answer = w.tool("events", w.pid)
    lines = answer.out.strip().split("\n")
    expect(answer.status == 0 and len(lines) > 5, str(answer))
    for line in lines:
        expect(re.match(LINE, line), f"not a line: {line}")
    # By their numbers: two threads that write at the same time may have read the clock the other way round.
    numbers = [json.loads(line)["number"] for line in w.tool("events", "--json", w.pid).out.split("\n") if line]
    expect(numbers == sorted(set(numbers)), "they are not in order, or some are there twice")


@test
def a_level_leaves_out_what_is_below_it(w):
    def leaked():
        answer = w.tool("events", "--level", "warning", w.pid)
        return answer if " leak " in answer.out else None

    answer = await_that(leaked, "the leak is not in the events")
    levels = {line.split()[2] for line in answer.out.strip().split("\n")}
    expect(levels <= {"warning", "error"}, f"there are {levels}")


@test
def the_last_few_are_the_last(w):
    w.subject.tell("reports", "pause")
    w.subject.tell("reports", "resume")
    answer = w.tool("events", "-l", "notice", "-n", "2", w.pid)
    lines = answer.out.strip().split("\n")
    expect(len(lines) == 2, str(answer))


@test
def json_is_one_object_a_line(w):
    answer = w.tool("events", "--json", "-l", "notice", w.pid)
    events = [json.loads(line) for line in answer.out.strip().split("\n")]
    paused = [event for event in events if event["what"] == "paused" and event["component_name"] == "reports"]
    expect(paused and paused[0]["kind"] == "paused" and paused[0]["component_kind"] == "pool" and paused[0]["level"] == "notice" and paused[0]["time_ns"] > 0, f"not among {events[-5:]}")


@test
def following_prints_what_happens_and_ends_with_the_process(w):
    other = Subject(w.inspected, w.place, "unix:" + w.place.file("other"), "--control")
    out = w.place.file("followed")
    with open(out, "w", encoding="utf-8") as file:
        process = subprocess.Popen([w.tool.program, "events", "--follow", "-i", "50ms", "-l", "notice", other.address], stdout=file,
                                   stderr=subprocess.PIPE, env=w.place.environment, text=True)
    clean_up.append(lambda: process.poll() is None and process.kill())

    def count(word):
        with open(out, encoding="utf-8") as file:
            return sum(f" {word} " in line for line in file)

    other.tell("orders", "pause")
    await_that(lambda: count("paused") == 1, "the pause was not told")
    other.tell("orders", "resume")
    await_that(lambda: count("resumed") == 1, "the resume was not told")
    expect(count("paused") == 1, "the pause was told twice")
    other.kill()
    await_that(lambda: process.poll() is not None, "it does not end with the process")
    expect(process.returncode == 0 and "The process has ended" in process.stderr.read(), f"its status is {process.returncode}")
    process.stderr.close()


@test
def ctrl_c_ends_following(w):
    process = w.tool.start("events", "--follow", w.pid)
    expect(process.stdout.readline(), "nothing is printed")
    process.send_signal(signal.SIGINT)
    await_that(lambda: process.poll() is not None, "it does not end")
    expect(process.returncode == 130, f"its status is {process.returncode}")


@test
def whoever_has_read_enough_is_not_told_that_the_output_is_full(w):
    process = w.tool.start("events", "--follow", "-i", "20ms", w.pid)
    expect(process.stdout.readline(), "nothing is printed")
    process.stdout.close()
    await_that(lambda: process.poll() is not None, "it does not end")
    said = process.stderr.read()
    expect(process.returncode == 0 and "output" not in said, f"its status is {process.returncode}, and it says {said}")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([w.tool.program, "events", w.pid], stdout=full, stderr=subprocess.PIPE, env=w.place.environment, text=True, timeout=30)
    expect(done.returncode == 4 and "could not be written" in done.stderr, f"of a full disk: {done.returncode} {done.stderr}")


def start_doomed(w, *arguments):
    process = subprocess.Popen([w.doomed, *arguments], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    clean_up.append(lambda: process.poll() is None and process.kill())
    expect(process.stdout.readline() == "ready\n", "the process that is to be killed did not start")
    return process


def expect_last_words(answer):
    expect(answer.status == 0, str(answer))
    words = [line.split()[3] for line in answer.out.split("\n") if line]
    expect([word for word in words if word in ("begun", "paused", "last_words")] == ["begun", "paused", "last_words"], str(answer))
    expect("it goes badly" in answer.out, str(answer))
    expect("caf\ufffd, which is no UTF-8, for \u20ac 3" in answer.out, str(answer))


@test
def the_file_of_a_process_that_was_killed_has_its_last_words(w):
    path = w.place.file("kept")
    process = start_doomed(w, path)
    expect_last_words(w.tool("events", path))
    process.kill()
    process.wait()
    expect_last_words(w.tool("events", path))
    answer = w.tool("events", "-l", "error", path)
    expect(answer.out.count("\n") == 1 and "last_words" in answer.out, str(answer))
    answer = w.tool("events", "--follow", path)
    expect(answer.status == 2 and "is a file" in answer.err, str(answer))


@test
def a_core_file_has_them_too(w):
    with open(w.doomed, "rb") as file:
        if b"__asan_init" in file.read():
            print("     skipped: the memory of a program under AddressSanitizer is too large for a core file")
            return
    expect(shutil.which("gdb"), "there is no gdb")
    process = start_doomed(w)
    core = w.place.file("core")
    done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(process.pid), "-ex", f"generate-core-file {core}"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=60)
    expect(os.path.exists(core), f"gdb wrote no core: {done.stdout}")
    process.kill()
    process.wait()
    expect_last_words(w.tool("events", core))


@test
def a_file_without_events_and_no_file_are_said(w):
    with open(w.place.file("nothing"), "w", encoding="ascii") as file:
        file.write("nothing of that kind\n" * 1000)
    answer = w.tool("events", w.place.file("nothing"))
    expect(answer.status == 3 and "No events in" in answer.err, str(answer))
    answer = w.tool("events", w.place.file("absent"))
    expect(answer.status == 3 and "cannot read " in answer.err and "absent: No such file" in answer.err and "cen_" not in answer.err, str(answer))


if __name__ == "__main__":
    sys.exit(run_all(prepare))
