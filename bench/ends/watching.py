# SPDX-License-Identifier: MIT
"""Looks at the server while a contestant runs: how many connections it has, and what processor time it uses."""
import threading
import time

from gate import served_seconds

ESTABLISHED = "01"
EVERY = 0.05


def connections_at(port):
    """By the system's own list: how many of those that came to that port are open. It is no picture of one moment: a socket may
    be in it twice, so they are told apart by who came."""
    with open("/proc/net/tcp") as lines:
        next(lines)
        rows = [line.split() for line in lines]
    return len({row[2] for row in rows if row[3] == ESTABLISHED and int(row[1].partition(":")[2], 16) == port})


def wait_until_alone(port, patience=5):
    """The connections of whoever ran before are gone."""
    end = time.monotonic() + patience
    while connections_at(port) > 0:
        if time.monotonic() > end:
            raise RuntimeError("%d connections of somebody else are open at port %d" % (connections_at(port), port))
        time.sleep(0.01)


class Watch:
    """with Watch(port) as watch: run it; and then ask."""

    def __init__(self, port):
        self.port, self.most, self.samples = port, 0, []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.over.wait(EVERY):
            count = connections_at(self.port)
            if count > self.most:
                self.most, self.samples = count, []  # connecting costs the server more than questions do
            self.samples.append((time.monotonic(), served_seconds()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def cores(self, seconds):
        """That the server used on average, in the busiest time of that length since all connections were there: some contestants
        take long to end, and nobody asks anything then."""
        best, first = None, 0
        for end, after in self.samples:
            while first + 1 < len(self.samples) and end - self.samples[first + 1][0] >= seconds:
                first += 1
            begin, before = self.samples[first]
            if end - begin >= seconds:
                best = max(best or 0.0, (after - before) / (end - begin))
        return best
