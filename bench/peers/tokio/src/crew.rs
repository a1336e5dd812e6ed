// SPDX-License-Identifier: MIT
// tokio's runtime of several threads: tasks are futures, a pair meets by oneshot
// channels, yield_now lets others go first, and a result is the handle's.
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot::channel;
use tokio::{spawn, task::yield_now};

mod tasks;
use tasks::*;

struct Tokio(Runtime);

fn chain(number: usize) {
    ran(number);
    if number == 0 {
        began();
    }
    if number + 1 < CHAINED {
        spawn(async move { chain(number + 1) });
    } else {
        ended();
    }
}

async fn pair(number: usize) {
    let ((ping, pinged), (pong, ponged)) = (channel::<()>(), channel::<()>());
    ran(number);
    spawn(async move {
        pinged.await.unwrap();
        ran(number + PAIRS);
        pong.send(()).unwrap();
    });
    ping.send(()).unwrap();
    ponged.await.unwrap();
    ran(number);
    leave();
}

async fn yielding(number: usize) {
    for _ in 0..YIELDS {
        ran(number);
        yield_now().await;
    }
    ran(number);
    leave();
}

async fn inside() {
    ran(0);
    began();
    for number in 1..=INSIDE {
        spawn(async move { ran(number) }).await.unwrap();
    }
    ended();
}

fn first() {
    ran(0);
    began();
}

impl Pool for Tokio {
    fn submit(&self, number: usize) {
        self.0.spawn(async move { ran(number) });
    }

    fn result(&self) {
        self.0.block_on(self.0.spawn(async { ran(0) })).unwrap();
    }

    fn start(&self, cell: &str) {
        match cell {
            "chain" => drop(self.0.spawn(async { chain(0) })),
            "pairs" => drop(self.0.spawn(async {
                first();
                (1..=PAIRS).for_each(|number| drop(spawn(pair(number))));
            })),
            "spawn" => drop(self.0.spawn(async {
                first();
                (1..=SPAWNED).for_each(|number| drop(spawn(async move { ran(number); leave() })));
            })),
            "yield" => drop(self.0.spawn(async {
                first();
                (1..=YIELDING).for_each(|number| drop(spawn(yielding(number))));
            })),
            _ => drop(self.0.spawn(inside())),
        }
    }
}

fn main() {
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).build();
    tasks::main(&Tokio(runtime.unwrap_or_else(|_| fail("no runtime"))));
}
