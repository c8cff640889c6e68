//! Our side.

use crate::measured::Measurements;
use crate::product;
use crate::workload::{Training, Workload};
use anyhow::{Context, Result, anyhow};
use couplet_tensor::{Device, DeviceChoice, Isa, Params, Precision, Tensor, trim_heap};
use couplet_train::peak_of_process;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

// No doc comment: clap would show it in place of the verb's own.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    workload: Workload,
    /// Steps that are timed: on the CPU one by one, on a GPU as one stretch, several times.
    #[arg(long, default_value_t = 10)]
    steps: usize,
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    device: DeviceChoice,
    /// How a GPU multiplies: fp32, tf32 or bf16
    #[arg(long, default_value_t = Precision::Fp32)]
    precision: Precision,
    /// Write the first weights and the tokens here, for the other side.
    #[arg(long)]
    dump: Option<PathBuf>,
    /// For a profiler on the CPU: no step but the first, with portable vectors.
    #[arg(long)]
    counted: bool,
}

/// How steps are timed; the twin does the same.
struct Timing {
    /// Steps before the clock starts.
    warm_up: usize,
    stretches: usize,
    /// Steps from one reading of the clock to the next.
    length: usize,
}

impl Timing {
    /// A GPU works behind the program's back: one step alone would be timed with the wait for it.
    fn new(on_gpu: bool, steps: usize) -> Timing {
        if on_gpu {
            Timing { warm_up: 5, stretches: 3, length: steps }
        } else {
            Timing { warm_up: 2, stretches: steps, length: 1 }
        }
    }
}

/// Milliseconds a step of the operations alone (of W4, of its model), the first loss, peak memory.
pub(crate) fn measure(arguments: &Arguments) -> Result<Value> {
    let device = arguments.open()?;
    let mut training = Training::new(arguments.workload, &device);
    if let Some(path) = &arguments.dump {
        let weights = named_weights(&training.params, str::to_owned);
        let (sources, targets): (Vec<_>, Vec<_>) = arguments.workload.pairs().into_iter().unzip();
        save(path, &with_tokens(weights, &sources, &targets))?;
    }
    arguments.measure(&device, || Ok(training.step()), Tensor::item)
}

/// The same of the product: each step is an update of the trainer.
pub(crate) fn measure_product(arguments: &Arguments) -> Result<Value> {
    let device = arguments.open()?;
    let (config, corpus) = product::of_workload(arguments.workload)?;
    if let Some(path) = &arguments.dump {
        let weights = weights_of(&product::first_weights(&config, &corpus)?);
        let batch = product::first_batches(&config, &corpus, 1)?.concat();
        let [sources, targets] = product::sides(&batch);
        save(path, &with_tokens(weights, &sources, &targets))?;
    }
    let mut run = product::Run::new(config, corpus, &device)?;
    trim_heap();
    arguments.measure(&device, || run.update(), |updated| updated.loss)
}

impl Arguments {
    fn open(&self) -> Result<Device> {
        if self.counted {
            return Ok(Device::cpu_with(self.threads, Isa::Portable));
        }
        Device::open(self.device, Some(self.threads), self.precision)
            .map_err(|error| anyhow!("{error}\nhint: {}", error.hint()))
    }

    fn timing(&self, device: &Device) -> Timing {
        if self.counted {
            return Timing { warm_up: 0, stretches: 1, length: 1 };
        }
        Timing::new(on_gpu(device), self.steps)
    }

    /// Makes steps, of which the first one's loss is read, and measures each stretch of them.
    fn measure<T>(
        &self,
        device: &Device,
        mut step: impl FnMut() -> Result<T>,
        loss: impl Fn(&T) -> f32,
    ) -> Result<Value> {
        let timing = self.timing(device);
        let mut first = None;
        let mut steps = |count: usize| {
            (0..count).try_for_each(|_| {
                let made = step()?;
                first.get_or_insert_with(|| loss(&made));
                anyhow::Ok(())
            })
        };
        steps(timing.warm_up)?;
        let mut measurements = Measurements::default();
        for _ in 0..timing.stretches {
            device.synchronize();
            measurements.take(|| {
                steps(timing.length)?;
                device.synchronize();
                anyhow::Ok(())
            })?;
        }
        let peak = if on_gpu(device) { megabytes(device.memory().bytes_held()) } else { peak_megabytes()? };
        let length = timing.length as f64;
        Ok(json!({
            "first_loss": first,
            "ms": median(&measurements.seconds) * 1e3 / length,
            "allocations": measurements.allocations() / length,
            "peak_mb": peak,
            "version": env!("CARGO_PKG_VERSION"),
        }))
    }
}

