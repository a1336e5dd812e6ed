// SPDX-License-Identifier: MIT
// ForkJoinPool and ThreadPoolExecutor (with its usual LinkedBlockingQueue), by the
// rules of rules/tasks.h; rounds and checks are in Tasks.java. ForkJoinPool has a
// fresh ForkJoinTask for each run, as its users do: used again at once, some were never
// run. A task that yields or has a partner is submitted again.
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLong;

final class Crew {
    static final int WORKERS = 2, SLOTS = 8192, TIMES = 12, COUNT = 10001, CHAINED = 1000, PAIRS = 1000, SPAWNED = 10000,
        YIELDING = 200, YIELDS = 1000, INSIDE = 10000;

    static ForkJoinPool forkJoin;
    static ExecutorService executor;
    static final Task[] tasks = new Task[COUNT];
    static final AtomicLong remain = new AtomicLong();
    static volatile long began;

    /** What a task does besides counting its run. */
    enum Body { EMPTY, CHAIN, PING, PONG, LEAF, YIELD, ROOT, PARENT }

    @SuppressWarnings("serial")
    static final class Shot extends RecursiveAction {
        final Task task;

        Shot(Task task) { this.task = task; }

        @Override protected void compute() { task.run(); }
    }

    static final class Task implements Runnable {
        private static final AtomicIntegerFieldUpdater<Task> RUNS = AtomicIntegerFieldUpdater.newUpdater(Task.class, "runs");
        long f0, f1, f2, f3; // so that the tasks lie on cache lines of their own
        volatile int runs;
        final int number;
        int left;
        Body body = Body.EMPTY;

        Task(int number) { this.number = number; }

        @Override public void run() {
            RUNS.lazySet(this, runs + 1);
            if (body != Body.EMPTY) act();
        }

        private void act() {
            switch (body) {
                case CHAIN -> chain();
                case PING -> { if (left-- > 0) spawn(tasks[number + PAIRS]); else leave(); }
                case PONG -> spawn(tasks[number - PAIRS]);
                case LEAF -> leave();
                case YIELD -> { if (left-- > 0) yieldNow(); else leave(); }
                case ROOT -> root();
                default -> parent();
            }
        }

        private void chain() {
            if (number == 0) began = System.nanoTime();
            if (number + 1 < CHAINED) spawn(tasks[number + 1]); else Tasks.end();
        }

        private void root() {
            int count = left;
            began = System.nanoTime();
            for (int i = 1; i <= count; i++) spawn(tasks[i]);
        }

        private void parent() {
            began = System.nanoTime();
            for (int i = 1; i <= INSIDE; i++) {
                Shot shot = new Shot(tasks[i]);
                shot.fork();
                shot.join();
            }
            Tasks.end();
        }

        private void yieldNow() {
            if (forkJoin == null) executor.execute(this); else new Shot(this).fork();
        }
    }

    static void leave() {
        if (remain.decrementAndGet() == 0) Tasks.end();
    }

    /** From inside. */
    static void spawn(Task task) {
        if (forkJoin == null) executor.execute(task); else new Shot(task).fork();
    }

    /** From outside. */
    static void submit(Task task) {
        if (forkJoin == null) executor.execute(task); else forkJoin.execute((ForkJoinTask<?>) new Shot(task));
    }

    static void result(Task task) throws Exception {
        if (forkJoin != null) forkJoin.submit((ForkJoinTask<?>) new Shot(task)).get(); else executor.submit((Runnable) task).get();
    }

    private static void set(int first, int count, Body body) {
        for (int i = first; i < first + count; i++) tasks[i].body = body;
    }

    static void make(String kind, String cell) {
        if (kind.equals("forkjoin")) {
            // First in, first out for those that were forked, when they yield: else a task is its own successor.
            boolean fifo = cell.equals("yield");
            forkJoin = new ForkJoinPool(WORKERS, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, fifo);
        } else {
            executor = Executors.newFixedThreadPool(WORKERS);
        }
        for (int i = 0; i < tasks.length; i++) tasks[i] = new Task(i);
        if (cell.equals("chain")) set(0, CHAINED, Body.CHAIN);
        if (cell.equals("spawn")) set(1, SPAWNED, Body.LEAF);
        if (cell.equals("yield")) set(1, YIELDING, Body.YIELD);
        for (int i = 1; i <= 2 * PAIRS && cell.equals("pairs"); i++) tasks[i].body = i <= PAIRS ? Body.PING : Body.PONG;
        if (cell.equals("inside")) set(0, 1, Body.PARENT);
        if (cell.equals("pairs") || cell.equals("spawn") || cell.equals("yield")) set(0, 1, Body.ROOT);
    }

    /** A round's first task, from outside. */
    static void start(String cell) {
        int count = cell.equals("pairs") ? PAIRS : cell.equals("spawn") ? SPAWNED : cell.equals("yield") ? YIELDING : 0;
        remain.set(count);
        for (int i = 1; i <= count; i++) tasks[i].left = cell.equals("yield") ? YIELDS : cell.equals("pairs") ? 1 : 0;
        if (count > 0) tasks[0].left = count;
        submit(tasks[0]);
    }
}
