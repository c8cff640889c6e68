//! Memory by size class, used again.
//!
//! A training step asks for the same sizes over and over. A block that is no longer needed goes onto the list of its size
//! class and serves the next request of that class, so that after the first step nothing is taken from the system.

use crate::aligned_buffer::AlignedBuffer;
#[cfg(feature = "cuda")]
use crate::cuda::{DeviceBlock, Pointer};
use crate::device::{Device, on_device};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeBounds;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The blocks of a device's memory: free ones by size class, and what has been asked of the system.
#[derive(Default)]
pub struct Blocks {
    /// Free blocks by their length; no list is empty.
    free: Mutex<BTreeMap<usize, Vec<Free>>>,
    /// Counts the updates of a training run.
    updates: AtomicUsize,
    blocks: AtomicUsize,
    bytes: AtomicUsize,
    used: AtomicUsize,
    most_used: AtomicUsize,
    /// Zero for none.
    limit: AtomicUsize,
}

/// There is no room for what a computation needs: the payload of a panic, which can be caught to compute less at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// What was asked for.
    pub bytes: usize,
    /// What was in use beside it.
    pub used: usize,
    /// Of which device, in words.
    pub device: String,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfMemory { bytes, used, device } = self;
        write!(f, "no room for {bytes} bytes on {device} beside the {used} in use")
    }
}

impl std::error::Error for OutOfMemory {}

/// A free block, and the update in which it was last in use.
struct Free {
    block: Block,
    update: usize,
}

/// Numbers in the memory of a device.
enum Block {
    Cpu(AlignedBuffer),
    #[cfg(feature = "cuda")]
    Cuda(DeviceBlock),
}

impl Block {
    /// Takes a block of so many numbers from the system; on a GPU there may be no room for it.
    fn new(device: &Device, length: usize) -> Option<Block> {
        match device {
            Device::Cpu(_) => Some(Block::Cpu(AlignedBuffer::new(length))),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => cuda.allocate(length).map(Block::Cuda),
        }
    }

    fn length(&self) -> usize {
        match self {
            Block::Cpu(numbers) => numbers.as_slice().len(),
            #[cfg(feature = "cuda")]
            Block::Cuda(block) => block.length(),
        }
    }

    fn bytes(&self) -> usize {
        self.length() * size_of::<f32>()
    }
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

    /// Allows so many bytes in use at once, whatever the system would give; 0 for no limit. More unwinds with [`OutOfMemory`].
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Unwinds with [`OutOfMemory`]: not a panic that anybody should read about before it is clear that nobody catches it.
    fn no_room(&self, device: &Device, bytes: usize) -> ! {
        let out = OutOfMemory { bytes, used: self.bytes_used(), device: format!("{device:?}") };
        std::panic::resume_unwind(Box::new(out));
    }

    /// Gives the free blocks back to the system.
    pub fn release(&self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: usize = free.values().flatten().map(|free| free.block.bytes()).sum();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        free.clear();
    }

    fn take(&self, device: &Device, class: usize) -> Block {
        let (bytes, limit) = (class * size_of::<f32>(), self.limit.load(Ordering::Relaxed));
        if limit > 0 && self.bytes_used() + bytes > limit {
            self.no_room(device, bytes);
        }
        // One that is a little larger will do: batches of real text are all of different sizes.
        let block = self.reuse(class..=class + class / 4).unwrap_or_else(|| self.take_new(device, class));
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most_used.fetch_max(used, Ordering::Relaxed);
        block
    }

    /// Tells that an update of a training run is done.
    pub(crate) fn end_update(&self) {
        self.updates.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives free blocks that this update has not used back, the largest first, until so many bytes fit beside the others into
    /// what was ever in use, and a little more: where the sizes of batches vary, blocks of sizes that have gone would pile up. Tells
    /// whether they fit now.
    fn make_room(&self, bytes: usize) -> bool {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let update = self.updates.load(Ordering::Relaxed);
        let most = self.most_used.load(Ordering::Relaxed).max(self.bytes_used() + bytes);
        let too_much = || self.bytes_held() + bytes > most + most / 64;
        for blocks in free.values_mut().rev() {
            blocks.retain(|free| {
                let goes = free.update < update && too_much();
                if goes {
                    self.bytes.fetch_sub(free.block.bytes(), Ordering::Relaxed);
                }
                !goes
            });
        }
        free.retain(|_, blocks| !blocks.is_empty());
        !too_much()
    }

    /// A block from the system; or, where too much is held already, a free one of any larger size.
    fn take_new(&self, device: &Device, length: usize) -> Block {
        // Giving a block of a GPU back waits for all of its work.
        let fits = on_device!(device, _cpu => self.make_room(length * size_of::<f32>()), _cuda => true);
        if !fits && let Some(block) = self.reuse(length..) {
            return block;
        }
        let block = Block::new(device, length).or_else(|| {
            // What is free in other sizes may make room.
            self.release();
            Block::new(device, length)
        });
        let Some(block) = block else { self.no_room(device, length * size_of::<f32>()) };
        self.blocks.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(block.bytes(), Ordering::Relaxed);
        block
    }

    /// The shortest of the free blocks of these lengths.
    fn reuse(&self, lengths: impl RangeBounds<usize>) -> Option<Block> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let (&length, blocks) = free.range_mut(lengths).next()?;
        let block = blocks.pop();
        if blocks.is_empty() {
            free.remove(&length);
        }
        block.map(|free| free.block)
    }

