//! One prediction, and what is learned from it.

use std::collections::HashMap;

use couplet_data::random::Random;
use couplet_tensor::SharedRows;
use couplet_tensor::lane::{Kernel, LANES, Portable, Vector};

use super::near_root::{Copies, NearRoot};
use super::{Loss, Model, Settings};
use crate::corpus::END;
use crate::huffman::Huffman;
use crate::negatives::Negatives;
use crate::vocabulary::Vocabulary;
use crate::{EmbedError, Ngrams, Vectors};

/// The loss is looked at in one prediction of so many: logarithms take as long as all inner products.
const LOSS_EVERY: u64 = 16;

/// Random numbers for the first vectors have a purpose that no block's number is.
const FIRST_VECTORS: u64 = u64::MAX;

/// All that is learned. Words that are read and words (or nodes of the tree) that are predicted have vectors of their own.
pub(super) struct Network {
    inputs: SharedRows,
    outputs: SharedRows,
    /// The rows of `inputs` that make up each word: its own, then those of its parts.
    rows: Vec<u32>,
    starts: Vec<usize>,
    /// The buckets of the rows behind those of the words.
    buckets: Vec<u32>,
    targets: Targets,
    /// Of the nodes of the tree.
    near_root: NearRoot,
}

enum Targets {
    Negative(Negatives, usize),
    Tree(Huffman),
}

impl Network {
    /// Outputs are zero at first, inputs random between ± 1/dimension, as in fastText and gensim.
    pub(super) fn new(vocabulary: &Vocabulary, settings: &Settings) -> Network {
        let (words, dimension) = (vocabulary.words.len(), settings.dimension);
        let (mut rows, mut starts, mut buckets) = (Vec::new(), vec![0], Vec::new());
        let mut row_of = HashMap::new();
        for (number, word) in vocabulary.words.iter().enumerate() {
            rows.push(number as u32);
            for bucket in settings.subwords.iter().flat_map(|subwords| subwords.buckets_of(word)) {
                let row = *row_of.entry(bucket).or_insert_with(|| {
                    buckets.push(bucket);
                    (words + buckets.len() - 1) as u32
                });
                rows.push(row);
            }
            starts.push(rows.len());
        }
        let inputs = SharedRows::zeros(words + buckets.len(), dimension);
        let mut random = Random::with(settings.seed, FIRST_VECTORS);
        let mut row = vec![0.0; inputs.width()];
        for number in 0..words + buckets.len() {
            for x in &mut row[..dimension] {
                let share = (random.next_u64() >> 40) as f32 / (1 << 24) as f32;
                *x = (2.0 * share - 1.0) / dimension as f32;
            }
            write(&inputs, number as u32, &row);
        }
        let targets = match settings.loss {
            Loss::Negative(count) => Targets::Negative(Negatives::new(&vocabulary.counts), count),
            Loss::Hierarchical => Targets::Tree(Huffman::new(&vocabulary.counts)),
        };
        let nodes = if let Targets::Tree(_) = targets { words.saturating_sub(1) } else { 0 };
        let near_root = NearRoot::new(nodes, settings.threads);
        let outputs = SharedRows::zeros(words, dimension);
        Network { inputs, outputs, rows, starts, buckets, targets, near_root }
    }

    #[inline(always)]
    fn rows_of(&self, word: u32) -> &[u32] {
        &self.rows[self.starts[word as usize]..self.starts[word as usize + 1]]
    }

