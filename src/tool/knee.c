/* SPDX-License-Identifier: MIT */
/*
 * The confidence interval of a mean. Let c(k) be the autocovariance of windows that are k apart within a visit, about
 * the mean of all visits. The variance of the mean is c(0) x tau / n with tau = 1 + 2 x sum of c(k) / c(0). The sum
 * ends where two neighbouring terms are no longer positive together; the rest is noise. When visits differ from one
 * another by more than their windows do, every c(k) is large, and tau grows to the number of windows of a visit: visits
 * count then, not windows. When windows alternate, because operations end in waves, tau is below 1, and the mean is
 * more exact than its windows.
 *
 * With a single visit the difference to the next one is unknown. So the caller repeats the visits that matter, and
 * sizes with few visits get the spread of those with many.
 */
#include "tool/knee.h"

#include <math.h>
#include <stddef.h>

enum { SPREAD_LEAST = 4 }; /* with fewer deviations a spread says nothing */

double knee_student(double degrees)
{
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    const double z = 1.959964;
    if (degrees <= 1) return table[0];
    if (degrees < 10) {
        /* Against 1 / degrees the table is nearly linear between two entries. */
        int below = (int)degrees;
        double share = (1.0 / below - 1 / degrees) / (1.0 / below - 1.0 / (below + 1));
        return table[below - 1] + share * (table[below] - table[below - 1]);
    }
    double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

static double mean_of_visit(const knee_visit *visit)
{
    double sum = 0;
    for (uint32_t i = 0; i < visit->windows; i++) sum += visit->per_second[i];
    return visit->windows ? sum / visit->windows : 0;
}

/* ---- Drift and spread -------------------------------------------------------------------------------- */

/* The factor that removes the drift from a visit. */
static double cleared(const knee_visit *visit, knee_weather weather)
{
    return exp(-weather.drift * (visit->when - weather.middle));
}

/* Deviations of visits from the mean of their size, in time and in the logarithm of the throughput. */
typedef struct moments {
    double times, speeds, both; /* sums of squares and products */
    uint32_t degrees;
} moments;

static void add_moments(moments *self, const knee_point *point, knee_weather weather)
{
    double time = 0, speed = 0;
    uint32_t count = 0;
    for (uint32_t v = 0; v < point->count; v++) {
        double mean = mean_of_visit(&point->visits[v]) * cleared(&point->visits[v], weather);
        if (mean <= 0) continue;
        time += point->visits[v].when, speed += log(mean), count++;
    }
    if (count < 2) return;
    time /= count, speed /= count;
    for (uint32_t v = 0; v < point->count; v++) {
        double mean = mean_of_visit(&point->visits[v]) * cleared(&point->visits[v], weather);
        if (mean <= 0) continue;
        double later = point->visits[v].when - time, faster = log(mean) - speed;
        self->times += later * later, self->speeds += faster * faster, self->both += later * faster;
    }
    self->degrees += count - 1;
}

static moments moments_of(const knee_point *points, uint32_t count, knee_weather weather)
{
    moments all = {0};
    for (uint32_t i = 0; i < count; i++)
        if (!points[i].failed) add_moments(&all, &points[i], weather);
    return all;
}

/* The drift is the common slope of all sizes. A slope that may be chance counts as 0. */
knee_weather knee_weather_of(const knee_point *points, uint32_t count)
{
    knee_weather weather = {0};
    double last = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t v = 0; v < points[i].count; v++) last = fmax(last, points[i].visits[v].when);
    weather.middle = last / 2;
    moments all = moments_of(points, count, weather);
    if (all.degrees > 2 && all.times > 0) {
        double slope = all.both / all.times, left = fmax(all.speeds - slope * all.both, 0);
        double error = sqrt(left / (all.degrees - 1) / all.times);
        if (fabs(slope) > knee_student(all.degrees - 1) * error)
            weather.drift = slope, all = moments_of(points, count, weather);
    }
    if (all.degrees >= SPREAD_LEAST) weather.spread = sqrt(all.speeds / all.degrees);
    return weather;
}

/* ---- Means ------------------------------------------------------------------------------------------- */

