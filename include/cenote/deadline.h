/* SPDX-License-Identifier: MIT */
/*
 * Deadlines: how long a call may wait.
 *
 *     cen_queue_pop_until(queue, cen_in_ms(500), &element);
 *
 * A cen_deadline is one of
 *     CEN_DEFAULT     zero: the function's default, which its comment states
 *     CEN_NOW         do not wait at all
 *     CEN_NEVER       wait without limit
 *     cen_in_ns(n)    n nanoseconds from the call that receives it; the clock
 *                     is read only when that call has to wait
 *     cen_at(t)       the time t, as measured by cen_clock()
 *
 * A relative deadline starts again in every call that receives it. Before a loop of retries, fix it with
 * cen_deadline_fix.
 *
 * Options whose names end in _ns are in nanoseconds. Write their values with a unit:
 *
 *     .leak_after_ns = CEN_SECONDS(30), .max_barging_ns = CEN_US(500)
 *
 * Times are nanoseconds in an int64_t on the monotonic clock. Every conversion saturates: a time that is too large
 * becomes "never", and one in the past becomes "now". Nothing overflows.
 */
#ifndef CENOTE_DEADLINE_H
#define CENOTE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/status.h>

/* Convert a time to nanoseconds: CEN_US(n) and so on. n is a whole number or a fraction, as in CEN_SECONDS(0.5). If n
 * is a constant, the result is a constant as well and can initialise static variables. A time that is too large becomes
 * INT64_MAX. In C, the argument must have no side effects. */
#define CEN_US(n) CEN_TIME_(n, 1000)
#define CEN_MS(n) CEN_TIME_(n, 1000000)
#define CEN_SECONDS(n) CEN_TIME_(n, 1000000000)
#define CEN_MINUTES(n) CEN_TIME_(n, 60000000000)
#define CEN_HOURS(n) CEN_TIME_(n, 3600000000000)

#ifdef __cplusplus
template <typename number> constexpr int64_t cen_time_(number n, int64_t unit)
{
    const double most = 9223372036854775807.0 / static_cast<double>(unit);
    return static_cast<double>(n) >= most    ? INT64_MAX
           : static_cast<double>(n) <= -most ? -INT64_MAX
                                             : static_cast<int64_t>(n * static_cast<decltype(n * INT64_C(1))>(unit));
}
#define CEN_TIME_(n, unit) (cen_time_((n), INT64_C(unit)))
#else
#define CEN_TIME_(n, unit) \
    (CEN_TIME_IS_BEYOND_((double)(n), unit)    ? INT64_MAX \
     : CEN_TIME_IS_BEYOND_(-(double)(n), unit) ? -INT64_MAX \
                                               : (int64_t)(CEN_TIME_WITHIN_(n, unit) * INT64_C(unit)))
#endif

#ifdef __cplusplus
extern "C" {
#define CEN_DEADLINE_(value) (cen_deadline{value})
#else
#define CEN_DEADLINE_(value) ((cen_deadline){value})
#endif

/* A deadline, passed by value. Its field is private. A positive value is a point in time, and a negative value is a
 * duration; the largest and the smallest value mean "never" and "now". */
typedef struct cen_deadline {
    int64_t ns_;
} cen_deadline;

/* Special values of options; zero is always the default:
 *     CEN_OFF    no limit, or the mechanism is switched off (no back-off, no keepalive)
 *     CEN_NONE   none at all: nothing waits, nothing is kept, no time is given
 * If one of them makes no sense for an option, the option refuses it, and the error text names the other value.
 * docs/limits.md lists them. */
#define CEN_OFF (-1)
#define CEN_NONE (-2)

/* Deadlines: the default of the function; do not wait; wait without limit. */
#define CEN_DEFAULT CEN_DEADLINE_(0)
#define CEN_NOW CEN_DEADLINE_(INT64_MIN)
#define CEN_NEVER CEN_DEADLINE_(INT64_MAX)

/* For drivers that have their own options: return true if a time is between 1 and 99,999 ns. Such a time was most
 * likely meant in another unit. An option refuses such a time if its default is no limit, or a second or more. The
 * options for back-off, barging and load shedding accept any duration. */
static inline bool cen_time_is_tiny(int64_t ns)
{
    return ns > 0 && ns < 100000;
}

/* The reason that an error text states after the name of such an option. It is a format string for the time, a long
 * long. */
#define CEN_TIME_IS_TINY "must be at least 100,000 ns (got %lld ns); CEN_MS(n) and CEN_SECONDS(n) give the unit"

/* Return the current time on the monotonic clock, in nanoseconds. */
CEN_API int64_t cen_clock(void);

/* Return a relative deadline: n nanoseconds from the call that receives it. 0 or less is CEN_NOW. */
static inline cen_deadline cen_in_ns(int64_t ns)
{
    return CEN_DEADLINE_(ns <= 0 ? INT64_MIN : ns == INT64_MAX ? INT64_MAX : -ns);
}

/* Return a relative deadline in microseconds, as cen_in_ns does. */
static inline cen_deadline cen_in_us(int64_t us)
{
    return cen_in_ns(us > INT64_MAX / 1000 ? INT64_MAX : us <= 0 ? 0 : us * 1000);
}

/* Return a relative deadline in milliseconds, as cen_in_ns does. */
static inline cen_deadline cen_in_ms(int64_t ms)
{
    return cen_in_ns(ms > INT64_MAX / 1000000 ? INT64_MAX : ms <= 0 ? 0 : ms * 1000000);
}

/* Return a relative deadline in seconds, as cen_in_ns does. */
static inline cen_deadline cen_in_s(int64_t s)
{
    return cen_in_ns(s > INT64_MAX / 1000000000 ? INT64_MAX : s <= 0 ? 0 : s * 1000000000);
}

/* Return the deadline at a given time, as measured by cen_clock. 0 or less is CEN_NOW. */
static inline cen_deadline cen_at(int64_t moment)
{
    return CEN_DEADLINE_(moment <= 0 ? INT64_MIN : moment);
}

/* Return a relative deadline as a fixed point in time, counted from now, so that it does not start again in the next
 * call. Any other deadline, including CEN_DEFAULT, is returned unchanged. */
CEN_API cen_deadline cen_deadline_fix(cen_deadline deadline);

/* Internal parts of CEN_TIME_. Even an operand that is not used must not overflow, because compilers would warn. */
#define CEN_TIME_IS_BEYOND_(n, unit) ((n) >= 9223372036854775807.0 / (double)INT64_C(unit))
#define CEN_TIME_WITHIN_(n, unit) \
    (CEN_TIME_IS_BEYOND_((double)(n), unit) || CEN_TIME_IS_BEYOND_(-(double)(n), unit) ? 0 : (n))

#ifdef __cplusplus
}
#endif
#endif
