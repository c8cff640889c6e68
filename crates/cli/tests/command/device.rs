//! Where a command computes, and whether it computes well.

use crate::support::{couplet, couplet_reading, tiny_model};
use std::path::Path;

const VERBS: [&str; 7] = ["demo", "train", "translate", "evaluate", "attend", "bench", "selftest"];

#[test]
fn every_verb_that_computes_takes_a_device() {
    for verb in VERBS {
        let help = couplet(Path::new("."), &[verb, "--help"]).ok();
        for argument in ["--device", "--precision", "--threads"] {
            assert!(help.contains(argument), "{argument} in {help}");
        }
    }
}

#[test]
fn the_processor_can_be_asked_for() {
    let (folder, _) = tiny_model();
    let translate = |device: &[&str]| {
        let arguments = [&["translate", "--model", "model"], device].concat();
        couplet_reading(folder.path(), &arguments, b"Tom sees Jerry\n").ok()
    };
    let on_cpu = translate(&["--device", "cpu"]);
    assert_eq!(on_cpu.lines().count(), 1);
    assert_eq!(translate(&["--device", "cpu", "--threads", "1"]), on_cpu);
}

/// No machine has so many GPUs.
#[test]
fn a_gpu_that_is_not_there_is_one_clear_error() {
    let (folder, _) = tiny_model();
    for arguments in [&["selftest"][..], &["demo"], &["translate", "--model", "model"]] {
        let ran = couplet(folder.path(), &[arguments, &["--device", "cuda:999"]].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("error: ") && lines[1].starts_with("hint: "), "{lines:?}");
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn names_that_are_unknown_are_refused() {
    for (argument, name, possible) in
        [("--device", "gpu", "auto, cpu, cuda, cuda:N"), ("--precision", "fp8", "fp32, tf32, bf16")]
    {
        let ran = couplet(Path::new("."), &["selftest", argument, name]);
        assert_eq!(ran.code, Some(2));
        let error = format!("error: invalid value '{name}' for '{argument}");
        assert!(ran.stderr.starts_with(&error) && ran.stderr.contains(possible), "{}", ran.stderr);
    }
}

#[test]
fn the_processor_passes_the_selftest() {
    let printed = couplet(Path::new("."), &["selftest", "--device", "cpu", "--threads", "2"]).ok();
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("cpu (2 threads, ") && lines[0].ends_with(", fp32"), "{printed}");
    let operations = &lines[2..lines.len() - 1];
    assert!(operations.iter().all(|line| line.ends_with("  ok")), "{printed}");
    let count = operations.len();
    assert_eq!(*lines.last().unwrap(), format!("{count} of {count} operations are right"));

    // The processor multiplies in f32 whatever is asked for.
    let json =
        couplet(Path::new("."), &["selftest", "--device", "cpu", "--precision", "bf16", "--json"]).ok();
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&found["ok"], &found["precision"]), (&true.into(), &"fp32".into()));
    let operations = found["operations"].as_array().unwrap();
    assert_eq!(operations.len(), count);
    assert!(operations.iter().all(|one| one["difference"].as_f64() <= one["allowed"].as_f64()));
}
