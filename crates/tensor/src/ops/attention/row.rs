//! Attention of one row, on vectors of lanes.

use super::{Memory, MemorySegment};
use crate::lane::{Isa, Kernel, LANES, Vector, in_vectors};
use crate::layout::SequenceLayout;
use crate::ops::sums::{dot, softmax_row, softmax_row_back, weighted_rows};
use crate::product::Mat;
use crate::score::Score;
use crate::shared::Grid;
use crate::tensor::Tensor;
use std::marker::PhantomData;
use std::ops::Range;

/// A segment of a [`Memory`], which all workers read.
#[derive(Clone, Copy)]
pub(crate) struct SegmentView<'a> {
    keys: Mat<'a>,
    values: Mat<'a>,
    layout: &'a SequenceLayout,
}

impl<'a> From<&'a MemorySegment> for SegmentView<'a> {
    fn from(segment: &'a MemorySegment) -> Self {
        let MemorySegment { keys, values, layout } = segment;
        SegmentView { keys: keys.value().mat(), values: values.value().mat(), layout }
    }
}

/// A [`Memory`], which all workers read.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    segments: &'a [SegmentView<'a>],
    of: &'a [u32],
    heads: usize,
    /// Columns of a head's keys.
    depth: usize,
    /// Columns of a head's values.
    width: usize,
    /// Steps of the longest source.
    pub(crate) steps: usize,
}

impl<'a> Sources<'a> {
    /// The sources of a memory, whose segments are given as workers read them.
    pub(crate) fn new(memory: &'a Memory, segments: &'a [SegmentView<'a>]) -> Self {
        let (depth, width) = memory.of_head();
        Sources { segments, of: &memory.of, heads: memory.heads, depth, width, steps: memory.steps() }
    }

    /// Columns of keys and values, all heads together.
    pub(crate) fn columns(self) -> (usize, usize) {
        (self.heads * self.depth, self.heads * self.width)
    }

    /// The source that a reader attends to.
    pub(crate) fn of(self, reader: usize) -> usize {
        self.of[reader] as usize
    }

    /// A source, for each head.
    pub(crate) fn at(self, source: usize) -> impl Iterator<Item = Source<'a>> {
        let (segment, index) = self.locate(source);
        (0..self.heads).map(move |head| Source { segment, index, all: self, head })
    }

    /// The segment of a source, and its batch index there.
    fn locate(self, mut source: usize) -> (SegmentView<'a>, usize) {
        for segment in self.segments {
            let batch = segment.layout.batch();
            if source < batch {
                return (*segment, source);
            }
            source -= batch;
        }
        panic!("a source beyond the last segment");
    }
}

/// One source, for one head.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    segment: SegmentView<'a>,
    /// Its batch index in the segment.
    index: usize,
    all: Sources<'a>,
    head: usize,
}

impl<'a> Source<'a> {
    #[inline(always)]
    pub(crate) fn length(&self) -> usize {
        self.segment.layout.length(self.index)
    }

    #[inline(always)]
    fn row(&self, step: usize) -> usize {
        self.segment.layout.row(self.index, step)
    }

    /// The columns of the head, of which each head has `width`.
    #[inline(always)]
    fn columns(&self, width: usize) -> Range<usize> {
        self.head * width..(self.head + 1) * width
    }

    /// The head's columns of keys, queries and vector.
    #[inline(always)]
    pub(crate) fn key_columns(&self) -> Range<usize> {
        self.columns(self.all.depth)
    }

    /// The head's columns of values and contexts.
    #[inline(always)]
    pub(crate) fn value_columns(&self) -> Range<usize> {
        self.columns(self.all.width)
    }

    /// The head's columns of the weights.
    #[inline(always)]
    pub(crate) fn weight_columns(&self) -> Range<usize> {
        self.columns(self.all.steps)
    }

    #[inline(always)]
    fn key(&self, step: usize) -> &'a [f32] {
        &self.segment.keys.row(self.row(step))[self.key_columns()]
    }

    #[inline(always)]
    fn value(&self, step: usize) -> &'a [f32] {
        &self.segment.values.row(self.row(step))[self.value_columns()]
    }
}

