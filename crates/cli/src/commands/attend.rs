use super::search::OutputCount;
use crate::attention_file::AttentionFile;
use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use crate::picture::{Format, PictureArguments, ViewArguments, in_terminal};
use couplet_plot::Attention;
use couplet_search::{Folder, LONGEST_SOURCE, Loaded, Shown, Translation, Translator};
use std::io::Read;
use std::path::PathBuf;

/// Show where a model looks while it translates a line.
///
/// In a heatmap, a row is a token that the model wrote and a column one that it read: the more it looked there, the darker the
/// cell. The weights of a row add up to 1. Lines show the same: the source is on the left, the target on the right.
///
/// Of a model that copies, the last column, (copied), says how probable it was that the token is copied from where the model looked.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet attend --model my-model \"Tom chases Jerry\"
Example: couplet attend --model my-model \"Tom chases Jerry\" --view lines --out attention.svg
Example: couplet attend --model my-model \"Tom chases Jerry\" --layer 2 --head 3 --json > attention.json
Example: couplet plot attention.json --out attention.png")]
pub(crate) struct Arguments {
    /// The model folder.
    #[arg(long)]
    model: PathBuf,
    /// The line to translate [default: standard input]
    text: Option<String>,
    /// Write this target instead of the model's own.
    #[arg(long)]
    target: Option<String>,
    /// Write a file, SVG, PNG or JSON, instead of drawing in the terminal
    #[arg(long)]
    out: Option<PathBuf>,
    /// Show one of the layers that look at the source, the first being 1 [default: the mean of all]
    #[arg(long, value_name = "N")]
    layer: Option<usize>,
    /// Show one of the attention's heads, the first being 1 [default: the mean of all]
    #[arg(long, value_name = "N")]
    head: Option<usize>,
    /// Print the tokens and weights as JSON
    #[arg(long, conflicts_with = "out")]
    json: bool,
    #[command(flatten)]
    view: ViewArguments,
    #[command(flatten)]
    picture: PictureArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let formats = [Format::Svg, Format::Png, Format::Json];
    let format = arguments.out.as_ref().map(|out| Format::of(out, &formats)).transpose()?;
    let loaded = Loaded::open(&Folder::new(&arguments.model), &arguments.device.open()?)?;
    let text = match &arguments.text {
        Some(text) => text.clone(),
        None => read_stdin()?,
    };
    let shown = shown(arguments, &loaded)?;
    let translator = Translator { attention: true, shown, ..Translator::from(&loaded) };
    let translation = match &arguments.target {
        Some(target) => translator.forced_decode(&text, target),
        None => translator.translate(&[&text], &loaded.search).remove(0),
    };
    warn_of_cut(&translation);
    let mut count = OutputCount::default();
    count.add([&translation]);
    count.warn();
    let attention = attention(&translation);
    let json = || AttentionFile::new(&translation, &attention).to_json();
    if arguments.json {
        print!("{}", json());
        return Ok(());
    }
    println!("{}", translation.text);
    let view = arguments.view.view();
    let Some((out, format)) = arguments.out.as_ref().zip(format) else {
        print!("{}", in_terminal(&attention, view));
        return Ok(());
    };
    let file = match format {
        Format::Json => json(),
        Format::Svg | Format::Png => attention.to_svg(view, arguments.picture.background()),
    };
    arguments.picture.write(out, format, &file)
}

/// What to show. A model without attention has nothing to show.
fn shown(arguments: &Arguments, loaded: &Loaded) -> Result<Shown, Failure> {
    let Some(sights) = loaded.model.attention_shape() else {
        return Err(Failure::new(
            format!("{}: this model has no attention to show", arguments.model.display()),
            Some("train a model whose model.attention.score is not \"none\"".to_owned()),
        ));
    };
    let layer = chosen("layer", arguments.layer, sights.layers)?;
    Ok(Shown { layer, head: chosen("head", arguments.head, sights.heads)?, copying: true })
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

fn warn_of_cut(translation: &Translation) {
    if translation.cut {
        eprintln!("warning: the line is longer than {LONGEST_SOURCE} tokens; the rest of it was left out");
    }
}

/// The attention of a translation, to be drawn; how probable it was that a token is copied, where that is known, is its last column.
pub(crate) fn attention(translation: &Translation) -> Attention {
    let Translation { source_tokens: mut source, target_tokens: target, attention: mut weights, .. } =
        translation.clone();
    if !translation.copying.is_empty() {
        source.push("(copied)".to_owned());
        weights.iter_mut().zip(&translation.copying).for_each(|(row, &copied)| row.push(copied));
    }
    Attention { source, target, weights }
}
