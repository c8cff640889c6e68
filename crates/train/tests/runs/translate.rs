//! A whole run, on a task that is learnt in seconds: to write a word's letters backwards.

use couplet_data::Pair;
use couplet_data::random::Random;
use couplet_search::{Folder, Loaded, Translator};
use couplet_tensor::profile::Way;
use couplet_tensor::{Device, Isa};
use couplet_train::{Config, Corpus, Event, Reason, TrainError, Trained, Trainer, measure};
use std::sync::atomic::{AtomicBool, Ordering};

fn pairs(seed: u64, count: usize) -> Vec<Pair> {
    let mut random = Random::new(seed);
    let mut pair = || {
        let word: Vec<char> =
            (0..2 + random.below(4)).map(|_| char::from(b'a' + random.below(6) as u8)).collect();
        Pair { source: word.iter().collect(), target: word.iter().rev().collect() }
    };
    (0..count).map(|_| pair()).collect()
}

fn config(overrides: &[&str]) -> Config {
    let text = "
        task = 'translate'
        [data]
        train = 'unused.tsv'
        valid = 'unused.tsv'
        source.kind = 'char'
        target.kind = 'char'
        [model]
        encoder = { layers = 1, hidden = 24, embedding = 16, dropout = 0.0 }
        attention.size = 16
        decoder = { layers = 1, hidden = 48, embedding = 16, dropout = 0.0 }
        [train]
        epochs = 12
        batch_tokens = 300
        rate = 0.01
        validate_every = 20
        label_smoothing = 0.0
        [search]
        beam = 2
    ";
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    Config::parse(text, "the test's config", &overrides).expect("a sound config")
}

fn run(
    config: Config,
    folder: Option<Folder>,
    observer: &mut dyn FnMut(&Event),
    stop: &AtomicBool,
) -> Result<Trained<Corpus>, TrainError> {
    let corpus = Corpus::new(&config.data, &pairs(1, 800), &pairs(2, 50))?;
    Trainer::new(config, corpus, &Device::cpu_with(1, Isa::detect()), folder)?.run(observer, stop)
}

#[test]
fn a_model_learns_is_saved_and_can_be_used() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path().join("model"));
    let mut losses = Vec::new();
    let mut observer = |event: &Event| {
        if let Event::Validation { loss, .. } = event {
            losses.push(*loss);
        }
    };
    let trained = run(config(&[]), Some(folder.clone()), &mut observer, &AtomicBool::new(false)).unwrap();
    assert!(losses[0] > 1.0 && trained.best_loss < 0.2, "{losses:?}");

    let loaded = Loaded::open(&folder, &Device::cpu()).unwrap();
    let words = ["abc", "fade", "bead"];
    let written = Translator::from(&loaded).translate(&words, &loaded.search);
    let backwards: Vec<String> = words.iter().map(|word| word.chars().rev().collect()).collect();
    assert_eq!(written.iter().map(|translation| translation.text.clone()).collect::<Vec<_>>(), backwards);
}

#[test]
fn a_run_can_be_stopped_without_loss() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path().join("model"));
    let stop = AtomicBool::new(false);
    let mut reason = None;
    let mut observer = |event: &Event| match event {
        Event::Step { update: 10, .. } => stop.store(true, Ordering::Relaxed),
        Event::End { reason: why, update, .. } => reason = Some((*why, *update)),
        _ => {}
    };
    run(config(&[]), Some(folder.clone()), &mut observer, &stop).unwrap();
    assert_eq!(reason, Some((Reason::Stopped, 10)));
    Loaded::open(&folder, &Device::cpu()).unwrap();
}

#[test]
fn a_run_stops_when_nothing_gets_better() {
    let mut reason = None;
    let mut observer = |event: &Event| {
        if let Event::End { reason: why, .. } = event {
            reason = Some(*why);
        }
    };
    // A rate this small changes nothing that can be measured, or changes it for the worse now and then.
    let config = config(&["train.rate=1e-30", "train.patience=2", "train.validate_every=1"]);
    let trained = run(config, None, &mut observer, &AtomicBool::new(false)).unwrap();
    assert_eq!((reason, trained.updates), (Some(Reason::Patience), 3));
}

#[test]
fn nothing_short_enough_to_learn_from_is_an_error() {
    let error = run(config(&["data.max_tokens=1"]), None, &mut |_| {}, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(error.to_string(), "no pair of the training data has at most 1 tokens on each side");
    assert_eq!(error.hint().as_deref(), Some("raise data.max_tokens"));
}

/// Six updates, and a quarter of them, two, once more with each operation counted: in an update two embeddings, two directions,
/// one scan, and four linear layers: keys, mix, and the bridge to both parts of the decoder's state.
#[test]
fn the_operations_of_an_update_are_counted() {
    let config = config(&[]);
    let corpus = Corpus::new(&config.data, &pairs(1, 800), &pairs(2, 50)).unwrap();
    let mut trainer = Trainer::new(config, corpus, &Device::cpu_with(1, Isa::detect()), None).unwrap();
    let measured = measure(&mut trainer, 6).unwrap();
    assert_eq!((measured.speed.updates, measured.profiled.updates), (6, 2));
    assert!(measured.speed.tokens > measured.profiled.tokens && measured.profiled.tokens > 0);
    let calls = |name: &str, way: Way| {
        let share = measured.shares.iter().find(|share| (share.name, share.way) == (name, way));
        share.map(|share| share.calls)
    };
    for way in [Way::Forward, Way::Back] {
        let counts =
            ["embedding", "recurrent", "scan", "linear", "cross_entropy"].map(|name| calls(name, way));
        assert_eq!(counts, [4, 4, 2, 8, 2].map(Some), "{way}");
    }
    assert_eq!([calls("adam", Way::Update), calls("adam", Way::Forward)], [Some(2), None]);
    let inside: f64 = measured.shares.iter().map(|share| share.seconds).sum();
    assert!(inside <= measured.profiled.seconds && measured.outside() >= 0.0);
}
