use super::classify::classify;
use super::lines::LineArguments;
use super::translate::translate;
use crate::failure::Outcome;
use couplet_search::Task;

/// Do what a model is for, a line in, a line out: translate or classify.
#[derive(clap::Args)]
#[command(after_help = "Example: couplet predict --model my-model --input test.txt --output answers.txt")]
pub(crate) struct Arguments {
    #[command(flatten)]
    lines: LineArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match arguments.lines.folder().task()? {
        Task::Translate => translate(&arguments.lines, None),
        Task::Classify => classify(&arguments.lines, false),
    }
}
