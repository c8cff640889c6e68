//! The kernels of a cell: one step of some rows, alone or with the products that its gates begin with.

use crate::cell::{Cell, MAX_PARTS, slots};
use crate::cuda::{Cuda, Kernel, Launch, Pointer, Record, Source, View, variant};
use crate::device::Precision;
use crate::lane::source::{Symbol, function};
use crate::ops::AnyCell;
use crate::tensor::Tensor;

/// The cell's sizes and functions as source.
fn write<C: Cell>() -> String {
    let read = |name: &str, count: usize| -> Vec<Symbol> {
        (0..count).map(|i| Symbol::of(&format!("{name}[{i}]"))).collect()
    };
    let store = |name: &str, symbols: &[Symbol]| {
        symbols.iter().enumerate().for_each(|(i, symbol)| symbol.store(&format!("{name}[{i}]")));
    };
    let forward = function("void cell_forward(float* slots, float* state)", || {
        let (mut gates, mut state) = (read("slots", slots::<C>()), read("state", C::STATE_TENSORS));
        C::forward(&mut gates, &mut state);
        store("slots", &gates);
        store("state", &state);
    });
    let signature =
        "void cell_backward(float* slots, const float* before, const float* after, float* gradient)";
    let backward = function(signature, || {
        let (mut gates, mut gradient) = (read("slots", slots::<C>()), read("gradient", C::STATE_TENSORS));
        let (before, after) = (read("before", C::STATE_TENSORS), read("after", C::STATE_TENSORS));
        C::backward(&mut gates, &before, &after, &mut gradient);
        store("slots", &gates);
        store("gradient", &gradient);
    });
    let sizes = [
        ("GATES", C::GATES),
        ("APART", C::SPLIT_GATES),
        ("SLOTS", slots::<C>()),
        ("PARTS", C::STATE_TENSORS),
    ];
    let sizes: String = sizes.iter().map(|(name, size)| format!("#define {name} {size}\n")).collect();
    sizes + &forward + &backward
}

pub(crate) fn source<C: Cell>() -> Source<'static> {
    Source { name: "cell", text: include_str!("../cell.cu"), variant: variant::<C>(), generate: &write::<C> }
}

/// The parts of a state, from a row on; null where they are zero.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Parts([Pointer; MAX_PARTS]);

impl Record for Parts {}

impl Parts {
    pub(crate) fn of<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Parts {
        let mut parts = [Pointer::NULL; MAX_PARTS];
        parts.iter_mut().zip(tensors).for_each(|(part, tensor)| *part = tensor.pointer());
        Parts(parts)
    }

    /// The parts of a state, to be written.
    pub(crate) fn to(tensors: &mut [Tensor]) -> Parts {
        let mut parts = [Pointer::NULL; MAX_PARTS];
        parts.iter_mut().zip(tensors).for_each(|(part, tensor)| *part = tensor.pointer_mut());
        Parts(parts)
    }

    /// The output `h`; null where it is zero.
    pub(crate) fn output(&self) -> Pointer {
        self.0[0]
    }

    /// From so many numbers on.
    pub(super) fn at(&self, numbers: usize) -> Parts {
        Parts(self.0.map(|part| if part == Pointer::NULL { part } else { part.at(numbers) }))
    }
}

/// One step of some rows, whose tensors begin here.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct StepRows {
    pub(crate) slots: Pointer,
    pub(crate) before: Parts,
    pub(crate) start: Parts,
    pub(crate) after: Parts,
    /// How many of the rows go on from `before`; the others begin.
    pub(crate) carried: u32,
    pub(crate) rows: u32,
    pub(crate) hidden: u32,
}

impl Record for StepRows {}

impl StepRows {
    fn units(&self) -> usize {
        self.rows as usize * self.hidden as usize
    }
}

/// A product that a step's gates, or their gradients, begin with: `a · w` for some of the rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Product {
    a: Pointer,
    w: Pointer,
    a_stride: u32,
    w_stride: u32,
    depth: u32,
    first: u32,
    end: u32,
    of_state: u32,
    aligned: u32,
}

impl Product {
    const NONE: Product = Product {
        a: Pointer::NULL,
        w: Pointer::NULL,
        a_stride: 0,
        w_stride: 0,
        depth: 0,
        first: 0,
        end: 0,
        of_state: 0,
        aligned: 0,
    };

