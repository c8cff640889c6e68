//! How sequences are packed, where kernels can read it.

use super::Pointer;
use crate::device::Device;
use crate::layout::SequenceLayout;
use crate::memory::Buffer;

/// Whole numbers on the GPU.
pub(crate) struct Indices(Buffer);

impl Indices {
    pub(crate) fn new(device: &Device, numbers: &[u32]) -> Indices {
        Indices(Buffer::of_indices(device, numbers))
    }

    pub(crate) fn pointer(&self) -> Pointer {
        self.0.pointer()
    }
}

/// The starts of the steps, the lengths of the sequences, and their numbers.
pub(crate) struct DeviceLayout {
    numbers: Indices,
    pub(crate) steps: usize,
    pub(crate) batch: usize,
}

impl DeviceLayout {
    pub(crate) fn new(device: &Device, rows: &SequenceLayout) -> DeviceLayout {
        let numbers = [rows.step_offsets(), rows.lengths(), rows.examples()].concat();
        DeviceLayout { numbers: Indices::new(device, &numbers), steps: rows.steps(), batch: rows.batch() }
    }

    /// steps + 1 numbers: the first row of each step, and the number of rows
    pub(crate) fn starts(&self) -> Pointer {
        self.numbers.pointer()
    }

    pub(crate) fn lengths(&self) -> Pointer {
        self.starts().at(self.steps + 1)
    }

    pub(crate) fn examples(&self) -> Pointer {
        self.lengths().at(self.batch)
    }
}

/// For each source the rows that read it, in order.
pub(crate) struct Readers {
    numbers: Indices,
    sources: usize,
}

impl Readers {
    /// Place `p` of the packed `readers` reads the source `of[p]`.
    pub(crate) fn new(device: &Device, sources: usize, of: &[u32], readers: &SequenceLayout) -> Readers {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); sources];
        for (row, (place, _)) in (0..).zip(readers.places()) {
            rows[of[place] as usize].push(row);
        }
        let ends = rows.iter().scan(0, |sum, rows| {
            *sum += rows.len() as u32;
            Some(*sum)
        });
        let numbers: Vec<u32> =
            std::iter::once(0).chain(ends).chain(rows.iter().flatten().copied()).collect();
        Readers { numbers: Indices::new(device, &numbers), sources }
    }

    /// sources + 1 numbers: where each source's readers begin
    pub(crate) fn starts(&self) -> Pointer {
        self.numbers.pointer()
    }

    pub(crate) fn rows(&self) -> Pointer {
        self.starts().at(self.sources + 1)
    }
}
