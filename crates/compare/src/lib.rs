//! Several models on the same data, and what is claimed of them, measured.
//!
//! 1. A [`Plan`] says which configs, with how many seeds, on which data, and for how long. Configs that name no data get passages that
//!    come with the program: sentences of the demo's grammar, joined to lengths of up to 45 words.
//! 2. [`compare`] trains each config with each seed into a folder of its own, goes on with what was stopped, passes over what is done, and
//!    measures: a [`Quality`] by the length of the source and by the place of its words, and at last [`Times`], with the [`Cost`] of
//!    sources as they grow. A config that fails does not keep the others from being trained. Parts of a plan may be compared by several
//!    processes at once, in the same folder; a comparison of the whole then finds all done.
//! 3. [`write_report`] makes a [`Table`] of it, and a page with a picture and the figures for each [`Claim`].
//!
//! [`norms`] needs no model: what becomes of a state that goes through the same matrix again and again.

mod changes;
mod claims;
mod cost;
mod error;
#[cfg(test)]
mod ladder;
mod lock;
mod markdown;
pub mod norms;
mod outcome;
mod passages;
mod places;
mod plan;
mod quality;
mod report;
mod run;
mod spread;
mod table;
mod test_set;
mod times;

pub use claims::{Claim, claims_of};
pub use cost::Cost;
pub use error::CompareError;
pub use lock::lock;
pub use outcome::Outcome;
pub use plan::{Budget, Plan, Sets};
pub use quality::{Metric, OfLength, OfPart, Quality};
pub use report::write_report;
pub use run::{Compared, Entry, Failed, Progress, compare, done};
pub use spread::Spread;
pub use table::{Row, Table};
pub use times::Times;
