//! Every verb explains itself, with an example.

use crate::support::couplet;
use std::path::Path;

const VERBS: [&str; 20] = [
    "demo",
    "new",
    "prepare",
    "train",
    "predict",
    "translate",
    "classify",
    "generate",
    "compare",
    "evaluate",
    "metrics",
    "attend",
    "average",
    "plot",
    "inspect",
    "embed",
    "bench",
    "score",
    "selftest",
    "vocab",
];

#[test]
fn every_verb_has_help_with_an_example() {
    let all = couplet(Path::new("."), &["--help"]).ok();
    for verb in VERBS {
        assert!(all.contains(&format!("  {verb}")), "{verb} in {all}");
        let help = couplet(Path::new("."), &[verb, "--help"]).ok();
        assert!(help.contains("Example: ") && help.contains(&format!("couplet {verb}")), "{help}");
    }
}

#[test]
fn wrong_use_ends_with_2() {
    let ran = couplet(Path::new("."), &["trane"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("subcommand 'trane'"), "{}", ran.stderr);
}
