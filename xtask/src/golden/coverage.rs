//! The kinds and options of the program that the frozen cases must have, each in two trainings or commands at least.

use std::collections::BTreeSet;
use std::path::Path;

use toml::Value;

use super::cases::{Case, CaseFile};
use super::paths::leaves;

/// Any value.
const ANY: &[&str] = &["*"];
const YES_AND_NO: &[&str] = &["true", "false"];
const ACTIVATIONS: &[&str] = &["tanh", "relu", "sigmoid", "none"];
const POSITIONS: &[&str] = &["none", "sinusoidal", "learned", "rotary"];
const TOKENIZERS: &[&str] = &["word", "char", "whitespace", "chinese", "bpe", "unigram", "wordpiece"];
const FORMS: &[&str] = &["none", "nfc", "nfkc"];

/// Keys of configs, options and subcommands of the command line, with the values that each must have twice; `!0` is any other than 0.
const KINDS: &[(&str, &[&str])] = &[
    ("task", &["translate", "autoencode", "classify", "language-model"]),
    ("data.train.parallel", ANY),
    ("data.train.tsv", ANY),
    ("data.train.csv", ANY),
    ("data.train.jsonl", ANY),
    ("data.train.weight", ANY),
    ("data.stream", YES_AND_NO),
    ("data.shuffle_buffer", &["64", "!100000"]),
    ("data.vocabulary_pairs", &["!2000000"]),
    ("data.skip_bad_lines", YES_AND_NO),
    ("data.max_tokens", &["128", "!128"]),
    ("data.cut_source", &["first", "last"]),
    ("data.cut_target", &["first", "last"]),
    ("data.joint_vocabulary", YES_AND_NO),
    ("data.keep", &["first", "last"]),
    ("data.mask", YES_AND_NO),
    ("data.pad", &["front", "back"]),
    ("data.features.age", &["number"]),
    ("data.features.country", &["category"]),
    ("data.features.country.min_count", ANY),
    ("data.features.age.missing", ANY),
    ("data.features.sex.kind", &["yes-no"]),
    ("kind of tokenizer", TOKENIZERS),
    ("form of tokenizer", FORMS),
    ("data.source.file", ANY),
    ("data.source.vocab_size", &["!130"]),
    ("data.source.min_count", &["!1"]),
    ("data.source.lowercase", YES_AND_NO),
    ("data.source.stop_words", &["english", "{data}/stop-words.txt"]),
    ("data.source.collapse_letters", YES_AND_NO),
    ("data.source.correct_spelling", &["0", "!0"]),
    ("model.bridge", &["dense", "copy"]),
    ("model.encoder.kind", &["rnn", "gru", "lstm", "bag", "self-attention", "transformer", "conv"]),
    ("model.encoder.activation", ACTIVATIONS),
    ("model.encoder.input", &["embedding", "one-hot"]),
    ("model.encoder.embedding.pretrained", ANY),
    ("model.encoder.embedding.train", &["frozen", "!frozen"]),
    ("model.encoder.bidirectional", &["true", "false", "first"]),
    ("model.encoder.reverse", YES_AND_NO),
    ("model.encoder.layers", &["1", "2", "3"]),
    ("model.encoder.residual_from", ANY),
    ("model.encoder.layer_dropout", &["!0.0"]),
    (
        "model.encoder.self_attention",
        &["additive", "dot", "scaled-dot", "general", "concat", "linear", "query-key"],
    ),
    ("model.encoder.dropout", &["0.2", "!0.2"]),
    ("model.encoder.word_dropout", &["!0.0"]),
    ("model.encoder.variational", YES_AND_NO),
    ("model.encoder.layer_norm", YES_AND_NO),
    ("model.encoder.forget_bias", ANY),
    ("model.encoder.heads", &["1", "2", "4"]),
    ("model.encoder.positions", POSITIONS),
    ("model.encoder.kernel", &["3", "!3"]),
    ("model.encoder.norm", &["pre", "post"]),
    ("model.encoder.feed_forward", &["relu", "gelu", "gated"]),
    ("model.context.kind", &["last", "mean", "max", "none", "flatten"]),
    ("model.context.projection", ANY),
    ("model.context.to", &["start", "steps", "both"]),
    ("model.context.steps", ANY),
    (
        "model.attention.score",
        &["additive", "dot", "scaled-dot", "general", "concat", "linear", "query-key", "none"],
    ),
    ("model.attention.activation", ACTIVATIONS),
    ("model.attention.heads", &["1", "2"]),
    ("model.attention.values", YES_AND_NO),
    ("model.attention.scaled", YES_AND_NO),
    ("model.attention.layer", &["top", "first"]),
    ("model.attention.query", &["new", "previous"]),
    ("model.attention.feed", YES_AND_NO),
    ("model.attention.local", &["monotonic", "predictive"]),
    ("model.attention.window", ANY),
    ("model.attention.coverage", YES_AND_NO),
    ("model.attention.coverage_loss", ANY),
    ("model.decoder.kind", &["rnn", "gru", "lstm", "attention", "transformer", "conv"]),
    ("model.decoder.activation", ACTIVATIONS),
    ("model.decoder.layers", &["1", "2", "3"]),
    ("model.decoder.embedding.pretrained", ANY),
    ("model.decoder.residual_from", ANY),
    ("model.decoder.layer_dropout", &["!0.0"]),
    ("model.decoder.readout", &["state", "joined", "joined-word"]),
    ("model.decoder.copy", YES_AND_NO),
    ("model.decoder.tied", &["none", "output", "all"]),
    ("model.decoder.dropout", &["0.2", "!0.2"]),
    ("model.decoder.word_dropout", &["!0.0"]),
    ("model.decoder.variational", YES_AND_NO),
    ("model.decoder.layer_norm", YES_AND_NO),
    ("model.decoder.forget_bias", ANY),
    ("model.decoder.heads", &["1", "2", "4"]),
    ("model.decoder.positions", POSITIONS),
    ("model.decoder.kernel", &["3", "!3"]),
    ("model.decoder.norm", &["pre", "post"]),
    ("model.decoder.feed_forward", &["relu", "gelu", "gated"]),
    ("model.classifier.output", &["sigmoid", "softmax"]),
    ("model.output.tied", YES_AND_NO),
    ("train.epochs", &["!100"]),
    ("train.accumulate", &["2", "!2"]),
    ("train.memory", ANY),
    ("train.optimiser", &["adam", "adamw", "sgd", "adafactor", "lion"]),
    ("train.betas", &["0.8"]),
    ("train.momentum", &["0.9"]),
    ("train.weight_decay", &["!0.0"]),
    ("train.schedule", &["constant", "inverse-sqrt", "cosine", "linear", "plateau"]),
    ("train.warmup", &["!0"]),
    ("train.plateau_patience", &["1"]),
    ("train.clip", &["!1.0"]),
    ("train.label_smoothing", &["0.0", "0.1", "!0.1"]),
    ("train.scheduled_sampling", &["!0.0"]),
    ("train.scheduled_sampling_warmup", &["!0"]),
    ("train.average", &["!0.0"]),
    ("train.not_finite", &["stop", "skip"]),
    ("train.validate_every", &["!10"]),
    ("train.validate_outputs", &["!0"]),
    ("train.best_by", &["loss", "perplexity", "metric"]),
    ("train.patience", &["!0"]),
    ("train.checkpoint_every", &["!10"]),
    ("train.tensorboard", YES_AND_NO),
    ("train.seed", &["!1"]),
    ("train.init_from", ANY),
    ("train.take", &["encoder", "encoder.embedding"]),
    ("train.freeze", &["encoder", "encoder.embedding"]),
    ("train.freeze_steps", ANY),
    ("search.method", &["beam", "sample"]),
    ("search.n_best", &["!1"]),
    ("search.length_norm", &["power", "wu"]),
    ("search.unknown", &["omit", "avoid", "copy"]),
    ("search.stop", &["early", "exhaustive"]),
    ("search.batch_tokens", &["!64"]),
    ("search.couplet.equal_length", &["true"]),
    ("search.sampling.temperature", &["!1.0"]),
    ("search.sampling.repetition_penalty", &["!1.0"]),
    ("--beam", &["1", "4", "!1"]),
    ("--n-best", &["2", "4"]),
    ("--length-penalty", ANY),
    ("--length-norm", &["wu"]),
    ("--coverage-penalty", ANY),
    ("--min-length", ANY),
    ("--min-length-ratio", ANY),
    ("--max-length", ANY),
    ("--max-length-ratio", ANY),
    ("--no-repeat-ngram", &["1", "2"]),
    ("--stop", &["early", "exhaustive"]),
    ("--groups", &["2", "!2"]),
    ("--diversity", ANY),
    ("--unknown", &["omit", "avoid", "copy"]),
    ("--sample", ANY),
    ("--temperature", ANY),
    ("--top-k", ANY),
    ("--top-p", ANY),
    ("--min-p", ANY),
    ("--repetition-penalty", ANY),
    ("--seed", ANY),
    ("--couplet", &["false"]),
    ("--equal-length", ANY),
    ("--same-marks", ANY),
    ("--same-repetition", ANY),
    ("--fresh", ANY),
    ("--opposed-tones", &["even", "ends"]),
    ("--prefixes", ANY),
    ("--phrases", ANY),
    ("--dictionary", ANY),
    ("--ensemble", ANY),
    ("--align", &["hard", "!hard"]),
    ("--prepared", ANY),
    ("--scores", ANY),
    ("--tokens", ANY),
    ("--layer", ANY),
    ("--head", ANY),
    (
        "subcommand",
        &[
            "prepare",
            "translate",
            "predict",
            "classify",
            "generate",
            "evaluate",
            "score",
            "attend",
            "average",
        ],
    ),
    ("stop_after", ANY),
    ("threads", &["2"]),
];

