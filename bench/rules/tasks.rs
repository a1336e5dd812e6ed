// SPDX-License-Identifier: MIT
// The rules of rules/tasks.h in Rust. build.py puts it beside a contestant, which
// is a Pool, and whose tasks call ran(number) once for each run.
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Barrier, Condvar, Mutex};
use std::time::{Duration, Instant};

pub const WORKERS: usize = 2;
const SLOTS: usize = 8192;
const TIMES: usize = 12; // that each is used in a round
const SUBMITTED: usize = SLOTS * TIMES;
const COUNT: usize = 10001; // tasks there are
const LOOK: Duration = Duration::from_micros(50);
pub const CHAINED: usize = 1000;
pub const PAIRS: usize = 1000;
pub const SPAWNED: usize = 10000;
pub const YIELDING: usize = 200;
pub const YIELDS: usize = 1000;
pub const INSIDE: usize = 10000;
const PATIENCE: Duration = Duration::from_secs(5);

pub trait Pool: Sync {
    fn submit(&self, number: usize); // from outside: an empty task
    fn result(&self); // from outside: task 0, and waits for it
    fn start(&self, cell: &str); // from outside: a round's first task
}

#[repr(align(64))]
struct Note(AtomicU32);
#[allow(clippy::declare_interior_mutable_const)]
const ZERO: Note = Note(AtomicU32::new(0));
static NOTES: [Note; COUNT] = [ZERO; COUNT];
static LEFT: AtomicUsize = AtomicUsize::new(0);
static BEGAN: AtomicI64 = AtomicI64::new(0);
static TOOK: Mutex<Option<i64>> = Mutex::new(None);
static OVER: Condvar = Condvar::new();

pub fn fail(text: &str) -> ! {
    eprintln!("{}", text);
    std::process::exit(1)
}

fn clock(which: libc_clock::Id) -> i64 {
    libc_clock::read(which)
}

#[inline(always)]
pub fn ran(number: usize) {
    let runs = &NOTES[number].0;
    runs.store(runs.load(Relaxed) + 1, Release); // nobody else runs it now
}

pub fn began() {
    BEGAN.store(clock(libc_clock::MONOTONIC), Release);
}

pub fn ended() {
    let took = clock(libc_clock::MONOTONIC) - BEGAN.load(Acquire);
    *TOOK.lock().unwrap() = Some(took);
    OVER.notify_one();
}

pub fn leave() {
    if LEFT.fetch_sub(1, AcqRel) == 1 {
        ended();
    }
}

mod libc_clock {
    pub type Id = i32;
    pub const MONOTONIC: Id = 1;
    pub const PROCESS_CPU: Id = 2;
    extern "C" {
        fn clock_gettime(id: Id, out: *mut [i64; 2]) -> i32;
    }
    pub fn read(id: Id) -> i64 {
        let mut time = [0i64; 2];
        unsafe { clock_gettime(id, &mut time) };
        time[0] * 1_000_000_000 + time[1]
    }
}

struct Bench<'a> {
    pool: &'a dyn Pool,
    cell: &'a str,
    due: Vec<u32>,
}

