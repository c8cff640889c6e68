//! Our side.

use crate::workload::{Training, Workload};
use anyhow::{Context, Result};
use couplet_tensor::{Device, Isa, Params};
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// Steps before the clock starts.
const WARM_UP: usize = 2;

/// Milliseconds a step, the first loss, peak memory.
pub(crate) fn measure(
    workload: Workload,
    steps: usize,
    threads: usize,
    dump: Option<&Path>,
) -> Result<Value> {
    let device = Device::cpu_with(threads, Isa::detect());
    let mut training = Training::new(workload, &device);
    if let Some(path) = dump {
        write(workload, &training.params, path)?;
    }
    let first_loss = training.step();
    for _ in 1..WARM_UP {
        training.step();
    }
    let times = (0..steps).map(|_| {
        let start = Instant::now();
        training.step();
        start.elapsed().as_secs_f64() * 1e3
    });
    let times: Vec<f64> = times.collect();
    Ok(json!({
        "first_loss": first_loss,
        "ms": median(&times),
        "peak_mb": peak_megabytes()?,
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

pub(crate) fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

pub(crate) fn peak_megabytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("peak memory is read from /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM in /proc")?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes / 1024.0)
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

/// Writes a safetensors file.
pub(crate) fn save(path: &Path, tensors: &[(String, Contents)]) -> Result<()> {
    let mut views = Vec::new();
    for (name, (dtype, shape, bytes)) in tensors {
        views.push((name, TensorView::new(*dtype, shape.clone(), bytes)?));
    }
    safetensors::serialize_to_file(views, None, path).with_context(|| format!("writing {}", path.display()))
}
