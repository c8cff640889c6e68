//! Our side.

use crate::workload::{Training, Workload};
use anyhow::{Context, Result, anyhow};
use couplet_tensor::{Device, DeviceChoice, Params, Precision};
use couplet_train::peak_of_process;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

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

/// Milliseconds a step, the first loss, peak memory.
pub(crate) fn measure(arguments: &Arguments) -> Result<Value> {
    let device = Device::open(arguments.device, Some(arguments.threads), arguments.precision)
        .map_err(|error| anyhow!("{error}\nhint: {}", error.hint()))?;
    let on_gpu = !matches!(device, Device::Cpu(_));
    let mut training = Training::new(arguments.workload, &device);
    if let Some(path) = &arguments.dump {
        write(arguments.workload, &training.params, path)?;
    }
    let first_loss = training.step().item();
    let times = times(&mut training, &device, &Timing::new(on_gpu, arguments.steps));
    let peak = if on_gpu { megabytes(device.memory().bytes_held()) } else { peak_megabytes()? };
    Ok(json!({
        "first_loss": first_loss,
        "ms": median(&times),
        "peak_mb": peak,
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// Milliseconds a step in each stretch. The first step has been made.
fn times(training: &mut Training, device: &Device, timing: &Timing) -> Vec<f64> {
    for _ in 1..timing.warm_up {
        training.step();
    }
    let stretch = |_| {
        device.synchronise();
        let start = Instant::now();
        for _ in 0..timing.length {
            training.step();
        }
        device.synchronise();
        start.elapsed().as_secs_f64() * 1e3 / timing.length as f64
    };
    (0..timing.stretches).map(stretch).collect()
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

/// The weights under their names, and the tokens as `source` and `target`.
fn write(workload: Workload, params: &Params, path: &Path) -> Result<()> {
    let (sources, targets): (Vec<_>, Vec<_>) = workload.pairs().into_iter().unzip();
    let weights = params.iter().map(|param| {
        let tensor = params.tensor(param);
        (params.name(param).to_owned(), floats(&[tensor.rows(), tensor.columns()], &tensor.to_vec()))
    });
    let sides = [("source".to_owned(), tokens(&sources)), ("target".to_owned(), tokens(&targets))];
    save(path, &weights.chain(sides).collect::<Vec<_>>())
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
    let contents = |param| {
        let tensor = params.tensor(param);
        let name = params.name(param);
        let name = if is_transformer(params) { name.to_owned() } else { twins_name(name) };
        (name, floats(&[tensor.rows(), tensor.columns()], &tensor.to_vec()))
    };
    params.iter().map(contents).collect()
}

/// A Transformer's twin has our names.
fn is_transformer(params: &Params) -> bool {
    params.find("encoder.layers.0.norm1.weight").is_some()
}

fn twins_name(name: &str) -> String {
    let name = name.replace("decoder.mix", "mix").replace("decoder.output", "out");
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
