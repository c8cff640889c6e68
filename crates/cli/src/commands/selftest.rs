use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use couplet_tensor::selftest::{self, Finding};
use couplet_tensor::{Device, Precision};

/// Check that a device computes what it should.
///
/// Every operation of the engine, with its gradients, on odd sizes, beside the same on one thread of the CPU in plain code. Run it
/// first on a new card. A difference is relative to the largest number of a result.
#[derive(clap::Args)]
#[command(after_help = "Example: couplet selftest --device cuda --precision tf32")]
pub(crate) struct Arguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let device = arguments.device.open()?;
    let precision = arguments.device.precision_on(&device);
    if !arguments.json {
        println!("{device}, {precision}");
        println!("{:36} {:>5}  {:>10}  {:>7}", "operation", "sizes", "difference", "allowed");
    }
    let mut findings: Vec<Finding> = Vec::new();
    selftest::run(&device, selftest::tolerance(precision), &mut |finding| {
        if !arguments.json {
            print_line(finding);
        }
        findings.push(finding.clone());
    });
    if arguments.json {
        println!("{}", json(&device, precision, &findings));
    } else {
        let right = findings.iter().filter(|finding| finding.is_ok()).count();
        println!("{right} of {} operations are right", findings.len());
    }
    outcome(&device, &findings)
}

fn outcome(device: &Device, findings: &[Finding]) -> Outcome {
    let wrong = findings.iter().filter(|finding| !finding.is_ok());
    let wrong: Vec<&str> = wrong.map(|finding| finding.operation.as_str()).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("wrong on {device}: {}", wrong.join("; ")),
        Some("update the card's driver and try again; until then, use --device cpu".to_owned()),
    ))
}

fn print_line(finding: &Finding) {
    let (operation, sizes) = (&finding.operation, finding.sizes.len());
    let [difference, allowed] = [finding.difference, finding.allowed].map(figure);
    let verdict = if finding.is_ok() { "ok".to_owned() } else { format!("WRONG: {}", finding.furthest) };
    println!("{operation:36} {sizes:>5}  {difference:>10}  {allowed:>7}  {verdict}");
}

/// Two digits, and nothing but a zero for nothing.
fn figure(x: f32) -> String {
    if x == 0.0 { "0".to_owned() } else { format!("{x:.1e}") }
}

fn json(device: &Device, precision: Precision, findings: &[Finding]) -> serde_json::Value {
    let one = |finding: &Finding| {
        serde_json::json!({
            "operation": finding.operation,
            "sizes": finding.sizes,
            "difference": finding.difference, // null where it is infinite
            "allowed": finding.allowed,
            "furthest": finding.furthest,
            "ok": finding.is_ok(),
        })
    };
    serde_json::json!({
        "device": device.to_string(),
        "precision": precision.to_string(),
        "ok": findings.iter().all(Finding::is_ok),
        "operations": findings.iter().map(one).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use couplet_tensor::Isa;

    #[test]
    fn what_is_wrong_is_named_and_a_failure() {
        let finding = |operation: &str, difference| Finding {
            operation: operation.to_owned(),
            sizes: vec!["3 × 7".to_owned()],
            difference,
            allowed: 1e-5,
            furthest: "value 0, 3 × 7".to_owned(),
        };
        let device = Device::cpu_with(1, Isa::Portable);
        let findings = [finding("tanh", 1e-7), finding("add", f32::INFINITY), finding("linear, bias", 1e-4)];
        let hint = "update the card's driver and try again; until then, use --device cpu".to_owned();
        let error = "wrong on cpu (1 threads, Portable): add; linear, bias";
        assert_eq!(outcome(&device, &findings), Err(Failure::new(error, Some(hint))));
        assert_eq!(outcome(&device, &findings[..1]), Ok(()));
        let json = json(&device, Precision::Fp32, &findings);
        assert_eq!(json["ok"], false);
        assert_eq!(json["operations"][1]["difference"], serde_json::Value::Null);
    }
}
