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

    /// A source, as each head sees it.
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

/// One source, as a head sees it.
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

    /// The head's share of columns, of which each head has so many.
    #[inline(always)]
    fn share(&self, width: usize) -> Range<usize> {
        self.head * width..(self.head + 1) * width
    }

    /// The head's columns of keys, queries and vector.
    #[inline(always)]
    pub(crate) fn key_columns(&self) -> Range<usize> {
        self.share(self.all.depth)
    }

    /// The head's columns of values and contexts.
    #[inline(always)]
    pub(crate) fn value_columns(&self) -> Range<usize> {
        self.share(self.all.width)
    }

    /// The head's columns of the weights.
    #[inline(always)]
    pub(crate) fn weight_columns(&self) -> Range<usize> {
        self.share(self.all.steps)
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

/// The places of a query in blocks of lanes.
#[inline(always)]
fn blocks(depth: usize) -> impl Iterator<Item = Range<usize>> {
    (0..depth).step_by(LANES).map(move |start| start..(start + LANES).min(depth))
}

/// Some places of a vector that may not be there.
#[inline(always)]
pub(super) fn part(vector: &[f32], range: Range<usize>) -> &[f32] {
    if vector.is_empty() { vector } else { &vector[range] }
}

/// What bends the attention of a head's row.
#[derive(Clone, Copy, Default)]
pub(crate) struct RowModifiers<'a> {
    pub(crate) window: Option<Window>,
    pub(crate) coverage: Option<RowCoverage<'a>>,
}

/// The steps around a place.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    middle: f32,
    reach: f32,
    /// Whether weights fall off from the middle.
    falls: bool,
}

/// The weights so far, and what they are multiplied with where they are added to a key.
#[derive(Clone, Copy)]
pub(crate) struct RowCoverage<'a> {
    pub(crate) so_far: &'a [f32],
    pub(crate) weight: &'a [f32],
}

impl Window {
    /// Around a step, or around a share of the source's length.
    #[inline(always)]
    pub(crate) fn new(place: f32, share: bool, reach: usize, length: usize) -> Window {
        let middle = if share { place * length as f32 } else { place.min(length as f32 - 1.0) };
        Window { middle, reach: reach as f32, falls: share }
    }

    #[inline(always)]
    fn steps(&self, length: usize) -> Range<usize> {
        let end = ((self.middle + self.reach).floor() + 1.0).max(0.0) as usize;
        let end = end.min(length);
        let first = (self.middle - self.reach).ceil().max(0.0) as usize;
        first.min(end)..end
    }

    /// How many steps behind the middle.
    #[inline(always)]
    fn behind(&self, step: usize) -> f32 {
        step as f32 - self.middle
    }

    /// From weights `b = a·g` and their gradients those of the energies, in their place; returns that of the place.
    #[inline(always)]
    fn back<V: Vector>(&self, steps: Range<usize>, b: &[f32], db: &mut [f32], length: usize) -> f32 {
        let inner = dot::<V>(b, db); // Σ a·da, since da = g·db
        let mut dmiddle = 0.0;
        for (step, (b, db)) in steps.zip(b.iter().zip(db)) {
            dmiddle += *db * b * self.behind(step);
            *db = b * (*db - inner / self.share(step));
        }
        let inverse_variance = 4.0 / (self.reach * self.reach);
        dmiddle * inverse_variance * length as f32
    }

    /// `exp(−(j − p)²/(2σ²))` with `σ = D/2`.
    #[inline(always)]
    fn share(&self, step: usize) -> f32 {
        let distance = self.behind(step) / self.reach;
        (-2.0 * distance * distance).exp()
    }
}

impl RowModifiers<'_> {
    /// The steps that are looked at.
    #[inline(always)]
    fn steps(&self, length: usize) -> Range<usize> {
        self.window.map_or(0..length, |window| window.steps(length))
    }

    /// The window, where weights fall off from its middle.
    #[inline(always)]
    fn falling(&self) -> Option<Window> {
        self.window.filter(|window| window.falls)
    }
}

impl RowCoverage<'_> {
    /// Some places of a key, with the coverage of its step.
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
    pub(crate) bend: RowModifiers<'a>,
    pub(crate) weights: &'a mut [f32],
    pub(crate) context: &'a mut [f32],
}

impl<S: Score> Kernel for Scored<S, Forward<'_>> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Forward { query, vector, source, bend, weights, context } = self.row;
        let steps = bend.steps(source.length());
        weights[..steps.start].fill(0.0);
        weights[steps.end..].fill(0.0);
        let weights = &mut weights[steps.clone()];
        for (step, energy_of) in steps.clone().zip(weights.iter_mut()) {
            let key = source.key(step);
            *energy_of = match &bend.coverage {
                None => energy::<S, V>(query, vector, |range| V::load(&key[range])),
                Some(covered) => energy::<S, V>(query, vector, |range| covered.key(step, key, range)),
            };
        }
        softmax_row::<V>(weights);
        if let Some(window) = bend.falling() {
            steps.clone().zip(weights.iter_mut()).for_each(|(step, weight)| *weight *= window.share(step));
        }
        let terms = steps.zip(weights).map(|(step, weight)| (*weight, source.value(step)));
        weighted_rows::<V>(context, terms);
    }
}

