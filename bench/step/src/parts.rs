//! How fast the parts of a model are for what they compute: cells and scores beside the LSTM with additive attention, each in a
//! training step of W1's sizes.

use crate::ours::median;
use crate::workload::{LENGTH, Workload};
use anyhow::Result;
use couplet_data::{END, START};
use couplet_nn::{
    AttentionKind, Batch, DecoderKind, EncoderKind, ForwardPass, ModelConfig, Seq2Seq, Training,
};
use couplet_tensor::optimizer::Optimizer;
use couplet_tensor::{Device, Isa, Params, Tape};
use std::time::Instant;

// No doc comment: clap would show it in place of the verb's own.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// All models in turn, so many times.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Steps of a model in each round, of which the median counts.
    #[arg(long, default_value_t = 3)]
    steps: usize,
}

/// The first is what the others are compared with.
const MODELS: [(&str, EncoderKind, DecoderKind, AttentionKind); 5] = [
    ("lstm, additive", EncoderKind::Lstm, DecoderKind::Lstm, AttentionKind::Additive),
    ("gru, additive", EncoderKind::Gru, DecoderKind::Gru, AttentionKind::Additive),
    ("rnn, additive", EncoderKind::Rnn, DecoderKind::Rnn, AttentionKind::Additive),
    ("lstm, dot", EncoderKind::Lstm, DecoderKind::Lstm, AttentionKind::Dot),
    ("lstm, general", EncoderKind::Lstm, DecoderKind::Lstm, AttentionKind::General),
];

struct Part {
    name: &'static str,
    model: Seq2Seq,
    params: Params,
    adam: Optimizer,
    /// Of a step, in 10⁹ multiplications and additions.
    arithmetic: f64,
    /// Milliseconds a step, round by round.
    times: Vec<f64>,
}

impl Part {
    fn new(
        (name, reader, writer, score): (&'static str, EncoderKind, DecoderKind, AttentionKind),
        device: &Device,
        batch: &Batch,
    ) -> Result<Part> {
        let mut config = ModelConfig::default();
        (config.encoder.kind, config.decoder.kind) = (reader, writer);
        config.attention.score = score;
        let mut params = Params::new(device, 1);
        let vocabulary = Workload::W1.sizes().source_vocabulary;
        let model = Seq2Seq::new(&mut params, &config, vocabulary, vocabulary)?;
        let width = model.source_width();
        let depth = score.score().map_or(0, |score| config.attention.key_width(score, width));
        let arithmetic = arithmetic(&params, batch, depth + width) / 1e9;
        Ok(Part { name, model, params, adam: Optimizer::adam().clipped(1.0), arithmetic, times: Vec::new() })
    }

    fn step(&mut self, batch: &Batch) {
        let tape = Tape::new();
        let training = Training { tape: &tape, seed: 1, update: 0 };
        let loss = self.model.loss(&ForwardPass::training(&self.params, training), batch, 0.0).mean;
        tape.backward(&loss, &mut self.params);
        self.adam.step(&mut self.params, 1e-3);
    }

    fn round(&mut self, batch: &Batch, steps: usize) {
        let step = |_| {
            let start = Instant::now();
            self.step(batch);
            start.elapsed().as_secs_f64() * 1e3
        };
        let times: Vec<f64> = (0..steps).map(step).collect();
        self.times.push(median(&times));
    }

    /// 10⁹ multiplications and additions a second, round by round.
    fn rates(&self) -> impl Iterator<Item = f64> {
        self.times.iter().map(|time| self.arithmetic / time * 1e3)
    }
}

/// Multiplications and additions of a training step. Every weight is multiplied with each of its rows, once forward and twice back;
/// every row of the target has an energy with each source step, of `reach` terms together with the sum of the values.
fn arithmetic(params: &Params, batch: &Batch, reach: usize) -> f64 {
    let (sources, targets) = (batch.source.layout.total(), batch.input.layout.total());
    let of_param = |param| {
        let name = params.name(param);
        let tensor = params.tensor(param);
        let rows = match name {
            _ if name.contains("embedding") || tensor.rows() == 1 => 0,
            _ if name.starts_with("encoder") || name.starts_with("attention.key") => sources,
            _ if name.starts_with("bridge") => batch.source.layout.batch(),
            _ => targets,
        };
        rows * tensor.rows() * tensor.columns()
    };
    let products: usize = params.iter().map(of_param).sum();
    6.0 * (products + targets * LENGTH * reach) as f64
}

/// Trains all models in turn and prints a table.
pub(crate) fn measure(arguments: &Arguments) -> Result<()> {
    let device = Device::cpu_with(arguments.threads, Isa::detect());
    let pairs = Workload::W1.pairs();
    let pairs: Vec<(&[u32], &[u32])> =
        pairs.iter().map(|(source, target)| (&source[..], &target[1..LENGTH])).collect();
    let numbers: Vec<u32> = (0..).take(pairs.len()).collect();
    let batch = Batch::new(&pairs, &numbers, START, END);
    let mut parts =
        MODELS.into_iter().map(|model| Part::new(model, &device, &batch)).collect::<Result<Vec<_>>>()?;
    // Once before the clock starts: memory is there.
    parts.iter_mut().for_each(|part| part.step(&batch));
    for _ in 0..arguments.rounds {
        parts.iter_mut().for_each(|part| part.round(&batch, arguments.steps));
    }
    println!("| | GFLOP a step | ms a step | GFLOP/s | over {} |", parts[0].name);
    println!("|---|---|---|---|---|");
    for part in &parts {
        let rates: Vec<f64> = part.rates().collect();
        let ratios: Vec<f64> = rates.iter().zip(parts[0].rates()).map(|(own, first)| own / first).collect();
        println!(
            "| {} | {:.0} | {:.0} | {:.0} | × {:.2} |",
            part.name,
            part.arithmetic,
            median(&part.times),
            median(&rates),
            median(&ratios)
        );
    }
    Ok(())
}
