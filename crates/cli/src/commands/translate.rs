use super::lines::LineArguments;
use crate::failure::Outcome;
use couplet_search::{LONGEST_SOURCE, Loaded, Translator};

/// Translate, a line in, a line out.
#[derive(clap::Args)]
#[command(after_help = "Example: echo \"Tom chases Jerry\" | couplet translate --model my-model")]
pub(crate) struct Arguments {
    #[command(flatten)]
    lines: LineArguments,
    /// Hypotheses that are followed at once; 1 is greedy [default: the config's]
    #[arg(long)]
    beam: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    translate(&arguments.lines, arguments.beam)
}

/// Translates lines, following so many hypotheses, or as many as the config says.
pub(crate) fn translate(lines: &LineArguments, beam: Option<usize>) -> Outcome {
    let loaded = Loaded::open(&lines.folder(), &lines.device()?)?;
    let mut search = loaded.search.clone();
    search.beam = beam.unwrap_or(search.beam).max(1);
    let translator = Translator::from(&loaded);
    lines.answer(|first, chunk| {
        let translations = translator.translate(chunk, &search);
        (first..).zip(&translations).filter(|(_, translation)| translation.cut).for_each(|(number, _)| {
            eprintln!(
                "warning: line {number} is longer than {LONGEST_SOURCE} tokens; the rest of it was left out"
            );
        });
        translations.into_iter().map(|translation| translation.text).collect()
    })
}
