# SPDX-License-Identifier: MIT
"""The servers that with-server has started, by the socket of whoever guards each: tests/support/servers/guardian.h."""
import os
import socket


class Server:
    def __init__(self, name):
        self.port = int(os.environ["CENOTE_%s_PORT" % name])
        self.control = os.path.join(os.environ["CENOTE_%s_DIRECTORY" % name], "control")

    def ask(self, command):
        """The answer is the id of the server's first process, 0 if there is none."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as guardian:
            guardian.connect(self.control)
            guardian.send(command)
            answer = guardian.recv(10000)
        if not answer.startswith(b"+"):
            raise RuntimeError("a server: %s" % answer[1:].decode())
        return int(answer[1:])

    def pid(self):
        """It is another one after a kill and a start."""
        return self.ask(b"p")

    def guardian(self):
        """The parent of the first process, which waits for all that are killed: what they used is in its account then."""
        with open("/proc/%d/stat" % self.pid()) as stat:
            return int(stat.read().rpartition(")")[2].split()[1])

    def kill(self):
        """SIGKILL for all its processes."""
        self.ask(b"k")

    def start(self):
        """Returns when it answers."""
        self.ask(b"r")

    def put_key(self):
        """Of Redis: what GET is to find, by rules/ends.h."""
        with socket.create_connection(("127.0.0.1", self.port)) as redis:
            redis.sendall(b"AUTH secret\r\nSET cenote-bench value\r\nQUIT\r\n")
            answer = b"".join(iter(lambda: redis.recv(100), b""))
        if answer != b"+OK\r\n+OK\r\n+OK\r\n":
            raise RuntimeError("Redis does not take the key: %r" % answer)
