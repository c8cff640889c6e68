//! Runs that are stopped, killed and damaged go on as if nothing had happened.

use crate::support::{Ran, TINY, command, couplet, couplet_reading, new_project};
use couplet_data::random::Random;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A run of 40 updates with all that has a state: dropout, a moving average, validation by a search, a plateau, accumulation.
const LONG: [&str; 10] = [
    "train.max_updates=40",
    "train.epochs=1000",
    "train.batch_tokens=200",
    "train.gradient_accumulation_steps=2",
    "train.validate_every=7",
    "train.checkpoint_every=3",
    "train.ema_decay=0.9",
    "train.schedule=plateau",
    "train.plateau_patience=0",
    "train.patience=0",
];

fn arguments<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = [&["train", "project/config.toml", "--out", out], &TINY[..]].concat();
    LONG.iter().for_each(|each| all.extend(["--set", each]));
    all.extend(more);
    all
}

fn train(folder: &Path, out: &str, more: &[&str]) -> Ran {
    couplet(folder, &arguments(out, more))
}

/// A run that is left alone, and how long it takes on this machine: what random moments are drawn from.
fn left_alone(folder: &Path) -> Duration {
    let began = Instant::now();
    train(folder, "alone", &[]).ok();
    began.elapsed()
}

/// A random moment of a time.
fn moment_of(time: Duration, random: &mut Random) -> Duration {
    time * random.below(1000) as u32 / 1000
}

