//! A small corpus inside the binary; for a classifier [`opinions`], and [`guests`], a table; [`messages`] for copying. The corpus: English and
//! Chinese, made by a grammar of our own.
//!
//! The two languages order their words differently, so a model has to find out where to look: *Tom sees Jerry in the kitchen
//! every morning* is 汤姆 每天 早上 在 厨房 里 看见 杰瑞, Tom every-day morning in kitchen inside sees Jerry.
//!
//! 1. `words` holds a few hundred words, both languages side by side.
//! 2. `phrases` makes noun phrases and adverbs of them, which agree in English and have their classifiers in Chinese.
//! 3. `grammar` has a function for each construction, from its parts to the sentence in both languages. An English
//!    sentence has one translation, so a model's translation is right or wrong.
//! 4. `draw` draws constructions at random, and `parts` what goes into them.
//! 5. [`corpus`] sorts what is drawn into three sets by *triples*: who does what to whom. A triple belongs to one set and
//!    never occurs in another, so a sentence of the test set tells the model something new with words that it knows.
//!
//! ```
//! let corpus = couplet_data::demo::corpus(1);
//! assert_eq!(corpus.test[0].source, "Tom sees Jerry in the kitchen every morning");
//! assert_eq!(corpus.test[0].target, "汤姆 每天 早上 在 厨房 里 看见 杰瑞");
//! ```

mod draw;
mod grammar;
mod guests;
mod messages;
mod opinions;
mod parts;
mod phrases;
mod words;

use std::collections::HashSet;

use crate::pairs::Pair;
use crate::random::Random;
use grammar::Translated;
pub use guests::{Guest, guests};
pub use messages::messages;
pub use opinions::{Opinion, opinions};
use phrases::{Adverbs, NounPhrase, Tense};
use words::{BEINGS, DETERMINERS, HABITUAL, NAMES, NONE, PAST, PLACES, VERBS, find};

/// Sentences that show well how the word orders differ. They are the first of the test set.
pub const SHOWCASE: [&str; 2] = [
    "Tom sees Jerry in the kitchen every morning",
    "the dog that Lily likes was chased by a black cat yesterday",
];

const TRAIN: usize = 8000;
const VALID: usize = 400;
const TEST: usize = 800;

/// Sentences have at most so many words, in both languages.
const LONGEST: usize = 14;

/// Sentences and their translations, in three sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoCorpus {
    /// To learn from.
    pub train: Vec<Pair>,
    /// To watch while learning.
    pub valid: Vec<Pair>,
    /// To judge by at the end.
    pub test: Vec<Pair>,
}

/// The corpus of a seed. The same seed gives the same corpus.
pub fn corpus(seed: u64) -> DemoCorpus {
    let Sentences { train, valid, test } = sentences(seed);
    let pairs = |sentences: Vec<Sentence>| sentences.into_iter().map(|sentence| sentence.pair).collect();
    DemoCorpus { train: pairs(train), valid: pairs(valid), test: pairs(test) }
}

/// Who does what to whom, in English words without endings: `cat`, `chase`, `dog`.
///
/// A comparison has its adjective for a verb, and a question its *who* or *what* for the one it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Triple {
    /// Who does it, also where the sentence is passive.
    pub subject: &'static str,
    /// What is done.
    pub verb: &'static str,
    /// To whom.
    pub object: &'static str,
}

/// A pair of the corpus, and what is known of how it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The English sentence and its translation.
    pub pair: Pair,
    /// One for each subject of each clause.
    pub triples: Vec<Triple>,
    /// The construction that it is an example of.
    pub construction: &'static str,
}

/// The sentences of a corpus, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentences {
    /// Those of [`DemoCorpus::train`].
    pub train: Vec<Sentence>,
    /// Those of [`DemoCorpus::valid`].
    pub valid: Vec<Sentence>,
    /// Those of [`DemoCorpus::test`].
    pub test: Vec<Sentence>,
}

