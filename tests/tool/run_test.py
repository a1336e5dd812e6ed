#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cenote run, end to end: the program as it is, beside real servers.

  tests/tool/run_test.py CENOTE WITH_SERVER WAIT_SERVER [WORDS OF A TEST'S NAME]

Starts itself again beside PostgreSQL, MariaDB, Redis and nginx by WITH_SERVER.

A busy machine delays everything by some milliseconds. So the times of a test are multiples of a scale: how long a run measures, how
long an operation is held, what is too late. A test that fails is repeated with twice the scale, where the same delays are half as
much; at the largest scale its verdict stands. A quiet machine needs the first scale only.

Tests that measure times come first, one at a
time; the others run three at a time. Ends only processes that it or its with-server has started, by their ids.
"""
import concurrent.futures
import contextlib
import http.server
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback

# Whoever starts the tests in the background has them ignore SIGINT, and what they start would do so, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
KINDS = ["postgresql", "mariadb", "redis", "nginx"]
TESTS = []
MS = 1000000


class Failure(Exception):
    pass


def expect(truth, *words):
    if not truth:
        raise Failure(" ".join(str(word) for word in words))


def test(alone=False):
    def register(function):
        TESTS.append((alone, function.__name__.replace("_", " "), function))
        return function
    return register


class Place:
    """A test's own directory, which is TMPDIR of what it runs."""

    def __init__(self, cenote, wait_server, scale):
        self.cenote, self.wait_server, self.scale = cenote, wait_server, scale
        self.home = tempfile.mkdtemp(prefix="cenote-test-")
        self.temporary = os.path.join(self.home, "tmp")
        os.mkdir(self.temporary)

    def ms(self, number):
        """An option's value for so many milliseconds at the first scale."""
        return f"{round(number * self.scale)}ms"

    def short(self):
        return ["--duration", self.ms(300), "--warm-up", self.ms(100)]

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS")}
        return {**kept, "TMPDIR": self.temporary, **more}

    def start(self, *words, **options):
        options.setdefault("env", self.environment())
        return subprocess.Popen([self.cenote, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **options)

    def run(self, *words, **options):
        process = self.start(*words, **options)
        out, said = process.communicate(timeout=60 * self.scale)
        expect(not os.listdir(self.temporary), "left behind:", os.listdir(self.temporary))
        return process.returncode, out, said

    def measure(self, *words, status=0):
        """Runs it with --json: the report, which adds up."""
        code, out, said = self.run("run", "--json", *words)
        expect(code == status, f"status {code} instead of {status}: {said}{out}")
        return adds_up(json.loads(out))

    def end(self):
        shutil.rmtree(self.home, ignore_errors=True)


def adds_up(report):
    """Every equation that docs/tool.md states."""
    parts = [report[name] for name in ("operations", "timed_out", "refused", "failed", "unfinished")]
    expect(report["schema"] == "cenote-run/1", report["schema"])
    expect(report["attempts"] == sum(parts), "attempts", report["attempts"], parts)
    expect(report["whole"]["count"] == report["attempts"], "whole", report["whole"], report["attempts"])
    expect(report["wait"]["count"] == report["attempts"] - report["never_begun"], "wait", report["wait"], report["attempts"])
    expect(report["operations"] <= report["use"]["count"] <= report["operations"] + report["failed"], "use", report["use"])
    expect(report["never_begun"] <= report["unfinished"], "never begun")
    expect(abs(report["throughput"] * report["seconds"] - report["operations"]) < 0.01 + report["operations"] * 1e-6, "throughput")
    expect(sum(report["windows"]["operations"]) == report["operations"], "windows")
    causes = sum(cause["count"] for cause in report["causes"]) + report["other_causes"]
    expect(causes == report["timed_out"] + report["refused"] + report["failed"], "causes", causes)
    for name in ("wait", "use", "whole"):
        times = report[name]
        order = [times[place] for place in ("min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")]
        expect(order == sorted(order), name, order)
        expect(times["min_ns"] <= times["mean_ns"] <= times["max_ns"], name, times)
    inner = sum(report[name]["mean_ns"] * report[name]["count"] for name in ("wait", "use"))
    outer = (report["whole"]["mean_ns"] + 2) * report["whole"]["count"]
    expect(inner <= outer, "wait and use are more than the whole:", inner, outer)
    for name in ("utilisation", "waiting"):
        expect(0 <= report[name] <= 1, name, report[name])
    fair = report["fairness"]
    expect(0 < fair["jain"] <= 1.0000001 and fair["least"] <= fair["most"] <= report["operations"], fair)
    return report


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, "waited for too long")
        time.sleep(0.01)


def url_of(kind):
    return os.environ["CENOTE_NGINX_HTTP1_URL"] if kind == "nginx" else os.environ[f"CENOTE_{kind.upper()}_URL"]


def begun(place, *words, after=0.5):
    """Starts a run, and waits until so long after its clients were started."""
    process = place.start("run", *words)
    wait_for(lambda: process.poll() is not None or len(os.listdir(f"/proc/{process.pid}/task")) > 4)
    time.sleep(after * place.scale)
    return process


def as_many_as_due(report, rate):
    """On a busy machine the end comes a little late, and what is due until then counts, too."""
    return report["seconds"] >= 1.5 and abs(report["attempts"] - rate * report["seconds"]) <= 2


# ---- Times ---------------------------------------------------------------------------------------------------------------

@test(alone=True)
def a_stall_counts_for_all_operations_that_were_due_in_it(place):
    path = os.path.join(place.home, "stalled.db")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("create table t (a)")
    process = begun(place, f"sqlite:{path}", "-q", "select count(*) from t", "--rate", "200", "--clients", "8", "--json",
                    "--duration", place.ms(1500), "--warm-up", place.ms(200))
    holder.execute("begin exclusive")
    time.sleep(0.3 * place.scale)
    holder.execute("rollback")
    out, said = process.communicate(timeout=30)
    expect(process.returncode == 0, process.returncode, said)
    report = adds_up(json.loads(out))
    # A fifth of them was due in the stall, and half of these waited for longer than half of it; yet only eight clients met it.
    expect(as_many_as_due(report, 200), "attempts", report["attempts"], report["seconds"])
    stall = 300 * MS * place.scale
    expect(report["whole"]["p50_ns"] < stall / 6, "p50", report["whole"])
    expect(report["whole"]["p90_ns"] > stall / 3, "p90", report["whole"])
    expect(report["whole"]["max_ns"] > stall * 5 / 6, "max", report["whole"])
    expect(report["wait"]["p90_ns"] < stall / 6, "wait", report["wait"])


@test(alone=True)
def an_open_loop_keeps_its_rate(place):
    report = place.measure("--rate", "400", "--duration", place.ms(1500), "--warm-up", place.ms(100))
    expect(as_many_as_due(report, 400), "due", report["attempts"], report["seconds"])
    expect(abs(report["throughput"] / 400 - 1) < 0.02, "rate", report["throughput"])
    report = place.measure("--rate", "400", "--duration", place.ms(1000), "--warm-up", place.ms(100), "--futures", "--clients", "50")
    expect(abs(report["throughput"] / 400 - 1) < 0.02, "rate of futures", report["throughput"])


@test(alone=True)
def a_rate_that_cannot_be_kept_is_told(place):
    # Two connections do at most 100 a second of the 1000.
    report = place.measure("--rate", "1000", "--hold", "20ms", "--size", "2", "--clients", "4", *place.short())
    expect(report["throughput"] < 110 and report["never_begun"] > 100, report["throughput"], report["never_begun"])
    expect("was not reached" in report["advice"], report["advice"])
    # What nobody began has waited all the same.
    expect(report["whole"]["p90_ns"] > 200 * MS, report["whole"])


@test(alone=True)
def holding_and_thinking_take_the_time_that_is_said(place):
    report = place.measure("--hold", place.ms(20), "--think", place.ms(20), "--clients", "2", "--size", "2", *place.short())
    expect(20 * MS * place.scale <= report["use"]["p50_ns"] < 40 * MS * place.scale, report["use"])
    expect(8 <= report["operations"] <= 16, report["operations"])
    expect(0.3 < report["utilisation"] < 0.7, report["utilisation"])


# ---- Targets -------------------------------------------------------------------------------------------------------------

# On a machine that is busy the first connections alone may take what is short; and more so of servers that are written in Python.
ENOUGH = (500, 600)
LONG = (2000, 500)


def works(place, *words, how_long=ENOUGH):
    report = place.measure(*words, "--duration", place.ms(how_long[0]), "--warm-up", place.ms(how_long[1]))
    expect(report["operations"] > 0 and report["failed"] == report["timed_out"] == 0, report["operations"], report["causes"])
    return report


@test()
def the_sample_file_is_driven_without_a_url(place):
    report = works(place)
    expect(report["target"]["system"] == "sqlite" and report["pool"]["opened"] <= 4, report["target"], report["pool"])
    report = works(place, "--futures", "--clients", "200", "--exact-times", "--min-idle", "1")
    expect(report["plan"]["futures"] and report["fairness"]["most"] > 0, report["plan"])


@test()
def writes_have_a_pool_of_one_beside_the_readers(place):
    report = works(place, "--write-share", "20%", how_long=LONG)
    expect(0.1 < report["writes"] / report["operations"] < 0.3, report["writes"], report["operations"])
    expect(report["writer"]["max"] == 1 and report["pool"]["max"] == 4, report["writer"])


@test()
def a_file_of_the_users_is_read_and_not_changed(place):
    path = os.path.join(place.home, "mine.db")
    with sqlite3.connect(path) as db:
        db.execute("create table t (id integer primary key, word text)")
        db.executemany("insert into t values (?, ?)", [(i, "x" * 100) for i in range(1, 101)])
    db.close()
    with open(path, "rb") as file:
        before = file.read()
    works(place, f"sqlite:{path}", "-q", "select * from t where id = ?", "--keys", "100")
    works(place, f"sqlite:{path}")
    with open(path, "rb") as file:
        expect(file.read() == before, "the file has changed")
    expect(sorted(os.listdir(place.home)) == ["mine.db", "tmp"], os.listdir(place.home))
    report = works(place, f"sqlite:{path}", "--write", "update t set word = 'y' where id = ?", "--write-share", "0.5",
                   "--keys", "100")
    expect(report["writes"] > 0, report["writes"])


@test()
def postgresql_is_driven(place):
    report = works(place, url_of("postgresql"))
    expect(report["limit"]["most"] == 100 and report["limit"]["reserved"] > 0, report["limit"])
    expect("secret" not in json.dumps(report), "the password is shown")
    works(place, url_of("postgresql"), "--futures", "-q",
          "select oid, relname from pg_class where oid > $1 and oid < $2::int + 1000")


@test()
def a_server_that_refuses_connections_is_why_clients_wait(place):
    for words in ("set client_min_messages = error; drop role if exists few",
                  "create role few login password 'few?#' connection limit 3"):
        subprocess.run(["psql", "--quiet", "-c", words, os.environ["CENOTE_POSTGRESQL_ADMIN_URL"]], check=True)
    url = url_of("postgresql").replace("tester:secret", "few:few?#")
    report = place.measure(url, "--size", "20", "--clients", "20", "--hold", "50ms", "--duration", place.ms(700), "--warm-up", "0")
    expect(report["pool"]["open_failed"] > 0, report["pool"])
    expect("could not be opened" in report["advice"] and "too many connections" in report["advice"], report["advice"])
    expect("few:***@" in report["target"]["url"] and "few?" not in json.dumps(report), report["target"])


@test()
def the_first_operation_is_not_waited_for_after_ctrl_c(place):
    for words in (["-q", "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"],
                  [url_of("postgresql"), "-q", "select pg_sleep(60)"], [url_of("redis"), "-q", "BLPOP nothing 60"]):
        process = place.start("run", *words)
        wait_for(lambda: process.poll() is not None or len(os.listdir(f"/proc/{process.pid}/task")) > 1)
        time.sleep(0.2 * place.scale)
        process.send_signal(signal.SIGINT)
        try:
            out, said = process.communicate(timeout=30)  # of the minute that the operation takes
        except subprocess.TimeoutExpired:
            process.kill()
            out, said = process.communicate()
        expect(process.returncode == 130 and out == "" and "before anything was measured" in said, words, process.returncode, said)
    expect(not os.listdir(place.temporary), "left behind:", os.listdir(place.temporary))


@contextlib.contextmanager
def silent_server():
    """The port of a server that lets everybody connect and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


@test()
def the_first_connection_is_not_waited_for_after_ctrl_c(place):
    with silent_server() as port:
        for words in (["run", f"postgresql://x@127.0.0.1:{port}/y"], ["run", f"mariadb://x@127.0.0.1:{port}/y"],
                      ["tune", f"redis://127.0.0.1:{port}"], ["run", f"http://127.0.0.1:{port}/"]):
            process = place.start(*words)
            expect("waiting for the first connection, 2 s" in process.stderr.readline(), words, "no progress")
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=10 * place.scale)  # nobody ever answers
            expect(process.returncode == 130 and out == "" and said == "cenote: Stopped before anything was measured.\n", words,
                   process.returncode, said)
    expect(not os.listdir(place.temporary), "left behind:", os.listdir(place.temporary))


@test()
def a_first_operation_that_takes_long_has_a_progress_line(place):
    words = ["run", url_of("redis"), "-q", "BLPOP nothing 2.5", "--write-share", "0"]
    code, out, said = place.run(*words, "--duration", "1ms", "--warm-up", "0", "--clients", "1")
    expect(said.startswith("waiting for the first operation, 2 s\n") and said.count("waiting") == 1, code, said, out)
    status, text = on_terminal(place, *words[:3], "BLPOP nothing 1", "--duration", "1ms", "--warm-up", "0", "--clients", "1", TERM="xterm")
    expect("\rwaiting for the first operation, " in text, status, repr(text))
    expect("waiting for the first" not in text[text.index("redis://"):], "the line is left behind", repr(text))
    _, _, said = place.run(*words, "--duration", "1ms", "--warm-up", "0", "--clients", "1", "--quiet")
    expect("waiting" not in said, said)


@test()
def mariadb_is_driven(place):
    report = works(place, url_of("mariadb"))
    expect(report["limit"]["most"] > 10, report["limit"])
    works(place, url_of("mariadb"), "-q", "select table_name from information_schema.tables where length(table_name) > ?",
          "--keys", "5")


@test()
def redis_is_driven(place):
    report = works(place, url_of("redis"))
    expect(report["limit"]["most"] == 10000, report["limit"])
    report = works(place, url_of("redis"), "-q", "GET 'a key:{}'", "--write", "SET 'a key:{}' \"{} words\"", "--write-share", "0.5",
                   "--keys", "10")
    expect(report["writes"] > 0, report["writes"])


@test()
def http_is_driven(place):
    works(place, url_of("nginx"))
    works(place, url_of("nginx") + "64k", "--futures", "--clients", "20")
    code, _, said = place.run("run", url_of("nginx") + "absent", *place.short())
    expect(code == 1 and said == "cenote run: The first operation failed: The server returned 404 for GET /absent.\n", code, said)


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b"" if self.command == "HEAD" else b"hello"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *words):
        pass


class Ledger(Answer):
    """Keeps what was asked: method, path, body and its type."""
    asked = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        self.asked.append((self.command, self.path, body, self.headers["Content-Type"]))
        self.do_GET()

    do_PUT = do_POST

    def do_HEAD(self):
        self.asked.append(("HEAD", self.path, "", None))
        self.do_GET()


@test()
def http_has_methods_and_bodies_and_writes(place):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ledger)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        report = works(place, url, "-q", 'POST /orders/{} {"customer": {}, "of": [{}]}', "--keys", "50", how_long=LONG)
        asked = [row for row in Ledger.asked if row[0] == "POST"]
        expect(len(asked) >= report["operations"], len(asked), report["operations"])
        for _, path, body, kind in asked:
            order = json.loads(body)
            expect(re.fullmatch(r"/orders/\d+", path) and 1 <= order["customer"] <= 50 and len(order["of"]) == 1, path, body)
            expect(kind == "application/json", kind)
        # A handle that has carried a write is one for reads again: they have no body, and are answered whole.
        Ledger.asked.clear()
        report = works(place, url + "plain", "--write", "PUT /a/{} some words", "--write-share", "50%", "--size", "2", how_long=LONG)
        expect(0.2 < report["writes"] / report["operations"] < 0.8, report["writes"], report["operations"])
        puts = [row for row in Ledger.asked if row[0] == "PUT"]
        expect(len(puts) >= report["writes"] and all(row[2] == "some words" for row in puts), puts[:3])
        expect(all("json" not in row[3] for row in puts), puts[:3])
        Ledger.asked.clear()
        works(place, url, "-q", "HEAD /head", how_long=LONG)
        expect(("HEAD", "/head", "", None) in Ledger.asked, Ledger.asked[:3])
        code, _, said = place.run("run", url, "-q", "DELETE /a/{}", *place.short())
        expect(code == 1 and re.search(r"The server returned 501 for DELETE /a/\d+\.", said), code, said)
    finally:
        server.shutdown()
        server.server_close()


@test()
def https_asks_whose_the_server_is(place):
    key, certificate = os.path.join(place.home, "key.pem"), os.path.join(place.home, "certificate.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=cenote", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    secrets = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secrets.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    server.handle_error = lambda *words: None
    server.socket = secrets.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"https://127.0.0.1:{server.server_address[1]}/"
        code, out, said = place.run("run", url, *place.short())
        expect(code == 3 and out == "" and "certificate" in said, code, said)
        works(place, url, "--ca", certificate, how_long=LONG)
        works(place, url, "--insecure", how_long=LONG)
    finally:
        server.shutdown()
        server.server_close()


# ---- Failure -------------------------------------------------------------------------------------------------------------

@test()
def takes_that_time_out_are_counted_and_explained(place):
    report = place.measure("--size", "1", "--hold", place.ms(60), "--timeout", place.ms(20), "--clients", "4", *place.short(), status=1)
    expect(report["timed_out"] > 4 and report["operations"] > 0, report["timed_out"], report["operations"])
    cause = report["causes"][0]
    expect(cause["in"] == "take" and cause["status"] == "TIMEOUT" and "sqlite" in cause["text"], cause)


def bad_credentials():
    change = {"postgresql": "wrong", "mariadb": "wrong", "redis": "wrong"}
    for kind, password in change.items():
        yield kind, url_of(kind).replace("secret", password)
    yield "postgresql", url_of("postgresql")[: -len("test")] + "nowhere"
    yield "mariadb", url_of("mariadb")[: -len("test")] + "nowhere"


@test()
def wrong_credentials_and_databases_are_told_at_once(place):
    words = {"wrong": "password|Access denied|WRONGPASS", "nowhere": "nowhere"}
    for kind, url in bad_credentials():
        code, out, said = place.run("run", url, *place.short())
        wanted = words["wrong" if "wrong" in url else "nowhere"]
        expect(code == 3 and not out and re.search(wanted, said) and said.count("\n") == 1, kind, code, said)
        expect(":wrong@" not in said and ":secret@" not in said, "the password is shown:", said)


@contextlib.contextmanager
def waiting_server(place, *words):
    """The URL of an HTTP server whose answers take as long as one wants."""
    server = subprocess.Popen([place.wait_server, *words], stdout=subprocess.PIPE, text=True)
    try:
        yield "http://" + server.stdout.readline().split()[-1] + "/"
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


@test()
def a_server_that_wants_a_name_is_told_apart(place):
    with waiting_server(place, "--authorization", "Bearer x") as url:
        code, _, said = place.run("run", url, *place.short())
        expect(code == 3 and "401" in said, code, said)


WRONG = [
    (["fly"], 2, 'cenote: Unknown command "fly"; "cenote --help" lists all commands.'),
    (["--fly"], 2, "cenote: Unknown option --fly; the command must come first."),
    (["help", "fly"], 2, 'cenote: Unknown command "fly"; "cenote --help" lists all commands.'),
    (["run", "--fly"], 2, 'cenote run: Unknown option --fly; "cenote run --help" lists all options.'),
    (["tpo"], 2, 'cenote: Unknown command "tpo". Did you mean "top"?'),
    (["help", "explian"], 2, 'cenote: Unknown command "explian". Did you mean "explain"?'),
    (["run", "--client", "4"], 2, 'cenote run: Unknown option --client. Did you mean "--clients"?'),
    (["tune", "--tiem=3s"], 2, 'cenote tune: Unknown option --tiem. Did you mean "--time"?'),
    (["run", "-x"], 2, 'cenote run: Unknown option -x; "cenote run --help" lists all options.'),
    (["run", "--clients", "x"], 2, 'cenote run: --clients: "x" is not a whole number, such as 20 or 20k.'),
    (["run", "--clients=1.5"], 2, 'cenote run: --clients: "1.5" is not a whole number, such as 20 or 20k.'),
    (["run", "-c0"], 2, "cenote run: --clients: 0 is out of range (1 to 100000)."),
    (["run", "--clients", "-3"], 2, 'cenote run: --clients: "-3" is not a whole number, such as 20 or 20k.'),
    (["run", "--clients"], 2, "cenote run: --clients needs a value: N."),
    (["run", "-c"], 2, "cenote run: -c (--clients) needs a value: N."),
    (["run", "--clients", "1025"], 2, "cenote run: --clients: at most 1,024 threads are allowed; --futures allows 100,000 clients."),
    (["run", "--duration", "0"], 2, "cenote run: --duration: 0 is out of range (1ms to 168h)."),
    (["run", "--duration", "5 s"], 2, 'cenote run: --duration: "5 s" is not a time, such as 250ms, 2s or 1.5m.'),
    (["run", "--write-share", "200%"], 2, "cenote run: --write-share: 200% is out of range (0 to 1)."),
    (["run", "--write-share", "much"], 2, 'cenote run: --write-share: "much" is not a share, such as 0.25 or 25%.'),
    (["run", "--json=1"], 2, "cenote run: --json takes no value."),
    (["run", "--rate", "5", "--think", "1s"], 2, "cenote run: --think needs a closed loop, but --rate makes an open one."),
    (["run", "--min-idle", "9"], 2, "cenote run: --min-idle must not exceed --size."),
    (["run", "--keep-dashboard", "1s"], 2, "cenote run: --keep-dashboard requires --dashboard."),
    (["run", "--write", "x"], 2, "cenote run: --write needs --write-share: the share of the operations that write."),
    (["run", "redis://x", "--write-share", "1"], 2,
     "cenote run: --write-share needs --write for a redis target: say what a write does."),
    (["run", "http://x", "--write-share", "1"], 2,
     "cenote run: --write-share needs --write for a http target: say what a write does."),
    (["run", "redis://x", "--query", "GET 'a"], 2, "cenote run: The command \"GET 'a\" has an unclosed quote."),
    (["run", "--query", ""], 2, "cenote run: --query is empty; say what an operation does."),
    (["run", "postgresql://x", "--query", " \t"], 2, "cenote run: --query is empty; say what an operation does."),
    (["tune", "redis://x", "--write", "", "--write-share", "1"], 2, "cenote tune: --write is empty; say what an operation does."),
    (["run", "http://x", "--insecure"], 2, "cenote run: --insecure requires an https URL."),
    (["tune", "--ca", "x"], 2, "cenote tune: --ca requires an https URL."),
    (["run", "--dashboard=192.0.2.1:80"], 2, "cenote run: --dashboard: other machines can reach this address, and the page can "
     "pause and resize pools; use 127.0.0.1:0."),
    (["run", "a", "b"], 2, 'cenote run: Unexpected argument "b".'),
    (["run", "--", "--json"], 2,
     'cenote run: "--json" is not a supported URL; use sqlite:PATH, postgresql://, mariadb://, mysql://, redis://, '
     "unix:// (Redis), http:// or https://."),
    (["run", "ftp://ann:secret@x/"], 2,
     'cenote run: "ftp://ann:***@x/" is not a supported URL; use sqlite:PATH, postgresql://, mariadb://, mysql://, redis://, '
     "unix:// (Redis), http:// or https://."),
    (["run", "ftp://ann:se?cr#et@x/"], 2,
     'cenote run: "ftp://ann:***@x/" is not a supported URL; use sqlite:PATH, postgresql://, mariadb://, mysql://, redis://, '
     "unix:// (Redis), http:// or https://."),
    (["run", "sqlite:/nonexistent/x.db"], 3, 'cenote run: SQLite at "/nonexistent/x.db": cannot open: no such file or directory'),
    (["run", "redis://127.0.0.1:1"], 3,
     'cenote run: Redis at 127.0.0.1:1, database 0, user "default": connect failed: Connection refused'),
    (["run", "-q", "select nothing"], 1, None),
    (["run", "-q", "select 1; select 2"], 1, None),
    (["run", "postgresql://x@127.0.0.1:1/y"], 3, None),
    (["run", "mariadb://x@127.0.0.1:1/y"], 3, None),
    (["run", "http://127.0.0.1:1/"], 3, None),
    (["run", "postgresql://127.0.0.1:notaport/"], 2, None),
    (["run", "https://"], 2, None),
    (["run", "sqlite:/"], 3, None),
]


@test()
def what_is_wrong_is_said_in_one_sentence_and_nothing_is_done(place):
    for words, status, sentence in WRONG:
        code, out, said = place.run(*words)
        expect(code == status, words, "status", code, "instead of", status, said)
        expect(out == "", words, "prints", out)
        expect(said.count("\n") == 1 and (sentence is None or said == sentence + "\n"), words, said)


@test()
def a_place_that_cannot_be_written_is_named(place):
    nowhere = os.path.join(place.home, "nowhere")
    code, _, said = place.run("run", *place.short(), env=place.environment(TMPDIR=nowhere))
    expect(code == 4 and said == f"cenote run: The sample file could not be created in {nowhere}: No such file or directory. "
           "Set TMPDIR to use another directory.\n", code, said)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([place.cenote, "run", *place.short()], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                              env=place.environment())
    expect(done.returncode == 4 and done.stderr == "cenote run: The output could not be written: No space left on device.\n",
           done.returncode, done.stderr)


@test()
def an_output_that_is_closed_is_a_failure_and_no_connection_is_taken_for_it(place):
    for words in (["run", *place.short()], ["run", url_of("redis"), "--json", *place.short()], ["--help"], ["run", "--help"]):
        done = subprocess.run(["bash", "-c", 'exec "$@" >&-', "bash", place.cenote, *words], stderr=subprocess.PIPE, text=True,
                              check=False, env=place.environment())
        expect(done.returncode == 4 and "The output could not be written: Bad file descriptor." in done.stderr, words,
               done.returncode, done.stderr)
        expect(not os.listdir(place.temporary), "left behind:", os.listdir(place.temporary))


# ---- Signals -------------------------------------------------------------------------------------------------------------



@test()
def ctrl_c_ends_it_with_the_report_so_far(place):
    for number, words in ((signal.SIGINT, []), (signal.SIGTERM, ["--futures", "--clients", "50"]),
                          (signal.SIGINT, ["--size", "1", "--hold", "30s", "--clients", "3"])):
        process = begun(place, "--duration", "60s", "--warm-up", "100ms", "--json", *words)
        process.send_signal(number)
        out, said = process.communicate(timeout=20)
        expect(process.returncode == 128 + number, "status", process.returncode, said)
        report = adds_up(json.loads(out))
        expect(report["stopped"] and 0.1 < report["seconds"] < 20, report["seconds"])
        if "--hold" in words:
            expect(report["unfinished"] == 3, report["unfinished"])
        expect(not os.listdir(place.temporary), "left behind:", os.listdir(place.temporary))


@test()
def ctrl_c_awaits_what_is_under_way_and_nobody_who_waits(place):
    with waiting_server(place) as url:
        for words in ([], ["--futures"]):
            process = begun(place, url + f"?wait={0.5 * place.scale}", "--size", "1", "--clients", "8", "--duration", "60s", "--warm-up", "0",
                            "--json", *words)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            out, said = process.communicate(timeout=15 * place.scale)
            expect(process.returncode == 130 and time.monotonic() - began < 1.5 * place.scale, process.returncode,
                   time.monotonic() - began, said)
            expect(adds_up(json.loads(out))["unfinished"] == 8, out)


@test()
def a_second_ctrl_c_ends_it_at_once_and_leaves_nothing(place):
    # What is under way is awaited for three seconds. The number of the first operation is always 2466: that one ends, and no other.
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n where ?1 <> 2466) select count(*) from n"
    process = begun(place, "-q", endless, after=0.2)
    expect(os.listdir(place.temporary), "there is no file to be left behind")
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    expect(process.poll() is None, "it ended by itself:", process.returncode)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    expect(process.returncode == 130 and out == "", process.returncode, said)  # after three seconds there would be a report
    expect(not os.listdir(place.temporary), "left behind:", os.listdir(place.temporary))


@test()
def reads_that_never_end_are_interrupted_beside_a_writer_too(place):
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n where ?1 <> 2466) select count(*) from n"
    began = time.monotonic()
    process = place.start("run", "-q", endless, "--write-share", "20%", "--duration", "300ms", "--warm-up", "0", "--json")
    try:
        out, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
    expect(out, "after", time.monotonic() - began, "s it has not ended", said)
    expect(adds_up(json.loads(out))["unfinished"] > 0, out)
    expect(not os.listdir(place.temporary), "left behind:", os.listdir(place.temporary))


@test()
def an_output_that_nobody_reads_any_more_ends_it_at_once_and_quietly(place):
    for words in (["run", "--duration", "1h"], ["run", "--duration", "1h", "--json", "--futures"], ["tune", "--time", "1h", "--no-report"]):
        process = place.start(*words, "--quiet")
        wait_for(lambda: os.listdir(place.temporary))
        process.stdout.close()
        said = process.stderr.read()
        process.wait(timeout=60)
        expect(process.returncode == 128 + signal.SIGPIPE and said == "", words, "status", process.returncode, said)
        wait_for(lambda: not os.listdir(place.temporary))


@test()
def a_reader_who_leaves_in_the_middle_of_the_report_is_no_failure(place):
    command = f'"{place.cenote}" run --duration 200ms --warm-up 0 --quiet; echo $? >&2'
    done = subprocess.run(["bash", "-c", f"({command}) | head -1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          env=place.environment(), timeout=60)
    expect(done.stderr == "0\n" and done.stdout.count("\n") == 1, done.stdout, done.stderr)


# ---- Manners -------------------------------------------------------------------------------------------------------------

def on_terminal(place, *words, **more):
    """What the program draws on a terminal of 100 columns."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update(place.environment(**more))
        os.execv(place.cenote, [place.cenote, *words])
    text = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            got = os.read(terminal, 65536)
        except OSError:
            break
        if not got:
            break
        text += got
    os.close(terminal)
    return os.waitpid(child, 0)[1], text.decode()


@test()
def a_terminal_has_a_progress_line_and_colours_unless_they_are_unwanted(place):
    status, text = on_terminal(place, "run", *place.short(), TERM="xterm")
    expect(status == 0 and "\r[" in text and "measuring" in text and "\033[1m" in text, status, repr(text))
    for more in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {}):
        status, text = on_terminal(place, "run", *place.short(), **more)
        expect(status == 0 and "\r[" in text and not re.search(r"\033\[[0-9;]*m", text), more, repr(text))
    _, text = on_terminal(place, "run", "--quiet", *place.short(), TERM="xterm", NO_COLOR="")
    expect("measuring" not in text and "\033[1m" in text, repr(text))


