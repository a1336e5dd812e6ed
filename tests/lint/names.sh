# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

named_tree() {
    fresh
    put tools/old-names <<<"# old and new
cen_old_word cen_word"
    put "${2:-src/base/list.c}" <<<"$1"
}
names() { "$@" "$tools/check-names" "$tree"; }

named_tree 'int cen_word(void); /* cen_old_words is another word */'
names accepts "check-names accepts new names"
named_tree 'int cen_old_word(void);'
names rejects "check-names rejects an old name" "src/base/list.c:1: cen_old_word is called cen_word now"
named_tree 'See `cen_old_word`.' docs/pool.md
names rejects "check-names rejects an old name in a page" "docs/pool.md:1"
named_tree '# Changelog
<!-- renamed -->
| `cen_old_word` | `cen_word` |
<!-- /renamed -->' CHANGELOG.md
names accepts "check-names lets the changelog say what was renamed"
named_tree '# Changelog
<!-- renamed -->
<!-- /renamed -->
- `cen_old_word` is quicker.' CHANGELOG.md
names rejects "check-names rejects an old name elsewhere in the changelog" "CHANGELOG.md:4"
named_tree 'int cen_word(void);'
put tools/old-names <<<'cen_a cen_b
cen_b cen_c'
names rejects "check-names rejects an old name that is a new one" "cen_b is itself an old name"
named_tree 'int cen_word(void);'
put tools/old-names <<<'# nothing'
names rejects "check-names rejects an empty list" "no names"
