# SPDX-License-Identifier: MIT
"""What a run was made on and of. Nothing here names the machine or a folder of it."""
import os
import platform
import re
import subprocess

from results import ROOT, read_lines


def answer(*command):
    """The first line that a program prints, or None."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def cpu():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def slug(model, processors):
    """Short, for the name of a folder: amd-epyc-7763-2."""
    words = re.sub(r"\((?:r|tm)\)|@.*|\bcpu\b|\bprocessor\b|\b\d+-core\b", " ", model.lower())
    return "-".join(re.findall(r"[a-z0-9]+", words) + [str(processors)])


def debian():
    try:
        with open("/etc/debian_version") as file:
            return file.read().strip()
    except OSError:
        return "-"


def packages():
    """What is installed of bench/packages, of the servers and of what drivers need, by name."""
    names = answer("tools/install-packages", "--list", "bench", "servers", "drivers") or ""
    found = answer("dpkg-query", "-W", "-f=${db:Status-Status} ${Package} ${Version}\n",
                   *sorted({*names.split(), "libc6", "gcc", "openjdk-17-jre-headless"}))
    if found is None:  # it fails if one of them is not known, and says nothing of the others' versions then
        found = "\n".join(filter(None, (answer("dpkg-query", "-W", "-f=${db:Status-Status} ${Package} ${Version}\n", name)
                                        for name in names.split())))
    rows = (line.split() for line in found.splitlines())
    return {row[1]: row[2] for row in rows if len(row) == 3 and row[0] == "installed"}


def about():
    changes = answer("git", "status", "--porcelain")
    return {"cpu": cpu(), "processors": os.cpu_count(), "kernel": platform.release(), "debian": debian(),
            "compiler": (answer("gcc", "--version") or "-").splitlines()[0], "commit": answer("git", "rev-parse", "HEAD"),
            "clean": changes == "", "library": "another" if os.environ.get("BENCH_LIBDIR") else None, "packages": packages()}


def gate_statistics(raw):
    """Of all runs: how many, how many of them were repetitions of disturbed ones, the most that others used in one that counts."""
    runs = read_lines(raw)
    return {"runs": len(runs), "repeated": sum(not run["kept"] for run in runs),
            "largest_foreign": max((run["foreign"] for run in runs if run["kept"]), default=0.0)}


def private_words():
    """What must not be in results: folders and the name of this machine."""
    return [word for word in {ROOT, os.path.expanduser("~"), platform.node()} if len(word) > 3]
