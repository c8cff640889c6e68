//! The gradients of whole models that copy, beside differences of their loss.

use couplet_nn::{Batch, ForwardPass, ModelConfig, Seq2Seq, Training};
use couplet_tensor::{Device, Params, Tape};

const VOCABULARY: usize = 9;
const UNKNOWN: u32 = 1;

/// Two pairs; the first source's words as the target's are 4, 9 and 10, of which the last two stand behind the vocabulary.
fn batch() -> Batch {
    let batch = Batch::new(&[(&[4, 5, 6], &[10, 4, 9]), (&[7], &[5, 9])], &[0, 1], 2, 3);
    batch.copying(&[&[4, 9, 10], &[9]], VOCABULARY, UNKNOWN)
}

fn loss(model: &Seq2Seq, params: &Params) -> f64 {
    let losses = model.loss(&ForwardPass::inference(params), &batch(), 0.1).per_target.to_vec();
    losses.iter().copied().map(f64::from).sum::<f64>() / losses.len() as f64
}

/// Goes so far in the direction of each number's own sign of the gradient: all numbers of a parameter have their share in the difference.
fn moved(params: &mut Params, name: &str, weights: &[f32], gradient: &[f32], by: f32) {
    let moved: Vec<f32> = weights.iter().zip(gradient).map(|(w, g)| w + by * g.signum()).collect();
    let param = params.find(name).expect("a parameter of the model");
    params.set(param, &moved);
}

/// `L(w + ε·sign g) − L(w − ε·sign g) = 2ε·Σ|g|`, for each parameter by itself: the gate, the pointer, and all that they come from.
#[test]
fn gradients_of_models_that_copy_are_those_of_their_loss() {
    for settings in [
        "",
        "kind = 'gru'\nreadout = 'state'\nlayers = 1\n[attention]\nheads = 2\nquery = 'previous'\nsize = 6",
        "layers = 2\nresidual_from = 2\n[attention]\ncoverage = true\nquery_layer = 'first'",
        "kind = 'transformer'\nembedding = 6\nheads = 2",
    ] {
        let text = format!(
            "[encoder]\nhidden = 4\nlayers = 1\nembedding = 5\ndropout = 0.0\n\
             [decoder]\nhidden = 8\ndropout = 0.0\ncopy = true\n{settings}"
        );
        let config: ModelConfig = toml::from_str(&text).expect("a sound config");
        let mut params = Params::new(&Device::cpu(), 3);
        let model = Seq2Seq::new(&mut params, &config, 8, VOCABULARY).expect("a sound config");
        let tape = Tape::new();
        let training = Training { tape: &tape, seed: 1, update: 1 };
        let mean = model.loss(&ForwardPass::training(&params, training), &batch(), 0.1).mean;
        tape.backward(&mean, &mut params);
        let all: Vec<_> = params
            .iter()
            .map(|param| {
                (params.name(param).to_owned(), params.tensor(param).to_vec(), params.gradient(param))
            })
            .collect();
        assert!(all.iter().any(|(name, ..)| name == "decoder.copy_gate.weight"), "{settings}");
        for (name, weights, gradient) in all {
            let far = 2e-3;
            let [up, down] = [far, -far].map(|by| {
                moved(&mut params, &name, &weights, &gradient, by);
                loss(&model, &params)
            });
            moved(&mut params, &name, &weights, &gradient, 0.0);
            let (found, wanted) = (
                gradient.iter().map(|g| f64::from(g.abs())).sum::<f64>(),
                (up - down) / (2.0 * f64::from(far)),
            );
            assert!(
                (found - wanted).abs() < 1e-3 + 0.02 * wanted.abs(),
                "{settings}: {name}: {found}, {wanted}"
            );
        }
    }
}
