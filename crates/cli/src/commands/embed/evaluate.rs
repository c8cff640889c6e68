use super::VectorsArguments;
use crate::failure::{Failure, Outcome};
use couplet_embed::{Evaluation, Section, Vectors};
use std::path::PathBuf;

/// Compare vectors with what people find similar, and ask them analogies.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet embed evaluate --vectors vectors.txt --similarity wordsim353.tsv simlex999.tsv --analogies questions-words.txt

Similarity: two words and a score on each line, with tabs between. Shown is Spearman's correlation with the cosines, in hundredths.
Analogies: four words on each line, below lines `: NAME`. Shown is the share of answers that are the fourth word.
Upper and lower case are the same; lines with a word that has no vector are left out.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    vectors: VectorsArguments,
    /// Files of pairs with scores
    #[arg(long, num_args = 1.., value_name = "FILE")]
    similarity: Vec<PathBuf>,
    /// A file of analogies
    #[arg(long, value_name = "FILE")]
    analogies: Option<PathBuf>,
    /// Only so many words, the first of the file, can be asked for and be answers
    #[arg(long, default_value_t = 300_000, value_name = "WORDS")]
    restrict: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.similarity.is_empty() && arguments.analogies.is_none() {
        return Err(Failure::usage(
            "there is nothing to compare with",
            Some("name files with --similarity, --analogies or both".to_owned()),
        ));
    }
    let vectors = Vectors::read(&arguments.vectors.vectors)?;
    let evaluation = Evaluation::new(&vectors, arguments.restrict);
    let mut found = Vec::new();
    for path in &arguments.similarity {
        let similarity = evaluation.similarity(path)?;
        if arguments.json {
            found.push(serde_json::json!({
                "file": path, "spearman": similarity.spearman, "found": similarity.found, "pairs": similarity.pairs,
            }));
        } else {
            let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
            print_line(&name, similarity.spearman, [similarity.found, similarity.pairs], "pairs");
        }
    }
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let sections =
        arguments.analogies.as_ref().map(|path| evaluation.analogies(path, threads)).transpose()?;
    let total = sections.as_ref().map(|sections| sum(sections));
    if arguments.json {
        let as_json = |section: &Section| {
            serde_json::json!({
                "name": section.name, "accuracy": section.accuracy(), "correct": section.correct,
                "found": section.found, "questions": section.questions,
            })
        };
        let sections: Vec<_> = sections.iter().flatten().map(as_json).collect();
        let total = total.as_ref().map(as_json);
        let all = serde_json::json!({ "similarity": found, "analogies": total, "sections": sections });
        println!("{all}");
    } else {
        for section in sections.iter().flatten().chain(&total) {
            print_line(&section.name, section.accuracy(), [section.found, section.questions], "questions");
        }
    }
    Ok(())
}

fn print_line(name: &str, score: Option<f64>, [found, all]: [usize; 2], of: &str) {
    let score = score.map_or_else(|| "-".to_owned(), |score| format!("{:.2}", 100.0 * score));
    println!("{name:28} {score:>6}  {found} of {all} {of}");
}

/// All sections together.
fn sum(sections: &[Section]) -> Section {
    let of = |part: fn(&Section) -> usize| sections.iter().map(part).sum();
    Section {
        name: "analogies, all".to_owned(),
        correct: of(|section| section.correct),
        found: of(|section| section.found),
        questions: of(|section| section.questions),
    }
}
