//! How good predictions are: strings in, numbers out.
//!
//! - [`bleu`] compares translations with reference translations by the words and phrases they share. It is the figure that
//!   papers report, computed as sacreBLEU does by default.
//! - [`exact_match`] counts the predictions that are right to the letter.
//! - [`macro_f1`] says how well labels are found, each as important as the others.
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
//! Lists of different lengths are a bug of the caller: the functions panic and name both lengths.

mod accuracy;
mod bleu;
mod f1;
mod tokenize;

pub use accuracy::{Accuracy, exact_match};
pub use bleu::{Bleu, MAX_ORDER, bleu, bleu_of_many};
pub use f1::macro_f1;
