//! Matrix products through cuBLAS.

use super::{Cuda, Launch, Pointer, Source, expect};
use crate::device::Precision;
use crate::memory::Buffer;
use crate::product::Update;
use crate::tensor::Tensor;
use cudarc::cublas::{result, sys};
use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

pub(crate) const SOURCE: Source = Source::plain("product", include_str!("product.cu"));

/// From so many multiplications on, it pays to bring both factors into another form first.
const WORTH_PREPARING: usize = 1 << 32;
/// From so many on, it pays to round one factor, where the other one has been rounded for many products.
const WORTH_ROUNDING_ONE: usize = 1 << 28;

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

/// In which form factors are multiplied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As they are.
    Plain,
    /// Rounded to bf16.
    Rounded,
    /// As sums of two numbers of TF32, 22 bits: three products on the tensor cores are faster than one without them.
    Split,
}

/// A factor of products. Where they want it in another form, it is made once for all of them.
#[derive(Clone)]
pub(crate) struct Factor {
    view: View,
    kind: Kind,
    prepared: Rc<OnceCell<Buffer>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A factor of one product, or of a few.
    OfFew,
    /// Of so many products that making another form of it costs nothing.
    OfMany,
    /// Its numbers are bf16 already.
    Rounded,
}

impl From<View> for Factor {
    fn from(view: View) -> Factor {
        Factor::new(view, Kind::OfFew)
    }
}

impl Factor {
    fn new(view: View, kind: Kind) -> Factor {
        Factor { view, kind, prepared: Rc::default() }
    }

    /// A factor of all steps of a loop.
    pub(crate) fn of_many(view: View) -> Factor {
        Factor::new(view, Kind::OfMany)
    }

    /// A factor whose numbers are bf16 already. The view's stride counts those.
    pub(crate) fn rounded(view: View) -> Factor {
        Factor::new(view, Kind::Rounded)
    }

    pub(crate) fn is_rounded(&self) -> bool {
        self.kind == Kind::Rounded
    }

    pub(crate) fn view(&self) -> View {
        self.view
    }

    pub(crate) fn transposed(&self) -> Factor {
        Factor { view: self.view.transposed(), ..self.clone() }
    }

    /// Rows and columns as they lie in memory.
    fn stored(&self) -> (usize, usize) {
        let View { rows, columns, transposed, .. } = self.view;
        if transposed { (columns, rows) } else { (rows, columns) }
    }

    /// How many numbers lie between two rows in another form: so that every row begins at a multiple of 16 bytes.
    fn prepared_stride(&self) -> usize {
        self.stored().1.next_multiple_of(8)
    }

    /// cuBLAS reads columns where we write rows: to it, our matrix is its own transpose.
    fn operation(&self) -> sys::cublasOperation_t {
        use sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
        if self.view.transposed { CUBLAS_OP_T } else { CUBLAS_OP_N }
    }

    /// What cuBLAS takes: one operand, or, of a factor that is split, the upper and the lower halves.
    fn operands(&self, cuda: &Cuda, form: Form) -> [Operand; 2] {
        let operation = self.operation();
        if form == Form::Plain || self.is_rounded() {
            let (pointer, stride) = (self.view.pointer, self.view.stride.max(1));
            return [Operand { pointer, stride, operation }; 2];
        }
        let (stride, room) = (self.prepared_stride(), self.prepared.get_or_init(|| cuda.prepare(self, form)));
        let low = if form == Form::Split { self.stored().0 * stride } else { 0 };
        [0, low].map(|start| Operand { pointer: room.pointer().at(start), stride, operation })
    }
}

/// A factor as cuBLAS takes it.
#[derive(Clone, Copy)]
struct Operand {
    pointer: Pointer,
    stride: usize,
    operation: sys::cublasOperation_t,
}

/// The target of a product, and its sizes.
#[derive(Clone, Copy)]
struct Target {
    out: Pointer,
    stride: usize,
    m: usize,
    k: usize,
    n: usize,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target { m, k, n, .. } = self;
        write!(f, "a product of {m} × {k} and {k} × {n}")
    }
}

impl Cuda {
    /// Whether this device brings the factors of so many multiplications into another form.
    fn prepares(&self, multiplications: usize, worth_it: usize) -> bool {
        self.has_tensor_cores() && (multiplications >= worth_it || self.all_are_large())
    }