@test()
def without_a_terminal_progress_is_a_line_every_two_seconds(place):
    code, out, said = place.run("run", "--duration", "2300ms", "--warm-up", "0")
    expect(code == 0 and "\033" not in out + said and "\r" not in out + said, repr(said))
    expect(said.count("\n") == 1 and re.match(r"\[#+\.*\] +\d+ % measuring ", said), repr(said))
    for word in ("p50", "p99.9", "wait for an object", "pool", "fairness"):
        expect(word in out, word, out)


@test()
def help_teaches_and_the_version_is_told(place):
    code, out, _ = place.run("--version")
    expect(code == 0 and re.fullmatch(r"cenote \d+\.\d+\.\d+\n", out), out)
    code, out, _ = place.run("run", "--help")
    expect(code == 0 and "Examples:" in out and "Exit status" in out and max(map(len, out.splitlines())) <= 110, out)
    expect(place.run("help", "run")[1] == out, "help run is another")
    for command in place.run("--words")[1].split():
        if not command.startswith("-") and command != "help":
            code, out, _ = place.run(command, "--help")
            expect(code == 0 and out.startswith(f"Usage: cenote {command} "), command, out)
    expect(place.run()[0] == 2, "without a command")


@test()
def the_manual_has_every_option_and_renders_without_a_warning(place):
    page = os.path.join(ROOT, "man", "cenote.1")
    with open(page, encoding="utf-8") as file:
        text = file.read().replace("\\-", "-")
    for command in place.run("--words")[1].split():
        for option in place.run("--words", command)[1].split() if command.isalpha() and command != "help" else []:
            expect(option.partition("=")[0] in text, command, option, "is not in the manual")
    for name in ("cenote.1", "cenote-faultproxy.1"):
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", os.path.join(ROOT, "man", name)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        expect(done.returncode == 0 and done.stdout == "", done.stdout)


