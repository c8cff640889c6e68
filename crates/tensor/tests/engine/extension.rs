//! A score and a cell from outside of the crate: one type with its formula and its gradient each, nothing else.

use couplet_tensor::cell::Cell;
use couplet_tensor::lane::Lane;
use couplet_tensor::ops::{
    AnyCell, AnyScore, LayerWeights, Memory, MemorySegment, ModifierWeights, Scan, attend,
};
use couplet_tensor::random::{Stream, unit};
use couplet_tensor::score::Score;
use couplet_tensor::{Device, Isa, Params, SequenceLayout, Tape, Tensor, Var};
use std::sync::Arc;

/// The nearer, the better: `e^(−(q − k)²)` for each place.
#[derive(Clone, Copy, Debug)]
struct Near;

impl Score for Near {
    const VECTOR: bool = false;

    fn term<L: Lane>(query: L, key: L, _vector: L) -> L {
        let apart = query - key;
        (-(apart * apart)).exp()
    }

    fn term_back<L: Lane>(query: L, key: L, vector: L, gradient: L) -> [L; 3] {
        let inner = gradient * Self::term(query, key, vector) * (key - query) * L::lit(2.0);
        [inner, -inner, L::lit(0.0)]
    }
}

/// A leaky unit, `h' = h/2 + tanh(·)/2`.
#[derive(Clone, Copy, Debug)]
struct Leaky;

impl Cell for Leaky {
    const GATES: usize = 1;

    fn forward<L: Lane>(slots: &mut [L], state: &mut [L]) {
        slots[0] = slots[0].tanh();
        state[0] = (state[0] + slots[0]) * L::lit(0.5);
    }

    fn backward<L: Lane>(slots: &mut [L], _before: &[L], _after: &[L], gradient: &mut [L]) {
        let half = gradient[0] * L::lit(0.5);
        slots[0] = half * (L::lit(1.0) - slots[0] * slots[0]);
        gradient[0] = half;
    }
}

/// With q = 0 and keys 0 and √(ln 2), the energies are e^0 = 1 and e^(−ln 2) = 1/2. Their softmax is
/// 1 / (1 + e^(−1/2)) = 0.622459 and 0.377541, and the context of the values 1 and 0 is the first of them.
#[test]
fn a_score_from_outside_by_hand() {
    let device = Device::cpu();
    let constant = |rows, numbers: &[f32]| Var::constant(Tensor::new(&device, rows, 1, numbers));
    let segment = MemorySegment {
        keys: constant(2, &[0.0, 2.0f32.ln().sqrt()]),
        values: constant(2, &[1.0, 0.0]),
        layout: Arc::new(SequenceLayout::new(&[2])),
    };
    let memory = Memory::new(segment, 1, [0].into());
    let [context, weights] = attend(AnyScore::of::<Near>(), &constant(1, &[0.0]), None, &memory);
    assert!((context.value().item() - 0.622_459).abs() < 1e-6, "{context:?}");
    assert!((weights.value().to_vec()[1] - 0.377_541).abs() < 1e-6, "{weights:?}");
}

/// The fused scan takes them as it takes our own, and equals the loop over its steps. A depth of 5 leaves lanes over, in
/// which e^0 is not zero.
#[test]
fn both_in_a_fused_scan() {
    const HIDDEN: usize = 9;
    const DEPTH: usize = 5;
    const WIDTH: usize = 3;
    let device = Device::cpu_with_grain(2, Isa::detect(), 1);
    let (source, target) =
        (Arc::new(SequenceLayout::new(&[4, 2, 7])), Arc::new(SequenceLayout::new(&[3, 1, 2])));
    let stream = Stream::new(3, 0);
    let run = |fused: bool| {
        let tape = Tape::new();
        let mut made = 0;
        let mut leaf = |rows: usize, columns: usize| {
            made += 1;
            let number = |i| unit(stream.at([made, i, 0, 0])[0]) - 0.5;
            let numbers: Vec<f32> = (0..(rows * columns) as u32).map(number).collect();
            tape.leaf(Tensor::new(&device, rows, columns, &numbers))
        };
        let segment = MemorySegment {
            keys: leaf(source.total(), DEPTH),
            values: leaf(source.total(), WIDTH),
            layout: Arc::clone(&source),
        };
        let keys = segment.keys.clone();
        let memory = Memory::new(segment, 1, [2, 0, 1].into());
        let layer = LayerWeights {
            input: leaf(HIDDEN, 2 + WIDTH),
            state: leaf(HIDDEN, HIDDEN),
            bias: leaf(1, HIDDEN),
            state_bias: None,
            norm: None,
        };
        let inputs = [keys, layer.input.clone(), layer.state.clone()];
        let query = leaf(DEPTH, HIDDEN);
        let scan = Scan {
            cell: AnyCell::of::<Leaky>(),
            score: AnyScore::of::<Near>(),
            layers: vec![layer],
            query: Some(query),
            vector: None,
            focus: ModifierWeights::default(),
        };
        let x = leaf(target.total(), 2);
        let start = scan.zero_state(target.batch(), &memory);
        let scanned = match fused {
            true => scan.sequence(&x, &target, &start, &memory),
            false => scan.sequence_by_steps(&x, &target, &start, &memory),
        };
        let upstream = leaf(target.total(), WIDTH).value().clone();
        let gradients = tape.backward_from(&[(&scanned.contexts, upstream)], &mut Params::new(&device, 0));
        let of = |var: &Var| gradients.of(var).expect("it was on the way").to_vec();
        [&[scanned.contexts.value().to_vec()][..], &inputs.each_ref().map(of)].concat()
    };
    for (fused, looped) in run(true).iter().zip(run(false)) {
        assert!(fused.iter().zip(&looped).all(|(a, b)| (a - b).abs() < 1e-6), "{fused:?}\n{looped:?}");
        assert!(fused.iter().any(|x| *x != 0.0));
    }
}
