//! Where a command computes: the arguments that all verbs with a model share.

use crate::failure::Failure;
use couplet_tensor::{Device, DeviceChoice, Precision};

// No doc comment: clap would show it in place of the verb's own.
#[derive(clap::Args)]
pub(crate) struct DeviceArguments {
    /// Where to compute: auto, cpu, cuda or cuda:N. auto is the first GPU that can be used, else the CPU
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// How a GPU multiplies matrices: fp32, tf32 or bf16; the last two are faster and round more
    #[arg(long, default_value = "fp32")]
    precision: Precision,
    /// Threads of the CPU to use [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
}

impl DeviceArguments {
    pub(crate) fn open(&self) -> Result<Device, Failure> {
        Ok(Device::open(self.device, self.threads, self.precision)?)
    }

    /// As [`DeviceArguments::open`], for work that takes long: a GPU is named.
    pub(crate) fn open_and_name(&self) -> Result<Device, Failure> {
        let device = self.open()?;
        if !is_cpu(&device) {
            eprintln!("computing on {device}");
        }
        Ok(device)
    }

    /// How `device` multiplies.
    pub(crate) fn precision_on(&self, device: &Device) -> Precision {
        if is_cpu(device) { Precision::Fp32 } else { self.precision }
    }
}

fn is_cpu(device: &Device) -> bool {
    matches!(device, Device::Cpu(_))
}
