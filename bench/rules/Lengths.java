// SPDX-License-Identifier: MIT
// Times counted by length, in 32 steps for each power of two, as in rules/lengths.h: so a percentile is right within 3 %.
final class Lengths {
    private static final int STEPS = 32, STEPS_LOG = 5;
    private final long[] counts = new long[64 * STEPS];
    long count, sum, longest;

    void add(long ns) {
        long length = Math.max(ns, 1);
        int power = 63 - Long.numberOfLeadingZeros(length);
        long shifted = power < STEPS_LOG ? length << STEPS_LOG - power : length >>> power - STEPS_LOG;
        counts[power * STEPS + (int) (shifted & STEPS - 1)]++;
        count++;
        sum += ns;
        longest = Math.max(longest, ns);
    }

    void add(Lengths other) {
        for (int i = 0; i < counts.length; i++) counts[i] += other.counts[i];
        count += other.count;
        sum += other.sum;
        longest = Math.max(longest, other.longest);
    }

    /** What no more than the rest of the time that they took together was in longer ones than; in nanoseconds. */
    double percentileByTime(double part) {
        double all = 0, seen = 0;
        for (int i = 0; i < counts.length; i++) all += counts[i] * end(i);
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i] * end(i);
            if (seen > part * all) return Math.min(longest, end(i));
        }
        return longest;
    }

    private static double end(int count) { return Math.scalb(1 + (count % STEPS + 1.0) / STEPS, count / STEPS); }

    /** What this part of them, 0.99 for the 99th percentile, does not exceed; in nanoseconds. */
    double percentile(double part) {
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (seen > part * count) return Math.min(longest, end(i));
        }
        return longest;
    }
}
