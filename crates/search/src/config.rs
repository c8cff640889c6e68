//! How to search, as a user writes it.

use crate::constraint::CoupletConfig;
use crate::limit::TargetLengths;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The table `[search]` of a config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// Whether the best output is looked for, or one is drawn.
    pub method: Method,
    /// How many hypotheses are followed at once. With 1 the search is greedy.
    pub beam_size: usize,
    /// How many outputs a source gets: the best ones of the beam, or so many that are drawn.
    pub n_best: usize,
    /// A finished hypothesis of log-probability `l` and `n` tokens is worth `l / norm(n)^length_penalty`.
    pub length_penalty: f32,
    /// What the norm of a length is.
    pub length_norm: LengthNorm,
    /// How much it costs to leave places of the source unseen: the weight of `Σ log min(1, attention to the place)`.
    pub coverage_penalty: f32,
    /// An output has at least `min_length + min_length_ratio · source tokens` tokens.
    pub min_length: usize,
    /// See `min_length`.
    pub min_length_ratio: f32,
    /// An output has at most `max_length + max_length_ratio · source tokens` tokens; where only one of both is given, the other is 0.
    /// By default the limit follows from the training data, see [`TargetLengths::limit`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// See `max_length`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length_ratio: Option<f32>,
    /// Lengths in the training data of the model, from its folder. Not a key of the table.
    #[serde(skip)]
    pub target_lengths: TargetLengths,
    /// No sequence of so many tokens comes twice in an output; 0 allows all.
    pub no_repeat_ngram: usize,
    /// When a search has found enough.
    pub early_stopping: BeamStopping,
    /// The beam is cut into so many groups, and each keeps away from what those before it write.
    pub beam_groups: usize,
    /// What a token costs in a group for each time that a group before it has just written it.
    pub diversity_penalty: f32,
    /// What becomes of tokens that the vocabulary does not have.
    pub unknown: Unknown,
    /// Tokens of the sources that are decoded together.
    pub batch_tokens: usize,
    /// `[search.sampling]`: what is drawn from
    pub sampling: SamplingConfig,
    /// `[search.couplet]`: the rules of couplets
    pub couplet: CoupletConfig,
}

/// How outputs are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The best one is looked for.
    #[default]
    Beam,
    /// Each token is drawn.
    Sample,
}

/// What a length counts as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LengthNorm {
    /// `n`
    #[default]
    Power,
    /// `(5 + n) / 6`, of Wu et al. (2016).
    Wu,
}

/// When a search has found enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeamStopping {
    /// When there are as many finished hypotheses as the beam is wide, and no unfinished one has a better score at its present length
    /// than an output that would be returned.
    #[default]
    Heuristic,
    /// When no unfinished hypothesis can become better than those.
    Never,
}

/// What becomes of tokens that the vocabulary does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// They are left out of the text.
    #[default]
    Omit,
    /// They are never written.
    Avoid,
    /// The word of the source that the model looked at most stands there, or what a dictionary has for it.
    Copy,
}

/// The table `[search.sampling]`. Probabilities are changed in this order: repetition penalty, temperature, `top_k`, `top_p`, `min_p`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplingConfig {
    /// Probabilities are raised to the power `1 / temperature`: below 1 the likely becomes likelier.
    pub temperature: f32,
    /// Only so many of the likeliest tokens are drawn from; 0 is all.
    pub top_k: usize,
    /// Only as many of the likeliest tokens are drawn from as have this probability together.
    pub top_p: f32,
    /// Only tokens that have at least this share of the likeliest one's probability are drawn from.
    pub min_p: f32,
    /// The log-probability of a token that is already in the output is multiplied with this.
    pub repetition_penalty: f32,
    /// The same seed draws the same.
    pub seed: u64,
}

impl Default for SamplingConfig {
    fn default() -> Self {
        SamplingConfig {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            seed: 1,
        }
    }
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig {
            method: Method::default(),
            beam_size: 5,
            n_best: 1,
            length_penalty: 1.0,
            length_norm: LengthNorm::default(),
            coverage_penalty: 0.0,
            min_length: 0,
            min_length_ratio: 0.0,
            max_length: None,
            max_length_ratio: None,
            target_lengths: TargetLengths::default(),
            no_repeat_ngram: 0,
            early_stopping: BeamStopping::default(),
            beam_groups: 1,
            diversity_penalty: 0.5,
            unknown: Unknown::default(),
            batch_tokens: 1024,
            sampling: SamplingConfig::default(),
            couplet: CoupletConfig::default(),
        }
    }
}