/// From the gradients of a head's context and weights to those of query, keys and vector. It is run by the worker that the source belongs
/// to: nobody else uses the source's rows of `dkeys` at that time.
pub(crate) struct Backward<'a> {
    pub(crate) query: &'a [f32],
    pub(crate) vector: &'a [f32],
    pub(crate) source: Source<'a>,
    pub(crate) bend: RowModifiers<'a>,
    pub(crate) weights: &'a [f32],
    pub(crate) dcontext: &'a [f32],
    pub(crate) dweights: Option<&'a [f32]>,
    /// Room for the gradient of the energies.
    pub(crate) denergy: &'a mut [f32],
    /// Overwritten.
    pub(crate) dquery: &'a mut [f32],
    /// The keys' gradient, row by row as the keys; added to, in the rows of this source.
    pub(crate) dkeys: Grid<'a>,
    /// Added to; empty where the score has no vector.
    pub(crate) dvector: &'a mut [f32],
    pub(crate) dbend: RowModifierGradients<'a>,
}

/// Where the gradients of what bends the attention go; each is empty where there is no such thing.
pub(crate) struct RowModifierGradients<'a> {
    /// Overwritten: that of the window's place.
    pub(crate) dplace: &'a mut [f32],
    /// Overwritten: those of the weights so far.
    pub(crate) dso_far: &'a mut [f32],
    /// Added to: that of what they are multiplied with.
    pub(crate) dweight: &'a mut [f32],
}

impl<S: Score> Kernel for Scored<S, Backward<'_>> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self) {
        let row = &mut self.row;
        let (source, bend) = (row.source, row.bend);
        let steps = bend.steps(source.length());
        let (weights, denergy) = (&row.weights[steps.clone()], &mut row.denergy[steps.clone()]);
        for (step, denergy) in steps.clone().zip(denergy.iter_mut()) {
            let of_weight = row.dweights.map_or(0.0, |dweights| dweights[step]);
            *denergy = dot::<V>(source.value(step), row.dcontext) + of_weight;
        }
        match bend.falling() {
            None => softmax_row_back::<V>(weights, denergy),
            Some(window) => {
                row.dbend.dplace[0] = window.back::<V>(steps.clone(), weights, denergy, source.length());
            }
        }

        row.dquery.fill(0.0);
        row.dbend.dso_far.fill(0.0);
        for step in steps {
            self.step_back::<V>(step);
        }
    }
}

impl<S: Score> Scored<S, Backward<'_>> {
    /// From the gradient of a step's energy to those of query, key and vector.
    #[inline(always)]
    fn step_back<V: Vector>(&mut self, step: usize) {
        let Backward { query, vector, source, bend, denergy, dquery, dkeys, dvector, dbend, .. } =
            &mut self.row;
        // SAFETY: the rows of a source belong to the worker that handles it.
        let dkey = unsafe { dkeys.row_mut(source.row(step), source.key_columns()) };
        let mut back = TermsBack {
            inputs: [query, source.key(step), vector],
            gradients: [dquery, dkey, dvector],
            denergy: V::lit(denergy[step]),
            step,
            covered: bend.coverage,
            dweight: dbend.dweight,
            dso_far: V::lit(0.0),
        };
        let (vectors, rest) = in_vectors(0..query.len());
        for start in vectors {
            back.at::<S>(start..start + LANES);
        }
        if !rest.is_empty() {
            back.at::<S>(rest);
        }
        if bend.coverage.is_some() {
            dbend.dso_far[step] = back.dso_far.sum();
        }
    }
}

/// The way back through the terms of an energy.
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
            // Behind the last place, weights are loaded as zeros.
            self.dso_far = self.dso_far + dk * V::load(&covered.weight[range.clone()]);
            add(dk * V::lit(covered.so_far[self.step]), &mut self.dweight[range]);
        }
    }
}

#[inline(always)]
fn add<V: Vector>(x: V, to: &mut [f32]) {
    (V::load(to) + x).store(to);
}

/// The gradient of a head's values of one source, from the weights and context gradients of all rows that read it. It is run by the worker
/// that the source belongs to: nobody else uses the source's rows of `dvalues` at that time.
pub(crate) struct ValuesBack<'a, R> {
    pub(crate) source: Source<'a>,
    /// The rows that read the source.
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
