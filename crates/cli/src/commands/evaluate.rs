use crate::device::DeviceArguments;
use crate::failure::Outcome;
use couplet_data::{Empty, read_parallel};
use couplet_metrics::bleu;
use couplet_search::{Folder, Loaded, Translator};
use couplet_train::{Examples, mean_loss};
use std::path::PathBuf;

/// Tokens of both sides that are scored together.
const BATCH_TOKENS: usize = 4096;

/// Translate a test set and score it: loss, perplexity, BLEU.
#[derive(clap::Args)]
#[command(after_help = "Example: couplet evaluate --model my-model --source test.en --target test.de")]
pub(crate) struct Arguments {
    /// The model folder.
    #[arg(long)]
    model: PathBuf,
    /// The lines to translate.
    #[arg(long)]
    source: PathBuf,
    /// The lines that should come out.
    #[arg(long)]
    target: PathBuf,
    /// Hypotheses that are followed at once; 1 is greedy [default: the config's]
    #[arg(long)]
    beam: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let loaded = Loaded::open(&Folder::new(&arguments.model), &arguments.device.open()?)?;
    let pairs = read_parallel(&arguments.source, &arguments.target, Empty::Keep)?;
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
            serde_json::json!({ "lines": lines, "loss": loss, "perplexity": perplexity, "bleu": bleu.score, "beam": search.beam })
        );
    } else {
        println!("lines       {}", pairs.len());
        println!("loss        {loss:.4}");
        println!("perplexity  {:.2}", loss.exp());
        println!("{bleu}");
    }
    Ok(())
}
