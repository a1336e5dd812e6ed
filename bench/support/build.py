# SPDX-License-Identifier: MIT
"""Builds the contestants into build/bench. A contestant newer than its sources is left alone."""
import glob
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "build", "bench")
CRATES = "/usr/share/cargo/registry"  # where Debian's librust packages put their sources
KOTLIN = ["/usr/share/java/%s.jar" % name for name in ("kotlinx-coroutines-core", "kotlinx-coroutines-core-common", "kotlin-stdlib",
                                                       "atomicfu", "atomicfu-common")]
JARS = ["/usr/share/java/HikariCP.jar", "/usr/share/java/slf4j-api.jar", "/usr/share/java/slf4j-nop.jar"]

C_FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O3", "-g", "-DNDEBUG", "-pthread", "-Wall", "-Wextra",
           "-I" + os.path.join(ROOT, "include")]
CXX_FLAGS = ["-std=c++17", "-O3", "-g", "-DNDEBUG", "-pthread", "-Wall", "-Wextra"]


def bench(*parts):
    return os.path.join(ROOT, "bench", *parts)


def out(*parts):
    return os.path.join(OUT, *parts)


def call(command, **keywords):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **keywords)
    if result.returncode != 0:
        raise SystemExit("bench: %s failed:\n%s" % (" ".join(command), result.stdout))
    return result.stdout


def fresh(target, sources):
    return os.path.exists(target) and all(os.path.getmtime(target) >= os.path.getmtime(s) for s in sources)


def support_headers():
    return glob.glob(bench("support", "*.h")) + [os.path.abspath(__file__)]


def build_object(name):
    """One of the C sources that contestants share."""
    target, source = out(name + ".o"), bench("support", name + ".c")
    if not fresh(target, [source] + support_headers()):
        call(["gcc", *C_FLAGS, "-c", source, "-o", target])
    return target


def build_c(name, source, rules=None, libraries=()):
    """One C or C++ source, and the support objects: bench and the rules it plays by (transfer, lend, serve, tasks or echo)."""
    target = out(name)
    objects = [build_object(each) for each in ("bench", rules, "server" if rules == "serve" else None) if each]
    if not fresh(target, [source] + objects + support_headers()):
        compiler = ["g++", *CXX_FLAGS] if source.endswith(".cc") else ["gcc", *C_FLAGS]
        call([*compiler, source, *objects, *libraries, "-o", target])
    return target


# ---- The library under test --------------------------------------------------

def folder_of_cenote():
    """build/release, unless BENCH_LIBDIR names a folder with another libcenote.so."""
    return os.path.abspath(os.environ.get("BENCH_LIBDIR") or os.path.join(ROOT, "build", "release"))


def build_library(*others):
    """Builds libcenote.so, and what else is named of ours, and answers the linker's flags."""
    folder, names = folder_of_cenote(), [*others, "cenote"]
    if not os.environ.get("BENCH_LIBDIR"):
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            call(["cmake", "--preset", "release"], cwd=ROOT)
        targets = [name + kind for name in names for kind in ("-shared", "-static")]
        call(["cmake", "--build", folder, "--target", *targets], cwd=ROOT)
    libraries = [os.path.join(folder, "lib%s.so" % name) for name in names]
    for library in libraries:
        if not os.path.exists(library):
            raise SystemExit("bench: there is no %s" % library)
    return [*libraries, "-Wl,-rpath," + folder]


def build_user(name, source, rules, flags):
    """A program that uses cenote: linked anew each time, because the folder may be another one."""
    if os.path.exists(out(name)):
        os.remove(out(name))
    return build_c(name, source, rules, flags)


# ---- Other languages ---------------------------------------------------------

