use crate::failure::{Failure, Outcome};
use clap::ValueEnum;
use couplet_data::demo::{self, Guest, Opinion};
use couplet_data::{Pair, write_whole};
use std::fs;
use std::path::PathBuf;

/// Write a commented config and a few lines of data to start from.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet new my-model --task translate && couplet train my-model/config.toml
Example: couplet new my-classifier --task classify
Example: couplet new my-table --task classify --table
Example: couplet new my-language-model --task language-model")]
pub(crate) struct Arguments {
    /// The folder to make.
    folder: PathBuf,
    /// What the model is for.
    #[arg(long)]
    task: Task,
    /// Of a classifier: the data is a table, of which columns beside the text are read as well.
    #[arg(long)]
    table: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Task {
    /// Text to text.
    Translate,
    /// Text to a label.
    Classify,
    /// The next token of a text.
    LanguageModel,
    /// Text to the same text.
    Autoencode,
}

/// Lines of each part: enough to see that it works, too few to learn much.
const TRAIN: usize = 1000;
const VALID: usize = 100;

/// Rows of each part of a table: enough to see what each column adds.
const GUESTS: [(&str, usize); 3] = [("train.csv", 4000), ("valid.csv", 500), ("test.csv", 2000)];

/// What a new folder holds.
struct Start {
    files: Vec<(&'static str, String)>,
    /// What its data is.
    data: &'static str,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let folder = &arguments.folder;
    if folder.exists() {
        return Err(Failure::new(
            format!("{}: exists already", folder.display()),
            Some("choose another folder".to_owned()),
        ));
    }
    let Start { files, data } = match arguments.task {
        Task::Classify if arguments.table => classifier_of_a_table(),
        _ if arguments.table => {
            return Err(Failure::usage(
                "--table with a task that is not classify",
                Some("only a classifier reads columns beside a text; leave it out".to_owned()),
            ));
        }
        Task::Translate => translator(),
        Task::Classify => classifier(),
        Task::LanguageModel => language_model(),
        Task::Autoencode => auto_encoder(),
    };
    fs::create_dir_all(folder).map_err(|error| Failure::io(folder, &error))?;
    for (name, text) in files {
        let path = folder.join(name);
        write_whole(&path, text.as_bytes()).map_err(|error| Failure::io(&path, &error))?;
    }
    println!("{}: a config and {data} to try it with", folder.display());
    println!("next: couplet train {}", folder.join("config.toml").display());
    Ok(())
}

/// One side of some pairs, a line each.
fn side(pairs: &[Pair], most: usize, pick: fn(&Pair) -> &str) -> String {
    pairs.iter().take(most).map(|pair| format!("{}\n", pick(pair))).collect()
}

fn auto_encoder() -> Start {
    let corpus = demo::corpus(1);
    let files = vec![
        ("config.toml", include_str!("autoencode.toml").to_owned()),
        ("train.txt", side(&corpus.train, TRAIN, |pair| &pair.source)),
        ("valid.txt", side(&corpus.valid, VALID, |pair| &pair.source)),
    ];
    Start { files, data: "a little English" }
}

fn translator() -> Start {
    let corpus = demo::corpus(1);
    let files = vec![
        ("config.toml", include_str!("translate.toml").to_owned()),
        ("train.en", side(&corpus.train, TRAIN, |pair| &pair.source)),
        ("train.zh", side(&corpus.train, TRAIN, |pair| &pair.target)),
        ("valid.en", side(&corpus.valid, VALID, |pair| &pair.source)),
        ("valid.zh", side(&corpus.valid, VALID, |pair| &pair.target)),
    ];
    Start { files, data: "a little English and Chinese" }
}

fn classifier() -> Start {
    let opinions = demo::opinions(1, TRAIN + VALID);
    let lines = |opinions: &[Opinion]| -> String {
        opinions.iter().map(|Opinion { label, text }| format!("{label}\t{text}\n")).collect()
    };
    let (train, valid) = opinions.split_at(TRAIN);
    let files = vec![
        ("config.toml", include_str!("classify.toml").to_owned()),
        ("train.tsv", lines(train)),
        ("valid.tsv", lines(valid)),
    ];
    Start { files, data: "a few opinions" }
}

fn classifier_of_a_table() -> Start {
    let all = GUESTS.iter().map(|(_, count)| count).sum();
    let mut guests = demo::guests(1, all).into_iter();
    let table = |(name, count)| {
        let rows: String = guests.by_ref().take(count).map(|guest| guest.to_csv() + "\n").collect();
        (name, format!("{}\n{rows}", Guest::HEADER))
    };
    let mut files: Vec<(&'static str, String)> = GUESTS.into_iter().map(table).collect();
    files.push(("config.toml", include_str!("classify-table.toml").to_owned()));
    Start { files, data: "a table of guests" }
}

/// The same kind of opinions as a classifier's, other ones: it can begin with what this has learned.
fn language_model() -> Start {
    let opinions = demo::opinions(2, TRAIN + VALID);
    let lines = |opinions: &[Opinion]| -> String {
        opinions.iter().map(|opinion| format!("{}\n", opinion.text)).collect()
    };
    let (train, valid) = opinions.split_at(TRAIN);
    let files = vec![
        ("config.toml", include_str!("language-model.toml").to_owned()),
        ("train.txt", lines(train)),
        ("valid.txt", lines(valid)),
    ];
    Start { files, data: "a few opinions" }
}
