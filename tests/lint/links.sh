# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

linked_tree() {
    fresh
    put docs/page.md <<'END'
# A page: `code`, and *more*
## Again
## Again
<a id="by-hand"></a> ![drawn](drawn.svg)
    See [the heading](#a-page-code-and-more), [the second](page.md#again-1), [a place](#by-hand),
[a folder](../docs/), [the net](https://example.org/nothing) and [one below][below]. `[code](nowhere.md)`

[below]: ../README.md#top
```
[not a link](nowhere.md)
## Not a heading
```
END
    put docs/drawn.svg <<<'<svg/>'
    put README.md <<<'# Top
[![drawn](docs/drawn.svg)](docs/page.md)'
    put include/cenote/pool.h <<<'/* How: docs/page.md. */'
}
links() { "$@" "$tools/check-links" "$tree"; }
planted() {
    linked_tree
    cat >>"$tree/$1"
}

linked_tree
links accepts "check-links accepts pages, anchors, images, folders, addresses and what stands in code"
planted docs/page.md <<<'[gone](gone.md)'
links rejects "check-links rejects a page that is not there" "gone.md: there is no docs/gone.md"
planted docs/page.md <<<'[gone](../README.md#bottom)'
links rejects "check-links rejects an anchor that its page does not have" "README.md has no heading for #bottom"
planted docs/page.md <<<'[gone](#not-a-heading)'
links rejects "check-links rejects an anchor to what is no heading" "no heading for #not-a-heading"
planted docs/page.md <<<'[gone](#again-2)'
links rejects "check-links rejects an anchor to a third of two headings" "no heading for #again-2"
planted README.md <<<'[![gone](docs/gone.svg)](docs/page.md)'
links rejects "check-links rejects an image that is not there" "there is no docs/gone.svg"
planted README.md <<<'[out](../elsewhere.md)'
links rejects "check-links rejects a link out of the tree" "leads out of the tree"
planted README.md <<<'[one][other]

[other]: docs/other.md'
links rejects "check-links rejects a link that is defined elsewhere in the page" "there is no docs/other.md"
planted include/cenote/pool.h <<<'/* See docs/other.md. */'
links rejects "check-links rejects a page that a header names" "pool.h:2: there is no docs/other.md"
fresh
put src/list.c <<<'int length;'
links rejects "check-links rejects a tree without pages" "there are no pages"
