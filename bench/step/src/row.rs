//! The rows of the table of the processor: what each of them runs, and what shows that both sides did the same.

use crate::corpus;
use crate::decode::Decoding;
use crate::interval::Paired;
use crate::peer::{Contest, Runs};
use crate::workload::Workload;
use anyhow::{Context, Result, anyhow, ensure};
use clap::ValueEnum;
use couplet_data::Tokenizer;
use couplet_metrics::bleu;
use couplet_search::Folder;
use serde_json::{Value, json};
use std::fmt;
use std::path::PathBuf;

/// How far the BLEU of both sides may lie apart.
const SAME_BLEU: f64 = 0.3;

// No doc comment: clap would show it in place of the verb's own.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Inputs {
    /// The config whose data W5 trains on.
    #[arg(long, default_value = "configs/multi30k-en-de.toml")]
    config: PathBuf,
    /// The folder with Multi30k's train.en.gz, train.de.gz, valid.en, valid.de, test.en and test.de.
    #[arg(long, default_value = "configs/multi30k")]
    data: PathBuf,
    /// The model folder that W6 decodes with: trained with the config.
    #[arg(long, default_value = "multi30k-model")]
    model: PathBuf,
}

impl Inputs {
    /// The same with another config and another model folder, where there are others.
    pub(crate) fn with(&self, config: Option<&PathBuf>, model: Option<&PathBuf>) -> Inputs {
        Inputs {
            config: config.unwrap_or(&self.config).clone(),
            data: self.data.clone(),
            model: model.unwrap_or(&self.model).clone(),
        }
    }
}

/// How much of its work a row does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Training steps that are measured.
    steps: usize,
    /// The most times that something is decoded.
    repeats: usize,
    /// Real batches, for the clock with those before it starts.
    batches: usize,
    /// Lines of the test set.
    lines: Option<usize>,
}

impl Extent {
    /// For the clock.
    pub(crate) fn timed(steps: usize) -> Extent {
        Extent { steps, repeats: usize::MAX, batches: 100, lines: None }
    }

    /// For a profiler, under which everything takes many times as long: one step, three batches, 100 sentences.
    pub(crate) fn counted() -> Extent {
        Extent { steps: 1, repeats: 1, batches: 3, lines: Some(100) }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Row {
    W1,
    /// W1's step from the engine's operations, without model and trainer.
    #[value(name = "w1-operations")]
    W1Operations,
    W2,
    /// W2's step in the same way.
    #[value(name = "w2-operations")]
    W2Operations,
    /// Greedy decoding of one sentence.
    #[value(name = "w3-1")]
    W3Alone,
    /// Greedy decoding of 32 sentences.
    #[value(name = "w3-32")]
    W3Together,
    /// A training step of a Transformer.
    W4,
    /// W4's step from its model, without trainer.
    #[value(name = "w4-model")]
    W4Model,
    /// Greedy decoding of one sentence by a Transformer.
    #[value(name = "w4-1")]
    W4Alone,
    W5,
    W6,
}

impl Row {
    pub(crate) const ALL: [Row; 11] = [
        Row::W1,
        Row::W1Operations,
        Row::W2,
        Row::W2Operations,
        Row::W3Alone,
        Row::W3Together,
        Row::W4,
        Row::W4Model,
        Row::W4Alone,
        Row::W5,
        Row::W6,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Row::W1 => "W1",
            Row::W1Operations => "W1, operations alone",
            Row::W2 => "W2",
            Row::W2Operations => "W2, operations alone",
            Row::W3Alone => "W3, 1 sentence",
            Row::W3Together => "W3, 32 sentences",
            Row::W4 => "W4",
            Row::W4Model => "W4, model alone",
            Row::W4Alone => "W4, 1 sentence",
            Row::W5 => "W5",
            Row::W6 => "W6",
        }
    }

    pub(crate) fn what(self) -> &'static str {
        match self {
            Row::W1 => "update of the trainer: 64 sentences, 30 → 30 tokens; vocabulary 8,000, decoder 512",
            Row::W2 => "update of the trainer: 64 sentences, 30 → 30 tokens; vocabulary 3,000, decoder 256",
            Row::W1Operations => "W1's step from the engine's operations, without model and trainer",
            Row::W2Operations => "W2's step from the engine's operations, without model and trainer",
            Row::W3Alone | Row::W3Together => "greedy decoding: W1's sizes, 30 tokens, 30 steps",
            Row::W4 => {
                "update of the trainer, a Transformer: 64 sentences, 30 → 30 tokens; vocabulary 8,000, width 256, 3 + 3 layers"
            }
            Row::W4Model => "W4's step from its model, without trainer",
            Row::W4Alone => {
                "greedy decoding by a Transformer: W4's sizes, 30 tokens, 30 steps, both sides with a cache"
            }
            Row::W5 => {
                "updates of the trainer on real batches: 100 of Multi30k with 4,096 tokens; W1's sizes, BPE of 8,000"
            }
            Row::W6 => "decoding Multi30k's test set: a beam of 5, 32 sentences at a time; W1's sizes",
        }
    }

