use crate::failure::{Failure, Outcome};
use clap::ValueEnum;
use couplet_data::{Pair, demo, write_whole};
use std::fs;
use std::path::PathBuf;

/// Write a commented config and a few lines of data to start from.
#[derive(clap::Args)]
#[command(
    after_help = "Example: couplet new my-model --task translate && couplet train my-model/config.toml"
)]
pub(crate) struct Arguments {
    /// The folder to make.
    folder: PathBuf,
    /// What the model is for.
    #[arg(long)]
    task: Task,
}

#[derive(Clone, Copy, ValueEnum)]
enum Task {
    /// Text to text.
    Translate,
}

/// Pairs of each part: enough to see that it works, too few to learn much.
const TRAIN: usize = 1000;
const VALID: usize = 100;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let folder = &arguments.folder;
    let config = match arguments.task {
        Task::Translate => include_str!("translate.toml"),
    };
    if folder.exists() {
        return Err(Failure::new(
            format!("{}: exists already", folder.display()),
            Some("choose another folder".to_owned()),
        ));
    }
    fs::create_dir_all(folder).map_err(|error| Failure::io(folder, &error))?;
    let corpus = demo::corpus(1);
    let side = |pairs: &[Pair], most: usize, pick: fn(&Pair) -> &str| -> String {
        pairs.iter().take(most).map(|pair| format!("{}\n", pick(pair))).collect()
    };
    let files = [
        ("config.toml", config.to_owned()),
        ("train.en", side(&corpus.train, TRAIN, |pair| &pair.source)),
        ("train.zh", side(&corpus.train, TRAIN, |pair| &pair.target)),
        ("valid.en", side(&corpus.valid, VALID, |pair| &pair.source)),
        ("valid.zh", side(&corpus.valid, VALID, |pair| &pair.target)),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        write_whole(&path, text.as_bytes()).map_err(|error| Failure::io(&path, &error))?;
    }
    println!("{}: a config and a little English and Chinese to try it with", folder.display());
    println!("next: couplet train {}", folder.join("config.toml").display());
    Ok(())
}
