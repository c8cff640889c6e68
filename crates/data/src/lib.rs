//! The way of text to batches of token ids. Tensors are not known here.
//!
//! # The story
//!
//! One sentence and its translation, *Tom chases Jerry.* and *汤姆 追逐 杰瑞*, on their way into one batch:
//!
//! 1. [`Files`] is what a config says of where they are: two parallel files, a table, JSON, or several of these.
//! 2. [`Pairs`] opens them, plain, gzip or zstd, reads a [`Pair`] at a time, and says file, line and byte where something is wrong
//!    with them; [`Lines`] is for texts that have no other side. [`read_parallel`] and [`read_tsv`] read all pairs at once.
//! 3. A [`Tokenizer`] learns a vocabulary from all the lines of one side: words, characters, or pieces. Then it turns the
//!    sentence into ids: `Tom`, `chases`, `Jerry`, `.` become 6, 7, 4, 5. The ids 0 to 3 are special: [`PAD`], [`UNK`],
//!    [`START`] and [`END`].
//! 4. [`Batches`] knows the sentence by its number and its two lengths only. It puts it together with others of about
//!    the same length, as many as a budget of tokens allows, shuffles what may be shuffled, and remembers the
//!    [`Position`].
//! 5. A [`Feed`] fetches the ids of a batch from where they lie: from memory, from a [`CorpusFile`] that holds more than memory does, or
//!    from a [`Stream`] of text.
//!
//! Where a text has a label instead of a translation, [`LabeledTexts`] are read in place of pairs, [`Labels`] are the
//! vocabulary of the other side, and a long text is [`Truncation`]. Of a table, [`FeatureColumns`] are read beside it,
//! which [`Features`] make numbers of. [`VocabularyStatistics`] say what a vocabulary makes of texts.
//!
//! Padding, masks and packing are for those who know tensors. After the model has answered, [`Tokenizer::decode`] turns ids
//! into text, and where [`in_order`] made the batches, the numbers of the examples put the answers back in order.
//!
//! # An example
//!
//! ```
//! use couplet_data::{Batches, Empty, Tokenizer, TokenizerConfig, read_parallel};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (english, chinese) = (folder.path().join("train.en"), folder.path().join("train.zh"));
//! std::fs::write(&english, "Tom chases Jerry.\nJerry runs.\n")?;
//! std::fs::write(&chinese, "汤姆 追逐 杰瑞\n杰瑞 跑\n")?;
//! let pairs = read_parallel(&english, &chinese, Empty::Refuse)?;
//!
//! let config = TokenizerConfig::default();
//! let source = Tokenizer::train(&config, pairs.iter().map(|pair| &pair.source))?;
//! let target = Tokenizer::train(&config, pairs.iter().map(|pair| &pair.target))?;
//! assert_eq!(source.encode("Jerry chases Tom."), [4, 7, 6, 5]);
//! assert_eq!(target.decode(&target.encode("杰瑞 追逐 汤姆")), "杰瑞 追逐 汤姆");
//!
//! let tokens = |tokenizer: &Tokenizer, text: &str| tokenizer.encode(text).len() as u32;
//! let lengths: Vec<(u32, u32)> =
//!     pairs.iter().map(|pair| (tokens(&source, &pair.source), tokens(&target, &pair.target))).collect();
//! assert_eq!(lengths, [(4, 3), (3, 2)]);
//! for batch in Batches::new(lengths, 4096, 42).epoch(0).iter() {
//!     for &example in batch {
//!         let pair = &pairs[example as usize];
//!         println!("{:?} → {:?}", source.encode(&pair.source), target.encode(&pair.target));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Mistakes
//!
//! What is wrong with a file is a [`DataError`]: one line that names the place, and a [hint](DataError::hint) that says
//! what to do.

mod batches;
mod copying;
mod corpora;
mod corpus_file;
pub mod demo;
mod error;
mod example;
mod features;
mod feed;
mod files;
mod labels;
mod lines;
mod pairs;
pub mod random;
mod records;
mod statistics;
mod stream;
mod tokenizer;
mod truncation;
mod unpack;

pub use batches::{Batches, Epoch, Position, Stop, Weight, in_order};
pub use copying::SourceWords;
pub use corpora::{BadLines, Column, Columns, Corpus, Files, Format};
pub use corpus_file::{CorpusFile, CorpusWriter};
pub use error::DataError;
pub use example::{Example, Fetch, add_to_checksum};
pub use features::{
    ColumnKind, FeatureColumn, FeatureColumns, FeatureVectors, FeaturedText, FeaturedTexts, Features, Value,
};
pub use feed::Feed;
pub use files::{WholeFile, write_whole};
pub use labels::{Labeled, LabeledText, LabeledTexts, Labels};
pub use lines::Lines;
pub use pairs::{Pair, Pairs, read_parallel, read_texts, read_tsv};
pub use records::{Empty, Place, Reading, Skipped};
pub use statistics::VocabularyStatistics;
pub use stream::{CHUNK, Encode, PairIterator, Stream, StreamOrder, StreamedText, on_all_cores};
pub use tokenizer::{
    END, Normalize, PAD, SPECIAL, START, StopWords, Tokenizer, TokenizerConfig, TokenizerKind, UNK,
};
pub use truncation::{PaddingSide, PairTruncation, Truncation, TruncationSide, pieces};
pub use unpack::{Packing, STANDARD_INPUT, add_file_to_checksum, open_unpacked};
