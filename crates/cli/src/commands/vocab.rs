use super::train::warn_of_skipped;
use crate::failure::{Failure, Outcome};
use crate::picture::{Format, PictureArguments, terminal_width};
use couplet_data::{
    BadLines, Labeled, Pairs, Tokenizer, TokenizerConfig, VocabularyStatistics, on_all_cores, read_texts,
    write_whole,
};
use couplet_plot::{Bar, Bars, Group};
use couplet_train::{AnyConfig, ClassifyConfig, Config, Inherited, Task, tokenizers_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The most bars of a histogram.
const BARS: usize = 16;

/// The most frequent tokens that are printed.
const FREQUENT: usize = 10;

/// The numbers of tokens for which it is drawn how much they cover.
const RANKS: [usize; 8] = [10, 30, 100, 300, 1000, 3000, 10_000, 30_000];

/// The shares of all tokens for which it is said how many tokens make them.
const SHARES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// Make the vocabularies of a config, and say what they make of its data.
///
/// Size, the share of unknown tokens in training and validation text, how many tokens cover how much of the text, and how long texts are.
/// A tokenizer that is written here can be named in a config, as `file` in [data.source] or [data.target].
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet vocab my-model/config.toml
Example: couplet vocab my-model/config.toml --set data.source.kind=unigram --source en.json --target de.json
Example: couplet vocab my-model/config.toml --target words.tsv --out vocabulary.svg")]
pub(crate) struct Arguments {
    /// The config file. The files it names are relative to its folder.
    config: PathBuf,
    /// Override a key of the config, as key=value; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Write the source's tokenizer (.json), or its tokens, one on a line (.txt), with their counts (.tsv)
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,
    /// The same of the target's
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// Draw the coverage and the lengths: SVG or PNG
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Leave out lines that cannot be used and count them; the config's key data.skip_bad_lines.
    #[arg(long)]
    skip_bad_lines: bool,
    #[command(flatten)]
    picture: PictureArguments,
}

/// A side of the data, its tokenizer, and what that makes of it.
struct Side {
    name: &'static str,
    tokenizer: Tokenizer,
    train: VocabularyStatistics,
    valid: VocabularyStatistics,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let format =
        arguments.out.as_ref().map(|out| Format::of(out, &[Format::Svg, Format::Png])).transpose()?;
    let mut config = AnyConfig::read_located(&arguments.config, &arguments.set)?;
    if arguments.skip_bad_lines {
        config.skip_bad_lines();
    }
    let files = [(&arguments.source, "--source"), (&arguments.target, "--target")];
    for (path, option) in files {
        if let Some(path) = path {
            FileKind::of(path, option)?;
        }
    }
    let sides = match &config {
        AnyConfig::Translate(config) if config.task == Task::Translate => of_pairs(config)?,
        _ if arguments.target.is_some() => {
            return Err(Failure::usage(
                "--target with a task that has one vocabulary",
                Some("only translators have a second one; leave it out".to_owned()),
            ));
        }
        AnyConfig::Translate(config) => {
            of_lines(config.texts(), &config.data.source, config.data.train.bad_lines())?
        }
        AnyConfig::Classify(config) => of_texts(config)?,
        AnyConfig::LanguageModel(config) => {
            of_lines([&config.data.train, &config.data.valid], &config.data.source, config.bad_lines())?
        }
    };
    for ((path, option), side) in files.into_iter().zip(&sides) {
        if let Some(path) = path {
            side.write(path, FileKind::of(path, option)?)?;
        }
    }
    if arguments.json {
        println!("{}", sides.iter().map(|side| (side.name.to_owned(), side.json())).collect::<Value>());
    } else {
        sides.iter().for_each(Side::print);
    }
    if let Some((out, format)) = arguments.out.as_ref().zip(format) {
        let groups = sides.iter().flat_map(Side::groups).collect();
        let svg = Bars { title: "Vocabularies".to_owned(), groups }.to_svg(arguments.picture.background());
        arguments.picture.write(out, format, &svg)?;
        eprintln!("the picture is in {}", out.display());
    }
    Ok(())
}

fn of_pairs(config: &Config) -> Result<Vec<Side>, Failure> {
    let (train, mut skipped) = Pairs::all(&config.data.train)?;
    let (valid, more) = Pairs::all(&config.data.valid)?;
    skipped.join(more);
    warn_of_skipped(&skipped);
    let [source, target] = tokenizers_of(&config.data, Inherited::default(), &train)?;
    let sources = [&train, &valid].map(|pairs| pairs.iter().map(|pair| pair.source.as_str()));
    let targets = [&train, &valid].map(|pairs| pairs.iter().map(|pair| pair.target.as_str()));
    Ok(vec![Side::new("source", source, sources), Side::new("target", target, targets)])
}

fn of_texts(config: &ClassifyConfig) -> Result<Vec<Side>, Failure> {
    let (train, mut skipped) = Labeled::all(&config.data.train, &config.data.features)?;
    let (valid, more) = Labeled::all(&config.data.valid, &config.data.features)?;
    skipped.join(more);
    warn_of_skipped(&skipped);
    let tokenizer = Tokenizer::train(&config.data.source, &train.texts)?;
    let texts = [&train, &valid].map(|texts| texts.texts.iter().map(String::as_str));
    Ok(vec![Side::new("text", tokenizer, texts)])
}

/// Of files with a text on each line.
fn of_lines(
    [train, valid]: [&Path; 2],
    source: &TokenizerConfig,
    bad_lines: BadLines,
) -> Result<Vec<Side>, Failure> {
    let (train, mut skipped) = read_texts(train, bad_lines)?;
    let (valid, more) = read_texts(valid, bad_lines)?;
    skipped.join(more);
    warn_of_skipped(&skipped);
    let tokenizer = Tokenizer::train(source, &train)?;
    let texts = [&train, &valid].map(|texts| texts.iter().map(String::as_str));
    Ok(vec![Side::new("text", tokenizer, texts)])
}

/// What a file of a vocabulary is, by its ending.
#[derive(Clone, Copy)]
enum FileKind {
    Tokenizer,
    List,
    Counts,
}

impl FileKind {
    fn of(path: &Path, option: &str) -> Result<FileKind, Failure> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Ok(FileKind::Tokenizer),
            Some("txt") => Ok(FileKind::List),
            Some("tsv") => Ok(FileKind::Counts),
            _ => Err(Failure::usage(
                format!("{option} {}: its name does not say what to write", path.display()),
                Some("give it a name that ends in .json, .txt or .tsv".to_owned()),
            )),
        }
    }
}

