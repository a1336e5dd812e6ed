/* SPDX-License-Identifier: MIT */
#include "given.h"

struct order {
    cen_task task;
    cen_take_op take;
    cen_timer timer;
    cen_group group;
    cen_future *members[3];
    bool has_connection;
};
extern struct order *order;
extern struct {
    cen_task task;
} * part;
extern cen_task *task;
#if SAMPLE == 1
#undef SAMPLE_RESULT
#define SAMPLE_RESULT cen_next
cen_next has_connection(cen_task *task);
cen_next later(cen_task *task);
cen_next has_part(cen_task *task);
cen_next have_all(cen_task *task);
#endif
extern ssize_t n;
extern int file;
extern char buffer[100];
extern size_t size;
