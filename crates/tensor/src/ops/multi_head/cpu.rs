//! One sequence and one head at a time, by one worker: its rows are gathered, and a few small products do the rest inside of the
//! first caches.

use super::AttentionArgs;
use crate::device::Cpu;
use crate::lane::{Kernel, Vector};
use crate::layout::SequenceLayout;
use crate::ops::sums::{dot, exp_sum, largest};
use crate::product::{Mat, Update, multiply_small, packed_length};
use crate::shared::Grid;
use crate::tensor::Tensor;
use std::ops::Range;

/// What one place of a query costs with one key, in simple operations.
const COST: usize = 2;

/// A slice in parts of these lengths.
fn carve<const N: usize>(mut rest: &mut [f32], lengths: [usize; N]) -> [&mut [f32]; N] {
    lengths.map(|length| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(length);
        rest = after;
        part
    })
}

/// Copies a head's columns of a sequence, row after row.
fn gather(to: &mut [f32], from: &Tensor, rows: &SequenceLayout, place: usize, columns: &Range<usize>) {
    for (step, to) in to.chunks_exact_mut(columns.len()).enumerate() {
        to.copy_from_slice(&from.row(rows.row(place, step))[columns.clone()]);
    }
}

/// Copies rows to a head's columns of a sequence.
///
/// # Safety
/// Nobody else may use these columns of the sequence's rows.
unsafe fn scatter(from: &[f32], to: Grid, rows: &SequenceLayout, place: usize, columns: &Range<usize>) {
    for (step, from) in from.chunks_exact(columns.len()).enumerate() {
        // SAFETY: handed on.
        unsafe { to.row_mut(rows.row(place, step), columns.clone()) }.copy_from_slice(from);
    }
}

/// The numbers that the products of a sequence and a source need for packed operands.
fn packed_room(steps: usize, of_source: usize, depth: usize) -> usize {
    let longest = steps.max(of_source);
    packed_length(depth, longest).max(packed_length(longest, depth))
}

fn workers(cpu: &Cpu, looking: &AttentionArgs) -> usize {
    cpu.pool.workers_for(looking.rows.total() * looking.sources.steps() * looking.width * COST)
}

/// The contexts, the log-sums, and the weights where they are asked for.
pub(super) fn forward(cpu: &Cpu, looking: &AttentionArgs, weights: bool) -> (Tensor, Tensor, Option<Tensor>) {
    let AttentionArgs { query, memory, width, rows, sources, of, how } = looking;
    let (device, depth, heads) = (query.device(), looking.depth(), how.heads);
    let mut context = Tensor::scratch(device, rows.total(), *width);
    let mut log_sums = Tensor::scratch(device, rows.total(), heads);
    let mut weights = weights.then(|| Tensor::zeros(device, rows.total(), heads * sources.steps()));
    let lengths = |n: usize, m: usize| [n * depth, m * depth, m * depth, n * m, n, packed_room(n, m, depth)];
    let workers = workers(cpu, looking);
    let room = lengths(rows.steps(), sources.steps()).iter().sum();
    let mut room = Tensor::scratch(device, workers, room);
    let (room_length, room) = (room.columns(), room.grid_mut());
    let (to, of_sums) = (context.grid_mut(), log_sums.grid_mut());
    let of_weights = weights.as_mut().map(Tensor::grid_mut);
    cpu.pool.run(workers, |worker| {
        // SAFETY: each worker has a room of its own.
        let room = unsafe { room.row_mut(worker.index, 0..room_length) };
        for task in worker.deal(rows.batch() * heads) {
            let (place, head) = (task / heads, task % heads);
            let source = of[place] as usize;
            let (n, m) = (rows.length(place), sources.length(source));
            let columns = looking.own_columns(head);
            let [q, k, v, energies, sums, packed] = carve(room, lengths(n, m));
            if m == 0 {
                q.fill(0.0);
                sums.fill(0.0);
            } else {
                gather(q, query, rows, place, &columns);
                q.iter_mut().for_each(|q| *q *= how.scale);
                gather(k, memory, sources, source, &looking.key_columns(head));
                gather(v, memory, sources, source, &looking.value_columns(head));
                let keys = Mat::new(k, m, depth).transposed();
                multiply_small(cpu.isa, energies, Mat::new(q, n, depth), keys, packed, Update::Set);
                cpu.isa.run(Softmax { energies, steps: m, causal: how.causal, sums });
                let values = Mat::new(v, m, depth);
                multiply_small(cpu.isa, q, Mat::new(energies, n, m), values, packed, Update::Set);
            }
            // SAFETY: each head of each sequence is one task.
            unsafe {
                scatter(q, to, rows, place, &columns);
                scatter(sums, of_sums, rows, place, &(head..head + 1));
                if let Some(of_weights) = of_weights.filter(|_| m > 0) {
                    let start = head * sources.steps();
                    scatter(energies, of_weights, rows, place, &(start..start + m));
                }
            }
        }
    });
    (context, log_sums, weights)
}

/// How many steps of a source a query's step sees.
#[inline(always)]
fn seen(step: usize, steps: usize, causal: bool) -> usize {
    if causal { (step + 1).min(steps) } else { steps }
}

/// Energies become weights; `sums` their `ln Σ e^energy`.
struct Softmax<'a> {
    energies: &'a mut [f32],
    steps: usize,
    causal: bool,
    sums: &'a mut [f32],
}