def entries_of(page):
    """What the manual says: by section and option, the option with its letter and value, and the text below it."""
    found, section, tag, body, is_tag = {}, "", [], [], False

    def end_entry():
        for name in re.findall(r"--[a-z-]+", " ".join(tag)):
            found[section, name] = (" ".join(tag), " ".join(body))

    for line in [*page.replace("\\-", "-").splitlines(), ".SH END"]:
        if line.startswith((".SH ", ".TP")):
            end_entry()
            tag, body, is_tag = [], [], line == ".TP"
            section = line[4:] if not is_tag else section
        elif is_tag or line == ".TQ":
            tag += [line] if is_tag else []
            is_tag = not is_tag
        else:
            body.append(line)
    return found


@test()
def the_manual_says_of_every_option_what_help_says(place):
    with open(os.path.join(ROOT, "man", "cenote.1"), encoding="utf-8") as file:
        page = file.read()
    said, compared = entries_of(page), 0
    for command in place.run("--words")[1].split():
        if not command.isalpha() or command == "help":
            continue
        text = place.run(command, "--help")[1]
        rows = re.findall(r"^  (?:-(\w), |    )(--[a-z-]+)(?:\[?[= ]([A-Za-z=]+)\]?)?  +(\S.*)$", text, re.MULTILINE)
        for letter, name, value, meaning in rows:
            if name == "--help":
                continue
            shared = "CENOTE RUN" if command == "tune" else "WATCHING A PROCESS"  # run has another --timeout than top
            places = [(f"CENOTE {command.upper()}", name), (shared, name)]
            tag, body = next((said[where] for where in places if where in said), ("", ""))
            expect(not letter or f"-{letter} " in tag.replace("\"", " "), command, name, "has another letter in the manual:", letter, tag)
            expect(value in tag, command, name, "has another value in the manual:", value, tag)
            for number in re.findall(r"\d[\d,.]*[a-z%]*", meaning):
                expect(number in body, command, name, "has another number in the manual:", number, body)
            compared += 1
    expect(compared > 40, "options that were compared:", compared)
    statuses = re.findall(r"^\.BR? (\d.*)$", page[page.index(".SH EXIT STATUS"):page.index(".SH ENVIRONMENT")], re.MULTILINE)
    listed = re.findall(r"^  (\d[\d, ]*)  ", place.run("--help")[1].partition("Exit status")[2], re.MULTILINE)
    expect([re.findall(r"\d+", row) for row in statuses] == [re.findall(r"\d+", row) for row in listed], statuses, listed)


