// SPDX-License-Identifier: MIT
// The published design of a pool in Rust, by the rules of support/lend.h: a
// fixed array of objects, and an unbounded crossbeam channel in which the
// indexes of the idle ones lie.
use crossbeam_channel::{unbounded, Receiver, Sender};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(5);

fn fail(text: &str) -> ! {
    eprintln!("{}", text);
    std::process::exit(1)
}

#[repr(align(128))]
struct Object {
    uses: UnsafeCell<u64>,
}

struct Pool {
    objects: Vec<Object>,
    give: Sender<usize>,
    take: Receiver<usize>,
    over: AtomicBool,
}
unsafe impl Sync for Pool {} // whoever has an index has its object for himself

#[derive(Clone, Copy)]
struct Plan {
    threads: usize,
    size: usize,
    work: Duration,
    steps: u64,
    time: Duration,
    asleep: bool,
    waits: bool,
}

struct Seen {
    pairs: u64,
    clashes: u64,
    noise: u64,
    start: Instant,
    end: Instant,
    longest: Duration,
    waited: Duration,
}

#[inline(never)]
fn spin(steps: u64, mut noise: u64) -> u64 {
    for _ in 0..steps {
        noise = (noise ^ noise >> 29).wrapping_mul(6364136223846793005);
    }
    noise
}

fn steps_per_us() -> f64 {
    if let Ok(given) = std::env::var("BENCH_STEPS_PER_US") {
        return given.parse().unwrap_or_else(|_| fail("not a number"));
    }
    let (mut best, mut noise) = (Duration::MAX, 1);
    for _ in 0..100 {
        let start = Instant::now();
        noise = spin(100000, noise);
        best = best.min(start.elapsed());
    }
    if noise == 0 { 0.0 } else { 100000.0 * 1000.0 / best.as_nanos() as f64 }
}

fn take(pool: &Pool) -> usize {
    pool.take.recv_timeout(PATIENCE).unwrap_or_else(|_| fail("a take waited for 5 s"))
}

fn run(pool: &Pool, plan: &Plan, number: usize) -> Seen {
    let (mut pairs, mut clashes, mut noise) = (0, 0, number as u64 + 1);
    let (mut longest, mut waited) = (Duration::ZERO, Duration::ZERO);
    let start = Instant::now();
    loop {
        let asked = if plan.waits { Some(Instant::now()) } else { None };
        let index = take(pool);
        if let Some(asked) = asked {
            let wait = asked.elapsed();
            longest = longest.max(wait);
            waited += wait;
        }
        let uses = pool.objects[index].uses.get();
        let mine = unsafe { *uses } + 1;
        unsafe { *uses = mine };
        if plan.asleep {
            thread::sleep(plan.work);
        } else if plan.steps > 0 {
            noise = spin(plan.steps, noise);
        }
        clashes += (unsafe { uses.read_volatile() } != mine) as u64;
        pool.give.send(index).unwrap();
        pairs += 1;
        if pool.over.load(Ordering::Relaxed) {
            break;
        }
    }
    Seen { pairs, clashes, noise, start, end: Instant::now(), longest, waited }
}

fn measure(pool: Arc<Pool>, plan: Plan) {
    let line = Arc::new(Barrier::new(plan.threads + 1));
    let start = |number| {
        let (pool, line) = (pool.clone(), line.clone());
        thread::spawn(move || {
            line.wait();
            run(&pool, &plan, number)
        })
    };
    let workers: Vec<_> = (0..plan.threads).map(start).collect();
    line.wait();
    thread::sleep(plan.time);
    pool.over.store(true, Ordering::Relaxed);
    let seen: Vec<Seen> = workers.into_iter().map(|w| w.join().unwrap()).collect();
    report(&pool, &plan, &seen);
}

fn report(pool: &Pool, plan: &Plan, seen: &[Seen]) {
    let pairs: u64 = seen.iter().map(|s| s.pairs).sum();
    let uses: u64 = pool.objects.iter().map(|o| unsafe { *o.uses.get() }).sum();
    if uses != pairs || seen.iter().any(|s| s.clashes != 0) {
        fail("objects were shared");
    }
    let mut indexes: Vec<usize> = (0..plan.size).map(|_| take(pool)).collect();
    indexes.sort_unstable();
    if indexes.iter().enumerate().any(|(i, index)| i != *index) {
        fail("an object was lost or doubled");
    }
    if pool.take.try_recv().is_ok() || seen.iter().any(|s| s.noise == 0) {
        fail("there are more objects than were put in, or no work was done");
    }
    let elapsed = seen.iter().map(|s| s.end).max().unwrap() - seen.iter().map(|s| s.start).min().unwrap();
    let mean = pairs as f64 / plan.threads as f64;
    let share = |pairs: Option<u64>| pairs.unwrap() as f64 / mean;
    print!(
        "ns={:.2} smallest_share={:.3} largest_share={:.3}",
        elapsed.as_nanos() as f64 / pairs as f64,
        share(seen.iter().map(|s| s.pairs).min()),
        share(seen.iter().map(|s| s.pairs).max())
    );
    if plan.waits {
        let longest = seen.iter().map(|s| s.longest).max().unwrap().as_nanos() as f64 / 1e6;
        let waited: f64 = seen.iter().map(|s| s.waited.as_nanos() as f64 / 1e3).sum();
        print!(" wait_max_ms={:.3} wait_mean_us={:.3}", longest, waited / pairs as f64);
    }
    println!(" pairs={} elapsed_ms={:.1}", pairs, elapsed.as_nanos() as f64 / 1e6);
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.len() < 5 {
        fail("usage: THREADS SIZE WORK-NS SECONDS [waits] [asleep]");
    }
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| fail("not a number"));
    let has = |flag: &str| words[5..].iter().any(|w| w == flag);
    if words[5..].iter().any(|w| w != "waits" && w != "asleep") {
        fail("the flags are waits and asleep");
    }
    let (work, size) = (number(&words[3]), number(&words[2]) as usize);
    let asleep = has("asleep");
    let plan = Plan {
        threads: number(&words[1]) as usize,
        size,
        work: Duration::from_nanos(work as u64),
        steps: if asleep || work == 0.0 { 0 } else { (work * steps_per_us() / 1000.0 + 0.5) as u64 },
        time: Duration::from_secs_f64(number(&words[4])),
        asleep,
        waits: has("waits"),
    };
    let (give, take) = unbounded();
    (0..size).for_each(|index| give.send(index).unwrap());
    let objects = (0..size).map(|_| Object { uses: UnsafeCell::new(0) }).collect();
    measure(Arc::new(Pool { objects, give, take, over: AtomicBool::new(false) }), plan);
}
