/* SPDX-License-Identifier: MIT */
/*
 * Every strategy, with every policy of three children, and every order of one or two
 * deaths, against a model: what is stopped and started, and in which order.
 *
 * The second death comes after the first one's restart, or on its way down, while a
 * child that was asked to end has not, or on its way up, while one has not started.
 *
 * The model knows sets. A death that calls for a restart concerns a set of children; of these,
 * those that are there are to be stopped, from the last to the first, and then those that are not temporary
 * are to be started, from the first to the last. It has no states, no marks and no time.
 */
#include "support/world.h"
#include "unit/supervisor/kids.h"

enum { THREE = 3, ALL = 7 };

typedef struct model {
    cen_supervision supervision;
    cen_restart policies[THREE];
    unsigned present; /* not forgotten */
    unsigned there;   /* started, or starting, and not over */
    unsigned to_stop, to_start;
    unsigned restarts;
    char history[64];
} model;

static unsigned bit(int i)
{
    return 1u << i;
}

static void write_letter(model *m, char first, int i)
{
    size_t used = strlen(m->history);
    m->history[used] = (char)(first + i);
    m->history[used + 1] = '\0';
}

static unsigned group_of(const model *m, int i)
{
    if (m->supervision == CEN_ONE_FOR_ONE) return bit(i);
    return m->supervision == CEN_ONE_FOR_ALL ? ALL : ALL & ~(bit(i) - 1);
}

static unsigned temporaries(const model *m)
{
    unsigned set = 0;
    for (int i = 0; i < THREE; i++)
        if (m->policies[i] == CEN_RESTART_TEMPORARY) set |= bit(i);
    return set;
}

static void model_death(model *m, int i, bool normal)
{
    cen_restart policy = m->policies[i];
    m->there &= ~bit(i);
    if (m->to_stop & bit(i)) { /* it was to end anyway */
        m->to_stop &= ~bit(i);
        if (policy == CEN_RESTART_TEMPORARY) m->present &= ~bit(i);
        return;
    }
    if (policy == CEN_RESTART_TEMPORARY || (policy == CEN_RESTART_TRANSIENT && normal)) {
        if (policy == CEN_RESTART_TEMPORARY) m->present &= ~bit(i);
        return;
    }
    unsigned group = group_of(m, i) & m->present;
    m->restarts++;
    m->to_stop |= group & m->there;
    m->to_start |= group & ~temporaries(m);
}

/* The last that is to stop; -1: none is. */
static int model_stop_next(const model *m)
{
    for (int i = THREE - 1; i >= 0; i--)
        if (m->to_stop & bit(i)) return i;
    return -1;
}

static int model_start_next(const model *m)
{
    for (int i = 0; i < THREE; i++)
        if (m->to_start & bit(i)) return i;
    return -1;
}

static void model_stopped(model *m, int i)
{
    m->to_stop &= ~bit(i);
    m->there &= ~bit(i);
    if (temporaries(m) & bit(i)) m->present &= ~bit(i);
}

/* `asked`: was told to end already, so that nothing is written when it has. */
static void model_settle(model *m, int asked)
{
    for (int i; (i = model_stop_next(m)) >= 0; model_stopped(m, i))
        if (i != asked) write_letter(m, 'A', i);
    for (int i; (i = model_start_next(m)) >= 0;) {
        write_letter(m, 'a', i);
        m->to_start &= ~bit(i);
        m->there |= bit(i);
    }
}

/* ---- The supervisor ------------------------------------------------------------------------ */

static unsigned held; /* those that do not say that they have started */

static void say_unless_held(kid *self, cen_child child)
{
    if (!(held & bit(self->letter - 'a'))) expect(cen_child_report_started(child));
}

typedef struct scene {
    cen_supervision supervision;
    cen_restart policies[THREE];
    int first, second; /* who dies; -1: nobody */
    bool first_normal, second_normal;
} scene;

static void set_up(const scene *s, model *m)
{
    init_kids();
    held = 0;
    cen_child_options children[THREE];
    *m = (model){.supervision = s->supervision, .present = ALL, .there = ALL};
    for (int i = 0; i < THREE; i++) {
        children[i] = kid_options(i);
        children[i].restart = m->policies[i] = s->policies[i];
        children[i].reports_start = true;
        kids[i].in_start = say_unless_held;
    }
    make_supervisor(children, THREE, .supervision = s->supervision, .max_restarts = CEN_OFF);
    history[0] = '\0';
}

