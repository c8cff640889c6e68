use super::lines::{CHUNK, Output};
use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use couplet_data::Lines;
use couplet_search::{Folder, Loaded, Scored, Translator};
use serde_json::json;
use std::path::PathBuf;

/// Say how probable a model finds given outputs, line by line.
///
/// A line has the logarithm of the output's probability, its end included, and the perplexity of its tokens, with a tab between. Where the
/// source is empty, the line is.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet score --model my-model --source test.en --target test.de
Example: couplet score --model my-model --source test.en --target test.de --tokens")]
pub(crate) struct Arguments {
    /// The model folder.
    #[arg(long)]
    model: PathBuf,
    /// The lines that go in.
    #[arg(long)]
    source: PathBuf,
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
    let loaded = Loaded::open(&Folder::new(&arguments.model), &arguments.device.open()?)?;
    let translator = Translator::from(&loaded);
    let (mut sources, mut targets) = (Lines::open(&arguments.source)?, Lines::open(&arguments.target)?);
    let mut out = Output::open(arguments.output.as_deref())?;
    loop {
        let pairs = next_pairs(&mut sources, &mut targets)?;
        if pairs.is_empty() {
            return out.finish();
        }
        for scored in translator.score(&pairs) {
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
