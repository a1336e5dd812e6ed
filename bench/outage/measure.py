# SPDX-License-Identifier: MIT
"""What a program sees of an outage, through several pools. Nothing here is a matter of nanoseconds: one run of each."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import build
from gate import execute, say
from report import table

WAYS = {"mutex": "mutex and condition variable, `PQreset` after an error", "apr": "apr_reslist, 30 s, invalidated after an error",
        "cenote": "cenote, patience 30 s as HikariCP's default", "cenote-held": "cenote, deadline 500 ms, hold at most 1 s"}
OUTAGES = {
    "The server is killed, and back after 4 s": ("refuse; reset", "clear"),
    "Its host falls silent, and another answers new connections after 4 s": ("blackhole", "clear new"),
}
QUARTERS, HEALTHY, BACK = 56, 8, 24  # of a second: in all, before the outage, until its end


class Proxy:
    """cenote-faultproxy before the server of the run."""

    def __init__(self, program, port):
        self.folder = tempfile.TemporaryDirectory(prefix="cenote-outage-")
        self.control = os.path.join(self.folder.name, "control")
        self.process = subprocess.Popen([program, "--listen", "127.0.0.1:0", "--to", "127.0.0.1:%s" % port, "--control", self.control,
                                         "--follow-stdin", "--seed", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rpartition(":")[2])
        self.url = "postgresql://tester:secret@127.0.0.1:%d/test?connect_timeout=5" % self.port

    def say(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


def summary(run, stats):
    """The row of one pool."""
    answered = [run["a%d" % i] for i in range(QUARTERS)]
    failed = [run["f%d" % i] for i in range(QUARTERS)]
    usual = sum(answered[2:HEALTHY]) / (HEALTHY - 2)
    again = next((i - BACK for i in range(BACK, QUARTERS) if answered[i] >= 0.8 * usual), None)
    first = next((i - BACK for i in range(BACK, QUARTERS) if answered[i] > 0), None)
    words = dict(part.split("=") for part in stats.split()[1:])

    def after(quarters):
        return "never in 8 s" if quarters is None else "within %.2f s" % ((quarters + 1) / 4)

    return ["%.0f" % (4 * usual), "%d" % sum(answered[HEALTHY:BACK]), "%d" % sum(failed[HEALTHY:BACK]), after(first), after(again),
            "%d" % sum(failed[BACK:]), "%.1f s" % (run["longest_ms"] / 1000), "%d" % run["stuck"],
            "%s, at most %s in a second" % (words["accepted"], words["peak_per_second"])]


HEADER = ["", "answers a second before", "answered in the outage", "failed in it", "answers again", "at 80 % again", "failed afterwards",
          "longest call", "threads stuck at the end", "connects the server saw"]


def main(programs):
    text = "# What a program sees of an outage\n\n16 threads, 10 connections, `select 1`, each thread again after 2 ms. "
    text += "Packages: %s.\n" % build.versions(["libpq5", "postgresql-15", "libaprutil1"])
    for title, (begin, end) in OUTAGES.items():
        say(title)
        rows = []
        for way, name in WAYS.items():
            proxy = Proxy(programs["faultproxy"], os.environ["CENOTE_POSTGRESQL_PORT"])
            run = execute([programs["outage"], way, proxy.url, proxy.control, begin, end])
            rows.append([name, *summary(run, proxy.say("stats"))])
            say("  " + " | ".join(rows[-1]))
            proxy.stop()
        text += "\n## %s\n\n%s" % (title, table(HEADER, rows))
    with open(build.out("outage.md"), "w") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--build"]:
        say("bench: building")
        print(build.build_outage()["with-server"])
    else:
        try:
            main(build.build_outage())
        except RuntimeError as failure:
            raise SystemExit("bench: %s" % failure)
