# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

worded_tree() {
    fresh
    put "${2:-src/base/list.c}" <<<"/* SPDX-License-Identifier: MIT */
$1"
}
words() { "$@" "$tools/check-words" "$tree"; }
# Put together here, so that this file does not contain what it looks for.
mark=TO; mark+=DO

worded_tree 'static int length; /* It is not a list of todos. */'
words accepts "check-words accepts a plain source"
worded_tree "/* $mark: think. */"
words rejects "check-words rejects an unfinished mark" "unfinished"
worded_tree 'static int length;' src/base/list_utils.c
words rejects "check-words rejects a file name that says nothing" "the name says nothing"
worded_tree 'void *p = malloc(3);'
words rejects "check-words rejects raw memory outside base/alloc" "memory comes from base/alloc.h"
worded_tree 'void f(queue *q) { q->allocator->free(q); ceni_free(q); }
/* free(q) would not do. */'
words accepts "check-words accepts the allocator's own free"
worded_tree '    pthread_mutex_lock(&mu);'
words rejects "check-words rejects raw threads outside port" "threads and sleeping come from port/port.h"
worded_tree '    usleep(10);' src/port/linux/sleep.c
words accepts "check-words lets port sleep"
fresh
put src/base/list.c <<<'static int length;'
words rejects "check-words rejects a source without its licence line" "no SPDX line"
worded_tree $'\tstatic int length;'
words rejects "check-words rejects a tab" "a tab"
worded_tree 'static int length; '
words rejects "check-words rejects blanks at the end of a line" "blanks at the end"
worded_tree "static int $(printf 'x%.0s' {1..132});"
words rejects "check-words rejects a line of more than 132 columns" "more than 132 columns"
worded_tree "$(printf 'int x;\n%.0s' {1..148})" bench/peers/stack/pool.c
words accepts "check-words accepts a harness of 149 lines"
worded_tree "$(printf 'int x;\n%.0s' {1..149})" bench/peers/stack/pool.c
words rejects "check-words rejects a harness of 150 lines" "a peer's harness is thin"
