use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use couplet_data::Empty;
use couplet_metrics::{bleu, exact_match, macro_f1};
use couplet_search::{Folder, Loaded, LoadedClassifier, Task, Translator};
use couplet_tensor::Device;
use couplet_train::{Examples, Files, LabelledExamples, assess, mean_loss, read, read_labelled};
use serde_json::json;
use std::path::PathBuf;

/// Tokens of both sides that are scored together.
const BATCH_TOKENS: usize = 4096;

/// Run a test set through a model and score it.
///
/// A translator gets loss, perplexity and BLEU, a classifier loss, accuracy and macro F1.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet evaluate --model my-model --source test.en --target test.de
Example: couplet evaluate --model my-classifier --data test.tsv --json")]
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
    /// Both in one file, with a tab between: source and target, or label and text.
    #[arg(long, conflicts_with_all = ["source", "target"])]
    data: Option<PathBuf>,
    /// Hypotheses that are followed at once; 1 is greedy [default: the config's]
    #[arg(long)]
    beam: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArguments,
}

impl Arguments {
    fn files(&self) -> Option<Files> {
        let parallel = || Some(Files::Parallel([self.source.clone()?, self.target.clone()?]));
        self.data.clone().map(Files::Tsv).or_else(parallel)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let folder = Folder::new(&arguments.model);
    let files = arguments.files().expect("clap asks for one or the other");
    match folder.task()? {
        Task::Translate => evaluate_translator(arguments, &folder, &files, &arguments.device.open()?),
        Task::Classify if arguments.beam.is_some() => Err(Failure::usage(
            "--beam with a classifier",
            Some("a classifier does not search; leave it out".to_owned()),
        )),
        Task::Classify => evaluate_classifier(arguments, &folder, &files, &arguments.device.open()?),
    }
}

fn evaluate_translator(arguments: &Arguments, folder: &Folder, files: &Files, device: &Device) -> Outcome {
    let loaded = Loaded::open(folder, device)?;
    let pairs = read(files, Empty::Keep)?;
    let examples = Examples::new(&pairs, &loaded.source, &loaded.target);
    let loss = mean_loss(&loaded.model, &loaded.params, &examples, BATCH_TOKENS);
    let mut search = loaded.search.clone();
    search.beam = arguments.beam.unwrap_or(search.beam).max(1);
    let sources: Vec<&str> = pairs.iter().map(|pair| pair.source.as_str()).collect();
    let translations = Translator::from(&loaded).translate(&sources, &search);
    let outputs: Vec<&str> = translations.iter().map(|translation| translation.text.as_str()).collect();
    let targets: Vec<&str> = pairs.iter().map(|pair| pair.target.as_str()).collect();
    let bleu = bleu(&outputs, &targets);
    if arguments.json {
        let (lines, perplexity) = (pairs.len(), loss.exp());
        println!(
            "{}",
            json!({ "lines": lines, "loss": loss, "perplexity": perplexity, "bleu": bleu.score, "beam": search.beam })
        );
    } else {
        println!("lines       {}", pairs.len());
        println!("loss        {loss:.4}");
        println!("perplexity  {:.2}", loss.exp());
        println!("{bleu}");
    }
    Ok(())
}

fn evaluate_classifier(arguments: &Arguments, folder: &Folder, files: &Files, device: &Device) -> Outcome {
    let loaded = LoadedClassifier::open(folder, device)?;
    let texts = read_labelled(files)?;
    let examples = LabelledExamples::new(&texts, &loaded.tokenizer, &loaded.labels, loaded.cut)?;
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