/// The elements of a query in blocks of lanes.
#[inline(always)]
fn blocks(depth: usize) -> impl Iterator<Item = Range<usize>> {
    (0..depth).step_by(LANES).map(move |start| start..(start + LANES).min(depth))
}

/// A range of a vector; empty where the score has none.
#[inline(always)]
pub(super) fn part(vector: &[f32], range: Range<usize>) -> &[f32] {
    if vector.is_empty() { vector } else { &vector[range] }
}

/// The modifiers of the attention of a head's row.
#[derive(Clone, Copy, Default)]
pub(crate) struct RowModifiers<'a> {
    pub(crate) window: Option<Window>,
    pub(crate) coverage: Option<RowCoverage<'a>>,
}

/// The steps around a center.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    center: f32,
    half_width: f32,
    /// Whether weights fall off from the center.
    falls: bool,
}

/// The weights so far, and what they are multiplied by where they are added to a key.
#[derive(Clone, Copy)]
pub(crate) struct RowCoverage<'a> {
    pub(crate) so_far: &'a [f32],
    pub(crate) weight: &'a [f32],
}

impl Window {
    /// Around a step, or around a fraction of the source's length.
    #[inline(always)]
    pub(crate) fn new(center: f32, is_fraction: bool, half_width: usize, length: usize) -> Window {
        let center = if is_fraction { center * length as f32 } else { center.min(length as f32 - 1.0) };
        Window { center, half_width: half_width as f32, falls: is_fraction }
    }

    #[inline(always)]
    fn steps(&self, length: usize) -> Range<usize> {
        let end = ((self.center + self.half_width).floor() + 1.0).max(0.0) as usize;
        let end = end.min(length);
        let first = (self.center - self.half_width).ceil().max(0.0) as usize;
        first.min(end)..end
    }

    /// The number of steps after the center.
    #[inline(always)]
    fn offset(&self, step: usize) -> f32 {
        step as f32 - self.center
    }

    /// Replaces the gradients of weights `b = a·g` by those of the energies; returns the gradient of the center.
    #[inline(always)]
    fn back<V: Vector>(&self, steps: Range<usize>, b: &[f32], db: &mut [f32], length: usize) -> f32 {
        let inner = dot::<V>(b, db); // Σ a·da, since da = g·db
        let mut dcenter = 0.0;
        for (step, (b, db)) in steps.zip(b.iter().zip(db)) {
            dcenter += *db * b * self.offset(step);
            *db = b * (*db - inner / self.falloff(step));
        }
        let inverse_variance = 4.0 / (self.half_width * self.half_width);
        dcenter * inverse_variance * length as f32
    }

    /// `exp(−(j − p)²/(2σ²))` with `σ = D/2`.
    #[inline(always)]
    fn falloff(&self, step: usize) -> f32 {
        let distance = self.offset(step) / self.half_width;
        (-2.0 * distance * distance).exp()
    }
}

impl RowModifiers<'_> {
    /// The steps that are attended to.
    #[inline(always)]
    fn steps(&self, length: usize) -> Range<usize> {
        self.window.map_or(0..length, |window| window.steps(length))
    }

    /// The window, where weights fall off from its center.
    #[inline(always)]
    fn falling(&self) -> Option<Window> {
        self.window.filter(|window| window.falls)
    }
}

impl RowCoverage<'_> {
    /// A range of a key, with the coverage of its step.
    #[inline(always)]
    fn key<V: Vector>(&self, step: usize, key: &[f32], range: Range<usize>) -> V {
        V::load(&self.weight[range.clone()]) * V::lit(self.so_far[step]) + V::load(&key[range])
    }
}

/// `Σ term(q, k, v)`.
#[inline(always)]
fn energy<S: Score, V: Vector>(query: &[f32], vector: &[f32], key: impl Fn(Range<usize>) -> V) -> f32 {
    let mut sum = V::lit(0.0);
    for range in blocks(query.len()) {
        let (q, k) = (V::load(&query[range.clone()]), key(range.clone()));
        let mut term = S::term(q, k, V::load(part(vector, range.clone())));
        if range.len() < LANES {
            // A score need not be zero where query and key are.
            term = V::load(&term.array()[..range.len()]);
        }
        sum = sum + term;
    }
    sum.sum()
}

