//! Decoders with attention.

use crate::fixture::{Case, Fixture, Layout, Report, WAYS, Way, devices, memory_of};
use couplet_tensor::activation::Sigmoid;
use couplet_tensor::cell::{Gru, Lstm};
use couplet_tensor::ops::{AnyCell, AnyScore, Memory, MemorySegment, ModifierWeights, Scan, ScanState};
use couplet_tensor::score::{Additive, Dot, Linear};

#[test]
fn decoders_are_those_of_pytorch() {
    let (gru, lstm) = (AnyCell::of::<Gru>(), AnyCell::of::<Lstm>());
    let (additive, dot) = (AnyScore::of::<Additive>(), AnyScore::of::<Dot>());
    let fixture = Fixture::read("scan");
    let mut report = Report::default();
    for device in devices() {
        for way in WAYS {
            for name in fixture.cases() {
                let case = Case::new(&fixture, name, &format!(", {way:?},"), &device, &mut report);
                let (cell, score) = match name {
                    "lstm_additive"
                    | "lstm_additive_without_query"
                    | "lstm_additive_heads"
                    | "lstm_additive_layer_norm" => (lstm, additive),
                    "lstm_linear_sigmoid" => (lstm, AnyScore::of::<Linear<Sigmoid>>()),
                    "lstm_dot" | "lstm_dot_one_memory" => (lstm, dot),
                    "gru_additive" | "gru_additive_without_query" => (gru, additive),
                    "gru_dot" | "gru_dot_one_memory" | "gru_dot_heads" => (gru, dot),
                    other => panic!("no test for the case {other:?}"),
                };
                check(cell, score, case, way);
            }
        }
    }
    println!("scan: {}", report.finish());
}

fn check(cell: AnyCell, score: AnyScore, mut case: Case, way: Way) {
    let (sources, targets) = (case.fixed("source_lengths").rows(), case.fixed("target_lengths").rows());
    let reads = case.fixed("reads").whole();
    let (packed, batch) = (Layout::Packed(targets.clone()), Layout::Batch(targets.clone()));
    let of_source = Layout::Packed(sources.clone());
    let parts = &["h", "c"][..cell.parts()];

    let [keys, values] = if case.has("memory") {
        let both = case.input("memory", &of_source);
        [both.clone(), both]
    } else {
        ["keys", "values"].map(|name| case.input(name, &of_source))
    };
    let heads = case.fixed("heads").whole()[0] as usize;
    let of = memory_of(&targets, &sources, |target| reads[target] as usize);
    let memory = Memory::new(MemorySegment { keys, values, layout: sources }, heads, of);

    let scan = Scan {
        cell,
        score,
        layers: (0..2).map(|l| case.layer(&format!("l{l}"))).collect(),
        query: case.weight_if_any("query"),
        vector: case.weight_if_any("vector"),
        focus: ModifierWeights::default(),
    };
    let first = |case: &mut Case, l: usize| {
        parts.iter().map(|part| case.input(&format!("start_{part}_l{l}"), &batch)).collect()
    };
    let layers = (0..2).map(|l| first(&mut case, l)).collect();
    let start = ScanState::new(layers, case.input("context", &batch));
    let x = case.input("x", &packed);
    let scanned = match way {
        Way::Fused => scan.sequence(&x, &targets, &start, &memory),
        Way::BySteps => scan.sequence_by_steps(&x, &targets, &start, &memory),
    };
    case.output("states", &scanned.states, &packed);
    case.output("contexts", &scanned.contexts, &packed);
    case.output("weights", &scanned.weights, &packed);
    case.finish();
}