@test()
def bash_completes_commands_options_and_schemes(place):
    script = os.path.join(ROOT, "completions", "cenote.bash")

    def completed(*words):
        line = " ".join(f"'{word}'" for word in words)
        program = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _cenote; echo \"${{COMPREPLY[*]}}\""
        return subprocess.run(["bash", "-c", program], stdout=subprocess.PIPE, text=True, check=True,
                              env=place.environment(XDG_RUNTIME_DIR=place.home)).stdout.strip()

    os.mkdir(os.path.join(place.home, "cenote"))
    for number in (os.getpid(), 2**31 - 1):
        with open(os.path.join(place.home, "cenote", f"{number}.address"), "w", encoding="utf-8"):
            pass
    numbers = completed(place.cenote, "top", "").split()
    expect(str(os.getpid()) in numbers and str(2**31 - 1) not in numbers, "processes", numbers)
    expect(completed(place.cenote, "ru") == "run", completed(place.cenote, "ru"))
    expect(completed(place.cenote, "run", "--cl") == "--clients=", completed(place.cenote, "run", "--cl"))
    expect(completed(place.cenote, "run", "--write") == "--write= --write-share=", completed(place.cenote, "run", "--write"))
    expect(completed(place.cenote, "events", "--le") == "--level=", completed(place.cenote, "events", "--le"))
    expect(completed(place.cenote, "events", "--level", "=", "w") == "warning", completed(place.cenote, "events", "--level", "=", "w"))
    for sign in ("=", ""):
        levels = completed(place.cenote, "events", "--level", sign)
        expect(levels == "trace detail notice warning error", levels)
    expect(completed(place.cenote, "events", "--level", "w") == "warning", completed(place.cenote, "events", "--level", "w"))
    expect(completed(place.cenote, "run", "--json", "postg") == "postgresql://", "a flag takes no value")
    page = os.path.join(place.home, "page.html")
    with open(page, "w", encoding="utf-8"):
        pass
    expect(completed(place.cenote, "tune", "--report", page[:-3]) == page, completed(place.cenote, "tune", "--report", page[:-3]))
    expect(completed(place.cenote, "run", "postg") == "postgresql://", completed(place.cenote, "run", "postg"))
    expect(set(place.run("--words")[1].split()) <= set(completed(place.cenote, "").split()), completed(place.cenote, ""))


