# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# exported LIBRARY "definitions" listed...: a shared library in the tree's build, and its list
exported() {
    mkdir -p "$tree/build"
    printf '%s\n' "$2" | gcc -shared -fPIC -x c -o "$tree/build/lib$1.so" -
    put "src/$1.symbols" < <(printf '%s\n' "${@:3}" | sort)
}
# exported_tree "declarations" "definitions" listed...: only libcenote
exported_tree() {
    fresh
    put include/cenote/thing.h <<<"$1"
    exported cenote "${@:2}"
}
symbols() { "$@" "$tools/check-symbols" "$tree/build" "$tree"; }
both='int cen_a(void) { return 1; } int cen_b(void) { return 2; }'

exported_tree 'CEN_API int cen_a(void); CEN_API int
cen_b(void);' "$both" cen_a cen_b
symbols accepts "check-symbols accepts what is listed, declared and exported"
exported_tree 'CEN_API int cen_a(void); CEN_API int cen_b(void);' "$both" cen_a
symbols rejects "check-symbols rejects a symbol that is not listed" "cen_b: exported by libcenote, but not in src/cenote.symbols"
exported_tree 'CEN_API int cen_a(void);' 'int cen_a(void) { return 1; }' cen_a cen_b
symbols rejects "check-symbols rejects a listed symbol that is gone" "cen_b: in src/cenote.symbols, but not exported"
exported_tree 'CEN_API int cen_a(void); CEN_API void cen_c(int x);' 'int cen_a(void) { return 1; }' cen_a
symbols rejects "check-symbols rejects a declared function that nobody wrote" \
    "cen_c: declared in a public header of libcenote, but not exported"
exported_tree 'CEN_API int cen_a(void);' "$both" cen_a cen_b
symbols rejects "check-symbols rejects an export that no header declares" "cen_b: exported by libcenote, but declared in no public header"

# Two libraries: the upper one uses a private name of the lower.
# two_libraries "what the lower defines beside cen_a" "the upper's definitions"
two_libraries() {
    exported_tree 'CEN_API int cen_a(void);' "int cen_a(void) { return 1; } $1" cen_a
    put include/cenote/other.h <<'END'
/*
 * Something to be read. libcenote-route.
 */
CEN_API int cen_r(void);
END
    exported cenote-route "$2" cen_r
}
needed='int ceni_p(void) { return 1; }'
needs='int ceni_p(void); int cen_r(void) { return ceni_p(); }'

two_libraries "$needed" "$needs"
symbols accepts "check-symbols accepts a private name that a library of ours needs"
two_libraries "$needed int ceni_q(void) { return 2; }" "$needs"
symbols rejects "check-symbols rejects a private name that nobody needs" "ceni_q: private and exported by libcenote, but no library of ours needs it"
two_libraries "" "$needs"
symbols rejects "check-symbols rejects a need of a private name that is not exported" "ceni_p: needed by a library of ours"
two_libraries "$needed" "$needs int ceni_s(void) { return 3; }"
symbols rejects "check-symbols rejects a private name exported by an upper library" "ceni_s: private, and exported by libcenote-route"
two_libraries "$needed int cen_r(void) { return 3; }" "$needs"
symbols rejects "check-symbols rejects a function in the library below the one its header names" "cen_r: exported by libcenote, but"
two_libraries "$needed" "$needs"
sed -i '/read/d' "$tree/include/cenote/other.h"
symbols rejects "check-symbols rejects a header that does not say that it is of an upper library" \
    "cen_r: exported by libcenote-route, but declared in no public header whose head says"
two_libraries "$needed" "$needs"
sed -i 's/-route/-rote/' "$tree/include/cenote/other.h"
symbols rejects "check-symbols rejects a header of a library that is none" "libcenote-rote, which is no library of ours"
two_libraries "$needed" "$needs"
rm "$tree/build/libcenote-route.so"
symbols rejects "check-symbols rejects a list without its library" "libcenote-route.so is not there, and src/cenote-route.symbols is"
two_libraries "$needed" "$needs"
rm "$tree/src/cenote-route.symbols"
symbols rejects "check-symbols rejects a library without its list" "src/cenote-route.symbols: not there, but libcenote-route is built"
two_libraries "" "$needs"
rm "$tree/src/cenote-route.symbols" "$tree/build/libcenote-route.so"
symbols accepts "check-symbols goes on without a library that is not there yet"
