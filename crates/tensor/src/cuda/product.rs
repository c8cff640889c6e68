//! Matrix products through cuBLAS.

use super::{Cuda, Launch, Pointer, Source, expect};
use crate::device::Precision;
use crate::memory::Buffer;
use crate::product::Update;
use crate::tensor::Tensor;
use cudarc::cublas::{result, sys};
use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

pub(crate) const SOURCE: Source = Source::plain("product", include_str!("product.cu"));

/// From so many multiplications on, rounding the factors to bf16 first pays.
const WORTH_ROUNDING: usize = 1 << 32;

/// A matrix on the GPU, to be read: any block of rows and columns, plain or transposed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) pointer: Pointer,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// How many numbers lie between the beginnings of two rows, or of two columns where it is transposed.
    stride: usize,
    transposed: bool,
}

impl View {
    /// Rows that begin `stride` numbers apart.
    pub(crate) fn strided(pointer: Pointer, rows: usize, columns: usize, stride: usize) -> View {
        View { pointer, rows, columns, stride, transposed: false }
    }

    pub(crate) fn new(pointer: Pointer, rows: usize, columns: usize) -> View {
        View::strided(pointer, rows, columns, columns)
    }

    pub(crate) fn stride(self) -> usize {
        self.stride
    }

    pub(crate) fn transposed(self) -> View {
        View { rows: self.columns, columns: self.rows, transposed: !self.transposed, ..self }
    }

    pub(crate) fn column_block(self, range: Range<usize>) -> View {
        assert!(range.end <= self.columns, "columns {range:?} of {}", self.columns);
        let step = if self.transposed { self.stride } else { 1 };
        View { pointer: self.pointer.at(range.start * step), columns: range.len(), ..self }
    }

    pub(crate) fn row_block(self, range: Range<usize>) -> View {
        self.transposed().column_block(range).transposed()
    }
}

impl Tensor {
    /// The whole, as an operand of a product on the GPU.
    pub(crate) fn view(&self) -> View {
        View::new(self.pointer(), self.rows(), self.columns())
    }
}

/// A factor of products. Where they want it rounded, that is done once for all of them.
#[derive(Clone)]
pub(crate) struct Factor {
    view: View,
    rounded: Rc<OnceCell<Buffer>>,
}

impl From<View> for Factor {
    fn from(view: View) -> Factor {
        Factor { view, rounded: Rc::default() }
    }
}

impl Factor {
    pub(crate) fn transposed(&self) -> Factor {
        Factor { view: self.view.transposed(), rounded: Rc::clone(&self.rounded) }
    }

    /// Rows and columns as they lie in memory.
    fn stored(&self) -> (usize, usize) {
        let View { rows, columns, transposed, .. } = self.view;
        if transposed { (columns, rows) } else { (rows, columns) }
    }

    /// How many numbers lie between two rows of the rounded ones: so that every row begins at a multiple of 16 bytes.
    fn rounded_stride(&self) -> usize {
        self.stored().1.next_multiple_of(8)
    }

    /// cuBLAS reads columns where we write rows: to it, our matrix is its own transpose.
    fn operation(&self) -> sys::cublasOperation_t {
        use sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
        if self.view.transposed { CUBLAS_OP_T } else { CUBLAS_OP_N }
    }

    /// Where cuBLAS finds it, and the distance of its rows.
    fn place(&self, cuda: &Cuda, rounded: bool) -> (u64, usize) {
        if !rounded {
            return (self.view.pointer.0, self.view.stride.max(1));
        }
        let room = self.rounded.get_or_init(|| cuda.round(self));
        (room.pointer().0, self.rounded_stride())
    }
}

/// What the factors of a product are, and how they are multiplied.
fn types(precision: Precision, rounded: bool) -> (sys::cudaDataType, sys::cublasComputeType_t) {
    match precision {
        _ if rounded => (sys::cudaDataType::CUDA_R_16BF, sys::cublasComputeType_t::CUBLAS_COMPUTE_32F),
        Precision::Fp32 => (sys::cudaDataType::CUDA_R_32F, sys::cublasComputeType_t::CUBLAS_COMPUTE_32F),
        Precision::Tf32 | Precision::Bf16 => {
            (sys::cudaDataType::CUDA_R_32F, sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32)
        }
    }
}

impl Cuda {
    /// `out = a · b` or `out += a · b`, where the rows of `out` lie `stride` numbers apart.
    pub(crate) fn multiply(
        &self,
        out: Pointer,
        stride: usize,
        a: impl Into<Factor>,
        b: impl Into<Factor>,
        update: Update,
    ) {
        let (a, b): (Factor, Factor) = (a.into(), b.into());
        let (m, k, n) = (a.view.rows, a.view.columns, b.view.columns);
        assert_eq!(k, b.view.rows, "a product of {m} × {k} and {} × {n}", b.view.rows);
        assert!(stride >= n, "rows of {n} numbers that lie {stride} apart");
        if m == 0 || n == 0 {
            return;
        }
        if k == 0 {
            // Nothing is added; whether cuBLAS then still sets the target to zero depends on the shapes.
            if update == Update::Set {
                (0..m).for_each(|row| self.zero(out.at(row * stride), n));
            }
            return;
        }
        let rounded = self.precision == Precision::Bf16 && m * n * k >= WORTH_ROUNDING;
        let [(a_at, a_stride), (b_at, b_stride)] = [&a, &b].map(|factor| factor.place(self, rounded));
        let (factor_type, compute_type) = types(self.precision, rounded);
        let (alpha, beta) = (1f32, if update == Update::Add { 1f32 } else { 0f32 });
        let what = || format!("a product of {m} × {k} and {k} × {n}");
        let size =
            |number: usize| i32::try_from(number).unwrap_or_else(|_| panic!("cuda: {} is too large", what()));
        self.enter();
        // SAFETY: the views and the target are blocks of tensors that are as large as their sizes say. outᵀ = bᵀ · aᵀ.
        let done = unsafe {
            result::gemm_ex(
                self.blas,
                b.operation(),
                a.operation(),
                size(n),
                size(m),
                size(k),
                (&raw const alpha).cast(),
                b_at as *const _,
                factor_type,
                size(b_stride),
                a_at as *const _,
                factor_type,
                size(a_stride),
                (&raw const beta).cast(),
                out.0 as *mut _,
                sys::cudaDataType::CUDA_R_32F,
                size(stride),
                compute_type,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        expect(what, done);
        self.check(what);
    }

    /// The numbers of a factor, rounded to bf16.
    fn round(&self, factor: &Factor) -> Buffer {
        let ((rows, columns), stride) = (factor.stored(), factor.rounded_stride());
        let room = Buffer::new(&self.device(), rows * stride / 2);
        let arguments = [
            room.pointer().into(),
            factor.view.pointer.into(),
            rows.into(),
            columns.into(),
            factor.view.stride.into(),
            stride.into(),
        ];
        let how = Launch::over(rows * stride / 4);
        // SAFETY: two rounded numbers have the room of one, and a row's number is a multiple of eight.
        unsafe { self.launch(self.kernel(&SOURCE, "round_rows"), how, &arguments) };
        room
    }
}
