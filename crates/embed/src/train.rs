//! Learning vectors: passes over a text, on several threads.

mod near_root;
mod step;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use couplet_data::random::Random;
use couplet_tensor::Isa;

use crate::corpus::Corpus;
use crate::vocabulary::Vocabulary;
use crate::{EmbedError, Ngrams, Subwords, Vectors};
use step::{Network, Sentences, Worker};

/// What is predicted from what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Each word around predicts the word in the middle, one at a time. Slower, better for rare words.
    #[default]
    SkipGram,
    /// The mean of all words around predicts the word in the middle.
    Cbow,
}

/// How a prediction is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Negative sampling: the word is told from so many that are drawn at random.
    Negative(usize),
    /// The hierarchical softmax: at each inner node of a Huffman tree, the turn towards the word is told from the other.
    Hierarchical,
}

impl Loss {
    /// Over which share of the words, the last ones, the learning rate falls. In the original it falls from the first word on. Held up longer,
    /// negative sampling gives better vectors, of one epoch as of five; the hierarchical softmax, whose predictions take more steps each, does
    /// not (`bench/README.md` has figures).
    fn falling(self) -> f32 {
        match self {
            Loss::Negative(_) => 0.25,
            Loss::Hierarchical => 1.0,
        }
    }
}

/// How vectors are learned. The defaults are those of the original word2vec, but for the skip-gram and how the rate falls.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What is predicted from what.
    pub model: Model,
    /// How a prediction is judged.
    pub loss: Loss,
    /// How many numbers a vector has.
    pub dimension: usize,
    /// How many words on each side count as near; for each word in the middle, a number from 1 to this is drawn.
    pub window: usize,
    /// Rarer words get no vector.
    pub min_count: u64,
    /// A word that makes up more of the text than this is left out now and then; 0 leaves out none.
    pub sample: f64,
    /// Passes over the text.
    pub epochs: u32,
    /// The learning rate at first. It falls to a 250th, in a line: by negative sampling over the last quarter of all words, by the hierarchical
    /// softmax over all of them.
    pub rate: f32,
    /// Parts of words that get vectors, if any.
    pub subwords: Option<Subwords>,
    /// What random numbers begin with.
    pub seed: u64,
    /// With one, the same seed gives the same bits. With several, each sees the others' changes as they come, and results differ a
    /// little from run to run.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            model: Model::SkipGram,
            loss: Loss::Negative(5),
            dimension: 100,
            window: 5,
            min_count: 5,
            sample: 1e-3,
            epochs: 5,
            rate: 0.025,
            subwords: None,
            seed: 1,
            threads: 1,
        }
    }
}

impl Settings {
    /// What cannot be, by the name of the option.
    pub fn check(&self) -> Result<(), EmbedError> {
        let wrong = |name, problem: &str| Err(EmbedError::Setting { name, problem: problem.to_owned() });
        match self {
            Settings { dimension: 0, .. } => wrong("size", "a vector needs at least one number"),
            Settings { window: 0, .. } => wrong("window", "a word needs at least one neighbor"),
            Settings { epochs: 0, .. } => wrong("epochs", "nothing is learned in no passes"),
            Settings { threads: 0, .. } => wrong("threads", "somebody must do it"),
            Settings { loss: Loss::Negative(0), .. } => {
                wrong("negative", "a word must be told from at least one other")
            }
            Settings { rate, .. } if !rate.is_finite() || *rate <= 0.0 => {
                wrong("learning-rate", "it must be above 0")
            }
            Settings { sample, .. } if !(0.0..=1.0).contains(sample) => {
                wrong("sample", "it is a share: from 0 to 1")
            }
            Settings { subwords: Some(Subwords { min, max, buckets }), .. }
                if *min == 0 || max < min || *buckets == 0 =>
            {
                wrong("subwords", "parts have from MIN to MAX characters, and MIN is at least 1")
            }
            _ => Ok(()),
        }
    }

    /// The learning rate when a share of all words was read.
    fn rate_after(&self, share: f32) -> f32 {
        self.rate * ((1.0 - share) / self.loss.falling()).clamp(LEAST_RATE, 1.0)
    }
}

/// How far a training is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Words of the text that were read so far, those of all epochs.
    pub words: u64,
    /// Words of the text, in all epochs.
    pub all_words: u64,
    /// The mean loss of a prediction, over the last words.
    pub loss: f64,
    /// Words since the training began, in a second.
    pub words_per_second: f64,
}

/// What was learned.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The vectors, frequent words first.
    pub vectors: Vectors,
    /// The vectors of parts of words, where they were asked for.
    pub ngrams: Option<Ngrams>,
    /// Whether all epochs were run, and not stopped.
    pub complete: bool,
    /// How long the epochs took.
    pub seconds: f64,
    /// Words of the text that were read, those of all epochs.
    pub words: u64,
}

