# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2016 # sourced by tools/check-lint-tools; backquotes are text here

# guarded_tree "rows of the table": with two files of tests
guarded_tree() {
    fresh
    put docs/guarantees.md <<<"# Guarantees

| guarantee | tests | files |
|---|---|---|
$1"
    put tests/unit/queue_test.c <<<'TEST(a_push_is_popped)
{
}
EXPLORE(nobody_sleeps_beside_an_element, 3)
{
}'
    put tests/unit/select_test.c <<<'PLAIN_TEST(one_case_happens)
{
}
/* TEST(it_is_only_spoken_of) */'
}
guarantees() { "$@" "$tools/check-guarantees" "$tree"; }

guarded_tree '| order | `a_push_is_popped` | `tests/unit/queue_test.c` |
| waking | `nobody_sleeps_beside_an_element`, `one_case_happens` | `tests/unit/queue_test.c`, `tests/unit/select_test.c` |'
guarantees accepts "check-guarantees accepts tests that are there"
accepts "check-guarantees prints how many" bash -c "$tools/check-guarantees $tree | grep -x '2 guarantees, 3 tests named, in 2 files'"
guarded_tree '| order | `a_push_is_lost` | `tests/unit/queue_test.c` |'
guarantees rejects "check-guarantees rejects a test that is gone" "docs/guarantees.md:5: there is no test a_push_is_lost"
guarded_tree '| order | `it_is_only_spoken_of` | `tests/unit/select_test.c` |'
guarantees rejects "check-guarantees does not take a comment for a test" "there is no test it_is_only_spoken_of"
guarded_tree '| order | `a_push_is_popped` | `tests/unit/select_test.c` |'
guarantees rejects "check-guarantees rejects a test that is in another file" "there is no test a_push_is_popped"
guarded_tree '| order | `a_push_is_popped` | `tests/unit/ring_test.c` |'
guarantees rejects "check-guarantees rejects a file that is gone" "there is no file tests/unit/ring_test.c"
guarded_tree '| order | `a_push_is_popped` | `tests/unit/queue_test.c`, `tests/unit/select_test.c` |'
guarantees rejects "check-guarantees rejects a file without a test in the row" "no test of tests/unit/select_test.c is named"
guarded_tree '| order | by inspection | |'
guarantees rejects "check-guarantees rejects a guarantee without a test" "no test stands for: order"
guarded_tree '| order | `a_push_is_popped` |'
guarantees rejects "check-guarantees rejects a row of two cells" "a row is: guarantee | tests | files"
fresh
put docs/guarantees.md <<<'# Guarantees'
guarantees rejects "check-guarantees rejects a page without a table" "has no rows"