    /// The figure that is compared.
    pub(crate) fn figure(self) -> Figure {
        match self {
            _ if self.is_step() => Figure { key: "ms", unit: "ms", scale: 1.0, digits: 0 },
            Row::W3Alone | Row::W3Together | Row::W4Alone => {
                Figure { key: "seconds", unit: "ms", scale: 1e3, digits: 1 }
            }
            Row::W5 => Figure { key: "tokens_per_second", unit: "tokens/s", scale: 1.0, digits: 0 },
            _ => Figure { key: "seconds", unit: "s", scale: 1.0, digits: 2 },
        }
    }

    /// Files without which it cannot be measured, and what to do about it.
    fn needs(self, inputs: &Inputs) -> (Vec<PathBuf>, String) {
        let data = |names: &[&str]| names.iter().map(|name| inputs.data.join(name)).collect::<Vec<_>>();
        let get =
            "get Multi30k's task 1 (https://github.com/multi30k/dataset), raw text; --data names its folder";
        match self {
            Row::W5 => (data(&["train.en.gz", "train.de.gz", "valid.en", "valid.de"]), get.to_owned()),
            Row::W6 => {
                let mut files = data(&["test.en", "test.de"]);
                files.push(Folder::new(&inputs.model).weights());
                let train = format!("couplet train {} --out DIR", inputs.config.display());
                (files, format!("{get}; train a model with `{train}`; --model names its folder"))
            }
            _ => (Vec::new(), String::new()),
        }
    }

    /// Why it cannot be measured, if it cannot.
    pub(crate) fn missing(self, inputs: &Inputs) -> Option<String> {
        let (files, hint) = self.needs(inputs);
        let file = files.into_iter().find(|file| !file.exists())?;
        Some(format!("{} is not there; {hint}", file.display()))
    }

    /// How many times as fast ours is as the other side, round by round.
    pub(crate) fn speeds(self, runs: &Runs) -> Result<Paired> {
        let figure = self.figure();
        let ratios = runs.ratios(figure.key)?;
        Ok(if figure.more_is_better() { ratios.inverse() } else { ratios })
    }

