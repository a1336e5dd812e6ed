# SPDX-License-Identifier: MIT
"""`cenote page` on a real process with the default socket: what a browser gets, who gets nothing, and how it ends."""
import http.client
import json
import os
import re
import signal
import socket
import stat
import sys
import types

from top_harness import DEADLINE, Place, Subject, Tool, await_that, clean_up, expect, run_all, test


class Page:
    """The program, and the address that it printed."""

    def __init__(self, w, *words, **environment):
        self.process = w.tool.start("page", *words, **environment)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})\n", line)
        expect(found, f"it printed {line!r}: {'' if found else self.process.stderr.readline()}")
        self.url, self.port, self.token = line.strip(), int(found.group(1)), found.group(2)

    def ask(self, path, method="GET", body=None, token=True, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        if token:
            headers["Authorization"] = f"Bearer {self.token if token is True else token}"
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            connection.close()

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        await_that(lambda: self.process.poll() is not None, "it does not end")
        return self.process.returncode


def prepare(cenote, inspected):
    place = Place()
    subject = Subject(inspected, place, "--control")
    return types.SimpleNamespace(inspected=inspected, place=place, subject=subject, tool=Tool(cenote, place), pid=str(subject.pid))


@test
def the_page_of_the_default_socket_is_served_whole(w):
    expect(w.subject.address.startswith("unix:"), w.subject.address)
    page = Page(w)
    status, body, headers = page.ask(f"/?token={page.token}", token=False)
    expect(status == 200 and b"main.js" in body and "default-src 'self'" in headers["Content-Security-Policy"], (status, headers))
    for name in re.findall(rb'(?:src|href)="([a-z.]+)"', body):
        expect(page.ask("/" + name.decode(), token=False)[0] == 200, name)
    status, body, _ = page.ask("/api/components?parts=1")
    expect(status == 200 and {"orders", "reports", "service"} <= {component["name"] for component in json.loads(body)["components"]}, status)
    expect(json.loads(page.ask("/api/process")[1])["pid"] == w.subject.pid, "another process")
    expect(b"cenote_pool" in page.ask("/metrics")[1], "metrics")
    expect(page.end() == 130, f"status {page.process.returncode}")


@test
def without_the_token_or_by_another_name_nothing_is_told(w):
    page = Page(w, w.pid)
    for token in (False, "0" * 32):
        for path in ("/api/process", "/metrics", "/%61pi/process", f"/metrics?token={page.token}"):
            status, body, _ = page.ask(path, token=token)
            expect(status == 401 and json.loads(body)["error"]["text"].startswith("the token is missing"), (path, status, body))
    expect(page.ask("/api/process", Host="shop.example")[0] == 403, "a name of another site")
    pause = json.dumps({"action": "pause"})
    number = w.subject.components()["reports"]["number"]
    tell = lambda **headers: page.ask(f"/api/components/{number}/invoke", "POST", pause, **headers)[0]  # noqa: E731
    expect(tell(Origin="http://evil.example") == 403, "a page of another site")
    expect(tell(Origin=f"http://127.0.0.1:{page.port}") == 200 and w.subject.reading("reports", "paused") == 1, "its own page")
    w.subject.tell("reports", "resume")
    page.end()


@test
def many_connections_that_say_nothing_keep_nobody_out(w):
    page = Page(w)
    silent = [socket.create_connection(("127.0.0.1", page.port), timeout=DEADLINE) for _ in range(40)]
    for _ in range(3):
        expect(page.ask("/api/process")[0] == 200, "it is kept out")
    for one in silent:
        one.close()
    slow = socket.create_connection(("127.0.0.1", page.port), timeout=DEADLINE)
    slow.sendall(b"GET /api/process HTTP/1.1\r\nHost: localhost\r\n")
    expect(page.ask("/api/process")[0] == 200, "one that is slow")
    slow.sendall(f"Authorization: Bearer {page.token}\r\n\r\n".encode())
    expect(slow.recv(100).startswith(b"HTTP/1.1 200"), "it was slow, and not too slow")
    slow.close()
    page.end()


@test
def a_browser_is_given_a_file_that_only_this_user_reads(w):
    tools = w.place.file("tools")
    os.mkdir(tools)
    noted = w.place.file("opened")
    with open(os.path.join(tools, "xdg-open"), "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\necho "$1" > {noted}.new; mv {noted}.new {noted}\n')
    os.chmod(os.path.join(tools, "xdg-open"), 0o755)
    path = f"{tools}:{os.environ['PATH']}"
    page = Page(w, "--no-open", DISPLAY=":9", PATH=path)
    expect(page.ask("/api/process")[0] == 200 and not os.path.exists(noted), "--no-open opens one")
    page.end()
    page = Page(w, DISPLAY=":9", PATH=path)
    await_that(lambda: os.path.exists(noted), "no browser was opened")
    with open(noted, encoding="utf-8") as file:
        way = file.read().strip()
    expect(page.token not in way and stat.S_IMODE(os.stat(way).st_mode) == 0o600, f"{way} can be read by others")
    with open(way, encoding="utf-8") as file:
        expect(f'content="0; url={page.url}"' in file.read(), "it leads elsewhere")
    page.end()
    expect(not os.path.exists(way), f"{way} was left behind")


@test
def a_process_that_wants_a_token_gets_its_own(w):
    place = w.place.file("s")
    subject = Subject(w.inspected, w.place, f"unix:{place}", "--token", "the-token-of-the-process")
    page = Page(w, f"unix:{place}", CENOTE_TOKEN="the-token-of-the-process")
    expect(page.ask("/api/process")[0] == 200 and page.ask("/api/process", token="the-token-of-the-process")[0] == 401, "tokens are mixed up")
    page.end(signal.SIGTERM)
    answer = w.tool("page", f"unix:{place}")
    expect(answer.status == 3 and "requires a token" in answer.err, str(answer))
    subject.end()


@test
def a_process_that_serves_http_itself_is_named_and_needs_no_relay(w):
    subject = Subject(w.inspected, w.place, "127.0.0.1:0")
    answer = w.tool("page", str(subject.pid))
    expect(answer.status == 0 and answer.out == subject.address + "\n", str(answer))
    answer = w.tool("page", str(subject.pid), "--port", "4000")
    expect(answer.status == 2 and "serves its own page" in answer.err, str(answer))
    subject.end()


@test
def a_port_that_is_taken_is_named(w):
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    answer = w.tool("page", "--port", str(port), w.pid)
    expect(answer.status == 2 and f"--port: port {port} of 127.0.0.1 is already in use" in answer.err, str(answer))
    taken.close()


@test
def it_ends_with_the_process_and_with_its_inspect(w):
    subject = Subject(w.inspected, w.place)
    clean_up.append(subject.end)
    page = Page(w, str(subject.pid))
    subject.kill()
    await_that(lambda: page.process.poll() is not None, "it does not end")
    said = page.process.stderr.read()
    expect(page.process.returncode == 3 and f"Process {subject.pid} has ended" in said, said)


if __name__ == "__main__":
    sys.exit(run_all(prepare))
