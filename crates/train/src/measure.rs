//! How fast a run goes, and where its time goes.

use crate::error::TrainError;
use crate::lessons::Lessons;
use crate::trainer::Trainer;
use couplet_data::{DataError, Example, Position};
use couplet_tensor::profile::{self, OpTime};
use std::time::Instant;

/// Updates before the clock starts: the first ones take memory from the system, and compile kernels for a GPU.
const WARM_UP: usize = 3;

/// Of so many updates that are timed as a whole, one is made again with its operations timed one by one.
const PROFILED: usize = 4;

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// As fast as it goes.
    pub speed: Stretch,
    /// With every operation timed, and waited for on a GPU: slower.
    pub profiled: Stretch,
    /// What each operation took of that, the longest first.
    pub shares: Vec<OpTime>,
}

/// Some updates, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// How many.
    pub updates: usize,
    /// Tokens of both sides in their batches.
    pub tokens: usize,
    /// How long they took.
    pub seconds: f64,
}

impl Stretch {
    /// Tokens of both sides, a second.
    pub fn tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.seconds.max(1e-9)
    }

    /// How long one update took.
    pub fn milliseconds_per_update(&self) -> f64 {
        1e3 * self.seconds / self.updates.max(1) as f64
    }
}

impl Measured {
    /// The seconds that were spent outside of all operations.
    pub fn outside(&self) -> f64 {
        let inside: f64 = self.shares.iter().map(|share| share.seconds).sum();
        (self.profiled.seconds - inside).max(0.0)
    }
}

/// Trains on the first `updates` batches of a run to find its speed, and then on the first quarter of them once more to find the
/// shares of the operations. Some updates are made before the clock starts.
pub fn measure<L: Lessons>(trainer: &mut Trainer<L>, updates: usize) -> Result<Measured, TrainError> {
    let stops = trainer.feed().starting_at(Position::default()).take(updates);
    let batches: Vec<Vec<Example>> =
        stops.map(|stop| Ok(stop?.examples)).collect::<Result<_, DataError>>()?;
    stretch(trainer, batches.iter().cycle().take(WARM_UP))?;
    let speed = stretch(trainer, batches.iter())?;
    profile::start();
    let profiled = stretch(trainer, batches.iter().take(updates.div_ceil(PROFILED)));
    let mut shares = profile::stop();
    shares.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    Ok(Measured { speed, profiled: profiled?, shares })
}

fn stretch<'a, L: Lessons>(
    trainer: &mut Trainer<L>,
    batches: impl Iterator<Item = &'a Vec<Example>>,
) -> Result<Stretch, TrainError> {
    let start = Instant::now();
    let (mut updates, mut tokens) = (0, 0);
    for examples in batches {
        tokens += trainer.update(examples)?.tokens;
        updates += 1;
    }
    Ok(Stretch { updates, tokens, seconds: start.elapsed().as_secs_f64() })
}

/// The most memory that this process has used, in bytes, where the system says so: Linux does, in a file.
pub fn peak_of_process() -> Option<usize> {
    bytes_in("/proc/self/status", "VmHWM:")
}

/// A figure in kB of one of the system's files, in bytes.
fn bytes_in(file: &str, name: &str) -> Option<usize> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The bytes of memory that the system has free, where it says so: Linux does, in a file.
pub(crate) fn available_memory() -> Option<usize> {
    bytes_in("/proc/meminfo", "MemAvailable:")
}
