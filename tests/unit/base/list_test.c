/* SPDX-License-Identifier: MIT */
#include "base/list.h"

#include "support/test.h"

typedef struct job {
    int number;
    ceni_list link;
} job;

static int order_of(const ceni_list *list)
{
    int digits = 0;
    for (const ceni_list *link = list->next; link != list; link = link->next)
        digits = digits * 10 + CENI_LIST_ENTRY(link, job, link)->number;
    return digits;
}

TEST(elements_stand_in_the_order_of_their_insertion)
{
    ceni_list list;
    job jobs[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    ceni_list_init(&list);
    expect(ceni_list_empty(&list));
    ceni_list_push_back(&list, &jobs[0].link);
    ceni_list_push_back(&list, &jobs[1].link);
    ceni_list_push_front(&list, &jobs[2].link);
    ceni_list_insert_before(&jobs[1].link, &jobs[3].link);
    expect_equal(order_of(&list), 3142);
}

TEST(an_element_can_be_removed_twice)
{
    ceni_list list;
    job jobs[2] = {{.number = 1}, {.number = 2}};
    ceni_list_init(&list);
    ceni_list_push_back(&list, &jobs[0].link);
    ceni_list_push_back(&list, &jobs[1].link);
    expect(ceni_list_linked(&jobs[0].link));
    ceni_list_remove(&jobs[0].link);
    ceni_list_remove(&jobs[0].link);
    expect(!ceni_list_linked(&jobs[0].link));
    expect_equal(order_of(&list), 2);
}

TEST(the_first_of_an_empty_list_is_nobody)
{
    ceni_list list;
    job only = {.number = 1};
    ceni_list_init(&list);
    expect(ceni_list_first(&list) == NULL);
    ceni_list_push_back(&list, &only.link);
    expect(ceni_list_first(&list) == &only.link);
}
