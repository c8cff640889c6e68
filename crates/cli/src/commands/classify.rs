use super::lines::LineArguments;
use crate::failure::Outcome;
use couplet_search::LoadedClassifier;

/// Say what a text is, a line in, a label out.
///
/// An empty line stays empty. Of a text that is longer than data.max_tokens of the model's config, the model reads the part that
/// data.keep names, as in training.
#[derive(clap::Args)]
#[command(after_help = "Example: echo \"the food was lovely\" | couplet classify --model my-model --scores")]
pub(crate) struct Arguments {
    #[command(flatten)]
    lines: LineArguments,
    /// Write the label's probability behind it, after a tab.
    #[arg(long)]
    scores: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    classify(&arguments.lines, arguments.scores)
}

/// Classifies lines, with or without the probability of each label.
pub(crate) fn classify(lines: &LineArguments, scores: bool) -> Outcome {
    let loaded = LoadedClassifier::open(&lines.folder(), &lines.device()?)?;
    lines.answer(|_, chunk| {
        let line = |found: couplet_search::Prediction| {
            let label = &loaded.labels.names()[found.label];
            if scores { format!("{label}\t{:.4}", found.probability) } else { label.clone() }
        };
        Ok(loaded.classify(chunk).into_iter().map(|found| found.map(line).unwrap_or_default()).collect())
    })
}
