//! Five steps of each optimizer.

use crate::TOLERANCE;
use crate::fixture::{Fixture, Layout, Report, devices};
use couplet_tensor::ops::scale;
use couplet_tensor::optimizer::{Optimizer, Rule};
use couplet_tensor::{Init, Params, Tape};

const STEPS: usize = 5;
const RATE: f32 = 0.01;

#[test]
fn steps_are_those_of_pytorch() {
    let fixture = Fixture::read("optimizers");
    let mut report = Report::default();
    let rules = [
        ("adam", Rule::ADAM),
        ("adamw", Rule::Adam { betas: [0.9, 0.999], epsilon: 1e-8, decay: 0.1 }),
        ("sgd", Rule::Sgd { momentum: 0.9 }),
        ("adafactor", Rule::Adafactor { decay: 0.1 }),
    ];
    for device in devices() {
        for (case, rule) in rules {
            let mut params = Params::new(&device, 0);
            let added = ["matrix", "vector"].map(|name| {
                let array = fixture.array(&format!("before/{name}"));
                let columns = array.shape.last().copied().unwrap_or(1);
                let param = params.add(name, array.numbers.len() / columns, columns, Init::Constant(0.0));
                params.set(param, &array.numbers);
                param
            });
            let mut optimizer = Optimizer::new(rule);
            for step in 0..STEPS {
                let tape = Tape::new();
                // A parameter holds no gradient of its own: it needs an operation to go back through.
                let same = added.map(|param| scale(&tape.param(&params, param), 1.0));
                let upstream = added.map(|param| {
                    let array = fixture.array(&format!("gradient{step}/{}", params.name(param)));
                    Layout::Matrix.arrange(&device, array)
                });
                let pairs: Vec<_> = same.iter().zip(upstream).collect();
                tape.backward_from(&pairs, &mut params);
                optimizer.step(&mut params, RATE);
                for param in added {
                    let name = format!("{case}/after{step}/{}", params.name(param));
                    let expected = fixture.array(&name);
                    report.check(&name, &params.tensor(param), expected, &Layout::Matrix, TOLERANCE);
                }
            }
        }
    }
    println!("optimizers: {}", report.finish());
}
