# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2016 # sourced by tools/check-lint-tools; backquotes are text here

# guarded_tree [DECLARATIONS [TAG]]: a tree whose page is up to date, with tests in three languages
guarded_tree() {
    local declared tag=${2-/* guarantees: queue.order */}
    declared=${1-"queue.order   An element that is pushed
              is popped.
queue.waking  No thread sleeps beside an element."}
    fresh
    put tests/guarantees <<<"# What is promised

An introduction.

## Queue
What queue.h promises.

$declared"
    put tests/unit/queue_test.c <<<"$tag
TEST(a_push_is_popped)
{
}

/* guarantees: queue.order, queue.waking */
EXPLORE(nobody_sleeps_beside_an_element, 3)
{
}

/* guarantees: queue.waking */
PLAIN_TEST(one_case_happens)
{
}
TEST(it_proves_nothing_that_is_declared)
{
}
/* TEST(it_is_only_spoken_of) */"
    put tests/page_test.mjs <<<"// guarantees: queue.waking
await test('a page shows it', async () => {});"
    put tests/table_test.py <<<"class Table:
    # guarantees: queue.waking
    def test_it_is_in_the_table(self):
        pass"
    put docs/guarantees.md <<<''
    quietly "$tools/guarantees" --write "$tree"
}
guarantees() { "$@" "$tools/guarantees" --check "$tree"; }
shows() { accepts "$1" grep -qF -- "$2" "$tree/docs/guarantees.md"; }
# elsewhere "rows of the table"
elsewhere() {
    guarded_tree
    put docs/elsewhere.md <<<"| pool | what happened | here | test |
|---|---|---|---|
$1"
}

guarded_tree
guarantees accepts "guarantees accepts a page that it wrote"
accepts "guarantees prints how many there are" bash -c \
    "$tools/guarantees --check $tree | grep -x '2 guarantees, 5 tests with a tag, 0 rows of docs/elsewhere.md'"
shows "guarantees joins the lines of a sentence and names its tests" \
    '| An element that is pushed is popped. `queue.order` | 2: `a_push_is_popped`, `nobody_sleeps_beside_an_element` |'
shows "guarantees shows three names, one of each file first" \
    '4: `a page shows it`, `test_it_is_in_the_table`, `nobody_sleeps_beside_an_element` and 1 more |'
shows "guarantees links the files with their number of tests" '[unit/queue_test.c](../tests/unit/queue_test.c) (2)'
sed -i 's/a_push_is_popped/a_push_is_lost/' "$tree/docs/guarantees.md"
guarantees rejects "guarantees rejects a page that was edited by hand" "docs/guarantees.md is not what tests/guarantees and the tags say"
guarded_tree
sed -i 's/TEST(a_push_is_popped)/TEST(a_push_is_popped_once)/' "$tree/tests/unit/queue_test.c"
guarantees rejects "guarantees rejects a page with the former name of a test" "docs/guarantees.md is not what"
guarded_tree
rm "$tree/docs/guarantees.md"
guarantees rejects "guarantees rejects a page that is missing" "run tools/guarantees --write"

guarded_tree "queue.order  In order." '/* guarantees: queue.order */'
guarantees rejects "guarantees rejects a key that is not declared" \
    "tests/unit/queue_test.c:6: tests/guarantees does not declare queue.waking"
guarded_tree "queue.order   In order.
queue.waking  Awake.
queue.close   Closed."
guarantees rejects "guarantees rejects a guarantee without a test" "tests/guarantees:10: no test has the tag queue.close"
guarded_tree "queue.order   In order.
queue.waking  Awake.
queue.order   Again."
guarantees rejects "guarantees rejects a key that is declared twice" "tests/guarantees:10: queue.order is declared twice"
guarded_tree "queue.order   In order.
queue.waking  Awake.
A sentence without a key."
guarantees rejects "guarantees rejects a line that is no declaration" "tests/guarantees:10: neither a declaration"

above="is not on the line directly above a test"
guarded_tree "" '/* guarantees: queue.order */
'
guarantees rejects "guarantees rejects a tag with an empty line below it" "tests/unit/queue_test.c:1: this tag $above"
guarded_tree "" '/* guarantees: queue.order */
static void prepare(void)'
guarantees rejects "guarantees rejects a tag above a function" "tests/unit/queue_test.c:1: this tag $above"
guarded_tree "" '/* guarantees: queue.order */
/* TEST(it_is_only_spoken_of) */'
guarantees rejects "guarantees does not take a comment for a test" "tests/unit/queue_test.c:1: this tag $above"
guarded_tree "" '/* guarantee: queue.order */'
guarantees rejects "guarantees rejects a tag that is spelled differently" "tests/unit/queue_test.c:1: the form of a tag is"
guarded_tree "" '/* guarantees: queue.order queue.waking */'
guarantees rejects "guarantees rejects keys without a comma" "tests/unit/queue_test.c:1: the form of a tag is"
guarded_tree "queue.order   In order.
queue.waking  Awake." '/* guarantees: queue.order, queue.order */'
guarantees rejects "guarantees rejects a key that a tag names twice" "tests/unit/queue_test.c:1: queue.order is named twice"

elsewhere '| others | lost | here | [`a_push_is_popped`](../tests/unit/queue_test.c), [`a page shows it`](../tests/page_test.mjs) |'
guarantees accepts "guarantees accepts a page of bugs whose tests exist"
elsewhere '| others | lost | here | [`a_push_is_lost`](../tests/unit/queue_test.c) |'
guarantees rejects "guarantees rejects a test that is gone from the page of bugs" \
    "docs/elsewhere.md:3: there is no test a_push_is_lost in tests/unit/queue_test.c"
elsewhere '| others | lost | here | [`a_push_is_popped`](../tests/page_test.mjs) |'
guarantees rejects "guarantees rejects a link to another file than the test's" "there is no test a_push_is_popped in tests/page_test.mjs"
elsewhere '| others | lost | here | `a_push_is_popped` |'
guarantees rejects "guarantees rejects a row of bugs without a link to a test" "docs/elsewhere.md:3: this row links no test"
