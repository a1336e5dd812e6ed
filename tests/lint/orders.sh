# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# ordered_tree "row" "body": a source with one row in its table and one function
ordered_tree() {
    fresh
    put src/sync/queue.c <<END
/* SPDX-License-Identifier: MIT */
/*
 * Order table
 * tag  site | operation | order   | pairs with | carries | breaks if weakened
$1
 */
#include "base/atomic.h"

void push(queue *q)
{
$2
}
END
}
row=' * [Q1] push | store     | release | [Q1]       | bytes   | a pop reads old ones'
row2=' * [Q2] pop  | load      | acquire | [Q1]       | bytes   | a pop reads old ones'
use='    ceni_store_release(&q->head, 1); /* [Q1] */'

accepted() { ordered_tree "$2" "$3"; accepts "$1" "$tools/check-orders" "$tree"; }
rejected() { ordered_tree "$3" "$4"; rejects "$1" "$2" "$tools/check-orders" "$tree"; }

accepted "check-orders accepts a tag with its row" "$row" "$use"
accepted "check-orders accepts a tag in the comment above" "$row" "    /* [Q1] The consumer
     * may now pop. */
    ceni_store_release(&q->head, 1);"
accepted "check-orders accepts a tag anywhere in a long statement" "$row
$row2" "    if (q->open && /* [Q2] */
        ceni_load_acquire(&q->head) == 1) {
        ceni_store_release(&q->head,
                           1); /* [Q1] */
    }"
accepted "check-orders accepts a row of several lines" \
    " * [Q1] push | store | release | [Q1] | the bytes
 *      of the element | a pop reads old ones" "$use"
accepted "check-orders lets relaxed operations go without a tag" "$row" "$use
    ceni_add_relaxed(&q->pushes, 1); /* carries nothing */"
accepted "check-orders does not read comments as code" "$row" "$use
    /* An atomic_thread_fence or a ceni_load_acquire would not help here. */"

accepted "check-orders accepts a relaxed operation with a row of its own" "$row
 * [Q2] look | load | relaxed | [Q1] | nothing | it cannot be weaker" "$use
    ceni_load_relaxed(&q->head); /* [Q2] */"
accepted "check-orders accepts two operations and their tags in one statement" "$row
$row2" "    ceni_store_release(&q->head, ceni_load_acquire(&q->tail)); /* [Q1] [Q2] */"
accepted "check-orders accepts one row for a load and its store" \
    " * [Q1] push | load, store | acquire, release | [Q1] | bytes | a pop reads old ones" "$use
    ceni_load_acquire(&q->head); /* [Q1] */"
accepted "check-orders knows a tag from the mention of another" "$row
$row2" "    ceni_store_release(&q->head, 1); /* [Q1] and not [Q2] */
    ceni_load_acquire(&q->head); /* The element is whole by now. [Q2] */
    ceni_load_relaxed(&q->head); /* carries nothing, see [Q1] */"
ordered_tree "$row" "    look(q);"
put src/sync/queue.h <<<"static inline void look(queue *q) { $use }"
accepts "check-orders finds a header's rows in the source of the same name" "$tools/check-orders" "$tree"

rejected "check-orders rejects an operation without a tag" "ceni_load_acquire has no tag" "$row" "$use
    ceni_load_acquire(&q->head);"
rejected "check-orders does not take the neighbour's tag" "ceni_store_release has no tag" "$row" "$use
    ceni_store_release(&q->tail, 1);
    return;"
rejected "check-orders rejects a tag without a row" "[Q7] has no row" "$row" "$use
    ceni_store_release(&q->tail, 1); /* [Q7] */"
rejected "check-orders rejects a row without a use" "[Q2] has a row but no use" "$row
$row2" "$use"
rejected "check-orders rejects two rows for one tag" "[Q1] has a second row" "$row
$row" "$use"
rejected "check-orders rejects an order that differs from its row" 'whose row says "release"' "$row" \
    "    ceni_store_seq_cst(&q->head, 1); /* [Q1] */"
rejected "check-orders rejects an operation that was weakened to relaxed" 'whose row says "release"' "$row" \
    "    ceni_store_relaxed(&q->head, 1); /* [Q1] */"
rejected "check-orders wants a tag for each order of a statement" "ceni_load_acquire has no tag whose row says acquire" "$row" \
    "    ceni_store_release(&q->head, ceni_load_acquire(&q->tail)); /* [Q1] */"
rejected "check-orders rejects a row with a cell missing" "cells, not 6" " * [Q1] push | store | release | [Q1] | bytes" "$use"
rejected "check-orders rejects a partner that does not exist" "speaks of [Z9]" "${row/\[Q1\]   /[Z9]}" "$use"
rejected "check-orders rejects a raw explicit operation" "belongs in base/atomic.h" "$row" "$use
    atomic_store_explicit(&q->head, 1, memory_order_relaxed);"
rejected "check-orders rejects a fence" "atomic_thread_fence belongs" "$row" "$use
    atomic_thread_fence(5);"
rejected "check-orders rejects an operation with no order in its name" "has no order in its name" "$row" "$use
    atomic_fetch_add(&q->head, 1);"
