use super::ScoredIndex;
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::sums::largest;
use crate::tensor::Tensor;
use std::sync::OnceLock;

/// What one number costs, in simple operations.
const COST: usize = 8;

/// Numbers that are looked at together: most blocks hold none of the largest, which one comparison tells.
const BLOCK: usize = 8 * LANES;

pub(super) fn top_k(cpu: &Cpu, x: &Tensor, wanted: usize) -> Vec<Vec<ScoredIndex>> {
    let (rows, width) = x.shape();
    let found: Vec<OnceLock<Vec<ScoredIndex>>> = (0..rows).map(|_| OnceLock::new()).collect();
    cpu.pool.run(cpu.pool.workers_for(rows * width * COST), |worker| {
        for row in worker.share(rows, 1) {
            let x = x.row(row);
            found[row].get_or_init(|| {
                let mut best = cpu.isa.run(Largest { x, wanted });
                let first = best.first().map_or(0.0, |&(_, x)| x);
                let log_sum = cpu.isa.run(ExpSum { x, largest: first }).ln();
                best.iter_mut().for_each(|(_, x)| *x = *x - first - log_sum);
                best
            });
        }
    });
    found.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// The largest numbers and their places, the largest first.
pub(super) struct Largest<'a> {
    pub(super) x: &'a [f32],
    pub(super) wanted: usize,
}

impl Kernel for Largest<'_> {
    type Output = Vec<ScoredIndex>;

    #[inline(always)]
    fn run<V: Vector>(self) -> Vec<ScoredIndex> {
        let Largest { x, wanted } = self;
        let mut best: Vec<ScoredIndex> = Vec::with_capacity(wanted + 1);
        for (i, block) in x.chunks(BLOCK).enumerate() {
            // Up to the first `wanted` numbers, all of them are among the largest.
            let below = |best: &[ScoredIndex], x: f32| {
                best.len() == wanted && best.last().is_none_or(|last| x <= last.1)
            };
            if below(&best, largest::<V>(block)) {
                continue;
            }
            for (place, &x) in (i * BLOCK..).zip(block) {
                if !below(&best, x) {
                    best.insert(best.partition_point(|other| other.1 >= x), (place as u32, x));
                    best.truncate(wanted);
                }
            }
        }
        best
    }
}

/// `Σ e^(xᵢ − largest)`. The sum does not depend on how many −∞ stand behind the numbers: rows of sources that have fewer words to copy
/// than others beside them end so.
struct ExpSum<'a> {
    x: &'a [f32],
    largest: f32,
}

impl Kernel for ExpSum<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        let largest = V::lit(self.largest);
        let (chunks, rest) = self.x.as_chunks::<LANES>();
        let mut last = [f32::NEG_INFINITY; LANES];
        last[..rest.len()].copy_from_slice(rest);
        let all = chunks.iter().chain((!rest.is_empty()).then_some(&last));
        all.fold(V::lit(0.0), |sum, x| sum + (V::load(x) - largest).exp()).sum()
    }
}
