/* SPDX-License-Identifier: MIT */
/*
 * Nesting. A function that needs a connection enters the pool and need not know whether its caller has one. Inside a
 * scope, CEN_WITH borrows the same object. So all of them work in one transaction and cannot wait for each other. An
 * explicit take always returns another object.
 */
#include <stdio.h>

#include <cenote/cenote.h>

struct connection {
    const char *name;
    int statements;
};

static cen_pool *pool;
static int surprises;

static void expect_that(bool holds, const char *what)
{
    printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
    surprises += !holds;
}

/* Uses its caller's connection, or takes one itself. */
static struct connection *write_line(void)
{
    CEN_WITH (pool, cen_in_ms(100), struct connection *, connection, NULL) {
        connection->statements++;
        return connection; /* the scope ends here, too */
    }
    return NULL;
}

static unsigned idle(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    return cen_pool_stats_get(pool, &s) == CEN_OK ? s.idle : 0;
}

static void write_order(void)
{
    cen_error error;
    CEN_WITH (pool, cen_in_ms(100), struct connection *, outer, &error) {
        printf("an order is written on connection %s\n", outer->name);
        expect_that(write_line() == outer && write_line() == outer, "the inner scopes borrow the same connection");
        expect_that(outer->statements == 2, "both lines went through it");
        expect_that(idle() == 1, "the other connection is idle all the while");

        cen_lease by_hand;
        if (cen_pool_take(pool, cen_in_ms(100), &by_hand, &error) == CEN_OK) {
            expect_that(by_hand.object != outer, "an explicit take gets another connection");
            CEN_WITH (pool, CEN_NOW, struct connection *, inner, &error) {
                expect_that(inner == outer && idle() == 0, "a scope can be entered with no idle connection");
            }
            cen_pool_give(&by_hand);
        } else {
            expect_that(false, error.text);
        }
        return; /* given back on every path */
    } else {
        expect_that(false, error.text);
    }
}

int main(void)
{
    struct connection connections[] = {{"one", 0}, {"two", 0}};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "connections", .max = 2);
    if (cen_pool_new(&options, &pool, NULL) != CEN_OK) return 1;
    for (int i = 0; i < 2; i++) cen_pool_adopt(pool, &connections[i], NULL);

    write_order();
    puts("the order is written");
    expect_that(idle() == 2, "both connections are idle again");
    expect_that(write_line() != NULL, "outside of a scope the same function takes one itself");
    cen_pool_free(pool);
    return surprises ? 1 : 0;
}
