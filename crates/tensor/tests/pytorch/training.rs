//! Ten steps of training a small encoder-decoder.

use crate::fixture::{Fixture, Layout, Report, devices};
use crate::model::{Batch, Model, Sizes};
use crate::{TOLERANCE, TOLERANCE_OF_LOSSES, TOLERANCE_OF_TRAINED};
use couplet_tensor::optimizer::Optimizer;
use couplet_tensor::{Device, Params, Tape, Tensor};

const STEPS: usize = 10;

#[test]
fn ten_steps_of_training_are_those_of_pytorch() {
    let fixture = Fixture::read("training");
    let [mut gradients, mut losses, mut norms, mut trained] = [(); 4].map(|()| Report::default());
    let setting = |name: &str| fixture.array(name).numbers[0];
    for device in devices() {
        let run = format!("{device:?}");
        let (mut params, model) = build(&fixture, &device);
        let mut adam = Optimizer::adam().clipped(setting("clip"));
        let rate = setting("rate");
        let (mut found_losses, mut found_norms) = (Vec::new(), Vec::new());
        for step in 0..STEPS {
            let tape = Tape::new();
            let loss = model.loss(&params, Some(&tape), &batch(&fixture, step), setting("smoothing"));
            tape.backward(&loss, &mut params);
            if step == 0 {
                for param in params.iter() {
                    let (rows, columns) = params.tensor(param).shape();
                    let found = Tensor::new(&device, rows, columns, &params.gradient(param));
                    let name = params.name(param);
                    let expected = fixture.array(&format!("grad/{name}"));
                    let name = format!("{run}: first gradient of {name}");
                    gradients.check(&name, &found, expected, &Layout::Matrix, TOLERANCE);
                }
            }
            found_losses.push(loss.value().item());
            found_norms.push(adam.step(&mut params, rate).expect("a norm where there is a limit").item());
        }
        let of_steps = [
            ("losses", found_losses, &mut losses, TOLERANCE_OF_LOSSES),
            ("norms", found_norms, &mut norms, TOLERANCE),
        ];
        for (name, found, report, tolerance) in of_steps {
            let expected = &fixture.array(name).numbers;
            assert_eq!(expected.len(), STEPS, "{name} of all steps");
            for (step, (found, expected)) in found.into_iter().zip(expected).enumerate() {
                let place = |_| format!("step {step}");
                report.compare(&format!("{run}: {name}"), &[found], &[*expected], place, tolerance);
            }
        }
        for param in params.iter() {
            let name = params.name(param);
            let expected = fixture.array(&format!("after/{name}"));
            let name = format!("{run}: {name} after ten steps");
            trained.check(&name, &params.tensor(param), expected, &Layout::Matrix, TOLERANCE_OF_TRAINED);
        }
    }
    println!("training, first gradients: {}", gradients.finish());
    println!("training, losses: {}", losses.finish());
    println!("training, norms of the gradients: {}", norms.finish());
    println!("training, weights after ten steps: {}", trained.finish());
}

/// The model of the example, with the fixture's weights.
fn build(fixture: &Fixture, device: &Device) -> (Params, Model) {
    let columns = |name: &str| fixture.array(&format!("before/{name}")).shape[1];
    let rows = |name: &str| fixture.array(&format!("before/{name}")).shape[0];
    let sizes = Sizes {
        source_vocabulary: rows("source_embedding"),
        target_vocabulary: rows("target_embedding"),
        embedding: columns("source_embedding"),
        encoder: columns("encoder.weight_hh_l0"),
        attention: rows("attention.key"),
        layers: 2,
    };
    let mut params = Params::new(device, 0);
    let model = Model::new(&mut params, &sizes);
    assert_eq!(
        fixture.names("before").count(),
        params.iter().count(),
        "weights of the fixture and of the model"
    );
    for param in params.iter() {
        let weights = &fixture.array(&format!("before/{}", params.name(param))).numbers;
        params.set(param, weights);
    }
    (params, model)
}

/// The batch of a step. What the decoder reads, `before`, is the target without its last token; `after`, without its first.
fn batch(fixture: &Fixture, step: usize) -> Batch {
    let array = |name: &str| fixture.array(&format!("batch{step}/{name}"));
    let sentence = |name: &str, lengths: &str, i: usize| {
        let width = array(name).shape[1];
        array(name).whole()[i * width..][..array(lengths).whole()[i] as usize].to_vec()
    };
    let pair = |i: usize| {
        let mut target = sentence("before", "target_lengths", i);
        target.extend(sentence("after", "target_lengths", i).last());
        (sentence("source", "source_lengths", i), target)
    };
    Batch::new(&(0..array("source").shape[0]).map(pair).collect::<Vec<_>>())
}
