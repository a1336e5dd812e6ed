// SPDX-License-Identifier: MIT
// r2d2, by the rules of rules/lend.rs. test_on_check_out stays on, its default and what its users run, but costs only the
// call: the test itself is left to the manager, and an object needs none. min_idle is the size (its default too), so all are
// there before the start; limits of age are off, so nobody wakes to look for old ones.
use r2d2::{ManageConnection, PooledConnection};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

mod lend;
use lend::{fail, patience, too_long, Object};

struct Manager {
    objects: &'static [Object],
    idle: Vec<usize>,
    next: AtomicUsize,
}

impl ManageConnection for Manager {
    type Connection = &'static Object;
    type Error = Infallible;

    fn connect(&self) -> Result<&'static Object, Infallible> {
        match self.idle.get(self.next.fetch_add(1, Relaxed)) {
            Some(index) => Ok(&self.objects[*index]),
            None => fail("the pool makes more objects than it may have"),
        }
    }

    fn is_valid(&self, _: &mut &'static Object) -> Result<(), Infallible> {
        Ok(())
    }

    fn has_broken(&self, _: &mut &'static Object) -> bool {
        false
    }
}

struct R2d2(r2d2::Pool<Manager>);

impl lend::Pool for R2d2 {
    type Lease = PooledConnection<Manager>;

    fn make(objects: &'static [Object], idle: Vec<usize>) -> Self {
        let size = idle.len() as u32;
        let builder = r2d2::Pool::builder().max_size(size).min_idle(Some(size)).connection_timeout(patience());
        let manager = Manager { objects, idle, next: AtomicUsize::new(0) };
        let made = builder.max_lifetime(None).idle_timeout(None).build(manager);
        R2d2(made.unwrap_or_else(|error| fail(&error.to_string())))
    }

    fn take(&self) -> Self::Lease {
        self.0.get().unwrap_or_else(|_| too_long())
    }

    fn object(&self, lease: &Self::Lease) -> &'static Object {
        **lease
    }

    fn give(&self, lease: Self::Lease) {
        drop(lease)
    }
}

fn main() {
    lend::main::<R2d2>()
}