    /// What our side is called with; another build of it understands the same words.
    pub(crate) fn words(self, inputs: &Inputs, extent: Extent) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let step =
            |verb, workload: Workload| words(&[verb, workload.name(), "--steps", &extent.steps.to_string()]);
        let decode = |decoding: Decoding| [words(&["ours-decode"]), decoding.words()].concat();
        let greedy = |transformer, sentences, repeats: usize| {
            let repeats = repeats.min(extent.repeats);
            decode(Decoding::Greedy { transformer, sentences, repeats })
        };
        match self {
            Row::W1 => step("ours-trainer", Workload::W1),
            Row::W1Operations => step("ours", Workload::W1),
            Row::W2 => step("ours-trainer", Workload::W2),
            Row::W2Operations => step("ours", Workload::W2),
            Row::W3Alone => greedy(false, 1, 20),
            Row::W3Together => greedy(false, 32, 5),
            Row::W4 => step("ours-trainer", Workload::W4),
            Row::W4Model => step("ours", Workload::W4),
            Row::W4Alone => greedy(true, 1, 20),
            Row::W5 => corpus::Arguments {
                config: inputs.config.clone(),
                set: Vec::new(),
                data: Some(inputs.data.clone()),
                batch_tokens: Some(4096),
                batches: extent.batches,
            }
            .words(),
            Row::W6 => decode(Decoding::Beam {
                model: inputs.model.clone(),
                source: inputs.data.join("test.en"),
                lines: extent.lines,
            }),
        }
    }

    /// Our side and PyTorch's.
    pub(crate) fn contest(self, inputs: &Inputs, steps: usize) -> Contest {
        let ours = self.words(inputs, Extent::timed(steps));
        let repeats = |repeats: usize| vec!["--repeats".to_owned(), repeats.to_string()];
        let (script, theirs) = match self {
            _ if self.is_step() => ("twin.py", vec!["--steps".to_owned(), steps.to_string()]),
            Row::W3Alone | Row::W4Alone => ("decode.py", repeats(20)),
            Row::W3Together => ("decode.py", repeats(5)),
            Row::W6 => ("decode.py", repeats(1)),
            _ => ("twin.py", Vec::new()),
        };
        Contest { ours, script, theirs }
    }

    /// What shows that our side and PyTorch's did the same work, or an error.
    pub(crate) fn check(self, runs: &Runs, inputs: &Inputs) -> Result<String> {
        match self {
            _ if self.is_step() => {
                let [ours, theirs] = runs.same_first_losses()?;
                Ok(format!("first loss {ours:.5}, PyTorch {theirs:.5}"))
            }
            Row::W5 => {
                let [ours, theirs] = runs.same_validation_losses()?;
                Ok(format!("validation loss {ours:.4}, PyTorch {theirs:.4}"))
            }
            Row::W6 => {
                let same = runs.same_outputs()? * 100.0;
                let [ours, theirs] = bleus(runs, inputs)?;
                ensure!((ours - theirs).abs() <= SAME_BLEU, "BLEU {ours:.2}, PyTorch's {theirs:.2}");
                Ok(format!("BLEU {ours:.2}, PyTorch {theirs:.2}; {same:.1} % of the outputs are the same"))
            }
            _ => Ok(format!("{:.1} % of the outputs are the same", runs.same_outputs()? * 100.0)),
        }
    }

    /// The same step without the layers above the engine, or without those above the model.
    pub(crate) fn without_layers(self) -> Option<Row> {
        match self {
            Row::W1 => Some(Row::W1Operations),
            Row::W2 => Some(Row::W2Operations),
            Row::W4 => Some(Row::W4Model),
            _ => None,
        }
    }

    /// Whether it is one training step, again and again.
    fn is_step(self) -> bool {
        use Row::{W1, W1Operations, W2, W2Operations, W4, W4Model};
        matches!(self, W1 | W1Operations | W2 | W2Operations | W4 | W4Model)
    }

    /// GFLOP of a training step's products.
    pub(crate) fn arithmetic(self) -> Option<f64> {
        match self {
            Row::W1 | Row::W1Operations => Some(141.0),
            Row::W2 | Row::W2Operations => Some(32.4),
            Row::W4 | Row::W4Model => Some(87.3),
            _ => None,
        }
    }

    pub(crate) fn compares_memory(self) -> bool {
        self.is_step() || self == Row::W5
    }
}

/// The BLEU of both sides' outputs on the test set.
fn bleus(runs: &Runs, inputs: &Inputs) -> Result<[f64; 2]> {
    let tokenizer =
        Tokenizer::load(Folder::new(&inputs.model).target_tokenizer()).map_err(|error| anyhow!("{error}"))?;
    let path = inputs.data.join("test.de");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let references: Vec<&str> = text.lines().collect();
    let score = |run: &Value| {
        let outputs: Vec<Vec<u32>> = serde_json::from_value(run["outputs"].clone())?;
        ensure!(
            outputs.len() == references.len(),
            "{} outputs, {} references",
            outputs.len(),
            references.len()
        );
        let lines: Vec<String> = outputs.iter().map(|tokens| tokenizer.decode(tokens)).collect();
        Ok(bleu(&lines, &references).score)
    };
    Ok([score(&runs.ours[0])?, score(&runs.theirs[0])?])
}

/// How a figure is read and shown.
pub(crate) struct Figure {
    pub(crate) key: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) scale: f64,
    digits: usize,
}

impl Figure {
    /// Of tokens a second more is better, of time less.
    fn more_is_better(&self) -> bool {
        self.key == "tokens_per_second"
    }

    pub(crate) fn show(&self, value: f64) -> String {
        format!("{value:.*} {}", self.digits, self.unit)
    }
}

/// A row that was not measured.
#[derive(Debug)]
pub(crate) struct LeftOut {
    row: Row,
    why: String,
    /// Whether it was tried.
    failed: bool,
}

impl LeftOut {
    pub(crate) fn failed(row: Row, error: &anyhow::Error) -> LeftOut {
        LeftOut { row, why: format!("{error:#}"), failed: true }
    }

