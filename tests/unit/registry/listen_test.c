/* SPDX-License-Identifier: MIT */
/* Listeners: what they are told, in which order, and what they may do. */
#include "support/world.h"
#include "unit/registry/registries.h"

/* A story in letters: what was told, as "+1" for a value that came, "=" "~" "-" and "." for the rest. */
typedef struct story {
    char text[256];
    int inside;
    cen_listening *listening;
    void (*then)(struct story *story, const cen_registered *change);
} story;

static void hear(void *argument, const cen_registered *change)
{
    story *self = argument;
    static const char *const reasons[] = {"", "removed", "ended", "freed"};
    char *end = self->text + strlen(self->text);
    size_t room = (size_t)(self->text + sizeof self->text - end);
    expect_equal(self->inside++, 0);
    expect(change->registry == registry);
    if (change->change == CEN_REGISTERED) {
        snprintf(end, room, "%s%ld ", change->is_old ? "=" : "+", (long)(intptr_t)change->value);
    } else if (change->change == CEN_UPDATED) {
        snprintf(end, room, "%ld~%ld ", (long)(intptr_t)change->before, (long)(intptr_t)change->value);
    } else if (change->change == CEN_UNREGISTERED) {
        snprintf(end, room, "-%ld:%s ", (long)(intptr_t)change->value, reasons[change->reason]);
    } else {
        expect(!change->entry && !change->owner && !change->value);
        snprintf(end, room, ".");
    }
    if (change->entry) {
        expect(cen_key_same(change->key, cen_entry_key(change->entry)));
        expect_equal(change->number, cen_entry_number(change->entry));
        expect(change->owner == cen_entry_owner(change->entry));
    }
    if (self->then) self->then(self, change);
    self->inside--;
}

static void listen_to(story *self, const char *key)
{
    cen_key one = cen_key_text(key ? key : "");
    expect_equal(cen_registry_listen(registry, key ? &one : NULL, hear, self, &self->listening, NULL), CEN_OK);
}

/* guarantees: registry.listeners */
TEST(a_listener_of_the_options_is_told_of_everything_with_its_reason)
{
    story all = {.text = ""};
    make_registry(.kind = CEN_UNIQUE, .listener = hear, .argument = &all);
    cen_owner *owner = make_owner("one");
    put("a", 1, owner);
    uint64_t second = put("b", 2, owner);
    put("c", 3, NULL);
    expect_equal(cen_registry_update(registry, second, value_of(5), NULL, NULL), CEN_OK);
    expect_equal(try_put("a", NULL), CEN_EXISTS);
    expect_equal(cen_registry_unregister(registry, cen_key_text("a"), owner, NULL), CEN_OK);
    expect_equal(cen_owner_end(owner), CEN_OK);
    expect_equal(look().untold, 0);
    end_registry();
    expect_text(all.text, "+1 +2 +3 2~5 -1:removed -5:ended -3:freed .");
}

/* The first that comes brings others along: they are told after it. */
static void bring_others(story *self, const cen_registered *change)
{
    size_t length = strlen(self->text);
    snprintf(self->text + length, sizeof self->text - length, change->more ? "> " : "| ");
    if (change->change != CEN_REGISTERED || change->value != value_of(3)) return;
    put("db", 4, NULL);
    put("db", 5, NULL);
    put("else", 6, NULL);
    put("db", 7, NULL);
}

/* guarantees: registry.more */
TEST(a_listener_knows_whether_it_is_told_of_more_next)
{
    story one = {.text = "", .then = bring_others};
    make_registry(.kind = CEN_DUPLICATE);
    put("db", 1, NULL);
    put("db", 2, NULL);
    put("else", 9, NULL);
    listen_to(&one, "db");
    expect_text(one.text, "=1 > =2 | ");
    put("db", 3, NULL);
    expect_text(one.text, "=1 > =2 | +3 | +4 > +5 | +7 | ");
    end_registry();
}

