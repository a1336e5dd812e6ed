// SPDX-License-Identifier: MIT
// The rules of rules/ends.h for an outage, for contestants in Java: workers that go on whatever happens, counted by time.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;

final class EndsOutage<C> extends Thread {
    static final long STEP_NS = 25_000_000, PAUSE_NS = 20_000_000, STUCK_NS = 5_000_000_000L;

    /** What the workers share; turns by the time when they were over. */
    private static final class Counts {
        final AtomicIntegerArray answered, failed;
        final long start = System.nanoTime();

        Counts(int steps) {
            answered = new AtomicIntegerArray(steps);
            failed = new AtomicIntegerArray(steps);
        }

        void add(boolean good, long end) {
            AtomicIntegerArray counts = good ? answered : failed;
            long step = (end - start) / STEP_NS;
            if (step < counts.length()) counts.incrementAndGet((int) step);
        }
    }

    private final Ends<C> pool;
    private final Counts counts;
    private volatile long longest;
    private volatile long began; // of the turn that is not over, or 0

    private EndsOutage(Ends<C> pool, Counts counts) {
        this.pool = pool;
        this.counts = counts;
    }

    @Override public void run() {
        while (true) {
            long begin = System.nanoTime();
            began = begin;
            boolean good = isAnswered();
            long end = System.nanoTime();
            began = 0;
            longest = Math.max(longest, end - begin);
            counts.add(good, end);
            while (System.nanoTime() - end < PAUSE_NS) LockSupport.parkNanos(end + PAUSE_NS - System.nanoTime());
        }
    }

    private boolean isAnswered() {
        try {
            C connection = pool.take();
            try {
                return pool.ask(connection) == Ends.RIGHT;
            } finally {
                pool.give(connection);
            }
        } catch (Exception e) {
            return false;
        }
    }

    static <C> void survive(Ends<C> pool, int threads, double seconds) throws InterruptedException {
        List<EndsOutage<C>> workers = new ArrayList<>();
        long longest = 0, stuck = 0;
        Ends.say("ready%n");
        System.out.flush();
        Counts counts = new Counts((int) Math.ceil(seconds * 1e9 / STEP_NS));
        for (int i = 0; i < threads; i++) workers.add(new EndsOutage<>(pool, counts));
        for (Thread worker : workers) worker.start();
        Thread.sleep((long) (seconds * 1000));
        long now = System.nanoTime();
        for (EndsOutage<C> each : workers) {
            long began = each.began, lasts = began == 0 ? 0 : now - began;
            longest = Math.max(longest, Math.max(each.longest, lasts));
            if (lasts > STUCK_NS) stuck++;
        }
        for (int i = 0; i < counts.answered.length(); i++)
            Ends.say("a%d=%d f%d=%d ", i, counts.answered.get(i), i, counts.failed.get(i));
        Ends.say("longest_ms=%.1f stuck=%d%n", longest / 1e6, stuck);
    }
}
