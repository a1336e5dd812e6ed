# SPDX-License-Identifier: MIT
"""Instructions and system calls of a query: what two runs of different length differ by, so that beginning and end are left out."""
import re
import subprocess

from gate import ENVIRONMENT


def output_of(command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                          env=ENVIRONMENT)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(map(str, command)), done.stdout[-500:]))
    return done.stdout


def instructions(command):
    """Those in bench_take and bench_give and all that they call. What libpq itself needs for a query varies by hundreds, as a reply
    is there at once or is waited for, so the difference of two whole programs says nothing."""
    text = output_of(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
                      "--toggle-collect=bench_take", "--toggle-collect=bench_give", *command])
    return int(re.search(r"Collected : (\d+)", text).group(1))


def calls(command):
    """All of the program's: system calls of its threads and of the runtime's."""
    text = output_of(["strace", "-f", "-c", "-q", "-U", "calls,name", "-o", "/dev/stdout", *command])
    rows = dict((name, int(count)) for count, name in re.findall(r"^\s*(\d+) (\w+)$", text, re.M) if name != "total")
    return sum(rows.values())


def for_a_query(count, program, way, url, threads, few, more):
    numbers = [count([program, way, url, threads, threads, "=%d" % each]) for each in (few, more)]
    return (numbers[1] - numbers[0]) / ((more - few) * threads)
