# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# recorded_tree "line of the record"...: a repository whose commits have one line each, and the last is not committed
recorded_tree() {
    fresh
    git -C "$tree" init -q
    local line
    for line in "${@:1:$#-1}"; do
        put tools/instructions.record <<<"$line"
        git -C "$tree" add tools
        git -C "$tree" -c user.name=nobody -c user.email=nobody@localhost commit -q -m "record it"
    done
    put tools/instructions.record <<<"${*: -1}"
}
reasons() { "$@" "$tools/check-instructions" --reasons "$tree"; }

recorded_tree 'take+give 100.00 first' 'take+give 100.00 first'
reasons accepts "check-instructions accepts a record that has not changed"
recorded_tree 'take+give 100.00 first' 'take+give 120.00 a check was added'
reasons accepts "check-instructions accepts a changed count with a new reason"
recorded_tree 'take+give 100.00 first' 'take+give 120.00 first'
reasons rejects "check-instructions rejects a changed count with the old reason" "for the same reason: first"
recorded_tree 'take+give 100.00 first' 'take+give 120.00 first' 'take+give 120.00 first'
reasons rejects "check-instructions rejects a count that was committed with the old reason" "for the same reason: first"
recorded_tree 'take+give 100.00 first' 'take+give 120.00 first' 'take+give 120.00 a check was added'
reasons accepts "check-instructions accepts a reason that was given later"
recorded_tree 'take+give 100.00 first' 'take+give 120.00'
reasons rejects "check-instructions rejects a count without a reason" "a line is a name, a count and a reason"
rejects "check-instructions records nothing without a reason" "wants --because" "$tools/check-instructions" --update
