// SPDX-License-Identifier: MIT
// The rules of rules/lend.h for contestants in Java: what is lent, what a contestant brings, and the hot loop. The cold half is
// in Lending.java. A process has one contestant, so the compiler sees whose take and give are meant and puts them into the loop.
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.LockSupport;

/** A pool, made anew for each cell. A lease is whatever take returns and give wants. */
abstract class Lend<L> {
    static final String BROKEN = System.getenv("BENCH_BROKEN");
    static final long PATIENCE_MS = BROKEN == null ? 5000 : 300;

    /** Makes the pool, full, and answers all that is in it. */
    abstract Item[] make(int size) throws Exception;
    /** Waits at most PATIENCE_MS, then ends the program or throws. */
    abstract L take() throws Exception;
    abstract Item item(L lease);
    abstract void give(L lease) throws Exception;
    /** Ends the pool's threads; all that it lent was given back. */
    void close() throws Exception { }

    static void fail(String text) {
        System.err.println(text);
        Runtime.getRuntime().halt(1);
    }

    // ---- What is lent: between two cache lines that nobody touches, whatever its neighbours ----

    static class Front {
        int gap; // the virtual machine would put the next class's int there, beside the object's header
        long f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15;
    }

    static class Middle extends Front {
        long uses;
        volatile int state; // for a pool that keeps one in what it lends
        int index;
    }

    static class Item extends Middle {
        long b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15;
    }

    private static final VarHandle USES;

    static {
        try {
            USES = MethodHandles.lookup().findVarHandle(Middle.class, "uses", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    // ---- The hot loop --------------------------------------------------------

    /** In turns of some thousands, each a call: a method that is called again is replaced by its better compilations, one that
     * loops for ever is replaced in the middle at best. */
    static final class Worker<L> extends Thread {
        static final int TURNS = 5000;
        private final Lend<L> pool;
        private final LendPlan plan;
        private final Lending.Clock clock;
        private final CyclicBarrier line;
        final Lengths waits = new Lengths();
        long pairs, clashes, noise, start, end;

        Worker(Lend<L> pool, LendPlan plan, Lending.Clock clock, CyclicBarrier line, int number) {
            this.pool = pool;
            this.plan = plan;
            this.clock = clock;
            this.line = line;
            noise = number + 1;
        }

        @Override public void run() {
            try {
                line.await();
                start = System.nanoTime();
                do {
                    turns();
                    if (System.nanoTime() - clock.end >= 0) clock.over = true;
                } while (!clock.over);
                end = System.nanoTime();
            } catch (Exception e) {
                fail("a take or a give failed, or waited too long: " + e);
            }
        }

        private void turns() throws Exception {
            boolean timed = plan.waits, works = plan.workNs > 0;
            long seen = 0;
            int done = 0;
            do {
                long asked = timed ? System.nanoTime() : 0;
                L lease = pool.take();
                if (timed) waits.add(System.nanoTime() - asked);
                Item item = pool.item(lease);
                long mine = ++item.uses;
                if (works) work();
                if ((long) USES.getOpaque((Middle) item) != mine) seen++;
                pool.give(lease);
            } while (++done < TURNS && !clock.over);
            pairs += done;
            clashes += seen;
        }

        private void work() {
            if (plan.asleep) {
                rest(plan.workNs);
            } else {
                noise = spin(plan.steps, noise);
            }
        }

        /** Again, if somebody who once was to wake this thread comes late. */
        private static void rest(long ns) {
            long until = System.nanoTime() + ns;
            for (long left = ns; left > 0; left = until - System.nanoTime()) LockSupport.parkNanos(left);
        }
    }

    /** The work of all languages, see lend.h. */
    static long spin(long steps, long noise) {
        for (long left = steps; left > 0; left--) noise = (noise ^ noise >>> 29) * 6364136223846793005L;
        return noise;
    }
}
