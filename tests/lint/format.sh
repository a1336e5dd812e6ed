# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

format() { "$@" "$tools/check-format" "$tree"; }
fresh
cp .clang-format "$tree"
put src/good.c <<<'int good(int a)
{
    return a + 1; /* a comment is left as it is, however   it is spaced */
}'
format accepts "check-format accepts a source in the form of .clang-format"
put src/bad.c <<<'int bad( int a ) { return a+1; }'
format rejects "check-format rejects a source in another form" "./src/bad.c:1: not in the form of .clang-format"
accepts "check-format reads only the files that are named" "$tools/check-format" "$tree" src/good.c
accepts "check-format --fix rewrites a source" "$tools/check-format" --fix "$tree" src/bad.c
format accepts "check-format accepts what --fix has written"
fresh
format rejects "check-format rejects a tree without sources" "there are no sources here"