@test()
def the_dashboard_is_served_meanwhile(place):
    process = place.start("run", "--dashboard", "--duration", "30s", "--quiet")
    line = process.stderr.readline()
    if "without libcenote-inspect" in line:
        process.communicate()
        expect(process.returncode == 2, process.returncode)
        return
    address = re.search(r"(http://127\.0\.0\.1:\d+/)\?token=([0-9a-f]{32})\b", line)
    expect(address, line)
    components = {}

    def ask(*options):
        command = ["curl", "-s", "-m", "5", *options, address.group(1) + "api/components"]
        return subprocess.run(command, stdout=subprocess.PIPE, check=False)

    def pool_is_there():
        done = ask("-H", "Authorization: Bearer " + address.group(2))
        try:
            names = {component["name"]: component for component in json.loads(done.stdout)["components"]}
        except ValueError:
            names = {}
        components.update(names)
        return "sqlite" in names

    try:
        wait_for(pool_is_there)
        expect(b"token" in ask().stdout, "the dashboard answers without its token")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    expect(components["sqlite"]["kind"] == "pool" and process.returncode == 130, components, process.returncode)
    code, _, said = place.run("run", "--dashboard=nowhere", *place.short())
    expect(code == 2 and said.startswith('cenote run: --dashboard: "nowhere": write it as 127.0.0.1:9911'), code, said)