/// Starts a run and kills it after some time, if it has not ended by then. Says whether it had.
fn killed_after(folder: &Path, out: &str, time: Duration) -> bool {
    let mut child = command(folder, &arguments(out, &["--resume"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("couplet starts");
    std::thread::sleep(time);
    let ended = child.try_wait().expect("it can be asked").is_some();
    // Kills as `kill -9` does; a process that has ended already is no mistake.
    let _ = child.kill();
    child.wait().expect("it has ended");
    ended
}

fn weights(folder: &Path, out: &str) -> Vec<u8> {
    fs::read(folder.join(out).join("model.safetensors")).expect("the model")
}

/// The tensors of the last checkpoint; the state before them holds seconds, which no two runs share.
fn last_tensors(folder: &Path, out: &str) -> Vec<(String, Vec<u8>)> {
    let bytes =
        fs::read(folder.join(out).join("checkpoints/step-40.safetensors")).expect("the last checkpoint");
    let file = safetensors::SafeTensors::deserialize(&bytes).expect("a whole file");
    let mut tensors: Vec<_> =
        file.tensors().into_iter().map(|(name, view)| (name, view.data().to_vec())).collect();
    tensors.sort();
    tensors
}

/// A folder that has a config is a model that can be used.
fn loads(folder: &Path, out: &str) -> bool {
    let begun = folder.join(out).join("config.toml").exists();
    if begun {
        couplet(folder, &["inspect", out]).ok();
        couplet_reading(folder, &["translate", "--model", out], b"Tom sees Jerry\n").ok();
    }
    begun
}

/// Killed at random moments until it is done, it has the same weights, moments and average as the run that was left alone.
#[test]
fn a_run_that_is_killed_again_and_again_ends_with_the_same_bits() {
    let folder = new_project();
    let at = folder.path();
    let mut time = left_alone(at);
    let mut random = Random::new(10);
    // A machine that has become faster may leave too little time for it: then again, with moments that come earlier.
    while (0..40).take_while(|_| !killed_after(at, "killed", moment_of(time, &mut random))).count() < 2 {
        fs::remove_dir_all(at.join("killed")).expect("a run that ended has a folder");
        time /= 2;
    }
    train(at, "killed", &["--resume"]).ok();
    assert_eq!(weights(at, "alone"), weights(at, "killed"));
    assert_eq!(last_tensors(at, "alone"), last_tensors(at, "killed"));
    let log = fs::read_to_string(at.join("killed/train.jsonl")).unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{log}");
    assert!(log.contains("{\"event\":\"resume\",\"update\":"), "{log}");
}

/// Whatever the model is made of, a run in two parts ends with the weights of a run in one.
#[test]
fn all_kinds_of_models_go_on_to_the_same_bits() {
    let deep = "model.encoder={layers=3,hidden=4,embedding=8,residual_from=2,stochastic_depth=0.3,word_dropout=0.1} \
                model.attention={size=8,query_layer=\"first\",coverage=true,coverage_loss=0.5} \
                model.decoder={layers=3,hidden=8,embedding=8,residual_from=2,stochastic_depth=0.3,copy=true}";
    let local = "model.encoder={kind=\"rnn\",layers=1,hidden=4,embedding=8,self_attention=\"additive\"} \
                 model.attention={size=8,local=\"predictive\"} train.scheduled_sampling=0.5";
    for settings in [deep, local] {
        let folder = new_project();
        let at = folder.path();
        let sets: Vec<&str> = settings.split(' ').flat_map(|each| ["--set", each]).collect();
        let run = |out: &str, more: &[&str]| train(at, out, &[&sets[..], more].concat()).ok();
        run("whole", &[]);
        // A validation is due there in both of them.
        run("parts", &["--set", "train.max_updates=21"]);
        run("parts", &["--resume"]);
        assert_eq!(weights(at, "whole"), weights(at, "parts"), "{settings}");
        assert_eq!(last_tensors(at, "whole"), last_tensors(at, "parts"), "{settings}");
    }
}

/// At fifty random moments of a run that goes on and on, the folder is a model that can be used.
#[test]
fn whenever_it_is_killed_there_is_a_model() {
    let folder = new_project();
    let at = folder.path();
    let time = left_alone(at);
    let mut random = Random::new(50);
    let mut begun = 0;
    for kill in 0..50 {
        let out = format!("run-{}", kill / 10);
        killed_after(at, &out, moment_of(time / 2, &mut random));
        begun += usize::from(loads(at, &out));
    }
    assert!(begun > 10, "{begun} of 50 runs had begun");
}

/// Ctrl-C and SIGTERM lose nothing at all: the run goes on after the very update.
#[cfg(unix)]
#[test]
fn a_run_that_is_asked_to_stop_goes_on_after_the_same_update() {
    use std::io::{BufRead, BufReader};
    let folder = new_project();
    let at = folder.path();
    train(at, "alone", &[]).ok();
    for signal in ["-INT", "-TERM"] {
        let out = format!("stopped{signal}");
        let mut child = command(at, &arguments(&out, &[])).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        lines.find(|line| line.contains("validation loss")).expect("it trains");
        let told =
            std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(told.success());
        let rest: Vec<String> = lines.collect();
        let stopped = rest.iter().find_map(|line| line.strip_prefix("stopped, the model is saved after "));
        let after = stopped.unwrap_or_else(|| panic!("{rest:?}")).split(' ').next().unwrap();
        assert!(child.wait().unwrap().success());
        let on = train(at, &out, &["--resume"]);
        assert!(on.stderr.contains(&format!("going on after update {after} and ")), "{}", on.stderr);
        on.ok();
        assert_eq!(last_tensors(at, "alone"), last_tensors(at, &out));
        assert_eq!(weights(at, "alone"), weights(at, &out));
    }
}

/// The checkpoint of a run of 40 updates before the last one.
fn checkpoint(folder: &Path, update: u64) -> PathBuf {
    folder.join(format!("model/checkpoints/step-{update}.safetensors"))
}

#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let folder = new_project();
    let at = folder.path();
    train(at, "alone", &[]).ok();
    train(at, "model", &["--set", "train.max_updates=20"]).ok();
    let path = checkpoint(at, 20);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let on = train(at, "model", &["--resume"]);
    assert!(
        on.stderr.contains("passed over model/checkpoints/step-20.safetensors: damaged: "),
        "{}",
        on.stderr
    );
    assert!(on.stderr.contains("going on after update 18 and "), "{}", on.stderr);
    on.ok();
    assert_eq!(last_tensors(at, "alone"), last_tensors(at, "model"));

    for update in [39, 40] {
        fs::write(checkpoint(at, update), b"nothing").unwrap();
    }
    train(at, "model", &["--resume"]).failed(
        1,
        "model/checkpoints: all 2 checkpoints are damaged",
        "model.safetensors holds the best model so far; train again into another --out",
    );
}

/// Checkpoints with the data and the config of a run that have not its tensors: those of a model of another size, and the flat ones of
/// an earlier version.
#[test]
fn a_checkpoint_of_another_model_is_rejected() {
    let folder = new_project();
    let at = folder.path();
    train(at, "model", &["--set", "train.max_updates=3"]).ok();
    train(at, "other", &["--set", "train.max_updates=3", "--set", "model.encoder.embedding=5"]).ok();
    fs::copy(at.join("other/checkpoints/step-3.safetensors"), checkpoint(at, 3)).unwrap();
    let on = train(at, "model", &["--resume"]);
    let said = "error: model/checkpoints/step-3.safetensors: this checkpoint does not match the model: \
                tensor \"ema.encoder.embedding.weight\" is [";
    assert!(on.stderr.contains(said) && on.stderr.contains(", 5], and the model needs ["), "{}", on.stderr);

    let metadata = ["state", "crc32c"].map(|key| (key.to_owned(), String::new())).into();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![1], &[0; 4]).unwrap();
    let flat = safetensors::serialize([("weights", view)], Some(metadata)).unwrap();
    fs::write(checkpoint(at, 3), flat).unwrap();
    train(at, "model", &["--resume"]).failed(
        1,
        "model/checkpoints/step-3.safetensors: an earlier version of couplet wrote this checkpoint, which cannot be resumed",
        "resume with that version, or train again into another --out",
    );
}

/// A disk that is full while a checkpoint or the model is written: what was there stays, the run says so and goes on.
#[cfg(unix)]
#[test]
fn a_full_disk_costs_a_checkpoint_and_no_more() {
    let folder = new_project();
    let at = folder.path();
    train(at, "alone", &[]).ok();
    train(at, "model", &["--set", "train.max_updates=20"]).ok();
    let before = fs::read(checkpoint(at, 20)).unwrap();
    let full = |name: &str| std::os::unix::fs::symlink("/dev/full", at.join(name)).unwrap();
    full("model/checkpoints/step-21.safetensors.partial");
    full("model/model.safetensors.partial");
    let on = train(at, "model", &["--resume", "--set", "train.max_updates=23"]);
    for file in ["checkpoints/step-21.safetensors", "model.safetensors"] {
        let said = format!("not saved: model/{file}: No space left on device (os error 28)");
        assert!(on.stderr.contains(&said), "{}", on.stderr);
    }
    assert_eq!(on.code, Some(0), "{}", on.stderr);
    assert!(!checkpoint(at, 21).exists());
    assert_eq!(fs::read(checkpoint(at, 20)).unwrap(), before, "the one before is untouched");
    assert!(loads(at, "model"));
}

#[test]
fn another_config_or_other_data_is_refused_by_name() {
    let folder = new_project();
    let at = folder.path();
    train(at, "model", &["--set", "train.max_updates=4"]).ok();
    let hint = "give it the value that it had, or train into another --out";
    train(at, "model", &["--resume", "--set", "model.encoder.layers=2"]).failed(
        1,
        "model: model.encoder.layers was 1 in this run, and is 2 now",
        hint,
    );
    train(at, "model", &["--resume", "--set", "train.learning_rate=0.5"]).failed(
        1,
        "model: train.learning_rate was 0.002 in this run, and is 0.5 now",
        hint,
    );
    let path = at.join("project/train.en");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("Tom", "the dog", 1)).unwrap();
    train(at, "model", &["--resume"]).failed(
        1,
        "model: the training data is not what this run was trained on",
        "give it the data that it had, or train into another --out",
    );
    fs::write(&path, text).unwrap();
    train(at, "model", &["--resume", "--set", "train.max_updates=6"]).ok();
}

