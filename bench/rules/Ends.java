// SPDX-License-Identifier: MIT
// The rules of rules/ends.h for contestants in Java: words, workers, answers; EndsOutage.java has those of an outage.
// The compiler needs seconds to see what is hot, so warm= should be given.
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CyclicBarrier;

/** A pool of connections. */
abstract class Ends<C> {
    static final int RIGHT = "answer".equals(System.getenv("BENCH_BROKEN")) ? 2 : 1; // a planted bug: another answer is expected

    /** With all connections open; limits: those that are advised for an outage. */
    abstract void open(String host, int port, int connections, boolean limits) throws Exception;
    abstract C take() throws Exception;
    /** The number that `select 1` answers. */
    abstract int ask(C connection) throws Exception;
    abstract void give(C connection) throws Exception;

    static void fail(String text) {
        System.err.println(text);
        Runtime.getRuntime().halt(1);
    }

    static void say(String format, Object... values) { System.out.printf(Locale.ROOT, format, values); }

    // ---- As fast as it goes --------------------------------------------------

    private volatile boolean over;

    private final class Worker extends Thread {
        final CyclicBarrier line;
        final Lengths waits = new Lengths(), calls = new Lengths(), turns = new Lengths();
        long start, end;

        Worker(CyclicBarrier line) { this.line = line; }

        @Override public void run() {
            try {
                line.await();
                start = end = System.nanoTime();
                do {
                    turn(end);
                } while (!over);
            } catch (Exception e) {
                fail("a question failed: " + e);
            }
        }

        private void turn(long asked) throws Exception {
            C connection = take();
            long taken = System.nanoTime();
            int answer = Ends.this.ask(connection);
            calls.add(System.nanoTime() - taken);
            waits.add(taken - asked);
            give(connection);
            if (answer != RIGHT) fail("an answer was wrong");
            end = System.nanoTime();
            turns.add(end - asked);
        }
    }

    private List<Worker> run(int threads, double seconds) throws Exception {
        CyclicBarrier line = new CyclicBarrier(threads + 1);
        List<Worker> workers = new ArrayList<>();
        over = false;
        for (int i = 0; i < threads; i++) workers.add(new Worker(line));
        for (Worker worker : workers) worker.start();
        line.await();
        Thread.sleep((long) (seconds * 1000));
        over = true;
        for (Worker worker : workers) worker.join();
        return workers;
    }

    private void measure(int threads, double seconds) throws Exception {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpu = system.getProcessCpuTime(), smallest = Long.MAX_VALUE, start = Long.MAX_VALUE, end = Long.MIN_VALUE;
        List<Worker> workers = run(threads, seconds);
        cpu = system.getProcessCpuTime() - cpu;
        Lengths waits = new Lengths(), calls = new Lengths(), turns = new Lengths();
        for (Worker each : workers) {
            smallest = Math.min(smallest, each.calls.count);
            start = Math.min(start, each.start);
            end = Math.max(end, each.end);
            waits.add(each.waits);
            calls.add(each.calls);
            turns.add(each.turns);
        }
        double elapsed = end - start;
        say("elapsed_ms=%.1f asked=%d per_s=%.1f", elapsed / 1e6, calls.count, calls.count / elapsed * 1e9);
        say(" wait_p50_us=%.3f wait_p99_us=%.3f wait_p999_us=%.3f wait_max_ms=%.3f", waits.percentile(0.5) / 1e3,
            waits.percentile(0.99) / 1e3, waits.percentile(0.999) / 1e3, waits.longest / 1e6);
        say(" turn_p50_ms=%.4f turn_p99_ms=%.4f", turns.percentileByTime(0.5) / 1e6, turns.percentileByTime(0.99) / 1e6);
        say(" call_p50_us=%.3f call_p99_us=%.3f cpu_s=%.3f smallest_share=%.3f%n", calls.percentile(0.5) / 1e3,
            calls.percentile(0.99) / 1e3, cpu / 1e9, (double) smallest * threads / calls.count);
    }

    // ---- Words ---------------------------------------------------------------

    static void main(String[] words, String only, Ends<?> pool) {
        if (words.length > 0 && !words[0].equals(only)) fail("this pool has connections to " + only + " only, not to " + words[0]);
        if (words.length < 6 || words.length > 7)
            fail("usage: " + only + " HOST PORT THREADS CONNECTIONS SECONDS [warm=SECONDS | outage=default | outage=advised]");
        String how = words.length == 7 ? words[6] : "warm=0";
        int threads = Integer.parseInt(words[3]), connections = Integer.parseInt(words[4]);
        double seconds = Double.parseDouble(words[5]);
        try {
            pool.open(words[1], Integer.parseInt(words[2]), connections, how.equals("outage=advised"));
            if (how.equals("outage=default") || how.equals("outage=advised")) {
                EndsOutage.survive(pool, threads, seconds);
            } else if (how.startsWith("warm=")) {
                double warm = Double.parseDouble(how.substring(5));
                if (warm > 0) pool.run(threads, warm);
                pool.measure(threads, seconds);
            } else {
                fail(how + " is none of: warm=SECONDS, outage=default, outage=advised");
            }
        } catch (Exception e) {
            fail("the pool cannot be used: " + e);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
