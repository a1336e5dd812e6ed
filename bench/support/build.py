# SPDX-License-Identifier: MIT
"""Builds the contestants into build/bench. A contestant newer than its sources is left alone."""
import os
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "build", "bench")
CRATES = "/usr/share/cargo/registry"  # where Debian's librust packages put their sources

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
    return [bench("support", "bench.h"), bench("support", "transfer.h"), os.path.abspath(__file__)]


def build_support():
    target, source = out("bench.o"), bench("support", "bench.c")
    if not fresh(target, [source] + support_headers()):
        call(["gcc", *C_FLAGS, "-c", source, "-o", target])
    return target


def build_c(name, source, libraries=()):
    """One C or C++ source and the support object."""
    target, support = out(name), build_support()
    if not fresh(target, [source, support] + support_headers()):
        compiler = ["g++", *CXX_FLAGS] if source.endswith(".cc") else ["gcc", *C_FLAGS]
        call([*compiler, source, support, *libraries, "-o", target])
    return target


def folder_of_cenote():
    """build/release, unless BENCH_LIBDIR names a folder with another libcenote.so."""
    return os.path.abspath(os.environ.get("BENCH_LIBDIR") or os.path.join(ROOT, "build", "release"))


def build_cenote():
    folder = folder_of_cenote()
    if not os.environ.get("BENCH_LIBDIR"):
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            call(["cmake", "--preset", "release"], cwd=ROOT)
        call(["cmake", "--build", folder, "--target", "cenote-shared"], cwd=ROOT)
    library = os.path.join(folder, "libcenote.so")
    if not os.path.exists(library):
        raise SystemExit("bench: there is no %s" % library)
    flags = [library, "-Wl,-rpath," + folder]
    for name in ("queue-cenote", "queue-idle"):  # linked anew each time: the folder may be another one
        if os.path.exists(out(name)):
            os.remove(out(name))
    return (build_c("queue-cenote", bench("queue", "cenote.c"), flags),
            build_c("queue-idle", bench("queue", "idle.c"), flags))


def build_crossbeam():
    """Offline: every crate comes from Debian's packages. The copy keeps cargo's lock file out of the tree."""
    target = out("queue-crossbeam")
    sources = [bench("peers", "crossbeam", "Cargo.toml"), bench("peers", "crossbeam", "src", "main.rs")]
    if fresh(target, sources):
        return target
    crate, home = out("crossbeam", "crate"), out("crossbeam", "home")
    shutil.rmtree(crate, ignore_errors=True)
    shutil.copytree(bench("peers", "crossbeam"), crate)
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(home, "config.toml"), "w") as config:
        config.write('[source.crates-io]\nreplace-with = "debian"\n\n[source.debian]\ndirectory = "%s"\n' % CRATES)
    environment = {"PATH": "/usr/bin:/bin", "HOME": home, "CARGO_HOME": home, "RUSTC": "/usr/bin/rustc"}
    call(["/usr/bin/cargo", "build", "--release", "--offline", "--target-dir", out("crossbeam", "target")],
         cwd=crate, env=environment)
    shutil.copy(out("crossbeam", "target", "release", "crossbeam-contestant"), target)
    return target


def build_go():
    target, source = out("queue-go"), bench("peers", "go", "main.go")
    if not fresh(target, [source]):
        environment = {"PATH": "/usr/bin:/bin", "HOME": OUT, "GOCACHE": out("go-cache"), "GO111MODULE": "off"}
        call(["/usr/bin/go", "build", "-o", target, source], env=environment, cwd=OUT)
    return target


def build_glib():
    flags = call(["pkg-config", "--cflags", "--libs", "glib-2.0"]).split()
    return build_c("queue-glib", bench("peers", "glib", "glib.c"), flags)


def versions():
    """What the peers are, as Debian names them."""
    packages = ["librust-crossbeam-channel-dev", "rustc", "libconcurrentqueue-dev", "libtbb-dev", "golang-go",
                "libglib2.0-dev", "libc6", "gcc"]
    return call(["dpkg-query", "-W", "-f=${Package} ${Version}, ", *packages]).rstrip(", ")


def build_queue():
    """Every program of the queue benchmark, by name."""
    os.makedirs(OUT, exist_ok=True)
    cenote, idle = build_cenote()
    return {
        "cenote": cenote,
        "idle": idle,
        "floor": build_c("queue-floor", bench("queue", "floor.c")),
        "crossbeam": build_crossbeam(),
        "moodycamel": build_c("queue-moodycamel", bench("peers", "moodycamel", "moodycamel.cc")),
        "tbb": build_c("queue-tbb", bench("peers", "tbb", "tbb.cc"), ["-ltbb"]),
        "go": build_go(),
        "glib": build_glib(),
        "ring": build_c("queue-ring", bench("peers", "ring", "ring.c")),
        "pingpong": build_c("pingpong", bench("support", "pingpong.c")),
        "broken": build_c("queue-broken", bench("support", "broken.c")),
    }
