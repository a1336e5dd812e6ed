# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# tested_tree "commands": a build directory whose one test program does them
tested_tree() {
    fresh
    put program <<<"#!/usr/bin/env bash
$1"
    chmod +x "$tree/program"
    put CTestTestfile.cmake <<<"add_test(unit-thing \"$tree/program\")
set_tests_properties(unit-thing PROPERTIES TIMEOUT ${2:-60} LABELS real)"
}
tests() { "$@" "$tools/run-tests" "$tree"; }
passing='echo "pass it_works" >>"$CENOTE_TEST_LOG"'

tested_tree "$passing"
tests accepts "run-tests accepts a program whose tests pass"
tested_tree "$passing"'
echo "fail it_ends" >>"$CENOTE_TEST_LOG"; exit 1'
tests rejects "run-tests rejects a failed test" "1 passed, 1 failed"
tested_tree "$passing; kill -SEGV \$\$"
tests rejects "run-tests counts a crash as a failure" "1 passed, 1 failed"
tested_tree "$passing; exec sleep 30" 1
tests rejects "run-tests counts a program that hangs as a failure" "1 passed, 1 failed"
tested_tree 'exit 0'
tests rejects "run-tests counts a program without tests as a failure" "0 passed, 1 failed"
tested_tree "$passing"
cat >>"$tree/CTestTestfile.cmake" <<<"add_test(unit-long \"$tree/program\")"
put test-seconds.json <<<'{"unit-long": 9.5, "unit-thing": 0.1}'
accepts "run-tests begins with the longest of the last run" \
    bash -c "$tools/run-tests --jobs 1 $tree | head -n 1 | grep -q unit-long && grep -q unit-thing $tree/test-seconds.json"
tested_tree "$passing"
rejects "run-tests fails when nothing is chosen" "no such test program" "$tools/run-tests" --label world "$tree"

# The log that make check and make lint count in.
stages() {
    fresh
    put run <<<"set -u
. $tools/stage.sh
stage_log $tree/log
$1
stage_summary"
}
stages 'stage "one" true; stage "two" record pass "inner"'
accepts "a stage counts once, whether it logs or not" bash -c "bash $tree/run | grep -x '2 passed, 0 failed'"
stages 'stage "one" true; stage "two" sleep 1'
accepts "the seconds of each stage are in a table before the counts" \
    bash -c "bash $tree/run | tail -n 6 | tr -s ' \n' ' ' | grep -E '^ seconds stage [01] one [1-9][0-9]* two [1-9][0-9]* in all 2 passed, 0 failed'"
stages 'stage "one" true; stage "two" false'
rejects "a stage that fails in silence counts as a failure" "1 passed, 1 failed" bash "$tree/run"
stages 'stage_beside slow "one" bash -c "sleep 1; echo spoken"; stage "two" true; stage_join'
accepts "a stage beside others is counted, and shown where it is joined" bash -c "bash $tree/run | tr '\n' ' ' | grep -E '== two.*== one spoken.*one \(beside others\).*2 passed, 0 failed'"
stages 'stage_beside slow "one" false; stage "two" true; stage_join'
rejects "a stage beside others that fails is a failure" "1 passed, 1 failed" bash "$tree/run"
stages 'stage_beside slow "one" bash -c "kill -KILL \$PPID"; stage "two" true; stage_join'
rejects "a stage beside others that is killed is a failure" "1 passed, 1 failed" bash "$tree/run"
stages ':'
rejects "a run without any result is a failure" "0 passed, 0 failed" bash "$tree/run"

# tools/build --for-tests names the targets by this list.
tested_tree "$passing"
accepts "run-tests --list names the programs and runs none" \
    bash -c "[ \"\$($tools/run-tests --list --match thing $tree)\" = unit-thing ] && ! $tools/run-tests --list --match nothing $tree"
