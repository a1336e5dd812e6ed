/* SPDX-License-Identifier: MIT */
/*
 * Shrinking is delta debugging: cut off what follows the failing step, leave
 * out halves, quarters and so on down to single steps, then make arguments
 * smaller; again, until nothing helps. Any failure counts, not only the first
 * one: a shorter way to break the system is a find of its own.
 */
#include "support/model.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/run.h"
#include "support/test.h"

enum {
    MOST_TRIES = 3000,
    CANDIDATE_SECONDS = 10, /* a shrunk run takes milliseconds; this one hangs */
    CAMPAIGN_SECONDS = 100, /* less than the harness waits, so that a hang is still shrunk */
};

/* What the child says; shared memory, because a crash leaves no time to write. */
typedef struct child_word {
    unsigned run, at;
    char text[MODEL_TEXT];
} child_word;

static child_word *word;

/* The run in progress, for run_body, whose body has no argument. */
static const model *running;
static const model_step *running_steps;
static unsigned running_count;

/* ---- One run --------------------------------------------------------------------- */

static void draw(const model *m, uint64_t seed, unsigned run, model_step *steps)
{
    uint64_t dice = seed ^ (run + 1) * 0x9E3779B97F4A7C15u;
    unsigned total = 0;
    for (size_t i = 0; i < m->op_count; i++) total += m->ops[i].weight;
    for (unsigned s = 0; s < m->steps; s++) {
        unsigned op = 0, pick = (unsigned)(test_random(&dice) % total);
        while (pick >= m->ops[op].weight) pick -= m->ops[op++].weight;
        int a = m->ops[op].a_range, b = m->ops[op].b_range;
        steps[s].op = op;
        steps[s].a = a > 0 ? (int)(test_random(&dice) % (unsigned)a) : 0;
        steps[s].b = b > 0 ? (int)(test_random(&dice) % (unsigned)b) : 0;
    }
}

/* Ends the process at a failure: what is left of the run is in no state to be tidied up. */
static void fail_run(const char *text)
{
    snprintf(word->text, sizeof word->text, "%s", text);
    fflush(stdout);
    _exit(1);
}

static void run_steps(void)
{
    void *state = running->setup();
    for (unsigned i = 0; i < running_count; i++) {
        word->at = i;
        const model_step *step = &running_steps[i];
        const char *text = running->ops[step->op].run(state, step->a, step->b);
        if (text) fail_run(text);
    }
    word->at = running_count;
    const char *text = running->teardown ? running->teardown(state) : NULL;
    if (text) fail_run(text);
}

static void run_once(const model *m, const model_step *steps, unsigned count)
{
    running = m;
    running_steps = steps;
    running_count = count;
    run_body(run_steps);
}

/* ---- Children ---------------------------------------------------------------------- */

static pid_t start_child(unsigned seconds)
{
    *word = (child_word){0, 0, ""};
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) test_fail(__FILE__, __LINE__, "fork failed");
    if (child == 0) alarm(seconds);
    return child;
}

/* True if the child ended well; otherwise word->text says what happened. */
static bool child_was_well(pid_t child)
{
    int status = 0;
    if (waitpid(child, &status, 0) != child) test_fail(__FILE__, __LINE__, "waitpid failed");
    if (status == 0) return true;
    if (word->text[0]) return false;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) snprintf(word->text, sizeof word->text, "it hangs");
    else if (WIFSIGNALED(status))
        snprintf(word->text, sizeof word->text, "it crashes: %s", strsignal(WTERMSIG(status)));
    else snprintf(word->text, sizeof word->text, "it ends the process with status %d", WEXITSTATUS(status));
    return false;
}

static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0) return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

static bool candidate_fails(const model *m, const model_step *steps, unsigned count)
{
    pid_t child = start_child(CANDIDATE_SECONDS);
    if (child == 0) {
        be_silent();
        run_once(m, steps, count);
        _exit(0);
    }
    return !child_was_well(child);
}

/* Every run, in one child; false if one of them failed. */
static bool campaign(const model *m, uint64_t seed)
{
    pid_t child = start_child(CAMPAIGN_SECONDS);
    if (child == 0) {
        static model_step steps[MODEL_STEPS];
        for (unsigned run = 0; run < m->runs; run++) {
            word->run = run;
            draw(m, seed, run, steps);
            run_once(m, steps, m->steps);
        }
        exit(0); /* not _exit: this is where coverage is written and leaks are looked for */
    }
    return child_was_well(child);
}

