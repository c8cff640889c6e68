//! Where tensors live and operations run.

use crate::lane::Isa;
use crate::memory::Blocks;
use crate::pool::Pool;
use std::fmt;
use std::sync::Arc;

/// Fewer simple operations than this take less time than waking a thread for them.
const GRAIN: usize = 16 * 1024;

/// A device: its memory and what computes there.
#[derive(Clone)]
pub enum Device {
    /// The processor.
    Cpu(Arc<Cpu>),
}

/// The processor: threads, instructions and memory that is used again.
pub struct Cpu {
    pub(crate) pool: Pool,
    pub(crate) isa: Isa,
    pub(crate) memory: Blocks,
}

impl Device {
    /// The processor with as many threads as it has cores, and the best instructions it has.
    pub fn cpu() -> Device {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Device::cpu_with(cores, Isa::detect())
    }

    /// The processor with a number of threads and a set of instructions of your choice.
    pub fn cpu_with(threads: usize, isa: Isa) -> Device {
        Device::cpu_with_grain(threads, isa, GRAIN)
    }

    /// As [`Device::cpu_with`], where work is split as soon as each thread gets `grain` simple operations. Tests set it to 1:
    /// so that the smallest sizes are split too.
    pub fn cpu_with_grain(threads: usize, isa: Isa, grain: usize) -> Device {
        Device::Cpu(Arc::new(Cpu { pool: Pool::new(threads, grain), isa, memory: Blocks::default() }))
    }

    /// The memory of this device.
    pub fn memory(&self) -> &Blocks {
        let Device::Cpu(cpu) = self;
        &cpu.memory
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Device::Cpu(cpu) = self;
        cpu.fmt(f)
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu ({} threads, {:?})", self.pool.threads(), self.isa)
    }
}
