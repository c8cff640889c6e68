//! Attention of many rows on a GPU. On the way back, the gradients of the energies are kept for all rows, and those of keys,
//! values and vector are computed from them in one go, each number by one thread: no matter who reads a source, and in which
//! order, nothing is added up by two.

use super::{AnyScore, AttentionModifiers, Memory, MemorySegment};
use crate::cuda::{Arg, Cuda, DeviceLayout, Indices, Kernel, Launch, Pointer, Readers, Source, variant};
use crate::lane::source::{Symbol, function};
use crate::layout::SequenceLayout;
use crate::ops::sums::cuda::column_sums;
use crate::score::Score;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

/// The most steps of a source: so many energies fit into the memory that a block of threads shares.
const LONGEST: usize = 40 * 1024 / size_of::<f32>();

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
        gradients.into_iter().zip(["*dq", "*dk", "*dv"]).for_each(|(gradient, place)| gradient.store(place));
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
    /// None, where nothing is bent: then simpler kernels do.
    focus: Option<&'a AttentionModifiers>,
    forward: Kernel,
    backward: Kernel,
}

/// The gradients of a [`AttentionModifiers`], where there is one.
#[derive(Default)]
pub(crate) struct ModifierGradients {
    /// count × heads
    places: Option<Tensor>,
    /// count × heads·source steps
    so_far: Option<Tensor>,
}

/// The rows of a step, or all: where each of their tensors begins.
#[derive(Clone, Copy)]
pub(crate) struct AttendingRows {
    pub(crate) count: usize,
    /// count × heads·depth
    pub(crate) query: Pointer,
    /// count × heads·source steps
    pub(crate) weights: Pointer,
}

