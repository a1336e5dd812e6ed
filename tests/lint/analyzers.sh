# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

analyzed_tree() {
    fresh
    put include/cenote/thing.h <<<'int cen_component(const int *p);'
    put src/base/thing.c <<<"$1"
}
analyzers() { "$@" "$tools/check-analyzers" "$tree"; }

analyzed_tree 'int cen_component(const int *p) { return p ? *p : 0; }'
analyzers accepts "the analyzers accept a sound function"
analyzed_tree 'int cen_component(int n) { int a[4] = {0}; if (n) a[4] = n; return a[0]; }'
analyzers rejects "cppcheck finds a write past the end of an array" "[arrayIndexOutOfBounds]"
analyzed_tree 'int cen_component(const int *p) { int n = 0; if (!p) n = 1; return n ? *p : 0; }'
analyzers rejects "the clang analyzer finds a way to a null pointer" "core.NullDereference"
put src/base/sound.c <<<'int cen_sound(void) { return 0; }'
accepts "the analyzers read only the files that are named" "$tools/check-analyzers" "$tree" src/base/sound.c
rejects "the analyzers read each file that is named" "core.NullDereference" "$tools/check-analyzers" "$tree" src/base/sound.c src/base/thing.c
analyzed_tree 'int cen_component(const int *p) { // cppcheck-suppress nullPointer
return *p; }'
analyzers rejects "the analyzers reject a suppression without a reason" "needs its reason"

# The calls that banned.h takes away.
for compiler in gcc clang; do
    fresh
    put plain.c <<<'#include <string.h>
int f(char *to, const char *from) { memcpy(to, from, strlen(from)); return snprintf(to, 4, "%s", from); }'
    put banned.c <<<'#include <string.h>
void f(char *to, const char *from) { strcpy(to, from); }'
    compile=("$compiler" -std=gnu11 -D_GNU_SOURCE -Werror -O2 -include src/base/banned.h -fsyntax-only)
    accepts "banned.h lets the safe calls of $compiler through" "${compile[@]}" "$tree/plain.c"
    rejects "banned.h does not let $compiler compile strcpy" "poisoned" "${compile[@]}" "$tree/banned.c"
done
