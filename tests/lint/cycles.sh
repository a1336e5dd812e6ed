# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# compiled FILE...: the objects of these files of src, where a build has them
compiled() {
    local file
    for file in "$@"; do
        mkdir -p "$tree/build/CMakeFiles/cenote-objects.dir/$(dirname "$file")"
        gcc -O1 -c "$tree/$file" -o "$tree/build/CMakeFiles/cenote-objects.dir/$file.o"
    done
}

# Two files that call each other, and a third that only passes an address.
cycle_tree() {
    fresh
    put tools/cycles <<<'room 2'
    put src/room/one.c <<<'void two(void); void one(void); void one(void) { two(); two(); }'
    put src/room/two.c <<<'void one(void); void two(void); void two(void) { one(); one(); }'
    put src/room/three.c <<<'void one(void); void three(void (*)(void)); void four(void); void four(void) { three(one); }'
    compiled src/room/one.c src/room/two.c src/room/three.c
}

cycle_tree
accepts "check-cycles accepts a cycle within its limit" "$tools/check-cycles" --root "$tree" build
put tools/cycles <<<'other 2'
rejects "check-cycles rejects a cycle in a room without a limit" "room: 2 files call one another" "$tools/check-cycles" --root "$tree" build
rejects "check-cycles rejects a limit of no room" "there is no room other" "$tools/check-cycles" --root "$tree" build

cycle_tree
put src/room/two.c <<<'void four(void); void two(void); void two(void) { four(); four(); }'
put src/room/three.c <<<'void one(void); void four(void); void four(void) { one(); one(); }'
compiled src/room/two.c src/room/three.c
rejects "check-cycles rejects a cycle that has grown" "room: 3 files call one another in a cycle; the limit is 2" "$tools/check-cycles" --root "$tree" build
rejects "check-cycles does not raise a limit" "the limit is 2" "$tools/check-cycles" --update --root "$tree" build

cycle_tree
put src/room/two.c <<<'void two(void); void two(void) { }'
compiled src/room/two.c
accepts "check-cycles lowers a limit" "$tools/check-cycles" --update --root "$tree" build
accepts "check-cycles forgets a room without a cycle" test ! -s "$tree/tools/cycles"

fresh
put tools/cycles <<<''
rejects "check-cycles rejects a build that has nothing" "has no objects" "$tools/check-cycles" --root "$tree" build
