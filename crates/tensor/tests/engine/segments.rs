//! Sources that join a search in a segment of their own: each row gets the bits that it has without the others.

use crate::support::{Input, devices, isas};
use couplet_tensor::ops::{
    AnyCell, AnyScore, KvView, LayerWeights, Memory, MemorySegment, ModifierWeights, MultiHead, Scan,
    ScanState, attend, attend_cached,
};
use couplet_tensor::score::{Additive, Dot};
use couplet_tensor::{Device, SequenceLayout, Tensor, Var, cell};
use std::sync::Arc;

const HEADS: usize = 2;
const DEPTH: usize = 10;
const WIDTH: usize = 14;

fn constant(device: &Device, name: &str, rows: usize, columns: usize) -> Var {
    Var::constant(Input::random(name, rows, columns).tensor(device))
}

fn segment(device: &Device, name: &str, lengths: &[usize]) -> MemorySegment {
    let layout = Arc::new(SequenceLayout::new(lengths));
    MemorySegment {
        keys: constant(device, &format!("{name} keys"), layout.total(), DEPTH),
        values: constant(device, &format!("{name} values"), layout.total(), WIDTH),
        layout,
    }
}

/// Two segments of sources, of which those of the second are longer, and of each row its segment and its source there.
fn segments(device: &Device) -> [MemorySegment; 2] {
    [segment(device, "first", &[3, 1]), segment(device, "second", &[7, 2, 5])]
}

const READS: [(usize, u32); 5] = [(1, 2), (0, 0), (1, 0), (0, 1), (1, 0)];

/// All rows in one memory: the sources of the second segment are counted after the two of the first.
fn joined(device: &Device) -> Memory {
    let of = READS.map(|(segment, source)| source + if segment == 0 { 0 } else { 2 });
    Memory { segments: segments(device).into(), heads: HEADS, of: of.into() }
}

/// The memory of one row alone.
fn alone(device: &Device, row: usize) -> Memory {
    let (which, source) = READS[row];
    Memory::new(segments(device)[which].clone(), HEADS, [source].into())
}

/// A row of one tensor, head by head without what is beyond its source, in bits.
fn bits(tensor: &Tensor, row: usize, length: usize) -> Vec<u32> {
    let numbers = tensor.to_vec();
    let row = &numbers[row * tensor.columns()..][..tensor.columns()];
    let heads = row.chunks(tensor.columns() / HEADS).flat_map(|head| &head[..length.min(head.len())]);
    heads.map(|number| number.to_bits()).collect()
}

fn length(memory: &Memory) -> usize {
    memory.segments[0].layout.length(memory.of[0] as usize)
}

fn row_of(x: &Var, row: usize) -> Var {
    couplet_tensor::ops::row_block(x, row..row + 1)
}

#[test]
fn a_row_attends_as_it_does_alone() {
    for isa in isas() {
        let device = Device::cpu_with_grain(2, isa, 1);
        for (score, vector) in [(AnyScore::of::<Additive>(), true), (AnyScore::of::<Dot>(), false)] {
            let query = constant(&device, "query", READS.len(), DEPTH);
            let vector = vector.then(|| constant(&device, "vector", 1, DEPTH));
            let [context, weights] = attend(score, &query, vector.as_ref(), &joined(&device));
            for row in 0..READS.len() {
                let memory = alone(&device, row);
                let own = attend(score, &row_of(&query, row), vector.as_ref(), &memory);
                assert_eq!(bits(context.value(), row, WIDTH), bits(own[0].value(), 0, WIDTH));
                let steps = length(&memory);
                assert_eq!(bits(weights.value(), row, steps), bits(own[1].value(), 0, steps));
            }
        }
    }
}

