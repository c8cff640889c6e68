use crate::attention_file::AttentionFile;
use crate::failure::{Failure, Outcome};
use crate::picture::{Format, PictureArguments, ViewArguments, in_terminal};
use couplet_plot::{Curves, Panel, Scale, Series};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Draw the curves of a training (loss, scores and learning rate), or attention.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet plot my-model/config.model/train.jsonl --out curves.png
Example: couplet plot attention.json --view lines")]
pub(crate) struct Arguments {
    /// The train.jsonl of a model folder, or a .json file that `couplet attend` wrote
    file: PathBuf,
    /// The picture, SVG or PNG [default: the log's name with .svg; attention is drawn in the terminal]
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    view: ViewArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

const FORMATS: [Format; 2] = [Format::Svg, Format::Png];

/// The panels: their names, and the curves of each: the event, its key, and what the curve is called.
const PANELS: [(&str, &[[&str; 3]]); 5] = [
    ("loss", &[["update", "loss", "training"], ["validation", "loss", "validation"]]),
    ("perplexity", &[["validation", "perplexity", "validation"]]),
    ("accuracy, %", &[["validation", "accuracy", "validation"]]),
    ("BLEU", &[["validation", "bleu", "validation"]]),
    ("learning rate", &[["update", "learning_rate", "training"]]),
];

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.file.extension().is_some_and(|ending| ending == "json") {
        draw_attention(arguments)
    } else {
        draw_curves(arguments)
    }
}

fn draw_attention(arguments: &Arguments) -> Outcome {
    let Arguments { file, out, view, picture } = arguments;
    let format = out.as_ref().map(|out| Format::of(out, &FORMATS)).transpose()?;
    let attention = AttentionFile::read(file)?;
    let Some((out, format)) = out.as_ref().zip(format) else {
        print!("{}", in_terminal(&attention, view.view()));
        return Ok(());
    };
    picture.write(out, format, &attention.to_svg(view.view(), picture.background()))?;
    println!("the attention is in {}", out.display());
    Ok(())
}

fn draw_curves(arguments: &Arguments) -> Outcome {
    let Arguments { file: log, out, picture, .. } = arguments;
    let out = out.clone().unwrap_or_else(|| log.with_extension("svg"));
    let format = Format::of(&out, &FORMATS)?;
    let text = std::fs::read_to_string(log).map_err(|error| Failure::io(log, &error))?;
    let events = events(log, &text)?;
    let curves =
        Curves { title: log.display().to_string(), axis: "updates".to_owned(), panels: panels(&events) };
    if curves.panels.is_empty() {
        return Err(Failure::new(
            format!("{}: no event has a number to draw", log.display()),
            Some("give it the train.jsonl of a run that has made 10 updates".to_owned()),
        ));
    }
    picture.write(&out, format, &curves.to_svg(picture.background()))?;
    println!("the curves are in {}", out.display());
    Ok(())
}

/// The events of a log as they count: where a run went on from a checkpoint, what had come after that was made again.
fn events(log: &Path, text: &str) -> Result<Vec<Value>, Failure> {
    let mut events: Vec<Value> = Vec::new();
    // Behind the last line break is nothing, or half a line of a run that goes on or was killed.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for (number, line) in whole.lines().enumerate() {
        let event: Value = serde_json::from_str(line).map_err(|error| {
            let place = format!("{}:{}", log.display(), number + 1);
            Failure::new(
                format!("{place}: not an event: {error}"),
                Some("give it the train.jsonl of a model folder".to_owned()),
            )
        })?;
        if event["event"] == "resume" {
            let last = event["update"].as_u64().unwrap_or_default();
            events.retain(|event| event["update"].as_u64().is_none_or(|update| update <= last));
        }
        events.push(event);
    }
    Ok(events)
}

/// Those panels for which there are numbers.
fn panels(events: &[Value]) -> Vec<Panel> {
    let curve = |&[kind, key, name]: &[&str; 3]| {
        let of_kind = events.iter().filter(|event| event["event"] == kind);
        let points = of_kind.filter_map(|event| {
            let number = event.get(key)?.as_f64().unwrap_or(f64::NAN);
            Some([event["update"].as_f64()?, number])
        });
        Series { name: name.to_owned(), points: points.collect(), spread: Vec::new() }
    };
    let panel = |(name, curves): (&str, &[[&str; 3]])| {
        let series: Vec<Series> =
            curves.iter().map(curve).filter(|series| !series.points.is_empty()).collect();
        (!series.is_empty()).then(|| Panel {
            name: name.to_owned(),
            scale: Scale::Linear,
            reach: Vec::new(),
            series,
        })
    };
    PANELS.into_iter().filter_map(panel).collect()
}
