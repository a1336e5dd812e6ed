# SPDX-License-Identifier: MIT
"""What is done to the way between contestants and server: a fault proxy for each, and the server's own death."""
import subprocess


class Proxy:
    """cenote-faultproxy before the server of the run."""

    def __init__(self, program, port):
        words = [program, "--listen", "127.0.0.1:0", "--to", "127.0.0.1:%d" % port, "--follow-stdin", "--seed", "1"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rpartition(":")[2])

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def hear(self):
        answer = self.process.stdout.readline().split()
        if answer[:1] != ["ok"]:
            raise RuntimeError("the proxy does not do it: %s" % " ".join(answer))
        return dict(word.split("=") for word in answer[1:])

    def stats(self):
        self.tell("stats")
        return self.hear()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def tell_all(proxies, command):
    """All of them, as nearly at once as can be."""
    for proxy in proxies:
        proxy.tell(command)
    for proxy in proxies:
        proxy.hear()


def begin(outage, server, proxies):
    """A port that nobody listens on refuses; so must the proxies', or they would take connections for a server that is dead."""
    tell_all(proxies, "forget")
    tell_all(proxies, "blackhole" if outage.silent else "refuse")
    if not outage.silent:
        server.kill()


def end(outage, server, proxies):
    """Connections that were lost to the silence stay so: another host knows nothing of them."""
    tell_all(proxies, "clear new" if outage.silent else "clear")
