//! The self-test, on what every machine has.

use couplet_tensor::profile::{self, Phase};
use couplet_tensor::{Device, Isa, Precision, selftest};
use std::collections::HashSet;

/// All there are: a new one has its cases too.
const OPERATIONS: [&str; 26] = [
    "linear",
    "embedding",
    "gather_rows",
    "concat_columns",
    "concat_rows",
    "row_block",
    "column_block",
    "flatten_steps",
    "pool",
    "tanh",
    "sigmoid",
    "relu",
    "scale",
    "add",
    "multiply_elements",
    "dropout",
    "layer_norm",
    "softmax",
    "copy_loss",
    "cross_entropy",
    "logistic_loss",
    "cell_step",
    "attend",
    "recurrent",
    "scan",
    "adam",
];

#[test]
fn the_processor_passes() {
    // Two threads that share even the smallest work, with the best instructions.
    let device = Device::cpu_with_grain(2, Isa::detect(), 1);
    let mut findings = Vec::new();
    profile::start();
    let right = selftest::run(&device, selftest::tolerance(Precision::Fp32), &mut |finding| {
        findings.push(finding.clone());
    });
    let shares = profile::stop();
    let wrong: Vec<_> = findings.iter().filter(|finding| !finding.is_ok()).collect();
    assert!(right && wrong.is_empty(), "{wrong:#?}");
    assert!(findings.iter().all(|finding| finding.sizes.len() >= 3));

    let names: Vec<&str> = findings.iter().map(|finding| finding.operation.as_str()).collect();
    let distinct: HashSet<&&str> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "an operation is found once, whatever it was tried on");
    for operation in OPERATIONS {
        assert!(names.iter().any(|name| name.starts_with(operation)), "{operation} in {names:?}");
        // A profile knows it too, both ways.
        let ways: &[Phase] =
            if operation == "adam" { &[Phase::Update] } else { &[Phase::Forward, Phase::Backward] };
        for &way in ways {
            let is_timed = shares.iter().any(|share| (share.name, share.phase) == (operation, way));
            assert!(is_timed, "{operation} {way} in {shares:?}");
        }
    }
}
