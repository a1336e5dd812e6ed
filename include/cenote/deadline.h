/* SPDX-License-Identifier: MIT */
/*
 * Deadlines: until when a call may wait.
 *
 *     cen_queue_pop_until(queue, &element, cen_in_ms(500));
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
 * Times are nanoseconds in an int64_t on the monotonic clock. Every
 * conversion saturates: a time too large to be written down becomes "never",
 * one in the past becomes "now"; nothing overflows.
 */
#ifndef CENOTE_DEADLINE_H
#define CENOTE_DEADLINE_H

#include <stdint.h>

#include <cenote/status.h>

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

#ifdef __cplusplus
}
#endif
#endif
