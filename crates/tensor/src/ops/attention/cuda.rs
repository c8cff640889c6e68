//! Attention of many rows on a GPU. In the backward pass, the gradients of the energies are kept for all rows, and those of keys,
//! values and vector are computed from them at once, each element by one thread: no matter which rows attend to a source, and in
//! which order, no two threads add to the same element.

use super::{
    AnyScore, AttendInputs, AttendOutput, AttendUpstream, AttendedRows, AttentionModifiers, Memory,
    MemorySegment,
};
use crate::cuda::{Arg, Cuda, DeviceLayout, Indices, Kernel, Launch, Pointer, Readers, Source, variant};
use crate::lane::source::{Symbol, function};
use crate::layout::SequenceLayout;
use crate::ops::sums::cuda::column_sums;
use crate::score::Score;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

/// The shared memory that a block needs for the energies of a source, in bytes.
pub(crate) fn energy_bytes(steps: usize) -> usize {
    const LONGEST: usize = 40 * 1024 / size_of::<f32>();
    assert!(steps <= LONGEST, "cuda: a source of {steps} steps; attention supports up to {LONGEST}");
    // A multiple of eight: the compiler reads that many at a time where it unrolls a loop, even past the last one.
    steps.max(1).next_multiple_of(8) * size_of::<f32>()
}

/// The score's functions as source.
fn write<S: Score>() -> String {
    let [q, k, v] = ["q", "k", "v"];
    let term = function("float score_term(float q, float k, float v)", || {
        S::term(Symbol::of(q), Symbol::of(k), Symbol::of(v)).give_back();
    });
    let signature =
        "void score_term_back(float q, float k, float v, float gradient, float* dq, float* dk, float* dv)";
    let back = function(signature, || {
        let gradient = Symbol::of("gradient");
        let gradients = S::term_back(Symbol::of(q), Symbol::of(k), Symbol::of(v), gradient);
        gradients
            .into_iter()
            .zip(["*dq", "*dk", "*dv"])
            .for_each(|(gradient, target)| gradient.store(target));
    });
    term + &back
}

pub(crate) fn source<S: Score>() -> Source<'static> {
    Source {
        name: "attention",
        text: include_str!("attention.cu"),
        variant: variant::<S>(),
        generate: &write::<S>,
    }
}

/// A memory on the GPU, and the kernels that read it.
pub(crate) struct Attending<'a> {
    cuda: &'a Cuda,
    score: AnyScore,
    memory: &'a Memory,
    segment: &'a MemorySegment,
    rows: DeviceLayout,
    of: Indices,
    vector: Option<Pointer>,
    /// None where there are no modifiers: simpler kernels suffice then.
    modifiers: Option<&'a AttentionModifiers>,
    forward: Kernel,
    backward: Kernel,
}

/// The gradients of the [`AttentionModifiers`]; none where there is no such modifier.
#[derive(Default)]
pub(crate) struct ModifierGradients {
    /// count × heads
    centers: Option<Tensor>,
    /// count × heads·source steps
    so_far: Option<Tensor>,
}

/// The rows of a step, or all: pointers to the first row of their tensors.
#[derive(Clone, Copy)]
pub(crate) struct AttendingRows {
    pub(crate) count: usize,
    /// count × heads·depth
    pub(crate) query: Pointer,
    /// count × heads·source steps
    pub(crate) weights: Pointer,
}

/// The gradients of [`AttendingRows`], likewise: those of the results, and those to be written.
#[derive(Clone, Copy)]
pub(crate) struct AttendingGradients {
    /// count × heads·width
    pub(crate) dcontext: Pointer,
    /// count × heads·source steps, or none
    pub(crate) dweights: Option<Pointer>,
    /// Overwritten: count × heads·source steps
    pub(crate) denergies: Pointer,
    /// Overwritten: count × heads·depth
    pub(crate) dquery: Pointer,
}

