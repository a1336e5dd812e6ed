# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# To be sourced at the root of the tree: what the browser's tests need, and where they find it.
#
#   furnish BUILD_DIRECTORY     the browser, and the programs that its page is of
#   furnish_browser             the browser alone
#
# What npm brings is installed below build/ the first time, exactly as package-lock.json says.

furnish() {
    furnish_browser || return 1
    export CENOTE_SHOP=$PWD/$1/tests/inspect-shop CENOTE_INSPECTED=$PWD/$1/examples/inspected
    local program
    for program in "$CENOTE_SHOP" "$CENOTE_INSPECTED"; do
        [ -x "$program" ] || { echo "$program is not built" >&2; return 1; }
    done
}

furnish_browser() {
    local here=$PWD/tests/inspect/browser place=$PWD/build/browser
    export CENOTE_BROWSER_MODULES=$place/node_modules
    CENOTE_CHROMIUM=$(command -v chromium) || { echo "there is no chromium: tools/install-packages check" >&2; return 1; }
    export CENOTE_CHROMIUM
    # The lock file is put there last: without it, what is there may be half of it.
    mkdir -p "$place"
    if [ ! -d "$CENOTE_BROWSER_MODULES" ] || ! cmp -s "$here/package-lock.json" "$place/installed.json"; then
        cp "$here/package.json" "$here/package-lock.json" "$place" &&
            (cd "$place" && npm ci --no-audit --no-fund --ignore-scripts) && cp "$here/package-lock.json" "$place/installed.json"
    fi
}
