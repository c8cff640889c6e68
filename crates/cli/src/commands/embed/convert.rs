use super::{FormatChoice, format_of};
use crate::failure::Outcome;
use couplet_embed::Vectors;
use std::path::PathBuf;

/// Write vectors in another format.
///
/// Which format a file has is found out by looking into it. Files whose name ends in .gz are packed.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet embed convert glove.6B.100d.txt --out glove.bin
Example: couplet embed convert vectors.bin --out vectors.txt.gz --format glove")]
pub(crate) struct Arguments {
    /// The vectors: word2vec's text or binary format, GloVe's text or fastText's .vec, plain or gzip
    vectors: PathBuf,
    /// The new file
    #[arg(long)]
    out: PathBuf,
    /// How to write it [default: binary for names that end in .bin, else text]
    #[arg(long, value_enum)]
    format: Option<FormatChoice>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (vectors, from) = Vectors::read_with_format(&arguments.vectors)?;
    let to = format_of(&arguments.out, arguments.format);
    vectors.write(&arguments.out, to)?;
    println!(
        "{} vectors of {} numbers, {from} before, are as {to} in {}",
        vectors.len(),
        vectors.dimension(),
        arguments.out.display()
    );
    Ok(())
}