impl<'a> Attending<'a> {
    pub(crate) fn new(
        cuda: &'a Cuda,
        score: AnyScore,
        memory: &'a Memory,
        vector: Option<&Var>,
        modifiers: Option<&'a AttentionModifiers>,
    ) -> Attending<'a> {
        let segment = memory.segment();
        let device = segment.keys.device();
        let [forward, backward] = if modifiers.is_some() {
            ["forward_focused", "backward_focused"]
        } else {
            ["forward", "backward"]
        };
        Attending {
            cuda,
            score,
            memory,
            segment,
            rows: DeviceLayout::new(device, &segment.layout),
            of: Indices::new(device, &memory.of),
            vector: vector.map(|vector| vector.value().pointer()),
            modifiers,
            forward: cuda.kernel(&score.source(), forward),
            backward: cuda.kernel(&score.source(), backward),
        }
    }

    /// The arguments of the kernels with modifiers; empty where there are none.
    fn modifier_arguments(&self) -> Vec<Arg<'_>> {
        let Some(modifiers) = self.modifiers else { return Vec::new() };
        let (window, coverage) = (modifiers.window.as_ref(), modifiers.coverage.as_ref());
        vec![
            window.map(|window| window.center.var().value().pointer()).into(),
            window.map_or(0, |window| window.half_width).into(),
            window.is_some_and(|window| window.center.is_fraction()).into(),
            coverage.map(|coverage| coverage.so_far.value().pointer()).into(),
            coverage.map(|coverage| coverage.weight.value().pointer()).into(),
        ]
    }

    fn sources(&self) -> [Arg<'_>; 8] {
        let (depth, width) = self.memory.of_head();
        [
            self.segment.keys.value().pointer().into(),
            self.segment.values.value().pointer().into(),
            self.rows.starts().into(),
            self.rows.lengths().into(),
            self.of.pointer().into(),
            self.rows.steps.into(),
            depth.into(),
            width.into(),
        ]
    }

    fn launch(&self, count: usize) -> Launch {
        // A window may start anywhere: another eight energies may be read.
        let padding = if self.modifiers.is_some() { 8 * size_of::<f32>() } else { 0 };
        let shared = energy_bytes(self.rows.steps) + padding;
        Launch { blocks: [count, self.memory.heads], threads: [1024, 1], shared }
    }

    /// Weights and context of rows, of which the `i`-th attends to source `of[i]`.
    pub(crate) fn forward(&self, rows: AttendingRows, context: Pointer) {
        let arguments = [
            &[rows.query.into(), self.vector.into()],
            &self.sources()[..],
            &self.modifier_arguments(),
            &[rows.weights.into(), context.into()],
        ]
        .concat();
        // SAFETY: a source for each row, and the tensors are as wide as the memory specifies.
        unsafe { self.cuda.launch(self.forward, self.launch(rows.count), &arguments) };
    }

    /// The gradients of energies and query, from those of context and weights.
    pub(crate) fn backward(&self, rows: AttendingRows, gradients: AttendingGradients) -> ModifierGradients {
        let AttendingGradients { dcontext, dweights, denergies, dquery } = gradients;
        let device = self.segment.keys.device();
        let mut of_modifiers = ModifierGradients::default();
        let mut written: Vec<Arg> = Vec::new();
        if let Some(modifiers) = self.modifiers {
            let scratch = |columns| Tensor::scratch(device, rows.count, columns);
            of_modifiers.centers = modifiers.window.as_ref().map(|_| scratch(self.memory.heads));
            of_modifiers.so_far = modifiers.coverage.as_ref().map(|_| scratch(self.memory.weight_columns()));
            written.extend(
                [&mut of_modifiers.centers, &mut of_modifiers.so_far]
                    .map(|tensor| Arg::from(tensor.as_mut().map(Tensor::pointer_mut))),
            );
        }
        let arguments = [
            &[rows.query.into(), self.vector.into()],
            &self.sources()[..],
            &self.modifier_arguments(),
            &[rows.weights.into(), dcontext.into(), dweights.into(), denergies.into(), dquery.into()],
            &written,
        ]
        .concat();
        // SAFETY: as in the forward pass.
        unsafe { self.cuda.launch(self.backward, self.launch(rows.count), &arguments) };
        of_modifiers
    }

    /// The gradients of keys, vector and values, from the queries of all rows and the gradients of their energies.
    pub(crate) fn memory_gradients(
        &self,
        gradients: &mut Gradients,
        query: Pointer,
        denergies: &Tensor,
        attended: &AttendedRows,
    ) {
        let (memory, device) = (self.memory, denergies.device());
        let readers = Readers::new(device, self.rows.batch, &memory.of, attended.layout);
        let (total, columns) = self.segment.keys.shape();
        let mut dkeys = Tensor::scratch(device, total, columns);
        let mut dvector = self.score.has_vector().then(|| Tensor::scratch(device, total, columns));
        let coverage = self.modifiers.and_then(|modifiers| modifiers.coverage.as_ref());
        let mut dcover = coverage.map(|_| Tensor::scratch(device, total, columns));
        let read = [
            query.into(),
            self.vector.into(),
            self.segment.keys.value().pointer().into(),
            self.rows.starts().into(),
            self.rows.lengths().into(),
            self.rows.steps.into(),
            memory.heads.into(),
            memory.of_head().0.into(),
            readers.starts().into(),
            readers.rows().into(),
        ];
        let written = [
            denergies.pointer().into(),
            dkeys.pointer_mut().into(),
            dvector.as_mut().map(Tensor::pointer_mut).into(),
        ];
        let of_coverage = self.modifiers.map(|_| Arg::from(dcover.as_mut().map(Tensor::pointer_mut)));
        let arguments = [&read[..], &self.modifier_arguments(), &written, of_coverage.as_slice()].concat();
        let kernel = if self.modifiers.is_some() { "keys_back_focused" } else { "keys_back" };
        let how = Launch { blocks: [self.rows.batch, self.rows.steps], ..Launch::blocks(1) };
        // SAFETY: the readers are rows of the queries and of the energies' gradients.
        unsafe { self.cuda.launch(self.cuda.kernel(&self.score.source(), kernel), how, &arguments) };
        gradients.add(&self.segment.keys, dkeys);
        if let (Some(vector), Some(dvector)) = (attended.vector, dvector) {
            gradients.write_cuda(vector, |dv, update| column_sums(self.cuda, dvector.view(), dv, update));
        }
        if let (Some(coverage), Some(dcover)) = (coverage, dcover) {
            gradients.write_cuda(&coverage.weight, |dw, update| {
                column_sums(self.cuda, dcover.view(), dw, update);
            });
        }
        if gradients.wants(&self.segment.values) {
            gradients.add(&self.segment.values, self.values_gradient(&readers, attended));
        }
    }

    fn values_gradient(&self, readers: &Readers, attended: &AttendedRows) -> Tensor {
        let &AttendedRows { weights, dcontext, .. } = attended;
        let (total, columns) = self.segment.values.shape();
        let mut dvalues = Tensor::scratch(weights.device(), total, columns);
        let arguments = [
            self.rows.starts().into(),
            self.rows.lengths().into(),
            self.rows.steps.into(),
            self.memory.heads.into(),
            self.memory.of_head().1.into(),
            readers.starts().into(),
            readers.rows().into(),
            weights.pointer().into(),
            dcontext.pointer().into(),
            dvalues.pointer_mut().into(),
        ];
        let how = Launch::blocks(self.rows.batch);
        let how = Launch { blocks: [self.rows.batch, columns.div_ceil(how.threads[0])], ..how };
        // SAFETY: the readers are rows of the weights and of the contexts' gradients.
        unsafe { self.cuda.launch(self.cuda.kernel(&self.score.source(), "values_back"), how, &arguments) };
        dvalues
    }
}

