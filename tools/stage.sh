# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# To be sourced: stages of a longer run, and the one log that their results go to.
#
#   stage_log FILE               empties FILE; all results go there
#   stage "sentence" COMMAND...  runs one stage under a heading, with its time
#   stage_beside NAME "sentence" COMMAND...   begins one in the background: for what waits more than it computes
#   stage_join                   waits for those in the background, and shows each as a stage
#   record pass|fail "sentence"  one result of a script's own
#   stage_table FILE...          prints the seconds of each stage of these logs, and their sum
#   stage_summary                prints the table and "N passed, N failed"; false if any failed or none passed
#
# Test programs append their own lines to the same log. A stage whose command
# fails without having said so in the log counts as one failure, and one that
# succeeds without a line counts as one pass: nothing is lost, nothing twice.

stage_log() {
    export CENOTE_TEST_LOG=$1
    case $CENOTE_TEST_LOG in /*) ;; *) CENOTE_TEST_LOG=$PWD/$CENOTE_TEST_LOG ;; esac
    mkdir -p "$(dirname "$CENOTE_TEST_LOG")"
    : >"$CENOTE_TEST_LOG"
    : >"$CENOTE_TEST_LOG.seconds"
}

record() {
    [ "$1" = pass ] && printf 'ok   %s\n' "$2" || printf 'FAIL %s\n' "$2"
    [ -z "${CENOTE_TEST_LOG:-}" ] || printf '%s %s\n' "$1" "$2" >>"$CENOTE_TEST_LOG"
}

stage_count() { grep -c "^$1 " "${2:-$CENOTE_TEST_LOG}" || true; }

# Its output and its results are kept apart until stage_join, so that the stages in front stay readable.
stage_beside() {
    local name=$1 sentence=$2 own=$CENOTE_TEST_LOG.$1
    shift 2
    rm -f "$own" "$own".*
    trap stage_end_beside EXIT
    set -m # a process group of its own, so that all of it can be ended
    (
        stage_log "$own"
        stage "$sentence" "$@"
        [ "$(stage_count fail)" = 0 ]
    ) >"$own.output" 2>&1 </dev/null &
    set +m
    beside_names+=("$name")
    beside_ids+=($!)
}

# shellcheck disable=SC2317 # called by the trap
stage_end_beside() {
    local id
    for id in "${beside_ids[@]}"; do kill -- "-$id" 2>/dev/null; done
}

stage_join() {
    local i own
    for i in "${!beside_ids[@]}"; do
        own=$CENOTE_TEST_LOG.${beside_names[$i]}
        wait "${beside_ids[$i]}" || grep -q '^fail ' "$own" || echo "fail the stage ${beside_names[$i]} ended badly" >>"$own"
        cat "$own.output"
        cat "$own" >>"$CENOTE_TEST_LOG"
        sed 's/$/ (beside others)/' "$own.seconds" >>"$CENOTE_TEST_LOG.seconds"
    done
    beside_names=() beside_ids=()
}
beside_names=() beside_ids=()

stage() {
    local sentence=$1 began=$SECONDS status=0 failed lines
    shift
    printf '\n== %s\n' "$sentence"
    failed=$(stage_count fail)
    lines=$(wc -l <"$CENOTE_TEST_LOG")
    "$@" || status=$?
    if [ "$status" != 0 ] && [ "$(stage_count fail)" = "$failed" ]; then
        record fail "$sentence"
    elif [ "$status" = 0 ] && [ "$(wc -l <"$CENOTE_TEST_LOG")" = "$lines" ]; then
        record pass "$sentence"
    fi
    printf '== %s s\n' "$((SECONDS - began))"
    printf '%s %s\n' "$((SECONDS - began))" "$sentence" >>"$CENOTE_TEST_LOG.seconds"
}

stage_table() {
    local log files=()
    for log in "$@"; do [ ! -s "$log.seconds" ] || files+=("$log.seconds"); done
    [ ${#files[@]} -gt 0 ] || return 0
    printf '\n  seconds  stage\n'
    awk '!/ \(beside others\)$/ { sum += $1 } { printf "%9d  %s\n", $1, substr($0, length($1) + 2) } END { printf "%9d  in all\n", sum }' "${files[@]}"
}

stage_summary() {
    local passed failed
    passed=$(stage_count pass)
    failed=$(stage_count fail)
    stage_table "$CENOTE_TEST_LOG"
    printf '\n'
    [ "$failed" = 0 ] || sed -n 's/^fail /FAIL /p' "$CENOTE_TEST_LOG"
    printf '%s passed, %s failed\n' "$passed" "$failed"
    [ "$failed" = 0 ] && [ "$passed" != 0 ]
}
