//! What stands beside a text in a table: its columns, read as values and made into a vector.
//!
//! 1. [`FeatureColumns`] is what a config says of them: `age = "number"`, `member = "yes-no"`, `country = "category"`.
//! 2. A field becomes a [`Value`] when the file is read, so that a mistake is named with its line.
//! 3. [`Features`] are fitted to the training texts, and turn the values of any text into numbers:
//!
//! | column | numbers |
//! |---|---|
//! | number | `(x − mean) / deviation` of the training texts; 0, the mean, where it is missing |
//! | yes or no | 1 or 0; where it is missing, the share of yes among the training texts |
//! | category | one for each that the training texts have, the most frequent one first: 1 at its place and 0 at the others; a missing or an unknown one is the zero vector |
//!
//! A number or a yes/no has one number more, 1 where it is missing, if it is missing in a training text: else nothing could be learned
//! of that place, and a weight that has never learned would only disturb.

mod columns;
mod encoding;
mod texts;

pub use columns::{ColumnKind, FeatureColumn, FeatureColumns, Value};
pub use encoding::{FeatureVectors, Features};
pub use texts::{FeaturedText, FeaturedTexts};