pub(super) fn forward(cuda: &Cuda, inputs: AttendInputs) -> AttendOutput {
    let AttendInputs { score, query, vector, memory, modifiers } = inputs;
    let (rows, device) = (query.rows(), query.device());
    let mut context = Tensor::scratch(device, rows, memory.columns().1);
    let mut weights = Tensor::scratch(device, rows, memory.weight_columns());
    let own = AttendingRows { count: rows, query: query.value().pointer(), weights: weights.pointer_mut() };
    let attending = Attending::new(cuda, score, memory, vector, modifiers.non_empty());
    attending.forward(own, context.pointer_mut());
    AttendOutput { context, weights }
}

/// The gradients of all inputs, from those of context and weights.
pub(super) fn backward(
    cuda: &Cuda,
    gradients: &mut Gradients,
    inputs: AttendInputs,
    weights: &Tensor,
    upstream: &AttendUpstream,
) {
    let AttendInputs { score, query, vector, memory, modifiers } = inputs;
    let AttendUpstream { dcontext, dweights } = upstream;
    let ((rows, columns), device) = (query.shape(), query.device());
    let mut dquery = Tensor::scratch(device, rows, columns);
    let mut denergies = Tensor::scratch(device, rows, memory.weight_columns());
    let attending = Attending::new(cuda, score, memory, vector, modifiers.non_empty());
    let query_at = query.value().pointer();
    let own = AttendingRows { count: rows, query: query_at, weights: weights.pointer() };
    let of_modifiers = attending.backward(
        own,
        AttendingGradients {
            dcontext: dcontext.pointer(),
            dweights: dweights.as_ref().map(Tensor::pointer),
            denergies: denergies.pointer_mut(),
            dquery: dquery.pointer_mut(),
        },
    );
    gradients.add(query, dquery);
    if let (Some(window), Some(dcenters)) = (&modifiers.window, of_modifiers.centers) {
        gradients.add(window.center.var(), dcenters);
    }
    if let (Some(coverage), Some(dso_far)) = (&modifiers.coverage, of_modifiers.so_far) {
        gradients.add(&coverage.so_far, dso_far);
    }
    let layout = SequenceLayout::new(&vec![1; rows]);
    let attended = AttendedRows { layout: &layout, vector, weights, dcontext };
    attending.memory_gradients(gradients, query_at, &denergies, &attended);
}