static void compare(const scene *s, const model *m, const char *when)
{
    char text[160];
    snprintf(text, sizeof text, "strategy %d, policies %d%d%d, %c dies %s, %c dies %s %s", (int)s->supervision,
             s->policies[0], s->policies[1], s->policies[2], 'a' + s->first, s->first_normal ? "normally" : "badly",
             s->second < 0 ? '-' : 'a' + s->second, s->second_normal ? "normally" : "badly", when);
    if (strcmp(history, m->history) != 0)
        test_fail(__FILE__, __LINE__, "%s: \"%s\", expected \"%s\"", text, history, m->history);
    for (int i = 0; i < THREE; i++) {
        cen_child_stats stats = {.name = NULL};
        bool found = find_child((char[]){(char)('a' + i), '\0'}, &stats);
        bool is_present = (m->present & bit(i)) != 0;
        if (found != is_present) test_fail(__FILE__, __LINE__, "%s: %c is%s there", text, 'a' + i, found ? "" : " not");
        cen_child_state expected = m->there & bit(i) ? CEN_CHILD_RUNNING : CEN_CHILD_DOWN;
        if (found && stats.state != expected)
            test_fail(__FILE__, __LINE__, "%s: %c is %s", text, 'a' + i, cen_child_state_name(stats.state));
    }
    if (look().restarts != m->restarts)
        test_fail(__FILE__, __LINE__, "%s: %u restarts, expected %u", text, (unsigned)look().restarts, m->restarts);
    end_supervisor();
}

static void one_after_the_other(const scene *s)
{
    model m;
    set_up(s, &m);
    model_death(&m, s->first, s->first_normal);
    model_settle(&m, -1);
    die(s->first, s->first_normal);
    if (s->second >= 0 && (m.there & bit(s->second))) {
        model_death(&m, s->second, s->second_normal);
        model_settle(&m, -1);
        die(s->second, s->second_normal);
    }
    compare(s, &m, "after that");
}

static void both_at_once(const scene *s)
{
    model m;
    cen_error error = badly();
    if (s->second < 0 || s->second == s->first) return;
    set_up(s, &m);
    model_death(&m, s->first, s->first_normal);
    if (s->supervision == CEN_ONE_FOR_ONE) model_settle(&m, -1); /* each by itself, as they have died */
    model_death(&m, s->second, s->second_normal);
    model_settle(&m, -1);
    expect(cen_child_report_ended(kids[s->first].child, s->first_normal ? NULL : &error));
    expect(cen_child_report_ended(kids[s->second].child, s->second_normal ? NULL : &error));
    poll();
    compare(s, &m, "at once");
}

/* The first that is asked to end takes its time. */
static void on_the_way_down(const scene *s)
{
    model m;
    set_up(s, &m);
    model_death(&m, s->first, s->first_normal);
    int slow = model_stop_next(&m);
    if (slow < 0 || s->second < 0 || s->second == s->first) {
        end_supervisor();
        return;
    }
    kids[slow].lingers = true;
    die(s->first, s->first_normal);
    write_letter(&m, 'A', slow);
    model_death(&m, s->second, s->second_normal);
    die(s->second, s->second_normal);
    kids[slow].lingers = false;
    if (s->second != slow) {
        expect(cen_child_report_ended(kids[slow].child, NULL));
        poll();
    }
    model_settle(&m, slow);
    compare(s, &m, "on its way down");
}