typedef struct series {
    const knee_point *point;
    knee_weather weather;
    uint32_t windows; /* in all */
    double mean;
} series;

static series series_of(const knee_point *point, knee_weather weather)
{
    series self = {.point = point, .weather = weather};
    double sum = 0;
    for (uint32_t v = 0; v < point->count; v++) {
        double clear = cleared(&point->visits[v], weather);
        for (uint32_t i = 0; i < point->visits[v].windows; i++) sum += point->visits[v].per_second[i] * clear;
        self.windows += point->visits[v].windows;
    }
    self.mean = self.windows ? sum / self.windows : 0;
    return self;
}

/* c(k), divided by the number of all windows, so that terms with few pairs have little weight. */
static double covariance(const series *self, uint32_t apart)
{
    double sum = 0;
    for (uint32_t v = 0; v < self->point->count; v++) {
        const knee_visit *visit = &self->point->visits[v];
        double clear = cleared(visit, self->weather);
        for (uint32_t i = 0; i + apart < visit->windows; i++)
            sum += (visit->per_second[i] * clear - self->mean) * (visit->per_second[i + apart] * clear - self->mean);
    }
    return sum / self->windows;
}

/* tau x c(0) */
static double long_variance(const series *self)
{
    double c0 = covariance(self, 0), sum = -c0;
    for (uint32_t k = 0; k < KNEE_WINDOWS; k += 2) {
        double two = covariance(self, k) + covariance(self, k + 1);
        if (two <= 0) break;
        sum += 2 * two;
    }
    return fmax(sum, c0 / 5);
}

knee_interval knee_throughput(const knee_point *point, knee_weather weather)
{
    series all = series_of(point, weather);
    double mean = all.mean, seconds = 0;
    if (all.windows == 0) return (knee_interval){0, 0, 0};
    if (all.windows == 1) return (knee_interval){mean, 0, 2 * mean};
    for (uint32_t v = 0; v < point->count; v++) seconds += point->visits[v].seconds;
    double c0 = covariance(&all, 0), variance = long_variance(&all);
    double worth = c0 > 0 ? all.windows * c0 / variance : all.windows; /* equivalent number of independent windows */
    double independent = fmin(fmax(worth, 1.5), all.windows);
    /* The mean was computed from the windows, which costs one degree of freedom. */
    double half = knee_student(independent - 1) * sqrt(variance / all.windows * independent / (independent - 1));
    /* Operations are counted whole: a visit may miss one at its end. */
    if (seconds > 0) half = fmax(half, sqrt(point->count) / seconds);
    if (point->count < KNEE_PAIRED_LEAST)
        half = hypot(half, knee_student(30) * weather.spread * mean / sqrt(point->count));
    return (knee_interval){mean, fmax(mean - half, 0), mean + half};
}

/* ---- Shares ----------------------------------------------------------------------------------------- */

static const knee_visit *visit_of_round(const knee_point *point, uint32_t round)
{
    for (uint32_t v = 0; v < point->count; v++)
        if (point->visits[v].round == round) return &point->visits[v];
    return NULL;
}

/* Half the width of the share, from the rounds in which both sizes were visited; negative if there are too few. The
 * speed of a round affects both numbers and cancels out. */
static double paired_half(const knee_point *of, const knee_point *in, double share, knee_weather weather)
{
    double sum = 0, squares = 0, below = 0;
    uint32_t pairs = 0;
    for (uint32_t v = 0; v < of->count; v++) {
        const knee_visit *one = &of->visits[v];
        const knee_visit *other = one->round ? visit_of_round(in, one->round) : NULL;
        if (!other) continue;
        double above = mean_of_visit(one) * cleared(one, weather),
               base = mean_of_visit(other) * cleared(other, weather);
        double difference = above - share * base;
        sum += difference, squares += difference * difference, below += base;
        pairs++;
    }
    if (pairs < KNEE_PAIRED_LEAST || below <= 0) return -1;
    double variance = (squares - sum * sum / pairs) / (pairs - 1);
    return knee_student(pairs - 1) * sqrt(fmax(variance, 0) / pairs) / (below / pairs);
}