    /// `a`, whose rows are those of the step from `first` on, times a weight's rows as they lie in memory.
    pub(super) fn new(a: View, weight: View, first: usize, of_state: bool) -> Product {
        let in_fours = |view: View| {
            [view.stride(), view.columns].iter().all(|size| size.is_multiple_of(4))
                && view.pointer.is_aligned()
        };
        Product {
            a: a.pointer,
            w: weight.pointer,
            a_stride: a.stride() as u32,
            w_stride: weight.stride() as u32,
            depth: a.columns as u32,
            first: first as u32,
            end: (first + a.rows) as u32,
            of_state: of_state.into(),
            aligned: (in_fours(a) && in_fours(weight)).into(),
        }
    }
}

/// Up to three of them, filled up with none.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Products([Product; 3]);

impl Record for Products {}

impl FromIterator<Product> for Products {
    fn from_iter<I: IntoIterator<Item = Product>>(products: I) -> Products {
        let mut three = [Product::NONE; 3];
        let mut places = three.iter_mut();
        for product in products.into_iter().filter(|product| product.end > product.first) {
            *places.next().expect("a step has up to three products") = product;
        }
        Products(three)
    }
}

/// How a step's units are cut into blocks, and the numbers of shared memory that a block needs: as in the kernels.
struct Tile {
    rows: usize,
    units: usize,
    shared: usize,
}

/// Stretches of the products that are in shared memory at a time.
const STAGES: usize = 3;

/// `Gates` in the kernels: all gates of each unit.
fn forward_tile(cell: AnyCell) -> Tile {
    let (products, sums) = (STAGES * (32 + cell.gates() * 8) * 68, 4 * cell.slots() * 256);
    Tile { rows: 32, units: 8, shared: products.max(sums) }
}

/// `Outputs` in the kernels.
const BACKWARD_TILE: Tile = Tile { rows: 16, units: 16, shared: STAGES * (16 * 132 + 128 * 20) };

/// A cell's kernels.
pub(crate) struct CellKernels<'a> {
    cuda: &'a Cuda,
    forward: Kernel,
    backward: Kernel,
    step_forward: Kernel,
    step_backward: Kernel,
    forward_tile: Tile,
}

impl<'a> CellKernels<'a> {
    pub(crate) fn new(cuda: &'a Cuda, cell: AnyCell) -> CellKernels<'a> {
        let source = cell.source();
        let kernel = |name| cuda.kernel(&source, name);
        let forward_tile = forward_tile(cell);
        CellKernels {
            cuda,
            forward: kernel("forward"),
            backward: kernel("backward"),
            step_forward: cuda.with_shared(kernel("step_forward"), forward_tile.bytes()),
            step_backward: cuda.with_shared(kernel("step_backward"), BACKWARD_TILE.bytes()),
            forward_tile,
        }
    }

    /// The step of rows whose gates are complete.
    pub(crate) fn forward(&self, own: &StepRows) {
        // SAFETY: the callers' tensors hold so many rows of so many units.
        unsafe { self.cuda.launch(self.forward, Launch::over(own.units()), &[own.into()]) };
    }

    /// Its way back.
    pub(crate) fn backward(&self, own: &StepRows, running: &Parts, upstream: Option<Pointer>) {
        let arguments = [own.into(), running.into(), upstream.into()];
        // SAFETY: as in the forward pass.
        unsafe { self.cuda.launch(self.backward, Launch::over(own.units()), &arguments) };
    }

    /// The step of rows to whose gates these products are still to be added.
    pub(super) fn step_forward(&self, own: &StepRows, products: &Products) {
        let arguments = [own.into(), products.into(), (self.cuda.precision() == Precision::Fp32).into()];
        // SAFETY: as above, and the products are as deep as the weights that they are multiplied with.
        unsafe { self.cuda.launch(self.step_forward, self.forward_tile.launch(own), &arguments) };
    }

    /// Its way back, where these products are still to be added to the gradient of the output.
    pub(super) fn step_backward(
        &self,
        own: &StepRows,
        running: &Parts,
        upstream: Option<Pointer>,
        products: &Products,
    ) {
        let arguments = [own.into(), running.into(), upstream.into(), products.into()];
        // SAFETY: as above.
        unsafe { self.cuda.launch(self.step_backward, BACKWARD_TILE.launch(own), &arguments) };
    }
}

impl Tile {
    fn bytes(&self) -> usize {
        self.shared * size_of::<f32>()
    }

    fn launch(&self, own: &StepRows) -> Launch {
        let blocks = [(own.hidden as usize).div_ceil(self.units), (own.rows as usize).div_ceil(self.rows)];
        Launch { blocks, shared: self.bytes(), ..Launch::blocks(1) }
    }
}
