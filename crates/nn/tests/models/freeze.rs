//! A model of which a part is frozen: what learns has the gradients that it has without, whichever part it is.

use couplet_nn::{Batch, ForwardPass, ModelConfig, Seq2Seq, Training};
use couplet_tensor::{Device, Params, Tape};

const MODELS: [&str; 5] = [
    "encoder = { layers = 2, hidden = 4, embedding = 6 }\nattention.size = 4\n\
     decoder = { layers = 2, hidden = 8, embedding = 6 }",
    "encoder = { kind = 'gru', hidden = [4, 6], embedding = 6, layer_norm = true, bidirectional = false }\n\
     attention.score = 'none'\ncontext.to = 'both'\ndecoder = { kind = 'gru', layers = 1, hidden = 6, embedding = 6 }",
    "encoder = { kind = 'transformer', layers = 1, hidden = 8, embedding = 8, heads = 2, positions = 'learned' }\n\
     decoder = { kind = 'transformer', layers = 1, hidden = 8, embedding = 8, heads = 2, tie_embeddings = 'all' }",
    "encoder = { kind = 'conv', layers = 2, hidden = 6, embedding = 8 }\n\
     decoder = { kind = 'conv', layers = 2, hidden = 6, embedding = 8 }",
    "encoder = { kind = 'self-attention', layers = 1, hidden = 8, embedding = 8 }\n\
     decoder = { kind = 'attention', layers = 1, hidden = 8, embedding = 8, tie_embeddings = 'output' }",
];

/// The gradients of all parameters by their names, with one of them frozen or none.
fn gradients(config: &str, frozen: Option<&str>) -> Vec<(String, Vec<f32>)> {
    let config: ModelConfig = toml::from_str(config).expect("a config");
    let mut params = Params::new(&Device::cpu(), 1);
    let model = Seq2Seq::new(&mut params, &config, 11, 11).expect("a sound model");
    if let Some(name) = frozen {
        params.freeze(params.find(name).expect("a parameter"), None);
    }
    let batch = Batch::new(&[(&[5, 6, 7], &[8, 9]), (&[4, 10], &[7, 5, 6])], &[0, 1], 2, 3);
    let tape = Tape::new();
    let loss = {
        let pass = ForwardPass::training(&params, Training { tape: &tape, seed: 1, update: 0 });
        model.loss(&pass, &batch, 0.1).mean
    };
    tape.backward(&loss, &mut params);
    params.iter().map(|param| (params.name(param).to_owned(), params.gradient(param))).collect()
}

#[test]
fn the_rest_learns_as_before() {
    for config in MODELS {
        let whole = gradients(config, None);
        for (frozen, _) in &whole {
            for ((name, found), (_, wanted)) in gradients(config, Some(frozen)).iter().zip(&whole) {
                if name == frozen {
                    assert!(found.iter().all(|&gradient| gradient == 0.0), "{frozen} of {config}");
                } else {
                    assert_eq!(found, wanted, "{name} with {frozen} frozen, of {config}");
                }
            }
        }
    }
}
