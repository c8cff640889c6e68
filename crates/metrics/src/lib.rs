//! How good predictions are: strings in, numbers out.
//!
//! | what | by |
//! |---|---|
//! | translations beside reference translations | [`Bleu`], [`Chrf`], [`Ter`], which sacreBLEU computes the same |
//! | transcripts | [`ErrorRate`]: word and character error rate, as jiwer's |
//! | labels | [`ExactMatch`], [`MacroF1`] |
//! | tagged entities | [`EntityF1`], as seqeval's |
//! | alignments of words | [`AlignmentErrorRate`] |
//! | what a model expected | [`Perplexity`], [`BitsPerCharacter`] |
//! | how varied texts are | [`distinct()`] |
//!
//! ```
//! use couplet_metrics::{bleu, exact_match};
//!
//! let hypotheses = ["The cat sat on the mat.", "Hello world!"];
//! let references = ["The cat sat on a mat.", "Hello world!"];
//! assert_eq!(
//!     bleu(&hypotheses, &references).to_string(),
//!     "BLEU = 53.90 90.0/75.0/50.0/25.0 (BP = 1.000 ratio = 1.000 hyp_len = 10 ref_len = 10)"
//! );
//! assert_eq!(exact_match(&hypotheses, &references).percent(), 50.0);
//! ```
//!
//! # One idea
//!
//! All of them but [`distinct()`] are a [`Metric`]: some numbers are counted in each line and added up, and a formula makes the score of
//! the sums. [`Statistics`] holds the numbers of each line, counted on all cores. To draw lines again, for a confidence
//! [`Interval`] or to see whether two systems differ ([`paired_bootstrap`], [`paired_randomization`]), is only to add up again:
//!
//! ```
//! use couplet_metrics::{Bootstrap, Chrf, Interval, Metric, Signature, Statistics, paired_bootstrap};
//!
//! let references = [vec!["The cat sat.", "A cat sat."], vec!["It rains."], vec!["Who knows?", "Nobody knows."]];
//! let [base, better] = [["A cat", "It snows.", "Who?"], ["A cat sat.", "It rains.", "Who?"]];
//!
//! let chrf = Chrf::plus_plus();
//! let [base, better] = [base, better].map(|system| Statistics::of_many(&chrf, &system, &references));
//! let [base_score, better_score] = [&base, &better].map(|system| chrf.score(&system.sums()));
//! assert!(base_score < better_score);
//!
//! let bootstrap = Bootstrap { resamples: 200, ..Bootstrap::default() };
//! let [base_scores, better_scores] = [&base, &better].map(|system| bootstrap.scores(&chrf, system));
//! let interval = Interval::of(&better_scores);
//! assert!(interval.low < better_score && better_score <= interval.high);
//! let p = paired_bootstrap(better_score - base_score, &base_scores, &better_scores);
//! assert!((0.0..=1.0).contains(&p));
//!
//! let signature = Signature::new(&chrf, None).with_bootstrap(200, bootstrap.seed).to_string();
//! assert!(signature.starts_with("nrefs:var|bs:200|seed:12345|case:mixed|eff:yes|nc:6|nw:2|space:no|version:couplet-"));
//! ```
//!
//! Lists of different lengths are a bug of the caller: the functions panic and name both lengths. Lines that are not just text
//! ([`Tags`], [`Alignment`], [`Likelihood`]) are read first, and a [`LineError`] says what is wrong with them.

mod accuracy;
mod alignment;
mod bleu;
mod chrf;
mod distinct;
mod edit_distance;
mod entity;
mod error;
mod error_rate;
mod f1;
mod likelihood;
mod metric;
mod ngrams;
mod random;
mod signature;
mod significance;
mod ter;
mod tokenize;
mod words;

pub use accuracy::{Accuracy, ExactMatch, exact_match};
pub use alignment::{Alignment, AlignmentErrorRate};
pub use bleu::{Bleu, BleuScore, Smoothing, bleu, bleu_of_many, looks_tokenized};
pub use chrf::Chrf;
pub use distinct::{Distinct, distinct};
pub use entity::{Entity, EntityF1, Tags};
pub use error::LineError;
pub use error_rate::{ErrorRate, Unit};
pub use f1::{MacroF1, macro_f1};
pub use likelihood::{BitsPerCharacter, Likelihood, Perplexity};
pub use metric::{Compare, Metric, Statistics};
pub use signature::{Signature, references_of_each};
pub use significance::{Bootstrap, DEFAULT_SEED, Interval, paired_bootstrap, paired_randomization};
pub use ter::Ter;
pub use tokenize::Tokenizer;
