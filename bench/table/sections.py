# SPDX-License-Identifier: MIT
"""What the whole table shows of each part. A section is a list of (heading, Markdown)."""
from contest import Column, Figure, markdown, number, table

# Who is shown, and neither ours nor a peer: variants of ours, floors, and what makes another promise.
OUTSIDE = {
    "pool": {"strict", "fifo", "none", "syncpool"}, "crew": {"bulk"}, "async": {"blocking", "partitioned"},
    "queue": {"floor"}, "ends": {"asks", "bare"}, "outage": {"cenote-held"}, "growth": {"fifo", "none", "syncpool", "floor"},
}
UNBOUNDED = "Go's sync.Pool is unbounded: shown, not compared."


def outside(bench):
    return OUTSIDE.get(bench.partition("-")[0], set())


def figure(record, key, scale, digits):
    """Of a record, with its spread where it has one; key may be a function of the record."""
    value = key(record) if callable(key) else record.get(key)
    if value is None:
        return Figure(None, "never") if key in record else None
    if value < 0:  # a part that measured nonsense must not be first with it
        return Figure(None, "invalid")
    low, high = (value, value) if callable(key) else (record.get(key + "_min", value), record.get(key + "_max", value))
    beside = "" if low == high else " (%s-%s)" % (number(low / scale, digits), number(high / scale, digits))
    return Figure(value / scale, number(value / scale, digits), beside, record.get("disturbed", False))


def column(results, bench, cell, heading, key="ns", scale=1, digits=1, better="less", **contest):
    figures = {}
    for name in results.contestants(bench, [cell]):
        found = figure(results.at(bench, cell, name), key, scale, digits)
        if found:
            figures[name] = found
    contest.setdefault("outside", outside(bench))
    return Column(heading, figures, better, **contest)


def grid(results, bench, cells, names=None, heading=str, **figures):
    """Contestants down, cells across."""
    names = names or results.contestants(bench, cells)
    columns = [column(results, bench, cell, heading(cell), **figures) for cell in cells]
    return table("", names, columns, lambda name: results.name(name, bench))


def sheet(results, bench, cell, shown):
    """Contestants down, several figures of one cell across. shown: key, heading, scale, digits, better."""
    columns = [column(results, bench, cell, heading, key, scale, digits, better) for key, heading, scale, digits, better in shown]
    columns = [each for each in columns if each.figures]
    return table(cell, results.contestants(bench, [cell]), columns, lambda name: results.name(name, bench))


def shape_of(cell):
    """T8S2/200: T8 S2."""
    return cell.partition("/")[0].replace("S", " S")


# ---- Checkout ----------------------------------------------------------------

# Where some starve, the many short waits of the others make a small p50, p99 and longest wait: nobody is first by percentiles.
WAITS = [("share_min", "slowest thread's share", 1, 2, "more"), ("wait_p50_ns", "wait p50, us", 1e3, 2, None),
         ("wait_p99_ns", "p99, us", 1e3, 2, None), ("wait_p999_ns", "p99.9, us", 1e3, 2, None),
         ("wait_max_ns", "longest, ms", 1e6, 2, "less")]


