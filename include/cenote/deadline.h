/* SPDX-License-Identifier: MIT */
/*
 * Deadlines: until when a call may wait.
 *
 *     cen_queue_pop_until(queue, cen_in_ms(500), &element);
 *
 * A cen_deadline is one of
 *     CEN_DEFAULT     zero: the default of the function, which its comment states
 *     CEN_NOW         do not wait at all
 *     CEN_NEVER       wait without limit
 *     cen_in_ns(n)    n nanoseconds from the call that receives it; the clock
 *                     is read only when that call has to wait
 *     cen_at(t)       the moment t on the clock of cen_clock()
 *
 * A relative deadline starts anew in every call that receives it. Pin it with
 * cen_deadline_fix before a loop of retries.
 *
 * Options whose names end in _ns are nanoseconds. Write them with their unit:
 *
 *     .leak_after_ns = CEN_SECONDS(30), .max_barging_ns = CEN_US(500)
 *
 * Times are nanoseconds in an int64_t on the monotonic clock. Every
 * conversion saturates: a time too large to be written down becomes "never",
 * one in the past becomes "now"; nothing overflows.
 */
#ifndef CENOTE_DEADLINE_H
#define CENOTE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/status.h>

/* Nanoseconds of a time in another unit: a whole number or a fraction, CEN_SECONDS(0.5). A constant gives a constant, for static
 * variables too. A time too large to be written down becomes INT64_MAX. In C the argument must be without side effects. */
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

/* A value to pass around; its field is cenote's business. Positive: a moment;
 * negative: a duration; the ends of the range: never and now. */
typedef struct cen_deadline {
    int64_t ns_;
} cen_deadline;

/* In options, where zero is the default:
 *     CEN_OFF    no limit, or the mechanism is switched off (no back-off, no keepalive)
 *     CEN_NONE   none at all: nobody waits, nothing is kept, no time is given
 * An option for which one of them makes no sense refuses it, and the text names the other. docs/limits.md lists them. */
#define CEN_OFF (-1)
#define CEN_NONE (-2)

#define CEN_DEFAULT CEN_DEADLINE_(0)
#define CEN_NOW CEN_DEADLINE_(INT64_MIN)
#define CEN_NEVER CEN_DEADLINE_(INT64_MAX)

/* For drivers, which have options of their own: whether a time is most likely a number of another unit, 1 to 99,999 ns. An option
 * whose default is a second or more, or no limit, refuses it. Options of back-off, overtaking and shedding take any time. */
static inline bool cen_time_is_tiny(int64_t ns)
{
    return ns > 0 && ns < 100000;
}

/* Why, after the name of such an option in an error's text; to be printed with the time, a long long. */
#define CEN_TIME_IS_TINY "is %lld ns, and less than 100,000 ns is refused; CEN_MS(n) and CEN_SECONDS(n) give the unit"

/* The current moment on the monotonic clock. */
CEN_API int64_t cen_clock(void);

static inline cen_deadline cen_in_ns(int64_t ns)
{
    return CEN_DEADLINE_(ns <= 0 ? INT64_MIN : ns == INT64_MAX ? INT64_MAX : -ns);
}

static inline cen_deadline cen_in_us(int64_t us)
{
    return cen_in_ns(us > INT64_MAX / 1000 ? INT64_MAX : us <= 0 ? 0 : us * 1000);
}

static inline cen_deadline cen_in_ms(int64_t ms)
{
    return cen_in_ns(ms > INT64_MAX / 1000000 ? INT64_MAX : ms <= 0 ? 0 : ms * 1000000);
}

static inline cen_deadline cen_in_s(int64_t s)
{
    return cen_in_ns(s > INT64_MAX / 1000000000 ? INT64_MAX : s <= 0 ? 0 : s * 1000000000);
}

static inline cen_deadline cen_at(int64_t moment)
{
    return CEN_DEADLINE_(moment <= 0 ? INT64_MIN : moment);
}

/* The same deadline with a relative time pinned to the present, so that it
 * does not start anew in the next call. Everything else is returned as is, CEN_DEFAULT too. */
CEN_API cen_deadline cen_deadline_fix(cen_deadline deadline);

/* Parts of CEN_TIME_. What it does not use must not overflow either: compilers would say so. */
#define CEN_TIME_IS_BEYOND_(n, unit) ((n) >= 9223372036854775807.0 / (double)INT64_C(unit))
#define CEN_TIME_WITHIN_(n, unit) \
    (CEN_TIME_IS_BEYOND_((double)(n), unit) || CEN_TIME_IS_BEYOND_(-(double)(n), unit) ? 0 : (n))

#ifdef __cplusplus
}
#endif
#endif
