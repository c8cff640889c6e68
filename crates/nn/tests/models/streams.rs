//! Random streams of a model: one for each parameter and for each dropout site, by its path.

use couplet_nn::{Classifier, ClassifierConfig, LanguageModel, LanguageModelConfig, ModelConfig, Seq2Seq};
use couplet_tensor::ops::dropout::reference::mask;
use couplet_tensor::ops::{Dropout, DropoutScope};
use couplet_tensor::{Device, Params, SequenceLayout};
use std::collections::{BTreeMap, BTreeSet, HashSet};

fn seq2seq(config: &str) -> (Params, Seq2Seq) {
    let config: ModelConfig = toml::from_str(config).unwrap_or_else(|error| panic!("{config}: {error}"));
    let mut params = Params::new(&Device::cpu(), 3);
    let model = Seq2Seq::new(&mut params, &config, 9, 9).expect("a valid config");
    (params, model)
}

/// The paths of a model that are no parameters'.
fn sites(params: &Params) -> String {
    let sites: BTreeSet<&str> =
        params.streams().map(|(path, _)| path).filter(|path| params.find(path).is_none()).collect();
    sites.into_iter().collect::<Vec<_>>().join(" ")
}

#[test]
fn sites_of_a_recurrent_model() {
    let config = "[encoder]\nhidden = 4\nlayers = 2\nembedding = 4\nresidual_from = 2\n\
                  [decoder]\nhidden = 8\nlayers = 3\nembedding = 8\nresidual_from = 2\n\
                  [attention]\nquery_layer = 'first'\nsize = 4";
    let paths = "decoder.embedding.dropout decoder.l0.dropout decoder.l1.dropout \
                 decoder.l1.stochastic_depth decoder.l2.stochastic_depth decoder.output.dropout \
                 encoder.embedding.dropout encoder.l0.dropout encoder.l1.dropout encoder.l1.stochastic_depth";
    assert_eq!(sites(&seq2seq(config).0), paths);
}

const TRANSFORMER: &str = "[encoder]\nkind = 'transformer'\nhidden = 4\nembedding = 4\nheads = 1\nlayers = LAYERS\n\
                           [decoder]\nkind = 'transformer'\nhidden = 4\nembedding = 4\nheads = 1\nlayers = LAYERS";

#[test]
fn sites_of_a_transformer() {
    let paths = "decoder.embedding.dropout decoder.layers.0.dropout decoder.layers.0.dropout1 \
                 decoder.layers.0.dropout2 decoder.layers.0.dropout3 encoder.embedding.dropout \
                 encoder.layers.0.dropout encoder.layers.0.dropout1 encoder.layers.0.dropout2";
    assert_eq!(sites(&seq2seq(&TRANSFORMER.replace("LAYERS", "1")).0), paths);
}

#[test]
fn sites_of_models_without_recurrence() {
    let convolution = "[encoder]\nkind = 'conv'\nhidden = 4\nembedding = 4\nlayers = 2\n\
                       [decoder]\nkind = 'conv'\nhidden = 4\nembedding = 4\nlayers = 1";
    let paths = "decoder.embedding.dropout decoder.layers.0.dropout decoder.output.dropout \
                 encoder.embedding.dropout encoder.layers.0.dropout encoder.layers.1.dropout";
    assert_eq!(sites(&seq2seq(convolution).0), paths);
    let attention = "[encoder]\nkind = 'self-attention'\nhidden = 4\nembedding = 4\nlayers = 1\n\
                     [decoder]\nkind = 'attention'\nhidden = 4\nembedding = 4";
    let paths =
        "decoder.embedding.dropout decoder.output.dropout encoder.embedding.dropout encoder.layers.0.dropout";
    assert_eq!(sites(&seq2seq(attention).0), paths);
}

/// A one-hot token has no values to drop.
#[test]
fn sites_of_a_classifier() {
    let reader = "encoder = { kind = 'gru', hidden = 4, layers = 1, input = 'one-hot' }";
    let config: ClassifierConfig = toml::from_str(reader).expect("a config");
    let mut params = Params::new(&Device::cpu(), 3);
    Classifier::new(&mut params, &config, 9, 0, 2).expect("a valid config");
    assert_eq!(sites(&params), "classifier.dropout encoder.l0.dropout");
}

/// The first 30 values of a mask would be the same by chance once in 2³⁰.
#[test]
fn no_two_sites_of_a_deep_model_have_one_mask() {
    let (params, _) = seq2seq(&TRANSFORMER.replace("LAYERS", "30"));
    let rows = SequenceLayout::new(&[3, 2]);
    let masks = params.streams().map(|(_, stream)| {
        let how = Dropout { rate: 0.5, seed: 1, update: 2, stream, scope: DropoutScope::Element };
        mask(&rows, 40, how).into_iter().map(f64::to_bits).collect::<Vec<u64>>()
    });
    let masks: Vec<Vec<u64>> = masks.collect();
    assert_eq!(masks.len(), params.iter().count() + 2 + 30 * 3 + 30 * 4);
    assert_eq!(masks.iter().collect::<HashSet<_>>().len(), masks.len());
}

/// What a model has besides, a reader that is a language model's or a decoder that copies, changes no weight of what both have.
#[test]
fn a_parameter_has_the_same_values_in_every_model() {
    let encoder = "{ kind = 'lstm', hidden = 4, layers = 2, embedding = 5, bidirectional = false }";
    let weights = |params: &Params| -> BTreeMap<String, Vec<f32>> {
        params.iter().map(|param| (params.name(param).to_owned(), params.tensor(param).to_vec())).collect()
    };
    let translating = |decoder: &str| {
        weights(&seq2seq(&format!("encoder = {encoder}\n[decoder]\nhidden = 4\nembedding = 3\n{decoder}")).0)
    };
    let plain = translating("");
    let copying = translating("copy = true");
    let config: LanguageModelConfig = toml::from_str(&format!("encoder = {encoder}")).expect("a config");
    let mut params = Params::new(&Device::cpu(), 3);
    LanguageModel::new(&mut params, &config, 9).expect("a valid config");
    let language = weights(&params);
    assert!(plain.iter().all(|(name, values)| copying[name] == *values));
    let shared: Vec<_> = plain.iter().filter(|(name, _)| language.contains_key(*name)).collect();
    assert_eq!(shared.len(), 7, "the vectors, and three weights of each layer");
    assert!(shared.into_iter().all(|(name, values)| language[name] == *values));
}
