# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

scripts() { "$@" "$tools/check-scripts" "$tree"; }
fresh
put tools/good <<<'#!/usr/bin/env bash
echo "$1"'
scripts accepts "check-scripts accepts a sound script"
put tools/bad <<<'#!/usr/bin/env bash
for f in $(ls *.c); do [ $f == x ] && cd $f; rm -rf "$unset/"*; done'
scripts rejects "check-scripts rejects a careless script" "SC2"
rm "$tree/tools/bad"
put tools/worse <<<'#!/usr/bin/env python3
def f(:'
scripts rejects "check-scripts rejects Python that does not parse" "SyntaxError"
accepts "check-scripts reads only the files that are named" "$tools/check-scripts" "$tree" tools/good
rejects "check-scripts rejects a careless script that is named" "SyntaxError" "$tools/check-scripts" "$tree" tools/worse