impl Kernel for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for (step, (row, log_sum)) in self.energies.chunks_exact_mut(self.steps).zip(self.sums).enumerate() {
            let (row, beyond) = row.split_at_mut(seen(step, self.steps, self.causal));
            let most = largest::<V>(row);
            let sum = exp_sum::<V>(row, most);
            let inverse = 1.0 / sum;
            row.iter_mut().for_each(|weight| *weight *= inverse);
            beyond.fill(0.0);
            *log_sum = most + sum.ln();
        }
    }
}

/// Energies become weights again, and the gradients of the weights those of the energies.
struct SoftmaxBack<'a> {
    energies: &'a mut [f32],
    gradients: &'a mut [f32],
    steps: usize,
    causal: bool,
    sums: &'a [f32],
}

impl Kernel for SoftmaxBack<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let rows = self.energies.chunks_exact_mut(self.steps);
        let rows = rows.zip(self.gradients.chunks_exact_mut(self.steps)).zip(self.sums);
        for (step, ((row, gradient), &log_sum)) in rows.enumerate() {
            let seen = seen(step, self.steps, self.causal);
            let (row, beyond) = row.split_at_mut(seen);
            let (gradient, beyond_gradient) = gradient.split_at_mut(seen);
            exp_sum::<V>(row, log_sum);
            let inner = dot::<V>(row, gradient);
            gradient
                .iter_mut()
                .zip(row)
                .for_each(|(gradient, weight)| *gradient = *weight * (*gradient - inner));
            beyond.fill(0.0);
            beyond_gradient.fill(0.0);
        }
    }
}

/// The gradients of queries and of keys and values; of self-attention, all in the first.
pub(super) fn backward(
    cpu: &Cpu,
    looking: &AttentionArgs,
    dcontext: &Tensor,
    log_sums: &Tensor,
) -> (Tensor, Option<Tensor>) {
    let AttentionArgs { query, memory, rows, sources, of, how, .. } = looking;
    let (device, depth, heads) = (dcontext.device(), looking.depth(), how.heads);
    let mut dquery = Tensor::scratch(device, query.rows(), query.columns());
    let mut dmemory = (!looking.is_self()).then(|| Tensor::scratch(device, memory.rows(), memory.columns()));
    let to_query = dquery.grid_mut();
    let to_memory = dmemory.as_mut().map_or(to_query, Tensor::grid_mut);
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); sources.batch()];
    let reading = (0..rows.batch()).filter(|&place| rows.length(place) > 0);
    reading.for_each(|place| readers[of[place] as usize].push(place));

    let of_source = |m: usize| [m * depth; 4];
    let of_reader = |n: usize, m: usize| [n * depth, n * depth, n * m, n * m, n, packed_room(n, m, depth)];
    let workers = workers(cpu, looking);
    let (longest, of_longest) = (rows.steps(), sources.steps());
    let room = of_source(of_longest).iter().chain(&of_reader(longest, of_longest)).sum();
    let mut room = Tensor::scratch(device, workers, room);
    let (room_length, room) = (room.columns(), room.grid_mut());
    cpu.pool.run(workers, |worker| {
        // SAFETY: each worker has a room of its own.
        let room = unsafe { room.row_mut(worker.index, 0..room_length) };
        for task in worker.deal(sources.batch() * heads) {
            let (source, head) = (task / heads, task % heads);
            let columns = looking.own_columns(head);
            let (key_columns, value_columns) = (looking.key_columns(head), looking.value_columns(head));
            let m = sources.length(source);
            let (room, rest) = room.split_at_mut(4 * m * depth);
            let [k, v, dk, dv] = carve(room, of_source(m));
            gather(k, memory, sources, source, &key_columns);
            gather(v, memory, sources, source, &value_columns);
            let (keys, values) = (Mat::new(k, m, depth), Mat::new(v, m, depth));
            [&mut *dk, &mut *dv].into_iter().for_each(|sums| sums.fill(0.0));
            for &place in &readers[source] {
                let n = rows.length(place);
                let [q, dc, energies, gradients, sums, packed] = carve(rest, of_reader(n, m));
                if m == 0 {
                    q.fill(0.0);
                } else {
                    gather(q, query, rows, place, &columns);
                    q.iter_mut().for_each(|q| *q *= how.scale);
                    gather(dc, dcontext, rows, place, &columns);
                    gather(sums, log_sums, rows, place, &(head..head + 1));
                    let (asked, dc) = (Mat::new(q, n, depth), Mat::new(dc, n, depth));
                    let mut multiply = |out: &mut [f32], a: Mat, b: Mat, update: Update| {
                        multiply_small(cpu.isa, out, a, b, packed, update);
                    };
                    multiply(energies, asked, keys.transposed(), Update::Set);
                    multiply(gradients, dc, values.transposed(), Update::Set);
                    cpu.isa.run(SoftmaxBack { energies, gradients, steps: m, causal: how.causal, sums });
                    let [weights, denergies] =
                        [&*energies, &*gradients].map(|numbers| Mat::new(numbers, n, m));
                    multiply(dv, weights.transposed(), dc, Update::Add);
                    multiply(dk, denergies.transposed(), asked, Update::Add);
                    multiply(q, denergies, keys, Update::Set);
                    q.iter_mut().for_each(|q| *q *= how.scale);
                }
                // SAFETY: each head of each source is one task, and a place reads one source.
                unsafe { scatter(q, to_query, rows, place, &columns) };
            }
            // SAFETY: as above.
            unsafe {
                scatter(dk, to_memory, sources, source, &key_columns);
                scatter(dv, to_memory, sources, source, &value_columns);
            }
        }
    });
    (dquery, dmemory)
}
