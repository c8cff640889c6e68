//! Recurrent layers over ragged sequences, in both directions.

use crate::fixture::{Case, Fixture, Layout, Report, WAYS, Way, devices};
use couplet_tensor::Direction;
use couplet_tensor::Var;
use couplet_tensor::activation::{Identity, Relu};
use couplet_tensor::cell::{Gru, Lstm, Simple};
use couplet_tensor::ops::AnyCell;
use couplet_tensor::ops::recurrent::{by_steps, recurrent};

#[test]
fn recurrent_layers_are_those_of_pytorch() {
    let fixture = Fixture::read("recurrent");
    let mut report = Report::default();
    for device in devices() {
        for way in WAYS {
            for name in fixture.cases() {
                let case = Case::new(&fixture, name, &format!(", {way:?},"), &device, &mut report);
                let cell = match name {
                    "simple" | "simple_from_start" | "simple_layer_norm" => AnyCell::of::<Simple>(),
                    "simple_relu" => AnyCell::of::<Simple<Relu>>(),
                    "simple_identity" => AnyCell::of::<Simple<Identity>>(),
                    "gru" | "gru_from_start" | "gru_layer_norm" => AnyCell::of::<Gru>(),
                    "lstm" | "lstm_from_start" | "lstm_layer_norm" => AnyCell::of::<Lstm>(),
                    other => panic!("no test for the case {other:?}"),
                };
                check(cell, case, way);
            }
        }
    }
    println!("recurrent: {}", report.finish());
}

fn check(cell: AnyCell, mut case: Case, way: Way) {
    let rows = case.fixed("lengths").rows();
    let (packed, batch) = (Layout::Packed(rows.clone()), Layout::Batch(rows.clone()));
    let parts = &["h", "c"][..cell.parts()];
    let x = case.input("x", &packed);
    for (end, direction) in [("", Direction::Forward), ("_reverse", Direction::Backward)] {
        let weights = case.layer(&format!("l0{end}"));
        let start: Option<Vec<Var>> = case
            .has("start_h")
            .then(|| parts.iter().map(|part| case.input(&format!("start_{part}{end}"), &batch)).collect());
        let run = match way {
            Way::Fused => recurrent,
            Way::BySteps => by_steps,
        };
        let read = run(cell, &x, &rows, direction, &weights, start.as_deref());
        case.output(&format!("states{end}"), &read.states, &packed);
        for (part, last) in parts.iter().zip(&read.last) {
            case.output(&format!("last_{part}{end}"), last, &batch);
        }
    }
    case.finish();
}
