# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

layered_tree() {
    fresh
    put src/LAYERS <<-END
	# room library may include
	base  libcenote  -
	port  libcenote  base
	sync  libcenote  port base
	END
    put src/base/list.h <<<'#include <stddef.h>'
    put src/port/clock.c <<<'#include "base/list.h"'
    put src/sync/queue.c <<<'#include "port/clock.h"'
    put include/cenote/queue.h <<<'#include <stddef.h>'
}

layered_tree
accepts "check-layers accepts includes that go down" "$tools/check-layers" "$tree"
put src/base/list.c <<<'#include "sync/queue.h"'
rejects "check-layers rejects an upward include" "base may not include sync" "$tools/check-layers" "$tree"

layered_tree
put src/sync/queue.c <<<'  #  include "../port/clock.h"'
rejects "check-layers rejects an include by a way around" 'is not written as "room/file.h"' "$tools/check-layers" "$tree"

layered_tree
put include/cenote/queue.h <<<'#include "base/list.h"'
rejects "check-layers rejects a public header that includes src" "a public header may not include" "$tools/check-layers" "$tree"

layered_tree
put src/attic/old.c <<<'#include <stdio.h>'
rejects "check-layers rejects a folder that is no room" "is no room" "$tools/check-layers" "$tree"

layered_tree
put src/LAYERS <<-'END'
	base  libcenote  sync
	port  libcenote  base
	sync  libcenote  port base
	END
rejects "check-layers rejects rooms that stand on one another" "stand on one another" "$tools/check-layers" "$tree"

layered_tree
put src/sync/queue.c <<<'#include <urcu/urcu-bp.h>'
rejects "check-layers rejects another room than the seam that includes a foreign library" "is included by src/rcu alone" \
    "$tools/check-layers" "$tree"

put src/sync/queue.c <<<'#include <uv.h>'
rejects "check-layers names all rooms that may include a foreign library" "is included by src/net and src/faultproxy alone" \
    "$tools/check-layers" "$tree"

