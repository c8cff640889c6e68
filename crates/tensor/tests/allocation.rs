//! A training step takes no memory after the first ones.

#[path = "../examples/encoder_decoder/model.rs"]
#[allow(dead_code, reason = "not all of the model is needed here")]
mod model;

use couplet_tensor::optimizer::Optimizer;
use couplet_tensor::random::Stream;
use couplet_tensor::{Device, Isa, Params, Tape};
use model::{Batch, Model, Sizes};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what is asked of the system.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn batch(seed: u64, words: u32) -> Batch {
    let stream = Stream::new(seed, 0);
    let sentence = |pair: u32, side: u32, length: u32| {
        (0..length).map(|i| stream.at([pair, side, i, 0])[0] % words).collect::<Vec<u32>>()
    };
    let length = |pair: u32, side: u32| 8 + stream.at([pair, side, 0, 1])[0] % 20;
    let pair = |i| (sentence(i, 0, length(i, 0)), sentence(i, 1, length(i, 1)));
    Batch::new(&(0..16).map(pair).collect::<Vec<_>>())
}

#[test]
fn a_step_allocates_no_tensor_memory_after_warm_up() {
    let device = Device::cpu_with(2, Isa::detect());
    let sizes = Sizes {
        source_vocabulary: 500,
        target_vocabulary: 500,
        embedding: 64,
        encoder: 64,
        attention: 64,
        layers: 2,
    };
    let mut params = Params::new(&device, 1);
    let model = Model::new(&mut params, &sizes);
    let mut adam = Optimizer::adam().clipped(1.0);
    let batches = [batch(1, 500), batch(2, 500)];
    let mut step = |batch: &Batch| {
        let tape = Tape::new();
        let loss = model.loss(&params, Some(&tape), batch, 0.1);
        tape.backward(&loss, &mut params);
        adam.step(&mut params, 1e-3);
    };
    for batch in &batches {
        step(batch);
        step(batch);
    }

    let (taken, held) = (device.memory().blocks_taken(), device.memory().bytes_held());
    for batch in batches.iter().cycle().take(6) {
        BYTES.store(0, Ordering::Relaxed);
        LARGEST.store(0, Ordering::Relaxed);
        step(batch);
        assert_eq!(device.memory().blocks_taken(), taken, "blocks of tensor memory");
        // What is left is the tape's bookkeeping: small boxes, and a few bytes for each token.
        let (bytes, largest) = (BYTES.load(Ordering::Relaxed), LARGEST.load(Ordering::Relaxed));
        assert!(largest <= 16 * batch.targets(), "{largest} bytes at once for {} tokens", batch.targets());
        assert!(bytes < held / 100, "{bytes} bytes of bookkeeping beside {held} bytes of tensors");
    }
}
