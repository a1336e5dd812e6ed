# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

sampled_tree() {
    fresh
    mkdir -p "$tree/docs"
    put README.md <<'END'
```c
#include <stdio.h>
#include <stdlib.h>
#include <cenote/cenote.h>

static cen_status open_page(void *size, void **out, cen_error *error)
{
    (void)error;
    return (*out = malloc(*(size_t *)size)) ? CEN_OK : CEN_NO_MEMORY;
}
static void close_page(void *size, void *page) { (void)size, free(page); }

int main(void)
{
    static size_t size = 4096;
    static const cen_driver_calls pages = {.size = sizeof pages, .open = open_page, .close = close_page};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "pages", .driver = {&pages, &size}, .max = 4);
    cen_pool *pool;
    cen_error error;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;

    CEN_WITH (pool, cen_in_ms(500), char *, page, &error) {       /* given back on every way out */
        snprintf(page, size, "nobody else writes here");
        puts(page);
    } else puts(error.text);                                      /* says why there was none */

    cen_pool_close(pool, cen_in_s(5), NULL, NULL);                /* awaits the holders */
    cen_pool_free(pool);
}
```
END
    put tests/samples/README.md.output <<<'nobody else writes here'
    put tests/samples/given.h <tests/samples/given.h
    put docs/page.md <<'END'
```c
static void on_given(cen_future *future) { use(future->error); }

cen_future given;
cen_future_then(&given, on_given, cen_inbox_executor(inbox));
if (cen_pool_give_async(&lease, &given) != CEN_OK) die("not given");
```
```
pool:  cen_pool, as a picture {
```
END
    put include/cenote/own.h <<'END'
/* SPDX-License-Identifier: MIT */
/*
 * A header.
 *
 *     own_begin();
 *     if (own_ended()) use(&error);     // a remark
 *
 * A table:
 *
 *     first column     a table,
 *     second           that is no code
 */
void own_begin(void);
int own_ended(void); /* Names: a
                      *      list; is no sample, either */
END
}
samples() { "$@" "$tools/check-samples" --root "$tree" "${build:-"-"}"; }
# planted FILE SED
planted() {
    sampled_tree
    sed "$2" "$tree/$1" >"$tree/changed" && ! cmp -s "$tree/$1" "$tree/changed" && mv "$tree/changed" "$tree/$1"
}

sampled_tree
samples accepts "check-samples accepts fragments and programs that compile"
build=build/release samples accepts "check-samples accepts a program that runs and prints its line"
planted README.md 's/nobody else writes here/somebody else does/'
build=build/release samples rejects "check-samples rejects a program that prints something else" "somebody else does"
planted README.md 's/^    cen_pool_free(pool);/    return 3;/'
build=build/release samples rejects "check-samples rejects a program that fails" "ended with status 3"
planted README.md 's/cen_pool_close(pool/cen_pool_shut(pool/'
samples rejects "check-samples rejects a program that does not compile" "README.md:27"
planted README.md 's/^    (void)error;/    int unused;/'
samples rejects "check-samples rejects a program with a warning" "unused"
planted docs/page.md 's/on_given, cen_inbox/on_given, 3, cen_inbox/'
samples rejects "check-samples rejects a fragment that a function's arguments do not fit, and names its line" "docs/page.md:5:"
planted docs/page.md 's/use(future->error)/use(0)/'
samples rejects "check-samples rejects a function of a fragment with a warning" "docs/page.md:2:"
planted docs/page.md 's/^cen_future given;$/.../'
samples rejects "check-samples rejects an elision that is no comment" "docs/page.md:4:"
planted docs/page.md 's/^```c$/```/'
samples rejects "check-samples rejects C that does not say that it is" "does not say so"
planted include/cenote/own.h "s| own_begin();| own_begins();|"
samples rejects "check-samples rejects a sample in a header's comment" "include/cenote/own.h:5:"
planted include/cenote/own.h 's|// a remark|a remark|'
samples rejects "check-samples rejects a remark that is no comment" "include/cenote/own.h:6:"
fresh
put README.md <<<'# Nothing'
samples rejects "check-samples rejects a tree without code" "there is no code"
