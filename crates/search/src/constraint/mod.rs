//! What an output must keep to, inside the search: a constraint says which tokens may come next, and all others are not even
//! looked at. The end of an output is a token as well, so a length is a constraint like any other.

mod allowed;
mod couplet;
mod forbidden;
mod length;
mod ngrams;
mod phrases;
mod prefix;

pub use allowed::Allowed;
pub(crate) use couplet::{Couplet, Glyphs};
pub use couplet::{CoupletConfig, NamedPlaces, Places, Rule, broken_rules};
pub(crate) use forbidden::Forbidden;
pub(crate) use phrases::Phrases;
pub(crate) use prefix::Prefix;

use crate::config::SearchConfig;
use length::AtLeast;
use ngrams::NoRepeat;
use std::fmt::Debug;

/// What the output of one source must keep to.
pub trait Constraint: Debug {
    /// Takes away the tokens that must not follow what is written.
    fn restrict(&self, written: &[u32], allowed: &mut Allowed);

    /// Tokens that bring it nearer to being kept. They are tried, however unlikely they are.
    fn wishes(&self, _written: &[u32]) -> Vec<u32> {
        Vec::new()
    }

    /// How near it is to being kept. Hypotheses that are equally near compete with each other, and not with others.
    fn progress(&self, _written: &[u32]) -> usize {
        0
    }

    /// What it asks of this source, for a reader.
    fn explain(&self) -> String;

    /// Why no output can keep to it, where that is known beforehand.
    fn impossible(&self) -> Option<String> {
        None
    }
}

/// All that the output of one source must keep to.
#[derive(Debug, Default)]
pub struct Rules(Vec<Box<dyn Constraint>>);

impl Rules {
    /// Rules of a config for the outputs of a source of `source` tokens.
    pub fn new(config: &SearchConfig, source: usize, end: u32) -> Rules {
        let mut rules = Rules::default();
        let (least, limit) = (config.least(source), config.limit(source));
        if least > 0 {
            rules.add(AtLeast { least, limit, end });
        }
        if config.no_repeat_ngram > 0 {
            rules.add(NoRepeat { length: config.no_repeat_ngram });
        }
        rules
    }

    /// Asks for one thing more.
    pub fn add(&mut self, constraint: impl Constraint + 'static) {
        self.0.push(Box::new(constraint));
    }

    /// Whether everything is allowed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What each of them asks.
    pub fn explain(&self) -> Vec<String> {
        self.0.iter().map(|constraint| constraint.explain()).collect()
    }

    /// Why no output can keep to them, where that is known beforehand.
    pub fn impossible(&self) -> Option<String> {
        self.0.iter().find_map(|constraint| constraint.impossible())
    }

    /// The tokens of a vocabulary that may follow what is written.
    pub(crate) fn allowed(&self, written: &[u32], vocabulary: usize) -> Allowed {
        let mut allowed = Allowed::all(vocabulary);
        self.0.iter().for_each(|constraint| constraint.restrict(written, &mut allowed));
        allowed
    }

    /// Returns true if all tokens of a prompt are allowed after those before them.
    pub(crate) fn accept(&self, prompt: &[u32]) -> bool {
        let accepts = |(i, &token): (usize, &u32)| self.allowed(&prompt[..i], token as usize + 1).has(token);
        self.is_empty() || prompt.iter().enumerate().all(accepts)
    }

    /// The tokens that some of them wish for.
    pub(crate) fn wishes(&self, written: &[u32]) -> Vec<u32> {
        let mut wishes: Vec<u32> = self.0.iter().flat_map(|constraint| constraint.wishes(written)).collect();
        wishes.sort_unstable();
        wishes.dedup();
        wishes
    }

    /// How near all of them together are to being kept.
    pub(crate) fn progress(&self, written: &[u32]) -> usize {
        self.0.iter().map(|constraint| constraint.progress(written)).sum()
    }
}
