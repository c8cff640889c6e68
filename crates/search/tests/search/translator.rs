//! Text in, text out, with a model that has learned nothing: what it writes is nonsense, but always the same nonsense.

use crate::fixture::Fixture;
use couplet_nn::{AttentionConfig, LocalKind, ModelConfig, QueryKind};
use couplet_search::{
    CoupletConfig, Method, Request, SearchConfig, Shown, TargetLengths, Translator, broken_rules,
};

const ENGLISH: [&str; 4] = ["Tom chases Jerry", "the cat sees the dog in the garden", "", "Jerry"];
const CHINESE: [&str; 2] = ["汤姆 追逐 杰瑞", "花园 里 的 猫 看见 狗"];

const CHARACTERS: &str = "天 星 明 月 人 水 风 雨 山 路 花 鸟 春 夜 长 ， 。";

fn fixture() -> Fixture {
    with_heads(1)
}

fn with_heads(heads: usize) -> Fixture {
    of(&ENGLISH, &CHINESE, heads)
}

/// With the words of some lines.
fn of(source: &[&str], target: &[&str], heads: usize) -> Fixture {
    let attention = AttentionConfig { heads, ..AttentionConfig::default() };
    with_attention(source, target, attention)
}

fn with_attention(source: &[&str], target: &[&str], attention: AttentionConfig) -> Fixture {
    let mut config = ModelConfig { attention, ..ModelConfig::default() };
    (config.encoder.hidden, config.decoder.hidden) = (12.into(), 24);
    Fixture::new(source, target, &config)
}

#[test]
fn batches_and_order_change_nothing() {
    let fixture = fixture();
    let translator = Translator { attention: true, ..fixture.translator() };
    for beam in [1, 4] {
        let config = |batch_tokens| SearchConfig { beam_size: beam, batch_tokens, ..SearchConfig::default() };
        let together = translator.translate(&ENGLISH, &config(1024));
        assert_eq!(together, translator.translate(&ENGLISH, &config(1)));
        for (line, translation) in ENGLISH.iter().zip(&together) {
            assert_eq!(&translator.translate(&[line], &config(1024))[0], translation);
            assert_eq!(translation.attention.len(), translation.target_tokens.len());
            assert!(translation.attention.iter().all(|row| row.len() == translation.source_tokens.len()));
        }
        assert_eq!(together[2].text, "", "an empty line stays empty");
        let plain = fixture.translator().translate(&ENGLISH, &config(1024));
        assert!(plain.iter().all(|translation| translation.attention.is_empty()), "only where it is needed");
    }
}

