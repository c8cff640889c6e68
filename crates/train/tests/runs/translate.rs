//! A whole run, on a task that is learned in seconds: to write a word's letters backwards.

use couplet_data::Pair;
use couplet_data::random::Random;
use couplet_search::{Folder, Loaded, Translator};
use couplet_tensor::profile::Phase;
use couplet_tensor::{Device, Isa};
use couplet_train::{
    Config, Corpus, Event, Inherited, Reason, RunConfig, TrainError, Trained, Trainer, TrainingSet, measure,
};
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
        learning_rate = 0.01
        validate_every = 20
        label_smoothing = 0.0
        [search]
        beam_size = 2
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
    let corpus = Corpus::new(&config, Inherited::default(), &pairs(1, 800), &pairs(2, 50))?;
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

/// Words that are hidden and guesses that are read change what is learned; with a share of nothing, nothing changes. It still learns.
#[test]
fn what_is_read_can_be_made_worse() {
    let (plain, _) = weights_after(&[]);
    let without =
        ["model.encoder.word_dropout=0", "model.decoder.word_dropout=0", "train.scheduled_sampling=0"];
    assert_eq!(plain, weights_after(&without).0);
    for noise in
        ["model.encoder.word_dropout=0.2", "model.decoder.word_dropout=0.2", "train.scheduled_sampling=0.5"]
    {
        assert_ne!(plain, weights_after(&[noise]).0, "{noise}");
    }
    let all =
        ["model.encoder.word_dropout=0.05", "model.decoder.word_dropout=0.1", "train.scheduled_sampling=0.3"];
    let trained = run(config(&all), None, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    assert!(trained.best_loss < 0.5, "{}", trained.best_loss);
}

#[test]
fn a_run_can_be_stopped_without_loss() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path().join("model"));
    let stop = AtomicBool::new(false);
    let mut reason = None;
    let mut observer = |event: &Event| match event {
        Event::Update { update: 10, .. } => stop.store(true, Ordering::Relaxed),
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
    let config = config(&["train.learning_rate=1e-30", "train.patience=2", "train.validate_every=1"]);
    let trained = run(config, None, &mut observer, &AtomicBool::new(false)).unwrap();
    assert_eq!((reason, trained.updates), (Some(Reason::Patience), 3));
}

/// What a few updates make of the weights, as numbers, and all events.
fn weights_after(overrides: &[&str]) -> (Vec<f32>, Vec<Event>) {
    let mut events = Vec::new();
    let mut observer = |event: &Event| events.push(event.clone());
    let overrides = [&["train.max_updates=6", "train.validate_every=3"], overrides].concat();
    let trained =
        run(config(&overrides), None, &mut observer, &AtomicBool::new(false)).expect("it ends well");
    (trained.params.flat().to_vec(), events)
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// A batch with half of the memory that it needs is computed in parts: the same up to rounding, and told once.
#[test]
fn a_batch_that_has_no_room_is_split() {
    // With SGD, whose steps are as small as its gradients' errors.
    let (whole, _) = weights_after(&["train.optimizer=sgd"]);
    let (split, events) = weights_after(&["train.optimizer=sgd", "train.memory_limit_gib=0.0012"]);
    let told: Vec<&Event> = events.iter().filter(|event| matches!(event, Event::BatchSplit { .. })).collect();
    assert!(!told.is_empty() && told.len() < 6, "{events:?}");
    let difference = largest_difference(&whole, &split);
    assert!(difference > 0.0 && difference < 1e-5, "{difference}");

    let tiny = config(&["train.memory_limit_gib=0.0001"]);
    let error = run(tiny, None, &mut |_| {}, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, TrainError::NoRoom { .. }), "{error}");
}

/// Two batches of one update are one batch with the examples of both.
#[test]
fn accumulated_gradients_are_those_of_all_batches() {
    let config = config(&["train.optimizer=sgd"]);
    let corpus = || Corpus::new(&config, Inherited::default(), &pairs(1, 800), &pairs(2, 50)).unwrap();
    let device = Device::cpu_with(1, Isa::detect());
    let mut one = Trainer::new(config.clone(), corpus(), &device, None).unwrap();
    let TrainingSet::Numbered { examples, .. } = corpus().train else { panic!("it was read into memory") };
    let examples = examples.fetch(&(0..40).collect::<Vec<u32>>()).unwrap();
    let updated = one.update(&examples).unwrap();
    let mut two = Trainer::new(config.clone(), corpus(), &device, None).unwrap();
    let summed = two.update_from(&[examples[..13].to_vec(), examples[13..].to_vec()]).unwrap();
    assert!((updated.loss - summed.loss).abs() < 1e-5 && updated.targets == summed.targets);
    assert!((updated.norm - summed.norm).abs() < 1e-5 * updated.norm);
}

#[test]
fn every_optimizer_and_schedule_learns() {
    let names = ["adam", "adamw", "sgd", "adafactor", "lion"];
    let schedules = ["constant", "inverse-sqrt", "cosine", "linear", "plateau"];
    let rates = ["0.01", "0.01", "0.3", "0.05", "0.001"];
    for ((name, schedule), rate) in names.into_iter().zip(schedules).zip(rates) {
        let overrides = [
            format!("train.optimizer={name}"),
            format!("train.schedule={schedule}"),
            format!("train.learning_rate={rate}"),
            "train.warmup=5".to_owned(),
            "train.max_updates=60".to_owned(),
        ];
        let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
        let mut losses = Vec::new();
        let mut observer = |event: &Event| {
            if let Event::Update { loss, .. } = event {
                losses.push(*loss);
            }
        };
        run(config(&overrides), None, &mut observer, &AtomicBool::new(false)).unwrap();
        let (first, last) = (losses[0], losses[losses.len() - 1]);
        assert!(last < 0.9 * first, "{name} with {schedule}: {losses:?}");
    }
}

