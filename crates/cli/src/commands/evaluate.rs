use super::search::{OutputCount, SearchArguments};
use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use couplet_data::{BadLines, Empty, Files, Pair, UNK, read_texts};
use couplet_metrics::{bleu, exact_match, macro_f1};
use couplet_search::{
    CoupletConfig, Folder, Loaded, LoadedClassifier, LoadedLanguageModel, Request, Rule, Task, Translator,
    broken_rules,
};
use couplet_tensor::Device;
use couplet_train::{Examples, LabeledExamples, assess, mean_loss, read, read_labeled, read_same};
use serde_json::json;
use std::fmt;
use std::path::{Path, PathBuf};

/// Tokens of both sides that are scored together.
const BATCH_TOKENS: usize = 4096;

/// Run a test set through a model and score it.
///
/// A translator gets loss, perplexity and BLEU, with rules of couplets also how many outputs keep them. A classifier gets loss, accuracy
/// and macro F1. An auto-encoder and a language model take a file of texts: the one gets what a translator gets, the other loss and
/// perplexity.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet evaluate --model my-model --source test.en --target test.de
Example: couplet evaluate --model my-classifier --data test.tsv --json
Example: couplet evaluate --model my-table/config.model --data my-table/test.csv
Example: couplet evaluate --model my-language-model --data test.txt")]
pub(crate) struct Arguments {
    /// The model folder.
    #[arg(long)]
    model: PathBuf,
    /// The lines that go in.
    #[arg(long, requires = "target", required_unless_present = "data")]
    source: Option<PathBuf>,
    /// The lines that should come out: translations or labels.
    #[arg(long, requires = "source")]
    target: Option<PathBuf>,
    /// Both in one file, with a tab between: source and target, or label and text; of models that need no second column, a file of texts.
    /// Of a classifier also a table with the columns of its training data: CSV or JSON lines, as the name ends.
    #[arg(long, conflicts_with_all = ["source", "target"])]
    data: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    search: SearchArguments,
}

impl Arguments {
    fn files(&self) -> Option<Files> {
        let parallel = || Some(Files::parallel(self.source.as_ref()?, self.target.as_ref()?));
        self.data.as_ref().map(Files::tsv).or_else(parallel)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let folder = Folder::new(&arguments.model);
    let files = arguments.files().expect("clap asks for one or the other");
    let searches = arguments.search != SearchArguments::default();
    match folder.task()? {
        Task::Translate => {
            let pairs = read(&files, Empty::Keep)?;
            evaluate_translator(arguments, &folder, &pairs)
        }
        Task::Autoencode => {
            let (pairs, _) = read_same(one_file(&files)?, BadLines::Refuse)?;
            evaluate_translator(arguments, &folder, &pairs)
        }
        Task::Classify if searches => Err(Failure::usage(
            "ways to search with a classifier",
            Some("a classifier does not search; leave them out".to_owned()),
        )),
        Task::LanguageModel if searches => Err(Failure::usage(
            "ways to search with the probability of texts",
            Some("nothing is searched for; leave them out".to_owned()),
        )),
        Task::Classify => evaluate_classifier(arguments, &folder, files, &arguments.device.open()?),
        Task::LanguageModel => evaluate_language_model(arguments, &folder, one_file(&files)?),
    }
}

/// The file of a model that needs no second column.
fn one_file(files: &Files) -> Result<&Path, Failure> {
    files.one_path().ok_or_else(|| {
        Failure::usage(
            "two files for a model that needs one",
            Some("--data names a file with a text on each line".to_owned()),
        )
    })
}

fn evaluate_language_model(arguments: &Arguments, folder: &Folder, path: &Path) -> Outcome {
    let loaded = LoadedLanguageModel::open(folder, &arguments.device.open()?)?;
    let (texts, _) = read_texts(path, BadLines::Refuse)?;
    let scored = loaded.score(&texts);
    let tokens: usize = scored.iter().map(|scored| scored.tokens.len()).sum();
    let sum: f64 =
        scored.iter().flat_map(|scored| &scored.log_probabilities).map(|&log_p| f64::from(log_p)).sum();
    let (lines, loss) = (texts.len(), -sum / tokens.max(1) as f64);
    if arguments.json {
        println!("{}", json!({ "lines": lines, "tokens": tokens, "loss": loss, "perplexity": loss.exp() }));
    } else {
        println!("lines       {lines}");
        println!("tokens      {tokens}");
        println!("loss        {loss:.4}");
        println!("perplexity  {:.2}", loss.exp());
    }
    Ok(())
}

fn evaluate_translator(arguments: &Arguments, folder: &Folder, pairs: &[Pair]) -> Outcome {
    let loaded = Loaded::open(folder, &arguments.device.open()?)?;
    let examples = Examples::new(pairs, &loaded.source, &loaded.target, loaded.model.supports_copy());
    let loss = mean_loss(&loaded.model, &loaded.params, &examples, BATCH_TOKENS);
    let search = arguments.search.apply(&loaded.search, 1)?;
    let numbered = (1..).zip(pairs);
    let requests: Vec<Request> =
        numbered.map(|(number, pair)| Request { number, ..Request::of(&pair.source) }).collect();
    let answers = Translator::from(&loaded).answer(&requests, &search);
    for (number, answer) in (1..).zip(&answers) {
        if let Some(reason) = &answer.rejected {
            eprintln!("warning: line {number} has no output: {reason}");
        }
    }
    let outputs: Vec<&str> =
        answers.iter().map(|answer| answer.outputs.first().map_or("", |output| &output.text)).collect();
    let targets: Vec<&str> = pairs.iter().map(|pair| pair.target.as_str()).collect();
    let bleu = bleu(&outputs, &targets);
    let mut count = OutputCount::default();
    count.add(answers.iter().filter_map(|answer| answer.outputs.first()));
    count.warn();
    let rules = search.couplet.is_on().then(|| Kept::count(pairs, &outputs, &loaded, &search.couplet));
    if arguments.json {
        let (lines, perplexity) = (pairs.len(), loss.exp());
        let mut figures = json!({
            "lines": lines,
            "loss": loss,
            "perplexity": perplexity,
            "bleu": bleu.score,
            "beam_size": search.beam_size,
            "truncated": count.truncated,
        });
        if let Some(rules) = rules {
            figures["couplet"] = rules.json();
        }
        println!("{figures}");
    } else {
        println!("lines       {}", pairs.len());
        println!("loss        {loss:.4}");
        println!("perplexity  {:.2}", loss.exp());
        println!("{bleu}");
        if let Some(rules) = rules {
            print!("{rules}");
        }
    }
    Ok(())
}

/// How many outputs keep the rules of couplets, counted in the finished texts.
struct Kept {
    lines: usize,
    /// Outputs without a character, or with one that the vocabulary does not have.
    unfit: usize,
    broken: Vec<(Rule, usize)>,
}

impl Kept {
    fn count(pairs: &[Pair], outputs: &[&str], loaded: &Loaded, rules: &CoupletConfig) -> Kept {
        let mut kept =
            Kept { lines: pairs.len(), unfit: 0, broken: Rule::ALL.map(|rule| (rule, 0)).to_vec() };
        for (pair, output) in pairs.iter().zip(outputs) {
            let (first, second) = (loaded.source.tokens(&pair.source), loaded.target.tokens(output));
            let broken = broken_rules(rules, &first, &second);
            kept.broken
                .iter_mut()
                .filter(|(rule, _)| broken.contains(rule))
                .for_each(|(_, count)| *count += 1);
            let unfit = second.is_empty() || loaded.target.encode(output).contains(&UNK);
            kept.unfit += usize::from(unfit && !first.is_empty());
        }
        kept
    }