def build_crate(peer, which, *shared):
    """Offline: every crate comes from Debian's packages. The copy keeps cargo's lock file out of the tree, and
    beside the peer's sources lie those that it shares with others."""
    target = out("%s-%s" % (which, peer))
    sources = [bench("peers", peer, "Cargo.toml"), *glob.glob(bench("peers", peer, "src", "*.rs")), *shared]
    if fresh(target, sources):
        return target
    crate, home = out(peer, "crate"), out(peer, "home")
    shutil.rmtree(crate, ignore_errors=True)
    shutil.copytree(bench("peers", peer), crate)
    for source in shared:
        shutil.copy(source, os.path.join(crate, "src"))
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(home, "config.toml"), "w") as config:
        config.write('[source.crates-io]\nreplace-with = "debian"\n\n[source.debian]\ndirectory = "%s"\n' % CRATES)
    environment = {"PATH": "/usr/bin:/bin", "HOME": home, "CARGO_HOME": home, "RUSTC": "/usr/bin/rustc"}
    call(["/usr/bin/cargo", "build", "--release", "--offline", "--target-dir", out(peer, "target")],
         cwd=crate, env=environment)
    shutil.copy(out(peer, "target", "release", which), target)
    return target


def build_go(name, *sources):
    """Offline: packages come from Debian's folder of them."""
    target = out(name)
    if not fresh(target, sources):
        environment = {"PATH": "/usr/bin:/bin", "HOME": OUT, "GOCACHE": out("go-cache"), "GO111MODULE": "off",
                       "GOPATH": "/usr/share/gocode"}
        call(["/usr/bin/go", "build", "-o", target, *sources], env=environment, cwd=OUT)
    return target


def write_script(target, *command):
    """So that a class is called like any other program."""
    with open(target, "w") as script:
        script.write('#!/bin/sh\nexec %s "$@"\n' % " ".join(command))
    os.chmod(target, 0o755)


def build_hikari():
    target, source = out("pool-hikari"), bench("peers", "hikari", "Pool.java")
    if not fresh(target, [source, os.path.abspath(__file__)]):
        call(["/usr/bin/javac", "-d", out("hikari"), "-cp", ":".join(JARS), source])
        write_script(target, "/usr/bin/java", "-Xms128m", "-cp", ":".join([out("hikari"), *JARS]), "Pool")
    return target


def build_kotlin():
    """As many threads run coroutines as the others have loops; left to itself it would be one less than processors."""
    target, sources = out("async-kotlin"), sorted(glob.glob(bench("peers", "kotlin", "*.kt")))
    if not fresh(target, [*sources, os.path.abspath(__file__)]):
        call(["/usr/bin/kotlinc", "-nowarn", "-d", out("kotlin"), "-cp", ":".join(KOTLIN), *sources])
        write_script(target, "/usr/bin/java", "-Xms128m", "-Dkotlinx.coroutines.default.parallelism=2",
                     "-cp", ":".join([out("kotlin"), *KOTLIN]), "MainKt")
    return target


def build_java(name, main, *sources):
    """Classes of the Java library alone."""
    target = out(name)
    if not fresh(target, [*sources, os.path.abspath(__file__)]):
        call(["/usr/bin/javac", "-d", out(name + "-classes"), *sources])
        write_script(target, "/usr/bin/java", "-Xms256m", "-Xmx512m", "-cp", out(name + "-classes"), main)
    return target


def package_flags(*packages):
    return call(["pkg-config", "--cflags", "--libs", *packages]).split()


def versions(packages):
    """What the peers are, as Debian names them."""
    return call(["dpkg-query", "-W", "-f=${Package} ${Version}, ", *packages, "libc6", "gcc"]).rstrip(", ")


# ---- The benchmarks ----------------------------------------------------------

def build_probe():
    return build_c("pingpong", bench("support", "pingpong.c"))