impl<'a> Attending<'a> {
    pub(crate) fn new(
        cuda: &'a Cuda,
        score: AnyScore,
        memory: &'a Memory,
        vector: Option<&Tensor>,
        focus: Option<&'a AttentionModifiers>,
    ) -> Attending<'a> {
        let segment = memory.segment();
        let device = segment.keys.device();
        let [forward, backward] =
            if focus.is_some() { ["forward_focused", "backward_focused"] } else { ["forward", "backward"] };
        Attending {
            cuda,
            score,
            memory,
            segment,
            rows: DeviceLayout::new(device, &segment.layout),
            of: Indices::new(device, &memory.of),
            vector: vector.map(Tensor::pointer),
            focus,
            forward: cuda.kernel(&score.source(), forward),
            backward: cuda.kernel(&score.source(), backward),
        }
    }

    /// What the kernels take of a focus; nothing, where there is none.
    fn focused(&self) -> Vec<Arg<'_>> {
        let Some(focus) = self.focus else { return Vec::new() };
        let (window, coverage) = (focus.window.as_ref(), focus.coverage.as_ref());
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
        let steps = self.rows.steps;
        assert!(steps <= LONGEST, "cuda: a source of {steps} steps; attention has room for {LONGEST}");
        // In eights: the compiler reads that many at a time where it unrolls a loop, also behind the last one.
        // A window may begin anywhere.
        let behind = if self.focus.is_some() { 8 } else { 0 };
        let shared = (steps.max(1).next_multiple_of(8) + behind) * size_of::<f32>();
        Launch { blocks: [count, self.memory.heads], threads: [1024, 1], shared }
    }

    /// Weights and context of rows, of which the `i`-th reads what place `i` reads.
    pub(crate) fn forward(&self, rows: AttendingRows, context: Pointer) {
        let arguments = [
            &[rows.query.into(), self.vector.into()],
            &self.sources()[..],
            &self.focused(),
            &[rows.weights.into(), context.into()],
        ]
        .concat();
        // SAFETY: a place for each row, and the tensors are as wide as the memory says.
        unsafe { self.cuda.launch(self.forward, self.launch(rows.count), &arguments) };
    }

    /// The gradients of energies and query, from those of context and weights.
    pub(crate) fn backward(
        &self,
        rows: AttendingRows,
        dcontext: Pointer,
        dweights: Option<Pointer>,
        denergies: Pointer,
        dquery: Pointer,
    ) -> ModifierGradients {
        let device = self.segment.keys.device();
        let mut back = ModifierGradients::default();
        let mut of_focus: Vec<Arg> = Vec::new();
        if let Some(focus) = self.focus {
            let scratch = |columns| Tensor::scratch(device, rows.count, columns);
            back.places = focus.window.as_ref().map(|_| scratch(self.memory.heads));
            back.so_far = focus.coverage.as_ref().map(|_| scratch(self.memory.weight_columns()));
            of_focus.extend(
                [&mut back.places, &mut back.so_far]
                    .map(|tensor| Arg::from(tensor.as_mut().map(Tensor::pointer_mut))),
            );
        }
        let arguments = [
            &[rows.query.into(), self.vector.into()],
            &self.sources()[..],
            &self.focused(),
            &[rows.weights.into(), dcontext.into(), dweights.into(), denergies.into(), dquery.into()],
            &of_focus,
        ]
        .concat();
        // SAFETY: as in the forward pass.
        unsafe { self.cuda.launch(self.backward, self.launch(rows.count), &arguments) };
        back
    }

    /// The gradients of keys, vector and values, from what all rows, packed as `readers`, have left.
    pub(crate) fn memory_gradients(
        &self,
        gradients: &mut Gradients,
        readers: &SequenceLayout,
        query: Pointer,
        vector: Option<&Var>,
        denergies: &Tensor,
        (weights, dcontext): (&Tensor, &Tensor),
    ) {
        let (memory, device) = (self.memory, weights.device());
        let readers = Readers::new(device, self.rows.batch, &memory.of, readers);
        let (total, columns) = self.segment.keys.shape();
        let mut dkeys = Tensor::scratch(device, total, columns);
        let mut dvector = self.score.has_vector().then(|| Tensor::scratch(device, total, columns));
        let coverage = self.focus.and_then(|focus| focus.coverage.as_ref());
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
        let of_focus = self.focus.map(|_| Arg::from(dcover.as_mut().map(Tensor::pointer_mut)));
        let arguments = [&read[..], &self.focused(), &written, of_focus.as_slice()].concat();
        let kernel = if self.focus.is_some() { "keys_back_focused" } else { "keys_back" };
        let how = Launch { blocks: [self.rows.batch, self.rows.steps], ..Launch::blocks(1) };
        // SAFETY: the readers are rows of the queries and of the energies' gradients.
        unsafe { self.cuda.launch(self.cuda.kernel(&self.score.source(), kernel), how, &arguments) };
        gradients.add(&self.segment.keys, dkeys);
        if let (Some(vector), Some(dvector)) = (vector, dvector) {
            gradients.write_cuda(vector, |dv, update| column_sums(self.cuda, dvector.view(), dv, update));
        }
        if let (Some(coverage), Some(dcover)) = (coverage, dcover) {
            gradients.write_cuda(&coverage.weight, |dw, update| {
                column_sums(self.cuda, dcover.view(), dw, update);
            });
        }
        if gradients.wants(&self.segment.values) {
            gradients.add(&self.segment.values, self.values_gradient(&readers, weights, dcontext));
        }
    }

    fn values_gradient(&self, readers: &Readers, weights: &Tensor, dcontext: &Tensor) -> Tensor {
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

pub(super) fn forward(
    cuda: &Cuda,
    score: AnyScore,
    query: &Tensor,
    vector: Option<&Tensor>,
    memory: &Memory,
    focus: &AttentionModifiers,
) -> (Tensor, Tensor) {
    let (rows, device) = (query.rows(), query.device());
    let mut context = Tensor::scratch(device, rows, memory.columns().1);
    let mut weights = Tensor::scratch(device, rows, memory.weight_columns());
    let own = AttendingRows { count: rows, query: query.pointer(), weights: weights.pointer_mut() };
    Attending::new(cuda, score, memory, vector, focus.bent()).forward(own, context.pointer_mut());
    (context, weights)
}

/// The gradients of query, keys, values, vector and focus, from those of context and weights.
#[allow(clippy::too_many_arguments, reason = "all that the forward pass had, and its results")]
pub(super) fn backward(
    cuda: &Cuda,
    score: AnyScore,
    gradients: &mut Gradients,
    (dcontext, dweights): (&Tensor, Option<&Tensor>),
    weights: &Tensor,
    query: &Var,
    vector: Option<&Var>,
    memory: &Memory,
    focus: &AttentionModifiers,
) {
    let ((rows, columns), device) = (query.shape(), query.device());
    let mut dquery = Tensor::scratch(device, rows, columns);
    let mut denergies = Tensor::scratch(device, rows, memory.weight_columns());
    let attending = Attending::new(cuda, score, memory, vector.map(Var::value), focus.bent());
    let own = AttendingRows { count: rows, query: query.value().pointer(), weights: weights.pointer() };
    let dweights = dweights.map(Tensor::pointer);
    let back =
        attending.backward(own, dcontext.pointer(), dweights, denergies.pointer_mut(), dquery.pointer_mut());
    gradients.add(query, dquery);
    if let (Some(window), Some(dplaces)) = (&focus.window, back.places) {
        gradients.add(window.center.var(), dplaces);
    }
    if let (Some(coverage), Some(dso_far)) = (&focus.coverage, back.so_far) {
        gradients.add(&coverage.so_far, dso_far);
    }
    let alone = SequenceLayout::new(&vec![1; rows]);
    let query = query.value().pointer();
    attending.memory_gradients(gradients, &alone, query, vector, &denergies, (weights, dcontext));
}
