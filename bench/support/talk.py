# SPDX-License-Identifier: MIT
"""A program that stays for several cells: it is told one in a line and answers in a line. A Java machine that measures dozens of
short cells would otherwise spend its time on starting and on compiling the same code."""
import os
import select
import subprocess
import tempfile

import gate

PATIENCE_S = 120


class Talk:
    def __init__(self, command):
        self.name = " ".join(map(str, command))
        self.errors = tempfile.TemporaryFile()
        self.child = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                      env=dict(gate.ENVIRONMENT))
        gate.SERVERS.add(self.child.pid)  # what it uses is not foreign

    def ask(self, words):
        """The answer to one cell, as gate.execute has it."""
        try:
            self.child.stdin.write((",".join(map(str, words)) + "\n").encode())
            self.child.stdin.flush()
        except BrokenPipeError:
            pass  # its last words say why
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self.child.stdout], [], [], PATIENCE_S)[0]:
                self.child.kill()
                raise RuntimeError("%s: no answer to %s" % (self.name, words))
            some = os.read(self.child.stdout.fileno(), 65536)
            if not some:
                raise RuntimeError("%s: %s: %s" % (self.name, words, self.end() or "it ended without an answer"))
            line += some
        return gate.fields(line.decode())

    def end(self):
        """What it complained of, if it failed."""
        self.child.stdin.close()
        status = self.child.wait(timeout=PATIENCE_S)
        gate.SERVERS.discard(self.child.pid)
        self.child.stdout.close()
        self.errors.seek(0)
        return self.errors.read().decode().strip() if status != 0 else ""
