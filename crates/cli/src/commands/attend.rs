use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use crate::progress::wants_colour;
use couplet_data::write_whole;
use couplet_plot::{Colour, Heatmap};
use couplet_search::{Folder, Loaded, Shown, Translation, Translator};
use std::io::{IsTerminal, Read};
use std::path::PathBuf;

/// Columns of the picture in the terminal.
pub(crate) const WIDTH: usize = 100;

/// Show where a model looks while it translates a line.
#[derive(clap::Args)]
#[command(after_help = "Example: couplet attend --model my-model \"Tom chases Jerry\" --out attention.svg")]
pub(crate) struct Arguments {
    /// The model folder.
    #[arg(long)]
    model: PathBuf,
    /// The line to translate [default: standard input]
    text: Option<String>,
    /// Write this target instead of the model's own.
    #[arg(long)]
    target: Option<String>,
    /// Write an SVG file instead of drawing in the terminal.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Show one of the layers that look at the source, the first being 1 [default: the mean of all]
    #[arg(long, value_name = "N")]
    layer: Option<usize>,
    /// Show one of the attention's heads, the first being 1 [default: the mean of all]
    #[arg(long, value_name = "N")]
    head: Option<usize>,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if let Some(out) = &arguments.out
        && out.extension().is_none_or(|ending| ending != "svg")
    {
        return Err(Failure::usage(
            format!("--out {}: not an SVG file", out.display()),
            Some("give it a name that ends in .svg".to_owned()),
        ));
    }
    let loaded = Loaded::open(&Folder::new(&arguments.model), &arguments.device.open()?)?;
    let text = match &arguments.text {
        Some(text) => text.clone(),
        None => read_stdin()?,
    };
    let translator = Translator { shown: shown(arguments, &loaded)?, ..Translator::from(&loaded) };
    let translation = match &arguments.target {
        Some(target) => translator.force(&text, target),
        None => translator.translate(&[&text], &loaded.search).remove(0),
    };
    println!("{}", translation.text);
    let heatmap = heatmap(translation);
    match &arguments.out {
        Some(out) => {
            write_whole(out, heatmap.to_svg().as_bytes()).map_err(|error| Failure::io(out, &error))?;
        }
        None => print!("{}", heatmap.to_terminal(WIDTH, colour())),
    }
    Ok(())
}

/// What to show. A model without attention has nothing to show.
fn shown(arguments: &Arguments, loaded: &Loaded) -> Result<Shown, Failure> {
    let Some(sights) = loaded.model.sights() else {
        return Err(Failure::new(
            format!("{}: this model has no attention to show", arguments.model.display()),
            Some("train a model whose model.attention.score is not \"none\"".to_owned()),
        ));
    };
    let layer = chosen("layer", arguments.layer, sights.layers)?;
    Ok(Shown { layer, head: chosen("head", arguments.head, sights.heads)? })
}

/// One of so many layers or heads, the first being 0.
fn chosen(what: &str, number: Option<usize>, count: usize) -> Result<Option<usize>, Failure> {
    match number {
        Some(number) if !(1..=count).contains(&number) => Err(Failure::usage(
            format!("--{what} {number}: the model's attention has {count}"),
            Some(format!("a {what} from 1 to {count}, or leave it out for the mean of all")),
        )),
        number => Ok(number.map(|number| number - 1)),
    }
}

fn read_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let name = std::path::Path::new("standard input");
    std::io::stdin().read_to_string(&mut text).map_err(|error| Failure::io(name, &error))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// The attention of a translation as a picture.
pub(crate) fn heatmap(translation: Translation) -> Heatmap {
    let Translation { source_tokens, target_tokens, attention, .. } = translation;
    Heatmap { source: source_tokens, target: target_tokens, weights: attention }
}

/// Colour on a terminal, unless the user does not want any.
pub(crate) fn colour() -> Colour {
    if wants_colour() && std::io::stdout().is_terminal() { Colour::Ansi256 } else { Colour::None }
}
