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
    return glob.glob(bench("rules", "*.h")) + [os.path.abspath(__file__)]


def build_object(name):
    """One of the C sources that contestants share."""
    target, source = out(name + ".o"), bench("rules", name + ".c")
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
    call(["/usr/bin/cargo", "build", "--release", "--offline", "--bin", which, "--target-dir", out(peer, "target")],
         cwd=crate, env=environment)
    shutil.copy(out(peer, "target", "release", which), target)
    return target


def build_go(name, *sources):
    """Offline: packages come from Debian's folder of them. Sources of several folders are copied into one."""
    target, folder = out(name), out(name + "-go")
    if not fresh(target, sources):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        copies = [os.path.join(folder, "_".join(source.split(os.sep)[-2:])) for source in sources]
        for source, copy in zip(sources, copies):
            shutil.copy(source, copy)
        environment = {"PATH": "/usr/bin:/bin", "HOME": OUT, "GOCACHE": out("go-cache"), "GO111MODULE": "off",
                       "GOPATH": "/usr/share/gocode"}
        call(["/usr/bin/go", "build", "-o", target, *copies], env=environment, cwd=OUT)
    return target


def write_script(target, *command):
    """So that a class is called like any other program."""
    with open(target, "w") as script:
        script.write('#!/bin/sh\nexec %s "$@"\n' % " ".join(command))
    os.chmod(target, 0o755)


def build_kotlin():
    """As many threads run coroutines as the others have loops; left to itself it would be one less than processors."""
    target, sources = out("async-kotlin"), [bench("rules", "Serve.kt"), bench("peers", "kotlin", "Pool.kt")]
    if not fresh(target, [*sources, os.path.abspath(__file__)]):
        call(["/usr/bin/kotlinc", "-nowarn", "-d", out("kotlin"), "-cp", ":".join(KOTLIN), *sources])
        write_script(target, "/usr/bin/java", "-Xms128m", "-Dkotlinx.coroutines.default.parallelism=2",
                     "-cp", ":".join([out("kotlin"), *KOTLIN]), "ServeKt")
    return target


def build_java(name, main, *sources, jars=()):
    """Classes of the Java library, and of jars that Debian's packages put into /usr/share/java."""
    target, jars = out(name), ["/usr/share/java/%s.jar" % jar for jar in jars]
    if not fresh(target, [*sources, os.path.abspath(__file__)]):
        classes = out(name + "-classes")
        shutil.rmtree(classes, ignore_errors=True)
        call(["/usr/bin/javac", "-d", classes, "-cp", ":".join([classes, *jars]), *sources])
        write_script(target, "/usr/bin/java", "-Xms256m", "-Xmx512m", "-cp", ":".join([classes, *jars]), main)
    return target


def build_script(name, interpreter, source):
    """Nothing to build: a script that finds those of its language in rules/, by BENCH_RULES. Debian's interpreters,
    whatever else the machine has; Ruby's with its compiler, which is off unless one asks for it."""
    environment = ["/usr/bin/env", "BENCH_RULES=" + bench("rules"), "PYTHONDONTWRITEBYTECODE=1"]
    write_script(out(name), *environment, "/usr/bin/" + interpreter, *["--yjit"] * (interpreter == "ruby"), source)
    return out(name)


def build_erlang(name, *sources):
    """As many schedulers as others have threads; start/0 of the first source finds its arguments by init."""
    target, beams = out(name), out(name + "-beams")
    if not fresh(target, [*sources, os.path.abspath(__file__)]):
        os.makedirs(beams, exist_ok=True)
        call(["/usr/bin/erlc", "-o", beams, *sources])
        module = os.path.splitext(os.path.basename(sources[0]))[0]
        erlang = ["/usr/bin/env", "ERL_CRASH_DUMP_SECONDS=0", "/usr/bin/erl", "+S", "2:2", "+P", "1000000", "-noinput"]
        write_script(target, *erlang, "-pa", beams, "-run", module, "start", "-extra")
    return target


def package_flags(*packages):
    return call(["pkg-config", "--cflags", "--libs", *packages]).split()


def versions(packages):
    """What the peers are, as Debian names them."""
    return call(["dpkg-query", "-W", "-f=${Package} ${Version}, ", *packages, "libc6", "gcc"]).rstrip(", ")


# ---- What all of them need ---------------------------------------------------

def build_probe():
    return build_c("pingpong", bench("rules", "pingpong.c"))


def build_with_server():
    """The tests' own way to start servers."""
    target, tests = out("with-server"), os.path.join(ROOT, "tests")
    sources = [os.path.join(tests, "servers", "with_server.c"), os.path.join(tests, "support", "servers.c"),
               *sorted(glob.glob(os.path.join(tests, "support", "servers", "*.c")))]
    if not fresh(target, sources):
        places = ["-I" + tests, '-DSERVERS_TEMPLATES="%s"' % out("server-templates")]
        call(["gcc", *C_FLAGS, *places, *sources, "-o", target])
    return target
