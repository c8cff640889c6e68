//! A classifier's run: it learns, is saved, and is the same when it is loaded.

use couplet_data::demo::opinions;
use couplet_data::{LabeledText, LabeledTexts, Place};
use couplet_search::{Folder, LoadedClassifier};
use couplet_tensor::{Device, Isa};
use couplet_train::{
    ClassifyConfig, Event, Inherited, LabeledCorpus, LabeledExamples, MetricValue, TrainError, Trained,
    Trainer, assess,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Opinions with their labels.
pub(crate) fn texts(seed: u64, count: usize) -> LabeledTexts {
    let texts = (1..).zip(opinions(seed, count)).map(|(line, one)| LabeledText {
        label: one.label.to_owned(),
        text: one.text,
        values: Vec::new(),
        place: Place { path: Path::new("opinions.tsv").into(), line },
    });
    texts.collect()
}

fn config(overrides: &[&str]) -> ClassifyConfig {
    let text = "
        task = 'classify'
        [data]
        train = 'unused.tsv'
        valid = 'unused.tsv'
        [model]
        encoder = { kind = 'gru', layers = 1, hidden = 8, embedding = 8, dropout = 0.0 }
        classifier = { output = 'sigmoid', dropout = 0.0 }
        [train]
        epochs = 10
        batch_tokens = 200
        learning_rate = 0.02
        validate_every = 20
    ";
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    ClassifyConfig::parse(text, "the test's config", &overrides).expect("a sound config")
}

fn run(
    config: ClassifyConfig,
    folder: Option<Folder>,
    observer: &mut dyn FnMut(&Event),
) -> Result<Trained<LabeledCorpus>, TrainError> {
    let corpus = LabeledCorpus::new(&config, Inherited::default(), &texts(1, 400), &texts(2, 50))?;
    let device = Device::cpu_with(1, Isa::detect());
    Trainer::new(config, corpus, &device, folder)?.run(observer, &AtomicBool::new(false))
}

#[test]
fn a_classifier_learns_and_is_the_same_when_it_is_loaded() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path().join("model"));
    let mut checks = Vec::new();
    let mut observer = |event: &Event| {
        if let Event::Validation { loss, figure: MetricValue::Accuracy(accuracy), .. } = event {
            checks.push((*loss, *accuracy));
        }
    };
    let trained = run(config(&[]), Some(folder.clone()), &mut observer).unwrap();
    let (best_loss, accuracy) = checks.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert!(accuracy >= 90.0 && best_loss == trained.best_loss, "{checks:?}");

    let loaded = LoadedClassifier::open(&folder, &Device::cpu_with(1, Isa::detect())).unwrap();
    let valid =
        LabeledExamples::new(&texts(2, 50), &loaded.tokenizer, &loaded.features, &loaded.labels, loaded.cut)
            .unwrap();
    let assessed = assess(&loaded.model, &loaded.params, &valid, 200);
    assert_eq!((assessed.loss, assessed.accuracy), (best_loss, accuracy));
    let found = loaded.classify(&["the room was not clean", ""]);
    let first = found[0].as_ref().unwrap();
    assert_eq!(loaded.labels.names()[first.label], "negative");
    assert!(first.probability > 0.5 && found[1].is_none());
}

/// Of an opinion, one word is left: its last one.
#[test]
fn long_texts_are_cut_in_training_and_in_use() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path().join("model"));
    let overrides = ["data.max_tokens=1", "data.truncation_side=left", "train.epochs=1"];
    let mut start = None;
    let mut observer = |event: &Event| {
        if let Event::Start { about, .. } = event {
            start = Some(*about);
        }
    };
    run(config(&overrides), Some(folder.clone()), &mut observer).unwrap();
    let said = format!("{start:?}");
    assert!(said.contains("texts: 400, truncated: 400,"), "{said}");
    let loaded = LoadedClassifier::open(&folder, &Device::cpu()).unwrap();
    let found = loaded.classify(&["the room was not clean", "clean"]);
    assert_eq!(found[0], found[1]);
}