fn on_gpu(device: &Device) -> bool {
    !matches!(device, Device::Cpu(_))
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

/// The middle of some numbers; of an even number of them, the mean of the two in the middle.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    let lower = (sorted.len() - 1) / 2;
    (sorted[lower] + sorted[upper]) / 2.0
}

pub(crate) fn peak_megabytes() -> Result<f64> {
    peak_of_process().map(megabytes).context("the system does not say how much memory was used")
}

/// Weights, and the tokens as `source` and `target`.
fn with_tokens(
    mut weights: Vec<(String, Contents)>,
    sources: &[Vec<u32>],
    targets: &[Vec<u32>],
) -> Vec<(String, Contents)> {
    weights.extend([("source".to_owned(), tokens(sources)), ("target".to_owned(), tokens(targets))]);
    weights
}

/// Type, shape and bytes of a tensor.
pub(crate) type Contents = (Dtype, Vec<usize>, Vec<u8>);

pub(crate) fn floats(shape: &[usize], numbers: &[f32]) -> Contents {
    (Dtype::F32, shape.to_vec(), numbers.iter().copied().flat_map(f32::to_le_bytes).collect())
}

/// Sequences of one length.
pub(crate) fn tokens(sequences: &[Vec<u32>]) -> Contents {
    let bytes = sequences.concat().into_iter().flat_map(|token| i64::from(token).to_le_bytes()).collect();
    (Dtype::I64, vec![sequences.len(), sequences.first().map_or(0, Vec::len)], bytes)
}

/// Sequences of any length, padded to one.
pub(crate) fn padded(sequences: impl Iterator<Item = Vec<u32>>) -> Vec<Vec<u32>> {
    let mut sequences: Vec<Vec<u32>> = sequences.collect();
    let longest = sequences.iter().map(Vec::len).max().unwrap_or(0);
    sequences.iter_mut().for_each(|sequence| sequence.resize(longest, couplet_data::PAD));
    sequences
}

/// The weights of a [`couplet_nn::Seq2Seq`] under the twin's names.
pub(crate) fn weights_of(params: &Params) -> Vec<(String, Contents)> {
    named_weights(params, if is_transformer(params) { str::to_owned } else { twins_name })
}

/// The weights under names that are made of their own.
fn named_weights(params: &Params, rename: impl Fn(&str) -> String) -> Vec<(String, Contents)> {
    let contents = |param| {
        let tensor = params.tensor(param);
        (rename(params.name(param)), floats(&[tensor.rows(), tensor.columns()], &tensor.to_vec()))
    };
    params.iter().map(contents).collect()
}

/// A Transformer's twin has our names.
fn is_transformer(params: &Params) -> bool {
    params.find("encoder.layers.0.norm1.weight").is_some()
}

fn twins_name(name: &str) -> String {
    let name = name.replace("decoder.attentional", "mix").replace("decoder.output", "out");
    match name.as_str() {
        "encoder.embedding.weight" => "source_embedding".to_owned(),
        "decoder.embedding.weight" => "target_embedding".to_owned(),
        "attention.key.weight" => "attention.key".to_owned(),
        "attention.query.weight" => "attention.query".to_owned(),
        // The twin's decoder is a list of cells: decoder.weight_ih_l0 is decoder.0.weight_ih there.
        _ => match name.strip_prefix("decoder.").and_then(|part| part.rsplit_once("_l")) {
            Some((part, layer)) => format!("decoder.{layer}.{part}"),
            None => name,
        },
    }
}

/// Writes a safetensors file.
pub(crate) fn save(path: &Path, tensors: &[(String, Contents)]) -> Result<()> {
    let mut views = Vec::new();
    for (name, (dtype, shape, bytes)) in tensors {
        views.push((name, TensorView::new(*dtype, shape.clone(), bytes)?));
    }
    safetensors::serialize_to_file(views, None, path).with_context(|| format!("writing {}", path.display()))
}