def pool(results):
    blocks, cells = [], results.cells("pool-throughput")
    for work in dict.fromkeys(cell.partition("/")[2] for cell in cells):
        words = "no work between" if work == "0" else "%s ns of work between" % work
        some = [cell for cell in cells if cell.endswith("/" + work)]
        blocks.append(("Nanoseconds per take and give, %s" % words, grid(results, "pool-throughput", some, heading=shape_of)))
    if "syncpool" in results.contestants("pool-throughput"):
        blocks[0] = (blocks[0][0], blocks[0][1] + "\n" + UNBOUNDED + "\n")
    for cell in results.cells("pool-fairness"):
        shown = [("ns", "ns a pair", 1, 1, "less"), *WAITS]
        blocks.append(("Shares and waits, no work between, every take timed: %s" % cell,
                       sheet(results, "pool-fairness", cell, shown)))
    for cell in results.cells("pool-holds"):
        shown = [("ns", "us a pair", 1e3, 1, "less"), *WAITS]
        blocks.append(("Objects held for a while: %s" % cell, sheet(results, "pool-holds", cell, shown)))
    floor = results.of("pool-floor")
    if floor:
        sizes = sorted({record["size"] for record in floor})
        rows = [[name, *(next((number(r["ns"], 2) for r in floor if r["contestant"] == name and r["size"] == size), "-")
                         for size in sizes)]
                for name in results.contestants("pool-floor")]
        blocks.append(("One thread beside the floor in the same process, ns a pair",
                       markdown(["", *("S%d" % size for size in sizes)], rows)))
    return blocks


# ---- Tasks -------------------------------------------------------------------

TASKS = {"submit1": "empty tasks from one thread outside", "submit2": "from two", "chain": "a task submits the next",
         "pairs": "two that alternate",
         "spawn": "a task submits many", "yield": "many that yield", "inside": "submit and await inside a task"}


def most_of_runs(record):
    return max(record["runs"]) if record.get("runs") else None


def crew(results):
    cells, blocks = results.cells("crew-cell"), []
    empty = [cell for cell in cells if cell not in ("result", "idle10", "idle")]
    if empty:
        legend = "; ".join("%s: %s" % (cell, TASKS[cell]) for cell in empty if cell in TASKS)
        blocks.append(("Nanoseconds per task", legend.capitalize() + ".\n\n" + grid(results, "crew-cell", empty)))
    for cell, words in (("result", "back to back"), ("idle10", "after 10 ms of idleness")):
        if cell in cells:
            shown = [("ns", "p50, us", 1e3, 1, "less"), ("p99_ns", "p99, us", 1e3, 1, "less")]
            blocks.append(("Submit to result from outside, %s" % words, sheet(results, "crew-cell", cell, shown)))
    if "idle" in cells:
        blocks.append(("Processor time while nothing is submitted", sheet(results, "crew-cell", "idle", [
            (most_of_runs, "ms of CPU, at most", 1, 3, "less")])))
    return blocks


# ---- Routing -----------------------------------------------------------------

FLOORS = {kind + how for kind in ("random", "turn", "two", "hash") for how in ("", "-counted")}


def is_floor(name):
    return name in FLOORS or name.endswith("-called")


def is_whole(name):
    """Whether a use is counted and done, not a pick alone."""
    return "route-" in name or "counted" in name or name in ("shared-two", "shared-least")


def is_ours(name):
    return name.startswith(("peek-", "route-", "quick-"))


def route(results):
    cells, blocks = results.cells("route-picks"), []
    names = results.contestants("route-picks")
    for whole, words in ((False, "A pick alone"), (True, "A pick, counted, and its done")):
        some = [name for name in names if is_whole(name) == whole]
        if some:
            others = {name for name in names if is_floor(name) or is_whole(name) != whole}
            blocks.append(("%s, ns of a thread's time, members/threads" % words, grid(
                results, "route-picks", cells, some, ours=[name for name in some if is_ours(name)], outside=others)))
    shown = [("per_s", "thousand a second", 1e3, 1, "more"), ("p50_ns", "p50, us", 1e3, 1, "less"),
             ("p99_ns", "p99, us", 1e3, 1, "less"),
             ("max_ns", "longest, ms", 1e6, 1, "less"), ("cpu_ns", "CPU a request, us", 1e3, 2, "less")]
    return blocks + [("Connections that carry many requests: %s" % cell, sheet(results, "route-mux", cell, shown))
                     for cell in results.cells("route-mux")]


# ---- Asking without waiting --------------------------------------------------

