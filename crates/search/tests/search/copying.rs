//! Copying, with models that have learned nothing: what is written step by step is what a whole sequence would be.

use crate::fixture::Fixture;
use couplet_data::SourceWords;
use couplet_nn::ModelConfig;
use couplet_search::{
    AutoregressiveModel, Network, Request, Rules, ScoreRequest, SearchConfig, SearchInput, Shown,
    StepRequest, TokenScores, Translator, Unknown,
};

/// The last three lines have words that no vocabulary has, one of them so many that rows are wider beside it.
const SOURCES: [&str; 5] =
    ["call Tom now", "Tom", "please call Zoe at 48213", "Zoe Zoe Ann Zoe", "a b c d e f g h i j k l m n o p"];
const SETTINGS: [&str; 6] = [
    "",
    "kind = 'gru'\nreadout = 'state'",
    "layers = 2\n[attention]\nheads = 2\nquery = 'previous'",
    "[attention]\ninput_feeding = 'none'\nscore = 'general'\n[context]\nto = 'every_step'",
    "layers = 3\nresidual_from = 2\n[attention]\ncoverage = true\nquery_layer = 'first'",
    "kind = 'transformer'\nembedding = 6\nheads = 2",
];

/// A translator of such lines that copies, or one that does not.
fn fixture(settings: &str, copy: bool) -> Fixture {
    let text =
        format!("[encoder]\nhidden = 6\nlayers = 1\n[decoder]\nhidden = 10\ncopy = {copy}\n{settings}");
    let config: ModelConfig = toml::from_str(&text).expect("a sound config");
    Fixture::new(&["please call Tom now", "Tom"], &["Tom is called now"], &config)
}

/// The log-probability of each token of a target, the end included, step by step.
fn by_steps(fixture: &Fixture, line: &str, target: &str) -> Vec<f32> {
    let Fixture { model, params, source, target: target_tokenizer } = fixture;
    let words = SourceWords::new(line, source, target_tokenizer);
    let network = Network { model, params, shown: Shown::default() };
    let input = SearchInput::new(source.encode(line), Rules::default(), SearchConfig::default().into());
    let input = SearchInput { copy: words.ids().into(), ..input };
    let (start, end) = network.bos_eos();
    let (mut state, mut last) = (network.init(&[&input]).0, start);
    let request = StepRequest { scores: vec![ScoreRequest::All], attention: false };
    let tokens = words.encode(target, target_tokenizer).into_iter().chain([end]);
    let step = |token: u32| {
        let step = network.step(&[last], &state, &request);
        let TokenScores::All(of_all) = &step.scores[0] else { panic!("all scores were requested") };
        let sum: f32 = of_all.iter().map(|log_p| log_p.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "probabilities add up to {sum}");
        let log_p = of_all[token as usize];
        (state, last) = (step.state, token);
        log_p
    };
    tokens.map(step).collect()
}

#[test]
fn steps_equal_the_sequence() {
    for settings in SETTINGS {
        let fixture = fixture(settings, true);
        for (line, target) in
            [("please call Zoe", "Zoe is called"), ("Ann Tom Zoe Ann", "now Ann Tom Zoe Bob")]
        {
            let scored = fixture.translator().score(&[(line, target)]).remove(0);
            let expected = by_steps(&fixture, line, target);
            let near = scored.log_probabilities.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4);
            assert!(near && scored.tokens.len() == expected.len(), "{settings}: {scored:?}, {expected:?}");
        }
    }
}

#[test]
fn batches_and_order_change_nothing() {
    for settings in SETTINGS {
        let fixture = fixture(settings, true);
        let translator = fixture.translator();
        for beam in [1, 4] {
            let config =
                |batch_tokens| SearchConfig { beam_size: beam, batch_tokens, ..SearchConfig::default() };
            let together = translator.translate(&SOURCES, &config(1024));
            assert_eq!(together, translator.translate(&SOURCES, &config(1)), "{settings}");
        }
    }
}

/// A model that copies with itself is the model, and copies.
#[test]
fn an_ensemble_copies() {
    for settings in SETTINGS {
        let (one, others) = (fixture(settings, true), [fixture(settings, true).into_loaded()]);
        let config = SearchConfig { beam_size: 3, unknown: Unknown::Avoid, ..SearchConfig::default() };
        let alone = one.translator().translate(&SOURCES, &config);
        let together = Translator { others: &others, ..one.translator() }.translate(&SOURCES, &config);
        for (alone, together) in alone.iter().zip(&together) {
            assert_eq!(alone.text, together.text, "{settings}");
            assert!((alone.score - together.score).abs() < 1e-4, "{settings}");
        }
    }
}

/// A prefix may have a word of the source that the vocabulary does not have, and none that neither has.
#[test]
fn a_prefix_can_be_copied() {
    let fixture = fixture("", true);
    let asked = |prefix| Request { line: "please call Zoe", prefix, ..Request::default() };
    let config = SearchConfig { max_length: Some(4), ..SearchConfig::default() };
    let answers = fixture.translator().answer(&[asked("Zoe now"), asked("Ann")], &config);
    assert!(answers[0].outputs[0].text.starts_with("Zoe now"), "{answers:?}");
    assert_eq!(answers[0].outputs[0].target_tokens[0], "Zoe");
    assert_eq!(answers[0].outputs[0].source_tokens[2], "Zoe");
    assert_eq!(answers[1].rejected.as_deref(), Some("the vocabulary does not have \"Ann\""));
}

/// Where it is asked for, each token comes with how probable it was that it is copied.
#[test]
fn the_probability_of_copying_is_shown() {
    let shown = Shown { copying: true, ..Shown::default() };
    for copy in [true, false] {
        let fixture = fixture("", copy);
        let translator = Translator { shown, ..fixture.translator() };
        let forced = translator.forced_decode("please call Zoe", "Tom is called");
        assert_eq!(forced.copying.len(), if copy { 3 } else { 0 });
        assert!(forced.copying.iter().all(|p| (0.01..0.99).contains(p)), "{:?}", forced.copying);
        let written = translator.translate(&["please call Zoe"], &SearchConfig::default()).remove(0);
        assert_eq!(written.copying.len(), if copy { written.target_tokens.len() } else { 0 });
        assert!(fixture.translator().forced_decode("please call Zoe", "Tom").copying.is_empty());
    }
}

/// Nothing is unknown where that is avoided, sampled or not; a model that does not copy has nothing behind its vocabulary.
#[test]
fn constraints_and_samples_know_the_words_of_the_source() {
    for copy in [true, false] {
        let fixture = fixture("", copy);
        for method in ["beam", "sample"] {
            let config: SearchConfig = toml::from_str(&format!(
                "method = '{method}'\nunknown = 'avoid'\nno_repeat_ngram = 1\nn_best = 3"
            ))
            .expect("a sound config");
            assert_eq!(config.unknown, Unknown::Avoid);
            for answer in fixture.translator().answer(&SOURCES.map(Request::of), &config) {
                for output in answer.outputs {
                    let mut tokens = output.target_tokens.clone();
                    tokens.sort();
                    tokens.dedup();
                    assert_eq!(tokens.len(), output.target_tokens.len(), "{output:?}");
                    let strange = ["Zoe", "Ann", "48213", "please", "call"].map(str::to_owned);
                    assert!(copy || !tokens.iter().any(|token| strange.contains(token)), "{output:?}");
                }
            }
        }
    }
}
