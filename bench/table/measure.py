# SPDX-License-Identifier: MIT
"""The whole table: runs every part as the program it is, one after another, and writes what came of them. bench/README.md says how.

    measure.py --build     builds every part's programs first, and names the one that starts servers
    measure.py             measures; beside the servers, see run
"""
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import machine
from progress import Estimate, Progress, clock
from results import FOLDER, PARTS, ROOT

OUT = os.path.join(ROOT, "build", "bench")
WORK, LOG, FAILED = (os.path.join(OUT, name) for name in ("table", "table.log", "table-failed.json"))
QUICK = os.environ.get("BENCH_QUICK", "") not in ("", "0")
LIMIT = 5 * 60 if QUICK else 60 * 60
TOO_LONG = 3  # times what is planned, and a part is ended


def chosen():
    """BENCH_PARTS: some of them, for work on one."""
    words = os.environ.get("BENCH_PARTS", "").replace(",", " ").split()
    for word in words:
        if word not in PARTS:
            raise SystemExit("bench: %s is none of: %s" % (word, ", ".join(PARTS)))
    return [part for part in PARTS if not words or part in words]


def last_words(text):
    """What a program complained of last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return without_places(lines[-1]) if lines else "no reason given"


def without_places(text):
    for word in machine.private_words():
        text = text.replace(word + "/", "").replace(word, "...")
    return text


# ---- Building ----------------------------------------------------------------

def build_all():
    """A part that does not build is left out of the run, which then fails; the others are measured."""
    progress, failed, begin = Progress(), {}, time.monotonic()
    parts = chosen()
    for number, part in enumerate(parts):
        progress.show("bench: building %d of %d, %s; %s so far" % (number + 1, len(parts), part, clock(time.monotonic() - begin)),
                      True)
        done = subprocess.run([os.path.join(HERE, "..", "build"), part], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if done.returncode != 0:
            failed[part] = "does not build: " + last_words(done.stdout)
            progress.say("bench: %s does not build:\n%s" % (part, "\n".join(done.stdout.strip().splitlines()[-20:])))
    progress.say("bench: built in %s" % clock(time.monotonic() - begin))
    os.makedirs(OUT, exist_ok=True)
    with open(FAILED, "w") as file:
        json.dump(failed, file)
    sys.path.insert(0, os.path.join(HERE, "..", "support"))
    import build
    print(build.build_with_server())


# ---- Running -----------------------------------------------------------------

class Run:
    def __init__(self):
        self.parts, self.progress, self.begin = chosen(), Progress(), time.monotonic()
        self.estimate = Estimate({part: PARTS[part][2 if QUICK else 1] for part in self.parts})
        self.states = {part: {"status": "not run"} for part in PARTS}
        self.date, self.interrupted, self.child = datetime.datetime.now(datetime.timezone.utc), False, None
        self.about = machine.about()
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        with open(FAILED) as file:
            for part, why in json.load(file).items():
                self.states[part] = {"status": "failed", "why": why}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.interrupt)

    def interrupt(self, *_):
        """Again and again, since several may pass it on. The part is a group of its own, and is told here only."""
        if not self.interrupted:
            self.interrupted = True
            self.end_child(signal.SIGINT)

    def end_child(self, number):
        """The part's whole group, of which some may outlive it."""
        try:
            if self.child:
                os.killpg(self.child.pid, number)
        except ProcessLookupError:
            pass

    def environment(self):
        place = {"BENCH_TABLE": "1", "BENCH_BEGAN": repr(self.begin), "BENCH_OUT": os.path.join(WORK, "records.jsonl"),
                 "BENCH_RAW": os.path.join(WORK, "raw.jsonl")}
        cleaned = {key: value for key, value in os.environ.items() if key not in ("BENCH_ONLY", "BENCH_CELLS", "BENCH_CONTESTANTS",
                                                                                  "BENCH_REPS")}
        return {**cleaned, **place}

    def line(self, part, elapsed):
        left = self.estimate.left(part, elapsed)
        end = datetime.datetime.now() + datetime.timedelta(seconds=left)
        return "bench: %d of %d, %s, %s of about %s; %s in all, %s to go, over at %s" % (
            self.parts.index(part) + 1, len(self.parts), part, clock(elapsed), clock(self.estimate.planned[part]),
            clock(time.monotonic() - self.begin), clock(left), end.strftime("%H:%M"))

    def wait(self, part, begin):
        """Until the part is over. One that hangs is ended, and so is one that does not heed Ctrl-C."""
        asked = None
        while True:
            try:
                return self.child.wait(timeout=1)
            except subprocess.TimeoutExpired:
                pass
            elapsed = time.monotonic() - begin
            self.progress.show(self.line(part, elapsed))
            if asked is None and (self.interrupted or self.is_too_long(part, elapsed)):
                asked = time.monotonic()
                self.end_child(signal.SIGINT)
            elif asked is not None and time.monotonic() - asked > 10:
                self.end_child(signal.SIGKILL)

    def is_too_long(self, part, elapsed):
        return elapsed > TOO_LONG * self.estimate.planned[part] + 60

    def one(self, part, log):
        begin, at = time.monotonic(), log.tell()
        log.write("\n==== %s\n" % part)
        log.flush()
        self.progress.show(self.line(part, 0), True)
        self.child = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "..", part, "measure.py")], env=self.environment(),
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        status, seconds = self.wait(part, begin), time.monotonic() - begin
        self.end_child(signal.SIGKILL)
        self.child = None
        self.estimate.taken[part] = seconds
        state = {"status": "interrupted" if self.interrupted else "failed" if status else "done", "seconds": round(seconds, 1)}
        if state["status"] == "failed":
            log.seek(at)
            state["why"] = "took too long and was ended" if self.is_too_long(part, seconds) else last_words(log.read())
            log.seek(0, os.SEEK_END)
        self.states[part] = state
        self.progress.say("bench: %s %s in %s, planned %s%s" % (part, state["status"], clock(seconds),
                                                                clock(self.estimate.planned[part]),
                                                                ": " + state["why"] if "why" in state else ""))

    def everything(self):
        with open(LOG, "w+") as log:
            for part in self.parts:
                if self.states[part]["status"] == "not run" and not self.interrupted:
                    self.one(part, log)
        self.seconds = time.monotonic() - self.begin

    # ---- What came of it -----------------------------------------------------

    def folder(self, private):
        """In the tree if every part has had its turn, be it in vain; otherwise beside what was built."""
        name = "%s-%s" % (self.date.strftime("%Y-%m-%d"), machine.slug(self.about["cpu"], self.about["processors"]))
        kind = "quick-" if QUICK else ""
        kind += "incomplete-" if self.interrupted else "part-" if self.parts != list(PARTS) else "private-" if private else ""
        return os.path.join(OUT, kind + name) if kind else os.path.join(FOLDER, name)

    def command(self):
        words = ["%s=%s" % (name, '"%s"' % os.environ[name] if " " in os.environ[name] else os.environ[name])
                 for name in ("BENCH_QUICK", "BENCH_PARTS") if os.environ.get(name)]
        return " ".join(["make bench-all", *words])

    def write(self):
        for name in ("records.jsonl", "raw.jsonl"):
            open(os.path.join(WORK, name), "a").close()
        about = {**self.about, "date": self.date.strftime("%Y-%m-%d %H:%M UTC"), "command": self.command(), "quick": QUICK,
                 "seconds": round(self.seconds, 1), "parts": self.states,
                 "gate": machine.gate_statistics(os.path.join(WORK, "raw.jsonl"))}
        with open(os.path.join(WORK, "machine.json"), "w") as file:
            json.dump(about, file, indent=1)
            file.write("\n")
        return subprocess.run([os.path.join(HERE, "render"), WORK]).returncode == 0

    def place(self, private):
        folder = self.folder(private)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(WORK, folder)
        self.progress.say("bench: the results are in %s, what was said meanwhile in %s" % tuple(
            os.path.relpath(path, ROOT) for path in (folder, LOG)))

    def is_private(self):
        """Whether a file of the results names this machine or a folder of it."""
        found = False
        for name in sorted(os.listdir(WORK)):
            with open(os.path.join(WORK, name)) as file:
                text = file.read()
            for word in machine.private_words():
                if word in text:
                    self.progress.say("bench: %s has %s in it" % (name, word))
                    found = True
        return found

    def report(self):
        """The end of it; the answer is whether all was well."""
        for part in self.parts:
            state = self.states[part]
            seconds, planned = state.get("seconds", 0), self.estimate.planned[part]
            self.progress.say("  %-8s %6s of %6s  %s%s%s" % (part, clock(seconds), clock(planned), state["status"],
                                                              ": " + state["why"] if "why" in state else "",
                                                              ", LONGER THAN PLANNED" if seconds > planned else ""))
        self.progress.say("  %-8s %6s of %6s%s" % ("all", clock(self.seconds), clock(LIMIT), "  OVER THE LIMIT"
                                                   if self.seconds > LIMIT else ""))
        return all(self.states[part]["status"] == "done" for part in self.parts)


def main():
    run = Run()
    run.everything()
    rendered, private = run.write(), run.is_private()
    run.place(private)
    return 0 if run.report() and rendered and not private else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--build"]:
        build_all()
    else:
        sys.exit(main())
