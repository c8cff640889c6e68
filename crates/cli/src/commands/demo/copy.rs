use super::{Arguments, write_picture};
use crate::commands::attend::attention;
use crate::commands::train::stop_on_interrupt;
use crate::failure::{Failure, Outcome};
use crate::picture::in_terminal;
use crate::progress::Progress;
use couplet_data::{Pair, demo, write_whole};
use couplet_metrics::exact_match;
use couplet_plot::View;
use couplet_search::{Shown, Translation, Translator};
use couplet_tensor::Device;
use couplet_train::{Config, Corpus, Inherited, Trainer};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const CONFIG: &str = include_str!("copy.toml");

/// How many of the test messages are shown.
const SHOWN: usize = 4;

/// A model after its training.
struct Tried {
    outputs: Vec<Translation>,
    /// The first of them, with all that can be shown of it.
    pointing: Translation,
    correct: usize,
    percent: f64,
    seconds: f64,
}

/// Trains the same model with copying and without, and compares them on names and numbers that neither has seen.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let device = arguments.device.open_and_name()?;
    let data = demo::messages(arguments.seed);
    let stop = stop_on_interrupt()?;
    let without = try_out(arguments, &device, &data, false, &stop)?;
    if stop.load(Ordering::Relaxed) {
        eprintln!("stopped; there is nothing to compare yet");
        return Ok(());
    }
    let with = try_out(arguments, &device, &data, true, &stop)?;

    let out = &arguments.out;
    std::fs::create_dir_all(out).map_err(|error| Failure::io(out, &error))?;
    for (name, pairs) in [("train", &data.train), ("valid", &data.valid), ("test", &data.test)] {
        write(&out.join(format!("{name}.tsv")), &as_tsv(pairs))?;
    }
    write(&out.join("config.toml"), CONFIG)?;
    let picture = out.join("copying.svg");
    let pointing = attention(&with.pointing);
    write_picture(&pointing, &picture)?;

    if arguments.json {
        let figures = |tried: &Tried| {
            serde_json::json!({
                "exact": tried.correct, "exact_percent": tried.percent, "training_seconds": tried.seconds,
            })
        };
        println!(
            "{}",
            serde_json::json!({
                "seed": arguments.seed,
                "sentences": data.test.len(),
                "without_copying": figures(&without),
                "with_copying": figures(&with),
                "pictures": [picture],
            })
        );
        return Ok(());
    }
    println!("\nNames and numbers it has never seen, without copying and with it:");
    for (i, pair) in data.test.iter().enumerate().take(SHOWN) {
        println!("  {}", pair.source);
        println!("    without  →  {}", without.outputs[i].text);
        println!("    with     →  {}", with.outputs[i].text);
    }
    println!("\nWhere it points:\n{}", in_terminal(&pointing, View::Heatmap));
    for (name, tried) in [("without copying", &without), ("with copying", &with)] {
        let Tried { correct, percent, seconds, .. } = tried;
        println!(
            "{name}: {correct} of {} unseen messages exactly right ({percent:.1} %), {seconds:.0} s of training",
            data.test.len()
        );
    }
    println!("config, data and the picture are in {}", out.display());
    Ok(())
}

fn try_out(
    arguments: &Arguments,
    device: &Device,
    data: &demo::DemoCorpus,
    copies: bool,
    stop: &AtomicBool,
) -> Result<Tried, Failure> {
    let set = [format!("train.seed={}", arguments.seed), format!("model.decoder.copy={copies}")];
    let config = Config::parse(CONFIG, "the demo's config", &set)?;
    let corpus = Corpus::new(&config, Inherited::default(), &data.train, &data.valid)?;
    let search = corpus.search(&config);
    let trainer = Trainer::new(config, corpus, device, None)?;
    let began = Instant::now();
    let mut progress = Progress::new();
    let trained = trainer.run(&mut |event| progress.show(event), stop)?;
    let seconds = began.elapsed().as_secs_f64();

    let (source, target) = (&trained.lessons.source, &trained.lessons.target);
    let translator = Translator::new(&trained.model, &trained.params, source, target);
    let sources: Vec<&str> = data.test.iter().map(|pair| pair.source.as_str()).collect();
    let targets: Vec<&str> = data.test.iter().map(|pair| pair.target.as_str()).collect();
    let outputs = translator.translate(&sources, &search);
    let shown = Shown { copying: true, ..Shown::default() };
    let pointing =
        Translator { attention: true, shown, ..translator }.translate(&sources[..1], &search).remove(0);
    let texts: Vec<&str> = outputs.iter().map(|output| output.text.as_str()).collect();
    let accuracy = exact_match(&texts, &targets);
    Ok(Tried { correct: accuracy.correct, percent: accuracy.percent(), outputs, pointing, seconds })
}

fn as_tsv(pairs: &[Pair]) -> String {
    pairs.iter().map(|Pair { source, target }| format!("{source}\t{target}\n")).collect()
}

fn write(path: &Path, text: &str) -> Outcome {
    write_whole(path, text.as_bytes()).map_err(|error| Failure::io(path, &error))
}
