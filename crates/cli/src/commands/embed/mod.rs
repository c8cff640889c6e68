//! Word vectors: a verb of its own with verbs below it.

mod analogy;
mod convert;
mod evaluate;
mod neighbors;
mod plot;
mod train;

use crate::failure::{Failure, Outcome};
use couplet_embed::{Format, Ngrams, Vectors, spelt_like};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Learn word vectors from text, and look into them.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet embed train corpus.txt.gz --out vectors.txt
Example: couplet embed neighbors king --vectors vectors.txt
Example: couplet embed analogy man woman king --vectors vectors.txt")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Train(train::Arguments),
    Neighbors(neighbors::Arguments),
    Analogy(analogy::Arguments),
    Evaluate(evaluate::Arguments),
    Plot(plot::Arguments),
    Convert(convert::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.verb {
        Verb::Train(arguments) => train::run(arguments),
        Verb::Neighbors(arguments) => neighbors::run(arguments),
        Verb::Analogy(arguments) => analogy::run(arguments),
        Verb::Evaluate(arguments) => evaluate::run(arguments),
        Verb::Plot(arguments) => plot::run(arguments),
        Verb::Convert(arguments) => convert::run(arguments),
    }
}

/// How a file of vectors is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FormatChoice {
    /// word2vec's text, which fastText's .vec files are too
    Text,
    /// word2vec's binary format
    Binary,
    /// GloVe's text, which has no first line of its own
    Glove,
}

/// The format that was asked for, or the one that the file's name says.
fn format_of(out: &Path, choice: Option<FormatChoice>) -> Format {
    match choice {
        Some(FormatChoice::Text) => Format::Text,
        Some(FormatChoice::Binary) => Format::Binary,
        Some(FormatChoice::Glove) => Format::Glove,
        None => {
            let name = out.to_string_lossy();
            if name.trim_end_matches(".gz").ends_with(".bin") { Format::Binary } else { Format::Text }
        }
    }
}

/// A file of vectors, for verbs that ask for some words of it.
#[derive(clap::Args)]
struct VectorsArguments {
    /// The vectors: word2vec's text or binary format, GloVe's text or fastText's .vec, plain or gzip
    #[arg(long, value_name = "FILE")]
    vectors: PathBuf,
}

impl VectorsArguments {
    fn read(&self) -> Result<Lexicon, Failure> {
        let vectors = Vectors::read(&self.vectors)?;
        let beside = Ngrams::beside(&self.vectors);
        let ngrams = if beside.exists() { Some(Ngrams::read(&beside)?) } else { None };
        if let Some(ngrams) = ngrams.as_ref().filter(|ngrams| ngrams.dimension() != vectors.dimension()) {
            return Err(Failure::new(
                format!(
                    "{} has {} numbers for a part, {} has {} for a word",
                    beside.display(),
                    ngrams.dimension(),
                    self.vectors.display(),
                    vectors.dimension()
                ),
                Some("one of the two is of another training; remove the first to go without it".to_owned()),
            ));
        }
        Ok(Lexicon { vectors, ngrams })
    }
}

/// Words with vectors, and parts of words with which others get one.
struct Lexicon {
    vectors: Vectors,
    ngrams: Option<Ngrams>,
}

impl Lexicon {
    /// The vector of a word; a word without one is an error that names those it may have been meant for.
    fn vector(&self, word: &str) -> Result<Cow<'_, [f32]>, Failure> {
        if let Some(vector) = self.vectors.get(word) {
            return Ok(Cow::Borrowed(vector));
        }
        let of_parts = self.ngrams.as_ref().and_then(|ngrams| ngrams.vector(word));
        of_parts.map(Cow::Owned).ok_or_else(|| {
            let near = spelt_like(&self.vectors, word, 3);
            let hint = if near.is_empty() {
                "only words of the text that the vectors were learned from have one; with --subwords, others get one too"
                    .to_owned()
            } else {
                format!("spelt nearly like it: {}", near.join(", "))
            };
            Failure::new(format!("{word:?} has no vector"), Some(hint))
        })
    }

    /// Prints words with their cosines.
    fn print(&self, neighbors: &[couplet_embed::Neighbor]) {
        for neighbor in neighbors {
            println!("{:7.4}  {}", neighbor.cosine, self.vectors.word(neighbor.number));
        }
    }
}