ASKING = {"calm/0": "16 clients, 32 objects, given back at once", "calm/1ms": "16 clients, 32 objects, held for 1 ms",
          "crowd/0": "1,000 clients, 8 objects, given back at once", "crowd/1ms": "1,000 clients, 8 objects, held for 1 ms",
          "open": "an opening takes 10 ms, discarded after 100 uses", "test": "tests of 10 ms every 50 ms",
          "stuck": "one stuck holder"}


def asking(results):
    shown = [("per_s", "thousand pairs a second", 1e3, 1, "more"), ("wait_p50_ns", "wait p50, us", 1e3, 1, "less"),
             ("wait_p99_ns", "p99, us", 1e3, 1, "less"), ("wait_max_ns", "longest, ms", 1e6, 1, "less"),
             ("starved", "never served", 1, 0, None), ("cpu_us", "CPU a pair, us", 1, 2, "less"),
             ("rss_kib", "RSS, MiB", 1024, 1, None)]
    blocks = [("Two loops: %s" % ASKING.get(cell, cell), sheet(results, "async-cell", cell, shown))
              for cell in results.cells("async-cell")]
    pending = results.of("async-pending")
    if pending:
        columns = [Column(heading, {r["contestant"]: Figure(r[key], number(r[key], 0)) for r in pending}, outside=OUTSIDE["async"])
                   for key, heading in (("bytes", "bytes a pending take"), ("ns", "ns to serve each"))]
        blocks.append(("%s takes that wait" % format(pending[0]["size"], ","), table(
            "", results.contestants("async-pending"), columns, lambda name: results.name(name, "async"))))
    micro = results.of("async-micro")
    if micro:
        rows = [[record["cell"], record["contestant"], figure(record, "ns", 1, 1).words(False)] for record in micro]
        blocks.append(("What an ask costs beside its floor, ns", markdown(["", "", "ns"], rows)))
    return blocks


# ---- Queues ------------------------------------------------------------------

def queue(results):
    blocks = []
    for kind in ("bounded", "unbounded"):
        bench, columns = "queue-" + kind, []
        for cell in results.cells(bench):
            ordered = kind == "bounded" or cell.endswith(" 1-1")
            columns.append(column(results, bench, cell, cell, outside=set() if ordered else {"moodycamel"}))
        if columns:
            blocks.append(("Nanoseconds per element, %s, producers-consumers" % kind, table(
                "", results.contestants(bench), columns, lambda name: results.name(name, "queue"))))
    if blocks:
        blocks[-1] = (blocks[-1][0],
                      blocks[-1][1] + "\nmoodycamel has no order across producers: compared with one of them only.\n")
    shown = [("wait_p50_ns", "p50, us", 1e3, 1, "less"), ("wait_p99_ns", "p99, us", 1e3, 1, "less")]
    if results.of("queue-wake"):
        blocks.append(("Wake-up of a sleeping consumer; the floor is a raw futex", sheet(results, "queue-wake", "wake", shown)))
    return blocks


# ---- End to end, outage ------------------------------------------------------

ENDS = [("per_s", "thousand a second", 1e3, 2, "more"), ("wait_p50_us", "wait p50, us", 1, 0, None),
        ("wait_p99_us", "p99, us", 1, 0, None),
        ("wait_p999_us", "p99.9, us", 1, 0, None), ("wait_max_ms", "longest, ms", 1, 1, "less"),
        ("turn_p50_ms", "turn p50 by time, ms", 1, 2, None), ("turn_p99_ms", "p99 by time, ms", 1, 2, "less"),
        ("call_p50_us", "the call p50, us", 1, 0, None),
        ("cpu_s_per_100k", "CPU s per 100,000", 1, 2, "less"), ("server_cpu_s_per_100k", "the server's", 1, 2, None),
        ("smallest_share", "slowest thread's share", 1, 2, "more")]