#[test]
fn a_scan_steps_as_it_does_alone() {
    const HIDDEN: usize = 12;
    let cell = AnyCell::of::<cell::Lstm>();
    for isa in isas() {
        let device = Device::cpu_with_grain(2, isa, 1);
        let weight = |name: &str, rows, columns| constant(&device, name, rows, columns);
        let layer = LayerWeights {
            input: weight("input", 4 * HIDDEN, 3 + WIDTH),
            state: weight("state", 4 * HIDDEN, HIDDEN),
            bias: weight("bias", 1, 4 * HIDDEN),
            state_bias: None,
            norm: None,
        };
        let scan = Scan {
            cell,
            score: AnyScore::of::<Additive>(),
            layers: vec![layer],
            query: Some(weight("query", DEPTH, HIDDEN)),
            vector: Some(weight("vector", 1, DEPTH)),
            focus: ModifierWeights::default(),
        };
        let [x, h, c, context] = [("x", 3), ("h", HIDDEN), ("c", HIDDEN), ("context", WIDTH)]
            .map(|(name, columns)| weight(name, READS.len(), columns));
        let state = ScanState::new(vec![vec![h.clone(), c.clone()]], context.clone());
        let rows: Vec<u32> = (0..READS.len() as u32).collect();
        let (after, weights) = scan.advance(&x, &state, &rows, &joined(&device));
        for row in 0..READS.len() {
            let memory = alone(&device, row);
            let own = |part: &Var| row_of(part, row);
            let state = ScanState::new(vec![vec![own(&h), own(&c)]], own(&context));
            let (found, own_weights) = scan.advance(&own(&x), &state, &[0], &memory);
            let steps = length(&memory);
            assert_eq!(bits(after.context.value(), row, WIDTH), bits(found.context.value(), 0, WIDTH));
            let [all, one] = [&after, &found].map(|state| state.layers[0][0].value());
            assert_eq!(bits(all, row, HIDDEN), bits(one, 0, HIDDEN));
            assert_eq!(bits(weights.value(), row, steps), bits(own_weights.value(), 0, steps));
        }
    }
}

/// Attention over cached keys and values, of sources and of earlier steps; rows of earlier steps have taken as many as they have.
#[test]
fn a_row_attends_to_its_cache_as_it_does_alone() {
    let how = MultiHead { heads: HEADS, scale: 0.4, causal: false };
    let (width, first, second) = (8, SequenceLayout::new(&[3, 1]), SequenceLayout::new(&[7, 2, 5]));
    for device in devices() {
        let tensor = |name: &str, rows, columns| Input::random(name, rows, columns).tensor(&device);
        let query = tensor("query", READS.len(), width);
        let [one, two] = [("first", &first), ("second", &second)]
            .map(|(name, layout)| tensor(name, layout.total(), 2 * width));
        let segments = [(&one, &first), (&two, &second)];
        let of = READS.map(|(segment, source)| source + if segment == 0 { 0 } else { 2 });
        let all = attend_cached(&query, width, KvView::Sources { segments: &segments, of: &of }, how);

        let steps = ["a", "b", "c"].map(|name| tensor(name, READS.len(), 2 * width));
        let taken: Vec<Vec<[u32; 2]>> = (0..READS.len() as u32)
            .map(|row| (row % 3..3).map(|step| [step, (row + step) % 5]).collect())
            .collect();
        let own_steps = attend_cached(&query, width, KvView::Steps { steps: &steps, rows: &taken }, how);
        for (row, &(which, source)) in READS.iter().enumerate() {
            let query = row_of(&Var::constant(query.clone()), row).value().clone();
            let (segment, layout) = segments[which];
            let view = KvView::Sources { segments: &[(segment, layout)], of: &[source] };
            let found = attend_cached(&query, width, view, how);
            let length = layout.length(source as usize);
            assert_eq!(bits(&all[0], row, width), bits(&found[0], 0, width));
            assert_eq!(bits(&all[1], row, length), bits(&found[1], 0, length));

            let view = KvView::Steps { steps: &steps, rows: &taken[row..=row] };
            let found = attend_cached(&query, width, view, how);
            assert_eq!(bits(&own_steps[0], row, width), bits(&found[0], 0, width));
            assert_eq!(bits(&own_steps[1], row, taken[row].len()), bits(&found[1], 0, taken[row].len()));
        }
    }
}