    pub(crate) fn json(&self) -> Value {
        json!({ "name": self.row.name(), "why": self.why })
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "- {} is left out: {}.", self.row.name(), self.why)
    }
}

/// Parts rows that have their files from those that have not.
pub(crate) fn with_files(rows: &[Row], inputs: &[&Inputs]) -> (Vec<Row>, Vec<LeftOut>) {
    let (mut there, mut left_out) = (Vec::new(), Vec::new());
    for &row in rows {
        match inputs.iter().find_map(|inputs| row.missing(inputs)) {
            Some(why) => left_out.push(LeftOut { row, why, failed: false }),
            None => there.push(row),
        }
    }
    (there, left_out)
}

/// All rows in turn, round by round, so that what slows the machine down for a while is spread over rows. A row that fails is not tried
/// again, and does not keep the others from being measured.
pub(crate) fn in_rounds(
    rows: &[Row],
    rounds: usize,
    mut sides: impl FnMut(Row, usize) -> Result<[Value; 2]>,
) -> Vec<(Row, Result<Runs>)> {
    let mut all: Vec<(Row, Result<Runs>)> = rows.iter().map(|&row| (row, Ok(Runs::default()))).collect();
    for round in 0..rounds {
        for (row, runs) in &mut all {
            let Ok(so_far) = runs else { continue };
            eprintln!("round {} of {rounds}: {} …", round + 1, row.name());
            match sides(*row, round) {
                Ok(both) => so_far.add(both),
                Err(error) => *runs = Err(error),
            }
        }
    }
    all
}

/// An error that names the rows that failed, if any did.
pub(crate) fn ensure_none_failed(left_out: &[LeftOut]) -> Result<()> {
    let failed: Vec<&str> = left_out.iter().filter(|left| left.failed).map(|left| left.row.name()).collect();
    ensure!(failed.is_empty(), "not measured: {}; the table says why", failed.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Inputs {
        Inputs { config: "some.toml".into(), data: "no/such/folder".into(), model: "no/model".into() }
    }

    #[test]
    fn a_workload_without_its_data_is_named_with_what_to_do() {
        let inputs = inputs();
        assert_eq!(Row::W1.missing(&inputs), None);
        assert!(
            Row::W5.missing(&inputs).unwrap().starts_with("no/such/folder/train.en.gz is not there; get ")
        );
        assert!(Row::W6.missing(&inputs).unwrap().contains("couplet train some.toml --out DIR"));
        let (there, left_out) = with_files(&Row::ALL, &[&inputs]);
        assert_eq!((there.len(), left_out.len()), (9, 2));
        ensure_none_failed(&left_out).unwrap();
    }

    #[test]
    fn a_row_that_fails_is_tried_once_and_the_others_go_on() {
        let mut calls = Vec::new();
        let found = in_rounds(&[Row::W1, Row::W2], 2, |row, round| {
            calls.push((row, round));
            ensure!(row == Row::W2, "no room");
            Ok([json!({ "ms": 1.0 }), json!({ "ms": 2.0 })])
        });
        assert_eq!(calls, [(Row::W1, 0), (Row::W2, 0), (Row::W2, 1)]);
        assert_eq!(found[0].1.as_ref().err().unwrap().to_string(), "no room");
        assert_eq!(found[1].1.as_ref().unwrap().ours.len(), 2);
    }

    #[test]
    fn the_product_goes_through_the_trainer_and_the_rows_beside_it_do_not() {
        let words = |row: Row| row.words(&inputs(), Extent::timed(10)).join(" ");
        assert_eq!(words(Row::W1), "ours-trainer w1 --steps 10");
        assert_eq!(words(Row::W1Operations), "ours w1 --steps 10");
        assert_eq!(words(Row::W3Together), "ours-decode greedy --sentences 32 --repeats 5");
        assert_eq!(
            words(Row::W5),
            "ours-corpus some.toml --batches 100 --data no/such/folder --batch-tokens 4096"
        );
    }

    #[test]
    fn a_profiler_sees_one_step_three_batches_and_100_sentences() {
        let words = |row: Row| row.words(&inputs(), Extent::counted()).join(" ");
        assert_eq!(words(Row::W4), "ours-trainer w4 --steps 1");
        assert_eq!(words(Row::W3Alone), "ours-decode greedy --sentences 1 --repeats 1");
        assert!(words(Row::W5).contains("--batches 3 "));
        assert!(words(Row::W6).ends_with("--source no/such/folder/test.en --lines 100"));
    }
}