OUTAGE = [("first_s", "first answer after its end, s", 1, 2, "less"), ("again_s", "at 80 % again, s", 1, 2, "less"),
          ("longest_s", "longest call, s", 1, 1, "less"), ("failed_during", "failed in it", 1, 0, None),
          ("failed_after", "failed afterwards", 1, 0, "less"), ("stuck", "stuck at the end", 1, 0, "less"),
          ("connects", "connects made", 1, 0, None)]


SERVERS = {"pq": "PostgreSQL", "redis": "Redis"}
OUTAGES = "Silent: the host swallows everything, and then another answers new connections; killed: the server is killed, " \
    "and started again. Default: nobody has set a limit; advised: the limits that the documentation of each advises."


TURNS = "A turn is from wanting a connection to wanting one again; by time: 99 in 100 seconds of the clients were in turns no longer."


def has_turns(results):
    return any("turn_p99_ms" in record for record in results.of("ends-cell"))


def ends(results):
    words = "\n%s\n" % TURNS if has_turns(results) else ""
    return [("%s through a pool, 64 threads over 8 connections" % SERVERS.get(cell, cell),
             sheet(results, "ends-cell", cell, ENDS) + words) for cell in results.cells("ends-cell")]


def outage(results):
    blocks = [("Outage: %s" % cell, sheet(results, "outage-run", cell, OUTAGE)) for cell in results.cells("outage-run")]
    return [(heading, OUTAGES + "\n\n" + body) for heading, body in blocks[:1]] + blocks[1:]


# ---- How cost grows ----------------------------------------------------------

def growth_key(record):
    return "bytes" if "bytes" in record else "ns"


def growth_lines(results):
    """(bench, cell) -> the lines that are compared there, a name and its records each. Of members the strategies are cells, and
    all of them are one table."""
    found = {}
    for bench in results.benches("growth"):
        for record in results.of(bench) if not bench.endswith(("-target", "-probe")) else []:
            cell, name = record["cell"], record["contestant"]
            if bench == "growth-members":
                cell, name = "picks", record["cell"] if name == "cenote" else "%s, %s" % (name, record["cell"])
            found.setdefault((bench, cell), {}).setdefault(name, []).append(record)
    return found


def growth_name(bench, name, records):
    if bench == "growth-members" and records[0]["contestant"] == "cenote":
        return "cenote, %s" % name
    return records[0].get("name", name)


def is_own_line(bench, name):
    return is_ours(name) if bench == "growth-members" else name == "cenote"


def growth_outside(bench, name):
    """Of members what is a floor, and routes with their done, which nobody else has here."""
    return name.startswith(("floor", "random,",
                            "turn,")) or "route-" in name if bench == "growth-members" else name in OUTSIDE["growth"]


def growth_table(results, bench, lines):
    """Contestants down, sizes across."""
    columns = []
    for size in sorted({record["size"] for records in lines.values() for record in records}):
        known = {name: record for name, records in lines.items() for record in records
                 if record["size"] == size and record.get(growth_key(record)) is not None}
        columns.append(Column(format(size, ","), {name: figure(r, growth_key(r), 1, 1) for name, r in known.items()},
                              ours=[name for name in lines if is_own_line(bench, name) and not growth_outside(bench, name)],
                              outside={name for name in lines if growth_outside(bench, name)}))
    some = next(iter(lines.values()))[0]
    text = table(some.get("unit", ""), list(lines), columns, lambda name: growth_name(bench, name, lines[name]))
    whys = dict.fromkeys("%s at %s: %s." % (growth_name(bench, name, records), format(record["size"], ","), record["why"])
                         for name, records in lines.items() for record in records if record.get("why"))
    return text + ("\n" + " ".join(whys) + "\n" if whys else "")


def growth(results):
    return [("%s: %s" % (bench.partition("-")[2].capitalize(), cell), growth_table(results, bench, lines))
            for (bench, cell), lines in growth_lines(results).items()]


SECTIONS = {"pool": pool, "crew": crew, "route": route, "async": asking, "queue": queue, "ends": ends, "outage": outage,
            "growth": growth}
