# SPDX-License-Identifier: MIT
"""The programs of routing's benchmark."""
import os

from build import C_FLAGS, OUT, bench, build_c, build_library, build_object, build_probe, build_user, call, out, write_script


def build_picks(name, sources, libraries=()):
    """Several sources in one program; it is linked anew each time, because the libraries may be others."""
    objects = [build_object(each) for each in ("bench", "picks")]
    call(["gcc", *C_FLAGS, *sources, *objects, *libraries, "-lm", "-o", out(name)])
    return out(name)


def build_called():
    """The floors as a shared library, compiled like cenote."""
    target = out("libroute-called.so")
    call(["gcc", *C_FLAGS, "-O2", "-fPIC", "-ftls-model=initial-exec", "-shared", bench("route", "called.c"), "-lurcu-bp", "-o", target])
    return target


def build_elixir():
    """As many schedulers as others have threads."""
    target = out("route-elixir")
    write_script(target, "/usr/bin/elixir", "--erl", "'+S 2:2'", bench("peers", "elixir", "route.exs"))
    return target


def build_route(wanted=None):
    """The programs of the benchmark of routing by name: those that are wanted, or all."""
    os.makedirs(OUT, exist_ok=True)
    with_net = not wanted or {"mux", "own-server"} & set(wanted)
    library = build_library(*["cenote-net"] * bool(with_net), "cenote-route") if with_net or "picks" in wanted else None
    picks = [bench("route", name + ".c") for name in ("picks", "floor", "circle", "mutex", "cenote", "quick")]
    ways = {
        "picks": lambda: build_picks("route-picks", picks, [build_called(), *library, "-lurcu-bp", "-Wl,-rpath," + OUT]),
        "broken": lambda: build_picks("route-broken", [bench("route", "broken.c")]),
        "elixir": build_elixir,
        "mux": lambda: build_user("route-mux", bench("route", "mux.c"), "echo", library),
        "epoll": lambda: build_c("route-epoll", bench("peers", "epoll", "mux.c"), "echo"),
        "own-server": lambda: build_user("route-own-server", bench("route", "own_server.c"), None, library),
        "server": lambda: build_c("route-server", bench("route", "server.c")),
        "pingpong": build_probe,
    }
    return {name: ways[name]() for name in wanted or ways}