    /// The vector of a word is the mean of its rows.
    pub(super) fn into_vectors(
        self,
        words: Vec<String>,
        settings: &Settings,
    ) -> Result<(Vectors, Option<Ngrams>), EmbedError> {
        let dimension = settings.dimension;
        let mut row = vec![0.0; self.inputs.width()];
        let mut numbers = Vec::with_capacity(words.len() * dimension);
        for word in 0..words.len() {
            let own = self.rows_of(word as u32);
            let from = numbers.len();
            numbers.resize(from + dimension, 0.0);
            for &input in own {
                read(&self.inputs, input, &mut row);
                numbers[from..].iter_mut().zip(&row).for_each(|(sum, x)| *sum += x);
            }
            numbers[from..].iter_mut().for_each(|sum| *sum /= own.len() as f32);
        }
        let ngrams = settings.subwords.map(|subwords| {
            let mut ngrams = Vec::with_capacity(self.buckets.len() * dimension);
            for bucket in 0..self.buckets.len() {
                read(&self.inputs, (words.len() + bucket) as u32, &mut row);
                ngrams.extend_from_slice(&row[..dimension]);
            }
            Ngrams::new(subwords, dimension, &self.buckets, ngrams)
        });
        Ok((Vectors::new(words, &numbers)?, ngrams))
    }
}

/// Reads a row where nothing depends on the time it takes.
fn read(rows: &SharedRows, row: u32, to: &mut [f32]) {
    rows.read::<Portable>(row, to);
}

/// Writes a row where nothing depends on the time it takes.
fn write(rows: &SharedRows, row: u32, from: &[f32]) {
    rows.write::<Portable>(row, from);
}

/// Rows of the inputs, whose mean should predict the answers to questions, each of which is a row of the outputs.
#[derive(Clone, Debug, Default)]
struct Prediction {
    inputs: Vec<u32>,
    questions: Vec<u32>,
    /// 1 for yes and 0 for no, and behind the last zeros to fill a vector.
    answers: Vec<f32>,
    /// How many of the questions, from the first on, are rows of the thread's copies.
    of_copies: usize,
}

/// What one thread needs again and again.
pub(super) struct Worker {
    sentence: Vec<u32>,
    /// What is learned from next, and what after that: meanwhile its rows come from the memory.
    now: Prediction,
    next: Prediction,
    copies: Copies,
    hidden: Vec<f32>,
    gradient: Vec<f32>,
    predictions: u64,
    loss: f64,
}

impl Worker {
    pub(super) fn new(network: &Network) -> Worker {
        let row = vec![0.0; network.inputs.width()];
        Worker {
            sentence: Vec::new(),
            now: Prediction::default(),
            next: Prediction::default(),
            copies: Copies::new(network.near_root, network.outputs.width()),
            hidden: row.clone(),
            gradient: row,
            predictions: 0,
            loss: 0.0,
        }
    }
}

/// Some sentences to learn from. The result is the sum of the losses that were looked at, and how many these are.
pub(super) struct Sentences<'a> {
    pub(super) block: &'a [u32],
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) network: &'a Network,
    pub(super) settings: &'a Settings,
    pub(super) rate: f32,
    pub(super) random: Random,
    pub(super) worker: &'a mut Worker,
}

impl Kernel for Sentences<'_> {
    type Output = (f64, u64);

    #[inline(always)]
    fn run<V: Vector>(self) -> (f64, u64) {
        let Sentences { block, vocabulary, network, settings, rate, mut random, worker } = self;
        (worker.loss, worker.predictions) = (0.0, 0);
        let mut sentence = std::mem::take(&mut worker.sentence);
        for ids in block.split(|&id| id == END) {
            sentence.clear();
            sentence.extend(
                ids.iter()
                    .filter_map(|&id| vocabulary.of_corpus[id as usize])
                    .filter(|&word| vocabulary.keeps(word, random.next_u64())),
            );
            for (middle, &word) in sentence.iter().enumerate() {
                let reach = 1 + random.below(settings.window);
                let (from, to) = (middle.saturating_sub(reach), (middle + reach + 1).min(sentence.len()));
                let (before, after) = (&sentence[from..middle], &sentence[middle + 1..to]);
                match settings.model {
                    Model::SkipGram => {
                        for near in before.iter().chain(after) {
                            network.prepare::<V>([near], word, &mut random, &mut worker.next);
                            network.learn::<V>(worker, rate);
                        }
                    }
                    Model::Cbow if before.is_empty() && after.is_empty() => (),
                    Model::Cbow => {
                        network.prepare::<V>(before.iter().chain(after), word, &mut random, &mut worker.next);
                        network.learn::<V>(worker, rate);
                    }
                }
            }
        }
        // The last one is still to be learned from.
        network.learn::<V>(worker, rate);
        worker.copies.share::<V>(&network.outputs);
        worker.sentence = sentence;
        (worker.loss, worker.predictions.div_ceil(LOSS_EVERY))
    }
}

