//! What a source costs, as it grows: the time to read it, to write some tokens, and to learn from it.

use couplet_data::random::Random;
use couplet_data::{END, SPECIAL, START, Tokenizer, UNK};
use couplet_nn::{Batch, ForwardPass, LabeledBatch, PackedTokens, Training};
use couplet_search::{
    AutoregressiveModel, Loaded, LoadedClassifier, Network, Rules, ScoreRequest, SearchInput, Shown,
    StepRequest, TokenScores,
};
use couplet_tensor::{Params, Tape, Var};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

/// Tokens of the sources.
const LENGTHS: [usize; 6] = [5, 10, 20, 40, 80, 160];
/// Tokens that are written, whatever the source.
pub(crate) const WRITTEN: usize = 20;
/// Each time is taken so often; the least counts, as what else the machine does only adds to it.
const TIMES: usize = 5;

/// The times of sources of one length, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Tokens of the source.
    pub tokens: usize,
    /// To read it; of a classifier, with its label.
    pub reading: f64,
    /// To write 20 tokens; none for a classifier.
    pub writing: Option<f64>,
    /// Forwards and back, for a target of 20 tokens or a label.
    pub learning: f64,
}

impl Cost {
    /// Measures a translator, with so many sources at a time.
    pub(crate) fn of_translator(loaded: &mut Loaded, count: usize) -> Vec<Cost> {
        let vocabularies = [&loaded.source, &loaded.target].map(Tokenizer::vocabulary_size);
        let mut random = Random::new(1);
        LENGTHS
            .into_iter()
            .map(|tokens| {
                let sources = sequences(count, tokens, vocabularies[0], &mut random);
                let targets = sequences(count, WRITTEN, vocabularies[1], &mut random);
                let sources: Vec<&[u32]> = sources.iter().map(Vec::as_slice).collect();
                let pairs: Vec<(&[u32], &[u32])> =
                    sources.iter().copied().zip(targets.iter().map(Vec::as_slice)).collect();
                // What a model that copies can copy.
                let copied = loaded
                    .model
                    .supports_copy()
                    .then(|| sequences(count, tokens, vocabularies[1], &mut random));
                let copied: Option<Vec<&[u32]>> =
                    copied.as_ref().map(|copied| copied.iter().map(Vec::as_slice).collect());
                let (reading, writing) = searched(loaded, &sources, copied.as_deref());
                let batch = Batch::new(&pairs, &numbers(count), START, END);
                let batch = match &copied {
                    Some(copied) => batch.copying(copied, vocabularies[1], UNK),
                    None => batch,
                };
                let learning = learned(&loaded.model, &mut loaded.params, |model, pass| {
                    model.loss(pass, &batch, 0.0).mean
                });
                Cost { tokens, reading, writing: Some(writing), learning }
            })
            .collect()
    }

    /// Measures a classifier, with the lengths that it has room for and so many texts at a time.
    pub(crate) fn of_classifier(loaded: &mut LoadedClassifier, count: usize) -> Vec<Cost> {
        let vocabulary = loaded.tokenizer.vocabulary_size();
        let mut random = Random::new(1);
        LENGTHS
            .into_iter()
            .filter(|&tokens| tokens <= loaded.cut.tokens)
            .map(|tokens| {
                let texts = sequences(count, tokens, vocabulary, &mut random);
                let texts: Vec<&[u32]> = texts.iter().map(Vec::as_slice).collect();
                let packed = PackedTokens::new(&texts, &numbers(count));
                let beside = vec![0.0; count * loaded.features.width()];
                let reading = least(|| {
                    let pass = ForwardPass::inference(&loaded.params);
                    drop(loaded.model.log_probabilities(&pass, &packed, &beside));
                });
                let batch = LabeledBatch::new(&texts, &vec![0; count], &numbers(count)).with_features(beside);
                let learning = learned(&loaded.model, &mut loaded.params, |model, pass| {
                    model.loss(pass, &batch, 0.0).mean
                });
                Cost { tokens, reading, writing: None, learning }
            })
            .collect()
    }
}

/// The numbers of the sources.
fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).collect()
}

