// SPDX-License-Identifier: MIT
// A rayon pool of its own: spawn from outside and inside, install for a result from
// outside, join for one from inside. A task that has a partner is spawned again, and
// so is one that yields, by spawn_fifo: by spawn it would be its own successor.
use rayon_core::{join, spawn, spawn_fifo, ThreadPool, ThreadPoolBuilder};

mod tasks;
use tasks::*;

struct Rayon(ThreadPool);

fn chain(number: usize) {
    ran(number);
    if number == 0 {
        began();
    }
    if number + 1 < CHAINED {
        spawn(move || chain(number + 1));
    } else {
        ended();
    }
}

fn pair(number: usize) {
    ran(number);
    spawn(move || {
        ran(number + PAIRS);
        spawn(move || {
            ran(number);
            leave();
        });
    });
}

fn leaf(number: usize) {
    ran(number);
    leave();
}

fn yielding(number: usize, left: usize) {
    ran(number);
    if left > 0 {
        spawn_fifo(move || yielding(number, left - 1));
    } else {
        leave();
    }
}

fn root(count: usize, child: fn(usize)) {
    ran(0);
    began();
    (1..=count).for_each(|number| spawn(move || child(number)));
}

fn inside() {
    ran(0);
    began();
    (1..=INSIDE).for_each(|number| {
        join(|| (), || ran(number));
    });
    ended();
}

impl Pool for Rayon {
    fn submit(&self, number: usize) {
        self.0.spawn(move || ran(number));
    }

    fn result(&self) {
        self.0.install(|| ran(0));
    }

    fn start(&self, cell: &str) {
        match cell {
            "chain" => self.0.spawn(|| chain(0)),
            "pairs" => self.0.spawn(|| root(PAIRS, pair)),
            "spawn" => self.0.spawn(|| root(SPAWNED, leaf)),
            "yield" => self.0.spawn(|| root(YIELDING, |number| yielding(number, YIELDS))),
            _ => self.0.spawn(inside),
        }
    }
}

fn main() {
    let pool = ThreadPoolBuilder::new().num_threads(WORKERS).build();
    tasks::main(&Rayon(pool.unwrap_or_else(|_| fail("no pool"))));
}
