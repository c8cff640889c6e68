//! What a search does not ask for is not copied to the host: attention weights and whole distributions.

use crate::fixture::Fixture;
use couplet_data::{Tokenizer, TokenizerConfig};
use couplet_nn::{LanguageModel, LanguageModelConfig, ModelConfig};
use couplet_search::{LoadedLanguageModel, Method, SearchConfig, Translator, Unknown};
use couplet_tensor::{Device, Params, profile};

const LINES: [&str; 3] = ["Tom chases Jerry", "the cat sees the dog in the garden", "Jerry"];

/// The number of tensors that are copied to the host.
fn copies_to_host(run: impl FnOnce()) -> u64 {
    profile::start();
    run();
    profile::stop().iter().filter(|op| op.name == "to_host").map(|op| op.calls).sum()
}

/// Of a recurrent model and of a Transformer.
fn fixtures() -> [Fixture; 2] {
    let texts = [
        "encoder = { hidden = 6, embedding = 5 }\ndecoder = { hidden = 12, embedding = 5 }",
        "encoder = { kind = 'transformer', hidden = 8, embedding = 8 }\n\
         decoder = { kind = 'transformer', hidden = 8, embedding = 8 }",
    ];
    texts.map(|text| {
        let config: ModelConfig = toml::from_str(text).expect("a model");
        Fixture::new(&LINES, &LINES, &config)
    })
}

#[test]
fn plain_translation_copies_neither_attention_nor_distributions() {
    for fixture in fixtures() {
        let config = |beam_size| SearchConfig { beam_size, ..SearchConfig::default() };
        for beam_size in [1, 5] {
            let plain = copies_to_host(|| drop(fixture.translator().translate(&LINES, &config(beam_size))));
            assert_eq!(plain, 0, "with a beam of {beam_size}");
        }
        let attending = Translator { attention: true, ..fixture.translator() };
        assert!(copies_to_host(|| drop(attending.translate(&LINES, &config(5)))) > 0);
        let copied = SearchConfig { unknown: Unknown::Copy, ..config(5) };
        assert!(copies_to_host(|| drop(fixture.translator().translate(&LINES, &copied))) > 0);
        let sampled = SearchConfig { method: Method::Sample, ..config(1) };
        assert!(copies_to_host(|| drop(fixture.translator().translate(&LINES, &sampled))) > 0);
    }
}

/// The prompts are scored token by token, in one forward pass: one copy, however long the continuations are.
#[test]
fn generation_copies_the_scores_of_the_prompts_alone() {
    let tokenizer = Tokenizer::train(&TokenizerConfig::default(), LINES).expect("some words");
    let config: LanguageModelConfig =
        toml::from_str("encoder = { hidden = 6, embedding = 5, bidirectional = false }").expect("a model");
    let mut params = Params::new(&Device::cpu(), 5);
    let model =
        LanguageModel::new(&mut params, &config, tokenizer.vocabulary_size()).expect("a valid config");
    for tokens in [8, 20] {
        let search = SearchConfig { max_length: Some(tokens), ..SearchConfig::default() };
        let loaded = LoadedLanguageModel {
            tokenizer: tokenizer.clone(),
            max_tokens: 50,
            model: model.clone(),
            params,
            search,
        };
        let copies = copies_to_host(|| {
            for found in loaded.go_on(&LINES, 0, &loaded.search) {
                assert!(!found.expect("an output").is_empty());
            }
        });
        assert_eq!(copies, 1, "up to {tokens} tokens");
        params = loaded.params;
    }
}
