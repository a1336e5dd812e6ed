# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# exported_tree "declarations" "definitions" listed...
exported_tree() {
    fresh
    put include/cenote/thing.h <<<"$1"
    printf '%s\n' "$2" | gcc -shared -fPIC -x c -o "$tree/libcenote.so" -
    put src/cenote.symbols < <(printf '%s\n' "${@:3}" | sort)
}
symbols() { "$@" "$tools/check-symbols" "$tree/libcenote.so" "$tree"; }
both='int cen_a(void) { return 1; } int cen_b(void) { return 2; }'

exported_tree 'CEN_API int cen_a(void); CEN_API int
cen_b(void);' "$both" cen_a cen_b
symbols accepts "check-symbols accepts what is listed, declared and exported"
exported_tree 'CEN_API int cen_a(void); CEN_API int cen_b(void);' "$both" cen_a
symbols rejects "check-symbols rejects a symbol that is not listed" "cen_b: exported, but not in src/cenote.symbols"
exported_tree 'CEN_API int cen_a(void);' 'int cen_a(void) { return 1; }' cen_a cen_b
symbols rejects "check-symbols rejects a listed symbol that is gone" "cen_b: in src/cenote.symbols, but not exported"
exported_tree 'CEN_API int cen_a(void); CEN_API void cen_c(int x);' 'int cen_a(void) { return 1; }' cen_a
symbols rejects "check-symbols rejects a declared function that nobody wrote" "cen_c: declared in a public header, but not exported"
exported_tree 'CEN_API int cen_a(void);' "$both" cen_a cen_b
symbols rejects "check-symbols rejects an export that no header declares" "cen_b: exported, but declared in no public header"