/// The config of a folder does not know a key that came later: it had the default.
#[test]
fn a_run_of_an_earlier_version_goes_on() {
    let folder = new_project();
    let at = folder.path();
    train(at, "model", &["--set", "train.max_updates=4"]).ok();
    let path = at.join("model/config.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("stochastic_depth = 0.0\n").count(), 2, "{text}");
    fs::write(&path, text.replace("stochastic_depth = 0.0\n", "")).unwrap();
    let on = train(at, "model", &["--resume", "--set", "train.max_updates=6"]);
    assert!(on.stderr.contains("going on after update 4"), "{}", on.stderr);
    on.ok();
    fs::write(&path, text + "[old]\nkey = 1\n").unwrap();
    train(at, "model", &["--resume", "--set", "train.max_updates=6"]).failed(
        1,
        "model: old was { key = 1 } in this run, and is not set now",
        "give it the value that it had, or train into another --out",
    );
}

/// No model is as good on other sentences as the best one was on its own: that does not count any more.
#[test]
fn other_data_to_check_with_is_judged_by_itself() {
    let folder = new_project();
    let at = folder.path();
    train(at, "model", &["--set", "train.max_updates=35"]).ok();
    for side in ["en", "zh"] {
        fs::write(at.join(format!("project/valid.{side}")), "nobody has ever seen this\n").unwrap();
    }
    let on = train(at, "model", &["--resume", "--set", "train.max_updates=42"]);
    let validation = on.stderr.lines().find(|line| line.starts_with("update 42: validation loss"));
    assert!(validation.is_some_and(|line| line.ends_with("best so far")), "{}", on.stderr);
    let said = "the validation set is another one: the best model is chosen anew";
    assert!(on.stderr.contains(said), "{}", on.stderr);
    on.ok();
}

#[test]
fn two_runs_do_not_share_a_folder() {
    use std::io::{BufRead, BufReader};
    let folder = new_project();
    let at = folder.path();
    let endless = ["--set", "train.max_updates=100000000", "--set", "train.epochs=100000000"];
    let mut child = command(at, &arguments("model", &endless)).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    lines.find(|line| line.contains("validation loss")).expect("it trains");
    for more in [&[][..], &["--resume"]] {
        train(at, "model", more).failed(
            1,
            "model: another run is training into this folder",
            "wait for it, or choose another --out",
        );
    }
    child.kill().unwrap();
    child.wait().unwrap();
    train(at, "model", &[]).failed(
        1,
        "model: holds a model already",
        "--resume goes on with it; or choose another --out, or remove the folder",
    );
    let plenty = ["--resume", "--set", "train.max_updates=1"];
    assert!(train(at, "model", &plenty).stderr.contains("done after "));
}
