// SPDX-License-Identifier: MIT
// The words for a cell, for contestants in Java; see Lending.java.
import java.util.ArrayList;
import java.util.List;

final class LendPlan {
    private static final int THREADS_MAX = 1024, SIZE_MAX = 1000000;

    final int threads, size;
    final long workNs, steps;
    final double seconds;
    final boolean waits, asleep;

    LendPlan(List<String> words) {
        if (words.size() < 4) Lend.fail("usage: THREADS SIZE WORK-NS SECONDS [waits] [asleep] [warm=SECONDS]");
        List<String> flags = new ArrayList<>(words.subList(4, words.size()));
        threads = (int) number(words.get(0), 1, THREADS_MAX);
        size = (int) number(words.get(1), 1, SIZE_MAX);
        workNs = number(words.get(2), 0, 1000000000);
        seconds = Double.parseDouble(words.get(3));
        waits = flags.remove("waits");
        asleep = flags.remove("asleep");
        if (!flags.isEmpty()) Lend.fail(flags.get(0) + " is none of: waits, asleep, warm=SECONDS");
        steps = asleep || workNs == 0 ? 0 : Math.round(workNs * stepsPerUs() / 1000);
    }

    private static long number(String word, long least, long most) {
        long value = Long.parseLong(word);
        if (value < least || value > most) Lend.fail(word + " is not between " + least + " and " + most);
        return value;
    }

    /** The best of many short runs; the first of them are not compiled yet. */
    private static double stepsPerUs() {
        String given = System.getenv("BENCH_STEPS_PER_US");
        if (given != null) return Double.parseDouble(given);
        long best = Long.MAX_VALUE, noise = 1;
        for (int round = 0; round < 2000; round++) {
            long start = System.nanoTime();
            noise = Lend.spin(50000, noise);
            best = Math.min(best, System.nanoTime() - start);
        }
        return noise == 0 ? 0 : 50000 * 1000.0 / best;
    }
}