knee_interval knee_share(const knee_point *of, const knee_point *in, knee_weather weather)
{
    if (of == in) return (knee_interval){1, 1, 1};
    knee_interval above = knee_throughput(of, weather), below = knee_throughput(in, weather);
    if (below.mean <= 0 || above.mean <= 0) return (knee_interval){0, 0, 0};
    double share = above.mean / below.mean;
    double half = paired_half(of, in, share, weather);
    if (half < 0) {
        double one = (above.high - above.mean) / above.mean, other = (below.high - below.mean) / below.mean;
        half = share * sqrt(one * one + other * other);
    }
    return (knee_interval){share, fmax(share - half, 0), share + half};
}

/* ---- The knee ---------------------------------------------------------------------------------------- */

static bool is_eligible(const knee_point *point)
{
    return !point->failed && series_of(point, (knee_weather){0}).mean > 0;
}

static bool keeps(const knee_point *point, knee_rule rule)
{
    return rule.goal <= 0 || point->latency <= rule.goal;
}

/* The size with the largest throughput. A size with enough visits counts with its mean, any other with the low end of
 * its interval. A size below the knee may be the first to have enough visits, and is not the best for that reason. */
static int largest(const knee_point *points, uint32_t count, knee_rule rule, knee_weather weather)
{
    int found = -1;
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_eligible(&points[i]) || !keeps(&points[i], rule)) continue;
        knee_interval one = knee_throughput(&points[i], weather);
        bool is_known = points[i].count >= KNEE_PAIRED_LEAST;
        /* low may be 0 when almost nothing is known */
        double value = is_known ? one.mean : one.low + one.mean / 1e6;
        if (found >= 0 && value <= most) continue;
        found = (int)i, most = value;
    }
    return found;
}

/* Among the larger sizes that may beat the chosen one by more than the margin, return the one with the fewest
 * visits. */
static int rival(const knee_point *points, uint32_t count, knee_rule rule, knee_weather weather,
                 const knee_answer *answer)
{
    int found = -1;
    for (int i = answer->chosen + 1; i < (int)count; i++) {
        if (i == answer->best || !is_eligible(&points[i]) || !keeps(&points[i], rule)) continue;
        if (knee_share(&points[answer->chosen], &points[i], weather).low >= 1 - rule.margin) continue;
        if (found < 0 || points[i].count < points[found].count) found = i;
    }
    return found;
}

static int nearest_to_goal(const knee_point *points, uint32_t count)
{
    int found = -1;
    for (uint32_t i = 0; i < count; i++)
        if (is_eligible(&points[i]) && (found < 0 || points[i].latency < points[found].latency)) found = (int)i;
    return found;
}

knee_answer knee_find(const knee_point *points, uint32_t count, knee_rule rule)
{
    knee_weather weather = knee_weather_of(points, count);
    knee_answer answer = {.chosen = -1,
                          .best = largest(points, count, rule, weather),
                          .doubt = -1,
                          .hope = -1,
                          .rival = -1,
                          .keeps_goal = true};
    answer.fastest = largest(points, count, (knee_rule){.margin = rule.margin}, weather);
    if (answer.fastest < 0) return answer;
    if (answer.best < 0) {
        answer.keeps_goal = false;
        answer.best = answer.fastest;
        answer.chosen = nearest_to_goal(points, count);
        answer.share = knee_share(&points[answer.chosen], &points[answer.best], weather);
        return answer;
    }
    double enough = 1 - rule.margin;
    for (int i = 0; i <= answer.best && answer.chosen < 0; i++) {
        if (!is_eligible(&points[i]) || !keeps(&points[i], rule)) continue;
        knee_interval share = knee_share(&points[i], &points[answer.best], weather);
        bool is_enough = share.mean >= enough;
        if (share.high >= enough && answer.hope < 0) answer.hope = i;
        if (is_enough) answer.chosen = i, answer.share = share;
        else if (share.high >= enough && (answer.doubt < 0 || points[i].count < points[answer.doubt].count))
            answer.doubt = i;
    }
    answer.is_sure = answer.share.low >= enough;
    answer.rival = rival(points, count, rule, weather, &answer);
    answer.is_settled = answer.is_sure && answer.doubt < 0 && answer.rival < 0;
    return answer;
}