fn read() -> (CaseFile, Vec<CaseFile>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut files = CaseFile::read_all(&folder).unwrap();
    (files.remove(0), files)
}

/// What the table above may name: of the training of a case, and of each command that it runs.
fn occurrences(file: &CaseFile, case: &Case) -> Vec<BTreeSet<(String, String)>> {
    let entry = |path: &str, value: &str| (path.to_owned(), value.to_owned());
    let config = leaves("", &Value::Table(file.config(case).unwrap().unwrap_or_default()));
    let of_side = |(path, value): &(String, String)| {
        let side = path.strip_prefix("data.source.").or(path.strip_prefix("data.target."))?;
        let about = [("kind", "kind of tokenizer"), ("normalise", "form of tokenizer")];
        about.iter().find(|(key, _)| *key == side).map(|(_, name)| entry(name, value))
    };
    let mut training: BTreeSet<(String, String)> = config.iter().filter_map(of_side).collect();
    training.extend(config);
    training.extend(case.stop_after.map(|update| entry("stop_after", &update.to_string())));
    training.extend(case.threads.map(|threads| entry("threads", &threads.to_string())));
    let of_line = |first: &str, line: &str| {
        let words: Vec<&str> = [first].into_iter().chain(line.split([' ', '='])).chain([""]).collect();
        words.windows(2).map(|pair| entry(pair[0], pair[1])).collect::<BTreeSet<_>>()
    };
    let mut all = vec![training, of_line("train", &case.train.join(" "))];
    all.extend(file.commands(case).unwrap().iter().map(|(_, line)| of_line("subcommand", line)));
    all.extend(case.before.iter().map(|line| of_line("subcommand", line)));
    all
}