TEST(who_listens_to_a_key_is_told_first_of_what_is_there_and_then_of_the_key_alone)
{
    story all = {.text = ""}, one = {.text = ""}, none = {.text = ""};
    make_registry(.kind = CEN_DUPLICATE);
    uint64_t first = put("db", 1, NULL);
    put("db", 2, NULL);
    put("else", 3, NULL);
    listen_to(&one, "db");
    expect_text(one.text, "=1 =2 ");
    listen_to(&all, NULL);
    listen_to(&none, "nobody");
    put("else", 4, NULL);
    put("db", 5, NULL);
    expect_equal(cen_registry_remove(registry, first, NULL), CEN_OK);
    expect_equal(look().listeners, 3);
    expect_equal(cen_registry_unlisten(one.listening), CEN_OK);
    put("db", 6, NULL);
    expect_equal(look().listeners, 2);
    expect_text(one.text, "=1 =2 +5 -1:removed ");
    expect(strstr(all.text, "=3") && strstr(all.text, "+4 +5 -1:removed +6"));
    expect_equal(cen_registry_unlisten(all.listening), CEN_OK);
    end_registry();
    expect_text(none.text, ".");
}

/* ---- What a listener does ------------------------------------------------------------------------------------- */

static void register_another(story *self, const cen_registered *change)
{
    intptr_t value = (intptr_t)change->value;
    if (change->change == CEN_REGISTERED && value < 3) {
        put("key", value + 1, NULL);
        expect_equal(strlen(self->text), 3 * (size_t)value); /* not told yet */
        expect_equal(look().untold, 1);
    }
}

/* guarantees: registry.listeners */
TEST(what_a_listener_changes_is_told_after_it_has_returned)
{
    story all = {.then = register_another};
    make_registry(.kind = CEN_DUPLICATE, .listener = hear, .argument = &all);
    put("key", 1, NULL);
    expect_text(all.text, "+1 +2 +3 ");
    end_registry();
}

static void unlisten_at_2(story *self, const cen_registered *change)
{
    if ((intptr_t)change->value == 2) expect_equal(cen_registry_unlisten(self->listening), CEN_OK);
}

TEST(a_listener_can_end_its_own_listening)
{
    story all = {.then = unlisten_at_2}, other = {.text = ""};
    make_registry(.kind = CEN_DUPLICATE);
    listen_to(&all, NULL);
    listen_to(&other, NULL);
    for (int i = 1; i < 4; i++) put("key", i, NULL);
    expect_text(all.text, "+1 +2 ");
    expect_text(other.text, "+1 +2 +3 ");
    story old = {.then = unlisten_at_2};
    listen_to(&old, "key");
    expect_text(old.text, "=1 =2 ");
    end_registry();
}

static story *victim;

static void unlisten_victim(story *self, const cen_registered *change)
{
    (void)self, (void)change;
    if (victim) expect_equal(cen_registry_unlisten(victim->listening), CEN_OK);
    victim = NULL;
}

TEST(a_listener_can_end_the_one_that_would_be_told_next)
{
    story first = {.then = unlisten_victim}, second = {.text = ""}, third = {.text = ""};
    make_registry(.kind = CEN_DUPLICATE);
    listen_to(&first, NULL);
    listen_to(&second, NULL);
    listen_to(&third, NULL);
    victim = &second;
    put("key", 1, NULL);
    put("key", 2, NULL);
    expect_text(first.text, "+1 +2 ");
    expect_text(second.text, "");
    expect_text(third.text, "+1 +2 ");
    end_registry();
}

static story late;

static void listen_inside(story *self, const cen_registered *change)
{
    (void)self;
    if ((intptr_t)change->value != 2 || change->change != CEN_REGISTERED) return;
    put("key", 3, NULL);
    listen_to(&late, NULL);
    put("key", 4, NULL);
    expect_text(late.text, ""); /* its turn comes after this one's */
}

/* guarantees: registry.listen-start */
TEST(who_begins_to_listen_within_a_listener_is_told_each_entry_once)
{
    story all = {.then = listen_inside};
    late = (story){.text = ""};
    make_registry(.kind = CEN_DUPLICATE, .listener = hear, .argument = &all);
    for (int i = 1; i < 3; i++) put("key", i, NULL);
    expect_text(all.text, "+1 +2 +3 +4 ");
    expect_text(late.text, "=1 =2 =3 +4 ");
    end_registry();
}

static void begin_and_end_inside(story *self, const cen_registered *change)
{
    (void)self;
    if (change->change != CEN_REGISTERED) return;
    listen_to(&late, NULL);
    expect_equal(cen_registry_unlisten(late.listening), CEN_OK);
    expect_equal(look().listeners, 1);
}

