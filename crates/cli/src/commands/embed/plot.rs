use super::VectorsArguments;
use crate::failure::{Failure, Outcome};
use crate::picture::{Format, PictureArguments};
use couplet_embed::principal_components;
use couplet_plot::{Point, Scatter};
use std::path::PathBuf;

/// Draw words where their vectors are, as far as two dimensions show it.
///
/// The axes are the first two principal components of the words that are drawn: the directions in which they differ most.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet embed plot king queen man woman paris london --vectors vectors.txt --out words.svg")]
pub(crate) struct Arguments {
    /// The words to draw
    #[arg(required = true)]
    words: Vec<String>,
    #[command(flatten)]
    vectors: VectorsArguments,
    /// The picture, SVG or PNG
    #[arg(long)]
    out: PathBuf,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { words, vectors, out, picture } = arguments;
    let format = Format::of(out, &[Format::Svg, Format::Png])?;
    if words.len() < 3 {
        return Err(Failure::usage(
            format!("{} words make no picture", words.len()),
            Some("name three words or more".to_owned()),
        ));
    }
    let lexicon = vectors.read()?;
    let rows = words.iter().map(|word| lexicon.vector(word)).collect::<Result<Vec<_>, _>>()?;
    let rows: Vec<&[f32]> = rows.iter().map(AsRef::as_ref).collect();
    let (places, shares) = principal_components(&rows);
    let [across, up] = shares.map(|share| format!("{:.0} % of the variance", 100.0 * share));
    let points = words.iter().zip(places).map(|(word, place)| Point { name: word.clone(), place }).collect();
    let scatter = Scatter { title: "Words by their vectors".to_owned(), axes: [across, up], points };
    picture.write(out, format, &scatter.to_svg(picture.background()))?;
    println!("{} words are in {}", words.len(), out.display());
    Ok(())
}
