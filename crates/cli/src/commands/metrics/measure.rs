//! From lines to scores.

use super::choice::Choice;
use super::input::{Input, Text};
use super::{Arguments, Test};
use crate::failure::Failure;
use couplet_metrics::{
    Alignment, AlignmentErrorRate, BitsPerCharacter, Bootstrap, EntityF1, Interval, Likelihood, MacroF1,
    Metric, Perplexity, Signature, Statistics, Tags, distinct, paired_bootstrap, paired_randomization,
    references_of_each,
};

/// How often lines are drawn again, for whatever asks for it.
#[derive(Clone, Copy)]
pub(super) struct Resampling {
    pub(super) bootstrap: usize,
    pub(super) randomization: usize,
    pub(super) seed: u64,
}

impl Resampling {
    pub(super) fn of(arguments: &Arguments) -> Resampling {
        let times = |default| arguments.resamples.unwrap_or(default) as usize;
        Resampling { bootstrap: times(1000), randomization: times(10_000), seed: arguments.seed }
    }
}

/// A metric of all systems.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) signature: Option<Signature>,
    /// One for each system.
    pub(super) scores: Vec<Score>,
    /// Of each line of the first system, where lines have a score.
    pub(super) lines: Vec<f64>,
}

/// The score of a system.
pub(super) struct Score {
    pub(super) value: f64,
    pub(super) figures: Vec<(&'static str, f64)>,
    pub(super) remark: String,
    pub(super) interval: Option<Interval>,
    /// How likely the difference to the first system is by chance.
    pub(super) p: Option<f64>,
}

/// Computes what was asked for.
pub(super) fn measure(
    choice: Choice,
    arguments: &Arguments,
    resampling: Resampling,
    input: &Input,
) -> Result<Measured, Failure> {
    if let Choice::Distinct(order) = choice {
        return Ok(measure_distinct(order, arguments, input));
    }
    let Counted { metric, systems, references } = Counted::new(choice, arguments, input)?;
    let metric = &*metric;
    let name = if choice == Choice::Accuracy { "accuracy".to_owned() } else { metric.name() };
    let lines = if arguments.sentence {
        (0..input.lines()).map(|line| metric.score(&systems[0].line(line))).collect()
    } else {
        Vec::new()
    };
    Ok(Measured {
        name,
        signature: references
            .map(|references| signed(Signature::new(metric, references), arguments, resampling)),
        scores: scores(metric, &systems, arguments, resampling),
        lines,
    })
}

fn measure_distinct(order: usize, arguments: &Arguments, input: &Input) -> Measured {
    let score = |system: &Text| {
        let found = distinct(&system.lines, order, arguments.settings.distinct_tokenizer());
        Score {
            value: found.percent(),
            figures: vec![("different", found.different as f64), ("total", found.total as f64)],
            remark: format!("{} of {}", found.different, found.total),
            interval: None,
            p: None,
        }
    };
    let scores = input.systems.iter().map(score).collect();
    Measured { name: format!("distinct-{order}"), signature: None, scores, lines: Vec::new() }
}

/// A metric whose lines have been counted, for each system.
struct Counted {
    metric: Box<dyn Metric>,
    systems: Vec<Statistics>,
    /// How many references a line has, if there are any; `Some(None)` if lines have different numbers of them.
    references: Option<Option<usize>>,
}

impl Counted {
    fn new(choice: Choice, arguments: &Arguments, input: &Input) -> Result<Counted, Failure> {
        if let Some(metric) = arguments.settings.text_metric(choice, arguments.sentence) {
            let references = input.references();
            let count = |system: &Text| Statistics::of_many(&*metric, &system.lines, &references);
            let systems = input.systems.iter().map(count).collect();
            return Ok(Counted { metric, systems, references: Some(references_of_each(&references)) });
        }
        let (metric, systems): (Box<dyn Metric>, Vec<Statistics>) = match choice {
            Choice::MacroF1 => {
                let wanted = input.reference();
                let texts = input.systems.iter().chain([wanted]);
                let metric = MacroF1::new(texts.flat_map(|text| &text.lines).map(String::as_str));
                let count = |system: &Text| Statistics::of(&metric, &system.lines, &wanted.lines);
                let systems = input.systems.iter().map(count).collect();
                (Box::new(metric), systems)
            }
            Choice::EntityF1 => {
                (Box::new(EntityF1), of_systems(input, |system| tagged(system, input.reference()))?)
            }
            Choice::AlignmentErrorRate => {
                let wanted = input.reference().parsed(Alignment::parse)?;
                let count = |system: &Text| {
                    Ok(Statistics::of(&AlignmentErrorRate, &system.parsed(Alignment::parse)?, &wanted))
                };
                (Box::new(AlignmentErrorRate), of_systems(input, count)?)
            }
            Choice::Perplexity => {
                let count = |system: &Text| {
                    let lines = system.parsed(Likelihood::parse)?;
                    Ok(Statistics::from_counts(
                        &Perplexity,
                        lines.into_iter().map(|line| Perplexity.counts(line)),
                    ))
                };
                (Box::new(Perplexity), of_systems(input, count)?)
            }
            Choice::BitsPerCharacter => {
                let count = |system: &Text| {
                    let lines = system.parsed(Likelihood::parse)?.into_iter().zip(&input.reference().lines);
                    let counts = lines.map(|(line, text)| BitsPerCharacter.counts(line, text));
                    Ok(Statistics::from_counts(&BitsPerCharacter, counts))
                };
                (Box::new(BitsPerCharacter), of_systems(input, count)?)
            }
            _ => unreachable!("texts and distinct-n come first"),
        };
        let references = choice.needs_references().then_some(Some(1));
        Ok(Counted { metric, systems, references })
    }
}

fn of_systems(
    input: &Input,
    count: impl Fn(&Text) -> Result<Statistics, Failure>,
) -> Result<Vec<Statistics>, Failure> {
    input.systems.iter().map(count).collect()
}

/// Counts entities, if both files have as many tags on each line.
fn tagged(system: &Text, reference: &Text) -> Result<Statistics, Failure> {
    let (found, wanted) = (system.parsed(Tags::parse)?, reference.parsed(Tags::parse)?);
    for (number, (found, wanted)) in (1..).zip(found.iter().zip(&wanted)) {
        if found.len() != wanted.len() {
            let (path, other) = (system.path.display(), reference.path.display());
            return Err(Failure::new(
                format!("{path}:{number}: {} tags, but {} in {other}", found.len(), wanted.len()),
                Some("both files have a tag for each word of the sentence".to_owned()),
            ));
        }
    }
    Ok(Statistics::of(&EntityF1, &found, &wanted))
}

/// The signature with what was resampled.
fn signed(signature: Signature, arguments: &Arguments, resampling: Resampling) -> Signature {
    let Resampling { bootstrap, randomization, seed } = resampling;
    let signature =
        if draws_lines(arguments) { signature.with_bootstrap(bootstrap, seed) } else { signature };
    match arguments.paired {
        Some(Test::Ar) => signature.with_randomization(randomization, seed),
        _ => signature,
    }
}

/// Whether lines are drawn again: for an interval, and for a paired bootstrap, which gives intervals as well.
fn draws_lines(arguments: &Arguments) -> bool {
    arguments.confidence || arguments.paired == Some(Test::Bs)
}

/// The scores of all systems, and how they compare with the first.
fn scores(
    metric: &dyn Metric,
    systems: &[Statistics],
    arguments: &Arguments,
    resampling: Resampling,
) -> Vec<Score> {
    let Resampling { bootstrap, randomization, seed } = resampling;
    let bootstrap = Bootstrap { resamples: bootstrap, seed };
    let sums: Vec<Vec<f64>> = systems.iter().map(Statistics::sums).collect();
    let values: Vec<f64> = sums.iter().map(|sums| metric.score(sums)).collect();
    let drawn: Vec<Vec<f64>> = if draws_lines(arguments) {
        systems.iter().map(|system| bootstrap.scores(metric, system)).collect()
    } else {
        Vec::new()
    };
    let p = |system: usize| match arguments.paired {
        Some(Test::Bs) => paired_bootstrap(values[system] - values[0], &drawn[0], &drawn[system]),
        _ => paired_randomization(metric, &systems[0], &systems[system], randomization, seed),
    };
    let score = |system: usize| Score {
        value: values[system],
        figures: metric.figures(&sums[system]),
        remark: metric.remark(&sums[system]),
        interval: drawn.get(system).map(|scores| Interval::of(scores)),
        p: (arguments.paired.is_some() && system > 0).then(|| p(system)),
    };
    (0..systems.len()).map(score).collect()
}
