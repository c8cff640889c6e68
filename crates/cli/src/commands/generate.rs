use super::lines::LineArguments;
use super::translate::WriteArguments;
use crate::failure::{Failure, Outcome};
use couplet_search::{Continuation, LoadedLanguageModel, Unknown};

/// Go on with a text, a beginning in, the whole text out.
///
/// An empty line asks for a text from its start. How long texts become is search.max_length of the model's config, beside the tokens of the
/// beginning where search.max_length_ratio is 1.
#[derive(clap::Args)]
#[command(after_help = "\
Example: echo \"the film was\" | couplet generate --model my-model --sample --temperature 0.8 --seed 7
Example: echo \"the film was\" | couplet generate --model my-model --beam-size 1 --max-length 20")]
pub(crate) struct Arguments {
    #[command(flatten)]
    lines: LineArguments,
    #[command(flatten)]
    write: WriteArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    generate(&arguments.lines, &arguments.write)
}

/// Goes on with lines.
pub(crate) fn generate(lines: &LineArguments, arguments: &WriteArguments) -> Outcome {
    let loaded = LoadedLanguageModel::open(&lines.folder(), &lines.device()?)?;
    let n_best = arguments.n_best.unwrap_or(loaded.search.n_best);
    let search = arguments.search.apply(&loaded.search, n_best)?;
    let with_source = search.couplet.is_on() || search.unknown == Unknown::Copy;
    if let Some(option) = arguments.of_sources().or(with_source.then_some("--couplet or --unknown copy")) {
        return Err(Failure::usage(
            format!("{option} with a language model"),
            Some("a language model has no source that its output answers; leave it out".to_owned()),
        ));
    }
    let numbered = arguments.n_best.is_some() || n_best > 1;
    lines.answer(|first, chunk| {
        let mut written = Vec::new();
        for (number, answer) in (first..).zip(loaded.go_on(chunk, first as u64, &search)) {
            let line = |output: Continuation| match numbered {
                true => format!("{number}\t{:.4}\t{}", output.score, output.text),
                false => output.text,
            };
            match answer {
                Ok(outputs) => written.extend(outputs.into_iter().map(line)),
                Err(reason) => {
                    eprintln!("warning: line {number} has no output: {reason}");
                    written.extend((!numbered).then(String::new));
                }
            }
        }
        Ok(written)
    })?;
    Ok(())
}