impl Network {
    /// Learns from the prediction that was prepared before the last one, which takes its place.
    #[inline(always)]
    fn learn<V: Vector>(&self, worker: &mut Worker, rate: f32) {
        let Worker { now, next, copies, hidden, gradient, predictions, loss, .. } = worker;
        if !now.questions.is_empty() {
            let looks = *predictions % LOSS_EVERY == 0;
            *predictions += 1;
            self.read_mean::<V>(&now.inputs, hidden);
            gradient.fill(0.0);
            let (of_copies, of_all) = now.questions.split_at(now.of_copies);
            let asked = [(&copies.rows, of_copies, 0), (&self.outputs, of_all, now.of_copies)];
            for (rows, questions, from) in asked {
                for (questions, at) in questions.chunks(LANES).zip((from..).step_by(LANES)) {
                    let answers = V::load(&now.answers[at..]);
                    let chances = rows.products::<V>(questions, hidden).sigmoid();
                    if looks {
                        *loss += losses(&chances.array()[..questions.len()], answers.array());
                    }
                    let steps = (answers - chances) * V::lit(rate);
                    rows.step::<V>(questions, steps, hidden, gradient);
                }
            }
            for &input in &now.inputs {
                self.inputs.add::<V>(input, gradient);
            }
            copies.count::<V>(&self.outputs);
        }
        std::mem::swap(now, next);
        next.questions.clear();
    }

    /// What a word is to be predicted from, and the questions that this has to answer.
    #[inline(always)]
    fn prepare<'a, V: Vector>(
        &self,
        around: impl IntoIterator<Item = &'a u32>,
        word: u32,
        random: &mut Random,
        prediction: &mut Prediction,
    ) {
        let Prediction { inputs, questions, answers, of_copies } = prediction;
        inputs.clear();
        for &near in around {
            inputs.extend_from_slice(self.rows_of(near));
        }
        questions.clear();
        answers.clear();
        *of_copies = 0;
        match &self.targets {
            Targets::Tree(tree) => {
                // From the root on, the numbers of a path's nodes fall.
                for step in tree.path(word as usize) {
                    let near_root = step.node.checked_sub(self.near_root.first);
                    *of_copies += usize::from(near_root.is_some());
                    questions.push(near_root.unwrap_or(step.node));
                    answers.push(f32::from(!step.second));
                }
            }
            Targets::Negative(negatives, count) => {
                questions.push(word);
                answers.push(1.0);
                for _ in 0..*count {
                    let drawn = negatives.draw(random) as u32;
                    if drawn != word {
                        questions.push(drawn);
                    }
                }
            }
        }
        answers.resize(questions.len() + LANES, 0.0);
        for &row in &*inputs {
            self.inputs.fetch::<V>(row);
        }
        for &row in &questions[*of_copies..] {
            self.outputs.fetch::<V>(row);
        }
    }

    #[inline(always)]
    fn read_mean<V: Vector>(&self, inputs: &[u32], mean: &mut [f32]) {
        let [first, others @ ..] = inputs else { return };
        self.inputs.read::<V>(*first, mean);
        for &input in others {
            self.inputs.add_to::<V>(input, mean);
        }
        if !others.is_empty() {
            let share = 1.0 / inputs.len() as f32;
            mean.iter_mut().for_each(|sum| *sum *= share);
        }
    }
}

