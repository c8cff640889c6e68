use super::lines::LineArguments;
use super::search::{OutputCount, SearchArguments};
use crate::failure::{Failure, Outcome};
use couplet_data::{Empty, Lines, read_tsv};
use couplet_search::{
    Align, Alignment, Answer, Dictionary, Folder, LONGEST_SOURCE, Loaded, Method, Request, SearchConfig,
    Translation, Translator, Unknown,
};
use couplet_tensor::Device;
use std::path::{Path, PathBuf};

/// Translate, a line in, a line out.
///
/// A line for which no output keeps to all that is asked is named on the standard error, and an empty line stands for it.
#[derive(clap::Args)]
#[command(after_help = "\
Example: echo \"Tom chases Jerry\" | couplet translate --model my-model
Example: couplet translate --model my-model --input test.en --n-best 3 --align hard
Example: couplet translate --model my-model --input test.en --sample --temperature 0.8 --top-p 0.9 --seed 7")]
pub(crate) struct Arguments {
    #[command(flatten)]
    lines: LineArguments,
    #[command(flatten)]
    write: WriteArguments,
}

// No doc comment: clap would show it in place of the verb's own.
#[derive(Default, PartialEq, clap::Args)]
pub(crate) struct WriteArguments {
    /// Write N outputs for a line, each as the line's number, its score and its text, with tabs between
    #[arg(long, value_name = "N")]
    pub(super) n_best: Option<usize>,
    /// Write which tokens belong together behind each output: hard (the most looked at), or a threshold such as 0.2
    #[arg(long, value_name = "HOW")]
    align: Option<Align>,
    /// Say on the standard error what each output was made to keep to
    #[arg(long)]
    explain: bool,
    /// A further model with the same vocabularies, whose probabilities are averaged; can be given again
    #[arg(long, value_name = "DIR")]
    ensemble: Vec<PathBuf>,
    /// A file whose line n is what output n begins with; an empty line asks for nothing
    #[arg(long, value_name = "FILE")]
    prefixes: Option<PathBuf>,
    /// A file whose line n has phrases that must be in output n, with tabs between
    #[arg(long, value_name = "FILE")]
    phrases: Option<PathBuf>,
    /// A file of source words and what stands for them, a tab between, for --unknown copy
    #[arg(long, value_name = "FILE")]
    lexicon: Option<PathBuf>,
    #[command(flatten)]
    pub(super) search: SearchArguments,
}

