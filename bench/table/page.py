# SPDX-License-Identifier: MIT
"""table.md: the whole table of a folder of results, from its JSON alone."""
from charts import CHARTS
from contest import markdown
from results import PARTS
from sections import SECTIONS


def minutes(seconds):
    return "%d:%02d" % divmod(round(seconds), 60)


def machine_words(machine):
    return "%s, %d processors, Linux %s, Debian %s" % (machine["cpu"], machine["processors"], machine["kernel"], machine["debian"])


def commit_words(machine):
    commit = machine.get("commit")
    return "unknown" if not commit else "`%s`%s" % (commit[:12], "" if machine.get("clean")
                                                    else ", with changes that were not committed")


def warnings(results):
    """What a reader has to know before any figure."""
    lines, machine = [], results.machine
    if machine.get("quick"):
        lines.append("**A QUICK LOOK, NOT A MEASUREMENT.**")
    states = {part: results.part(part) for part in PARTS}
    missing = ["%s (%s%s)" % (part, state["status"], ": " + state["why"] if "why" in state else "")
               for part, state in states.items() if state["status"] != "done"]
    if missing:
        lines.append("**INCOMPLETE**: %s." % ", ".join(missing))
    if machine.get("library"):
        lines.append("**NOT the release build of this tree** but another libcenote.so, by BENCH_LIBDIR.")
    return "".join(line + "\n\n" for line in lines)


def opening(results):
    machine, gate = results.machine, results.machine.get("gate", {})
    text = "# cenote beside its peers: the whole table\n\n" + warnings(results)
    text += "Made by `bench/table/render` from `records.jsonl` and `machine.json`; every single run is in `raw.jsonl`. "
    text += "[bench/README.md](../../README.md#the-whole-table) says how it is measured and what is not claimed.\n\n"
    rows = [["machine", machine_words(machine)], ["date", machine["date"]], ["command", "`%s`" % machine["command"]],
            ["commit", commit_words(machine)], ["compiler", machine.get("compiler", "-")],
            ["duration", "%s min after installing and building" % minutes(machine["seconds"])]]
    if gate:
        rows.append(["gate",
                     "%d runs, %d of them again because others were busy; the most that others used in one that "
                     "counts: %.0f %% of a core"
                     % (gate["runs"], gate["repeated"], 100 * gate["largest_foreign"])])
    text += markdown(["", ""], rows)
    return text + "\nMedians with (smallest-largest). The first of a column is bold, and so are equals. `~`: disturbed, others " \
        "used more than 8 % of a core in a run that counts. `-`: not measured, or there is no such thing. The last row of a " \
        "table is how many times better cenote is than the best of its peers: above 1 cenote is ahead.\n"


def verdict(record):
    word = {True: "reached", False: "**MISSED**", None: "not measured"}[record["reached"]]
    return word + (", disturbed" if record.get("disturbed") and record["reached"] is not None else "")


def counted(targets):
    """Reached, known, disturbed among them."""
    known = [record for record in targets if record["reached"] is not None]
    return sum(record["reached"] for record in known), len(known), sum(bool(record.get("disturbed")) for record in known)


def summary(results):
    rows = []
    for part, (title, limit, quick) in PARTS.items():
        reached, known, disturbed = counted(results.targets(part))
        state = results.part(part)
        seconds = state.get("seconds")
        rows.append([title, "%d of %d" % (reached, known) if known else "-", str(disturbed) if known else "-",
                     minutes(seconds) if seconds is not None else "-", minutes(quick if results.machine.get("quick") else limit),
                     state["status"] + (": %s" % state["why"] if state.get("why") else "")])
    reached, known, disturbed = counted(results.targets())
    rows.append(["all", "%d of %d" % (reached, known), str(disturbed), minutes(results.machine["seconds"]), "", ""])
    return "\n## Verdicts\n\n" + markdown(["", "targets reached", "verdicts disturbed", "min", "planned", ""], rows)


def missed(results):
    rows = [[PARTS[record["bench"].partition("-")[0]][0], record["cell"], record["target"], record["measured"], verdict(record)]
            for record in results.targets() if record["reached"] is False]
    return "\n### Missed\n\n" + markdown(["", "cell", "target", "measured", "verdict"], rows) if rows else ""


def section(results, part):
    blocks, targets = SECTIONS[part](results), results.targets(part)
    text = "\n## %s\n" % PARTS[part][0]
    if part in CHARTS and blocks:
        text += "\n![%s](%s)\n" % (CHARTS[part].title, CHARTS[part].file)
    if not blocks:
        text += "\nThere are no figures: %s.\n" % results.part(part)["status"]
    for heading, body in blocks:
        text += "\n### %s\n\n%s" % (heading, body)
    if targets:
        text += "\n### %s: targets\n\n" % PARTS[part][0] + markdown(["", "target", "measured", "verdict"], [
            [record["cell"], record["target"], record["measured"], verdict(record)] for record in targets])
    return text


def disturbances(results):
    rows = [[record["bench"], record.get("cell", "-"), results.name(record["contestant"], record["bench"]),
             "%.0f %%" % (100 * record["foreign"])]
            for record in results.disturbed()]
    text = "\n## Disturbed figures\n\n"
    return text + (markdown(["", "cell", "contestant", "others used"], rows) if rows else "None.\n")


def packages(results):
    return "\n## Packages\n\n" + ", ".join("%s %s" % item for item in results.machine["packages"].items()) + "\n"


def document(results):
    return (opening(results) + summary(results) + missed(results) + "".join(section(results, part) for part in PARTS)
            + disturbances(results) + packages(results))