impl Bench<'_> {
    fn expect(&mut self, first: usize, count: usize, runs: u32) {
        self.due[first..first + count].iter_mut().for_each(|due| *due += runs);
    }

    /// What a round lets run, and how many operations that is.
    fn expect_round(&mut self) -> i64 {
        let count = match self.cell {
            "chain" => CHAINED - 1,
            "pairs" => {
                self.expect(1, PAIRS, 1);
                2 * PAIRS
            }
            "spawn" => SPAWNED,
            "yield" => {
                self.expect(1, YIELDING, YIELDS as u32);
                YIELDING
            }
            "inside" => INSIDE,
            _ => {
                self.expect(0, SLOTS, TIMES as u32);
                return SUBMITTED as i64;
            }
        };
        self.expect(0, count + 1, 1);
        (match self.cell {
            "pairs" => PAIRS,
            "yield" => YIELDING * YIELDS,
            _ => count,
        }) as i64
    }

    fn await_runs(&self) {
        let until = Instant::now() + PATIENCE;
        for (note, due) in NOTES.iter().zip(&self.due) {
            while note.0.load(Acquire) < *due {
                if Instant::now() > until {
                    fail("a task never ran");
                }
                std::thread::sleep(LOOK);
            }
            if note.0.load(Acquire) > *due {
                fail("a task ran twice");
            }
        }
    }

    fn submit_round(&mut self, producers: usize) -> i64 {
        let (share, line, pool) = (SLOTS / producers, Barrier::new(producers), self.pool);
        let before = self.due[0];
        self.expect_round();
        let produce = |number: usize| {
            line.wait();
            let start = clock(libc_clock::MONOTONIC);
            for sent in before..before + TIMES as u32 {
                for i in number * share..(number + 1) * share {
                    while NOTES[i].0.load(Acquire) < sent {
                        std::thread::sleep(LOOK);
                    }
                    pool.submit(i);
                }
            }
            start
        };
        let start = std::thread::scope(|scope| {
            let other = if producers == 2 { Some(scope.spawn(|| produce(1))) } else { None };
            let start = produce(0);
            other.map_or(start, |thread| start.min(thread.join().unwrap()))
        });
        self.await_runs();
        (clock(libc_clock::MONOTONIC) - start) * 1000 / SUBMITTED as i64
    }

    fn inner_round(&mut self) -> i64 {
        let operations = self.expect_round();
        LEFT.store(match self.cell { "pairs" => PAIRS, "spawn" => SPAWNED, _ => YIELDING }, Release);
        self.pool.start(self.cell);
        let waited = OVER.wait_timeout_while(TOOK.lock().unwrap(), PATIENCE, |took| took.is_none());
        let took = waited.unwrap().0.take().unwrap_or_else(|| fail("a round never ended: a task never ran"));
        self.await_runs();
        took * 1000 / operations
    }

    fn result_round(&mut self) -> i64 {
        if self.cell == "idle10" {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.due[0] += 1;
        let start = clock(libc_clock::MONOTONIC);
        self.pool.result();
        let took = clock(libc_clock::MONOTONIC) - start;
        if NOTES[0].0.load(Acquire) != self.due[0] {
            fail("task 0 ran never or twice");
        }
        took * 1000
    }

    fn rounds(&mut self, seconds: f64) -> Vec<i64> {
        let (until, mut samples) = (Instant::now() + Duration::from_secs_f64(seconds), Vec::new());
        while samples.len() < 3 || Instant::now() < until {
            samples.push(match self.cell {
                "submit1" => self.submit_round(1),
                "submit2" => self.submit_round(2),
                "result" | "idle10" => self.result_round(),
                _ => self.inner_round(),
            });
        }
        samples
    }

    fn idle(&mut self, seconds: f64) {
        self.submit_round(1);
        let used = clock(libc_clock::PROCESS_CPU);
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let cpu = (clock(libc_clock::PROCESS_CPU) - used) as f64 / 1e6;
        println!("cpu_ms={:.4} elapsed_ms={:.1}", cpu, 1e3 * seconds);
    }

    fn run(&mut self, seconds: f64) {
        self.rounds(0.02);
        let start = Instant::now();
        let mut samples = self.rounds(seconds);
        let elapsed = start.elapsed().as_secs_f64() * 1e3;
        samples.sort_unstable();
        let at = |part: usize| samples[(samples.len() * part / 100).min(samples.len() - 1)] as f64 / 1e3;
        std::thread::sleep(Duration::from_millis(2));
        self.await_runs();
        print!("ns={:.2} ns_min={:.2} ns_max={:.2} p99_ns={:.2}", at(50), at(0), at(100), at(99));
        println!(" rounds={} elapsed_ms={:.1}", samples.len(), elapsed);
    }
}

pub fn main(pool: &dyn Pool) {
    let words: Vec<String> = std::env::args().collect();
    let cells = ["submit1", "submit2", "chain", "pairs", "spawn", "yield", "result", "idle10", "inside", "idle"];
    if words.len() < 3 || !cells.contains(&words[1].as_str()) {
        fail("usage: CELL SECONDS");
    }
    let seconds: f64 = words[2].parse().unwrap_or_else(|_| fail("not a number"));
    let mut bench = Bench { pool, cell: &words[1], due: vec![0; COUNT] };
    if words[1] == "idle" { bench.idle(seconds) } else { bench.run(seconds) }
    std::process::exit(0)
}
