//! How to search: arguments that stand for keys of `[search]`, which all verbs that write share.

use crate::failure::Failure;
use couplet_search::{
    BeamStopping, CoupletConfig, LengthNorm, Method, Places, SearchConfig, Translation, Unknown,
};
use serde::de::DeserializeOwned;

// No doc comment: clap would show it in place of the verb's own.
#[derive(Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Search [default: what the model's config says]")]
pub(crate) struct SearchArguments {
    /// Hypotheses that are followed at once; 1 is greedy
    #[arg(long)]
    beam_size: Option<usize>,
    /// The exponent of the length that a log-probability is divided by; 0 is none
    #[arg(long, value_name = "ALPHA", allow_negative_numbers = true)]
    length_penalty: Option<f32>,
    /// What a length of n counts as: power (n), or wu ((5 + n) / 6)
    #[arg(long, value_parser = named::<LengthNorm>)]
    length_norm: Option<LengthNorm>,
    /// How much it costs to leave places of the source unseen
    #[arg(long, value_name = "BETA")]
    coverage_penalty: Option<f32>,
    /// The least tokens of an output, to which --min-length-ratio adds
    #[arg(long, value_name = "TOKENS")]
    min_length: Option<usize>,
    /// So many tokens more for each of the source
    #[arg(long, value_name = "RATIO")]
    min_length_ratio: Option<f32>,
    /// The maximum length of an output, to which --max-length-ratio adds; without either, by the lengths of the training data
    #[arg(long, value_name = "TOKENS")]
    max_length: Option<usize>,
    /// So many tokens more for each of the source
    #[arg(long, value_name = "RATIO")]
    max_length_ratio: Option<f32>,
    /// Write no sequence of N tokens twice; 0 allows all
    #[arg(long, value_name = "N")]
    no_repeat_ngram: Option<usize>,
    /// When enough is found: early (as many outputs as the beam is wide, and no unfinished one scores better now), or exhaustive (none can become better)
    #[arg(long, value_parser = named::<BeamStopping>)]
    early_stopping: Option<BeamStopping>,
    /// Cut the beam into groups that keep away from each other's tokens
    #[arg(long)]
    beam_groups: Option<usize>,
    /// What a token costs in a group for each group before it that has just written it
    #[arg(long, value_name = "COST")]
    diversity_penalty: Option<f32>,
    /// Tokens that the vocabulary does not have: omit, avoid, or copy the source word that was looked at most
    #[arg(long, value_parser = named::<Unknown>)]
    unknown: Option<Unknown>,
    /// Draw outputs instead of looking for the best one
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    sample: Option<bool>,
    /// Draw from probabilities to the power 1/T: below 1 the likely becomes likelier
    #[arg(long, value_name = "T")]
    temperature: Option<f32>,
    /// Draw from the K likeliest tokens; 0 is all
    #[arg(long, value_name = "K")]
    top_k: Option<usize>,
    /// Draw from the likeliest tokens that have this probability together
    #[arg(long, value_name = "P")]
    top_p: Option<f32>,
    /// Draw from tokens that have at least this share of the likeliest one's probability
    #[arg(long, value_name = "SHARE")]
    min_p: Option<f32>,
    /// Multiply the log-probabilities of tokens that are there already: above 1, fewer are repeated
    #[arg(long, value_name = "FACTOR")]
    repetition_penalty: Option<f32>,
    /// The same seed draws the same
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    couplet: CoupletArguments,
}

#[derive(Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Rules of couplets (对联) [default: what the model's config says]")]
struct CoupletArguments {
    /// All of the rules below, with tones opposed in the last place; --couplet=false: none of them
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    couplet: Option<bool>,
    /// The second line is as long as the first
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    equal_length: Option<bool>,
    /// It has marks where the first line has them, and nowhere else
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    same_punctuation: Option<bool>,
    /// It repeats characters where the first line does, and nowhere else
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    same_repetition: Option<bool>,
    /// It has no character of the first line
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    fresh: Option<bool>,
    /// Where its tones (平仄) are opposed: none, last, ends (before each mark), even (those and every second one), or 2,4,-1
    #[arg(long, value_name = "PLACES", allow_hyphen_values = true)]
    opposed_tones: Option<Places>,
}

impl SearchArguments {
    /// What a config says, with what was given in its place.
    pub(crate) fn apply(&self, config: &SearchConfig, n_best: usize) -> Result<SearchConfig, Failure> {
        let mut search = SearchConfig { n_best, ..config.clone() };
        let sampling = &mut search.sampling;
        set(&mut search.beam_size, self.beam_size);
        set(&mut search.length_penalty, self.length_penalty);
        set(&mut search.length_norm, self.length_norm);
        set(&mut search.coverage_penalty, self.coverage_penalty);
        set(&mut search.min_length, self.min_length);
        set(&mut search.min_length_ratio, self.min_length_ratio);
        set(&mut search.max_length, self.max_length.map(Some));
        set(&mut search.max_length_ratio, self.max_length_ratio.map(Some));
        set(&mut search.no_repeat_ngram, self.no_repeat_ngram);
        set(&mut search.early_stopping, self.early_stopping);
        set(&mut search.beam_groups, self.beam_groups);
        set(&mut search.diversity_penalty, self.diversity_penalty);
        set(&mut search.unknown, self.unknown);
        set(&mut search.method, self.sample.map(|sample| if sample { Method::Sample } else { Method::Beam }));
        set(&mut sampling.temperature, self.temperature);
        set(&mut sampling.top_k, self.top_k);
        set(&mut sampling.top_p, self.top_p);
        set(&mut sampling.min_p, self.min_p);
        set(&mut sampling.repetition_penalty, self.repetition_penalty);
        set(&mut sampling.seed, self.seed);
        self.couplet.apply(&mut search.couplet);
        search.check().map_err(|error| Failure::usage(&error, Some(error.hint().to_owned())))?;
        Ok(search)
    }
}

impl CoupletArguments {
    fn apply(&self, rules: &mut CoupletConfig) {
        let all = |on: bool| if on { CoupletConfig::all() } else { CoupletConfig::default() };
        set(rules, self.couplet.map(all));
        set(&mut rules.equal_length, self.equal_length);
        set(&mut rules.punctuation, self.same_punctuation);
        set(&mut rules.repetition, self.same_repetition);
        set(&mut rules.fresh, self.fresh);
        set(&mut rules.tones, self.opposed_tones.clone());
    }
}

/// Counts outputs, and those of them that reached the length limit before their end.
#[derive(Default)]
pub(crate) struct OutputCount {
    outputs: usize,
    pub(crate) truncated: usize,
}

impl OutputCount {
    pub(crate) fn add<'a>(&mut self, outputs: impl IntoIterator<Item = &'a Translation>) {
        for output in outputs {
            self.outputs += 1;
            self.truncated += usize::from(output.truncated);
        }
    }

    /// Warns of truncated outputs on the standard error.
    pub(crate) fn warn(&self) {
        let OutputCount { outputs, truncated } = self;
        if *truncated > 0 {
            eprintln!("warning: {truncated} of {outputs} outputs were cut at the length limit");
            eprintln!("hint: raise search.max_length (--max-length) to let them end");
        }
    }
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

/// A choice by the name that configs have for it; what is wrong lists what is possible.
fn named<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}