# ---- Last: the server of the others goes ---------------------------------------------------------------------------------

@test(alone=True)
def a_server_that_hangs_does_not_keep_the_report(place):
    redis = int(os.environ["CENOTE_REDIS_PID"])
    process = begun(place, url_of("redis"), "--json", "--duration", "1s", "--warm-up", "0")
    os.kill(redis, signal.SIGSTOP)
    try:
        out, said = process.communicate(timeout=60)
    finally:
        os.kill(redis, signal.SIGCONT)
    report = adds_up(json.loads(out))
    expect(process.returncode == 0, process.returncode, said)
    expect(report["unfinished"] == 8 and report["whole"]["max_ns"] > 250 * MS, report["unfinished"], report["whole"])


@test(alone=True)
def a_server_that_is_killed_meanwhile_is_a_cause(place):
    process = begun(place, url_of("redis"), "--json", "--duration", place.ms(1200), "--warm-up", "0", "--timeout", "200ms")
    os.kill(int(os.environ["CENOTE_REDIS_PID"]), signal.SIGKILL)
    out, said = process.communicate(timeout=60)
    expect(process.returncode == 1, process.returncode, said)
    report = adds_up(json.loads(out))
    expect(report["operations"] > 100 and report["failed"] + report["timed_out"] > 4, report["operations"], report["causes"])
    expect({"operation", "take"} == {cause["in"] for cause in report["causes"]}, report["causes"])
    expect(any("refused" in cause["text"] for cause in report["causes"]), report["causes"])
    code, out, said = place.run("run", url_of("redis"), *place.short())
    expect(code == 3 and out == "" and "refused" in said, code, said)


