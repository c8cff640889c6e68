//! Data and configs that cannot be used: each gives one clear line, and nothing is lost.

use crate::support::{TINY, command, couplet, couplet_reading, new_project, tiny_model, train_tiny};
use std::fs;
use std::path::Path;

const LINES_BELONG: &str =
    "line n of one file must be the answer to line n of the other; look for a missing or an extra line";

fn train(folder: &Path, extra: &[&str]) -> crate::support::Ran {
    couplet(folder, &[&["train", "project/config.toml", "--out", "model"], &TINY[..], extra].concat())
}

#[test]
fn files_of_different_lengths() {
    let folder = new_project();
    fs::write(folder.path().join("project/train.zh"), "汤姆\n").unwrap();
    let error = "project/train.en has 1000 lines but project/train.zh has 1";
    train(folder.path(), &[]).failed(1, error, LINES_BELONG);
    assert!(!folder.path().join("model").exists(), "nothing is written before the data is read");
}

#[test]
fn an_empty_file() {
    let folder = new_project();
    fs::write(folder.path().join("project/train.en"), "").unwrap();
    train(folder.path(), &[]).failed(
        1,
        "project/train.en: the file is empty",
        "put one sentence on each line",
    );
}

#[test]
fn an_empty_line() {
    let folder = new_project();
    fs::write(folder.path().join("project/valid.en"), "Tom\n\nJerry\n").unwrap();
    fs::write(folder.path().join("project/valid.zh"), "汤姆\n狗\n杰瑞\n").unwrap();
    let hint = "remove the line here and the line of that number in the other file, or fill it in";
    train(folder.path(), &[]).failed(1, "project/valid.en:2: the line is empty", hint);
}

#[test]
fn bytes_that_are_not_utf_8() {
    let (folder, _) = tiny_model();
    let ran = couplet_reading(folder.path(), &["translate", "--model", "model"], b"Tom\nJerr\xff\n");
    let hint = "convert the file if it has another encoding, for example: iconv -f LATIN1 -t UTF-8 OLD > NEW";
    ran.failed(1, "standard input:2: byte 5 of the line is not UTF-8", hint);
}

#[test]
fn a_line_of_100_000_tokens() {
    let (folder, _) = tiny_model();
    let input = format!("{}\nTom\n", "the dog ".repeat(50_000));
    let ran = couplet_reading(
        folder.path(),
        &["translate", "--model", "model", "--beam-size", "1"],
        input.as_bytes(),
    );
    let warning = "warning: line 1 is longer than 1024 tokens; the rest of it was left out\n";
    assert!(ran.stderr.starts_with(warning), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("warning: line").count(), 1);
    assert_eq!(ran.ok().lines().count(), 2);

    let project = new_project();
    let data = project.path().join("project");
    fs::write(data.join("train.tsv"), format!("{}\t狗\nTom\t汤姆\n", "the dog ".repeat(50_000))).unwrap();
    let ran = train(project.path(), &["--set", "data.train=train.tsv"]);
    assert!(ran.stderr.starts_with("1 pairs, 1 longer than data.max_tokens left out;"), "{}", ran.stderr);
    ran.ok();
}

#[test]
fn an_unknown_key_and_a_wrong_type() {
    let folder = new_project();
    let config = folder.path().join("project/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("kind = \"last\" # the last", "kid = \"last\" # the last")).unwrap();
    let line = 1 + text.lines().position(|line| line.starts_with("kind = \"last\" # the last")).unwrap();
    let error = format!("project/config.toml:{line}: unknown field \"kid\"");
    let hint = "one of \"kind\", \"projection\", \"to\"";
    couplet(folder.path(), &["train", "project/config.toml"]).failed(2, &error, hint);

    fs::write(&config, text.replace("epochs = 30", "epochs = \"many\"")).unwrap();
    let line = 1 + text.lines().position(|line| line.starts_with("epochs")).unwrap();
    let error = format!("project/config.toml:{line}: invalid type: string \"many\"");
    couplet(folder.path(), &["train", "project/config.toml"]).failed(2, &error, "u64");
}

