//! Word vectors: a point for each word, so that words which are used alike lie near each other.
//!
//! [`Vectors`] holds the words and their vectors, and reads and writes the formats of word2vec, GloVe and fastText.
//!
//! ```
//! use couplet_embed::{Format, Vectors};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("vectors.txt");
//! let words = ["cat", "dog"].map(String::from).to_vec();
//! let vectors = Vectors::new(words, &[0.1, 0.2, 0.3, -0.4])?;
//! vectors.write(&path, Format::Text)?;
//! assert_eq!(std::fs::read_to_string(&path)?, "2 2\ncat 0.1 0.2\ndog 0.3 -0.4\n");
//! assert_eq!(Vectors::read(&path)?.get("dog"), Some(&[0.3, -0.4][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod format;
mod vectors;

pub use error::{EmbedError, Mistake, Place};
pub use format::Format;
pub use vectors::Vectors;
