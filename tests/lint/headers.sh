# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

header_tree() {
    fresh
    put include/cenote/thing.h <<<"$1"
}
header_tree '#include <stddef.h>
size_t cen_component(void);'
accepts "check-headers accepts a header that stands alone" "$tools/check-headers" "$tree"
header_tree 'size_t cen_component(void);'
rejects "check-headers rejects a header that needs another before it" "does not compile alone" "$tools/check-headers" "$tree"
header_tree '#define CEN_API
typedef struct cen_deadline { int ns_; } cen_deadline;

/* Waits. */
CEN_API int cen_thing_wait(int thing, cen_deadline deadline);'
rejects "check-headers rejects a deadline without a default" "cen_thing_wait takes a deadline" "$tools/check-headers" "$tree"
header_tree '#define CEN_API
typedef struct cen_deadline { int ns_; } cen_deadline;

/* Waits. CEN_DEFAULT: 5 s. */
CEN_API int cen_thing_wait(int thing, cen_deadline deadline);'
accepts "check-headers accepts a deadline with a default" "$tools/check-headers" "$tree"
header_tree 'int cen_component(int class);'
rejects "check-headers rejects a header that is not C++17" "g++ -x c++ -std=c++17" "$tools/check-headers" "$tree"
header_tree 'static inline int cen_component(void) { return ({ 1; }); }'
rejects "check-headers rejects a header that is not plain C11" "gcc -x c -std=c11" "$tools/check-headers" "$tree"
