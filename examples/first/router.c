/* SPDX-License-Identifier: MIT */
/* Load balancing: a thousand requests over three servers, each to the less loaded of two at random.
 * cc router.c $(pkg-config --cflags --libs cenote-route) */
#include <cenote/router.h>
#include <stdio.h>

int main(void)
{
    static int served[3];
    cen_router_options options = CEN_ROUTER_OPTIONS(.name = "search", .strategy = cen_strategy_two_choices());
    cen_router *router;
    cen_error error;
    if (cen_router_new(&options, &router, &error) != CEN_OK) return puts(error.text), 1;
    for (int i = 0; i < 3; i++) {
        cen_member *member;
        if (cen_router_add(router, &CEN_MEMBER_OPTIONS(.value = &served[i]), &member, &error) != CEN_OK)
            return puts(error.text), 1;
        cen_member_up(member, NULL);
    }
    for (int i = 0; i < 1000; i++) {
        cen_route route;
        if (cen_router_route(router, NULL, CEN_NOW, &route, &error) != CEN_OK) return puts(error.text), 1;
        ++*(int *)route.value; /* here the request would be sent */
        cen_route_done(&route, CEN_OUTCOME_OK, 0);
    }
    printf("served: %d, %d, %d\n", served[0], served[1], served[2]);
    cen_router_free(router);
    return served[0] + served[1] + served[2] == 1000 ? 0 : 1;
}