    fn put_back(&self, block: Block, class: usize) {
        self.used.fetch_sub(class * size_of::<f32>(), Ordering::Relaxed);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let update = self.updates.load(Ordering::Relaxed);
        free.entry(block.length()).or_default().push(Free { block, update });
    }
}

/// The length, rounded up so that, from 64 numbers on, at most an eighth is wasted and lengths that differ little share a class.
fn size_class(length: usize) -> usize {
    let length = length.max(64);
    let step = (length.next_power_of_two() / 16).max(1);
    length.next_multiple_of(step)
}

/// Gives back to the system what the heap holds but nobody uses: reading a corpus and learning its tokens leaves many holes, and a
/// training lasts.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: any thread may call it at any time; it moves nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A block of numbers on a device. It goes back to the device's free blocks when it is dropped.
pub(crate) struct Buffer {
    /// There until it is dropped. It may be longer than what was asked for.
    block: Option<Block>,
    /// The size class of what was asked for.
    class: usize,
    device: Device,
}

impl Buffer {
    /// At least `length` numbers; what they are is left open.
    pub(crate) fn new(device: &Device, length: usize) -> Buffer {
        let class = size_class(length);
        Buffer { block: Some(device.memory().take(device, class)), class, device: device.clone() }
    }

    fn block(&self) -> &Block {
        self.block.as_ref().expect("it is there until the buffer is dropped")
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The numbers, where the processor can read them.
    pub(crate) fn numbers(&self) -> &[f32] {
        match self.block() {
            Block::Cpu(numbers) => numbers.as_slice(),
            #[cfg(feature = "cuda")]
            Block::Cuda(_) => panic!("numbers on a GPU are copied before they are read"),
        }
    }

    pub(crate) fn numbers_mut(&mut self) -> &mut [f32] {
        match self.block.as_mut().expect("it is there until the buffer is dropped") {
            Block::Cpu(numbers) => numbers.as_mut_slice(),
            #[cfg(feature = "cuda")]
            Block::Cuda(_) => panic!("numbers on a GPU are written by kernels"),
        }
    }
}

#[cfg(feature = "cuda")]
impl Buffer {
    /// Whole numbers on a GPU.
    pub(crate) fn of_indices(device: &Device, numbers: &[u32]) -> Buffer {
        let Device::Cuda(cuda) = device else { panic!("indices are copied to a GPU only") };
        let buffer = Buffer::new(device, numbers.len());
        cuda.upload(buffer.pointer(), numbers);
        buffer
    }

    /// Where they begin in the memory of a GPU.
    pub(crate) fn pointer(&self) -> Pointer {
        match self.block() {
            Block::Cuda(block) => block.pointer(),
            Block::Cpu(_) => panic!("numbers of the processor are not on a GPU"),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.device.memory().put_back(block, self.class);
        }
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
    fn sizes_that_have_gone_make_room() {
        let device = Device::cpu();
        let memory = device.memory();
        drop(Buffer::new(&device, 10_000));
        drop(Buffer::new(&device, 20_000));
        assert_eq!(memory.blocks_taken(), 2, "the block of this update is kept");
        assert!(memory.bytes_held() >= 120_000);
        memory.end_update();
        drop(Buffer::new(&device, 15_000));
        assert!(memory.bytes_held() < 100_000, "{memory:?}");
    }

    #[test]
    fn a_larger_block_serves_before_more_is_held_than_was_in_use() {
        let device = Device::cpu();
        let memory = device.memory();
        let _small = Buffer::new(&device, 10_000);
        drop(Buffer::new(&device, 40_000));
        let (taken, held) = (memory.blocks_taken(), memory.bytes_held());
        let _another = Buffer::new(&device, 10_000);
        assert_eq!(
            (memory.blocks_taken(), memory.bytes_held()),
            (taken, held),
            "it is in the block of 40,000"
        );
    }

    #[test]
    fn a_limit_can_be_caught_and_lifted() {
        let device = Device::cpu();
        device.memory().set_limit(10_000);
        let small = Buffer::new(&device, 1000);
        let large = || drop(Buffer::new(&device, 2000));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(large)).unwrap_err();
        let out = caught.downcast_ref::<OutOfMemory>().expect("what there is no room for");
        assert_eq!((out.bytes, out.used), (8192, 4096));
        drop(small);
        large();
        device.memory().set_limit(0);
        drop(Buffer::new(&device, 100_000));
    }

    #[test]
    fn classes_waste_at_most_an_eighth() {
        for length in (64..100_000).step_by(37) {
            let class = size_class(length);
            assert!(class >= length && class - length <= length / 8, "{length} → {class}");
        }
    }
}
