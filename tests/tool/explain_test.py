# SPDX-License-Identifier: MIT
"""`cenote explain` on a real process, and what all commands that ask a process say when they cannot."""
import glob
import http.server
import os
import re
import socket
import sys
import threading
import types

from top_harness import Place, Subject, Tool, await_that, clean_up, expect, forgetful_line, run_all, test

TOKEN = "a-token-of-some-length"


def prepare(cenote, inspected):
    place = Place()
    subject = Subject(inspected, place, "--control")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/inspected.c")
    return types.SimpleNamespace(cenote=cenote, inspected=inspected, place=place, subject=subject, tool=Tool(cenote, place), pid=str(subject.pid),
                                 forgotten=f"examples/inspected.c:{forgetful_line(source)}")


# ---- What it says of pools ------------------------------------------------------------------------


@test
def a_pool_whose_objects_are_all_in_use_is_explained_with_status_1(w):
    def waits():
        answer = w.tool("explain", w.pid, "orders")
        return answer if answer.status == 1 and "oldest holders" in answer.out else None

    answer = await_that(waits, "no take of orders would wait for a holder")
    for pattern in (r"^orders: a take would wait$", r"^  max is 4: ", r"^  oldest holders:$", r"^    object \d, at least .*, thread \d+ .*taken at examples/inspected\.c:\d+",
                    r"^  breaker: closed", r"^  what to do: \S"):
        expect(re.search(pattern, answer.out, re.M), f"/{pattern}/ is not in\n{answer}")
    expect("reports" not in answer.out, "another pool is explained")
    expect("+0x" not in answer.out, "there are backtraces that nobody wanted")
    answer = await_that(lambda: (lambda a: a if "+0x" in a.out else None)(w.tool("explain", "--backtraces", w.pid, "orders")), "there are no backtraces")
    expect(re.search(r"taken at \S+\n        \S+\+0x", answer.out), str(answer))


@test
def holders_are_named_the_oldest_first_and_no_more_than_are_wanted(w):
    units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

    def ages(*arguments):
        answer = w.tool("explain", *arguments, w.pid, "orders")
        found = re.findall(r"^    object \d, at least ([\d.,]+) (ns|us|ms|s), ", answer.out, re.M)
        return [float(number.replace(",", "")) * units[unit] for number, unit in found], answer.out

    several = await_that(lambda: len(ages()[0]) >= 3 and ages()[0], "there are no three holders")
    expect(several == sorted(several, reverse=True), f"they are not sorted: {several}")
    two = await_that(lambda: "more" in ages("-n", "2")[1] and ages("-n", "2"), "there are no more than two holders")
    expect(len(two[0]) <= 2, f"there are more than two: {two[1]}")


@test
def a_leak_is_named_with_the_line_even_if_takes_are_served(w):
    def leaks():
        answer = w.tool("explain", "reports")
        return answer if "held for longer than leak_after_ns" in answer.out else None

    answer = await_that(leaks, "the leak was not found")
    expect(answer.status == 0 and "reports: a take succeeds at once" in answer.out, str(answer))
    expect(re.search(rf"^    object 0, .*taken at {re.escape(w.forgotten)}$", answer.out, re.M), str(answer))
    expect(re.search(rf"what to do: .*{re.escape(w.forgotten)}", answer.out), str(answer))
    expect(re.search(r"^        \S+\+0x", answer.out, re.M), f"there is no backtrace in\n{answer}")


@test
def a_paused_pool_says_so_and_what_to_do(w):
    w.subject.tell("reports", "pause")
    answer = w.tool("explain", w.pid, "reports")
    w.subject.tell("reports", "resume")
    expect(answer.status == 1 and "Paused" in answer.out and "what to do: resume the pool" in answer.out, str(answer))


@test
def quiet_leaves_out_what_is_well(w):
    answer = w.tool("explain", "--quiet", w.pid, "reports")
    expect(answer.status == 0 and answer.out == "", str(answer))


@test
def a_pool_that_is_not_there_is_an_error(w):
    answer = w.tool("explain", w.pid, "nobody")
    expect(answer.status == 3 and 'has no pool "nobody"' in answer.err, str(answer))


# ---- When nobody can be asked -----------------------------------------------------------------------