def build_queue():
    """Every program of the queue benchmark, by name."""
    os.makedirs(OUT, exist_ok=True)
    library = build_library()

    def peer(name, source, *libraries):
        return build_c("queue-" + name, bench("peers", name, source), "transfer", libraries)

    return {
        "cenote": build_user("queue-cenote", bench("queue", "cenote.c"), "transfer", library),
        "idle": build_user("queue-idle", bench("queue", "idle.c"), None, library),
        "floor": build_c("queue-floor", bench("queue", "floor.c"), "transfer"),
        "crossbeam": build_crate("crossbeam", "queue"),
        "moodycamel": peer("moodycamel", "queue.cc"),
        "tbb": peer("tbb", "queue.cc", "-ltbb"),
        "go": build_go("queue-go", bench("peers", "go", "queue.go")),
        "glib": peer("glib", "queue.c", *package_flags("glib-2.0")),
        "ring": peer("ring", "queue.c"),
        "pingpong": build_probe(),
        "broken": build_c("queue-broken", bench("queue", "broken.c"), "transfer"),
    }


def pool_peer(name, source="pool.c", *libraries):
    return build_c("pool-" + name, bench("peers", name, source), "lend", libraries)


def pool_part(name, library=None):
    build = build_user if library else build_c
    return build("pool-" + name, bench("pool", name + ".c"), "lend", library or ())


def build_pool(wanted=None):
    """The programs of the pool benchmark by name: those that are wanted, or all."""
    os.makedirs(OUT, exist_ok=True)
    library = None if wanted and not {"cenote", "growth", "cancel", "memory"} & set(wanted) else build_library()
    ways = {
        "cenote": lambda: pool_part("cenote", library),
        "growth": lambda: pool_part("growth", library),
        "cancel": lambda: pool_part("cancel", library),
        "memory": lambda: pool_part("memory", library),
        "stack": lambda: pool_peer("stack"),
        "apr": lambda: pool_peer("apr", "pool.c", *package_flags("apr-util-1", "apr-1")),
        "moodycamel": lambda: pool_peer("moodycamel", "pool.cc"),
        "tbb": lambda: pool_peer("tbb", "pool.cc", "-ltbb"),
        "crossbeam": lambda: build_crate("crossbeam", "pool"),
        "hikari": build_hikari,
        "fifo": lambda: pool_peer("fifo"),
        "none": lambda: pool_part("none"),
        "broken": lambda: pool_part("broken"),
        "pingpong": build_probe,
    }
    return {name: ways[name]() for name in wanted or ways}


def async_part(name, library=None, rules="serve"):
    build = build_user if library else build_c
    return build("async-" + name, bench("async", name + ".c"), rules, library or ())


def build_async(wanted=None):
    """The programs of the asynchronous benchmark by name: those that are wanted, or all."""
    os.makedirs(OUT, exist_ok=True)
    library = build_library() if not wanted or {"cenote", "actor", "actors", "micro", "pending"} & set(wanted) else None
    ways = {
        "cenote": lambda: async_part("cenote", library),
        "actor": lambda: async_part("actor", library),
        "actors": lambda: async_part("actors", library),
        "micro": lambda: async_part("micro", library, None),
        "pending": lambda: async_part("pending", library, None),
        "libuv": lambda: build_c("async-libuv", bench("peers", "libuv", "async.c"), "serve", package_flags("libuv")),
        "puddle": lambda: build_go("async-puddle", *sorted(glob.glob(bench("peers", "puddle", "*.go")))),
        "kotlin": build_kotlin,
        "broken": lambda: async_part("broken"),
        "pingpong": build_probe,
    }
    return {name: ways[name]() for name in wanted or ways}


def crew_peer(name, source="crew.c", *libraries):
    return build_c("crew-" + name, bench("peers", name, source), "tasks", libraries)


def crew_variant(name, source, base):
    """A source that includes another one."""
    if not fresh(out(name), [source, base]) and os.path.exists(out(name)):
        os.remove(out(name))
    return build_c(name, source, "tasks")