/// −ln of the chances that were given to the right answers, added up.
fn losses(chances: &[f32], answers: [f32; LANES]) -> f64 {
    let right =
        chances.iter().zip(answers).map(|(chance, yes)| if yes == 1.0 { *chance } else { 1.0 - chance });
    right.map(|chance| -f64::from(chance.max(f32::MIN_POSITIVE).ln())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Corpus, Settings};
    use couplet_data::Lines;
    use couplet_tensor::Isa;
    use std::collections::HashSet;
    use std::io::Cursor;

    const RATE: f32 = 0.1;

    struct Learn<'a>(&'a Network, &'a mut Worker);

    impl Kernel for Learn<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            self.0.learn::<V>(self.1, RATE);
        }
    }

    /// Learns from one prediction, and says with which loss.
    fn learn(network: &Network, prediction: Prediction) -> f64 {
        let mut worker = Worker::new(network);
        worker.now = prediction;
        Isa::detect().run(Learn(network, &mut worker));
        worker.loss
    }

    /// A network of the words a, b, c and d, which occur 5, 2, 1 and 1 times.
    fn network(dimension: usize, loss: Loss) -> Network {
        let lines = Lines::read("text", Cursor::new(b"a a a a a b b c d".to_vec())).unwrap();
        let corpus = Corpus::read([lines], &mut |_| ()).unwrap();
        let settings = Settings { dimension, loss, threads: 1, ..Settings::default() };
        Network::new(&Vocabulary::new(&corpus, 1, 0.0).unwrap(), &settings)
    }

    /// How a word is predicted from the first one.
    fn prediction(network: &Network, word: u32, seed: u64) -> Prediction {
        let mut prediction = Prediction::default();
        network.prepare::<Portable>([&0], word, &mut Random::new(seed), &mut prediction);
        prediction
    }

    fn set(rows: &SharedRows, number: u32, numbers: &[f32]) {
        let mut row = vec![0.0; rows.width()];
        row[..numbers.len()].copy_from_slice(numbers);
        write(rows, number, &row);
    }

    fn get(rows: &SharedRows, number: u32, dimension: usize) -> Vec<f32> {
        let mut row = vec![0.0; rows.width()];
        read(rows, number, &mut row);
        row.truncate(dimension);
        row
    }

    fn close(found: &[f32], expected: &[f32]) {
        assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{found:?}, not {expected:?}");
    }

    /// Word 1 is meant, and word 2 was drawn.
    fn by_hand(inputs: &[u32]) -> Prediction {
        Prediction {
            inputs: inputs.to_vec(),
            questions: vec![1, 2],
            answers: vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            of_copies: 0,
        }
    }

    /// The input is (0.5, −0.5). Its product with the word's (1, 0) is 0.5, and σ(0.5) = 0.622459 should be 1: a step of 0.1 · 0.377541. With
    /// the drawn word's (0, 2) it is −1, and σ(−1) = 0.268941 should be 0: a step of −0.1 · 0.268941. The input moves by
    /// 0.0377541 · (1, 0) − 0.0268941 · (0, 2), the word by 0.0377541 · (0.5, −0.5), the drawn word by −0.0268941 · (0.5, −0.5).
    #[test]
    fn a_step_of_skip_gram_by_hand() {
        let network = network(2, Loss::Negative(1));
        set(&network.inputs, 0, &[0.5, -0.5]);
        set(&network.outputs, 1, &[1.0, 0.0]);
        set(&network.outputs, 2, &[0.0, 2.0]);
        let loss = learn(&network, by_hand(&[0]));
        close(&get(&network.inputs, 0, 2), &[0.537_754_1, -0.553_788_3]);
        close(&get(&network.outputs, 1, 2), &[1.018_877, -0.018_877]);
        close(&get(&network.outputs, 2, 2), &[-0.013_447_1, 2.013_447_1]);
        // −ln 0.622459 − ln (1 − 0.268941)
        assert!((loss - 0.787_338_6).abs() < 1e-6, "{loss}");
    }

    /// (1, 0) and (0, −1) have the mean of the test above, and each of them moves as its input does: the original does not
    /// divide by their number here.
    #[test]
    fn a_step_of_cbow_by_hand() {
        let network = network(2, Loss::Negative(1));
        set(&network.inputs, 0, &[1.0, 0.0]);
        set(&network.inputs, 3, &[0.0, -1.0]);
        set(&network.outputs, 1, &[1.0, 0.0]);
        set(&network.outputs, 2, &[0.0, 2.0]);
        learn(&network, by_hand(&[0, 3]));
        close(&get(&network.inputs, 0, 2), &[1.037_754_1, -0.053_788_3]);
        close(&get(&network.inputs, 3, 2), &[0.037_754_1, -1.053_788_3]);
        close(&get(&network.outputs, 2, 2), &[-0.013_447_1, 2.013_447_1]);
    }

    /// −Σ ln σ(± h·o), in double precision.
    fn loss(hidden: &[f64], outputs: &[Vec<f64>], prediction: &Prediction) -> f64 {
        let of = |(&row, &yes): (&u32, &f32)| {
            let score: f64 = hidden.iter().zip(&outputs[row as usize]).map(|(h, o)| h * o).sum();
            (1.0 + (if yes == 1.0 { -score } else { score }).exp()).ln()
        };
        prediction.questions.iter().zip(&prediction.answers).map(of).sum()
    }

    /// What rows move by is the rate times the slope of the loss, downwards, for both kinds of targets.
    #[test]
    fn steps_follow_finite_differences() {
        let dimension = 11;
        for kind in [Loss::Negative(3), Loss::Hierarchical] {
            let network = network(dimension, kind);
            let mut random = Random::new(3);
            let mut numbers = || -> Vec<f32> {
                (0..dimension).map(|_| (random.next_u64() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
            };
            (0..4).for_each(|row| set(&network.outputs, row, &numbers()));
            set(&network.inputs, 0, &numbers());
            let wide = |row: Vec<f32>| -> Vec<f64> { row.into_iter().map(f64::from).collect() };
            let hidden = wide(get(&network.inputs, 0, dimension));
            let outputs: Vec<Vec<f64>> =
                (0..4).map(|row| wide(get(&network.outputs, row, dimension))).collect();
            let mut prediction = prediction(&network, 2, 8);
            // A row that is drawn twice is changed in between, which the slope knows nothing of. Those drawn come last.
            let mut seen = HashSet::new();
            prediction.questions.retain(|&row| seen.insert(row));
            learn(&network, prediction.clone());
            let slope = |at: &dyn Fn(f64) -> f64| (at(1e-5) - at(-1e-5)) / 2e-5;
            let check = |before: f64, after: f32, slope: f64| {
                let moved = f64::from(after) - before;
                assert!((moved + f64::from(RATE) * slope).abs() < 1e-6, "{kind:?}: {moved}, slope {slope}");
            };
            let after = get(&network.inputs, 0, dimension);
            for i in 0..dimension {
                let moved = |by: f64| {
                    let mut hidden = hidden.clone();
                    hidden[i] += by;
                    loss(&hidden, &outputs, &prediction)
                };
                check(hidden[i], after[i], slope(&moved));
            }
            for &row in &prediction.questions {
                let after = get(&network.outputs, row, dimension);
                let row = row as usize;
                for i in 0..dimension {
                    let moved = |by: f64| {
                        let mut outputs = outputs.clone();
                        outputs[row][i] += by;
                        loss(&hidden, &outputs, &prediction)
                    };
                    check(outputs[row][i], after[i], slope(&moved));
                }
            }
        }
    }

    /// At each node both turns together have the chance 1, so all words together have it too.
    #[test]
    fn the_chances_of_all_words_add_up_to_one() {
        let network = network(3, Loss::Hierarchical);
        let outputs = [[0.3, -1.0, 2.0], [1.5, 0.2, -0.7], [0.1, 0.1, 0.9], [0.0; 3]].map(|row| row.to_vec());
        let chances =
            (0..4).map(|word| (-loss(&[0.4, -0.8, 1.1], &outputs, &prediction(&network, word, 1))).exp());
        assert!((chances.sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn drawn_words_are_others() {
        let Prediction { questions, answers, .. } = prediction(&network(3, Loss::Negative(50)), 0, 1);
        assert_eq!((questions[0], answers[0]), (0, 1.0));
        assert!(questions.len() > 10 && questions[1..].iter().all(|&row| row != 0));
        assert!(answers.len() >= questions.len() && answers[1..].iter().all(|&yes| yes == 0.0));
    }
}