class OtherServer(http.server.BaseHTTPRequestHandler):
    """Speaks HTTP and is not cenote."""

    def do_GET(self):
        body = {"/json": b"{}"}.get(self.path.split("/api")[0], b"<html>hello</html>")
        self.send_response(404 if self.path.startswith("/none") else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def listener(behaviour):
    """A server that is no HTTP server: behaviour(connection)."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(8)
    kept = []

    def serve():
        while True:
            try:
                connection = sock.accept()[0]
            except OSError:
                return
            kept.append(connection)
            behaviour(connection)

    threading.Thread(target=serve, daemon=True).start()
    clean_up.append(sock.close)
    return f"127.0.0.1:{sock.getsockname()[1]}"


COMMANDS = (("top", "--once"), ("top", "--json"), ("explain",), ("metrics",), ("events",), ("page",))
FEW = COMMANDS[2:4]  # they ask in the same way


def expect_errors(w, target, sentence, status=3, commands=FEW, **environment):
    for command in commands:
        answer = w.tool(*command, *target, **environment)
        expect(answer.status == status, f"{command} {target}: {answer}")
        expect(re.search(sentence, answer.err), f"{command} {target}: /{sentence}/ is not in\n{answer}")
        expect(answer.err.startswith(f"cenote {command[0]}: ") and answer.err.count("\n") == 1, f"not one sentence: {answer}")
        expect(answer.out == "", f"something is printed: {answer}")


@test
def a_process_that_is_not_there_or_has_no_inspect_is_said(w):
    expect_errors(w, ["4000000"], r"There is no process 4000000\.", commands=COMMANDS)
    expect_errors(w, ["0"], r"There is no process 0\.")
    expect_errors(w, [str(os.getpid())], r"No inspection address found for process \d+")


@test
def nobody_at_the_address_is_said(w):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        expect_errors(w, [f"127.0.0.1:{unused.getsockname()[1]}"], r"Cannot connect to http://127\.0\.0\.1:\d+/", commands=COMMANDS)
    expect_errors(w, ["unix:" + w.place.file("nothing")], r"Cannot connect to unix:")


@test
def whoever_answers_and_is_not_cenote_is_found_out(w):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    clean_up.append(server.shutdown)
    at = f"http://127.0.0.1:{server.server_address[1]}"
    for below in ("/", "/json", "/none"):
        expect_errors(w, [at + below], r"not a cenote inspection endpoint", commands=COMMANDS[1:3])
    expect_errors(w, [listener(lambda connection: (connection.recv(100), connection.sendall(b"220 mail\r\n\r\n"), connection.close()))],
                  r"not a cenote inspection endpoint|closed the connection", commands=FEW[:1])
    expect_errors(w, [listener(lambda connection: connection.close())], r"closed the connection before it responded", commands=FEW[:1])


@test
def one_that_never_answers_is_given_up_in_time(w):
    expect_errors(w, ["--timeout", "200ms", listener(lambda connection: None)], r"No response from http.* in time")


@test
def what_is_no_address_is_refused(w):
    expect_errors(w, ["http://"], r"has no host", status=2)
    expect_errors(w, ["unix:"], r"needs the path", status=2)
    expect_errors(w, ["nonsense"], r"is not an address", status=2, commands=COMMANDS[3:4])
    expect_errors(w, ["a", "b", "c"], r"argument", status=2, commands=COMMANDS[2:3])
    expect_errors(w, ["--no-such"], r"no-such", status=2)


@test
def a_token_is_wanted_checked_found_in_four_places_and_never_shown(w):
    subject = Subject(w.inspected, w.place, "127.0.0.1:0", "--token", TOKEN)
    with open(w.place.file("token"), "w", encoding="ascii") as file:
        file.write(TOKEN + "\n")
    expect_errors(w, [subject.address], r"requires a token")
    expect_errors(w, ["--token", "wrong", subject.address], r"rejected the token")
    expect_errors(w, ["--token-file", w.place.file("none"), subject.address], r"cannot be read: No such file")
    for arguments, environment in ((["--token", TOKEN], {}), (["--token-file", w.place.file("token")], {}), ([], {"CENOTE_TOKEN": TOKEN})):
        answer = w.tool("top", "--once", "-i", "0", *arguments, subject.address, **environment)
        expect(answer.status == 0 and "orders" in answer.out, str(answer))
        expect(TOKEN not in answer.out + answer.err, "the token is shown")
    answer = w.tool("metrics", subject.address + "?token=" + TOKEN)
    expect(answer.status == 0 and answer.out.endswith("# EOF\n"), str(answer))
    answer = w.tool("metrics", "http://127.0.0.1:1/?token=" + TOKEN)
    expect(answer.status == 3 and TOKEN not in answer.err, f"the token is shown: {answer}")
    subject.end()


@test
def a_directory_that_others_may_write_is_not_believed(w):
    os.chmod(w.place.file("cenote"), 0o777)
    try:
        expect_errors(w, [w.pid], r"is ignored: it belongs to another user, or other users can write to it")
    finally:
        os.chmod(w.place.file("cenote"), 0o700)
    expect(w.tool("explain", w.pid).status in (0, 1), "it is not believed any more, though it is as before")


@test
def a_file_that_names_another_process_is_found_out(w):
    path = w.place.file(f"cenote/{os.getpid()}.address")
    with open(path, "w", encoding="ascii") as file:
        file.write(w.subject.address + "\n")
    os.chmod(path, 0o600)
    try:
        expect_errors(w, [str(os.getpid())], rf"now belongs to process {w.pid}, not {os.getpid()}", commands=COMMANDS[:1] + FEW)
    finally:
        os.unlink(path)


@test
def without_any_process_that_is_said(w):
    empty = w.place.file("empty")
    os.mkdir(empty)
    users = "*" if os.geteuid() == 0 else os.geteuid()
    if glob.glob(f"/tmp/cenote-{users}/*.address") + glob.glob("/run/user/*/cenote/*.address"):
        # Somebody else's are there: it may find them, but none of ours.
        answer = w.tool("metrics", XDG_RUNTIME_DIR=empty)
        expect(w.pid not in answer.err, str(answer))
        return
    expect_errors(w, [], r"No process of (this|any) user has inspection enabled", XDG_RUNTIME_DIR=empty)


if __name__ == "__main__":
    sys.exit(run_all(prepare))
