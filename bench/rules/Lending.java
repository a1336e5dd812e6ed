// SPDX-License-Identifier: MIT
// The cold half of the rules for contestants in Java, see Lend.java: runs, check, answer.
//
//     THREADS SIZE WORK-NS SECONDS [waits] [asleep] [warm=SECONDS]
//     cells [warm=SECONDS] THREADS,SIZE,WORK-NS,SECONDS[,waits][,asleep] ...     several in one process, each with a fresh pool
//     cells told [warm=SECONDS] CELL ...     the same cells, but each measured when it comes, in a line of the input
//
// The compiler needs seconds to see what is hot, so the same loop first runs alone, then with all threads; both are thrown away.
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CyclicBarrier;
import java.util.function.Supplier;
import java.util.stream.Stream;

final class Lending<L> {
    static final int CHECKED_MAX = 10000;
    static final double AGAIN_S = 0.3;
    static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    /** Whether the time of a run is over; read by every turn of the loop. Workers look at the time too: main is late among many. */
    static final class Clock { volatile boolean over; volatile long end; }

    private final Lend<L> pool;
    private final LendPlan plan;
    private final Lend.Item[] items;

    private Lending(Lend<L> pool, LendPlan plan) throws Exception {
        this.pool = pool;
        this.plan = plan;
        items = pool.make(plan.size);
        for (int i = 0; i < plan.size; i++) items[i].index = i;
    }

    private List<Lend.Worker<L>> run(int threads, double seconds) throws Exception {
        Clock clock = new Clock();
        CyclicBarrier line = new CyclicBarrier(threads + 1, () -> clock.end = System.nanoTime() + (long) (seconds * 1e9));
        List<Lend.Worker<L>> workers = new ArrayList<>();
        for (Lend.Item item : items) item.uses = 0;
        for (int i = 0; i < threads; i++) workers.add(new Lend.Worker<>(pool, plan, clock, line, i));
        for (Thread worker : workers) worker.start();
        line.await();
        Thread.sleep((long) (seconds * 1000));
        clock.over = true;
        for (Thread worker : workers) worker.join();
        return workers;
    }

    private void measure() throws Exception {
        long cpu = SYSTEM.getProcessCpuTime();
        List<Lend.Worker<L>> workers = run(plan.threads, plan.seconds);
        cpu = SYSTEM.getProcessCpuTime() - cpu;
        long pairs = 0, clashes = 0, uses = 0, smallest = Long.MAX_VALUE, largest = 0, start = Long.MAX_VALUE, end = Long.MIN_VALUE;
        Lengths waits = new Lengths();
        for (Lend.Worker<L> each : workers) {
            pairs += each.pairs;
            clashes += each.clashes;
            smallest = Math.min(smallest, each.pairs);
            largest = Math.max(largest, each.pairs);
            start = Math.min(start, each.start);
            end = Math.max(end, each.end);
            waits.add(each.waits);
        }
        for (Lend.Item item : items) uses += item.uses;
        if (uses != pairs || clashes != 0)
            Lend.fail("objects were shared: " + uses + " uses in " + pairs + " pairs, " + clashes + " seen by their holder");
        checkAllThere();
        double elapsed = end - start, mean = (double) pairs / plan.threads;
        say("ns=%.2f smallest_share=%.3f largest_share=%.3f", elapsed / pairs, smallest / mean, largest / mean);
        if (plan.waits)
            say(" wait_p50_us=%.3f wait_p99_us=%.3f wait_max_ms=%.3f wait_mean_us=%.3f", waits.percentile(0.5) / 1e3,
                waits.percentile(0.99) / 1e3, waits.longest / 1e6, waits.sum / 1e3 / pairs);
        say(" pairs=%d elapsed_ms=%.1f cpus=%.2f%n", pairs, elapsed / 1e6, cpu / elapsed);
    }

    /** Takes every object, to see that each is there once. Whoever wants one more then must wait. From a large pool only some are
     * taken: HikariCP's take looks at each that is lent before it finds one that is not, which would need a minute. */
    private void checkAllThere() throws Exception {
        List<L> leases = new ArrayList<>();
        boolean[] seen = new boolean[plan.size];
        for (int i = 0; i < Math.min(plan.size, CHECKED_MAX); i++) {
            leases.add(pool.take());
            Lend.Item item = pool.item(leases.get(i));
            if (item != items[item.index]) Lend.fail("the pool lent something that was never put in");
            if (seen[item.index]) Lend.fail("the pool lends object " + item.index + " twice");
            seen[item.index] = true;
        }
        if (plan.size <= CHECKED_MAX) checkNoMore();
        for (L lease : leases) pool.give(lease);
    }

    private void checkNoMore() throws InterruptedException {
        Thread more = new Thread(() -> {
            try {
                pool.take();
                Lend.fail("the pool lends more objects than were put in");
            } catch (Exception interrupted) {
                // As it should be: nothing was to be had.
            }
        });
        more.start();
        while (more.getState() != Thread.State.TIMED_WAITING && more.isAlive()) Thread.sleep(1);
        Thread.sleep(5);
        more.interrupt();
        more.join();
    }

    private static void say(String format, Object... values) { System.out.printf(Locale.ROOT, format, values).flush(); }

    private void warmUp(double seconds) throws Exception {
        run(Math.min(plan.threads, plan.size), seconds / 2);
        run(plan.threads, seconds / 2);
    }

    private static Lending<?> pool(Supplier<Lend<?>> contestant, LendPlan plan) throws Exception {
        Lend<?> pool = Lend.BROKEN == null ? contestant.get() : new LendBroken<>(contestant.get());
        return new Lending<>(pool, plan);
    }

    private static Stream<LendPlan> input() {
        return new BufferedReader(new InputStreamReader(System.in)).lines().map(line -> new LendPlan(List.of(line.split(","))));
    }

    /** One answer for each cell. Of several all are rehearsed first: whatever a cell does for the first time makes the compiler
     * throw away what it has. One thread may be compiled better where there never were more: it goes alone. */
    static void main(String[] arguments, Supplier<Lend<?>> contestant) {
        try {
            List<String> words = new ArrayList<>(List.of(arguments));
            List<LendPlan> plans = new ArrayList<>();
            double warm = 2;
            for (String word : arguments)
                if (word.startsWith("warm=") && words.remove(word)) warm = Double.parseDouble(word.substring(5));
            boolean several = words.remove("cells");
            boolean told = words.remove("told");
            if (!several) words = List.of(String.join(",", words));
            for (String cell : words) plans.add(new LendPlan(List.of(cell.split(","))));
            if (plans.stream().map(plan -> plan.threads == 1).distinct().count() > 1) Lend.fail("cells of one thread go alone");
            for (LendPlan plan : several ? plans : List.<LendPlan>of()) {
                Lending<?> lending = pool(contestant, plan);
                lending.warmUp(warm / plans.size());
                lending.pool.close();
            }
            Iterable<LendPlan> measured = told ? input()::iterator : plans;
            for (LendPlan plan : measured) {
                Lending<?> lending = pool(contestant, plan);
                lending.warmUp(several ? AGAIN_S : warm);
                lending.measure();
                if (several) lending.pool.close();
            }
        } catch (Exception e) {
            Lend.fail("a take or a give failed, or waited too long: " + e);
        }
        Runtime.getRuntime().halt(0);
    }
}
