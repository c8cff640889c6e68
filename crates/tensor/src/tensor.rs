//! A matrix of numbers on a device.

#[cfg(feature = "cuda")]
use crate::cuda::Pointer;
use crate::device::{Device, on_device};
use crate::memory::Buffer;
use crate::product::{Mat, Packed};
use crate::profile;
use crate::shared::Grid;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A matrix of `f32`, row after row, on a device. Copies are cheap: they share the numbers.
#[derive(Clone)]
pub struct Tensor {
    data: Arc<Buffer>,
    offset: usize,
    rows: usize,
    columns: usize,
    packs: Option<Arc<Packs>>,
}

/// Some numbers of a tensor, to be written.
pub(crate) struct Slot<'a> {
    pub(crate) tensor: &'a mut Tensor,
    pub(crate) range: Range<usize>,
}

impl<'a> Slot<'a> {
    pub(crate) fn data_mut(self) -> &'a mut [f32] {
        &mut self.tensor.data_mut()[self.range]
    }

    /// Where they begin on the GPU.
    #[cfg(feature = "cuda")]
    pub(crate) fn pointer(self) -> Pointer {
        self.tensor.pointer_mut().at(self.range.start)
    }

    pub(crate) fn zero(self) {
        on_device!(&self.tensor.device().clone(),
        _cpu => self.data_mut().fill(0.0),
        cuda => {
            let length = self.range.len();
            cuda.zero(self.pointer(), length);
        });
    }
}

/// The packed copies of a weight, made when they are first asked for.
#[derive(Default)]
pub(crate) struct Packs(Mutex<Vec<(Block, Arc<Packed>)>>);

/// A part of a weight, as the right operand of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
    pub transposed: bool,
}

impl Packs {
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Tensor {
    /// `rows × columns` numbers; what they are is left open.
    pub(crate) fn scratch(device: &Device, rows: usize, columns: usize) -> Tensor {
        Tensor { data: Arc::new(Buffer::new(device, rows * columns)), offset: 0, rows, columns, packs: None }
    }

    /// Zeros.
    pub fn zeros(device: &Device, rows: usize, columns: usize) -> Tensor {
        let mut tensor = Tensor::scratch(device, rows, columns);
        Slot { range: 0..rows * columns, tensor: &mut tensor }.zero();
        tensor
    }

    /// `numbers`, row after row.
    pub fn new(device: &Device, rows: usize, columns: usize, numbers: &[f32]) -> Tensor {
        assert_eq!(numbers.len(), rows * columns, "{} numbers for {rows} × {columns}", numbers.len());
        let mut tensor = Tensor::scratch(device, rows, columns);
        tensor.write(0, numbers);
        tensor
    }

    /// Writes numbers from the `start`-th on.
    pub(crate) fn write(&mut self, start: usize, numbers: &[f32]) {
        assert!(start + numbers.len() <= self.rows * self.columns);
        on_device!(&self.device().clone(),
            _cpu => self.data_mut()[start..start + numbers.len()].copy_from_slice(numbers),
            cuda => cuda.upload(self.pointer_mut().at(start), numbers));
    }

    /// The same numbers in a block of their own.
    fn copied(&self) -> Tensor {
        let mut copy = Tensor::scratch(self.device(), self.rows, self.columns);
        copy.write_from(0, self, 0..self.rows * self.columns);
        copy
    }

    /// Writes some numbers of another tensor from the `start`-th on.
    pub(crate) fn write_from(&mut self, start: usize, other: &Tensor, range: Range<usize>) {
        let end = start + range.len();
        assert!(end <= self.rows * self.columns && range.end <= other.rows * other.columns);
        on_device!(&self.device().clone(),
            _cpu => self.data_mut()[start..end].copy_from_slice(&other.data()[range]),
            cuda => cuda.copy(self.pointer_mut().at(start), other.pointer().at(range.start), range.len()));
    }

    /// A matrix inside of a flat row of numbers.
    pub(crate) fn part(&self, offset: usize, rows: usize, columns: usize, packs: Arc<Packs>) -> Tensor {
        assert!(offset + rows * columns <= self.rows * self.columns);
        Tensor {
            data: Arc::clone(&self.data),
            offset: self.offset + offset,
            rows,
            columns,
            packs: Some(packs),
        }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns it has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Where it lives.
    pub fn device(&self) -> &Device {
        self.data.device()
    }

    /// Copies the values to the host, row after row.
    pub fn to_vec(&self) -> Vec<f32> {
        let _span = profile::span("to_host", self.device());
        self.on_host(0..self.rows * self.columns)
    }

    /// A copy of some of the numbers.
    pub(crate) fn on_host(&self, range: Range<usize>) -> Vec<f32> {
        on_device!(self.device(),
        _cpu => self.data()[range].to_vec(),
        cuda => {
            let mut numbers = vec![0.0; range.len()];
            cuda.download(self.pointer().at(range.start), &mut numbers);
            numbers
        })
    }

    /// The only number of a 1 × 1 tensor.
    pub fn item(&self) -> f32 {
        assert_eq!(self.shape(), (1, 1), "one number of a tensor of {} × {}", self.rows, self.columns);
        self.on_host(0..1)[0]
    }

    pub(crate) fn data(&self) -> &[f32] {
        &self.data.numbers()[self.offset..self.offset + self.rows * self.columns]
    }

    /// The numbers, to be changed. Where they are shared, the others keep theirs.
    pub(crate) fn data_mut(&mut self) -> &mut [f32] {
        self.make_own();
        let (start, end) = (self.offset, self.offset + self.rows * self.columns);
        let buffer = Arc::get_mut(&mut self.data).expect("a fresh copy is not shared");
        &mut buffer.numbers_mut()[start..end]
    }

    /// Gives it numbers that nobody else has.
    fn make_own(&mut self) {
        if Arc::get_mut(&mut self.data).is_none() {
            *self = self.copied();
        }
        self.packs = None;
    }

    pub(crate) fn mat(&self) -> Mat<'_> {
        Mat::new(self.data(), self.rows, self.columns)
    }

    /// The numbers for several workers to write, in rows.
    pub(crate) fn grid_mut(&mut self) -> Grid<'_> {
        let columns = self.columns;
        Grid::over(self.data_mut(), columns)
    }

