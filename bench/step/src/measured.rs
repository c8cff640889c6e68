//! The part of a process that is measured: profilers find it by its name, and what it asks of the allocator is counted.

use crate::ours::median;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The system's allocator, with a count of what it is asked for.
struct Counting;

static REQUESTS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: handed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The name of [`bench_measured_region`] in the symbol table.
pub(crate) const REGION: &str = "bench_measured_region";

/// Does what is measured, and returns how often it asked the allocator for memory. The name stays the same from build to build, since
/// callgrind counts the instructions between its entry and its return.
#[unsafe(no_mangle)]
#[inline(never)]
fn bench_measured_region(work: &mut dyn FnMut()) -> u64 {
    let before = REQUESTS.load(Ordering::Relaxed);
    work();
    REQUESTS.load(Ordering::Relaxed) - before
}

/// Time and memory requests of the pieces of work that were measured.
#[derive(Default)]
pub(crate) struct Measurements {
    /// Seconds of each piece.
    pub(crate) seconds: Vec<f64>,
    requests: Vec<f64>,
}

impl Measurements {
    /// Does one piece of work, measured.
    pub(crate) fn take<T>(&mut self, mut work: impl FnMut() -> T) -> T {
        let mut result = None;
        let start = Instant::now();
        let requests = bench_measured_region(&mut || result = Some(work()));
        self.seconds.push(start.elapsed().as_secs_f64());
        self.requests.push(requests as f64);
        result.expect("the work was done")
    }

    /// How often a piece asked for memory, the median.
    pub(crate) fn allocations(&self) -> f64 {
        median(&self.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_work_asks_for_what_it_boxes() {
        let mut measurements = Measurements::default();
        for _ in 0..3 {
            let sum = measurements.take(|| {
                std::hint::black_box([Box::new(1), Box::new(2)]).iter().fold(0, |sum, box_| sum + **box_)
            });
            assert_eq!(sum, 3);
        }
        assert_eq!(measurements.seconds.len(), 3);
        // Other tests of this process may ask for memory meanwhile.
        assert!(measurements.allocations() >= 2.0);
    }
}