impl Side {
    fn new<'a>(name: &'static str, tokenizer: Tokenizer, texts: [impl Iterator<Item = &'a str>; 2]) -> Side {
        let [train, valid] = texts.map(|texts| {
            let mut statistics = VocabularyStatistics::new(tokenizer.vocabulary_size());
            let texts: Vec<&str> = texts.collect();
            on_all_cores(&texts, |text| tokenizer.encode(text)).iter().for_each(|ids| statistics.add(ids));
            statistics
        });
        Side { name, tokenizer, train, valid }
    }

    fn write(&self, path: &Path, kind: FileKind) -> Outcome {
        let text = match kind {
            FileKind::Tokenizer => self.tokenizer.to_json(),
            FileKind::List => self.tokenizer.to_list(None),
            FileKind::Counts => self.tokenizer.to_list(Some(self.train.counts())),
        };
        write_whole(path, text.as_bytes()).map_err(|error| Failure::io(path, &error))
    }

    /// The histogram's bars: the lengths of each, and how many texts have them.
    fn bars(&self) -> Vec<(String, u64)> {
        // Few very long texts would make all others one bar.
        let most = self.train.length_of(0.99).max(1);
        let step = most.div_ceil(BARS);
        let all = self.train.histogram(step);
        let (shown, rest) = all.split_at(all.len().min(most.div_ceil(step)));
        let range = |to: usize| if step == 1 { to.to_string() } else { format!("{}–{to}", to + 1 - step) };
        let mut bars: Vec<(String, u64)> = shown.iter().map(|&(to, texts)| (range(to), texts)).collect();
        let longer: u64 = rest.iter().map(|(_, texts)| texts).sum();
        if let Some((last, _)) = shown.last().filter(|_| longer > 0) {
            bars.push((format!("over {last}"), longer));
        }
        bars
    }

    /// How much of the training text the most frequent tokens cover, and how long texts are.
    fn groups(&self) -> Vec<Group> {
        let shares = self.train.cumulative();
        let ranks = RANKS.into_iter().filter(|&rank| rank < shares.len()).chain(Some(shares.len()));
        let share = |rank: usize| Bar {
            name: rank.to_string(),
            value: rank.checked_sub(1).map_or(0.0, |last| (1000.0 * shares[last]).round() / 10.0),
        };
        let texts = |(name, texts): (String, u64)| Bar { name, value: texts as f64 };
        vec![
            Group {
                name: format!("{}: % of the training text that so many tokens cover", self.name),
                bars: ranks.map(share).collect(),
            },
            Group {
                name: format!("{}: training texts of so many tokens", self.name),
                bars: self.bars().into_iter().map(texts).collect(),
            },
        ]
    }

    fn print(&self) {
        let Side { name, tokenizer, train, valid } = self;
        println!("{name}: a vocabulary of {} tokens", tokenizer.vocabulary_size());
        for (what, statistics) in [("training", train), ("validation", valid)] {
            println!(
                "  {what:<11} {} tokens in {} texts, {:.2} % unknown",
                statistics.tokens(),
                statistics.texts(),
                100.0 * (1.0 - statistics.coverage())
            );
        }
        let cover = |&wanted: &f64| {
            let tokens = train.tokens_that_cover(wanted)?;
            Some(format!("{:.0} % by {}", 100.0 * wanted, tokens))
        };
        println!("  {:<11} {}", "coverage", SHARES.iter().filter_map(cover).collect::<Vec<_>>().join(", "));
        let frequent = train.most_frequent().into_iter().take(FREQUENT);
        let frequent: Vec<String> =
            frequent.map(|(id, count)| format!("{} {}", shown(tokenizer.token(id)), count)).collect();
        println!("  {:<11} {}", "frequent", frequent.join("  "));
        println!(
            "  {:<11} mean {:.1}, median {}, 99 % up to {}, longest {}",
            "lengths",
            train.mean_length(),
            train.length_of(0.5),
            train.length_of(0.99),
            train.length_of(1.0)
        );
        let bars = Bars { title: String::new(), groups: self.groups() };
        println!("{}", bars.to_terminal(terminal_width()));
    }

    fn json(&self) -> Value {
        let Side { tokenizer, train, valid, .. } = self;
        let of = |statistics: &VocabularyStatistics| {
            json!({
                "texts": statistics.texts(),
                "tokens": statistics.tokens(),
                "unknown": statistics.unknown(),
                "coverage": statistics.coverage(),
                "mean_length": statistics.mean_length(),
                "longest": statistics.length_of(1.0),
                "lengths": statistics.lengths(),
            })
        };
        json!({ "vocabulary": tokenizer.vocabulary_size(), "train": of(train), "valid": of(valid) })
    }
}

/// A token that is a space can be seen.
fn shown(token: &str) -> &str {
    if token.trim().is_empty() { "␣" } else { token }
}