/// A head's row, with the mathematics of a score.
struct Scored<S, Row> {
    row: Row,
    score: PhantomData<S>,
}

pub(super) fn forward<S: Score>(isa: Isa, row: Forward) {
    isa.run(Scored::<S, _> { row, score: PhantomData });
}

pub(super) fn backward<S: Score>(isa: Isa, row: Backward) {
    isa.run(Scored::<S, _> { row, score: PhantomData });
}

/// From a head's query to its weights and its context.
pub(crate) struct Forward<'a> {
    pub(crate) query: &'a [f32],
    pub(crate) vector: &'a [f32],
    pub(crate) source: Source<'a>,
    pub(crate) modifiers: RowModifiers<'a>,
    pub(crate) weights: &'a mut [f32],
    pub(crate) context: &'a mut [f32],
}

impl<S: Score> Kernel for Scored<S, Forward<'_>> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Forward { query, vector, source, modifiers, weights, context } = self.row;
        let steps = modifiers.steps(source.length());
        weights[..steps.start].fill(0.0);
        weights[steps.end..].fill(0.0);
        let weights = &mut weights[steps.clone()];
        for (step, energy_of) in steps.clone().zip(weights.iter_mut()) {
            let key = source.key(step);
            *energy_of = match &modifiers.coverage {
                None => energy::<S, V>(query, vector, |range| V::load(&key[range])),
                Some(covered) => energy::<S, V>(query, vector, |range| covered.key(step, key, range)),
            };
        }
        softmax_row::<V>(weights);
        if let Some(window) = modifiers.falling() {
            steps.clone().zip(weights.iter_mut()).for_each(|(step, weight)| *weight *= window.falloff(step));
        }
        let terms = steps.zip(weights).map(|(step, weight)| (*weight, source.value(step)));
        weighted_rows::<V>(context, terms);
    }
}

/// From the gradients of a head's context and weights to those of query, keys and vector. It is run by the worker that the source belongs
/// to: no other thread uses the source's rows of `dkeys` at that time.
pub(crate) struct Backward<'a> {
    pub(crate) query: &'a [f32],
    pub(crate) vector: &'a [f32],
    pub(crate) source: Source<'a>,
    pub(crate) modifiers: RowModifiers<'a>,
    pub(crate) weights: &'a [f32],
    pub(crate) dcontext: &'a [f32],
    pub(crate) dweights: Option<&'a [f32]>,
    /// Workspace for the gradient of the energies.
    pub(crate) denergy: &'a mut [f32],
    /// Overwritten.
    pub(crate) dquery: &'a mut [f32],
    /// The keys' gradient, row by row as the keys; added to, in the rows of this source.
    pub(crate) dkeys: Grid<'a>,
    /// Added to; empty where the score has no vector.
    pub(crate) dvector: &'a mut [f32],
    pub(crate) dmodifiers: RowModifierGradients<'a>,
}

/// The gradients of the modifiers; each is empty where there is no such modifier.
pub(crate) struct RowModifierGradients<'a> {
    /// Overwritten: that of the window's center.
    pub(crate) dcenter: &'a mut [f32],
    /// Overwritten: those of the weights so far.
    pub(crate) dso_far: &'a mut [f32],
    /// Added to: that of what they are multiplied by.
    pub(crate) dweight: &'a mut [f32],
}

impl<S: Score> Kernel for Scored<S, Backward<'_>> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self) {
        let row = &mut self.row;
        let (source, modifiers) = (row.source, row.modifiers);
        let steps = modifiers.steps(source.length());
        let (weights, denergy) = (&row.weights[steps.clone()], &mut row.denergy[steps.clone()]);
        for (step, denergy) in steps.clone().zip(denergy.iter_mut()) {
            let of_weight = row.dweights.map_or(0.0, |dweights| dweights[step]);
            *denergy = dot::<V>(source.value(step), row.dcontext) + of_weight;
        }
        match modifiers.falling() {
            None => softmax_row_back::<V>(weights, denergy),
            Some(window) => {
                row.dmodifiers.dcenter[0] =
                    window.back::<V>(steps.clone(), weights, denergy, source.length());
            }
        }

        row.dquery.fill(0.0);
        row.dmodifiers.dso_far.fill(0.0);
        for step in steps {
            self.step_back::<V>(step);
        }
    }
}

