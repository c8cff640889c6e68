//! Memory by size class, used again.
//!
//! A training step asks for the same sizes over and over. A block that is no longer needed goes onto the list of its size
//! class and serves the next request of that class, so that after the first step nothing is taken from the system.

use crate::device::Device;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The blocks of a device's memory: free ones by size class, and what has been asked of the system.
#[derive(Default)]
pub struct Blocks {
    /// Free blocks by their length; no list is empty.
    free: Mutex<BTreeMap<usize, Vec<Vec<f32>>>>,
    blocks: AtomicUsize,
    bytes: AtomicUsize,
    used: AtomicUsize,
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} blocks taken, {} bytes held", self.blocks_taken(), self.bytes_held())
    }
}

impl Blocks {
    /// How many blocks have been taken from the system so far. It stays the same from the second equal step on.
    pub fn blocks_taken(&self) -> usize {
        self.blocks.load(Ordering::Relaxed)
    }

    /// How many bytes are held, in use or free.
    pub fn bytes_held(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many bytes are in use.
    pub fn bytes_used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Gives the free blocks back to the system.
    pub fn release(&self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: usize = free.values().flatten().map(|block| block.len() * size_of::<f32>()).sum();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        free.clear();
    }

    fn take(&self, length: usize) -> Vec<f32> {
        let class = size_class(length);
        let block = self.reuse(class).unwrap_or_else(|| {
            self.blocks.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(class * size_of::<f32>(), Ordering::Relaxed);
            vec![0.0; class]
        });
        self.used.fetch_add(block.len() * size_of::<f32>(), Ordering::Relaxed);
        block
    }

    /// A free block of the class, or of one that is a little larger: batches of real text are all of different sizes.
    fn reuse(&self, class: usize) -> Option<Vec<f32>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let (&length, blocks) = free.range_mut(class..=class + class / 4).next()?;
        let block = blocks.pop();
        if blocks.is_empty() {
            free.remove(&length);
        }
        block
    }

    fn put_back(&self, block: Vec<f32>) {
        self.used.fetch_sub(block.len() * size_of::<f32>(), Ordering::Relaxed);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.entry(block.len()).or_default().push(block);
    }
}

/// The length, rounded up so that, from 64 numbers on, at most an eighth is wasted and lengths that differ little share a class.
fn size_class(length: usize) -> usize {
    let length = length.max(64);
    let step = (length.next_power_of_two() / 16).max(1);
    length.next_multiple_of(step)
}

/// A block of numbers on a device. It goes back to the device's free blocks when it is dropped.
pub(crate) struct Buffer {
    numbers: Vec<f32>,
    device: Device,
}

impl Buffer {
    /// At least `length` numbers; what they are is left open.
    pub(crate) fn new(device: &Device, length: usize) -> Buffer {
        Buffer { numbers: device.memory().take(length), device: device.clone() }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn numbers(&self) -> &[f32] {
        &self.numbers
    }

    pub(crate) fn numbers_mut(&mut self) -> &mut [f32] {
        &mut self.numbers
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.device.memory().put_back(std::mem::take(&mut self.numbers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_block_serves_the_next_request_of_its_class() {
        let device = Device::cpu();
        drop(Buffer::new(&device, 1000));
        let taken = device.memory().blocks_taken();
        drop(Buffer::new(&device, 1020));
        assert_eq!(device.memory().blocks_taken(), taken);
        device.memory().release();
        assert_eq!(device.memory().bytes_held(), 0);
    }

    #[test]
    fn classes_waste_at_most_an_eighth() {
        for length in (64..100_000).step_by(37) {
            let class = size_class(length);
            assert!(class >= length && class - length <= length / 8, "{length} → {class}");
        }
    }
}
