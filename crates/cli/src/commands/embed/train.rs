use super::{FormatChoice, format_of};
use crate::bar::{Bar, say};
use crate::commands::train::stop_on_interrupt;
use crate::failure::{Failure, Outcome};
use couplet_data::Lines;
use couplet_embed::{Corpus, Loss, Model, Ngrams, Progress, Settings, Subwords, Trained, train};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Learn a vector for each word of a text.
///
/// A line is a sentence, and a word is what spaces surround; so split off punctuation before. The text is read once and kept as numbers in a
/// temporary file, 4 bytes a word, so it need not fit into memory. Ctrl-C ends the training and writes the vectors as they are.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet embed train corpus.txt.gz --out vectors.txt
Example: couplet embed train news.txt books.txt --model cbow --loss hierarchical --size 300 --out vectors.bin
Example: zcat *.gz | couplet embed train - --subwords --out vectors.txt")]
pub(crate) struct Arguments {
    /// Texts, plain, gzip or zstd; - is the standard input
    #[arg(required = true)]
    corpus: Vec<PathBuf>,
    /// Where the vectors go; with --subwords, those of parts of words go beside it, with .ngrams behind the name
    #[arg(long)]
    out: PathBuf,
    /// How to write them [default: binary for names that end in .bin, else text]
    #[arg(long, value_enum)]
    format: Option<FormatChoice>,
    /// What predicts the word in the middle: each word around it (skip-gram), or the mean of them (cbow)
    #[arg(long, value_enum, default_value_t = ModelChoice::SkipGram)]
    model: ModelChoice,
    /// How a prediction is judged: beside words drawn at random, or by a hierarchical softmax
    #[arg(long, value_enum, default_value_t = LossChoice::Negative)]
    loss: LossChoice,
    /// How many words are drawn at random for each prediction
    #[arg(long, default_value_t = 5)]
    negative: usize,
    /// How many numbers a vector has
    #[arg(long, default_value_t = 100)]
    size: usize,
    /// How many words on each side count as near, at most
    #[arg(long, default_value_t = 5)]
    window: usize,
    /// Words that occur less often get no vector
    #[arg(long, default_value_t = 5)]
    min_count: u64,
    /// Leave out words now and then that make up more of the text than this; 0 for none
    #[arg(long, default_value_t = 1e-3)]
    sample: f64,
    /// Passes over the text
    #[arg(long, default_value_t = 5)]
    epochs: u32,
    /// The learning rate; it falls to nearly 0 over the last quarter of all words, by the hierarchical softmax over all of them
    #[arg(long, default_value_t = 0.025)]
    learning_rate: f32,
    /// Learn vectors of parts of words too, of MIN to MAX characters, so that unseen words have one [without a value: 3-6]
    #[arg(long, value_name = "MIN-MAX", num_args = 0..=1, default_missing_value = "3-6", require_equals = true)]
    subwords: Option<String>,
    /// What random numbers begin with
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads; with one, the same seed gives the same vectors, bit by bit, with several nearly the same [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ModelChoice {
    SkipGram,
    Cbow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LossChoice {
    Negative,
    Hierarchical,
}

impl Arguments {
    fn settings(&self) -> Result<Settings, Failure> {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        Ok(Settings {
            model: match self.model {
                ModelChoice::SkipGram => Model::SkipGram,
                ModelChoice::Cbow => Model::Cbow,
            },
            loss: match self.loss {
                LossChoice::Negative => Loss::Negative(self.negative),
                LossChoice::Hierarchical => Loss::Hierarchical,
            },
            dimension: self.size,
            window: self.window,
            min_count: self.min_count,
            sample: self.sample,
            epochs: self.epochs,
            rate: self.learning_rate,
            subwords: self.subwords.as_deref().map(parse_subwords).transpose()?,
            seed: self.seed,
            threads: self.threads.unwrap_or_else(cores),
        })
    }
}

fn parse_subwords(text: &str) -> Result<Subwords, Failure> {
    let parsed = text.split_once('-').and_then(|(min, max)| Some((min.parse().ok()?, max.parse().ok()?)));
    let (min, max) = parsed.ok_or_else(|| {
        Failure::usage(
            format!("--subwords={text}: not two numbers"),
            Some("write --subwords=3-6 for parts of three to six characters".to_owned()),
        )
    })?;
    Ok(Subwords { min, max, ..Subwords::default() })
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let settings = arguments.settings()?;
    settings.check()?;
    check_folder(&arguments.out)?;
    let stop = stop_on_interrupt()?;
    let files = arguments.corpus.iter().map(Lines::open);
    let mut bar = Bar::patient("{percent} %  {msg}");
    let counting = &mut |words| bar.show(0, |_| format!("counting words: {words}"));
    let corpus = Corpus::read(files.collect::<Result<Vec<_>, _>>()?, counting)?;
    bar.line(&format!("{} words in {} lines", corpus.tokens(), corpus.sentences()));
    let trained = train(&corpus, &settings, &mut |progress| show_training(&mut bar, progress), &stop)?;
    bar.finish();
    say_end(&trained);
    trained.vectors.write(&arguments.out, format_of(&arguments.out, arguments.format))?;
    let beside = Ngrams::beside(&arguments.out);
    match &trained.ngrams {
        Some(ngrams) => ngrams.write(&beside)?,
        // Parts of words from an earlier training would not belong to these words.
        None if beside.exists() => {
            std::fs::remove_file(&beside).map_err(|error| Failure::io(&beside, &error))?;
        }
        None => {}
    }
    println!(
        "{} vectors of {} numbers are in {}",
        trained.vectors.len(),
        trained.vectors.dimension(),
        arguments.out.display()
    );
    Ok(())
}

/// That a file cannot be written should not be found out after hours.
fn check_folder(out: &Path) -> Outcome {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() {
        return Ok(());
    }
    Err(Failure::new(
        format!("--out {}: there is no folder {}", out.display(), folder.display()),
        Some("make the folder first".to_owned()),
    ))
}

fn show_training(bar: &mut Bar, progress: &Progress) {
    let &Progress { words, all_words, loss, words_per_second } = progress;
    bar.plan(all_words);
    bar.show(words, |alone| {
        let left = (all_words - words) as f64 / words_per_second.max(1.0);
        let share = || format!("{:.0} %  ", 100.0 * words as f64 / all_words as f64);
        let share = if alone { share() } else { String::new() };
        format!("{share}loss {loss:.3}  {words_per_second:.0} words/s  {left:.0} s left")
    });
}

fn say_end(trained: &Trained) {
    let &Trained { complete, words, seconds, .. } = trained;
    let why = if complete { "done" } else { "stopped, what there is is written" };
    say(&format!("{why}: {words} words in {seconds:.1} s, {:.0} words/s", words as f64 / seconds));
}