impl<S: Score> Scored<S, Backward<'_>> {
    /// From the gradient of a step's energy to those of query, key and vector.
    #[inline(always)]
    fn step_back<V: Vector>(&mut self, step: usize) {
        let Backward {
            query, vector, source, modifiers, denergy, dquery, dkeys, dvector, dmodifiers, ..
        } = &mut self.row;
        // SAFETY: the rows of a source belong to the worker that handles it.
        let dkey = unsafe { dkeys.row_mut(source.row(step), source.key_columns()) };
        let mut back = TermsBack {
            inputs: [query, source.key(step), vector],
            gradients: [dquery, dkey, dvector],
            denergy: V::lit(denergy[step]),
            step,
            covered: modifiers.coverage,
            dweight: dmodifiers.dweight,
            dso_far: V::lit(0.0),
        };
        let (vectors, rest) = in_vectors(0..query.len());
        for start in vectors {
            back.at::<S>(start..start + LANES);
        }
        if !rest.is_empty() {
            back.at::<S>(rest);
        }
        if modifiers.coverage.is_some() {
            dmodifiers.dso_far[step] = back.dso_far.sum();
        }
    }
}

/// The backward pass through the terms of an energy.
struct TermsBack<'a, V> {
    /// Query, key and vector.
    inputs: [&'a [f32]; 3],
    /// Theirs; added to.
    gradients: [&'a mut [f32]; 3],
    denergy: V,
    step: usize,
    covered: Option<RowCoverage<'a>>,
    dweight: &'a mut [f32],
    dso_far: V,
}

impl<V: Vector> TermsBack<'_, V> {
    #[inline(always)]
    fn at<S: Score>(&mut self, range: Range<usize>) {
        let [query, key, vector] = self.inputs;
        let k = match &self.covered {
            None => V::load(&key[range.clone()]),
            Some(covered) => covered.key(self.step, key, range.clone()),
        };
        let q = V::load(&query[range.clone()]);
        let [dq, dk, dv] = S::term_back(q, k, V::load(part(vector, range.clone())), self.denergy);
        let [dquery, dkey, dvector] = &mut self.gradients;
        add(dq, &mut dquery[range.clone()]);
        add(dk, &mut dkey[range.clone()]);
        if S::VECTOR {
            add(dv, &mut dvector[range.clone()]);
        }
        if let Some(covered) = &self.covered {
            // Beyond the last element, weights are loaded as zeros.
            self.dso_far = self.dso_far + dk * V::load(&covered.weight[range.clone()]);
            add(dk * V::lit(covered.so_far[self.step]), &mut self.dweight[range]);
        }
    }
}

#[inline(always)]
fn add<V: Vector>(x: V, to: &mut [f32]) {
    (V::load(to) + x).store(to);
}

/// The gradient of a head's values of one source, from the weights and context gradients of all rows that attend to it. It is run by the worker
/// that the source belongs to: no other thread uses the source's rows of `dvalues` at that time.
pub(crate) struct ValuesBack<'a, R> {
    pub(crate) source: Source<'a>,
    /// The rows that attend to the source.
    pub(crate) readers: R,
    pub(crate) weights: &'a Tensor,
    pub(crate) dcontext: &'a Tensor,
    /// Overwritten in the rows of this source.
    pub(crate) dvalues: Grid<'a>,
}

impl<R: Iterator<Item = usize> + Clone> Kernel for ValuesBack<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let (columns, first) = (self.source.value_columns(), self.source.weight_columns().start);
        for step in 0..self.source.length() {
            let of_reader =
                |row: usize| (self.weights.row(row)[first + step], &self.dcontext.row(row)[columns.clone()]);
            let terms = self.readers.clone().map(of_reader);
            // SAFETY: the rows of a source belong to the worker that handles it.
            let dvalue = unsafe { self.dvalues.row_mut(self.source.row(step), columns.clone()) };
            weighted_rows::<V>(dvalue, terms);
        }
    }
}