/// A rate this large makes the weights, and then the loss, infinite.
#[test]
fn what_is_not_finite_stops_or_is_left_out_and_counted() {
    let wild = ["train.learning_rate=1e38", "train.optimizer=sgd", "train.clip_grad_norm=1e38"];
    let error = run(config(&wild), None, &mut |_| {}, &AtomicBool::new(false)).unwrap_err();
    let TrainError::NotFinite { update, .. } = &error else { panic!("{error}") };
    assert!(*update > 1, "the first loss is fine");
    let message = error.to_string();
    assert!(message.contains(&format!("update {update}: the loss is ")), "{message}");
    assert!(message.contains("; the batch has the examples "), "{message}");

    let wild = [&wild[..], &["train.on_non_finite=skip", "train.max_updates=9"]].concat();
    let (mut left_out, mut at_end) = (0, 0);
    let mut observer = |event: &Event| match event {
        Event::Skipped { examples, .. } => {
            assert!(!examples.is_empty());
            left_out += 1;
        }
        Event::End { skipped, .. } => at_end = *skipped,
        _ => {}
    };
    run(config(&wild), None, &mut observer, &AtomicBool::new(false)).unwrap();
    assert!(left_out > 0 && left_out == at_end, "{left_out}, {at_end}");
    let endless = [&wild[..], &["train.max_updates=1000"]].concat();
    let error = run(config(&endless), None, &mut |_| {}, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, TrainError::NotFinite { .. }), "in the end it gives up: {error}");
}

/// By its BLEU, the best model is the one whose BLEU is the highest so far, whatever its loss.
#[test]
fn the_best_can_be_chosen_by_the_metric() {
    let overrides = [
        "train.best_model_metric=metric",
        "train.validation_translations=20",
        "train.validate_every=10",
        "train.max_updates=80",
        "train.patience=0",
        "search.beam_size=1",
    ];
    let mut highest = f64::NEG_INFINITY;
    let mut validations = 0;
    let mut observer = |event: &Event| {
        if let Event::Validation { bleu, best, .. } = event {
            let bleu = bleu.expect("the lines are translated");
            assert_eq!(*best, bleu > highest);
            (highest, validations) = (highest.max(bleu), validations + 1);
        }
    };
    run(config(&overrides), None, &mut observer, &AtomicBool::new(false)).unwrap();
    assert_eq!(validations, 8);
    let refused =
        Config::parse(&config(&[]).to_toml(), "c.toml", &["train.best_model_metric=metric".to_owned()]);
    let message = "c.toml: train.best_model_metric = \"metric\" with train.validation_translations = 0";
    assert_eq!(refused.unwrap_err().to_string(), message);
}

/// A plateau halves the rate after every second validation that is no better than the best: with a rate that changes nothing, all are.
#[test]
fn a_plateau_lowers_the_rate() {
    let mut rates = Vec::new();
    let mut observer = |event: &Event| {
        if let Event::Update { learning_rate: rate, .. } = event {
            rates.push(*rate);
        }
    };
    let overrides = [
        "train.learning_rate=1e-30",
        "train.schedule=plateau",
        "train.validate_every=10",
        "train.patience=0",
        "train.max_updates=60",
    ];
    run(config(&overrides), None, &mut observer, &AtomicBool::new(false)).unwrap();
    assert_eq!(rates, [1e-30, 1e-30, 1e-30, 5e-31, 5e-31, 2.5e-31]);
}

#[test]
fn nothing_short_enough_to_learn_from_is_an_error() {
    let error = run(config(&["data.max_tokens=1"]), None, &mut |_| {}, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(error.to_string(), "no pair of the training data has at most 1 tokens on each side");
    assert_eq!(error.hint().as_deref(), Some("raise data.max_tokens"));
}

/// Six updates, and a quarter of them, two, once more with each operation counted: in an update two embeddings, two directions,
/// one scan, a linear layer for the keys, and three with hidden units: mix, and the bridge to both parts of the decoder's state.
#[test]
fn the_operations_of_an_update_are_counted() {
    let config = config(&[]);
    let corpus = Corpus::new(&config, Inherited::default(), &pairs(1, 800), &pairs(2, 50)).unwrap();
    let mut trainer = Trainer::new(config, corpus, &Device::cpu_with(1, Isa::detect()), None).unwrap();
    let measured = measure(&mut trainer, 6).unwrap();
    assert_eq!((measured.speed.updates, measured.profiled.updates), (6, 2));
    assert!(measured.speed.tokens > measured.profiled.tokens && measured.profiled.tokens > 0);
    let calls = |name: &str, way: Phase| {
        let share = measured.shares.iter().find(|share| (share.name, share.phase) == (name, way));
        share.map(|share| share.calls)
    };
    for way in [Phase::Forward, Phase::Backward] {
        let counts = ["embedding", "recurrent", "scan", "linear", "dense", "cross_entropy"]
            .map(|name| calls(name, way));
        assert_eq!(counts, [4, 4, 2, 2, 6, 2].map(Some), "{way}");
    }
    assert_eq!([calls("adam", Phase::Update), calls("adam", Phase::Forward)], [Some(2), None]);
    let inside: f64 = measured.shares.iter().map(|share| share.seconds).sum();
    assert!(inside <= measured.profiled.seconds && measured.outside() >= 0.0);
}
