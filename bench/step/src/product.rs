//! The product: a model of `couplet-nn` in the hands of the trainer of `couplet-train`, update after update as in a user's run.

use crate::workload::{LENGTH, Workload, recurrent, transformer};
use anyhow::{Context, Result};
use couplet_data::{DataError, END, Example, Pair, Position, START, Stop, Tokenizer, TokenizerConfig};
use couplet_tensor::{Device, Params};
use couplet_train::{Config, Corpus, Inherited, Lessons, RunConfig, Trainer, Updated};
use std::sync::atomic::AtomicBool;

/// Batches of a run with their examples.
type Stops = Box<dyn Iterator<Item = Result<Stop<Example>, DataError>> + Send>;

/// A run that goes from one update to the next when it is told to.
pub(crate) struct Run {
    trainer: Trainer<Corpus>,
    batches: Stops,
}

impl Run {
    pub(crate) fn new(config: Config, corpus: Corpus, device: &Device) -> Result<Run> {
        let trainer = Trainer::new(config, corpus, device, None)?;
        let batches = trainer.feed().starting_at(Position::default());
        Ok(Run { trainer, batches })
    }

    /// The next batch, and the update that the trainer makes of it.
    pub(crate) fn update(&mut self) -> Result<Updated> {
        let stop = self.batches.next().context("there are no more batches")??;
        Ok(self.trainer.update_from(&[stop.examples])?)
    }

    /// The loss of the validation set, which ends the run: told to stop, the trainer validates once more.
    pub(crate) fn validation_loss(self) -> Result<f64> {
        Ok(self.trainer.run(&mut |_| (), &AtomicBool::new(true))?.best_loss)
    }
}

/// The weights that a run begins with, made as the trainer makes them.
pub(crate) fn first_weights(config: &Config, corpus: &Corpus) -> Result<Params> {
    let mut params = Params::new(&Device::cpu_with(1, couplet_tensor::Isa::detect()), config.train.seed);
    corpus.model(&mut params, config)?;
    Ok(params)
}

/// What the other side reads of some examples: sources, and targets between the tokens that begin and end them.
pub(crate) fn sides(examples: &[Example]) -> [Vec<Vec<u32>>; 2] {
    let around = |example: &Example| [&[START], &example.target[..], &[END]].concat();
    [examples.iter().map(|example| example.source.clone()).collect(), examples.iter().map(around).collect()]
}

/// The first batches of a run.
pub(crate) fn first_batches(config: &Config, corpus: &Corpus, count: usize) -> Result<Vec<Vec<Example>>> {
    let stops = corpus.feed(config)?.starting_at(Position::default()).take(count);
    Ok(stops.map(|stop| Ok(stop?.examples)).collect::<Result<_, DataError>>()?)
}

/// A workload as a user has it: a config, and a corpus that is one batch. Nothing is dropped or smoothed, as on the other side.
pub(crate) fn of_workload(workload: Workload) -> Result<(Config, Corpus)> {
    let mut config = Config::of_toml(FILES).context("the config of a workload cannot be read")?;
    config.model = if workload == Workload::W4 { transformer() } else { recurrent(&workload.sizes()) };
    (config.train.learning_rate, config.train.clip_grad_norm, config.train.label_smoothing) =
        (1e-3, 1.0, Some(0.0));
    config.train.batch_tokens = 2 * LENGTH * workload.batch();

    let tokenizer = tokenizer(workload)?;
    let inherited = Inherited { source: Some(tokenizer.clone()), target: Some(tokenizer) };
    let pairs: Vec<Pair> = workload.pairs().iter().map(|(source, target)| pair(source, target)).collect();
    let corpus = Corpus::new(&config, inherited, &pairs, &[])?;
    Ok((config, corpus))
}

/// A config names files, also where examples come from elsewhere.
const FILES: &str = r#"
task = "translate"
[data]
train = ["train.source", "train.target"]
valid = ["valid.source", "valid.target"]
"#;

/// Each number of a workload's vocabulary is a word.
fn word(token: u32) -> String {
    format!("w{token}")
}

/// All words of a workload, which fill its vocabulary together with the special tokens.
fn tokenizer(workload: Workload) -> Result<Tokenizer> {
    let vocabulary = workload.sizes().source_vocabulary;
    let config = TokenizerConfig { vocab_size: vocabulary, ..TokenizerConfig::default() };
    Ok(Tokenizer::train(&config, (FIRST_WORD..vocabulary as u32).map(word))?)
}

/// The special tokens stand before it.
const FIRST_WORD: u32 = END + 1;

/// A pair of sentences. The target's first and last tokens give way to those that begin and end a sentence, so that the decoder has
/// [`LENGTH`] steps.
fn pair(source: &[u32], target: &[u32]) -> Pair {
    let text = |tokens: &[u32]| tokens.iter().map(|&token| word(token)).collect::<Vec<_>>().join(" ");
    Pair { source: text(source), target: text(&target[1..LENGTH]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 64 pairs, 30 tokens each side, all of them words; and so in every batch.
    #[test]
    fn a_workload_is_one_batch_of_its_lengths() {
        for workload in [Workload::W0, Workload::W2, Workload::W4] {
            let (config, corpus) = of_workload(workload).unwrap();
            let vocabulary = workload.sizes().source_vocabulary;
            assert_eq!(corpus.source.vocabulary_size(), vocabulary);
            for examples in first_batches(&config, &corpus, 3).unwrap() {
                let [sources, targets] = sides(&examples);
                assert_eq!((sources.len(), targets.len()), (64, 64));
                assert!(sources.iter().all(|source| source.len() == LENGTH));
                assert!(targets.iter().all(|target| target.len() == LENGTH + 1));
                let words = FIRST_WORD..vocabulary as u32;
                assert!(sources.iter().flatten().all(|token| words.contains(token)));
            }
        }
    }

    #[test]
    fn the_trainer_begins_with_the_weights_that_are_written_and_learns_from_there() {
        let device = Device::cpu_with(1, couplet_tensor::Isa::detect());
        let (config, corpus) = of_workload(Workload::W0).unwrap();
        let params = first_weights(&config, &corpus).unwrap();
        let mut again = Params::new(params.device(), config.train.seed);
        let model = corpus.model(&mut again, &config).unwrap();
        let batch = first_batches(&config, &corpus, 1).unwrap().remove(0);
        let pass = couplet_nn::ForwardPass::inference(&params);
        let expected = corpus.loss(&model, &pass, &batch, &config).mean.value().item();

        let mut run = Run::new(config, corpus, &device).unwrap();
        let first = run.update().unwrap();
        assert!((first.loss - expected).abs() < 1e-5 * expected);
        assert_eq!((first.targets, first.tokens), (64 * 30, 64 * 60));
        assert!(run.update().unwrap().loss < first.loss);
    }
}