    /// The numbers for several workers to read, in rows.
    pub(crate) fn grid(&self) -> Grid<'_> {
        Grid::reading(self.data(), self.columns)
    }

    pub(crate) fn row(&self, i: usize) -> &[f32] {
        &self.data()[i * self.columns..(i + 1) * self.columns]
    }

    /// A packed copy of a block. That of a weight can be kept until the weight changes.
    pub(crate) fn packed(&self, block: Block, keep: bool) -> Arc<Packed> {
        let pack = || {
            let part = self.mat().row_block(block.rows.clone()).column_block(block.columns.clone());
            Arc::new(Packed::new(self.device(), if block.transposed { part.transposed() } else { part }))
        };
        let Some(packs) = &self.packs else { return pack() };
        let mut packs = packs.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, packed)) = packs.iter().find(|(kept, _)| *kept == block) {
            return Arc::clone(packed);
        }
        let packed = pack();
        if keep {
            packs.push((block, Arc::clone(&packed)));
        }
        packed
    }

    /// A packed copy of the whole.
    pub(crate) fn packed_whole(&self, transposed: bool, keep: bool) -> Arc<Packed> {
        self.packed(Block { rows: 0..self.rows, columns: 0..self.columns, transposed }, keep)
    }

    /// Whether packed copies of it are kept.
    pub(crate) fn keeps_packs(&self) -> bool {
        self.packs.is_some()
    }
}

#[cfg(feature = "cuda")]
impl Tensor {
    /// Where its numbers begin on the GPU, to be read.
    pub(crate) fn pointer(&self) -> Pointer {
        self.data.pointer().at(self.offset)
    }

    /// Where its numbers begin on the GPU, to be changed. Where they are shared, the others keep theirs.
    pub(crate) fn pointer_mut(&mut self) -> Pointer {
        self.make_own();
        self.pointer()
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} × {} on {:?}", self.rows, self.columns, self.device())?;
        for row in self.to_vec().chunks(self.columns.max(1)).take(8) {
            writeln!(f, "  {:?}", &row[..row.len().min(8)])?;
        }
        Ok(())
    }
}
