//! A matrix of numbers on a device.

use crate::device::Device;
use crate::memory::Buffer;
use crate::product::{Mat, Packed};
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
    pub(crate) fn clear(&mut self) {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
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
        tensor.data_mut().fill(0.0);
        tensor
    }

    /// `numbers`, row after row.
    pub fn new(device: &Device, rows: usize, columns: usize, numbers: &[f32]) -> Tensor {
        assert_eq!(numbers.len(), rows * columns, "{} numbers for {rows} × {columns}", numbers.len());
        let mut tensor = Tensor::scratch(device, rows, columns);
        tensor.data_mut().copy_from_slice(numbers);
        tensor
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

    /// A copy of the numbers, row after row.
    pub fn to_vec(&self) -> Vec<f32> {
        self.data().to_vec()
    }

    /// The only number of a 1 × 1 tensor.
    pub fn item(&self) -> f32 {
        assert_eq!(self.shape(), (1, 1), "one number of a tensor of {} × {}", self.rows, self.columns);
        self.data()[0]
    }

    pub(crate) fn data(&self) -> &[f32] {
        &self.data.numbers()[self.offset..self.offset + self.rows * self.columns]
    }

    /// The numbers, to be changed. Where they are shared, the others keep theirs.
    pub(crate) fn data_mut(&mut self) -> &mut [f32] {
        if Arc::get_mut(&mut self.data).is_none() {
            *self = Tensor::new(self.device(), self.rows, self.columns, self.data());
        }
        self.packs = None;
        let (start, end) = (self.offset, self.offset + self.rows * self.columns);
        let buffer = Arc::get_mut(&mut self.data).expect("a fresh copy is not shared");
        &mut buffer.numbers_mut()[start..end]
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

    /// A packed copy of a block. That of a weight is kept until the weight changes.
    pub(crate) fn packed(&self, block: Block) -> Arc<Packed> {
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
        packs.push((block, Arc::clone(&packed)));
        packed
    }

    /// A packed copy of the whole.
    pub(crate) fn packed_whole(&self, transposed: bool) -> Arc<Packed> {
        self.packed(Block { rows: 0..self.rows, columns: 0..self.columns, transposed })
    }

    /// Whether packed copies of it are kept.
    pub(crate) fn keeps_packs(&self) -> bool {
        self.packs.is_some()
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} × {} on {:?}", self.rows, self.columns, self.device())?;
        for row in self.data().chunks(self.columns.max(1)).take(8) {
            writeln!(f, "  {:?}", &row[..row.len().min(8)])?;
        }
        Ok(())
    }
}
