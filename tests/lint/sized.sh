# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# sized_tree HEADER ROWS [SOURCE]
sized_tree() {
    fresh
    put include/cenote/thing.h <<<"$1"
    put tests/sized_thing_test.c <<<"$2"
    put src/thing/thing.c <<<"${3:-}"
}
stats='typedef struct cen_thing_stats {
    size_t size; /* set by CEN_SIZED */
    int idle;
} cen_thing_stats;'
row='SIZED_OUTPUT(cen_thing_stats, call_look),'
sized_tree "$stats" "$row"
accepts "check-sized accepts a struct with its size and a row" "$tools/check-sized" "$tree"
sized_tree "$stats" "/* $row */"
rejects "check-sized rejects a struct that no table tries" "cen_thing_stats is in no table" "$tools/check-sized" "$tree"
sized_tree 'typedef struct cen_thing_report {
    int idle;
} cen_thing_report;' 'SIZED_OUTPUT(cen_thing_report, call_close),'
rejects "check-sized rejects a report that does not begin with its size" "does not begin with size_t size" "$tools/check-sized" "$tree"
sized_tree 'typedef struct cen_component {
    size_t size;
    int kind;
} cen_component;' ''
rejects "check-sized rejects a struct of any name that begins with its size and has no row" "cen_component is in no table" "$tools/check-sized" "$tree"
sized_tree "$stats"'
typedef struct cen_both {
    cen_thing_stats first, second;
} cen_both;' "$row"
rejects "check-sized rejects a sized struct within another" "holds a cen_thing_stats by value" "$tools/check-sized" "$tree"
sized_tree "$stats"'
CEN_API cen_thing_stats cen_thing_look(void);' "$row"
rejects "check-sized rejects a function that returns a sized struct" "returns a cen_thing_stats by value" "$tools/check-sized" "$tree"
sized_tree "$stats" "$row" 'static void look(void)
{
    cen_thing_stats stats;
}'
rejects "check-sized rejects an output that is not initialised" "thing.c:3: initialise it" "$tools/check-sized" "$tree"
sized_tree "$stats" "$row" 'typedef struct row {
    cen_thing_stats stats;
} row;
static void look(void)
{
    cen_thing_stats stats = CEN_SIZED(cen_thing_stats);
}'
accepts "check-sized accepts a field and an initialised output" "$tools/check-sized" "$tree"
sized_tree 'typedef struct cen_part_stats {
    int idle;
} cen_part_stats;' 'SIZED_PART(cen_part_stats, 4)'
accepts "check-sized accepts a part that never changes" "$tools/check-sized" "$tree"
sized_tree "$stats" "$row SIZED_OUTPUT(cen_gone_stats, call_look),"
rejects "check-sized rejects a row of a struct that is gone" "cen_gone_stats has a row" "$tools/check-sized" "$tree"
