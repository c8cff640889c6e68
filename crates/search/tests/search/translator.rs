//! Text in, text out, with a model that has learnt nothing: what it writes is nonsense, but always the same nonsense.

use couplet_data::{Tokenizer, TokenizerConfig};
use couplet_nn::{ModelConfig, Seq2Seq};
use couplet_search::{SearchConfig, Shown, Translator};
use couplet_tensor::{Device, Params};

const ENGLISH: [&str; 4] = ["Tom chases Jerry", "the cat sees the dog in the garden", "", "Jerry"];
const CHINESE: [&str; 2] = ["汤姆 追逐 杰瑞", "花园 里 的 猫 看见 狗"];

struct Fixture {
    params: Params,
    model: Seq2Seq,
    source: Tokenizer,
    target: Tokenizer,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::with_heads(1)
    }

    fn with_heads(heads: usize) -> Fixture {
        let tokenizer =
            |lines: &[&str]| Tokenizer::train(&TokenizerConfig::default(), lines).expect("some words");
        let (source, target) = (tokenizer(&ENGLISH), tokenizer(&CHINESE));
        let mut config = ModelConfig::default();
        (config.encoder.hidden, config.decoder.hidden) = (12.into(), 24);
        config.attention.heads = heads;
        let mut params = Params::new(&Device::cpu(), 5);
        let model = Seq2Seq::new(&mut params, &config, source.vocabulary_size(), target.vocabulary_size());
        Fixture { model: model.expect("a sound config"), params, source, target }
    }

    fn translator(&self) -> Translator<'_> {
        Translator {
            model: &self.model,
            params: &self.params,
            source: &self.source,
            target: &self.target,
            shown: Shown::default(),
        }
    }
}

#[test]
fn batches_and_order_change_nothing() {
    let fixture = Fixture::new();
    let translator = fixture.translator();
    for beam in [1, 4] {
        let config = |batch_tokens| SearchConfig { beam, batch_tokens, ..SearchConfig::default() };
        let together = translator.translate(&ENGLISH, &config(1024));
        assert_eq!(together, translator.translate(&ENGLISH, &config(1)));
        for (line, translation) in ENGLISH.iter().zip(&together) {
            assert_eq!(&translator.translate(&[line], &config(1024))[0], translation);
            assert_eq!(translation.attention.len(), translation.target_tokens.len());
            assert!(translation.attention.iter().all(|row| row.len() == translation.source_tokens.len()));
        }
        assert_eq!(together[2].text, "", "an empty line stays empty");
    }
}

/// A forced target has the score that the search gives the same output, where that output has an end.
#[test]
fn a_forced_target_has_the_score_of_the_search() {
    let fixture = Fixture::new();
    let translator = fixture.translator();
    let config = SearchConfig { beam: 4, ..SearchConfig::default() };
    for line in ["Tom chases Jerry", "Jerry"] {
        let found = &translator.translate(&[line], &config)[0];
        let forced = translator.force(line, &found.text);
        let limit = config.limit(found.source_tokens.len());
        if found.target_tokens.len() < limit && forced.target_tokens == found.target_tokens {
            assert!((found.score - forced.score).abs() < 1e-4, "{} and {}", found.score, forced.score);
        }
        assert_eq!(forced.source_tokens, found.source_tokens);
    }
}

/// What is shown of two heads is one of them, or their mean.
#[test]
fn heads_are_shown_one_by_one_or_as_their_mean() {
    let fixture = Fixture::with_heads(2);
    let forced = |head| {
        let translator = Translator { shown: Shown { layer: None, head }, ..fixture.translator() };
        translator.force("Tom chases Jerry", "汤姆 追逐 杰瑞").attention.concat()
    };
    let (mean, first, second) = (forced(None), forced(Some(0)), forced(Some(1)));
    assert_eq!(mean.len(), 9);
    assert_ne!(first, second);
    for (mean, (first, second)) in mean.iter().zip(first.iter().zip(&second)) {
        assert!((mean - (first + second) / 2.0).abs() < 1e-6);
    }
}