    fn json(&self) -> serde_json::Value {
        let broken = self.broken.iter().map(|(rule, count)| (rule.to_string(), json!(count)));
        json!({ "empty_or_unknown": self.unfit, "broken": broken.collect::<serde_json::Map<_, _>>() })
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rule, broken) in &self.broken {
            writeln!(f, "{rule:<13} kept in {} of {} lines", self.lines - broken, self.lines)?;
        }
        writeln!(f, "empty, or with an unknown character: {}", self.unfit)
    }
}

fn evaluate_classifier(arguments: &Arguments, folder: &Folder, files: Files, device: &Device) -> Outcome {
    let loaded = LoadedClassifier::open(folder, device)?;
    let files = match &arguments.data {
        Some(path) => loaded.labeled(path),
        None if loaded.columns.is_empty() => files,
        None => {
            return Err(Failure::usage(
                "--source and --target with a model that reads columns beside the text",
                Some(format!("--data names a table that has them: {}", loaded.columns.listed())),
            ));
        }
    };
    let texts = read_labeled(&files, &loaded.columns)?;
    let examples =
        LabeledExamples::new(&texts, &loaded.tokenizer, &loaded.features, &loaded.labels, loaded.cut)?;
    let assessed = assess(&loaded.model, &loaded.params, &examples, BATCH_TOKENS);
    let (lines, loss) = (texts.labels.len(), assessed.loss);
    let predicted: Vec<&String> =
        assessed.predicted.iter().map(|&label| &loaded.labels.names()[label]).collect();
    let accuracy = exact_match(&predicted, &texts.labels);
    let f1 = macro_f1(&predicted, &texts.labels);
    if arguments.json {
        println!(
            "{}",
            json!({ "lines": lines, "loss": loss, "accuracy": accuracy.percent(), "macro_f1": f1 })
        );
    } else {
        println!("lines       {lines}");
        println!("loss        {loss:.4}");
        println!("{accuracy}");
        println!("macro F1 = {f1:.2}");
    }
    Ok(())
}