#[test]
fn a_model_that_cannot_be() {
    let folder = new_project();
    let error = "project/config.toml: model.bridge = \"copy\" cannot take 1 × 16 encoder states to 1 × 8 decoder states";
    let hint = "use bridge = \"dense\", or give both sides the same layers and sizes (both directions of the encoder count)";
    train(folder.path(), &["--set", "model.bridge=copy", "--set", "model.decoder.hidden=8"])
        .failed(2, error, hint);
    train(folder.path(), &["--set", "model.attention.score=none", "--set", "model.context.kind=none"])
        .failed(
            2,
            "project/config.toml: model.attention.score = \"none\" cannot be combined with model.context.kind = \"none\"",
            "the decoder would know nothing of the source; choose a score or a context",
        );
    let misspelt = ["train", "project/config.toml", "--set", "model.context.kind=lasst"];
    couplet(folder.path(), &misspelt).failed(
        2,
        "--set model.context.kind=lasst: unknown variant \"lasst\"",
        "one of \"last\", \"mean\", \"max\", \"none\"",
    );
}

#[test]
fn a_missing_file() {
    let folder = new_project();
    fs::remove_file(folder.path().join("project/valid.zh")).unwrap();
    let hint = "check the path; it is relative to the folder the command runs in";
    train(folder.path(), &[]).failed(1, "project/valid.zh: no such file", hint);
    couplet(folder.path(), &["train", "nowhere.toml"]).failed(
        1,
        "nowhere.toml: No such file or directory (os error 2)",
        "`couplet new DIR --task translate` writes one to start from",
    );
}

#[test]
fn an_output_folder_that_is_taken_keeps_its_model() {
    let folder = new_project();
    train_tiny(folder.path(), "model").ok();
    let weights = folder.path().join("model/model.safetensors");
    let before = fs::read(&weights).unwrap();
    train(folder.path(), &["--set", "train.seed=2"]).failed(
        1,
        "model: holds a model already",
        "--resume goes on with it; or choose another --out, or remove the folder",
    );
    assert_eq!(fs::read(&weights).unwrap(), before);

    couplet(folder.path(), &["new", "project", "--task", "translate"]).failed(
        1,
        "project: exists already",
        "choose another folder",
    );
}

const DISK: &str =
    "check that you may write there and that the disk has room; what was there before is unchanged";

#[test]
fn an_output_folder_that_cannot_be_written() {
    let folder = new_project();
    fs::write(folder.path().join("file"), "in the way").unwrap();
    let ran = couplet(
        folder.path(),
        &[&["train", "project/config.toml", "--out", "file/model"], &TINY[..]].concat(),
    );
    ran.failed(1, "file/model/checkpoints: Not a directory (os error 20)", DISK);
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "in the way");
}

/// A full disk is played by a link to /dev/full where the weights are first written.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let folder = new_project();
    fs::create_dir(folder.path().join("model")).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("model/model.safetensors.partial")).unwrap();
    train(folder.path(), &[]).failed(
        1,
        "model/model.safetensors: No space left on device (os error 28)",
        DISK,
    );
    assert!(!folder.path().join("model/model.safetensors").exists(), "no half a file");
    assert!(!folder.path().join("model/config.toml").exists(), "the run has not begun");

    let (folder, _) = tiny_model();
    fs::write(folder.path().join("in.txt"), "Tom\n").unwrap();
    // The first writes lines of its own accord, the second prints.
    for arguments in [&["translate", "--model", "model", "--input", "in.txt"][..], &["inspect", "model"]] {
        let full = fs::File::create("/dev/full").unwrap();
        let output = command(folder.path(), arguments).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let error = "error: standard output: No space left on device (os error 28)\nhint: ";
        assert!(stderr.starts_with(error), "{stderr}");
        assert_eq!(output.status.code(), Some(1));
    }
}

/// As behind `| head`, when it has read enough.
#[test]
fn output_that_nobody_reads() {
    let (folder, _) = tiny_model();
    fs::write(folder.path().join("in.txt"), "Tom\n").unwrap();
    for arguments in [&["translate", "--model", "model", "--input", "in.txt"][..], &["inspect", "model"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(folder.path(), arguments).stdout(writer).output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        assert_eq!(output.status.code(), Some(0));
    }
}
