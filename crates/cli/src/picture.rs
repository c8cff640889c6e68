//! What all verbs that draw share: how a picture looks and which file it goes to.

use crate::bar::wants_color;
use crate::failure::{Failure, Outcome};
use couplet_data::write_whole;
use couplet_plot::{Attention, Background, Color, Fonts, View, to_png};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Pixels of a PNG file to a unit of the SVG file.
const SCALE: f32 = 2.0;

/// Columns of a picture where there is no terminal.
const WIDTH: usize = 100;

/// How a picture looks.
#[derive(clap::Args)]
pub(crate) struct PictureArguments {
    /// Draw light on dark. Without it, an SVG file follows the page, and a PNG file is dark on light
    #[arg(long)]
    dark: bool,
    /// Take the fonts of a PNG file from this folder, not from the system
    #[arg(long, value_name = "DIR")]
    fonts: Option<PathBuf>,
}

/// How attention is drawn.
#[derive(clap::Args)]
pub(crate) struct ViewArguments {
    /// Draw a heatmap, or lines whose thickness is the weight
    #[arg(long, value_enum, default_value_t = Choice::Heatmap)]
    view: Choice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Choice {
    Heatmap,
    Lines,
}

impl ViewArguments {
    pub(crate) fn view(&self) -> View {
        match self.view {
            Choice::Heatmap => View::Heatmap,
            Choice::Lines => View::Lines,
        }
    }
}

/// What a file's name says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Svg,
    Png,
    Json,
}

impl Format {
    fn ending(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
            Format::Json => "json",
        }
    }

    /// The format of `--out`, if it is one of these.
    pub(crate) fn of(out: &Path, possible: &[Format]) -> Result<Format, Failure> {
        let ending = out.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let found = possible.iter().find(|format| format.ending() == ending);
        found.copied().ok_or_else(|| {
            let endings: Vec<String> =
                possible.iter().map(|format| format!(".{}", format.ending())).collect();
            Failure::usage(
                format!("--out {}: its name does not say what to write", out.display()),
                Some(format!("give it a name that ends in {}", endings.join(" or "))),
            )
        })
    }
}

impl PictureArguments {
    pub(crate) fn background(&self) -> Background {
        if self.dark { Background::Dark } else { Background::Page }
    }

    /// Writes a file as it is, or the pixels of an SVG file.
    pub(crate) fn write(&self, out: &Path, format: Format, file: &str) -> Outcome {
        let bytes = match format {
            Format::Png => self.pixels(file)?,
            Format::Svg | Format::Json => file.as_bytes().to_vec(),
        };
        write_whole(out, &bytes).map_err(|error| Failure::io(out, &error))
    }

    /// The pixels of an SVG file, with a warning of what no font has.
    fn pixels(&self, svg: &str) -> Result<Vec<u8>, Failure> {
        let (fonts, place) = self.fonts()?;
        let png = to_png(svg, SCALE, &fonts).map_err(|error| Failure::new(error, None))?;
        if fonts.is_empty() {
            warn(&format!("there is no font {place}: the picture has no text"), "fonts-noto-core");
        } else if !png.missing.is_empty() {
            let missing: Vec<String> = png.missing.iter().map(char::to_string).collect();
            warn(
                &format!("no font {place} has {}: not all of the text is shown", missing.join(" ")),
                "fonts-noto-core, fonts-noto-cjk or fonts-noto-color-emoji",
            );
        }
        Ok(png.bytes)
    }

    /// The fonts, and where they are.
    fn fonts(&self) -> Result<(Fonts, String), Failure> {
        match &self.fonts {
            None => Ok((Fonts::of_system(), "on this system".to_owned())),
            Some(folder) if folder.is_dir() => {
                Ok((Fonts::in_folder(folder), format!("in {}", folder.display())))
            }
            Some(folder) => Err(Failure::new(
                format!("--fonts {}: no such folder", folder.display()),
                Some(
                    "name a folder with .ttf, .otf or .ttc files, or leave it out for the system's fonts"
                        .to_owned(),
                ),
            )),
        }
    }
}

fn warn(message: &str, packages: &str) {
    eprintln!("warning: {message}");
    eprintln!(
        "hint: install a font that has it (on Debian: {packages}), name a folder with --fonts, or write SVG, which the reader's fonts show"
    );
}

/// Attention as this terminal can show it.
pub(crate) fn in_terminal(attention: &Attention, view: View) -> String {
    let color = if wants_color() && std::io::stdout().is_terminal() { Color::Ansi256 } else { Color::None };
    attention.to_terminal(view, terminal_width(), color)
}

/// The columns of this terminal.
pub(crate) fn terminal_width() -> usize {
    console::Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns))
}