#[test]
fn the_frozen_cases_have_every_kind_twice() {
    let (file, _) = read();
    let all: Vec<_> = file.cases.iter().flat_map(|case| occurrences(&file, case)).collect();
    let count = |path: &str, wanted: &str| {
        let fits = |value: &str| match wanted.strip_prefix('!') {
            Some(other) => value != other,
            None => wanted == "*" || value == wanted,
        };
        let has =
            |case: &&BTreeSet<(String, String)>| case.iter().any(|(key, value)| key == path && fits(value));
        all.iter().filter(has).count()
    };
    let wanted = KINDS.iter().flat_map(|(path, values)| values.iter().map(move |value| (path, value)));
    let rare: Vec<String> = wanted
        .map(|(path, value)| (count(path, value), path, value))
        .filter(|&(count, ..)| count < 2)
        .map(|(count, path, value)| format!("{path} = {value}: {count}"))
        .collect();
    assert!(rare.is_empty(), "fewer than two:\n{}", rare.join("\n"));
}

#[test]
fn every_case_is_recorded_and_can_be_put_together() {
    let (first, others) = read();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let recorded = super::values::read(&folder.join("values.json")).unwrap();
    let mut names = BTreeSet::new();
    for (file, case) in
        [&first].into_iter().chain(&others).flat_map(|file| file.cases.iter().map(move |case| (file, case)))
    {
        assert!(names.insert(case.name.clone()), "{} is there twice", case.name);
        file.needs(case).unwrap();
        assert_eq!(super::values::differences_of_same(case, &recorded), [], "{}", case.name);
    }
    assert_eq!(names, recorded.keys().cloned().collect());
    super::values::read_exceptions(&folder.join("exceptions.toml")).unwrap();
}

#[test]
fn the_corpus_has_at_most_500_pairs() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/data");
    let files = [
        "pairs.tsv",
        "valid.tsv",
        "test.tsv",
        "second.en",
        "table.csv",
        "table.jsonl",
        "messages.tsv",
        "messages-valid.tsv",
        "messages-test.tsv",
        "couplets.tsv",
    ];
    let lines = |name| std::fs::read_to_string(data.join(name)).unwrap().lines().count();
    assert!(files.into_iter().map(lines).sum::<usize>() <= 500);
}
