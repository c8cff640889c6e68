//! Word vectors: a point for each word, so that words which are used alike lie near each other.
//!
//! # How they are learned
//!
//! Each word *w* has two vectors: *v* where it is read, *u* where it is predicted; *v* is what is kept. A window slides over the text. The
//! words *c* around the one in the middle predict it ([`Model`]):
//!
//! | | input *h* |
//! |---|---|
//! | skip-gram | *v(c)*, for each *c* on its own |
//! | CBOW | the mean of all *v(c)* |
//!
//! A softmax over all words would be slow, so yes-or-no questions take its place ([`Loss`]), with σ(x) = 1 / (1 + e⁻ˣ):
//!
//! | | loss |
//! |---|---|
//! | negative sampling | −ln σ(*u(w)*·*h*) − Σ ln σ(−*u(n)*·*h*), over words *n* drawn by count to the power of ¾ |
//! | hierarchical softmax | −Σ ln σ(±*u(node)*·*h*), over the nodes on the way to *w* in a Huffman tree, + for a first child |
//!
//! Each question has the gradient (σ − answer)·*u* for *h*, and (σ − answer)·*h* for *u*; every vector moves against its gradient by the
//! rate at once. The gradient of *h* goes to each *v(c)* as it is, also where *h* is a mean, as in the original word2vec. Words that make
//! up more than a share *s* of the text are left out now and then: kept with the chance √(s/f) + s/f.
//!
//! With [`Subwords`], *v* of a word is the mean of its own vector and of those of its character n-grams, as in fastText, so that
//! [`Ngrams`] have a vector for words that were never seen.
//!
//! # From text to neighbors
//!
//! [`Corpus`] reads and counts a text, [`train`] learns [`Vectors`] from it, on all cores without locks. With one thread, the same seed gives
//! the same bits on the same kind of processor; with several, results differ a little from run to run.
//!
//! ```
//! use couplet_data::Lines;
//! use couplet_embed::{Corpus, Directions, Settings, train};
//! use std::sync::atomic::AtomicBool;
//!
//! let text = "the cat drinks milk\nthe dog drinks water\n".repeat(100);
//! let lines = Lines::read("text", std::io::Cursor::new(text))?;
//! let corpus = Corpus::read([lines], &mut |_| ())?;
//! let settings = Settings { dimension: 10, ..Settings::default() };
//! let trained = train(&corpus, &settings, &mut |progress| println!("{progress:?}"), &AtomicBool::new(false))?;
//!
//! let vectors = trained.vectors;
//! let directions = Directions::new(&vectors, vectors.len());
//! for near in directions.nearest(vectors.get("cat").unwrap(), 3, |_| true) {
//!     println!("{} {}", vectors.word(near.number), near.cosine);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`analogy`] asks what is to a third word as a second is to a first, [`Evaluation`] compares with people's judgments as gensim does, and
//! [`principal_components`] makes points of a plane of them.
//!
//! # Files
//!
//! [`Vectors`] reads and writes the formats of word2vec, GloVe and fastText, and finds out which a file has.
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

mod components;
mod corpus;
mod error;
mod evaluate;
mod format;
mod huffman;
mod kernel;
mod negatives;
mod neighbors;
mod subwords;
mod train;
mod vectors;
mod vocabulary;

pub use components::principal_components;
pub use corpus::Corpus;
pub use error::{EmbedError, Mistake, Place};
pub use evaluate::{Evaluation, Section, Similarity};
pub use format::Format;
pub use neighbors::{Directions, Neighbor, analogy, spelt_like};
pub use subwords::{Ngrams, Subwords};
pub use train::{Loss, Model, Progress, Settings, Trained, train};
pub use vectors::Vectors;