/// A forced target has the score that the search gives the same output, where that output has an end.
#[test]
fn a_forced_target_has_the_score_of_the_search() {
    let fixture = fixture();
    let translator = fixture.translator();
    let config = SearchConfig { beam_size: 4, ..SearchConfig::default() };
    for line in ["Tom chases Jerry", "Jerry"] {
        let found = &translator.translate(&[line], &config)[0];
        let forced = translator.forced_decode(line, &found.text);
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
    let fixture = with_heads(2);
    let forced = |head| {
        let translator = Translator { shown: Shown { head, ..Shown::default() }, ..fixture.translator() };
        translator.forced_decode("Tom chases Jerry", "汤姆 追逐 杰瑞").attention.concat()
    };
    let (mean, first, second) = (forced(None), forced(Some(0)), forced(Some(1)));
    assert_eq!(mean.len(), 9);
    assert_ne!(first, second);
    for (mean, (first, second)) in mean.iter().zip(first.iter().zip(&second)) {
        assert!((mean - (first + second) / 2.0).abs() < 1e-6);
    }
}

/// Whatever the line, a model that knows nothing keeps the rules of couplets, or says why it cannot.
#[test]
fn the_rules_of_couplets_are_kept() {
    let fixture = of(&[CHARACTERS], &[CHARACTERS], 1);
    let lines = [
        "风 雨 山 路 花 鸟 春",
        "山 山 水 水 ， 明 明 月 月",
        "龙 飞 凤 舞 。",
        "， 。",
        "长 长 长 ， 长 长",
        "天 星 明 月 人 水 风 雨 山 路 花 鸟 春 夜",
    ];
    let requests = lines.map(Request::of);
    for tones in ["last", "ends", "even", "1,2,-1"] {
        let couplet = CoupletConfig { tones: tones.parse().expect("places"), ..CoupletConfig::all() };
        for method in [Method::Beam, Method::Sample] {
            let config =
                SearchConfig { method, couplet: couplet.clone(), beam_size: 3, ..SearchConfig::default() };
            let answers = fixture.translator().answer(&requests, &config);
            for (line, answer) in lines.iter().zip(&answers).take(5) {
                let second = &answer.outputs[0].target_tokens;
                let broken = broken_rules(&couplet, &fixture.source.tokens(line), second);
                assert!(broken.is_empty(), "{line} / {second:?}: {broken:?}");
            }
            assert!(
                answers[5].outputs.is_empty() && answers[5].rejected.is_some(),
                "one character is left for 14 places"
            );
        }
    }
}

/// What a target is worth, token by token, is what the search found it to be worth, also where a hypothesis takes along what it has looked at.
/// The rules of couplets see to it that the outputs of a model that knows nothing are of known words, and end.
#[test]
fn scores_are_those_of_the_search() {
    let plain = AttentionConfig::default();
    check_scores(plain.clone());
    for query in [QueryKind::Current, QueryKind::Previous] {
        check_scores(AttentionConfig { query, coverage: true, ..plain.clone() });
        let local = Some(LocalKind::Predictive);
        check_scores(AttentionConfig { query, coverage: true, local, window: Some(2), ..plain.clone() });
    }
}

fn check_scores(attention: AttentionConfig) {
    let mut fixture = with_attention(&[CHARACTERS], &[CHARACTERS], attention);
    // What was looked at counts so much that hypotheses which took another one's along would be worth something else.
    let coverage = fixture.params.iter().find(|&param| fixture.params.name(param) == "attention.coverage");
    if let Some(param) = coverage {
        let numbers = vec![4.0; fixture.params.tensor(param).columns()];
        fixture.params.set(param, &numbers);
    }
    let translator = fixture.translator();
    let couplet = CoupletConfig::all();
    let config =
        SearchConfig { length_penalty: 0.0, n_best: 4, beam_size: 4, couplet, ..SearchConfig::default() };
    let lines = ["风 雨 山 路 花 鸟 春", "山 山 水 水 ， 明 明 月 月"];
    let answers = translator.answer(&lines.map(Request::of), &config);
    let outputs = || {
        lines.iter().zip(&answers).flat_map(|(line, answer)| answer.outputs.iter().map(move |o| (line, o)))
    };
    let pairs: Vec<(&str, &str)> = outputs().map(|(line, output)| (*line, output.text.as_str())).collect();
    let scored = translator.score(&pairs);
    assert_eq!(scored.len(), 8);
    for (scored, (_, output)) in scored.iter().zip(outputs()) {
        let tokens = [&output.target_tokens[..], &["</s>".to_owned()]].concat();
        assert_eq!((&scored.tokens, output.score), (&tokens, output.log_probability));
        assert!((scored.log_probability() - output.log_probability).abs() < 1e-4);
    }
    assert!(translator.score(&[("", "天")])[0].tokens.is_empty());
}

/// A network with itself is the network.
#[test]
fn an_ensemble_of_the_same_model_changes_nothing() {
    let (one, others) = (fixture(), [fixture().into_loaded()]);
    let config = SearchConfig { beam_size: 3, ..SearchConfig::default() };
    let alone = one.translator().translate(&ENGLISH, &config);
    let together = Translator { others: &others, ..one.translator() }.translate(&ENGLISH, &config);
    for (alone, together) in alone.iter().zip(&together) {
        assert_eq!(alone.text, together.text);
        assert!((alone.score - together.score).abs() < 1e-4);
    }
}

/// The source has one token: the one model allows 10 + 2 · 1 = 12, the other 10 + 2 · min(15, 15 · 1) = 40.
#[test]
fn an_ensemble_has_the_larger_limit() {
    let (one, mut other) = (fixture(), fixture().into_loaded());
    let config = SearchConfig { beam_size: 1, min_length: 20, ..SearchConfig::default() };
    let answer = |translator: Translator| translator.answer(&[Request::of("Jerry")], &config).remove(0);
    let alone = answer(one.translator());
    assert_eq!(alone.rejected.as_deref(), Some("at least 20 tokens are asked for, and at most 12"));
    other.search.target_lengths = TargetLengths { longest: 15, largest_ratio: 15.0 };
    let together = answer(Translator { others: &[other], ..one.translator() });
    assert!((20..=40).contains(&together.outputs[0].target_tokens.len()), "{together:?}");
}
