use crate::device::DeviceArguments;
use crate::failure::Outcome;
use couplet_tensor::profile::OpTime;
use couplet_tensor::{Device, Precision};
use couplet_train::{
    AnyConfig, Corpus, Inherited, LabeledCorpus, Lessons, Measured, TextCorpus, Trainer, measure,
    peak_of_process,
};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The row for what no operation took: batches that are packed, variables, the loop itself.
const OUTSIDE: &str = "outside of operations";

/// Measure how fast a config trains on this machine, and which operations take the time.
///
/// Trains on the first batches of the config's data, as `couplet train` would, and writes nothing. After a few updates to warm up
/// there are two passes: all updates with nothing but the clock, for the speed; then a quarter of them with every operation
/// timed, for the shares. On a GPU each operation is waited for in the second pass, which makes it slower than the first.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet bench my-model/config.toml --threads 4
Example: couplet bench my-model/config.toml --device cuda --precision tf32 --set train.batch_tokens=8192 --json")]
pub(crate) struct Arguments {
    /// The config file. The files it names are relative to its folder.
    config: PathBuf,
    /// Updates that are timed.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    updates: u32,
    /// Override a key of the config, as key=value; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match AnyConfig::read_located(&arguments.config, &arguments.set)? {
        AnyConfig::Translate(config) => bench::<Corpus>(arguments, *config),
        AnyConfig::Classify(config) => bench::<LabeledCorpus>(arguments, *config),
        AnyConfig::LanguageModel(config) => bench::<TextCorpus>(arguments, *config),
    }
}

fn bench<L: Lessons>(arguments: &Arguments, mut config: L::Config) -> Outcome {
    let device = arguments.device.open_and_name()?;
    let inherited = Inherited::of(&mut config, None)?;
    let lessons = L::read(&config, inherited)?;
    let mut trainer = Trainer::new(config, lessons, &device, None)?;
    let measured = measure(&mut trainer, arguments.updates as usize)?;
    let report = Report {
        device: device.to_string(),
        precision: arguments.device.precision_on(&device),
        measured,
        process_bytes: peak_of_process(),
        gpu_bytes: (!matches!(device, Device::Cpu(_))).then(|| device.memory().bytes_held()),
    };
    if arguments.json {
        println!("{}", report.json());
    } else {
        print!("{}", report.table());
    }
    Ok(())
}

/// What is printed.
struct Report {
    device: String,
    precision: Precision,
    measured: Measured,
    /// The most memory that the process has used, where the system says so.
    process_bytes: Option<usize>,
    /// Memory on a GPU.
    gpu_bytes: Option<usize>,
}

impl Report {
    fn table(&self) -> String {
        let Measured { speed, profiled, shares } = &self.measured;
        let rows = shares.iter().map(|share| self.row(share)).collect::<String>();
        let outside = self.measured.outside();
        format!(
            "\
device           {}, {}
updates          {}
tokens a second  {:.0}, source and target
an update        {:.1} ms
memory           {}

{:23} {:8} {:>6}  {:>9}  {:>8}
{rows}{OUTSIDE:32} {:>6}  {outside:>9.4}
{:32} {:>6}  {:>9.4}
",
            self.device,
            self.precision,
            speed.updates,
            speed.tokens_per_second(),
            speed.milliseconds_per_update(),
            self.memory(),
            "operation",
            "phase",
            "share",
            "seconds",
            "calls",
            percent(self.share(outside)),
            format!("all of {} updates", profiled.updates),
            percent(1.0),
            profiled.seconds,
        )
    }

    fn row(&self, share: &OpTime) -> String {
        let OpTime { name, phase: way, calls, seconds } = share;
        let part = percent(self.share(*seconds));
        format!("{name:23} {:8} {part:>6}  {seconds:>9.4}  {calls:>8}\n", way.to_string())
    }

    /// Of the time of all updates whose operations were timed.
    fn share(&self, seconds: f64) -> f64 {
        seconds / self.measured.profiled.seconds.max(1e-9)
    }

    fn memory(&self) -> String {
        let process = match self.process_bytes {
            Some(bytes) => format!("{} at most", megabytes(bytes)),
            None => "not known on this system".to_owned(),
        };
        match self.gpu_bytes {
            Some(bytes) => format!("{process}; {} on the GPU", megabytes(bytes)),
            None => process,
        }
    }

    fn json(&self) -> Value {
        let Measured { speed, profiled, shares } = &self.measured;
        let operation = |share: &OpTime| {
            json!({
                "name": share.name,
                "phase": share.phase.to_string(),
                "fraction": self.share(share.seconds),
                "seconds": share.seconds,
                "calls": share.calls,
            })
        };
        let outside = self.measured.outside();
        json!({
            "device": self.device,
            "precision": self.precision.to_string(),
            "updates": speed.updates,
            "tokens": speed.tokens,
            "seconds": speed.seconds,
            "tokens_per_second": speed.tokens_per_second(),
            "milliseconds_per_update": speed.milliseconds_per_update(),
            "process_bytes": self.process_bytes, // null where the system does not say
            "gpu_bytes": self.gpu_bytes, // null on the processor
            "profile": {
                "updates": profiled.updates,
                "seconds": profiled.seconds,
                "operations": shares.iter().map(operation).collect::<Vec<_>>(),
                "outside": { "fraction": self.share(outside), "seconds": outside },
            },
        })
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn megabytes(bytes: usize) -> String {
    format!("{} MB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use couplet_tensor::profile::Phase;
    use couplet_train::Stretch;

    /// 8 updates of 250 tokens in 2 s: 1000 tokens a second, 250 ms an update. Of 0.5 s, 0.4 s are the scan's and 0.05 s are
    /// Adam's; 0.05 s are left.
    fn report() -> Report {
        let share = |name, way, calls, seconds| OpTime { name, phase: way, calls, seconds };
        Report {
            device: "cpu (2 threads, Portable)".to_owned(),
            precision: Precision::Fp32,
            measured: Measured {
                speed: Stretch { updates: 8, tokens: 2000, seconds: 2.0 },
                profiled: Stretch { updates: 2, tokens: 500, seconds: 0.5 },
                shares: vec![share("scan", Phase::Backward, 2, 0.4), share("adam", Phase::Update, 2, 0.05)],
            },
            process_bytes: Some(3 << 20),
            gpu_bytes: None,
        }
    }

    #[test]
    fn a_table_by_hand() {
        let expected = "\
device           cpu (2 threads, Portable), fp32
updates          8
tokens a second  1000, source and target
an update        250.0 ms
memory           3 MB at most

operation               phase     share    seconds     calls
scan                    backward  80.0%     0.4000         2
adam                    update    10.0%     0.0500         2
outside of operations             10.0%     0.0500
all of 2 updates                 100.0%     0.5000
";
        assert_eq!(report().table(), expected);
    }

    #[test]
    fn memory_that_is_not_known_and_memory_of_a_gpu() {
        let report = Report { process_bytes: None, gpu_bytes: Some(5 << 20), ..report() };
        assert_eq!(report.memory(), "not known on this system; 5 MB on the GPU");
        assert_eq!(report.json()["process_bytes"], Value::Null);
        assert_eq!(report.json()["tokens_per_second"], 1000.0);
    }
}
