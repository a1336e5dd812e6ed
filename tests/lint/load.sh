# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# loaded_tree "commands": a build directory whose one test program does them
loaded_tree() {
    fresh
    put program <<<"#!/usr/bin/env bash
$1"
    chmod +x "$tree/program"
    put CTestTestfile.cmake <<<"add_test(unit-thing \"$tree/program\")
set_tests_properties(unit-thing PROPERTIES TIMEOUT 60 LABELS real)"
}
under_load() { "$@" "$tools/check-under-load" --load $((4 * $(nproc))) --times 1 --build "$tree" unit; }

# The planted test burns a fifth of a second of processor time and expects the clock to agree within a half: true on a quiet machine only.
loaded_tree 'python3 -c "
import time, sys
cpu, wall = time.process_time(), time.monotonic()
while time.process_time() - cpu < 0.2: pass
sys.exit(time.monotonic() - wall > 0.3)
" && word=pass || word=fail
echo "$word it_is_quick" >>"$CENOTE_TEST_LOG"; [ $word = pass ]'
under_load rejects "check-under-load rejects a test that depends on a quiet machine" "FAIL  run 1"
loaded_tree 'sleep 0.1 & wait $!
echo "pass it_waits" >>"$CENOTE_TEST_LOG"'
under_load accepts "check-under-load accepts a test that waits on a condition"
rejects "check-under-load rejects a stage that does not exist" "no stage named attic" \
    "$tools/check-under-load" --load 1 --times 1 --build "$tree" attic

# busy_are_gone: the processes whose ids the last run printed have ended
busy_are_gone() {
    local ids
    ids=$("$tools/check-under-load" --load 3 --times 1 --build "$tree" unit | sed -n 's/^beside 3 busy processes: //p')
    [ "$(wc -w <<<"$ids")" = 3 ] || return 1
    for id in $ids; do ! kill -0 "$id" 2>/dev/null || return 1; done
}
if busy_are_gone; then record pass "check-under-load ends its busy processes"; else failure "check-under-load ends its busy processes"; fi