/// A way to search that makes no sense.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("search.{key} = {value}")]
pub struct SearchConfigError {
    key: &'static str,
    value: String,
    hint: &'static str,
}

impl SearchConfigError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        self.hint
    }
}

impl SearchConfig {
    /// The least tokens that an output for a source of so many tokens may have.
    pub fn least(&self, source: usize) -> usize {
        self.min_length + (self.min_length_ratio * source as f32) as usize
    }

    /// The most tokens that an output for a source of so many tokens may have.
    pub fn limit(&self, source: usize) -> usize {
        let limit = match (self.max_length, self.max_length_ratio) {
            (None, None) => self.target_lengths.limit(source),
            (length, ratio) => length.unwrap_or(0) + (ratio.unwrap_or(0.0) * source as f32) as usize,
        };
        limit.max(1)
    }

    /// Returns true if outputs depend on the attention.
    pub(crate) fn needs_attention(&self) -> bool {
        self.coverage_penalty > 0.0 || self.unknown == Unknown::Copy
    }

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), SearchConfigError> {
        let SearchConfig { beam_size: beam, n_best, beam_groups: groups, sampling, .. } = self;
        let SamplingConfig { temperature, top_p, min_p, repetition_penalty, .. } = sampling;
        let positive = |x: &f32| *x > 0.0 && x.is_finite();
        refuse(*beam == 0, "beam_size", beam, "a beam of 1 or more; 1 is greedy")?;
        refuse(
            *groups == 0 || beam % groups != 0,
            "beam_groups",
            groups,
            "the beam must be a multiple of the groups",
        )?;
        let too_many = *n_best == 0 || self.method == Method::Beam && n_best > beam;
        refuse(
            too_many,
            "n_best",
            n_best,
            "from 1 to as many as the beam is wide; with sampling, any number",
        )?;
        refuse(
            !positive(temperature),
            "sampling.temperature",
            temperature,
            "a number above 0; 1 changes nothing",
        )?;
        refuse(!(0.0..=1.0).contains(top_p) || *top_p == 0.0, "sampling.top_p", top_p, "above 0, up to 1")?;
        refuse(!(0.0..=1.0).contains(min_p), "sampling.min_p", min_p, "from 0 to 1")?;
        refuse(
            !positive(repetition_penalty),
            "sampling.repetition_penalty",
            repetition_penalty,
            "a number above 0; 1 changes nothing, more means fewer repetitions",
        )?;
        let coverage = &self.coverage_penalty;
        refuse(coverage.is_nan() || *coverage < 0.0, "coverage_penalty", coverage, "0 or more")?;
        refuse(
            !self.length_penalty.is_finite(),
            "length_penalty",
            &self.length_penalty,
            "a number; 0 is none",
        )
    }
}

fn refuse(
    wrong: bool,
    key: &'static str,
    value: &impl ToString,
    hint: &'static str,
) -> Result<(), SearchConfigError> {
    if wrong { Err(SearchConfigError { key, value: value.to_string(), hint }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        assert_eq!(SearchConfig::default().check(), Ok(()));
        let said = |text: &str| {
            let config: SearchConfig = toml::from_str(text).expect("a table");
            config.check().expect_err("a refusal").to_string()
        };
        assert_eq!(said("beam_size = 0"), "search.beam_size = 0");
        assert_eq!(said("beam_size = 5\nbeam_groups = 2"), "search.beam_groups = 2");
        assert_eq!(said("n_best = 6"), "search.n_best = 6");
        assert_eq!(said("[sampling]\ntemperature = 0.0"), "search.sampling.temperature = 0");
        assert_eq!(said("[sampling]\ntop_p = 1.5"), "search.sampling.top_p = 1.5");
        assert_eq!(said("coverage_penalty = nan"), "search.coverage_penalty = NaN");
        let samples: SearchConfig = toml::from_str("method = 'sample'\nn_best = 60").expect("a table");
        assert_eq!(samples.check(), Ok(()));
    }
}
