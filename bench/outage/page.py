# SPDX-License-Identifier: MIT
"""The report of the outages: Markdown and JSON lines."""
import os

import build
from cells import CONNECTIONS, CONTESTANTS, PACKAGES, THREADS
from measuring import QUICK
from report import table

HEADER = ["", "answers a second before", "answered in it", "failed in it", "first answer after its end", "at 80 % again",
          "failed afterwards", "longest call", "threads stuck at the end", "connects since it began"]


def after(seconds, answer):
    return "never in %.0f s" % answer["after_s"] if seconds is None else "%.2f s" % seconds


def rows(answers):
    """The soonest first."""
    def rank(answer):
        return [float("inf") if answer[key] is None else answer[key] for key in ("again_s", "first_s", "longest_s")]

    return [[CONTESTANTS[a["contestant"]], "%.0f" % a["usual_per_s"], "%d" % a["answered_during"], "%d" % a["failed_during"],
             after(a["first_s"], a), after(a["again_s"], a), "%d" % a["failed_after"], "%.1f s" % a["longest_s"], "%d" % a["stuck"],
             "%d, at most %d in a second" % (a["connects"], a["connects_peak_per_s"])] for a in sorted(answers, key=rank)]


def document(selection, runs, seconds):
    text = "# What a program sees of an outage\n\n"
    if QUICK:
        text += "A QUICK LOOK, NOT A MEASUREMENT. "
    if not selection.is_all:
        text += "A PART ONLY. "
    text += "%d threads over %d connections, each again after 20 ms; " % (THREADS, CONNECTIONS)
    text += "all contestants of a server at the same time, each behind a proxy of its own; "
    text += "%d processors; %.0f s in all.\n\n" % (os.cpu_count(), seconds)
    text += "Packages: %s.\n" % build.versions(PACKAGES)
    words = {"default": "nobody has set a limit",
             "advised": "1 s for a connection of the pool, 1 s for connecting, 2 s for an answer"}
    for outage in selection.outages:
        for setting in selection.settings:
            answers = runs[outage.name, setting]
            text += "\n## %s: %s\n\n" % (outage.title, words[setting])
            dark, foreign = answers[0]["dark_s"], answers[0]["foreign"]
            text += "It was dark for %.2f s; others used %.0f %% of a processor.\n\n" % (dark, 100 * foreign)
            text += table(HEADER, rows(answers))
    return text


def records(runs):
    return [{"bench": "outage-run", "outage": outage, "setting": setting, "threads": THREADS, "size": CONNECTIONS, **answer}
            for (outage, setting), answers in runs.items() for answer in answers]
