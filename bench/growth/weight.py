# SPDX-License-Identifier: MIT
"""What a process weighs while it runs, without a word in its program.

Of a program in C, C++, Rust or Go: its resident memory without pages of files, read every few milliseconds; the median, because it
stands still for most of the time. Of Java: what is alive in the heap after a collection, by jcmd, since its machine takes memory as
it likes.
"""
import statistics
import subprocess
import sys
import time

from gate import ENVIRONMENT, execute

EVERY_S = 0.004
OBJECT = 128  # bytes of what is lent, in every language but Java


def begin(command):
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=ENVIRONMENT)


def read_resident(pid):
    """By smaps_rollup, which counts pages; the figures of status and statm are behind by up to a hundred of them."""
    try:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            return 1024 * int(next(line for line in file if line.startswith("Anonymous:")).split()[1])
    except (OSError, StopIteration):
        return 0  # it has just ended


def resident(command):
    """Bytes, and the object's own: the program runs to its end, and its checks with it."""
    process, seen = begin(command), []
    while process.poll() is None:
        seen.append(read_resident(process.pid))
        time.sleep(EVERY_S)
    _, complaint = process.communicate()
    if process.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(map(str, command)), complaint.strip()))
    return statistics.median(each for each in seen if each > 0), OBJECT


def read_histogram(text, least):
    """Bytes of all that is alive; and of the largest class that has at least so many: what is lent."""
    whole, largest = 0, 0
    for words in (line.split() for line in text.splitlines()):
        if len(words) >= 4 and words[0].endswith(":") and words[0][:-1].isdigit():
            count, size = int(words[1]), int(words[2])
            whole += size
            if count >= least:
                largest = max(largest, size / count)
    return whole, largest


def live_heap(command, after_s, least):
    """The same of a machine of Java's, looked at after so long. It is ended then."""
    process = begin(command)
    try:
        time.sleep(after_s)
        look = ["/usr/bin/jcmd", str(process.pid), "GC.class_histogram"]
        text = subprocess.run(look, stdout=subprocess.PIPE, text=True, timeout=60, env=ENVIRONMENT).stdout
    finally:
        process.kill()
        process.communicate()
    whole, largest = read_histogram(text, least)
    if whole == 0:
        raise RuntimeError("%s: the heap cannot be looked at" % " ".join(map(str, command)))
    return whole, largest


def self_test():
    """A known weight must be seen to five percent."""
    weights = []
    for size in (0, 20_000_000):
        script = "import time\nheld = bytearray(b'x' * %d)\ntime.sleep(0.15)" % size
        weights.append(resident([sys.executable, "-I", "-c", script])[0])
    if not 0.95 < (weights[1] - weights[0]) / 20_000_000 < 1.05:
        raise SystemExit("bench: 20,000,000 bytes were weighed as %d" % (weights[1] - weights[0]))


def pool_command(programs, contestant, size, seconds, warm):
    """One thread that sleeps with one object in its hand: all others are idle."""
    return [programs["pool-" + contestant], 1, size, 1_000_000, seconds, "asleep", *warm]


def pools(programs, contestant, sizes, seconds, is_java):
    """size -> bytes an object by which the whole is heavier than with the first of the sizes, and of these the object's own."""
    weights = {}
    for size in sizes:
        if is_java:
            command = pool_command(programs, contestant, size, 10, ["warm=0.1"])
            weights[size] = live_heap(command, 1.2 if size <= 1000 else 2.0, size)
        else:
            weights[size] = resident(pool_command(programs, contestant, size, seconds, []))
    base = weights[sizes[0]][0]
    return {size: {"bytes": (weights[size][0] - base) / (size - sizes[0]), "own_bytes": weights[size][1]} for size in sizes[1:]}


def waiters(programs, contestant, counts):
    """count -> bytes a take that waits, and of these the caller's struct; by rules/serve.h, which reads its own resident set."""
    answers = {count: execute([programs["async-" + contestant], "pending", count]) for count in counts}
    return {count: {"bytes": answer["pending_bytes"], "own_bytes": answer["request_bytes"]} for count, answer in answers.items()}
