//! The configs of `configs/ladder`: each makes a model, and for each change that something is said of there are two that differ in it alone.

use crate::changes::{claims, pairs};
use crate::plan::Comparable;
use crate::run::Entry;
use crate::table::tests::entry;
use couplet_nn::Seq2Seq;
use couplet_tensor::{Device, Params};
use std::path::Path;

/// All rungs, in the order of their names.
fn rungs() -> Vec<(String, Comparable)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/ladder");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.sort();
    let data = ["data.train=a.tsv", "data.valid=b.tsv"].map(str::to_owned);
    let read = |path: &Path| Comparable::read(path, &data).unwrap_or_else(|error| panic!("{error}"));
    paths.iter().map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), read(path))).collect()
}

#[test]
fn every_rung_makes_a_model() {
    let rungs = rungs();
    assert!(rungs.len() >= 15);
    for (name, config) in rungs {
        let Comparable::Translate(config) = config else { panic!("{name} does not translate") };
        let mut params = Params::new(&Device::cpu(), 1);
        Seq2Seq::new(&mut params, &config.model, 400, 300).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_ladder_has_two_rungs_for_every_change() {
    let entries: Vec<Entry> =
        rungs().iter().map(|(name, config)| entry(name, &config.to_toml(), &[1.0])).collect();
    let found = pairs(&entries);
    let of = |claim: &str| -> Vec<[&str; 2]> {
        let pairs = found.iter().filter(|pair| pair.claim == claim);
        pairs.map(|pair| pair.names.each_ref().map(String::as_str)).collect()
    };
    let found: Vec<Vec<[&str; 2]>> = claims().map(of).collect();
    assert_eq!(found[0], [["01-rnn", "02-lstm"], ["50-rnn-reversed", "03-reversed"]]);
    assert_eq!(found[1], [["01-rnn", "50-rnn-reversed"], ["02-lstm", "03-reversed"]]);
    assert_eq!(found[2], [["02-lstm", "04-bidirectional"]]);
    assert_eq!(found[3], [["04-bidirectional", "05-context-every-step"]]);
    assert!(
        found[4].len() >= 7 && found[4].iter().all(|pair| pair[0] == "04-bidirectional"),
        "{:?}",
        found[4]
    );
    assert_eq!(found[5], [["06-additive", "20-deep"]]);
}
