// SPDX-License-Identifier: MIT
// The rules of rules/lend.h in Rust. build.py puts it beside a contestant, which is a Pool; the loop is compiled anew for each.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

const LENGTH_STEPS: usize = 32; // for each power of two, as in lengths.h

pub trait Pool: Send + Sync + 'static {
    type Lease: Send; // what a holder needs to give back

    /// `idle` are the indexes of those that the pool is to lend.
    fn make(objects: &'static [Object], idle: Vec<usize>) -> Self;
    /// Waits for patience() at most, and then calls too_long().
    fn take(&self) -> Self::Lease;
    fn object(&self, lease: &Self::Lease) -> &'static Object;
    fn give(&self, lease: Self::Lease);
}

/// What is lent: two cache lines of its own.
#[repr(align(128))]
pub struct Object {
    uses: UnsafeCell<u64>,
    index: usize,
}
unsafe impl Sync for Object {} // whoever has taken it has it for himself

#[repr(align(128))]
struct Flag(AtomicBool);
static OVER: Flag = Flag(AtomicBool::new(false));

#[derive(Clone, Copy, Default)]
struct Plan {
    threads: usize,
    size: usize,
    work: Duration,
    steps: u64, // of work
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
    lengths: Vec<u32>,
}

pub fn fail(text: &str) -> ! {
    eprintln!("{}", text);
    std::process::exit(1)
}

pub fn too_long() -> ! {
    fail("a take waited too long")
}

/// A planted bug: share, lose or more.
fn fault() -> Option<String> {
    std::env::var("BENCH_BROKEN").ok()
}

pub fn patience() -> Duration {
    fault().map_or(Duration::from_secs(5), |_| Duration::from_millis(300))
}

#[inline(never)]
fn spin(steps: u64, mut noise: u64) -> u64 {
    for _ in 0..steps {
        noise = (noise ^ noise >> 29).wrapping_mul(6364136223846793005);
    }
    noise
}

// ---- The run ----

impl Seen {
    fn wait(&mut self, took: Duration) {
        self.waited += took;
        self.longest = self.longest.max(took);
        let length = (took.as_nanos() as u64).max(1);
        let power = 63 - length.leading_zeros() as usize;
        self.lengths[power * LENGTH_STEPS + ((length << 5 >> power) as usize & (LENGTH_STEPS - 1))] += 1;
    }
}

fn run<P: Pool>(pool: &P, plan: &Plan, number: usize) -> Seen {
    let (mut pairs, mut clashes, mut noise, start) = (0, 0, number as u64 + 1, Instant::now());
    let lengths = vec![0; if plan.waits { 64 * LENGTH_STEPS } else { 0 }];
    let mut seen = Seen { pairs, clashes, noise, start, end: start, longest: Duration::ZERO, waited: Duration::ZERO, lengths };
    seen.start = Instant::now();
    loop {
        let asked = if plan.waits { Some(Instant::now()) } else { None };
        let lease = pool.take();
        if let Some(asked) = asked {
            seen.wait(asked.elapsed());
        }
        let uses = pool.object(&lease).uses.get();
        let mine = unsafe { *uses } + 1;
        unsafe { *uses = mine };
        if plan.asleep {
            thread::sleep(plan.work);
        } else if plan.steps > 0 {
            noise = spin(plan.steps, noise);
        }
        clashes += (unsafe { uses.read_volatile() } != mine) as u64;
        pool.give(lease);
        pairs += 1;
        if OVER.0.load(Relaxed) {
            break;
        }
    }
    Seen { pairs, clashes, noise, end: Instant::now(), ..seen }
}

fn cpu_time() -> Duration {
    extern "C" {
        fn clock_gettime(id: i32, out: *mut [i64; 2]) -> i32;
    }
    let mut time = [0i64; 2];
    unsafe { clock_gettime(2, &mut time) }; // CLOCK_PROCESS_CPUTIME_ID
    Duration::new(time[0] as u64, time[1] as u32)
}

fn measure<P: Pool>(pool: &Arc<P>, plan: Plan) -> (Vec<Seen>, Duration) {
    let line = Arc::new(Barrier::new(plan.threads + 1));
    let start = |number| {
        let (pool, line) = (pool.clone(), line.clone());
        thread::spawn(move || {
            line.wait();
            run(&*pool, &plan, number)
        })
    };
    let workers: Vec<_> = (0..plan.threads).map(start).collect();
    let cpu = cpu_time();
    line.wait();
    thread::sleep(plan.time);
    OVER.0.store(true, Relaxed);
    let seen = workers.into_iter().map(|w| w.join().unwrap_or_else(|_| fail("a worker panicked"))).collect();
    (seen, cpu_time() - cpu)
}

// ---- The check and the answer ----

/// Every object is there once, and whoever wants one more must wait.
fn call_roll<P: Pool>(pool: &Arc<P>, objects: &[Object], size: usize) {
    let leases: Vec<P::Lease> = (0..size).map(|_| pool.take()).collect();
    let mut seen = vec![false; objects.len()];
    for index in leases.iter().map(|lease| pool.object(lease).index) {
        if std::mem::replace(&mut seen[index], true) {
            fail(&format!("the pool lends object {} twice", index));
        }
    }
    let (pool, line) = (pool.clone(), Arc::new(Barrier::new(2)));
    let here = line.clone();
    thread::spawn(move || {
        here.wait();
        pool.take();
        fail("the pool lends more objects than were put in")
    });
    line.wait();
    thread::sleep(Duration::from_millis(5));
    std::mem::forget(leases); // giving them back would let that thread have one
}