# The symbols: a library of two objects, as CMake would leave them.
built_tree() {
    layered_tree
    local objects=$tree/build/CMakeFiles/cenote-objects.dir/src
    mkdir -p "$objects/base" "$objects/sync"
    printf '%s\n' "$1" | gcc -fPIC -x c -c -o "$objects/base/list.c.o" -
    printf '%s\n' "$2" | gcc -fPIC -x c -c -o "$objects/sync/queue.c.o" -
    gcc -shared -o "$tree/build/libcenote.so" "$objects"/*/*.o "${@:3}"
}

built_tree 'int ceni_low(void) { return 1; }' 'int ceni_low(void); int cen_high(void) { return ceni_low(); }'
accepts "check-layers accepts symbols that go down" "$tools/check-layers" --library "$tree/build" "$tree"
built_tree 'int cen_high(void); int ceni_low(void) { return cen_high(); }' 'int cen_high(void) { return 1; }'
rejects "check-layers rejects an upward call without an include" "base may not use cen_high of sync" \
    "$tools/check-layers" --library "$tree/build" "$tree"
built_tree 'int ceni_low(void) { return 1; }' 'int foreign(void); int cen_high(void) { return foreign(); }'
rejects "check-layers rejects a symbol that is not of libc" "needs foreign" "$tools/check-layers" --library "$tree/build" "$tree"
built_tree 'int ceni_low(void) { return 1; }' 'double cos(double); double cen_high(double x) { return cos(x); }' -lm
rejects "check-layers rejects another library" "needs the library libm" "$tools/check-layers" --library "$tree/build" "$tree"

# @room: only what is public.
behind_the_wall() {
    built_tree 'int ceni_low(void) { return 1; } int cen_low(void) { return 1; }' "$1"
    put src/LAYERS <<-'END'
	base  libcenote  -
	port  libcenote  base
	sync  libcenote  @base port
	END
}
behind_the_wall 'int cen_low(void); int cen_high(void) { return cen_low(); }'
accepts "check-layers accepts a public call along an edge for public ones" "$tools/check-layers" --library "$tree/build" "$tree"
behind_the_wall 'int ceni_low(void); int cen_high(void) { return ceni_low(); }'
rejects "check-layers rejects a private call along an edge for public ones" "sync may not use ceni_low of base" \
    "$tools/check-layers" --library "$tree/build" "$tree"
put src/sync/queue.c <<<'#include "base/list.h"'
rejects "check-layers rejects a private include along an edge for public ones" "sync may not include base" \
    "$tools/check-layers" "$tree"

# Two libraries, as CMake would leave them: rcu in libcenote-route, over base in libcenote.
# two_built "rcu's source" "folder for its objects" [linker option...]
two_built() {
    built_tree 'int cen_low(void) { return 1; }' 'int cen_high(void) { return 2; }' -Wl,-soname,libcenote.so.0
    put src/LAYERS <<-'END'
	base  libcenote        -
	port  libcenote        base
	sync  libcenote        port base
	rcu   libcenote-route  base
	END
    put src/cenote.symbols <<<cen_low
    put src/cenote-route.symbols <<<cen_read
    local objects=$tree/build/CMakeFiles/$2-objects.dir/src/rcu upper=$tree/build/CMakeFiles/cenote-route-objects.dir/src/rcu
    mkdir -p "$objects" "$upper"
    printf '%s\n' 'int ceni_other;' | gcc -fPIC -x c -c -o "$upper/other.c.o" -
    printf '%s\n' "$1" | gcc -fPIC -x c -c -o "$objects/read.c.o" -
    gcc -shared -o "$tree/build/libcenote-route.so" "$objects"/*.o "$tree/build/libcenote.so" "${@:3}"
}
read='int cen_low(void); int cen_read(void) { return cen_low(); }'

two_built "$read" cenote-route
accepts "check-layers accepts a library that stands on the one below" "$tools/check-layers" --library "$tree/build" "$tree"
two_built "$read" cenote
rejects "check-layers rejects a room in the wrong library" "rcu is in libcenote, but src/LAYERS says libcenote-route" \
    "$tools/check-layers" --library "$tree/build" "$tree"
two_built 'double cos(double); double cen_read(double x) { return cos(x); }' cenote-route -lm
rejects "check-layers rejects an upper library that needs a foreign one" "libcenote-route.so: needs the library libm" \
    "$tools/check-layers" --library "$tree/build" "$tree"
two_built 'int cen_high(void); int cen_read(void) { return cen_high(); }' cenote-route
rejects "check-layers follows the edges from one library into another" "rcu may not use cen_high of sync" \
    "$tools/check-layers" --library "$tree/build" "$tree"
two_built 'int cen_low(void) { return 2; }' cenote-route
rejects "check-layers rejects a name that two libraries define" "cen_low: rcu has it (libcenote-route), and so has base" \
    "$tools/check-layers" --library "$tree/build" "$tree"
two_built "$read" cenote-route
rm "$tree/build/libcenote-route.so"
rejects "check-layers rejects a library that has a list and is not built" "has no libcenote-route.so" \
    "$tools/check-layers" --library "$tree/build" "$tree"
put src/LAYERS <<-'END'
	rcu   libcenote-rote  -
	END
rejects "check-layers rejects a library that is none of ours" "there is no library libcenote-rote" "$tools/check-layers" "$tree"

# A program of ours is one room, and stands on what its line in the checker says.
# program_built "source" [linker option...]
program_built() {
    built_tree 'int ceni_low(void) { return 1; }' 'int ceni_low(void); int cen_high(void) { return ceni_low(); }'
    put src/LAYERS <<-'END'
	base        libcenote          -
	port        libcenote          base
	sync        libcenote          port base
	faultproxy  cenote-faultproxy  -
	END
    local objects=$tree/build/CMakeFiles/cenote-faultproxy.dir/src/faultproxy
    mkdir -p "$objects"
    printf '%s\n' "$1" | gcc -x c -c -o "$objects/main.c.o" -
    gcc -o "$tree/build/cenote-faultproxy" "$objects/main.c.o" "$tree/build/CMakeFiles/cenote-objects.dir/src/base/list.c.o" "${@:2}"
}
program_built 'int main(void) { return 0; }'
accepts "check-layers accepts a program that stands on libc" "$tools/check-layers" --library "$tree/build" "$tree"
program_built 'int ceni_low(void); int main(void) { return ceni_low(); }'
rejects "check-layers rejects a program that uses a room it has no edge to" "faultproxy may not use ceni_low of base" \
    "$tools/check-layers" --library "$tree/build" "$tree"
program_built 'double cos(double); int main(int n, char **a) { return a ? (int)cos(n) : 0; }' -lm
rejects "check-layers rejects a program that needs a foreign library" "cenote-faultproxy: needs the library libm" \
    "$tools/check-layers" --library "$tree/build" "$tree"
