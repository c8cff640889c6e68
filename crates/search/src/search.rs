//! The front door of all searches.

use crate::beam::{self, Beam};
use crate::config::{Method, SearchConfig};
use crate::constraint::Rules;
use crate::hypothesis::Hypothesis;
use crate::model::Model;
use crate::sample::Sampler;
use crate::steps::{Sight, run};

/// A source, and what is asked of its outputs.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Its tokens.
    pub tokens: &'a [u32],
    /// What an output must keep to.
    pub rules: &'a Rules,
    /// Which of all sources it is: each has random numbers of its own, whatever batch it is in.
    pub number: u64,
}

/// The outputs of each source: the best of a beam, the best one first, or those that were drawn.
pub fn search<M: Model>(model: &M, sources: &[&[u32]], config: &SearchConfig) -> Vec<Vec<Hypothesis>> {
    let (_, end) = model.ends();
    let rules: Vec<Rules> = sources.iter().map(|source| Rules::of(config, source.len(), end)).collect();
    let question = |((&tokens, rules), number)| Question { tokens, rules, number };
    let questions: Vec<Question> = sources.iter().zip(&rules).zip(0..).map(question).collect();
    search_within(model, &questions, config)
}

/// As [`search`], each source with rules of its own. A source has no outputs where none was found that keeps to them.
pub fn search_within<M: Model>(
    model: &M,
    questions: &[Question],
    config: &SearchConfig,
) -> Vec<Vec<Hypothesis>> {
    assert!(config.beam_size > 0 && config.beam_groups > 0, "a beam of at least 1, in at least 1 group");
    let (_, end) = model.ends();
    let sources: Vec<&[u32]> = questions.iter().map(|question| question.tokens).collect();
    match config.method {
        Method::Beam => {
            let mut beams: Vec<Beam> =
                questions.iter().map(|&question| Beam::new(question, end, config)).collect();
            let free = questions.iter().all(|question| question.rules.is_empty());
            run(model, &sources, &mut beams, if free { beam::sight(config) } else { Sight::All });
            beams.into_iter().map(Beam::outputs).collect()
        }
        Method::Sample => {
            let mut samplers: Vec<Sampler> =
                questions.iter().map(|&question| Sampler::new(question, end, config)).collect();
            run(model, &sources, &mut samplers, Sight::All);
            samplers.into_iter().map(Sampler::outputs).collect()
        }
    }
}
