use super::classify::classify;
use super::generate::generate;
use super::lines::LineArguments;
use super::translate::{WriteArguments, translate};
use crate::failure::{Failure, Outcome};
use couplet_search::Task;

/// Do what a model is for, a line in, a line out: translate, classify, or go on with a text.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet predict --model my-model --input test.txt --output answers.txt
Example: couplet predict --model couplets --couplet --explain --input first-lines.txt")]
pub(crate) struct Arguments {
    #[command(flatten)]
    lines: LineArguments,
    #[command(flatten)]
    write: WriteArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match arguments.lines.folder().task()? {
        Task::Translate | Task::Autoencode => translate(&arguments.lines, &arguments.write),
        Task::Classify if arguments.write != WriteArguments::default() => Err(Failure::usage(
            "ways to search with a classifier",
            Some("a classifier does not search; leave them out".to_owned()),
        )),
        Task::Classify => classify(&arguments.lines, false),
        Task::LanguageModel => generate(&arguments.lines, &arguments.write),
    }
}
