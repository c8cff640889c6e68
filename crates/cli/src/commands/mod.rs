//! The verbs, one a file.

pub(crate) mod attend;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod inspect;
pub(crate) mod new;
pub(crate) mod train;
pub(crate) mod translate;

use couplet_tensor::{Device, Isa};

/// The processor, with a number of threads or with all it has.
fn device(threads: Option<usize>) -> Device {
    match threads {
        Some(threads) => Device::cpu_with(threads.max(1), Isa::detect()),
        None => Device::cpu(),
    }
}