/// Random tokens, none of them special where there are others.
fn sequences(count: usize, tokens: usize, vocabulary: usize, random: &mut Random) -> Vec<Vec<u32>> {
    let first = SPECIAL.len().min(vocabulary - 1);
    let mut token = || (first + random.below(vocabulary - first)) as u32;
    (0..count).map(|_| (0..tokens).map(|_| token()).collect()).collect()
}

/// The times to encode sources, and to generate tokens by a greedy search that does not end.
fn searched(loaded: &Loaded, sources: &[&[u32]], copied: Option<&[&[u32]]>) -> (f64, f64) {
    let network = Network { model: &loaded.model, params: &loaded.params, shown: Shown::default() };
    let (device, config) = (loaded.params.device(), Arc::new(loaded.search.clone()));
    let input = |i: usize| SearchInput {
        copy: copied.map_or_else(Arc::default, |copied| copied[i].into()),
        ..SearchInput::new(sources[i], Rules::default(), Arc::clone(&config))
    };
    let inputs: Vec<SearchInput> = (0..sources.len()).map(input).collect();
    let inputs: Vec<&SearchInput> = inputs.iter().collect();
    let reading = least(|| {
        drop(network.init(&inputs));
        device.synchronize();
    });
    let (started, _) = network.init(&inputs);
    let request = StepRequest { scores: vec![ScoreRequest::TopK(1); sources.len()], attention: false };
    let writing = least(|| {
        let mut state = network.select(&started, &numbers(sources.len()));
        let mut last = vec![START; sources.len()];
        for _ in 0..WRITTEN {
            let step = network.step(&last, &state, &request);
            last = step.scores.iter().map(best_token).collect();
            state = step.state;
        }
    });
    (reading, writing)
}

/// The most probable token; the end where there is none.
fn best_token(scores: &TokenScores) -> u32 {
    let TokenScores::TopK(best) = scores else { unreachable!("the top k were requested") };
    best.first().map_or(END, |&(token, _)| token)
}

/// The time of a loss and its gradients.
fn learned<M>(model: &M, params: &mut Params, loss: impl Fn(&M, &ForwardPass) -> Var) -> f64 {
    least(|| {
        let tape = Tape::new();
        let training = Training { tape: &tape, seed: 1, update: 1 };
        let loss = loss(model, &ForwardPass::training(params, training));
        tape.backward(&loss, params);
        params.zero_gradients();
        params.device().synchronize();
    })
}

/// The least time of several, in milliseconds, after one that does not count.
fn least(mut work: impl FnMut()) -> f64 {
    work();
    let times = (0..TIMES).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64() * 1e3
    });
    times.fold(f64::INFINITY, f64::min)
}

/// The line `a + b·x` with the least squared distances from points: `a` and `b`. None for fewer than two places.
pub(crate) fn line_through(points: &[[f64; 2]]) -> Option<[f64; 2]> {
    let count = points.len() as f64;
    let mean = |i: usize| points.iter().map(|point| point[i]).sum::<f64>() / count;
    let (x, y) = (mean(0), mean(1));
    let squares: f64 = points.iter().map(|point| (point[0] - x).powi(2)).sum();
    let products: f64 = points.iter().map(|point| (point[0] - x) * (point[1] - y)).sum();
    (squares > 0.0).then(|| [y - products / squares * x, products / squares])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 + 2x goes through all its points; of (0, 0), (1, 2) and (2, 1) the slope is 0.5, through the means 1 and 1.
    #[test]
    fn lines_by_hand() {
        assert_eq!(line_through(&[[0.0, 3.0], [1.0, 5.0], [5.0, 13.0]]), Some([3.0, 2.0]));
        assert_eq!(line_through(&[[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]]), Some([0.5, 0.5]));
        assert_eq!(line_through(&[[1.0, 2.0]]), None);
        assert_eq!(line_through(&[]), None);
    }

    #[test]
    fn random_sources_have_no_special_tokens() {
        let sources = sequences(5, 7, 6, &mut Random::new(3));
        assert_eq!(sources.len(), 5);
        assert!(sources.iter().all(|source| source.len() == 7));
        assert!(sources.iter().flatten().all(|&token| (4..6).contains(&token)));
    }
}
