//! Attention of one row, on vectors of lanes.

use super::Memory;
use crate::lane::{Isa, Kernel, LANES, Vector};
use crate::ops::sums::{dot, softmax_row, softmax_row_back, weighted_rows};
use crate::rows::Rows;
use crate::score::Score;
use crate::shared::Grid;
use crate::tensor::Tensor;
use std::marker::PhantomData;
use std::ops::Range;

/// The tensors of a [`Memory`], which all workers read.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) keys: &'a Tensor,
    pub(crate) values: &'a Tensor,
    pub(crate) heads: usize,
    /// Columns of a head's keys.
    depth: usize,
    /// Columns of a head's values.
    width: usize,
    pub(crate) rows: &'a Rows,
    pub(crate) of: &'a [u32],
}

impl<'a> Sources<'a> {
    pub(crate) fn new(memory: &'a Memory) -> Self {
        let (depth, width) = memory.of_head();
        Sources {
            keys: memory.keys.value(),
            values: memory.values.value(),
            heads: memory.heads,
            depth,
            width,
            rows: &memory.rows,
            of: &memory.of,
        }
    }

    /// The source at a place, as each head sees it.
    pub(crate) fn at(self, place: usize) -> impl Iterator<Item = Source<'a>> {
        (0..self.heads).map(move |head| Source { all: self, place, head })
    }
}

/// One source, as a head sees it.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    all: Sources<'a>,
    place: usize,
    head: usize,
}

impl<'a> Source<'a> {
    #[inline(always)]
    pub(crate) fn length(&self) -> usize {
        self.all.rows.length(self.place)
    }

    #[inline(always)]
    fn row(&self, step: usize) -> usize {
        self.all.rows.row(self.place, step)
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
        self.share(self.all.rows.steps())
    }

    #[inline(always)]
    fn key(&self, step: usize) -> &'a [f32] {
        &self.all.keys.row(self.row(step))[self.key_columns()]
    }

    #[inline(always)]
    fn value(&self, step: usize) -> &'a [f32] {
        &self.all.values.row(self.row(step))[self.value_columns()]
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

/// `Σ term(q, k, v)`.
#[inline(always)]
fn energy<S: Score, V: Vector>(query: &[f32], key: &[f32], vector: &[f32]) -> f32 {
    let mut sum = V::lit(0.0);
    for range in blocks(query.len()) {
        let (q, k) = (V::load(&query[range.clone()]), V::load(&key[range.clone()]));
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
    pub(crate) weights: &'a mut [f32],
    pub(crate) context: &'a mut [f32],
}

impl<S: Score> Kernel for Scored<S, Forward<'_>> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Forward { query, vector, source, weights, context } = self.row;
        let (weights, beyond) = weights.split_at_mut(source.length());
        beyond.fill(0.0);
        for (step, energy_of) in weights.iter_mut().enumerate() {
            *energy_of = energy::<S, V>(query, source.key(step), vector);
        }
        softmax_row::<V>(weights);
        let terms = weights.iter().enumerate().map(|(step, &weight)| (weight, source.value(step)));
        weighted_rows::<V>(context, terms);
    }
}

/// From the gradients of a head's context and weights to those of query, keys and vector. It is run by the worker that the source belongs
/// to: nobody else uses the source's rows of `dkeys` at that time.
pub(crate) struct Backward<'a> {
    pub(crate) query: &'a [f32],
    pub(crate) vector: &'a [f32],
    pub(crate) source: Source<'a>,
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
}

impl<S: Score> Kernel for Scored<S, Backward<'_>> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Backward { query, vector, source, dquery, dvector, .. } = self.row;
        let (length, depth) = (source.length(), query.len());
        let columns = source.key_columns();
        let (weights, denergy) = (&self.row.weights[..length], &mut self.row.denergy[..length]);
        for (step, denergy) in denergy.iter_mut().enumerate() {
            let of_weight = self.row.dweights.map_or(0.0, |dweights| dweights[step]);
            *denergy = dot::<V>(source.value(step), self.row.dcontext) + of_weight;
        }
        softmax_row_back::<V>(weights, denergy);

        dquery.fill(0.0);
        for (step, &denergy) in denergy.iter().enumerate() {
            let key = source.key(step);
            // SAFETY: the rows of a source belong to the worker that handles it.
            let dkey = unsafe { self.row.dkeys.row_mut(source.row(step), columns.clone()) };
            for range in blocks(depth) {
                let (q, k) = (V::load(&query[range.clone()]), V::load(&key[range.clone()]));
                let v = V::load(part(vector, range.clone()));
                let [dq, dk, dv] = S::term_back(q, k, v, V::lit(denergy));
                (V::load(&dquery[range.clone()]) + dq).store(&mut dquery[range.clone()]);
                (V::load(&dkey[range.clone()]) + dk).store(&mut dkey[range.clone()]);
                if S::VECTOR {
                    (V::load(&dvector[range.clone()]) + dv).store(&mut dvector[range]);
                }
            }
        }
    }
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