/* ---- Shrinking ---------------------------------------------------------------------- */

/* Keeps the candidate if it fails too, without the steps it did not come to. */
static bool keep_if_failing(const model *m, const model_step *steps, unsigned count, model_failure *best)
{
    if (best->tries >= MOST_TRIES) return false;
    best->tries++;
    if (!candidate_fails(m, steps, count)) return false;
    memcpy(best->steps, steps, count * sizeof *steps);
    best->at = word->at < count ? word->at : count;
    best->count = best->at < count ? best->at + 1 : count;
    memcpy(best->text, word->text, sizeof best->text);
    return true;
}

static bool leave_out(const model *m, model_failure *best)
{
    static model_step rest[MODEL_STEPS];
    bool any = false;
    for (unsigned chunk = (best->count + 1) / 2; chunk > 0; chunk /= 2) {
        for (unsigned from = 0; from + chunk <= best->count;) {
            unsigned behind = best->count - from - chunk;
            memcpy(rest, best->steps, from * sizeof *rest);
            memcpy(rest + from, best->steps + from + chunk, behind * sizeof *rest);
            if (keep_if_failing(m, rest, from + behind, best)) any = true;
            else from += chunk;
        }
    }
    return any;
}

/* Tries 0, then half, then one less, for as long as one of them still fails. */
static bool lower(const model *m, model_failure *best, unsigned step, bool second)
{
    static model_step changed[MODEL_STEPS];
    bool any = false;
    while (step < best->count) {
        int value = second ? best->steps[step].b : best->steps[step].a;
        const int smaller[] = {0, value / 2, value - 1};
        bool kept = false;
        for (int i = 0; i < 3 && !kept && value > 0; i++) {
            memcpy(changed, best->steps, best->count * sizeof *changed);
            *(second ? &changed[step].b : &changed[step].a) = smaller[i];
            kept = keep_if_failing(m, changed, best->count, best);
        }
        if (!kept) break;
        any = true;
    }
    return any;
}

static bool lower_all(const model *m, model_failure *best)
{
    bool any = false;
    for (unsigned i = 0; i < best->count; i++) {
        any |= lower(m, best, i, false);
        any |= lower(m, best, i, true);
    }
    return any;
}

bool model_search(const model *m, uint64_t seed, model_failure *out)
{
    static model_step steps[MODEL_STEPS];
    if (m->steps > MODEL_STEPS) test_fail(__FILE__, __LINE__, "%s: a run has at most %d steps", m->name, MODEL_STEPS);
    if (!word) {
        word = mmap(NULL, sizeof *word, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (word == MAP_FAILED) test_fail(__FILE__, __LINE__, "no shared memory");
    }
    if (campaign(m, seed)) return false;
    *out = (model_failure){.count = m->steps, .at = word->at, .run = word->run};
    memcpy(out->text, word->text, sizeof out->text);
    draw(m, seed, out->run, steps);
    memcpy(out->steps, steps, sizeof steps);
    if (!keep_if_failing(m, steps, m->steps, out)) return true; /* it depends on the runs before: shown as it is */
    for (bool smaller = true; smaller;) {
        smaller = leave_out(m, out);
        smaller |= lower_all(m, out);
    }
    return true;
}

/* ---- Telling --------------------------------------------------------------------------- */

void model_show(const model *m, const model_step *step, char *text, size_t room)
{
    const model_op *op = &m->ops[step->op];
    if (op->show) op->show(text, room, step->a, step->b);
    else snprintf(text, room, "%s(%d, %d)", op->name, step->a, step->b);
}

void model_check(const model *m)
{
    static model_failure failure;
    uint64_t seed = test_seed();
    if (!model_search(m, seed, &failure)) {
        printf("     %s: %u runs of %u steps\n", m->name, m->runs, m->steps);
        return;
    }
    printf("     %s: run %u fails; after %u attempts to shrink it, %u steps are left:\n", m->name, failure.run,
           failure.tries, failure.count);
    for (unsigned i = 0; i < failure.count; i++) {
        char text[120];
        model_show(m, &failure.steps[i], text, sizeof text);
        printf("       %3u  %s%s\n", i + 1, text, i == failure.at ? "     <- here" : "");
    }
    if (failure.at == failure.count) printf("            the end of the run     <- here\n");
    printf("     run it again with CENOTE_SEED=%" PRIu64 "\n", seed);
    test_fail(__FILE__, __LINE__, "%s: %s", m->name, failure.text);
}