/// The learning rate never falls below this share of what it was at the beginning.
const LEAST_RATE: f32 = 0.004;

/// A block of the text for a thread, with all that must not depend on which thread it is.
struct Task {
    block: Vec<u32>,
    number: u64,
    rate: f32,
}

/// Learns vectors. `progress` is told how far it is, and once `stop` is true, what there is at that moment is the result.
pub fn train(
    corpus: &Corpus,
    settings: &Settings,
    progress: &mut dyn FnMut(&Progress),
    stop: &AtomicBool,
) -> Result<Trained, EmbedError> {
    settings.check()?;
    let vocabulary = Vocabulary::new(corpus, settings.min_count, settings.sample)?;
    let network = Network::new(&vocabulary, settings);
    let start = Instant::now();
    let tally = Tally::default();
    let (sender, receiver) = sync_channel::<Task>(2 * settings.threads);
    let receiver = Mutex::new(receiver);
    let complete = std::thread::scope(|scope| {
        // Dropped at the end of this closure, which tells the threads that there is no more.
        let sender = sender;
        for _ in 0..settings.threads {
            scope.spawn(|| work(&receiver, &vocabulary, &network, settings, &tally));
        }
        let all_words = corpus.tokens() * u64::from(settings.epochs);
        let (mut sent, mut number) = (0, 0);
        for _ in 0..settings.epochs {
            for block in corpus.blocks()? {
                if stop.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                let block = block?;
                let rate = settings.rate_after(sent as f32 / all_words as f32);
                sent += block.iter().filter(|&&id| id != crate::corpus::END).count() as u64;
                sender
                    .send(Task { block, number, rate })
                    .map_err(|_| io::Error::other("no thread is left"))?;
                number += 1;
                progress(&tally.progress(all_words, start));
            }
        }
        Ok(true)
    });
    let complete = complete
        .map_err(|source: io::Error| EmbedError::TemporaryFile { folder: std::env::temp_dir(), source })?;
    let seconds = start.elapsed().as_secs_f64();
    let words = tally.words.load(Ordering::Relaxed);
    let (vectors, ngrams) = network.into_vectors(vocabulary.words, settings)?;
    Ok(Trained { vectors, ngrams, complete, seconds, words })
}

/// What all threads did together.
#[derive(Default)]
struct Tally {
    words: AtomicU64,
    /// The sum of losses since it was last asked for, and of how many predictions.
    losses: Mutex<(f64, u64)>,
    last_loss: AtomicU64,
}

impl Tally {
    fn add(&self, words: u64, loss: f64, predictions: u64) {
        self.words.fetch_add(words, Ordering::Relaxed);
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        losses.0 += loss;
        losses.1 += predictions;
    }

    fn progress(&self, all_words: u64, start: Instant) -> Progress {
        let (loss, predictions) =
            std::mem::take(&mut *self.losses.lock().unwrap_or_else(PoisonError::into_inner));
        if predictions > 0 {
            self.last_loss.store((loss / predictions as f64).to_bits(), Ordering::Relaxed);
        }
        let words = self.words.load(Ordering::Relaxed);
        Progress {
            words,
            all_words,
            loss: f64::from_bits(self.last_loss.load(Ordering::Relaxed)),
            words_per_second: words as f64 / start.elapsed().as_secs_f64(),
        }
    }
}

