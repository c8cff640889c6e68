use super::VectorsArguments;
use crate::failure::{Failure, Outcome};
use couplet_embed::{Directions, analogy};

/// Show what is to C as B is to A: the words nearest to B − A + C.
#[derive(clap::Args)]
#[command(after_help = "Example: couplet embed analogy man woman king --vectors vectors.txt")]
pub(crate) struct Arguments {
    /// Three words: A is to B as C is to …
    #[arg(required = true, num_args = 3, value_names = ["A", "B", "C"])]
    words: Vec<String>,
    /// How many to show
    #[arg(short, default_value_t = 10)]
    n: usize,
    #[command(flatten)]
    vectors: VectorsArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let [a, b, c] = &arguments.words[..] else {
        return Err(Failure::usage(
            "an analogy has three words",
            Some("couplet embed analogy man woman king".to_owned()),
        ));
    };
    let lexicon = arguments.vectors.read()?;
    let directions = Directions::new(&lexicon.vectors, lexicon.vectors.len());
    let asked = [a, b, c].map(|word| lexicon.vectors.number_of(word));
    let [a, b, c] = [lexicon.vector(a)?, lexicon.vector(b)?, lexicon.vector(c)?];
    let may_be = |number| !asked.contains(&Some(number));
    lexicon.print(&analogy(&directions, [&a, &b, &c], arguments.n, may_be));
    Ok(())
}
