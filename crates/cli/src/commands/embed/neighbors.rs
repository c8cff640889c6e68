use super::VectorsArguments;
use crate::failure::Outcome;
use couplet_embed::Directions;

/// Show the words whose vectors point nearly the same way, the nearest first.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet embed neighbors king green --vectors vectors.txt -n 5

The number before a word is the cosine of the angle between the two vectors: 1 for the same direction, 0 for a right angle.")]
pub(crate) struct Arguments {
    /// The words to ask for
    #[arg(required = true)]
    words: Vec<String>,
    /// How many to show
    #[arg(short, default_value_t = 10)]
    n: usize,
    #[command(flatten)]
    vectors: VectorsArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let lexicon = arguments.vectors.read()?;
    let directions = Directions::new(&lexicon.vectors, lexicon.vectors.len());
    for (number, word) in arguments.words.iter().enumerate() {
        let vector = lexicon.vector(word)?;
        let itself = lexicon.vectors.number_of(word);
        if arguments.words.len() > 1 {
            println!("{}{word}", if number > 0 { "\n" } else { "" });
        }
        lexicon.print(&directions.nearest(&vector, arguments.n, |number| Some(number) != itself));
    }
    Ok(())
}