impl WriteArguments {
    /// An option that is given and only makes sense where an output answers a source.
    pub(super) fn of_sources(&self) -> Option<&'static str> {
        let given = [
            ("--align", self.align.is_some()),
            ("--explain", self.explain),
            ("--ensemble", !self.ensemble.is_empty()),
            ("--prefixes", self.prefixes.is_some()),
            ("--phrases", self.phrases.is_some()),
            ("--lexicon", self.lexicon.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    translate(&arguments.lines, &arguments.write)
}

/// Translates lines.
pub(crate) fn translate(lines: &LineArguments, arguments: &WriteArguments) -> Outcome {
    let (folder, device) = (lines.folder(), lines.device()?);
    let loaded = Loaded::open(&folder, &device)?;
    let n_best = arguments.n_best.unwrap_or(loaded.search.n_best);
    let search = arguments.search.apply(&loaded.search, n_best)?;
    let format = Format { numbered: arguments.n_best.is_some() || n_best > 1, align: arguments.align };
    check(arguments, &search, &loaded, &folder)?;
    let others = others(&arguments.ensemble, &folder, &loaded, &device)?;
    let dictionary = arguments.lexicon.as_deref().map(dictionary).transpose()?;
    let translator = Translator {
        attention: arguments.align.is_some(),
        others: &others,
        dictionary: dictionary.as_ref(),
        ..Translator::from(&loaded)
    };
    let mut prefixes = Beside::open(arguments.prefixes.as_deref())?;
    let mut phrases = Beside::open(arguments.phrases.as_deref())?;
    let mut count = OutputCount::default();
    let is_read = lines.answer(|first, chunk| {
        let (prefixes, phrases) = (prefixes.take(chunk.len())?, phrases.take(chunk.len())?);
        let request = |i: usize| Request {
            line: &chunk[i],
            number: (first + i) as u64,
            prefix: &prefixes[i],
            phrases: phrases[i].split('\t').filter(|phrase| !phrase.is_empty()).collect(),
        };
        let requests: Vec<Request> = (0..chunk.len()).map(request).collect();
        let answers = translator.answer(&requests, &search);
        (first..).zip(&answers).for_each(|(number, answer)| tell(number, answer, arguments.explain));
        count.add(answers.iter().flat_map(|answer| &answer.outputs));
        Ok((first..).zip(&answers).flat_map(|(number, answer)| format.lines(number, answer)).collect())
    })?;
    if is_read {
        count.warn();
    }
    Ok(())
}

/// Refuses what a model or a way to search cannot do.
fn check(arguments: &WriteArguments, search: &SearchConfig, loaded: &Loaded, folder: &Folder) -> Outcome {
    if arguments.phrases.is_some() && search.method == Method::Sample {
        return Err(Failure::usage(
            "--phrases with sampling",
            Some("phrases that must be there are looked for by a beam; leave --sample out".to_owned()),
        ));
    }
    let needs_attention =
        [("--align", arguments.align.is_some()), ("--unknown copy", search.unknown == Unknown::Copy)];
    match needs_attention.iter().find(|(_, is_asked)| *is_asked) {
        Some((option, _)) if loaded.model.attention_shape().is_none() => Err(Failure::usage(
            format!("{option}: the model in {} has no attention", folder.path().display()),
            Some("train a model whose model.attention.score is not \"none\"".to_owned()),
        )),
        _ => Ok(()),
    }
}

/// Further models.
fn others(
    folders: &[PathBuf],
    first: &Folder,
    loaded: &Loaded,
    device: &Device,
) -> Result<Vec<Loaded>, Failure> {
    let open = |path: &PathBuf| Loaded::open_beside(&Folder::new(path), first, loaded, device);
    folders.iter().map(|path| open(path).map_err(Failure::from)).collect()
}

fn dictionary(path: &Path) -> Result<Dictionary, Failure> {
    let pairs = read_tsv(path, Empty::Refuse)?;
    Ok(pairs.into_iter().map(|pair| (pair.source, pair.target)).collect())
}

/// Says on the standard error what there is to say of an answer.
fn tell(number: usize, answer: &Answer, explain: bool) {
    if let Some(reason) = &answer.rejected {
        eprintln!("warning: line {number} has no output: {reason}");
    }
    if answer.outputs.iter().any(|output| output.cut) {
        eprintln!(
            "warning: line {number} is longer than {LONGEST_SOURCE} tokens; the rest of it was left out"
        );
    }
    if explain && answer.rejected.is_none() {
        let kept = if answer.kept.is_empty() { "nothing".to_owned() } else { answer.kept.join("; ") };
        eprintln!("line {number} keeps to: {kept}");
    }
}

/// How outputs are written.
struct Format {
    /// With the number of the line and the score.
    numbered: bool,
    align: Option<Align>,
}

impl Format {
    /// The lines that stand for an answer: an empty one where there is no output, unless lines are numbered.
    fn lines(&self, number: usize, answer: &Answer) -> Vec<String> {
        if answer.outputs.is_empty() && !self.numbered {
            return vec![String::new()];
        }
        answer.outputs.iter().map(|output| self.line(number, output)).collect()
    }

    fn line(&self, number: usize, output: &Translation) -> String {
        let links = |align| format!(" ||| {}", Alignment::new(&output.attention, align));
        let text = format!("{}{}", output.text, self.align.map(links).unwrap_or_default());
        if self.numbered { format!("{number}\t{:.4}\t{text}", output.score) } else { text }
    }
}

/// A file that has a line for each line of the input, or none.
struct Beside(Option<Lines>);

impl Beside {
    fn open(path: Option<&Path>) -> Result<Beside, Failure> {
        Ok(Beside(path.map(Lines::open).transpose()?))
    }

    /// The next lines; empty ones where there is no file.
    fn take(&mut self, lines: usize) -> Result<Vec<String>, Failure> {
        let Some(file) = &mut self.0 else { return Ok(vec![String::new(); lines]) };
        let taken = file.by_ref().take(lines).collect::<Result<Vec<String>, _>>()?;
        if taken.len() < lines {
            return Err(Failure::new(
                format!("{}: {} lines, and the input has more", file.path().display(), file.line()),
                Some("it has a line for each line of the input, which may be empty".to_owned()),
            ));
        }
        Ok(taken)
    }
}
