// SPDX-License-Identifier: MIT
// HikariCP's ConcurrentBag, the heart of that pool without its connections, by
// the rules of support/lend.h. The compiler needs seconds to see what is hot,
// so the same loop first runs alone, then with all threads; both are thrown
// away. The loop is in turns of some thousands, each a call: a method that is
// called again is replaced by its better compilations, one that loops for
// ever is replaced in the middle at best.
import com.zaxxer.hikari.util.ConcurrentBag;
import com.zaxxer.hikari.util.ConcurrentBag.IConcurrentBagEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.locks.LockSupport;

final class Pool {
    static final int TURNS = 5000;
    static final long PATIENCE_S = 5;

    static class Front { long f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15; }

    static class Middle extends Front { volatile int state; long uses; }

    /** An entry with two cache lines of its own, whatever its neighbours. */
    static final class Entry extends Middle implements IConcurrentBagEntry {
        long b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15;
        private static final AtomicIntegerFieldUpdater<Middle> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Middle.class, "state");

        public boolean compareAndSet(int expect, int update) { return STATE.compareAndSet(this, expect, update); }
        public void setState(int update) { state = update; }
        public int getState() { return state; }
    }

    final int threads, size;
    final long workNs, steps;
    final boolean waits, asleep;
    final ConcurrentBag<Entry> bag = new ConcurrentBag<>(waiting -> { });
    final List<Entry> entries = new ArrayList<>();
    volatile boolean over;

    final class Worker extends Thread {
        final CyclicBarrier line;
        long pairs, clashes, noise, start, end, longest, waited;

        Worker(CyclicBarrier line, int number) { this.line = line; noise = number + 1; }

        @Override public void run() {
            try {
                line.await();
                start = System.nanoTime();
                do {
                    turns();
                } while (!over);
                end = System.nanoTime();
            } catch (Exception e) {
                fail(e.toString());
            }
        }

        /** Some thousands of pairs, or fewer if the time is over. */
        private void turns() throws InterruptedException {
            for (int i = 0; i < TURNS && !over; i++) {
                long asked = waits ? System.nanoTime() : 0;
                Entry entry = take();
                if (waits) {
                    long wait = System.nanoTime() - asked;
                    longest = Math.max(longest, wait);
                    waited += wait;
                }
                long mine = ++entry.uses;
                if (workNs > 0) work();
                if (entry.uses != mine) clashes++;
                bag.requite(entry);
                pairs++;
            }
        }

        private void work() {
            if (asleep) {
                LockSupport.parkNanos(workNs);
            } else {
                noise = spin(steps, noise);
            }
        }
    }

    Pool(int threads, int size, long workNs, boolean waits, boolean asleep) {
        this.threads = threads;
        this.size = size;
        this.workNs = workNs;
        this.waits = waits;
        this.asleep = asleep;
        steps = asleep || workNs == 0 ? 0 : Math.round(workNs * stepsPerUs() / 1000);
        for (int i = 0; i < size; i++) {
            entries.add(new Entry());
            bag.add(entries.get(i));
        }
    }

    static void fail(String text) {
        System.err.println(text);
        Runtime.getRuntime().halt(1);
    }

    Entry take() throws InterruptedException {
        Entry entry = bag.borrow(PATIENCE_S, TimeUnit.SECONDS);
        if (entry == null) fail("a take waited for " + PATIENCE_S + " s");
        return entry;
    }

    static long spin(long steps, long noise) {
        for (long left = steps; left > 0; left--) noise = (noise ^ noise >>> 29) * 6364136223846793005L;
        return noise;
    }

    static double stepsPerUs() {
        String given = System.getenv("BENCH_STEPS_PER_US");
        if (given != null) return Double.parseDouble(given);
        long best = Long.MAX_VALUE, noise = 1;
        for (int round = 0; round < 2000; round++) {
            long start = System.nanoTime();
            noise = spin(50000, noise);
            best = Math.min(best, System.nanoTime() - start);
        }
        return noise == 0 ? 0 : 50000 * 1000.0 / best;
    }

    Worker[] run(int count, double seconds) throws Exception {
        CyclicBarrier line = new CyclicBarrier(count + 1);
        Worker[] workers = new Worker[count];
        over = false;
        for (Entry entry : entries) entry.uses = 0;
        for (int i = 0; i < count; i++) (workers[i] = new Worker(line, i)).start();
        line.await();
        Thread.sleep((long) (seconds * 1000));
        over = true;
        for (Worker worker : workers) worker.join();
        return workers;
    }

    void report(Worker[] workers) throws InterruptedException {
        long pairs = 0, uses = 0, clashes = 0, smallest = Long.MAX_VALUE, largest = 0;
        long start = Long.MAX_VALUE, end = Long.MIN_VALUE, longest = 0, waited = 0;
        for (Worker w : workers) {
            pairs += w.pairs;
            clashes += w.clashes;
            smallest = Math.min(smallest, w.pairs);
            largest = Math.max(largest, w.pairs);
            start = Math.min(start, w.start);
            end = Math.max(end, w.end);
            longest = Math.max(longest, w.longest);
            waited += w.waited;
        }
        for (Entry entry : entries) uses += entry.uses;
        if (uses != pairs || clashes != 0) fail("objects were shared");
        for (int i = 0; i < size; i++) {
            Entry entry = take();
            if (entry.uses < 0) fail("an object was doubled");
            entry.uses = -1;
        }
        if (bag.borrow(5, TimeUnit.MILLISECONDS) != null) fail("there are more objects than were put in");
        double mean = (double) pairs / workers.length;
        System.out.printf("ns=%.2f smallest_share=%.3f largest_share=%.3f", (double) (end - start) / pairs,
            smallest / mean, largest / mean);
        if (waits) System.out.printf(" wait_max_ms=%.3f wait_mean_us=%.3f", longest / 1e6, waited / 1e3 / pairs);
        System.out.printf(" pairs=%d elapsed_ms=%.1f%n", pairs, (end - start) / 1e6);
    }

    public static void main(String[] words) throws Exception {
        if (words.length < 4) fail("usage: THREADS SIZE WORK-NS SECONDS [waits] [asleep] [warm=SECONDS]");
        List<String> flags = new ArrayList<>(List.of(words).subList(4, words.length));
        boolean waits = flags.remove("waits"), asleep = flags.remove("asleep");
        double warm = 2;
        if (flags.size() == 1 && flags.get(0).startsWith("warm=")) warm = Double.parseDouble(flags.remove(0).substring(5));
        if (!flags.isEmpty()) fail("the flags are waits, asleep and warm=SECONDS");
        Pool pool = new Pool(Integer.parseInt(words[0]), Integer.parseInt(words[1]), Long.parseLong(words[2]), waits, asleep);
        pool.run(Math.min(pool.threads, pool.size), warm / 2);
        pool.run(pool.threads, warm / 2);
        pool.report(pool.run(pool.threads, Double.parseDouble(words[3])));
        System.exit(0);
    }
}
