# SPDX-License-Identifier: MIT
"""What the tests of watching a process share: the process itself (examples/inspected), questions to its interface,
a terminal that can be typed into and read (tmux), and a list of tests.

    python3 top_test.py CENOTE INSPECTED [NAME...]      runs the tests whose name contains a NAME

Every condition is awaited, up to a deadline (CENOTE_DEADLINE, in seconds), and nothing sleeps for a time that somebody
guessed. Everything is below one directory of its own, which is removed, and whatever was started is ended by its number.
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

# Whoever starts the tests in the background has them ignore SIGINT, and what they start would do so, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

DEADLINE = float(os.environ.get("CENOTE_DEADLINE", "60"))
tests = []
clean_up = []


class Failed(Exception):
    pass


def test(function):
    tests.append(function)
    return function


def expect(condition, text):
    if not condition:
        raise Failed(text)


def await_that(condition, what, seconds=DEADLINE):
    """Answers what the condition does, once that is true."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Failed(what() if callable(what) else what)
        time.sleep(0.02)


class Place:
    """A directory that programs of the test take for the user's; with a short name, because a socket's has to be."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="cenote-", dir="/tmp")
        clean_up.append(lambda: shutil.rmtree(self.path, ignore_errors=True))
        self.environment = {key: value for key, value in os.environ.items() if key not in ("CENOTE_TOKEN", "NO_COLOR", "TMUX", "TMUX_PANE")}
        self.environment.update(XDG_RUNTIME_DIR=self.path, HOME=self.path, LC_ALL="C.UTF-8", TERM="screen-256color", SHELL="/bin/sh")

    def file(self, name):
        return os.path.join(self.path, name)


class Subject:
    """A process with inspect on, of examples/inspected."""

    def __init__(self, program, place, *arguments, **options):
        options.setdefault("env", place.environment)
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, **options)
        clean_up.append(self.end)
        self.address = self.process.stdout.readline().strip()
        expect(self.address, "the process that is looked at did not start")
        self.pid = self.process.pid
        self.token = arguments[arguments.index("--token") + 1] if "--token" in arguments else None
        # It can be asked before it has made all that there is to see.
        await_that(lambda: {"orders", "reports", "service"} <= self.components().keys(), "not all of what is looked at came into being")

    def ask(self, method, path, body=None):
        if self.address.startswith("unix:"):
            connection = http.client.HTTPConnection("localhost", timeout=60)
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.sock.settimeout(60)
            connection.sock.connect(self.address[5:])
        else:
            connection = http.client.HTTPConnection(self.address.split("//")[1].strip("/"), timeout=60)
        try:
            headers = {"Content-Type": "application/json"}
            if self.token:
                headers["Authorization"] = "Bearer " + self.token
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def components(self):
        return {component["name"]: component for component in self.ask("GET", "/api/components?parts=1")[1]["components"]}

    def reading(self, pool, name):
        return self.components()[pool]["metrics"][name]

    def tell(self, pool, action, value=0):
        status, answer = self.ask("POST", f"/api/components/{self.components()[pool]['number']}/invoke", json.dumps({"action": action, "value": value}))
        expect(status == 200, f"{pool} cannot {action}: {answer}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process.stdout.close()


class Terminal:
    """A shell in a terminal of tmux, with a server of its own."""

    def __init__(self, place, columns=100, lines=24, **more):
        self.place = place
        self.name = f"cenote-{os.getpid()}-{len(clean_up)}"
        self.environment = {**place.environment, "TMUX_TMPDIR": place.path, "PS1": "shell> ", "ENV": "", **more}
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines), "exec /bin/sh -i")
        self.server = int(self.tmux("display-message", "-p", "#{pid}"))
        clean_up.append(self.end)
        self.await_text("shell>")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-u", "-L", self.name, "-f", "/dev/null", *arguments], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120)
        expect(done.returncode == 0, f"tmux {arguments[0]}: {done.stderr}")
        return done.stdout.strip("\n")

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def write(self, text):
        self.tmux("send-keys", "-l", text)

    def run(self, command):
        self.write(command)
        self.type("Enter")

    def screen(self, *how):
        return self.tmux("capture-pane", "-p", *how)

    def lines(self):
        return [line.rstrip() for line in self.screen().split("\n")]

    def rows(self):
        """What is below the head of the table, without the last line."""
        lines = self.lines()
        return [line for line in lines[4:23] if line]

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def await_text(self, pattern, seconds=DEADLINE):
        return await_that(lambda: re.search(pattern, self.screen(), re.M), lambda: f"/{pattern}/ did not appear on\n{self.screen()}", seconds)

    def await_that(self, condition, what):
        return await_that(condition, lambda: f"{what} did not become true on\n{self.screen()}")

    def end(self):
        try:
            os.kill(self.server, signal.SIGTERM)
            await_that(lambda: not alive(self.server), "the server of tmux did not end", 5)
        except (ProcessLookupError, Failed):
            pass


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Answer:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __str__(self):
        return f"status {self.status}\n{self.out}\n{self.err}"


class Tool:
    """The program cenote, run to its end."""

    def __init__(self, program, place):
        self.program, self.place = program, place

    def __call__(self, *arguments, timeout=120, **more):
        done = subprocess.run([self.program, *arguments], env={**self.place.environment, **more}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=timeout)
        return Answer(done)

    def start(self, *arguments, **more):
        process = subprocess.Popen([self.program, *arguments], env={**self.place.environment, **more}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        clean_up.append(lambda: process.poll() is None and process.kill())
        return process


def forgetful_line(source):
    """Where examples/inspected.c takes what it never gives back."""
    with open(source, encoding="utf-8") as file:
        lines = file.read().split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("static void forget_one"))
    return next(i + 1 for i in range(begin, len(lines)) if "cen_pool_take(" in lines[i])


def run_all(prepare):
    """`prepare` is called with the arguments and answers what each test is called with."""
    programs, wanted = sys.argv[1:3], sys.argv[3:]
    log = os.environ.get("CENOTE_TEST_LOG")
    passed = failed = 0
    try:
        # Here, and not in a test, because without it none can be run.
        world = prepare(*programs)
        for function in tests:
            if wanted and not any(word in function.__name__ for word in wanted):
                continue
            began = time.monotonic()
            try:
                function(world)
                verdict = "ok  "
                passed += 1
            except Exception as problem:  # pylint: disable=broad-except
                verdict = "FAIL"
                failed += 1
                text = str(problem) if isinstance(problem, Failed) else traceback.format_exc()
                print("\n".join("     " + line for line in text.split("\n")))
            print(f"{verdict} {function.__name__} {time.monotonic() - began:.1f} s", flush=True)
            if log:
                with open(log, "a", encoding="utf-8") as file:
                    file.write(f"{'pass' if verdict == 'ok  ' else 'fail'} {function.__name__}\n")
    finally:
        for end in reversed(clean_up):
            end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
