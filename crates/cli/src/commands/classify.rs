use super::lines::LineArguments;
use crate::failure::{Failure, Outcome};
use couplet_data::{Column, DataError, FeaturedTexts};
use couplet_search::{LoadedClassifier, Prediction};

/// Say what a text is, a line in, a label out.
///
/// An empty line stays empty. Of a text that is longer than data.max_tokens of the model's config, the model reads the part that
/// data.truncation_side names, as in training.
///
/// A model that reads columns beside the text (data.features) takes a table with these columns instead, under the names that the training
/// data has: CSV or TSV, if the name of the file ends so, or a JSON object on each line.
#[derive(clap::Args)]
#[command(after_help = "\
Example: echo \"the food was lovely\" | couplet classify --model my-model --scores
Example: couplet classify --model my-table/config.model --input my-table/test.csv
Example: echo '{\"text\": \"the bed was good\", \"age\": 61}' | couplet classify --model my-table/config.model")]
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
    let line = |found: Prediction| {
        let label = &loaded.labels.names()[found.label];
        if scores { format!("{label}\t{:.4}", found.probability) } else { label.clone() }
    };
    let written = |found: Vec<Option<Prediction>>| {
        Ok(found.into_iter().map(|found| found.map(line).unwrap_or_default()).collect())
    };
    match &loaded.table.text {
        Some(text) if !loaded.columns.is_empty() => {
            let failure = |error| no_row(error, &loaded, text);
            let rows = FeaturedTexts::open(lines.input(), text, &loaded.columns).map_err(failure)?;
            lines.answer_each(rows.map(|row| row.map_err(failure)), |_, chunk| {
                written(loaded.classify_rows(chunk))
            })?;
        }
        _ => {
            lines.answer(|_, chunk| written(loaded.classify(chunk)))?;
        }
    }
    Ok(())
}

/// What is wrong with a row. Where it is a line of text alone, it is said what else the model reads.
fn no_row(error: DataError, loaded: &LoadedClassifier, text: &Column) -> Failure {
    match error {
        DataError::NotJson { .. } | DataError::NoKey { .. } => {
            let beside: String = loaded.columns.iter().map(|(name, _)| format!(", {name:?}: …")).collect();
            let object = format!("{{{text}: \"…\"{beside}}}");
            let hint = "the model reads columns beside the text; write an object on each line, or name a table with --input FILE.csv";
            Failure::new(&error, Some(format!("{hint}: {object}")))
        }
        other => other.into(),
    }
}