/// The sentences of [`corpus`], each with its triples.
pub fn sentences(seed: u64) -> Sentences {
    let mut drawing = Drawing { seed, random: Random::new(seed), seen: HashSet::new() };
    let mut test = showcase();
    drawing.seen.extend(test.iter().map(|sentence| sentence.pair.source.clone()));
    let train = drawing.sentences(Set::Train, TRAIN);
    let valid = drawing.sentences(Set::Valid, VALID);
    test.extend(drawing.sentences(Set::Test, TEST - test.len()));
    Sentences { train, valid, test }
}

/// The sentences of [`SHOWCASE`].
fn showcase() -> Vec<Sentence> {
    let name = |en| NounPhrase::name(*find(&NAMES, |name| name.0, en));
    let verb = |en| find(&VERBS, |verb| verb.base, en);
    let noun = |en| find(&BEINGS, |noun| noun.singular, en);
    let determiner = |en| find(&DETERMINERS, |determiner| determiner.en, en);

    let every_morning = Adverbs {
        place: *find(&PLACES, |place| place.0, "in the kitchen"),
        time: *find(&HABITUAL, |time| time.0, "every morning"),
        ..Adverbs::default()
    };
    let sees = grammar::present(&name("Tom"), NONE, verb("see"), &name("Jerry"), &every_morning);

    let dog = NounPhrase::noun(determiner("the"), NONE, noun("dog")).that_is_done(
        &name("Lily"),
        verb("like"),
        Tense::Present,
    );
    let cat = NounPhrase::noun(determiner("a"), ("black", "黑"), noun("cat"));
    let yesterday = Adverbs { time: *find(&PAST, |time| time.0, "yesterday"), ..Adverbs::default() };
    let chased = grammar::was_done(&dog, verb("chase"), &cat, &yesterday);

    vec![sentence(sees, "present"), sentence(chased, "subject clause")]
}

fn sentence((pair, triples): Translated, construction: &'static str) -> Sentence {
    Sentence { pair, triples, construction }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    Train,
    Valid,
    Test,
}

/// Draws sentences of which none has been drawn before.
struct Drawing {
    seed: u64,
    random: Random,
    seen: HashSet<String>,
}

impl Drawing {
    /// The construction is settled before the words, so that the sets have equal shares of each.
    fn sentences(&mut self, set: Set, count: usize) -> Vec<Sentence> {
        let mut sentences = Vec::with_capacity(count);
        while sentences.len() < count {
            let &(name, _, draw) = draw::construction(&mut self.random);
            let drawn = loop {
                let drawn = sentence(draw(&mut self.random), name);
                let wanted = drawn.triples.iter().all(|triple| set_of(triple, self.seed) == set);
                if wanted && reads_well(&drawn.pair) && self.seen.insert(drawn.pair.source.clone()) {
                    break drawn;
                }
            };
            sentences.push(drawn);
        }
        sentences
    }
}

/// Whether a sentence is short enough and speaks of nobody twice: *Tom helps Tom's cat*.
fn reads_well(pair: &Pair) -> bool {
    let length = |line: &str| line.split(' ').count();
    let mentions = |name: &str| pair.target.split(' ').filter(|&word| word == name).count();
    length(&pair.source) <= LONGEST
        && length(&pair.target) <= LONGEST
        && NAMES.iter().all(|(_, name)| mentions(name) <= 1)
}

/// The set that a triple belongs to: of a hundred triples about 80 are learned from, 8 watched and 12 judged by.
fn set_of(triple: &Triple, seed: u64) -> Set {
    if showcase_triples().contains(triple) {
        return Set::Test;
    }
    let mut hash = seed ^ 0xcbf2_9ce4_8422_2325; // FNV-1a, from its own starting value for each seed
    for word in [triple.subject, " ", triple.verb, " ", triple.object] {
        for byte in word.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    match Random::new(hash).below(100) {
        0..80 => Set::Train,
        80..88 => Set::Valid,
        _ => Set::Test,
    }
}

/// The triples of [`SHOWCASE`], which no seed may give to another set.
fn showcase_triples() -> [Triple; 3] {
    [
        Triple { subject: "Tom", verb: "see", object: "Jerry" },
        Triple { subject: "Lily", verb: "like", object: "dog" },
        Triple { subject: "cat", verb: "chase", object: "dog" },
    ]
}

#[cfg(test)]
mod tests;
