use super::train::{stop_on_interrupt, warn_of_skipped};
use crate::bar::Bar;
use crate::failure::{Failure, Outcome};
use couplet_train::{AnyConfig, Preparing, Report, Watch, prepare, report};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

/// Turn the text of a config into a binary corpus, from which runs start at once.
///
/// The folder holds the training and validation pairs as ids, the tokenizers, and a description. Training needs the text no more, and
/// memory does not grow with the corpus. Ctrl-C ends it and leaves nothing behind.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet prepare my-model/config.toml --out my-model/corpus --report
Example: couplet train my-model/config.toml --prepared my-model/corpus")]
pub(crate) struct Arguments {
    /// The config file. The files it names are relative to its folder.
    config: PathBuf,
    /// The folder to make.
    #[arg(long)]
    out: PathBuf,
    /// Override a key of the config, as key=value; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Leave out lines that cannot be used and count them; the config's key data.skip_bad_lines.
    #[arg(long)]
    skip_bad_lines: bool,
    /// Print what it holds, and how much of its batches would be padding if they were rectangles.
    #[arg(long)]
    report: bool,
    /// With --report: print it as JSON.
    #[arg(long, requires = "report")]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let AnyConfig::Translate(mut config) = AnyConfig::read_located(&arguments.config, &arguments.set)? else {
        return Err(Failure::usage(
            "only pairs of texts can be prepared",
            Some("a config with task = \"translate\"".to_owned()),
        ));
    };
    if arguments.skip_bad_lines {
        config.skip_bad_lines();
    }
    let began = Instant::now();
    let (stop, bar) = (stop_on_interrupt()?, Mutex::new(Bar::patient("{msg}")));
    let observer = |stage| show(&bar, stage);
    let skipped = prepare(&config, &arguments.out, Watch { observer: &observer, stop: &stop })?;
    bar.lock().iter().for_each(|bar| bar.finish());
    warn_of_skipped(&skipped);
    eprintln!("the corpus is in {}, after {:.1} s", arguments.out.display(), began.elapsed().as_secs_f64());
    if arguments.report {
        let report = report(&arguments.out, &config)?;
        if arguments.json {
            println!("{}", serde_json::to_string(&report).expect("plain numbers"));
        } else {
            print_report(&report);
        }
    }
    Ok(())
}

fn print_report(report: &Report) {
    let Report { pairs, skipped, valid_pairs, vocabularies, tokens, bytes, batch_tokens, batches, padding } =
        report;
    let mean = |side: usize| tokens[side] as f64 / (*pairs).max(1) as f64;
    println!("pairs         {pairs}, {skipped} that are too long skipped; {valid_pairs} for validation");
    println!("vocabularies  {} and {} tokens", vocabularies[0], vocabularies[1]);
    println!("tokens        {} and {}, {:.1} and {:.1} a pair", tokens[0], tokens[1], mean(0), mean(1));
    println!("size          {:.1} MB", *bytes as f64 / 1e6);
    println!("batches       {batches} of at most {batch_tokens} tokens");
    println!(
        "padding       {:.2} % if batches were rectangles; they are packed, and none of it is computed",
        100.0 * padding
    );
}

/// Shows how far it is. Both vocabularies are learned at once, so that two threads may say so.
fn show(bar: &Mutex<Bar>, stage: Preparing) {
    let (text, done, all) = match stage {
        Preparing::Counting(pairs) => (format!("{pairs} pairs counted"), 0, 0),
        Preparing::Learning(pairs) => (format!("vocabularies: {pairs} pairs read"), 0, 0),
        Preparing::Writing(pairs, all) => (format!("{pairs} of {all} pairs written"), pairs, all),
    };
    let Ok(mut bar) = bar.lock() else { return };
    bar.plan(all as u64);
    bar.show(done as u64, |_| text);
}
