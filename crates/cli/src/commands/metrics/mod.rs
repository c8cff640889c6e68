mod choice;
mod input;
mod measure;
mod report;
mod settings;
mod table;

use crate::failure::{Failure, Outcome};
use choice::Choice;
use couplet_metrics::{DEFAULT_SEED, looks_tokenized};
use input::Input;
use report::Report;
use settings::Settings;
use std::path::PathBuf;

/// Score lines against reference lines.
#[derive(clap::Args)]
#[command(after_help = "\
Metrics:
  bleu chrf chrf++ ter   of texts, as sacreBLEU computes them
  wer cer exact          of texts: word error rate, character error rate, lines that are right to the letter
  accuracy macro-f1      of labels, one a line
  entity-f1              of tags with spaces between them: O, B-PER, I-PER, and E-PER and S-PER if need be
  aer                    of links between words: 3-4 is sure, 3?4 or 3p4 is possible
  distinct-1 distinct-2  … of texts, without references
  perplexity             of lines with a sum of natural log-probabilities, a tab and a number of tokens, without references
  bits-per-character     of the same lines, with the texts as references

Example: couplet metrics output.de test.de -m bleu chrf++ ter --confidence
Example: couplet metrics base.de test.de --system new.de newer.de --paired bs
Example: couplet translate --model my-model --input test.en | couplet metrics - first.zh second.zh --tokenize zh --json")]
pub(crate) struct Arguments {
    /// The lines to score, plain or gzip; - is standard input
    hypotheses: PathBuf,
    /// What they are compared with, plain or gzip; several files are several references of each line
    references: Vec<PathBuf>,
    /// What to compute, with spaces or commas between
    #[arg(short, long, num_args = 1.., value_delimiter = ',', default_values = ["bleu", "chrf", "ter"])]
    metrics: Vec<Choice>,
    /// Lines of other systems, to be compared with the first
    #[arg(long, num_args = 1.., value_name = "FILE")]
    system: Vec<PathBuf>,
    /// A line of the one reference file has several references, with tabs between; some lines may have more than others
    #[arg(long)]
    tabs: bool,
    /// Score each line: a line in, a line out, with tabs between metrics; BLEU leaves out orders that a line has not
    #[arg(long, conflicts_with_all = ["confidence", "paired", "system"])]
    sentence: bool,
    /// Print JSON, with all figures that a score is made of
    #[arg(long)]
    json: bool,
    /// Print the settings that scores depend on, in sacreBLEU's format
    #[arg(long)]
    signature: bool,
    /// Say between which scores 95 % of resampled corpora lie
    #[arg(long)]
    confidence: bool,
    /// Say how likely a difference to the first system is by chance: by paired bootstrap or approximate randomization
    #[arg(long, value_enum, requires = "system")]
    paired: Option<Test>,
    /// Times that lines are drawn again [default: 1000; 10000 for --paired ar]
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    resamples: Option<u32>,
    /// Which random numbers they are drawn with
    #[arg(long, default_value_t = DEFAULT_SEED)]
    seed: u64,
    #[command(flatten)]
    settings: Settings,
}

/// How systems are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Test {
    /// Paired bootstrap.
    Bs,
    /// Approximate randomization.
    Ar,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    check(arguments)?;
    let systems: Vec<PathBuf> = [std::slice::from_ref(&arguments.hypotheses), &arguments.system[..]].concat();
    let input = Input::read(&systems, &arguments.references, arguments.tabs)?;
    if arguments.metrics.contains(&Choice::Bleu) && !arguments.settings.force() {
        warn_of_tokens(&input);
    }
    let report = Report::new(arguments, &input)?;
    if arguments.sentence {
        report.print_lines(arguments.json)
    } else if arguments.json {
        println!("{}", report.json());
        Ok(())
    } else {
        print!("{}", report.table(arguments.signature));
        Ok(())
    }
}

/// What can be wrong before any file is read.
fn check(arguments: &Arguments) -> Outcome {
    let files = arguments.references.len();
    if arguments.tabs && files != 1 {
        return Err(Failure::usage(
            format!("--tabs with {files} files of references"),
            Some("put all references of a line on one line of one file".to_owned()),
        ));
    }
    arguments.settings.check()?;
    for choice in &arguments.metrics {
        if choice.needs_references() && files == 0 {
            let hint = "name a file of references after the one to score";
            return Err(Failure::usage(format!("{choice} without references"), Some(hint.to_owned())));
        }
        if choice.takes_one_reference() && (files > 1 || arguments.tabs) {
            let hint = "this metric compares with one reference; name one file";
            return Err(Failure::usage(format!("{choice} with several references"), Some(hint.to_owned())));
        }
        let resampled = arguments.confidence || arguments.paired.is_some() || arguments.sentence;
        if let (Choice::Distinct(_), true) = (choice, resampled) {
            let hint = "it is a figure of all lines together and does not add up over them; ask for it alone";
            return Err(Failure::usage(
                format!("{choice} with --confidence, --paired or --sentence"),
                Some(hint.to_owned()),
            ));
        }
    }
    Ok(())
}

fn warn_of_tokens(input: &Input) {
    for system in input.systems.iter().filter(|system| looks_tokenized(&system.lines)) {
        eprintln!(
            "warning: {}: 100 lines or more end in a full stop with a space before it; BLEU is for texts that are not tokenized \
             (--force leaves this warning out)",
            system.path.display()
        );
    }
}
