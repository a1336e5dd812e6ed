# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

tic_tree() {
    fresh
    put tools/tics <<<"# phrases
1 whoever
0 in vain"
    put "${2:-docs/pool.md}" <<<"$1"
}
tics() { "$@" "$tools/check-tics" "$tree"; }

tic_tree 'Whoever waits is served.'
tics accepts "check-tics accepts as many as are recorded"
tic_tree 'Whoever waits is served, and whoever gives goes on.'
tics rejects "check-tics rejects one more" '"whoever": 2, where there were 1'
tic_tree '/* It waits in
 * vain. */' src/base/list.c
tics rejects "check-tics rejects a phrase that spans two lines of a comment" '"in vain": 1'
tic_tree 'The waiter is served.'
tics accepts "check-tics accepts fewer"
"$tools/check-tics" --update "$tree" >/dev/null
grep -qx '0 whoever' "$tree/tools/tics" && tic_now=0
put docs/pool.md <<<'Whoever waits is served.'
tics rejects "check-tics rejects what an update has recorded as gone" "where there were ${tic_now-1}"
tic_tree 'Nothing.'
put tools/tics <<<'# none'
tics rejects "check-tics rejects an empty list" "no phrases"
