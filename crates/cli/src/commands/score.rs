use super::lines::{CHUNK, Output};
use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use couplet_data::Lines;
use couplet_search::{Folder, Loaded, LoadedLanguageModel, Scored, Task, Translator};
use serde_json::json;
use std::path::PathBuf;

/// Say how probable a model finds given outputs, line by line.
///
/// A line has the logarithm of the output's probability, its end included, and the perplexity of its tokens, with a tab between. Where the
/// source is empty, the line is. A language model needs no source: it says how probable a text is.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet score --model my-model --source test.en --target test.de
Example: couplet score --model my-model --source test.en --target test.de --tokens
Example: couplet score --model my-language-model --target texts.txt")]
pub(crate) struct Arguments {
    /// The model folder.
    #[arg(long)]
    model: PathBuf,
    /// The lines that go in; a language model has none.
    #[arg(long)]
    source: Option<PathBuf>,
    /// The lines that came out.
    #[arg(long)]
    target: PathBuf,
    /// Write the log-probability of each token behind it, after the line's.
    #[arg(long)]
    tokens: bool,
    /// Write a JSON object for each line, with its tokens.
    #[arg(long, conflicts_with = "tokens")]
    json: bool,
    /// Write to a file [default: standard output]
    #[arg(long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let folder = Folder::new(&arguments.model);
    let mut targets = Lines::open(&arguments.target)?;
    match (folder.task()?, &arguments.source) {
        (Task::LanguageModel, None) => {
            let loaded = LoadedLanguageModel::open(&folder, &arguments.device.open()?)?;
            write(arguments, || {
                let texts = targets.by_ref().take(CHUNK).collect::<Result<Vec<String>, _>>()?;
                Ok(loaded.score(&texts))
            })
        }
        (Task::LanguageModel, Some(_)) => Err(Failure::usage(
            "--source with a language model",
            Some("it says how probable a text is; --target alone names the texts".to_owned()),
        )),
        (_, None) => Err(Failure::usage(
            "no --source",
            Some("--source names the lines that go in, --target those that came out".to_owned()),
        )),
        (_, Some(source)) => {
            let mut sources = Lines::open(source)?;
            let loaded = Loaded::open(&folder, &arguments.device.open()?)?;
            let translator = Translator::from(&loaded);
            write(arguments, || Ok(translator.score(&next_pairs(&mut sources, &mut targets)?)))
        }
    }
}

/// Writes scores, some at a time, until there are none.
fn write(arguments: &Arguments, mut next: impl FnMut() -> Result<Vec<Scored>, Failure>) -> Outcome {
    let mut out = Output::open(arguments.output.as_deref())?;
    loop {
        let all = next()?;
        if all.is_empty() {
            return out.finish();
        }
        for scored in all {
            if !out.line(&written(&scored, arguments))? {
                return Ok(());
            }
        }
        if !out.flush()? {
            return Ok(());
        }
    }
}

/// Some pairs of lines; none when both files are read.
fn next_pairs(sources: &mut Lines, targets: &mut Lines) -> Result<Vec<(String, String)>, Failure> {
    let mut pairs = Vec::new();
    while pairs.len() < CHUNK {
        match (sources.next().transpose()?, targets.next().transpose()?) {
            (Some(source), Some(target)) => pairs.push((source, target)),
            (None, None) => break,
            (source, _) => {
                let (shorter, longer) =
                    if source.is_none() { (&*sources, &*targets) } else { (&*targets, &*sources) };
                return Err(Failure::new(
                    format!(
                        "{} has {} lines, {} has more",
                        shorter.path().display(),
                        shorter.line(),
                        longer.path().display()
                    ),
                    Some("line n of one file belongs to line n of the other".to_owned()),
                ));
            }
        }
    }
    Ok(pairs)
}

fn written(scored: &Scored, arguments: &Arguments) -> String {
    let tokens = || scored.tokens.iter().zip(&scored.log_probabilities);
    let (log_probability, perplexity) = (scored.log_probability(), scored.perplexity());
    if arguments.json {
        let token = |(token, log_p): (&String, &f32)| json!({ "token": token, "log_probability": log_p });
        let tokens: Vec<_> = tokens().map(token).collect();
        return json!({ "log_probability": log_probability, "perplexity": perplexity, "tokens": tokens })
            .to_string();
    }
    if scored.tokens.is_empty() {
        return String::new();
    }
    let line = format!("{log_probability:.4}\t{perplexity:.4}");
    if !arguments.tokens {
        return line;
    }
    let tokens: Vec<String> = tokens().map(|(token, log_p)| format!("{token} {log_p:.4}")).collect();
    format!("{line}\t{}", tokens.join("\t"))
}