/// In microseconds.
fn percentile(seen: &[Seen], part: f64, pairs: u64, longest: Duration) -> f64 {
    let (wanted, mut sum) = ((part * pairs as f64) as u64, 0);
    let reached = (0..seen[0].lengths.len()).find(|&i| {
        sum += seen.iter().map(|s| s.lengths[i] as u64).sum::<u64>();
        sum > wanted
    });
    let end = |i| (1u64 << (i / LENGTH_STEPS)) as f64 * (1.0 + (i % LENGTH_STEPS + 1) as f64 / LENGTH_STEPS as f64);
    reached.map_or(f64::MAX, end).min(longest.as_nanos() as f64) / 1e3
}

fn report<P: Pool>(pool: &Arc<P>, objects: &[Object], plan: &Plan, seen: &[Seen], cpu: Duration) {
    let pairs: u64 = seen.iter().map(|s| s.pairs).sum();
    let uses: u64 = objects.iter().map(|o| unsafe { *o.uses.get() }).sum();
    let clashes: u64 = seen.iter().map(|s| s.clashes).sum();
    if uses != pairs || clashes != 0 {
        fail(&format!("objects were shared: {} uses in {} pairs, {} seen by their holder", uses, pairs, clashes));
    }
    if seen.iter().any(|s| s.noise == 0) {
        fail("no work was done");
    }
    call_roll(pool, objects, plan.size);
    let elapsed = seen.iter().map(|s| s.end).max().unwrap() - seen.iter().map(|s| s.start).min().unwrap();
    let share = |pairs_of_one: Option<u64>| pairs_of_one.unwrap() as f64 * plan.threads as f64 / pairs as f64;
    print!(
        "ns={:.2} smallest_share={:.3} largest_share={:.3}",
        elapsed.as_nanos() as f64 / pairs as f64,
        share(seen.iter().map(|s| s.pairs).min()),
        share(seen.iter().map(|s| s.pairs).max())
    );
    if plan.waits {
        let longest = seen.iter().map(|s| s.longest).max().unwrap();
        let waited: f64 = seen.iter().map(|s| s.waited.as_nanos() as f64 / 1e3).sum();
        print!(
            " wait_p50_us={:.3} wait_p99_us={:.3} wait_max_ms={:.3} wait_mean_us={:.3}",
            percentile(seen, 0.5, pairs, longest),
            percentile(seen, 0.99, pairs, longest),
            longest.as_nanos() as f64 / 1e6,
            waited / pairs as f64
        );
    }
    let (elapsed, cpu) = (elapsed.as_secs_f64(), cpu.as_secs_f64());
    println!(" pairs={} elapsed_ms={:.1} cpus={:.2}", pairs, 1e3 * elapsed, cpu / elapsed);
}

// ---- Arguments ----

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| fail(&format!("{} is no number", text)))
}

fn steps_per_us() -> f64 {
    if let Ok(given) = std::env::var("BENCH_STEPS_PER_US") {
        return number(&given);
    }
    let (mut best, mut noise) = (Duration::MAX, 1);
    for _ in 0..100 {
        let start = Instant::now();
        noise = spin(100000, noise);
        best = best.min(start.elapsed());
    }
    if noise == 0 { 0.0 } else { 100000.0 * 1000.0 / best.as_nanos() as f64 }
}

fn parse(words: &[String]) -> Plan {
    if words.len() < 5 {
        fail("usage: THREADS SIZE WORK-NS SECONDS [waits] [asleep]");
    }
    if let Some(word) = words[5..].iter().find(|w| *w != "waits" && *w != "asleep") {
        fail(&format!("{} is none of: waits, asleep", word));
    }
    let has = |flag: &str| words[5..].iter().any(|w| w == flag);
    let (work, asleep) = (number(&words[3]), has("asleep"));
    let plan = Plan {
        threads: number(&words[1]) as usize,
        size: number(&words[2]) as usize,
        work: Duration::from_nanos(work as u64),
        steps: if asleep || work == 0.0 { 0 } else { (work * steps_per_us() / 1000.0 + 0.5) as u64 },
        time: Duration::from_secs_f64(number(&words[4])),
        asleep,
        waits: has("waits"),
    };
    if !(1..=1024).contains(&plan.threads) || !(1..=1_000_000).contains(&plan.size) {
        fail("threads are 1 to 1024, objects 1 to 1000000");
    }
    plan
}

pub fn main<P: Pool>() {
    let words: Vec<String> = std::env::args().collect();
    let plan = parse(&words);
    let fault = fault().unwrap_or_default();
    let count = plan.size + (fault == "more") as usize;
    let objects: Vec<Object> = (0..count).map(|index| Object { uses: UnsafeCell::new(0), index }).collect();
    let mut idle: Vec<usize> = (0..count).collect();
    match fault.as_str() {
        "share" => idle[count - 1] = 0,
        "lose" => idle.truncate(count - 1),
        _ => {}
    }
    let objects: &'static [Object] = Box::leak(objects.into_boxed_slice());
    let pool = Arc::new(P::make(objects, idle));
    let (seen, cpu) = measure(&pool, plan);
    report(&pool, objects, &plan, &seen, cpu);
    std::process::exit(0) // somebody may be waiting for one more object
}