TEST(who_has_ended_before_its_turn_is_told_nothing)
{
    story all = {.then = begin_and_end_inside};
    late = (story){.text = ""};
    make_registry(.kind = CEN_DUPLICATE, .listener = hear, .argument = &all);
    put("key", 1, NULL);
    expect_text(late.text, "");
    end_registry();
}

static void free_inside(story *self, const cen_registered *change)
{
    (void)self;
    if (change->change == CEN_REGISTERED) expect_equal(cen_registry_free(registry), CEN_MISUSE);
}

static void unlisten_at_the_end(story *self, const cen_registered *change)
{
    if (change->change == CEN_REGISTRY_ENDS) expect_equal(cen_registry_unlisten(self->listening), CEN_OK);
}

TEST(a_listener_cannot_free_the_registry_and_may_end_its_listening_with_it)
{
    story all = {.then = free_inside}, last = {.then = unlisten_at_the_end};
    make_registry(.kind = CEN_UNIQUE, .listener = hear, .argument = &all);
    listen_to(&last, NULL);
    put("key", 1, NULL);
    end_registry();
    expect_text(all.text, "+1 -1:freed .");
    expect_text(last.text, "+1 -1:freed .");
}

static void end_the_owner(story *self, const cen_registered *change)
{
    (void)self;
    if ((intptr_t)change->value == 2 && change->change == CEN_REGISTERED)
        expect_equal(cen_owner_end(change->owner), CEN_OK);
}

TEST(an_owner_can_be_ended_by_a_listener)
{
    story all = {.then = end_the_owner};
    make_registry(.kind = CEN_DUPLICATE, .listener = hear, .argument = &all);
    cen_owner *owner = make_owner("short");
    put("key", 1, owner);
    put("key", 2, owner);
    expect_text(all.text, "+1 +2 -1:ended -2:ended ");
    end_registry();
}

static void unlisten_itself(story *self, const cen_registered *change)
{
    (void)change;
    expect_equal(cen_registry_unlisten(self->listening), CEN_OK);
}

TEST(a_listening_is_not_ended_in_a_read_section_except_by_a_listener)
{
    story one = {.then = unlisten_itself};
    make_registry(.kind = CEN_DUPLICATE);
    listen_to(&one, NULL);
    cen_read_begin();
    expect_equal(cen_registry_unlisten(one.listening), CEN_MISUSE);
    expect_equal(look().listeners, 1);
    put("key", 1, NULL);
    expect_equal(look().listeners, 0);
    cen_read_end();
    expect_text(one.text, "+1 ");
    end_registry();
}

/* ---- Another thread --------------------------------------------------------------------------------------------- */

static _Atomic uint32_t goes_on;

static void wait_inside(story *self, const cen_registered *change)
{
    (void)self, (void)change;
    while (ceni_load_seq_cst(&goes_on) == 0) ceni_futex_wait(&goes_on, 0, CENI_FOREVER);
}

static void put_one(void *unused)
{
    (void)unused;
    cen_owner *owner = make_owner("other");
    put("key", 1, owner);
    cen_owner_hold(owner);
    expect_equal(cen_owner_end(owner), CEN_OK);
    cen_owner_drop(owner);
}

static void end_listening(void *argument)
{
    story *self = argument;
    expect_equal(cen_registry_unlisten(self->listening), CEN_OK);
    expect_equal(self->inside, 0);
}

TEST(who_ends_a_listening_waits_for_the_call_that_goes_on)
{
    story slow = {.then = wait_inside};
    ceni_store_seq_cst(&goes_on, 0);
    make_registry(.kind = CEN_DUPLICATE);
    listen_to(&slow, NULL);
    ceni_thread teller = start("teller", put_one, NULL);
    ceni_world_settle();
    ceni_thread ender = start("ender", end_listening, &slow);
    ceni_world_settle();
    expect_equal(slow.inside, 1);
    uint64_t number = put("key", 2, NULL); /* is left to the teller, and waits for nobody */
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    ceni_store_seq_cst(&goes_on, 1);
    ceni_futex_wake(&goes_on, 1);
    join(ender);
    join(teller);
    expect_text(slow.text, "+1 ");
    end_registry();
}
