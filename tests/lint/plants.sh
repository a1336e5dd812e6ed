# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# planted_tree "bugs" "lines of tests/planted": with a program that finds
# `sleepy` and `lost`, and never finds `blind`
planted_tree() {
    fresh
    put src/base/plant.h < <(
        printf '#define CENI_PLANT_LIST(X) \\\n    X(none, "nothing")'
        for bug in $1; do printf ' \\\n    X(%s, "the bug")' "$bug"; done
        printf '\n'
    )
    put tests/planted <<<"$2"
    put build/dev/tests/unit-thing <<'END'
#!/usr/bin/env bash
[ "$1" = it_works ] || { echo "no test has such a name" >&2; exit 1; }
case ${CENOTE_PLANT:-} in
    '' | blind) echo "ok   it_works" ;;
    sleepy | lost) echo "FAIL it_works"; exit 1 ;;
    *) echo "there is no planted bug named $CENOTE_PLANT" >&2; exit 2 ;;
esac
END
    put build/dev/tests/unit-broken <<<'#!/usr/bin/env bash
echo "FAIL it_works"; exit 1'
    chmod +x "$tree"/build/dev/tests/*
    mkdir -p "$tree/build/release"
    printf '%s\n' "${3:-int cen_a};" >"$tree/a.c"
    gcc -fPIC -c -o "$tree/a.o" "$tree/a.c"
    gcc -shared -o "$tree/build/release/libcenote.so" "$tree/a.o"
    ar rc "$tree/build/release/libcenote.a" "$tree/a.o"
}
plants() { "$@" "$tools/check-plants" "$tree"; }

planted_tree "sleepy lost" "sleepy unit-thing it_works
lost unit-thing it_works dev # with its preset"
plants accepts "check-plants accepts bugs that are all caught"
planted_tree "sleepy blind" "sleepy unit-thing it_works
blind unit-thing it_works"
plants rejects "check-plants rejects a bug that its test does not see" "the bug is not caught"
planted_tree "sleepy lost" "sleepy unit-thing it_works"
plants rejects "check-plants rejects a bug without a test" "lost has no line"
planted_tree "sleepy" "sleepy unit-thing it_works
gone unit-thing it_works"
plants rejects "check-plants rejects a line for a bug that is gone" "gone is not in src/base/plant.h"
planted_tree "sleepy" "sleepy unit-thing it_works
sleepy stress-thing it_works"
plants rejects "check-plants rejects a test that finds its bug by chance" "stress-thing finds bugs by chance"
planted_tree "sleepy" "sleepy unit-broken it_works"
plants rejects "check-plants rejects a test that fails without the bug" "without the bug the test says: FAIL"
printf 'pass dev unit-broken it_works\npass dev unit-thing it_works\n' >"$tree/results"
accepts "check-plants believes what has passed in the same run" env CENOTE_TEST_LOG="$tree/results" "$tools/check-plants" "$tree"
printf 'pass tsan unit-broken it_works\nfail dev unit-broken it_works\n' >"$tree/results"
rejects "check-plants does not believe a pass of another build" "without the bug the test says: FAIL" env CENOTE_TEST_LOG="$tree/results" "$tools/check-plants" "$tree"
planted_tree "sleepy" "sleepy unit-thing it_wirks"
plants rejects "check-plants does not take a missing test for a caught bug" "no test has such a name"
planted_tree "sleepy" "sleepy unit-thing it_works" 'int ceni_plant_chosen'
plants rejects "check-plants rejects a release with the switch inside" "contains ceni_plant_chosen"
planted_tree "sleepy" "sleepy unit-thing it_works"
printf 'int ceni_plant_chosen;\n' | gcc -shared -fPIC -x c -o "$tree/build/release/libcenote-route.so" -
plants rejects "check-plants rejects a release with the switch inside another of our libraries" "libcenote-route.so contains ceni_plant_chosen"