    /// Whether this device rounds both factors of so many multiplications to bf16.
    pub(crate) fn rounds_factors(&self, multiplications: usize) -> bool {
        self.precision == Precision::Bf16 && self.prepares(multiplications, WORTH_PREPARING)
    }

    /// The form in which this device multiplies them.
    fn form(&self, a: &Factor, b: &Factor) -> Form {
        let kinds = [a.kind, b.kind];
        if kinds.contains(&Kind::Rounded) {
            return Form::Rounded;
        }
        let multiplications = a.view.rows * a.view.columns * b.view.columns;
        let of_many = kinds.contains(&Kind::OfMany) && self.prepares(multiplications, WORTH_ROUNDING_ONE);
        match self.precision {
            Precision::Bf16 if of_many || self.rounds_factors(multiplications) => Form::Rounded,
            Precision::Fp32 if self.prepares(multiplications, WORTH_PREPARING) => Form::Split,
            _ => Form::Plain,
        }
    }

    /// What the factors of a product are, and how they are multiplied.
    fn types(&self, form: Form) -> (sys::cudaDataType, sys::cublasComputeType_t) {
        use sys::cublasComputeType_t::{CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
        use sys::cudaDataType::{CUDA_R_16BF, CUDA_R_32F};
        match (form, self.precision) {
            (Form::Rounded, _) => (CUDA_R_16BF, CUBLAS_COMPUTE_32F),
            (Form::Plain, Precision::Fp32) => (CUDA_R_32F, CUBLAS_COMPUTE_32F),
            (Form::Plain | Form::Split, _) => (CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32),
        }
    }

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
        let (target, form) = (Target { out, stride, m, k, n }, self.form(&a, &b));
        let ([a, a_low], [b, b_low]) = (a.operands(self, form), b.operands(self, form));
        if form == Form::Split {
            // The smaller ones first; what is left out is the product of the lower halves.
            self.multiply_operands(target, a_low, b, form, update);
            self.multiply_operands(target, a, b_low, form, Update::Add);
            self.multiply_operands(target, a, b, form, Update::Add);
        } else {
            self.multiply_operands(target, a, b, form, update);
        }
    }

    fn multiply_operands(&self, target: Target, a: Operand, b: Operand, form: Form, update: Update) {
        let (factor_type, compute_type) = self.types(form);
        let (alpha, beta) = (1f32, if update == Update::Add { 1f32 } else { 0f32 });
        let size =
            |number: usize| i32::try_from(number).unwrap_or_else(|_| panic!("cuda: {target} is too large"));
        self.enter();
        // SAFETY: the operands and the target are blocks of tensors that are as large as their sizes say. outᵀ = bᵀ · aᵀ.
        let done = unsafe {
            result::gemm_ex(
                self.blas,
                b.operation,
                a.operation,
                size(target.n),
                size(target.m),
                size(target.k),
                (&raw const alpha).cast(),
                b.pointer.0 as *const _,
                factor_type,
                size(b.stride),
                a.pointer.0 as *const _,
                factor_type,
                size(a.stride),
                (&raw const beta).cast(),
                target.out.0 as *mut _,
                sys::cudaDataType::CUDA_R_32F,
                size(target.stride),
                compute_type,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        expect(|| target.to_string(), done);
        self.check(|| target.to_string());
    }

    /// The numbers of a factor in another form.
    fn prepare(&self, factor: &Factor, form: Form) -> Buffer {
        let ((rows, columns), stride) = (factor.stored(), factor.prepared_stride());
        // Two numbers of bf16 have the room of one.
        let (name, length) = match form {
            Form::Rounded => ("round_rows", rows * stride / 2),
            Form::Plain | Form::Split => ("split_rows", rows * stride * 2),
        };
        let room = Buffer::new(&self.device(), length);
        let arguments = [
            room.pointer().into(),
            factor.view.pointer.into(),
            rows.into(),
            columns.into(),
            factor.view.stride.into(),
            stride.into(),
        ];
        // SAFETY: the room is as long as the form needs, and the stride a multiple of four.
        unsafe { self.launch(self.kernel(&SOURCE, name), Launch::over(rows * stride / 4), &arguments) };
        room
    }
}
