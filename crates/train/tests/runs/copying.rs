//! A run whose model copies: names that it has never seen come out.

use couplet_data::{Pair, demo};
use couplet_metrics::exact_match;
use couplet_search::{Folder, Loaded, Translator};
use couplet_tensor::{Device, Isa};
use couplet_train::{Config, Corpus, Inherited, Trainer};
use std::sync::atomic::AtomicBool;

const RECURRENT: &str = "
    encoder = { layers = 1, hidden = 24, embedding = 24, dropout = 0.0 }
    attention.size = 24
    decoder = { layers = 1, hidden = 48, embedding = 24, dropout = 0.0 }
";
const TRANSFORMER: &str = "
    encoder = { kind = 'transformer', layers = 1, hidden = 64, embedding = 32, heads = 2, dropout = 0.0 }
    decoder = { kind = 'transformer', layers = 2, hidden = 64, embedding = 32, heads = 2, dropout = 0.0 }
";

fn config(model: &str, copy: bool) -> Config {
    let text = format!(
        "
        task = 'translate'
        [data]
        train = 'unused.tsv'
        valid = 'unused.tsv'
        source.min_count = 5
        target.min_count = 5
        [model]
        {model}
        [train]
        epochs = 12
        batch_tokens = 400
        learning_rate = 0.01
        schedule = 'inverse-sqrt'
        warmup = 40
        validate_every = 100
        label_smoothing = 0.05
        [search]
        beam_size = 4
        "
    );
    let copy = format!("model.decoder.copy={copy}");
    Config::parse(&text, "the test's config", &[copy]).expect("a sound config")
}

/// The messages that begin with `please call` or end with `can have it`: two forms of eight.
fn some(pairs: Vec<Pair>) -> Vec<Pair> {
    let is_one = |pair: &Pair| pair.source.starts_with("please call") || pair.source.ends_with("can have it");
    pairs.into_iter().filter(is_one).collect()
}

/// The share of unseen messages that are passed on exactly, by a model that was saved and opened again.
fn share(model: &str, copy: bool) -> f64 {
    let data = demo::messages(1);
    let [train, valid, test] = [data.train, data.valid, data.test].map(some);
    let config = config(model, copy);
    let corpus = Corpus::new(&config, Inherited::default(), &train, &valid).expect("a corpus");
    let place = tempfile::tempdir().expect("a folder");
    let folder = Folder::new(place.path().join("model"));
    let trainer = Trainer::new(config, corpus, &Device::cpu_with(1, Isa::detect()), Some(folder.clone()));
    trainer.expect("a trainer").run(&mut |_| {}, &AtomicBool::new(false)).expect("a run");

    let loaded = Loaded::open(&folder, &Device::cpu()).expect("a model");
    let sources: Vec<&str> = test.iter().map(|pair| pair.source.as_str()).collect();
    let targets: Vec<&str> = test.iter().map(|pair| pair.target.as_str()).collect();
    let written = Translator::from(&loaded).translate(&sources, &loaded.search);
    exact_match(&written.iter().map(|output| &output.text).collect::<Vec<_>>(), &targets).percent()
}

#[test]
fn unseen_words_come_out_of_a_model_that_copies() {
    let [without, with] = [false, true].map(|copy| share(RECURRENT, copy));
    assert!(without < 5.0 && with > 95.0, "{without} % without copying, {with} % with it");
}

#[test]
fn a_transformer_copies() {
    let copied = share(TRANSFORMER, true);
    assert!(copied > 95.0, "{copied} %");
}
