//! A classifier that reads columns beside a text: it learns from them, is saved, and is the same when it is loaded.

use couplet_data::demo::{Opinion, opinions};
use couplet_data::random::Random;
use couplet_data::{FeaturedText, LabeledText, LabeledTexts, Place, Value};
use couplet_search::{Folder, LoadedClassifier};
use couplet_tensor::{Device, Isa};
use couplet_train::{ClassifyConfig, Inherited, LabeledCorpus, LabeledExamples, Trainer, assess};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const COLUMNS: [&str; 2] = ["data.features.color=category", "data.features.size=number"];

/// Texts that say nothing of their labels: large things are large, whatever is said about them. Every fifth has no color.
fn texts(seed: u64, count: usize, with_columns: bool) -> LabeledTexts {
    let mut random = Random::new(seed);
    let text = |(line, opinion): (usize, Opinion)| {
        let large = random.below(2) == 1;
        let size = random.below(5) + if large { 10 } else { 1 };
        let color = ["red", "green", "blue", "grey"][random.below(4)];
        let color = if line % 5 == 0 { Value::Missing } else { Value::Category(color.to_owned()) };
        LabeledText {
            label: if large { "large" } else { "small" }.to_owned(),
            text: opinion.text,
            values: if with_columns { vec![color, Value::Number(size as f64)] } else { Vec::new() },
            place: Place { path: Path::new("things.csv").into(), line },
        }
    };
    (1..).zip(opinions(seed, count)).map(text).collect()
}

fn config(overrides: &[&str]) -> ClassifyConfig {
    let text = "
        task = 'classify'
        [data]
        train = { csv = 'unused.csv', text = 'text', label = 'label' }
        valid = { csv = 'unused.csv', text = 'text', label = 'label' }
        [model]
        encoder = { kind = 'bag', embedding = 8, dropout = 0.0 }
        pooling = { kind = 'mean' }
        classifier = { output = 'sigmoid', dropout = 0.0 }
        [train]
        epochs = 40
        batch_tokens = 200
        learning_rate = 0.05
        validate_every = 20
        patience = 0
    ";
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    ClassifyConfig::parse(text, "the test's config", &overrides).expect("a sound config")
}

/// Trains a model, and gives the best validation loss.
fn train(with_columns: bool, folder: &Folder) -> f64 {
    let config = config(if with_columns { &COLUMNS } else { &[] });
    let (train, valid) = (texts(1, 300, with_columns), texts(2, 100, with_columns));
    let corpus = LabeledCorpus::new(&config, Inherited::default(), &train, &valid).expect("sound data");
    let device = Device::cpu_with(1, Isa::detect());
    let trainer = Trainer::new(config, corpus, &device, Some(folder.clone())).expect("a new folder");
    trainer.run(&mut |_| {}, &AtomicBool::new(false)).expect("a run to its end").best_loss
}

#[test]
fn a_label_that_only_a_column_knows_is_learned_from_it() {
    let place = tempfile::tempdir().unwrap();
    let assessed = |with_columns: bool| {
        let folder = Folder::new(place.path().join(if with_columns { "columns" } else { "text" }));
        let best_loss = train(with_columns, &folder);
        let loaded = LoadedClassifier::open(&folder, &Device::cpu_with(1, Isa::detect())).unwrap();
        let valid = texts(2, 100, with_columns);
        let examples =
            LabeledExamples::new(&valid, &loaded.tokenizer, &loaded.features, &loaded.labels, loaded.cut)
                .unwrap();
        let assessed = assess(&loaded.model, &loaded.params, &examples, 200);
        assert_eq!(assessed.loss, best_loss, "what is loaded is what was saved");
        assert_eq!(folder.features().exists(), with_columns);
        (loaded, assessed)
    };
    let (_, text_alone) = assessed(false);
    assert!((30.0..70.0).contains(&text_alone.accuracy), "{text_alone:?}");
    let (loaded, with_columns) = assessed(true);
    assert_eq!(with_columns.accuracy, 100.0);

    let things = [("awful", 1.0), ("awful", 14.0), ("", 14.0)];
    let row = |(text, size): (&str, f64)| FeaturedText {
        text: text.to_owned(),
        values: vec![Value::Category("purple".to_owned()), Value::Number(size)],
    };
    let found = loaded.classify_rows(&things.map(row));
    let names: Vec<Option<&str>> = found
        .iter()
        .map(|found| found.as_ref().map(|found| &loaded.labels.names()[found.label][..]))
        .collect();
    assert_eq!(names, [Some("small"), Some("large"), None]);
    assert!(loaded.classify(&["awful"])[0].is_some(), "what is missing is no mistake");
}

/// Other numbers beside the same texts are other data: a run that goes on would notice.
#[test]
fn columns_are_part_of_the_data() {
    let corpus = |columns: &[&str], size: f64| {
        let mut train = texts(1, 20, !columns.is_empty());
        if let Some(of_text) = train.values[3].get_mut(1) {
            *of_text = Value::Number(size);
        }
        let valid = texts(2, 5, !columns.is_empty());
        LabeledCorpus::new(&config(columns), Inherited::default(), &train, &valid).unwrap().train.checksum()
    };
    assert_eq!(corpus(&COLUMNS, 3.0), corpus(&COLUMNS, 3.0));
    assert_ne!(corpus(&COLUMNS, 3.0), corpus(&COLUMNS, 4.0));
    assert_ne!(corpus(&COLUMNS, 3.0), corpus(&[], 3.0));
}