def build_crew(wanted=None):
    """The programs of the crew benchmark by name: those that are wanted, or all."""
    os.makedirs(OUT, exist_ok=True)
    library = build_library() if not wanted or {"cenote", "bulk", "motives"} & set(wanted) else None
    rules, plain = bench("support", "tasks.rs"), bench("peers", "plain", "crew.c")
    java, go = (sorted(glob.glob(bench("peers", *where))) for where in (("java", "*.java"), ("go", "crew", "*.go")))
    ways = {
        "cenote": lambda: build_user("crew-cenote", bench("crew", "cenote.c"), "tasks", library),
        "bulk": lambda: build_user("crew-bulk", bench("crew", "bulk.c"), "tasks", library),
        "motives": lambda: build_user("crew-motives", bench("crew", "motives.c"), None, library),
        "plain": lambda: crew_peer("plain"),
        "intrusive": lambda: crew_variant("crew-intrusive", bench("peers", "plain", "intrusive.c"), plain),
        "glib": lambda: crew_peer("glib", "crew.c", *package_flags("glib-2.0")),
        "libuv": lambda: crew_peer("libuv", "crew.c", *package_flags("libuv")),
        "tbb": lambda: crew_peer("tbb", "crew.cc", "-ltbb"),
        "rayon": lambda: build_crate("rayon", "crew", rules),
        "tokio": lambda: build_crate("tokio", "crew", rules),
        "java": lambda: build_java("crew-java", "Rounds", *java),
        "go": lambda: build_go("crew-go", *go),
        "wake": lambda: build_c("crew-wake", bench("crew", "wake.c")),
        "broken": lambda: crew_variant("crew-broken", bench("crew", "broken.c"), plain),
        "pingpong": build_probe,
    }
    return {name: ways[name]() for name in wanted or ways}


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
    picks = [bench("route", name + ".c") for name in ("picks", "floor", "mutex", "cenote", "quick")]
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


def build_with_server():
    """The tests' own way to start servers."""
    target, tests = out("with-server"), os.path.join(ROOT, "tests")
    sources = [os.path.join(tests, "servers", "with_server.c"), os.path.join(tests, "support", "servers.c"),
               *sorted(glob.glob(os.path.join(tests, "support", "servers", "*.c")))]
    if not fresh(target, sources):
        places = ["-I" + tests, '-DSERVERS_TEMPLATES="%s"' % out("server-templates")]
        call(["gcc", *C_FLAGS, *places, *sources, "-o", target])
    return target


def build_drivers():
    """The programs of the benchmark of the drivers by name."""
    os.makedirs(OUT, exist_ok=True)
    library = build_library("cenote-pq", "cenote-redis")
    postgresql, hiredis, rules = package_flags("libpq"), package_flags("hiredis"), bench("drivers", "queries.c")
    return {
        "pq": build_user("drivers-pq", bench("drivers", "pq.c"), None, [rules, *library, *postgresql]),
        "loop": build_user("drivers-loop", bench("drivers", "loop.c"), None, [*library, *postgresql]),
        "redis": build_user("drivers-redis", bench("drivers", "redis.c"), None, [rules, *library, *hiredis]),
        "with-server": build_with_server(),
        "pingpong": build_probe(),
    }


def build_outage():
    """The program of the outage, with all pools in it, and what stands between it and the server."""
    os.makedirs(OUT, exist_ok=True)
    library = build_library("cenote-pq")
    call(["cmake", "--build", folder_of_cenote(), "--target", "cenote-faultproxy"], cwd=ROOT)
    sources = [bench("outage", name + ".c") for name in ("mutex", "apr", "cenote")]
    flags = [*sources, *library, *package_flags("libpq", "apr-util-1", "apr-1")]
    return {
        "outage": build_user("outage", bench("outage", "main.c"), None, flags),
        "faultproxy": os.path.join(folder_of_cenote(), "cenote-faultproxy"),
        "with-server": build_with_server(),
    }


if __name__ == "__main__":  # build.py [async|crew|route] NAME...: single programs of a benchmark, else the pool's, to try by hand
    names = sys.argv[1:]
    others = {"async": build_async, "crew": build_crew, "route": build_route}
    built = others[names[0]](names[1:]) if names[:1] and names[0] in others else build_pool(names)
    for path in built.values():
        print(path)
