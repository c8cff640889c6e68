//! Where tensors live and operations run.

#[cfg(feature = "cuda")]
use crate::cuda::Cuda;
use crate::lane::Isa;
use crate::memory::Blocks;
use crate::pool::Pool;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Fewer simple operations than this take less time than waking a thread for them.
const GRAIN: usize = 16 * 1024;

/// A device: its memory and what computes there.
#[derive(Clone)]
pub enum Device {
    /// The processor.
    Cpu(Arc<Cpu>),
    /// An NVIDIA GPU.
    #[cfg(feature = "cuda")]
    Cuda(Arc<Cuda>),
}

/// Does one thing or another, depending on what a device is: `on_device!(device, cpu => …, cuda => …)`.
macro_rules! on_device {
    ($device:expr, $cpu:ident => $on_cpu:expr, $cuda:ident => $on_cuda:expr) => {
        match $device {
            $crate::Device::Cpu($cpu) => $on_cpu,
            #[cfg(feature = "cuda")]
            $crate::Device::Cuda($cuda) => $on_cuda,
        }
    };
}
pub(crate) use on_device;

/// The processor: threads, instructions and memory that is used again.
pub struct Cpu {
    pub(crate) pool: Pool,
    pub(crate) isa: Isa,
    pub(crate) memory: Blocks,
}

/// The device that a user asks for: `auto`, `cpu`, `cuda` or `cuda:1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU where there is one that can be used, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
}

/// How a GPU multiplies matrices: `fp32`, `tf32` or `bf16`. Tensors, weights and sums are `f32` in any case; the processor always
/// multiplies in `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// With all 24 bits of an `f32`, or, in small time steps and in large products, with 22 of them: the sums of three products
    /// of TF32.
    #[default]
    Fp32,
    /// Factors are rounded to 11 bits on the way into the product.
    Tf32,
    /// The factors of large products and of large time steps are rounded to bf16, 8 bits, those of smaller ones to TF32.
    Bf16,
}

/// A name that is none of those that are possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    name: String,
    possible: &'static str,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is none of {}", self.name, self.possible)
    }
}

impl std::error::Error for UnknownName {}

impl FromStr for DeviceChoice {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<DeviceChoice, UnknownName> {
        let unknown = || UnknownName { name: name.to_owned(), possible: "auto, cpu, cuda, cuda:N" };
        match name {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            _ => {
                let number = name.strip_prefix("cuda:").ok_or_else(unknown)?;
                number.parse().map(DeviceChoice::Cuda).map_err(|_| unknown())
            }
        }
    }
}

impl FromStr for Precision {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Precision, UnknownName> {
        match name {
            "fp32" => Ok(Precision::Fp32),
            "tf32" => Ok(Precision::Tf32),
            "bf16" => Ok(Precision::Bf16),
            _ => Err(UnknownName { name: name.to_owned(), possible: "fp32, tf32, bf16" }),
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::Fp32 => "fp32",
            Precision::Tf32 => "tf32",
            Precision::Bf16 => "bf16",
        })
    }
}

/// Why a device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl DeviceError {
    /// What to do about it.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DeviceError {}

impl Device {
    /// The device that a user asks for; the processor with so many threads, or as many as it has cores.
    pub fn open(
        choice: DeviceChoice,
        threads: Option<usize>,
        precision: Precision,
    ) -> Result<Device, DeviceError> {
        let cpu = || match threads {
            Some(threads) => Device::cpu_with(threads.max(1), Isa::detect()),
            None => Device::cpu(),
        };
        match choice {
            DeviceChoice::Auto => Ok(Device::cuda(0, precision).unwrap_or_else(|_| cpu())),
            DeviceChoice::Cpu => Ok(cpu()),
            DeviceChoice::Cuda(ordinal) => Device::cuda(ordinal, precision),
        }
    }

    /// The GPU of this number.
    #[cfg(feature = "cuda")]
    pub fn cuda(ordinal: usize, precision: Precision) -> Result<Device, DeviceError> {
        Cuda::open(ordinal, precision).map(Device::Cuda)
    }

    /// The GPU of this number: never there in a build without the feature `cuda`.
    #[cfg(not(feature = "cuda"))]
    pub fn cuda(_ordinal: usize, _precision: Precision) -> Result<Device, DeviceError> {
        Err(DeviceError {
            message: "this build cannot use a GPU".to_owned(),
            hint: "build it with the feature cuda, or use --device cpu".to_owned(),
        })
    }

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
        on_device!(self, cpu => &cpu.memory, cuda => &cuda.memory)
    }

    /// The processor, for what works on slices of numbers.
    pub(crate) fn expect_cpu(&self) -> &Cpu {
        on_device!(self, cpu => cpu, cuda => panic!("slices of numbers are not on {cuda:?}"))
    }

    /// Has all products computed as large ones are, where the device makes a difference; or no longer.
    pub(crate) fn treat_all_as_large(&self, all: bool) {
        on_device!(self, _cpu => { let _ = all; }, cuda => cuda.treat_all_as_large(all));
    }

    /// Waits until all that the device has been given to do is done. On the processor it always is.
    pub fn synchronize(&self) {
        on_device!(self, _cpu => (), cuda => cuda.synchronize());
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        on_device!(self, cpu => cpu.fmt(f), cuda => cuda.fmt(f))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu ({} threads, {:?})", self.pool.threads(), self.isa)
    }
}
