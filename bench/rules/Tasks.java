// SPDX-License-Identifier: MIT
// Rounds, checks, arguments and what is printed; see peers/java/Crew.java. The compiler needs
// seconds to see what is hot: the rounds of the warm-up are thrown away.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

final class Tasks {
    static final long PATIENCE_NS = 5_000_000_000L, LOOK_NS = 50_000;

    static final int[] due = new int[Crew.COUNT];
    static final Semaphore over = new Semaphore(0);
    static volatile long ended;
    static String cell;

    static void fail(String text) {
        System.err.println(text);
        Runtime.getRuntime().halt(1);
    }

    static void end() {
        ended = System.nanoTime();
        over.release();
    }

    private static void expect(int first, int count, int runs) {
        for (int i = first; i < first + count; i++) due[i] += runs;
    }

    /** What a round lets run, and how many operations that is. */
    private static int expectRound() {
        switch (cell) {
            case "chain":
                expect(0, Crew.CHAINED, 1);
                return Crew.CHAINED - 1;
            case "pairs":
                expect(0, 1 + 2 * Crew.PAIRS, 1);
                expect(1, Crew.PAIRS, 1);
                return Crew.PAIRS;
            case "spawn":
                expect(0, 1 + Crew.SPAWNED, 1);
                return Crew.SPAWNED;
            case "yield":
                expect(0, 1 + Crew.YIELDING, 1);
                expect(1, Crew.YIELDING, Crew.YIELDS);
                return Crew.YIELDING * Crew.YIELDS;
            case "inside":
                expect(0, 1 + Crew.INSIDE, 1);
                return Crew.INSIDE;
            default:
                expect(0, Crew.SLOTS, Crew.TIMES);
                return Crew.SLOTS * Crew.TIMES;
        }
    }

    private static void awaitRuns() {
        long start = System.nanoTime();
        for (int i = 0; i < due.length; i++) {
            while (due[i] > 0 && Crew.tasks[i].runs < due[i]) {
                if (System.nanoTime() - start > PATIENCE_NS) fail("task " + i + " never ran");
                LockSupport.parkNanos(LOOK_NS);
            }
            if (Crew.tasks[i].runs > due[i]) fail("task " + i + " ran twice");
        }
    }

    /** In turns, each a call: see peers/hikari. */
    private static void produce(int first, int end, int before) {
        for (int sent = before; sent < before + Crew.TIMES; sent++) send(first, end, sent);
    }

    private static void send(int first, int end, int sent) {
        for (int i = first; i < end; i++) {
            Crew.Task task = Crew.tasks[i];
            while (sent > 0 && task.runs < sent) LockSupport.parkNanos(LOOK_NS);
            Crew.submit(task);
        }
    }

    /** The answer of each round is picoseconds an operation. */
    private static long submitRound(int producers) throws Exception {
        long[] starts = {0, Long.MAX_VALUE};
        int before = due[0];
        CyclicBarrier line = new CyclicBarrier(producers);
        Thread other = new Thread(() -> {
            try { line.await(); } catch (Exception e) { fail(e.toString()); }
            starts[1] = System.nanoTime();
            produce(Crew.SLOTS / 2, Crew.SLOTS, before);
        });
        expectRound();
        if (producers == 2) other.start();
        line.await();
        starts[0] = System.nanoTime();
        produce(0, Crew.SLOTS / producers, before);
        if (producers == 2) other.join();
        awaitRuns();
        return (System.nanoTime() - Math.min(starts[0], starts[1])) * 1000 / (Crew.SLOTS * Crew.TIMES);
    }

    private static long innerRound() throws Exception {
        int operations = expectRound();
        Crew.start(cell);
        if (!over.tryAcquire(PATIENCE_NS, TimeUnit.NANOSECONDS)) fail("a round never ended: a task never ran");
        awaitRuns();
        return (ended - Crew.began) * 1000 / operations;
    }

    private static long resultRound() throws Exception {
        if (cell.equals("idle10")) Thread.sleep(10);
        due[0]++;
        long start = System.nanoTime();
        Crew.result(Crew.tasks[0]);
        long took = System.nanoTime() - start;
        if (Crew.tasks[0].runs != due[0]) fail("task 0 ran never or twice");
        return took * 1000;
    }

    private static long once() throws Exception {
        switch (cell) {
            case "submit1":
                return submitRound(1);
            case "submit2":
                return submitRound(2);
            case "result":
            case "idle10":
                return resultRound();
            default:
                return innerRound();
        }
    }

    private static long[] rounds(double seconds) throws Exception {
        long[] samples = new long[1 << 20];
        int count = 0;
        long start = System.nanoTime();
        while (count < samples.length && (count < 3 || System.nanoTime() - start < seconds * 1e9)) samples[count++] = once();
        return Arrays.copyOf(samples, count);
    }

    /** Of the whole machine: by the kernel's count of run time, in nanoseconds, over all threads. */
    private static double processCpuMs() throws Exception {
        double ns = 0;
        try (var threads = Files.list(Path.of("/proc/self/task"))) {
            for (Path thread : (Iterable<Path>) threads::iterator) {
                ns += Double.parseDouble(Files.readString(thread.resolve("schedstat")).split(" ")[0]);
            }
        }
        return ns / 1e6;
    }

    private static void idle(double seconds) throws Exception {
        submitRound(1);
        double used = processCpuMs();
        Thread.sleep((long) (seconds * 1000));
        System.out.printf("cpu_ms=%.4f elapsed_ms=%.1f%n", processCpuMs() - used, seconds * 1000);
    }

    public static void main(String[] words) throws Exception {
        if (words.length < 3 || words.length > 4) fail("usage: forkjoin|executor CELL SECONDS [warm=SECONDS]");
        cell = words[1];
        double seconds = Double.parseDouble(words[2]);
        double warm = words.length == 4 ? Double.parseDouble(words[3].substring("warm=".length())) : 1;
        Crew.make(words[0], cell);
        if (cell.equals("idle")) {
            idle(seconds);
        } else {
            rounds(warm);
            long start = System.nanoTime();
            long[] samples = rounds(seconds);
            double elapsed = (System.nanoTime() - start) / 1e6;
            awaitRuns();
            Arrays.sort(samples);
            int last = samples.length - 1;
            System.out.printf("ns=%.2f ns_min=%.2f ns_max=%.2f p99_ns=%.2f rounds=%d elapsed_ms=%.1f%n", samples[last / 2] / 1e3,
                samples[0] / 1e3, samples[last] / 1e3, samples[last * 99 / 100] / 1e3, samples.length, elapsed);
        }
        Runtime.getRuntime().halt(0);
    }
}