/// One thread: learns from blocks until there are no more.
fn work(
    tasks: &Mutex<Receiver<Task>>,
    vocabulary: &Vocabulary,
    network: &Network,
    settings: &Settings,
    tally: &Tally,
) {
    let isa = Isa::detect();
    let mut worker = Worker::new(network);
    loop {
        let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { block, number, rate }) = task else { return };
        let random = Random::with(settings.seed, number);
        let words = block.iter().filter(|&&id| id != crate::corpus::END).count() as u64;
        let (loss, predictions) = isa.run(Sentences {
            block: &block,
            vocabulary,
            network,
            settings,
            rate,
            random,
            worker: &mut worker,
        });
        tally.add(words, loss, predictions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Directions;
    use couplet_data::Lines;
    use std::io::Cursor;

    /// Sentences about animals and about tools: `the cat eats meat`, `a hammer hits wood`, with words drawn within each.
    fn corpus() -> Corpus {
        let parts: [[&[&str]; 3]; 2] = [
            [&["cat", "dog", "horse"], &["eats", "drinks"], &["meat", "milk", "grass"]],
            [&["hammer", "saw", "drill"], &["hits", "cuts"], &["wood", "steel", "stone"]],
        ];
        let mut random = Random::new(1);
        let mut text = String::new();
        for _ in 0..3000 {
            for words in parts[random.below(2)] {
                text.push_str(words[random.below(words.len())]);
                text.push(' ');
            }
            text.push('\n');
        }
        Corpus::read([Lines::read("text", Cursor::new(text.into_bytes())).unwrap()], &mut |_| ()).unwrap()
    }

    fn learn(settings: &Settings) -> Trained {
        train(&corpus(), settings, &mut |_| (), &AtomicBool::new(false)).unwrap()
    }

    fn small() -> Settings {
        Settings { dimension: 12, sample: 0.0, rate: 0.05, ..Settings::default() }
    }

    #[test]
    fn words_that_are_used_alike_lie_near_each_other() {
        for model in [Model::SkipGram, Model::Cbow] {
            for loss in [Loss::Negative(5), Loss::Hierarchical] {
                for threads in [1, 2] {
                    let vectors = learn(&Settings { model, loss, threads, ..small() }).vectors;
                    let directions = Directions::new(&vectors, vectors.len());
                    let cosine = |a, b| {
                        directions.cosine(vectors.number_of(a).unwrap(), vectors.number_of(b).unwrap())
                    };
                    for (word, alike, other) in
                        [("cat", "dog", "saw"), ("wood", "steel", "milk"), ("eats", "drinks", "cuts")]
                    {
                        assert!(
                            cosine(word, alike) > cosine(word, other) + 0.2,
                            "{model:?}, {loss:?}: {word} {alike} {}, {other} {}",
                            cosine(word, alike),
                            cosine(word, other)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn one_thread_and_one_seed_give_the_same_bits() {
        let settings = Settings { epochs: 1, sample: 1e-2, ..small() };
        let first = learn(&settings).vectors;
        assert_eq!(first, learn(&settings).vectors);
        assert_ne!(first, learn(&Settings { seed: 2, ..settings }).vectors);
    }

    #[test]
    fn parts_of_words_give_unseen_words_a_vector() {
        let subwords = Some(Subwords { min: 2, max: 3, buckets: 1000 });
        let trained = learn(&Settings { subwords, epochs: 2, ..small() });
        let ngrams = trained.ngrams.unwrap();
        let unseen = ngrams.vector("hammers").unwrap();
        let directions = Directions::new(&trained.vectors, trained.vectors.len());
        let nearest = directions.nearest(&unseen, 3, |_| true);
        let names: Vec<&str> = nearest.iter().map(|near| trained.vectors.word(near.number)).collect();
        assert!(names.contains(&"hammer") && !names.contains(&"milk"), "{names:?}");
    }

    #[test]
    fn a_training_that_is_stopped_gives_what_there_is() {
        let stopped = train(&corpus(), &small(), &mut |_| (), &AtomicBool::new(true)).unwrap();
        assert!(!stopped.complete);
        assert_eq!((stopped.words, stopped.vectors.len()), (0, 16));
    }

    #[test]
    fn progress_ends_near_the_end() {
        let (mut last, mut first) = (None, None);
        let trained = train(
            &corpus(),
            &small(),
            &mut |p| {
                first = first.or(Some(*p));
                last = Some(*p);
            },
            &AtomicBool::new(false),
        )
        .unwrap();
        assert!(trained.complete && trained.words == 45_000);
        assert_eq!(last.unwrap().all_words, 45_000);
        assert!(first.unwrap().words <= last.unwrap().words);
    }

    #[test]
    fn the_rate_falls_in_the_last_quarter_or_all_the_time() {
        let rates = |loss| {
            let settings = Settings { rate: 0.5, loss, ..small() };
            [0.0, 0.5, 0.75, 0.875, 1.0].map(|share| settings.rate_after(share))
        };
        assert_eq!(rates(Loss::Negative(5)), [0.5, 0.5, 0.5, 0.25, 0.002]);
        assert_eq!(rates(Loss::Hierarchical), [0.5, 0.25, 0.125, 0.0625, 0.002]);
    }

    #[test]
    fn settings_that_cannot_be_are_named() {
        let cannot = |settings: Settings| settings.check().unwrap_err().to_string();
        assert_eq!(
            cannot(Settings { dimension: 0, ..small() }),
            "--size: a vector needs at least one number"
        );
        assert!(cannot(Settings { rate: f32::NAN, ..small() }).starts_with("--learning-rate"));
        assert!(cannot(Settings { sample: 1.5, ..small() }).starts_with("--sample"));
        let subwords = Some(Subwords { min: 4, max: 3, buckets: 10 });
        assert!(cannot(Settings { subwords, ..small() }).starts_with("--subwords"));
    }
}