# ---- Running them --------------------------------------------------------------------------------------------------------

SCALES = (1, 2, 4, 8)


def judge(name, function, programs, scales=SCALES):
    complaint = None
    for scale in scales:
        place = Place(*programs, scale)
        try:
            function(place)
            complaint = None
        except (Failure, subprocess.TimeoutExpired) as failure:
            complaint = str(failure)
        except Exception:  # pylint: disable=broad-except; a test that breaks has failed
            complaint = traceback.format_exc()
        place.end()
        if not complaint:
            break
        print(f"     {name}: at scale {scale}: {complaint.strip().splitlines()[-1][:400]}", flush=True)
    return name, complaint


def record(name, complaint, lock):
    with lock:
        print(("FAIL " if complaint else "ok   ") + name, flush=True)
        if complaint:
            print("     | " + complaint.replace("\n", "\n     | "), flush=True)
        if os.environ.get("CENOTE_TEST_LOG"):
            with open(os.environ["CENOTE_TEST_LOG"], "a", encoding="utf-8") as log:
                log.write(("fail " if complaint else "pass ") + name + "\n")
    return complaint is not None


def run_all(programs, words):
    chosen = [(alone, name, function) for alone, name, function in TESTS if all(word in name for word in words)]
    lock, failed = threading.Lock(), 0
    last = [row for row in chosen if "server that" in row[1] and row[0]]
    for _, name, function in (row for row in chosen if row[0] and row not in last):
        failed += record(*judge(name, function, programs), lock)
    with concurrent.futures.ThreadPoolExecutor(3) as crew:
        rest = [crew.submit(judge, name, function, programs) for alone, name, function in chosen if not alone]
        for done in concurrent.futures.as_completed(rest):
            failed += record(*done.result(), lock)
    for _, name, function in last:  # what is killed is killed once: at a large scale
        failed += record(*judge(name, function, programs, SCALES[2:3] if "killed" in name else SCALES), lock)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


def main():
    cenote, with_server, wait_server, *words = sys.argv[1:]
    if "CENOTE_NGINX_URL" in os.environ and os.environ.get("CENOTE_TOOL_TEST_INSIDE"):
        return run_all((cenote, wait_server), words)
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:]]
    for kind in KINDS:
        command = [with_server, kind, "--", *command]
    return subprocess.run(command, env={**os.environ, "CENOTE_TOOL_TEST_INSIDE": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
