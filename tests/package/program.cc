/* SPDX-License-Identifier: MIT */
/* A C++ program outside the tree: a pool with a driver, options, CEN_WITH, an exception, a queue, futures, a timer and an inbox. */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <cenote/cenote.h>

namespace {

int surprises;

void expect_that(bool holds, const char *what)
{
    if (holds) return;
    std::printf("not so: %s\n", what);
    surprises++;
}

struct counts {
    int opened, closed, dirty, reset;
};

/* The calls are C functions; what they throw would have nowhere to go. */
extern "C" {
static cen_status open_string(void *argument, void **out, cen_error *error)
{
    auto *counted = static_cast<counts *>(argument);
    if (counted->opened == 3) {
        error->code = 42;
        std::snprintf(error->text, sizeof error->text, "three are enough");
        return CEN_DRIVER;
    }
    counted->opened++;
    *out = new std::string("new");
    return CEN_OK;
}

static void close_string(void *argument, void *object)
{
    static_cast<counts *>(argument)->closed++;
    delete static_cast<std::string *>(object);
}

static cen_condition check_string(void *argument, void *object)
{
    bool dirty = *static_cast<std::string *>(object) == "dirty";
    static_cast<counts *>(argument)->dirty += dirty;
    return dirty ? CEN_DIRTY : CEN_CLEAN;
}

static cen_status reset_string(void *argument, void *object, cen_error *)
{
    static_cast<counts *>(argument)->reset++;
    *static_cast<std::string *>(object) = "reset";
    return CEN_OK;
}
}

cen_driver_calls string_calls()
{
    cen_driver_calls calls = {};
    calls.size = sizeof calls;
    calls.open = open_string;
    calls.close = close_string;
    calls.check = check_string;
    calls.reset = reset_string;
    return calls;
}

cen_pool_options options_for(const cen_driver &driver)
{
#if __cplusplus >= 202002L
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "strings", .driver = driver, .max = 4, .order = CEN_ORDER_LIFO);
#else
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    options.name = "strings";
    options.driver = driver;
    options.max = 4;
    options.order = CEN_ORDER_LIFO;
#endif
    return options;
}

cen_pool_stats look(cen_pool *pool)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    expect_that(cen_pool_stats_get(pool, &stats) == CEN_OK, "a pool can be looked at");
    return stats;
}

/* The scope ends by an exception, too. */
void throw_inside(cen_pool *pool)
{
    CEN_WITH (pool, CEN_NOW, std::string *, text, nullptr) {
        *text = "dirty";
        throw std::runtime_error("out of the middle");
    }
}

std::string first_of(cen_pool *pool)
{
    CEN_WITH (pool, cen_in_ms(100), std::string *, text, nullptr) {
        return *text;
    } else {
        return "none";
    }
}

void use(cen_pool *pool, const counts &counted)
{
    bool thrown = false;
    try {
        throw_inside(pool);
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    expect_that(thrown && look(pool).held == 0, "an exception leaves the scope and gives the object back");
    expect_that(counted.dirty == 1 && counted.reset == 1, "what came back was checked and reset");
    expect_that(first_of(pool) == "reset", "a return leaves the scope with its value");

    cen_lease leases[3], fourth = {};
    for (cen_lease &lease : leases) expect_that(cen_pool_take(pool, CEN_NOW, &lease, nullptr) == CEN_OK, "three can be had");
    cen_error error = {};
    cen_status status = cen_pool_take(pool, cen_in_s(1), &fourth, &error);
    expect_that(status == CEN_DRIVER && error.code == 42, "a failed opening answers with the driver's code");
    expect_that(std::string(error.text).find("three are enough") != std::string::npos, "and with its words");
    for (cen_lease &lease : leases) cen_pool_give(&lease);
    expect_that(cen_pool_give(&leases[0]) == CEN_STALE, "a lease ends once");
}

void pass_through_a_queue()
{
    cen_queue_options options = CEN_SIZED(cen_queue_options);
    options.element_size = sizeof(int);
    cen_queue *queue = nullptr;
    int sent = 7, got = 0;
    expect_that(cen_queue_new(&options, &queue, nullptr) == CEN_OK && cen_queue_push(queue, &sent) == CEN_OK &&
                    cen_queue_pop(queue, &got) == CEN_OK && got == sent,
                "a queue carries an int");
    cen_queue_free(queue);
}

int told;

extern "C" {
static void tell(cen_future *future)
{
    told += *static_cast<int *>(future->value);
}

static void run_job(cen_job *)
{
    told++;
}
}

void complete_futures()
{
    cen_inbox *inbox = nullptr;
    expect_that(cen_inbox_new(nullptr, &inbox, nullptr) == CEN_OK && cen_inbox_fd(inbox) >= 0, "an inbox has a descriptor");
    int value = 7;
    cen_future futures[2];
    cen_promise promises[2];
    for (int i = 0; i < 2; i++) {
        cen_future_init(&futures[i]);
        expect_that(cen_promise_init(&promises[i], &futures[i]) == CEN_OK, "a future can be promised");
    }
    cen_future *const members[] = {&futures[0], &futures[1]};
    cen_group group;
    expect_that(cen_all_of(&group, members, 2) == CEN_OK, "futures can be put into a group");
    expect_that(cen_future_cancel(&group.future), "and taken out");
    cen_group_leave(&group);
    expect_that(cen_future_then(&futures[0], tell, cen_inbox_executor(inbox)) == CEN_OK, "a future can tell an inbox");
    expect_that(cen_promise_complete(&promises[0], &value) && cen_promise_complete(&promises[1], nullptr), "promises can be kept");
    expect_that(cen_future_wait(&futures[1], CEN_NOW) == CEN_OK && futures[1].status == CEN_OK, "a future can be waited for");
    expect_that(cen_inbox_run_ready(inbox) == 1 && told == value, "an inbox runs what arrived");
    cen_timer timer;
    cen_timer_init(&timer);
    expect_that(cen_timer_start(&timer, nullptr, cen_in_ms(1), NULL) == CEN_OK, "a timer can be started");
    expect_that(cen_future_wait(&timer.future, cen_in_s(30)) == CEN_OK && timer.future.status == CEN_OK, "and waited for");
    cen_timer_init(&timer);
    expect_that(cen_timer_start(&timer, nullptr, CEN_NEVER, NULL) == CEN_OK && cen_future_cancel(&timer.future), "and given up");
    cen_job job = {run_job, nullptr};
    cen_inline()->post(cen_inline(), &job);
    expect_that(told == value + 1, "a job can be run inline");
    expect_that(cen_inbox_free(inbox) == CEN_OK, "an inbox can be freed");
}

} // namespace

int main()
{
    counts counted = {};
    const cen_driver_calls calls = string_calls();
    const cen_driver driver = {&calls, &counted};
    const cen_pool_options options = options_for(driver);
    cen_pool *pool = nullptr;
    cen_error error = {};
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) {
        std::puts(error.text);
        return 1;
    }
    use(pool, counted);
    expect_that(cen_pool_close(pool, cen_in_s(1), nullptr, nullptr) == CEN_OK, "it closes");
    expect_that(cen_pool_free(pool) == CEN_OK, "it is freed");
    expect_that(counted.opened == 3 && counted.closed == 3, "whatever was opened was closed");
    pass_through_a_queue();
    complete_futures();
    std::printf("C++ %ld: %s\n", __cplusplus, surprises ? "that is not what was promised" : "as promised");
    return surprises ? 1 : 0;
}
