// SPDX-License-Identifier: MIT
// crossbeam-channel, by the rules of rules/transfer.h.
use crossbeam_channel::{bounded, unbounded, Receiver, Sender};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

const SEQUENCE_BITS: u32 = 48;
const PRODUCERS_MAX: usize = 64;
const WARM_UP_ROUNDS: usize = 16;
const ACK_SPIN: Duration = Duration::from_millis(1);

fn fail(text: &str) -> ! {
    eprintln!("{}", text);
    std::process::exit(1)
}

fn produce(queue: &Sender<u64>, number: u64, quota: u64) {
    let base = number << SEQUENCE_BITS;
    for sequence in 1..=quota {
        queue.send(base | sequence).unwrap();
    }
}

/// Sum and number of overtakings.
fn consume(queue: &Receiver<u64>, quota: u64) -> (u64, u64) {
    let mut newest = [0u64; PRODUCERS_MAX];
    let (mut sum, mut disorder) = (0u64, 0u64);
    for _ in 0..quota {
        let element = queue.recv().unwrap();
        let before = &mut newest[(element >> SEQUENCE_BITS) as usize % PRODUCERS_MAX];
        sum = sum.wrapping_add(element);
        disorder += (element <= *before) as u64;
        *before = element;
    }
    (sum, disorder)
}

fn transfer(push: Sender<u64>, pop: Receiver<u64>, producers: u64, consumers: u64, elements: u64) {
    let total = producers * elements;
    let (line, mut workers) = (Arc::new(Barrier::new((producers + consumers) as usize)), Vec::new());
    for number in 0..producers {
        let (push, line) = (push.clone(), line.clone());
        workers.push(thread::spawn(move || {
            line.wait();
            let start = Instant::now();
            produce(&push, number, elements);
            (start, Instant::now(), (0, 0))
        }));
    }
    for number in 0..consumers {
        let (pop, line) = (pop.clone(), line.clone());
        let quota = total / consumers + (number < total % consumers) as u64;
        workers.push(thread::spawn(move || {
            line.wait();
            let start = Instant::now();
            let seen = consume(&pop, quota);
            (start, Instant::now(), seen)
        }));
    }
    let results: Vec<_> = workers.into_iter().map(|w| w.join().unwrap()).collect();
    let start = results.iter().map(|r| r.0).min().unwrap();
    let end = results.iter().map(|r| r.1).max().unwrap();
    let sum = results.iter().fold(0u64, |sum, r| sum.wrapping_add(r.2 .0));
    let expected = (0..producers).fold(0u64, |sum, p| {
        sum.wrapping_add((p << SEQUENCE_BITS).wrapping_mul(elements)).wrapping_add(elements * (elements + 1) / 2)
    });
    if sum != expected || results.iter().any(|r| r.2 .1 != 0) {
        fail("elements were lost or doubled, or overtook an older one of the same producer");
    }
    println!("elapsed_ns={} elements={}", (end - start).as_nanos(), total);
}

extern "C" {
    fn sched_setaffinity(pid: i32, size: usize, mask: *const u64) -> i32;
}

/// Waker and sleeper have a core each.
fn pin_to_core(number: u64) {
    if unsafe { sched_setaffinity(0, 8, &(1 << number)) } != 0 {
        fail("wake-up rounds need processors 0 and 1");
    }
}

/// How often this thread went to sleep.
fn voluntary_switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok()).unwrap_or(0)
}

fn wake(push: Sender<u64>, pop: Receiver<u64>, rounds: usize, pause: Duration) {
    let base = Instant::now();
    let all = rounds + WARM_UP_ROUNDS;
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let mine = acknowledged.clone();
    let sleeper = thread::spawn(move || {
        pin_to_core(1);
        let mut took = vec![0u64; all];
        let before = voluntary_switches();
        for i in 0..all {
            let stamp = pop.recv().unwrap();
            took[i] = base.elapsed().as_nanos() as u64 - stamp;
            mine.store(i + 1, Ordering::SeqCst);
        }
        (took, voluntary_switches() - before)
    });
    pin_to_core(0);
    for i in 0..all {
        let rest = Instant::now();
        while rest.elapsed() < pause {}
        let pushed = Instant::now();
        push.send((pushed - base).as_nanos() as u64).unwrap();
        while acknowledged.load(Ordering::SeqCst) <= i {
            if pushed.elapsed() > ACK_SPIN {
                thread::yield_now();
            }
        }
    }
    let (mut took, slept) = sleeper.join().unwrap();
    took.drain(..WARM_UP_ROUNDS);
    took.sort_unstable();
    println!(
        "p50_ns={} p99_ns={} max_ns={} rounds={} slept={}",
        took[rounds / 2], took[rounds * 99 / 100], took[rounds - 1], all, slept
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments[1..].iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| fail("not a number"));
    let make = |kind: &str, capacity: &str| match kind {
        "bounded" => bounded(number(capacity) as usize),
        "unbounded" => unbounded(),
        _ => fail("neither bounded nor unbounded"),
    };
    match words[..] {
        ["transfer", kind, capacity, producers, consumers, elements] => {
            let (push, pop) = make(kind, capacity);
            transfer(push, pop, number(producers), number(consumers), number(elements))
        }
        ["wake", kind, capacity, rounds, pause_us] => {
            let (push, pop) = make(kind, capacity);
            wake(push, pop, number(rounds) as usize, Duration::from_micros(number(pause_us)))
        }
        _ => fail("usage: transfer KIND CAPACITY PRODUCERS CONSUMERS ELEMENTS | wake KIND CAPACITY ROUNDS PAUSE-US"),
    }
}
