# SPDX-License-Identifier: MIT
"""`cenote top` in a real terminal, with keys typed and the screen read, on a real process; and without a terminal."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types

import top_harness
from top_harness import Failed, Place, Subject, Terminal, Tool, alive, await_that, clean_up, expect, forgetful_line, run_all, test

EVERY = "0.2"


def prepare(cenote, inspected):
    place = Place()
    subject = Subject(inspected, place, "--control")
    terminal = Terminal(place)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/inspected.c")
    world = types.SimpleNamespace(cenote=cenote, inspected=inspected, place=place, subject=subject, terminal=terminal, tool=Tool(cenote, place),
                                  forgotten=f"examples/inspected.c:{forgetful_line(source)}")
    terminal.run(f"stty -g > {place.file('before')}")
    terminal.run(f"{cenote} top -i {EVERY} {subject.pid}; echo status $?")
    terminal.await_text(r"^orders .*\d")
    return world


def home(w):
    """From wherever the last test was: the table of pools, no filter, as it comes, the first row."""
    w.terminal.type("Escape")
    w.terminal.type("n")
    w.terminal.type("Escape")
    w.terminal.type("1", "g")
    w.terminal.await_text(r"^POOL +STATE")
    w.terminal.await_text(r"^orders ")
    w.terminal.await_text(r"^reports ")


def first_pools(w):
    return [row.split()[0] for row in w.terminal.rows()]


@test
def the_head_names_the_process_and_the_table_its_pools(w):
    line = w.terminal.lines()[0]
    for part in ("inspected", f"pid {w.subject.pid}", "control", "every 200 ms"):
        expect(part in line, f"{part} is not in: {line}")
    w.terminal.await_text(r"^orders +\S+ +[█▒·]+ *4 +0 +0 +\d+ +4 +\d\S* ")


@test
def each_key_from_1_to_6_shows_its_pane_and_tab_the_next(w):
    home(w)
    for key, text in (("2", r"^ *HELD +POOL +OBJECT"), ("3", r"^WAITED +POOL|^No waiters"), ("4", r"^crew invoices"), ("5", r"^ +supervisor links"),
                      ("6", r"^TIME +LEVEL"), ("1", r"^POOL +STATE")):
        w.terminal.type(key)
        w.terminal.await_text(text)
    w.terminal.type("Tab")
    w.terminal.await_text(r"^ *HELD +POOL +OBJECT")
    w.terminal.type("BTab")
    w.terminal.await_text(r"^POOL +STATE")


@test
def the_tree_has_supervisors_with_children_and_routers_with_members(w):
    home(w)
    w.terminal.type("5")
    w.terminal.await_text(r"^supervisor service .*\n  store .*\n  links .*\n    supervisor links .*\n      east .*\n      west ")
    w.terminal.await_text(r"^router replicas .*\n  a\.example:5432 ")


@test
def a_holder_is_shown_with_the_line_that_took_its_object_and_its_backtrace(w):
    home(w)
    w.terminal.type("2")
    w.terminal.await_that(lambda: w.forgotten in w.terminal.rows()[0], "the oldest holder is the one who forgot")
    expect(w.terminal.rows()[0].split()[1] == "reports", "it holds of the pool reports")
    w.terminal.type("Enter")
    w.terminal.await_text(rf"taken at {re.escape(w.forgotten)}")
    w.terminal.await_text(r"^Backtrace\n +\S+\+0x")
    w.terminal.type("Escape")
    w.terminal.await_text(r"HELD +POOL")


@test
def a_pool_says_in_full_why_its_takes_wait(w):
    home(w)
    w.terminal.type("Enter")
    w.terminal.await_text(r'pool "orders": \S')
    w.terminal.await_text(r"^wait +p50")
    w.terminal.type("End")
    w.terminal.await_text(r"backtraces: yes")


@test
def a_pool_shows_what_led_here(w):
    """The process keeps a sample every 2.5 s; top has them once it has asked, with the next look at the pool."""
    def is_shown():
        home(w)
        w.terminal.type("Enter")
        w.terminal.await_text(r"^wait +p50")
        return re.search(r"^Last five minutes.*\n +AGO +HELD +WAITING.*\n +30[.0]* ?s +[1-4] +\d+ ", w.terminal.screen(), re.M)

    w.terminal.await_that(is_shown, "the last half a minute of the pool is shown")


@test
def sorting_changes_the_order_of_rows(w):
    home(w)
    w.terminal.type("s")
    w.terminal.await_text("Sorted by POOL")
    w.terminal.await_that(lambda: first_pools(w) == ["orders", "reports"], "orders comes first")
    w.terminal.type("r")
    w.terminal.await_that(lambda: first_pools(w) == ["reports", "orders"], "reports comes first")
    w.terminal.type("r")
    for _ in range(7):
        w.terminal.type("s")
    w.terminal.await_text("Sorted by MAX")
    w.terminal.await_that(lambda: first_pools(w) == ["reports", "orders"], "the larger pool comes first")
    for _ in range(6):
        w.terminal.type("s")
    w.terminal.await_text("Sorted in the original order")
    w.terminal.await_that(lambda: first_pools(w) == ["orders", "reports"], "the older pool comes first")


@test
def a_filter_narrows_the_rows_until_escape(w):
    home(w)
    w.terminal.type("/")
    w.terminal.write("REP")
    w.terminal.await_text("filter: REP_")
    w.terminal.await_that(lambda: first_pools(w) == ["reports"], "only reports is there")
    w.terminal.type("Enter")
    w.terminal.await_text(r"filter: REP$")
    w.terminal.type("Escape")
    w.terminal.await_that(lambda: first_pools(w) == ["orders", "reports"], "both are there")
    w.terminal.type("/")
    w.terminal.write("nothing")
    w.terminal.await_text("No row matches the filter")
    w.terminal.type("Escape")
    w.terminal.await_that(lambda: first_pools(w) == ["orders", "reports"], "both are there again")


@test
def pause_by_key_asks_first_and_then_really_pauses(w):
    home(w)
    w.terminal.type("p")
    w.terminal.await_text(r"Pause pool orders\? \(y/n\)")
    w.terminal.type("n")
    w.terminal.await_text("Nothing was changed")
    expect(w.subject.reading("orders", "paused") == 0, "the pool is paused, though n was typed")
    w.terminal.type("p")
    w.terminal.await_text(r"Pause pool orders\?")
    w.terminal.type("y")
    w.terminal.await_text("pool orders: done")
    expect(w.subject.reading("orders", "paused") == 1, "the pool is not paused")
    w.terminal.await_text(r"^orders +paused")
    w.terminal.type("u")
    w.terminal.await_text(r"Resume pool orders\?")
    w.terminal.type("y")
    await_that(lambda: w.subject.reading("orders", "paused") == 0, "the pool was not resumed")
    w.terminal.await_that(lambda: not re.search(r"^orders +paused", w.terminal.screen(), re.M), "it is not paused any more")


@test
def resize_by_key_takes_a_number_and_nothing_else(w):
    home(w)
    w.terminal.type("j", "z")
    w.terminal.await_text(r"New size of pool reports, now 8: _")
    w.terminal.write("many")
    w.terminal.type("Enter")
    w.terminal.await_text(r'"many" is not a positive whole number')
    w.terminal.type("z")
    w.terminal.await_text("New size")
    w.terminal.write("123")
    w.terminal.type("BSpace")
    w.terminal.await_text(r"now 8: 12_")
    w.terminal.type("Enter")
    w.terminal.await_text(r"Resize pool reports to 12\?")
    w.terminal.type("y")
    await_that(lambda: w.subject.reading("reports", "max") == 12, "its size is not 12")
    w.terminal.await_text(r"^reports .* 12 +\S+")
    w.terminal.type("z")
    w.terminal.await_text("now 12")
    w.terminal.write("0")
    w.terminal.type("Enter")
    w.terminal.await_text(r'"0" is not a positive whole number')
    w.subject.tell("reports", "resize", 8)
    w.terminal.await_text(r"^reports .* 8 +\S+")


@test
def reload_and_evict_by_key_reach_the_pool(w):
    home(w)
    before = w.subject.reading("reports", "closed")
    w.terminal.type("j", "l")
    w.terminal.await_text("Over how long")
    w.terminal.write("0")
    w.terminal.type("Enter")
    w.terminal.await_text(r"Reload pool reports\?")
    w.terminal.type("y")
    w.terminal.await_text("pool reports: done")
    reloaded = await_that(lambda: w.subject.reading("reports", "closed") > before and w.subject.reading("reports", "closed"), "nothing was closed")
    w.terminal.type("e")
    w.terminal.await_text(r"Close the idle objects of pool reports\?")
    w.terminal.type("y")
    w.terminal.await_text("pool reports: done")
    expect(w.subject.reading("reports", "closed") >= reloaded, "fewer are closed than before")
    w.terminal.type("5")
    w.terminal.await_text("^supervisor service")
    w.terminal.type("g", "p")
    w.terminal.await_text("supervisor service does not support pause")


@test
def events_have_what_was_done_and_their_text_in_full(w):
    home(w)
    w.terminal.type("6")
    w.terminal.await_text(r"^TIME +LEVEL")
    w.terminal.type("/")
    w.terminal.write("leak")
    w.terminal.type("Enter")
    w.terminal.await_text(r"warning +pool +reports +leak")
    w.terminal.type("Enter")
    w.terminal.await_text(r"^what: leak")


@test
def events_below_a_level_are_left_out_by_a_key(w):
    home(w)
    w.terminal.type("6")
    w.terminal.await_text(r"level notice and above$")
    w.terminal.await_that(lambda: w.terminal.rows() and all(row.split()[1] != "detail" for row in w.terminal.rows()), "no detail is there")
    w.terminal.type("v", "v", "v")
    w.terminal.await_text(r"^\d\d:\d\d:\d\d\.\d+ detail ")
    w.terminal.type("v", "v")
    w.terminal.await_text("Events of level warning and above")
    w.terminal.await_text(r"level warning and above$")
    w.terminal.await_that(lambda: w.terminal.rows() and all(row.split()[1] in ("warning", "error") for row in w.terminal.rows()), "only warnings are there")
    w.terminal.type("v", "v")
    w.terminal.await_text(r"^\d\d:\d\d:\d\d\.\d+ detail ")


@test
def a_frozen_screen_stays_as_it_is_while_the_process_goes_on(w):
    home(w)
    w.terminal.type("Space")
    w.terminal.await_text("FROZEN")
    rows, ages = w.terminal.rows(), set()

    def is_older():
        ages.add(re.search(r"up (\S+)", w.terminal.lines()[0]).group(1))
        return len(ages) >= 3

    w.terminal.await_that(is_older, "looks go on")
    expect(w.terminal.rows() == rows, "the rows have changed")
    w.terminal.type("Space")
    w.terminal.await_that(lambda: "FROZEN" not in w.terminal.screen() and w.terminal.rows() != rows, "the rows change again")


@test
def the_interval_is_doubled_and_halved_by_keys(w):
    home(w)
    w.terminal.type("+")
    w.terminal.await_text(r"every 400 ms")
    w.terminal.type("-")
    w.terminal.await_text(r"every 200 ms")


@test
def help_shows_the_keys_and_goes_away(w):
    home(w)
    w.terminal.type("?")
    w.terminal.await_text("freeze or unfreeze the screen")
    w.terminal.type("q")
    w.terminal.await_text(r"^POOL +STATE")


def is_filled(lines, height):
    """Of one look at the screen: a second one may show another size."""
    return len(lines) == height and lines[3].startswith("POOL") and any(line.startswith("orders") for line in lines) and lines[-1].startswith("q quit")


@test
def a_terminal_of_any_size_is_filled_and_one_too_small_is_told_so(w):
    home(w)
    w.terminal.resize(60, 12)
    w.terminal.await_that(lambda: is_filled(w.terminal.lines(), 12), "60 x 12 are drawn")
    w.terminal.resize(40, 10)
    w.terminal.await_that(lambda: is_filled(w.terminal.lines(), 10), "40 x 10 are drawn")
    w.terminal.resize(30, 8)
    w.terminal.await_text("The terminal is too small")
    w.terminal.resize(100, 24)
    w.terminal.await_text(r"^POOL +STATE.*USE99")
    expect("too small" not in w.terminal.screen(), "what was on the small screen is still there")


@test
def quitting_gives_the_terminal_back_as_it_was(w):
    home(w)
    w.terminal.type("q")
    w.terminal.await_text("^status 0")
    expect("POOL" not in w.terminal.screen(), "the table is still there")
    w.terminal.run(f"stty -g > {w.place.file('after')}; echo written")
    w.terminal.await_text("^written")
    with open(w.place.file("before"), encoding="ascii") as before, open(w.place.file("after"), encoding="ascii") as after:
        expect(before.read() == after.read(), "the terminal's settings are others than before")


def top_pid(w):
    """The process of this name in the terminal."""
    shell = int(w.terminal.tmux("display-message", "-p", "#{pane_pid}"))
    children = f"/proc/{shell}/task/{shell}/children"

    def found():
        with open(children, encoding="ascii") as file:
            words = file.read().split()
        return int(words[0]) if words else None

    return await_that(found, "top did not start")


@test
def ctrl_c_and_a_signal_give_the_terminal_back_too(w):
    for number, (status, end) in enumerate((("130", lambda pid: w.terminal.type("C-c")), ("143", lambda pid: os.kill(pid, signal.SIGTERM)))):
        w.terminal.run("clear")
        w.terminal.run(f"{w.cenote} top -i {EVERY} {w.subject.pid}; echo ended $?")
        w.terminal.await_text(r"^orders +\S+ +[█▒·]")
        end(top_pid(w))
        w.terminal.await_text(f"^ended {status}")
        w.terminal.run(f"stty -g > {w.place.file('after')}; echo written {number}")
        w.terminal.await_text(f"^written {number}")
        with open(w.place.file("before"), encoding="ascii") as before, open(w.place.file("after"), encoding="ascii") as after:
            expect(before.read() == after.read(), "the terminal's settings are others than before")


@test
def colours_and_wide_letters_are_left_out_where_they_are_not_wanted(w):
    w.terminal.run("clear")
    w.terminal.run(f"{w.cenote} top -i {EVERY} {w.subject.pid}; echo over $?")
    w.terminal.await_text(r"^orders +\S+ +█")
    expect(re.search(r"\x1b\[[0-9;]*3[1236]m", w.terminal.screen("-e")), "there are no colours")
    w.terminal.type("q")
    w.terminal.await_text("^over 0")
    w.terminal.run("clear")
    w.terminal.run(f"NO_COLOR=1 LC_ALL=C {w.cenote} top -i {EVERY} {w.subject.pid}; echo plain $?")
    w.terminal.await_text(r"^orders +\S+ +#")
    expect(not re.search(r"\x1b\[[0-9;]*[34][0-7]m", w.terminal.screen("-e")), "there are colours")
    w.terminal.type("q")
    w.terminal.await_text("^plain 0")


@test
def a_process_that_goes_is_reported_and_found_again_when_another_is_there(w):
    at = "unix:" + w.place.file("again")
    first = Subject(w.inspected, w.place, at)
    w.terminal.run("clear")
    w.terminal.run(f"{w.cenote} top -i {EVERY} {at}; echo left $?")
    w.terminal.await_text(rf"pid {first.pid} .*read-only")
    w.terminal.await_text(r"^orders ")
    w.terminal.type("p")
    w.terminal.await_text("This process is read-only")
    first.kill()
    w.terminal.await_text(r"^GONE +Cannot connect")
    w.terminal.await_text(r"^orders ")
    os.unlink(w.place.file("again"))
    second = Subject(w.inspected, w.place, at)
    w.terminal.await_text(rf"pid {second.pid} ")
    w.terminal.await_that(lambda: "GONE" not in w.terminal.screen(), "it is back")
    w.terminal.type("q")
    w.terminal.await_text("^left 0")
    second.end()


@test
def a_terminal_that_cannot_be_drawn_on_is_refused(w):
    w.terminal.run("clear")
    for name in ("dumb", "no-such-terminal"):
        w.terminal.run(f"TERM={name} {w.cenote} top {w.subject.pid}; echo {name} $?")
        w.terminal.await_text(rf'The terminal type "{name}" is not supported(.|\n)*^{name} 4$')


# ---- Without a terminal -------------------------------------------------------------------------


@test
def without_a_terminal_it_prints_one_plain_text(w):
    for arguments in (["--once"], []):
        answer = w.tool("top", "-i", "0.3", *arguments, str(w.subject.pid))
        expect(answer.status == 0 and not answer.err, str(answer))
        for pattern in (rf"^inspected, process {w.subject.pid}, up ", r"^pools \(2\)$", r"^orders +\S+ +[█▒·]+ +\d +\d +\d +\d+ +4 +\d", rf"reports .*{re.escape(w.forgotten)}",
                        r"^crew invoices", r"^supervisor service", r"^events \(\d+"):
            expect(re.search(pattern, answer.out, re.M), f"/{pattern}/ is not in\n{answer}")
        expect("\x1b" not in answer.out, "there are control sequences")


@test
def json_is_passed_through(w):
    answer = w.tool("top", "--json", str(w.subject.pid))
    expect(answer.status == 0, str(answer))
    names = {component["name"] for component in json.loads(answer.out)["components"]}
    expect({"orders", "reports", "invoices", "replicas", "service", "links"} <= names, f"only {names}")


@test
def nothing_is_named_where_there_is_one_and_a_list_where_there_are_more(w):
    answer = w.tool("top", "--once", "-i", "0")
    expect(answer.status == 0 and f"process {w.subject.pid}," in answer.out, str(answer))
    other = Subject(w.inspected, w.place, "127.0.0.1:0")
    answer = w.tool("top", "--once", "-i", "0")
    expect(answer.status == 2 and "Several processes have inspection enabled" in answer.err, str(answer))
    for subject in (w.subject, other):
        expect(re.search(rf"^ +{subject.pid} +inspected +{re.escape(subject.address)}", answer.err, re.M), f"{subject.pid} is not in\n{answer}")
    other.kill()
    answer = w.tool("top", "--once", "-i", "0")
    expect(answer.status == 0 and f"process {w.subject.pid}," in answer.out, f"the file of the killed one was believed: {answer}")


def for_everybody(program):
    """A copy of the program and of our libraries that another user can run, and its folder: the tree may lie below /root."""
    folder = tempfile.mkdtemp(prefix="cenote-")
    clean_up.append(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.chmod(folder, 0o755)
    linked = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    for path in [program, *re.findall(r"=> (\S+/libcenote\S*)", linked)]:
        shutil.copy(path, folder)
        os.chmod(os.path.join(folder, os.path.basename(path)), 0o755)
    return os.path.join(folder, os.path.basename(program)), folder


@test
def root_finds_the_process_of_another_user_and_sends_it_no_token_of_its_own(w):
    if os.geteuid() != 0:
        print("skipped: only root sees processes of other users")
        return
    nobody = 65534
    theirs = {name: value for name, value in w.place.environment.items() if name != "XDG_RUNTIME_DIR"}
    program, theirs["LD_LIBRARY_PATH"] = for_everybody(w.inspected)
    clean_up.append(lambda: shutil.rmtree("/tmp/cenote-65534", ignore_errors=True))
    subject = Subject(program, w.place, user=nobody, group=nobody, extra_groups=[], env=theirs)
    expect(subject.address == f"unix:/tmp/cenote-{nobody}/{subject.pid}.socket", subject.address)
    answer = w.tool("explain", "-q", str(subject.pid))
    expect(answer.status in (0, 1) and not answer.err, str(answer))
    empty = w.place.file("nothing")
    os.mkdir(empty)

    # A process of root's own in /tmp/cenote-0 is looked at first; those of other tests end, or have as many clients as they may.
    answers = []

    def is_found():
        answer = w.tool("top", "--once", "-i", "0", XDG_RUNTIME_DIR=empty)
        if f"process {subject.pid}," in answer.out or re.search(rf"^ +{subject.pid} +inspected ", answer.err, re.M):
            return True
        answers.append(answer)
        other = re.search(r"process (\d+)", answer.out + answer.err)
        refused = answer.status == 3 and "too many clients" in answer.err
        expect(refused or other and int(other[1]) != subject.pid, f"it is not found without its number: {answer}")
        return False

    await_that(is_found, lambda: f"processes of root's own are always there: {answers[-1]}")
    locked = Subject(program, w.place, "--token", "a-token-that-is-long-enough", user=nobody, group=nobody, extra_groups=[], env=theirs)
    answer = w.tool("metrics", str(locked.pid), CENOTE_TOKEN="a-token-that-is-long-enough")
    expect(answer.status == 3 and "CENOTE_TOKEN is not sent to another user's process" in answer.err, str(answer))
    answer = w.tool("metrics", "--token", "a-token-that-is-long-enough", str(locked.pid))
    expect(answer.status == 0, str(answer))
    # Who writes an address of his own for a process that is not his is not believed.
    lure = f"/tmp/cenote-{nobody}/{w.subject.pid}.address"
    with open(lure, "w", encoding="ascii") as file:
        file.write(subject.address + "\n")
    os.chown(lure, nobody, nobody)
    os.chmod(lure, 0o600)
    answer = w.tool("metrics", str(w.subject.pid), XDG_RUNTIME_DIR=empty)
    expect(answer.status == 3, str(answer))
    os.unlink(lure)


@test
def ctrl_c_between_two_looks_ends_it(w):
    process = w.tool.start("top", "--once", "-i", "30", str(w.subject.pid))
    await_that(lambda: connected(process.pid), "it asks nobody")
    process.send_signal(signal.SIGINT)
    await_that(lambda: process.poll() is not None, "it does not end")
    expect(process.returncode == 130, f"its status is {process.returncode}")


def connected(pid):
    """Whether it has a socket open: then signals are caught, and it has asked."""
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:") for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(run_all(prepare))
