/* SPDX-License-Identifier: MIT */
/*
 * So many picks of one of ten members by the usual strategy, two choices, each
 * counted and done, for tools/check-instructions.
 *
 *     routes call|inline COUNT
 *
 * call: by the functions of router.h. inline: by those of quick_route.h.
 */
#include <cenote/quick_route.h>
#include <cenote/router.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 10 };

static int by_call(cen_router *router, unsigned long count)
{
    cen_route route;
    for (unsigned long i = 0; i < count; i++) {
        if (cen_router_route(router, NULL, CEN_NOW, &route, NULL) != CEN_OK) return 1;
        if (cen_route_done(&route, CEN_OUTCOME_OK, 0) != CEN_OK) return 1;
    }
    return 0;
}

static int by_inline(cen_router *router, unsigned long count)
{
    cen_picker picker;
    cen_route route;
    if (cen_picker_init(&picker) != CEN_OK) return 1;
    for (unsigned long i = 0; i < count; i++) {
        if (cen_quick_route(router, &picker, &route) != CEN_OK) return 1;
        if (cen_quick_done(&route) != CEN_OK) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    cen_router_options options = CEN_ROUTER_OPTIONS(.name = "counted");
    cen_router *router;
    if (cen_router_new(&options, &router, NULL) != CEN_OK) return 1;
    for (int i = 0; i < MEMBERS; i++) {
        cen_member_options each = CEN_MEMBER_OPTIONS(.value = &options);
        cen_member *member;
        if (cen_router_add(router, &each, &member, NULL) != CEN_OK || cen_member_up(member, NULL) != CEN_OK) return 1;
    }
    int failed = (strcmp(argv[1], "inline") == 0 ? by_inline : by_call)(router, strtoul(argv[2], NULL, 10));
    return failed || cen_router_free(router) != CEN_OK;
}
