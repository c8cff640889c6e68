//! Runs that begin with what another one has learned, and parts that do not learn.

use crate::classify::texts as labeled;
use couplet_search::{Folder, LoadedClassifier, LoadedLanguageModel};
use couplet_tensor::{Device, Isa, Params};
use couplet_train::{
    ClassifyConfig, Event, Inherited, LabeledCorpus, LanguageConfig, Lessons, MetricValue, RunConfig,
    TextCorpus, TrainError, Trainer,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn device() -> Device {
    Device::cpu_with(1, Isa::detect())
}

fn owned(overrides: &[&str]) -> Vec<String> {
    overrides.iter().map(ToString::to_string).collect()
}

fn language_config(overrides: &[&str]) -> LanguageConfig {
    let text = "
        task = 'language-model'
        [data]
        train = 'unused.txt'
        valid = 'unused.txt'
        [model.encoder]
        kind = 'gru'
        layers = 1
        hidden = 8
        embedding = 8
        bidirectional = false
        dropout = 0.0
        [train]
        epochs = 4
        batch_tokens = 200
        learning_rate = 0.02
        validate_every = 20
    ";
    LanguageConfig::parse(text, "the test's config", &owned(overrides)).expect("a sound config")
}

fn classify_config(overrides: &[&str]) -> ClassifyConfig {
    let text = "
        task = 'classify'
        [data]
        train = 'unused.tsv'
        valid = 'unused.tsv'
        [model]
        encoder = { kind = 'gru', layers = 1, hidden = 8, embedding = 8, bidirectional = false, dropout = 0.0 }
        classifier = { output = 'sigmoid', dropout = 0.0 }
        [train]
        max_updates = 6
        batch_tokens = 200
        learning_rate = 0.02
        validate_every = 3
    ";
    ClassifyConfig::parse(text, "the test's config", &owned(overrides)).expect("a sound config")
}

/// Trains to the end. Returns what was said, and the last weights.
fn run<L: Lessons>(trainer: Trainer<L>) -> (Vec<Event>, Vec<f32>) {
    let mut events = Vec::new();
    let trained = trainer
        .run(&mut |event| events.push(event.clone()), &AtomicBool::new(false))
        .expect("a run that ends");
    (events, trained.params.flat().to_vec())
}

/// A language model of opinions, in a folder.
fn language_model(folder: &Folder, overrides: &[&str]) -> Vec<Event> {
    let config = language_config(overrides);
    let texts = |seed, count| labeled(seed, count).texts;
    let corpus =
        TextCorpus::new(&config, Inherited::default(), &texts(1, 400), &texts(2, 50)).expect("texts");
    run(Trainer::new(config, corpus, &device(), Some(folder.clone())).expect("a run")).0
}

/// A classifier that begins with the model of a folder, and goes on in its own where there is one.
fn classifier(
    from: &Folder,
    folder: &Folder,
    resume: bool,
    overrides: &[&str],
) -> Result<(Vec<Event>, Vec<f32>), TrainError> {
    let init = format!("train.init_from={}", from.path().display());
    let mut config = classify_config(&[&[init.as_str()], overrides].concat());
    let inherited = Inherited::of(&mut config, Some(folder).filter(|_| resume))?;
    let corpus = LabeledCorpus::new(&config, inherited, &labeled(3, 60), &labeled(4, 20))?;
    let trainer = if resume {
        Trainer::resume(config, corpus, &device(), folder.clone())?
    } else {
        Trainer::new(config, corpus, &device(), Some(folder.clone()))?
    };
    Ok(run(trainer))
}

fn numbers(params: &Params, name: &str) -> Vec<f32> {
    params.tensor(params.find(name).expect("a parameter")).to_vec()
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder for the test"))
    }

    fn folder(&self, name: &str) -> Folder {
        Folder::new(self.0.path().join(name))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

#[test]
fn a_language_model_learns_and_is_the_same_when_it_is_loaded() {
    let place = Place::new();
    let folder = place.folder("lm");
    let events = language_model(&folder, &["data.max_tokens=4"]);
    let perplexities: Vec<f64> = events
        .iter()
        .filter_map(|event| match event {
            Event::Validation { figure: MetricValue::Perplexity(perplexity), .. } => Some(*perplexity),
            _ => None,
        })
        .collect();
    let best = perplexities.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(best < 12.0 && best < perplexities[0], "{perplexities:?}");

    let loaded = LoadedLanguageModel::open(&folder, &device()).unwrap();
    let scored = loaded.score(&labeled(2, 50).texts);
    let losses: Vec<f64> =
        scored.iter().flat_map(|of| &of.log_probabilities).map(|&log_p| -f64::from(log_p)).collect();
    let loss = losses.iter().sum::<f64>() / losses.len() as f64;
    assert!((loss.exp() - best).abs() < 1e-3 * best, "{} beside {best}", loss.exp());
    // An opinion is longer than a piece, and its tokens are all there, and the end.
    assert!(scored.iter().all(|of| of.tokens.len() > 4 && of.tokens.last().unwrap() == "</s>"));

    let texts = loaded.go_on(&["the soup was", ""], 1, &loaded.search);
    let first = &texts[0].as_ref().unwrap()[0].text;
    assert!(first.starts_with("the soup was "), "{first}");
    assert_eq!(loaded.score(&[""])[0].tokens.len(), 0);
}

/// The weights are the other model's, bit by bit, and stay so where they are frozen: with momentum, decay and a moving average.
#[test]
fn what_is_taken_and_frozen_keeps_its_bits() {
    let place = Place::new();
    let from = place.folder("lm");
    language_model(&from, &["train.max_updates=20"]);
    let source = LoadedLanguageModel::open(&from, &device()).unwrap();
    for (number, optimizer) in
        [&["train.optimizer=adamw"][..], &["train.optimizer=sgd"], &["train.ema_decay=0.9"]]
            .iter()
            .enumerate()
    {
        let own = place.folder(&format!("classifier-{number}"));
        let overrides = [&["train.freeze=[\"encoder\"]"], *optimizer].concat();
        let (events, _) = classifier(&from, &own, false, &overrides).unwrap();
        let loaded = LoadedClassifier::open(&own, &device()).unwrap();
        for param in loaded.params.iter().filter(|&param| loaded.params.name(param).starts_with("encoder")) {
            let name = loaded.params.name(param);
            assert_eq!(numbers(&loaded.params, name), numbers(&source.params, name), "{name}, {optimizer:?}");
        }
        assert_eq!(loaded.tokenizer.to_json(), source.tokenizer.to_json());
        let reader = ["encoder.embedding", "encoder.l0"].map(str::to_owned).to_vec();
        let taken = events.iter().find(|event| matches!(event, Event::Initialized { .. })).unwrap();
        let Event::Initialized { modules: parts, parameters, tokenizer: true, .. } = taken else {
            panic!("{taken:?}")
        };
        assert_eq!((parts, *parameters), (&reader, loaded.params.count() - 9));
        let frozen = Event::Frozen { modules: reader, updates: None, trainable_parameters: 9 };
        assert!(events.contains(&frozen), "{events:?}");
    }
}

/// Without a list, all that both have is taken, and all of it learns.
#[test]
fn what_is_not_frozen_learns() {
    let place = Place::new();
    let (from, own) = (place.folder("lm"), place.folder("classifier"));
    language_model(&from, &["train.max_updates=20"]);
    let (events, _) = classifier(&from, &own, false, &["train.max_updates=0"]).unwrap();
    assert!(!events.iter().any(|event| matches!(event, Event::Frozen { .. })));
    let [source, begun] = [&from, &own].map(|folder| folder.params(&device()).unwrap());
    assert_eq!(numbers(&begun, "encoder.weight_hh_l0"), numbers(&source, "encoder.weight_hh_l0"));
    let later = place.folder("later");
    classifier(&from, &later, false, &["train.init_modules=[\"encoder.l0\"]"]).unwrap();
    let learned = later.params(&device()).unwrap();
    assert_ne!(numbers(&learned, "encoder.weight_hh_l0"), numbers(&source, "encoder.weight_hh_l0"));
    // Its vectors are its own: those of its own tokens.
    assert_ne!(numbers(&learned, "encoder.embedding.weight").len(), 0);
}

/// Stopped before, at and after the thaw: the same weights as without a stop, and no need of the other model any more.
#[test]
fn a_run_goes_on_with_what_is_frozen() {
    let place = Place::new();
    let from = place.folder("lm");
    language_model(&from, &["train.max_updates=20"]);
    let frozen =
        ["train.freeze=[\"encoder.embedding\"]", "train.freeze_updates=3", "train.checkpoint_every=1"];
    let whole = place.folder("whole");
    let (_, wanted) = classifier(&from, &whole, false, &frozen).unwrap();
    let parts = [2, 3, 4].map(|stop| {
        let folder = place.folder(&format!("stopped-{stop}"));
        let steps = format!("train.max_updates={stop}");
        classifier(&from, &folder, false, &[&frozen[..], &[&steps]].concat()).unwrap();
        folder
    });
    std::fs::rename(from.path(), place.path().join("gone")).unwrap();
    for folder in parts {
        let (_, found) = classifier(&from, &folder, true, &frozen).unwrap();
        assert!(found == wanted, "{}", folder.path().display());
    }
    let error = classifier(&from, &whole, true, &["train.freeze=[\"encoder.l0\"]"]).unwrap_err();
    assert!(error.to_string().contains("train.freeze was "), "{error}");
}

fn refusal(from: &Folder, place: &Place, overrides: &[&str]) -> (String, String) {
    let error = classifier(from, &place.folder("refused"), false, overrides).expect_err("a refusal");
    (error.to_string(), error.hint().unwrap_or_default())
}

#[test]
fn what_cannot_be_taken_is_named() {
    let place = Place::new();
    let from = place.folder("lm");
    language_model(&from, &["train.max_updates=2"]);
    let (said, hint) = refusal(&from, &place, &["train.init_modules=[\"encoder.l1\"]"]);
    assert_eq!(said, "train.init_modules: no part \"encoder.l1\"");
    assert!(
        hint.ends_with("lm has encoder, encoder.l0, encoder.embedding, output, output.bias, output.weight"),
        "{hint}"
    );
    let (said, hint) = refusal(&from, &place, &["train.freeze=[\"decoder\"]"]);
    assert_eq!(said, "train.freeze: no part \"decoder\"");
    let parts = "encoder, encoder.embedding, encoder.l0, classifier, classifier.weight, classifier.bias";
    assert_eq!(hint, format!("this model has {parts}"));
    let (said, _) = refusal(&from, &place, &["train.init_modules=[\"output\"]"]);
    assert!(said.starts_with("train.init_modules: this model has no output.bias, "), "{said}");
    let (said, _) = refusal(&from, &place, &["model.encoder.hidden=9"]);
    assert!(said.contains("tensor \"encoder.weight_ih_l0\" is [24, 8], the model's is [27, 8]"), "{said}");
    let (said, hint) = refusal(&from, &place, &["data.source.kind=char"]);
    assert!(said.starts_with("[data.source] with train.init_from = "), "{said}");
    assert_eq!(hint, "leave [data.source] out, or take other parts only: see train.init_modules");
    let all = "train.freeze=[\"encoder\", \"classifier\"]";
    assert_eq!(refusal(&from, &place, &[all]).0, "nothing is left to train: all is frozen");
    let (said, _) = refusal(&place.folder("nowhere"), &place, &[]);
    assert!(said.starts_with("train.init_from: ") && said.contains("nowhere"), "{said}");
    // Nothing was written.
    assert!(!place.folder("refused").config().exists());
}

/// Vectors of two numbers for three words, one of them only in small letters.
#[test]
fn tokens_have_the_vectors_of_a_file() {
    let place = Place::new();
    let path = place.path().join("vectors.txt");
    std::fs::write(&path, "3 2\nsoup 0.5 -0.25\nthe 1 2\nnowhere 3 4\n").unwrap();
    let embedding = |training: &str| {
        format!(
            "model.encoder.embedding={{ size = 2, pretrained = '{}', freeze = {training} }}",
            path.display()
        )
    };
    let corpus = |config: &ClassifyConfig| {
        let mut texts = labeled(3, 60);
        texts.texts[0] = "The soup was good".to_owned();
        LabeledCorpus::new(config, Inherited::default(), &texts, &labeled(4, 20)).unwrap()
    };
    for (training, stays) in [("false", false), ("true", true), ("100", true), ("1", false)] {
        let folder = place.folder(training);
        let config = classify_config(&[&embedding(training)]);
        let lessons = corpus(&config);
        let id = |word: &str| lessons.tokenizer.encode(word)[0] as usize;
        let [soup, the, capital] = ["soup", "the", "The"].map(id);
        let tokens = lessons.tokenizer.vocabulary_size() - 4;
        let (events, _) = run(Trainer::new(config, lessons, &device(), Some(folder.clone())).unwrap());
        let said = Event::Vectors { module: "encoder", path: path.clone(), tokens, found: 3, lowercased: 1 };
        assert!(events.contains(&said), "{events:?}");
        let vectors = numbers(&folder.params(&device()).unwrap(), "encoder.embedding.weight");
        let found = [soup, the, capital].map(|token| [vectors[2 * token], vectors[2 * token + 1]]);
        assert_eq!(found == [[0.5, -0.25], [1.0, 2.0], [1.0, 2.0]], stays, "{training}: {found:?}");
    }
    let config = classify_config(&[&embedding("true").replace("size = 2", "size = 3")]);
    let error = Trainer::new(corpus_config(&config), corpus(&config), &device(), None).unwrap_err();
    assert!(
        error.to_string().ends_with("vectors of 2 numbers, and model.encoder.embedding.size = 3"),
        "{error}"
    );
}

fn corpus_config(config: &ClassifyConfig) -> ClassifyConfig {
    ClassifyConfig::parse(&config.to_toml(), "again", &[]).expect("what was written is read again")
}