/* The last that is started takes its time; if it is the one that dies, its start has failed, which is never normal. */
static void on_the_way_up(const scene *s)
{
    model m;
    set_up(s, &m);
    model_death(&m, s->first, s->first_normal);
    int slow = -1;
    for (int i = 0; i < THREE; i++)
        if (m.to_start & bit(i)) slow = i;
    if (slow >= 0) held = bit(slow);
    model_settle(&m, -1);
    die(s->first, s->first_normal);
    if (slow < 0 || s->second < 0 || !(m.there & bit(s->second))) {
        held = 0;
        if (slow >= 0) expect(cen_child_report_started(kids[slow].child));
        poll();
        end_supervisor();
        return;
    }
    expect_equal(child_at(slow).state, CEN_CHILD_STARTING);
    held = 0;
    model_death(&m, s->second, s->second_normal && s->second != slow);
    bool goes_on = s->second != slow && !(m.to_stop & bit(slow));
    model_settle(&m, -1);
    die(s->second, s->second_normal);
    if (goes_on) expect(cen_child_report_started(kids[slow].child));
    poll();
    compare(s, &m, "on its way up");
}

static unsigned scenes;

static void for_all_scenes(void (*play)(const scene *s))
{
    scenes = 0;
    for (int n = 0; n < 3 * 27; n++)
        for (int deaths = 0; deaths < 6 * 7; deaths++) {
            scene s = {.supervision = (cen_supervision)(n / 27),
                       .policies = {(cen_restart)(n % 3), (cen_restart)(n / 3 % 3), (cen_restart)(n / 9 % 3)},
                       .first = deaths % 3,
                       .first_normal = deaths / 3 % 2 != 0,
                       .second = deaths / 6 == 0 ? -1 : (deaths / 6 - 1) % 3,
                       .second_normal = deaths / 6 > 3};
            play(&s);
            scenes++;
        }
    expect_equal(scenes, 3402);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: supervisor.model */
TEST(one_death_and_another_after_its_restart_do_what_the_model_says)
{
    for_all_scenes(one_after_the_other);
}

/* guarantees: supervisor.model */
TEST(two_deaths_at_once_do_what_the_model_says)
{
    for_all_scenes(both_at_once);
}

/* guarantees: supervisor.model */
TEST(a_death_while_a_group_is_being_stopped_does_what_the_model_says)
{
    for_all_scenes(on_the_way_down);
}

/* guarantees: supervisor.model */
TEST(a_death_while_a_group_is_being_started_does_what_the_model_says)
{
    for_all_scenes(on_the_way_up);
}

/* Some of them by hand, so that the model is not believed blindly. */
typedef struct example {
    cen_supervision supervision;
    const char *policies; /* Permanent, Transient, temporarY */
    int first;
    bool normal;
    const char *history;
} example;

TEST(the_model_and_the_supervisor_agree_with_examples_written_by_hand)
{
    static const example examples[] = {
        {CEN_ONE_FOR_ONE, "PPP", 1, false, "b"},    {CEN_ONE_FOR_ONE, "PPP", 1, true, "b"},
        {CEN_ONE_FOR_ONE, "PTP", 1, true, ""},      {CEN_ONE_FOR_ONE, "PTP", 1, false, "b"},
        {CEN_ONE_FOR_ONE, "PYP", 1, false, ""},     {CEN_ONE_FOR_ALL, "PPP", 1, false, "CAabc"},
        {CEN_ONE_FOR_ALL, "PTP", 1, true, ""},      {CEN_ONE_FOR_ALL, "PPY", 0, true, "CBab"},
        {CEN_ONE_FOR_ALL, "YPP", 0, false, ""},     {CEN_REST_FOR_ONE, "PPP", 0, false, "CBabc"},
        {CEN_REST_FOR_ONE, "PPP", 1, false, "Cbc"}, {CEN_REST_FOR_ONE, "PPP", 2, false, "c"},
        {CEN_REST_FOR_ONE, "PPY", 1, false, "Cb"},  {CEN_REST_FOR_ONE, "PTT", 0, false, "CBabc"},
    };
    const char *letters = "PTY";
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const example *e = &examples[i];
        scene s = {.supervision = e->supervision, .first = e->first, .first_normal = e->normal, .second = -1};
        for (int k = 0; k < THREE; k++)
            s.policies[k] = (cen_restart)(strchr(letters, examples[i].policies[k]) - letters);
        model m;
        set_up(&s, &m);
        model_death(&m, s.first, s.first_normal);
        model_settle(&m, -1);
        expect_text(m.history, examples[i].history);
        die(s.first, s.first_normal);
        compare(&s, &m, "");
    }
}
