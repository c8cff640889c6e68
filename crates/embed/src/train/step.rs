//! One prediction, and what is learned from it.

use std::collections::HashMap;

use couplet_data::random::Random;
use pulp::{Simd, WithSimd};

use super::{Loss, Model, Settings};
use crate::corpus::END;
use crate::huffman::Huffman;
use crate::kernel::{add_scaled, dot};
use crate::negatives::Negatives;
use crate::shared_rows::{LocalRow, SharedRows};
use crate::vocabulary::Vocabulary;
use crate::{EmbedError, Ngrams, Vectors};

/// The loss is looked at in one prediction of so many: a logarithm takes as long as an inner product.
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
}

enum Targets {
    Negative(Negatives, usize),
    Tree(Huffman),
}

impl Network {
    /// Outputs are zero at first, inputs random between ± 1/(2 · dimension), as in the original.
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
        let mut row = LocalRow::zeros(dimension);
        for number in 0..words + buckets.len() {
            for x in &mut row.numbers_mut()[..dimension] {
                let share = (random.next_u64() >> 40) as f32 / (1 << 24) as f32;
                *x = (share - 0.5) / dimension as f32;
            }
            inputs.store(number, &row);
        }
        let targets = match settings.loss {
            Loss::Negative(count) => Targets::Negative(Negatives::new(&vocabulary.counts), count),
            Loss::Hierarchical => Targets::Tree(Huffman::new(&vocabulary.counts)),
        };
        Network { inputs, outputs: SharedRows::zeros(words, dimension), rows, starts, buckets, targets }
    }

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
        let mut row = LocalRow::zeros(dimension);
        let mut numbers = Vec::with_capacity(words.len() * dimension);
        for word in 0..words.len() {
            let own = self.rows_of(word as u32);
            let from = numbers.len();
            numbers.resize(from + dimension, 0.0);
            for &input in own {
                self.inputs.load(input as usize, &mut row);
                numbers[from..].iter_mut().zip(row.numbers()).for_each(|(sum, x)| *sum += x);
            }
            numbers[from..].iter_mut().for_each(|sum| *sum /= own.len() as f32);
        }
        let ngrams = settings.subwords.map(|subwords| {
            let mut ngrams = Vec::with_capacity(self.buckets.len() * dimension);
            for bucket in 0..self.buckets.len() {
                self.inputs.load(words.len() + bucket, &mut row);
                ngrams.extend_from_slice(&row.numbers()[..dimension]);
            }
            Ngrams::new(subwords, dimension, &self.buckets, ngrams)
        });
        Ok((Vectors::new(words, &numbers)?, ngrams))
    }
}

/// What one thread needs again and again.
pub(super) struct Worker {
    sentence: Vec<u32>,
    inputs: Vec<u32>,
    targets: Vec<Target>,
    hidden: LocalRow,
    gradient: LocalRow,
    row: LocalRow,
    predictions: u64,
    loss: f64,
}

/// A row of the outputs, and whether the prediction should be yes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Target {
    row: u32,
    yes: bool,
}

impl Worker {
    pub(super) fn new(dimension: usize) -> Worker {
        let row = LocalRow::zeros(dimension);
        Worker {
            sentence: Vec::new(),
            inputs: Vec::new(),
            targets: Vec::new(),
            hidden: row.clone(),
            gradient: row.clone(),
            row,
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

impl WithSimd for Sentences<'_> {
    type Output = (f64, u64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, u64) {
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
                let around = sentence[from..middle].iter().chain(&sentence[middle + 1..to]);
                match settings.model {
                    Model::SkipGram => {
                        for &near in around {
                            network.find_targets(word, &mut random, &mut worker.targets);
                            worker.inputs.clear();
                            worker.inputs.extend_from_slice(network.rows_of(near));
                            network.learn(simd, worker, rate);
                        }
                    }
                    Model::Cbow => {
                        worker.inputs.clear();
                        around.for_each(|&near| worker.inputs.extend_from_slice(network.rows_of(near)));
                        if !worker.inputs.is_empty() {
                            network.find_targets(word, &mut random, &mut worker.targets);
                            network.learn(simd, worker, rate);
                        }
                    }
                }
            }
        }
        worker.sentence = sentence;
        (worker.loss, worker.predictions.div_ceil(LOSS_EVERY))
    }
}

impl Network {
    /// Predicts a word from the mean of some inputs, and changes all that took part.
    #[inline(always)]
    fn learn<S: Simd>(&self, simd: S, worker: &mut Worker, rate: f32) {
        let Worker { inputs, targets, hidden, gradient, row, predictions, loss, .. } = worker;
        self.read_mean(simd, inputs, hidden, row);
        let looks = *predictions % LOSS_EVERY == 0;
        *predictions += 1;
        gradient.numbers_mut().fill(0.0);
        for &Target { row: target, yes } in &*targets {
            self.outputs.load(target as usize, row);
            let score = dot(simd, hidden.numbers(), row.numbers());
            let chance = sigmoid(score);
            if looks {
                *loss += f64::from(-(if yes { chance } else { 1.0 - chance }).max(f32::MIN_POSITIVE).ln());
            }
            let step = (f32::from(yes) - chance) * rate;
            add_scaled(simd, step, row.numbers(), gradient.numbers_mut());
            add_scaled(simd, step, hidden.numbers(), row.numbers_mut());
            self.outputs.store(target as usize, row);
        }
        for &input in &*inputs {
            self.inputs.load(input as usize, row);
            add_scaled(simd, 1.0, gradient.numbers(), row.numbers_mut());
            self.inputs.store(input as usize, row);
        }
    }

    /// The questions that a prediction of a word has to answer.
    #[inline(always)]
    fn find_targets(&self, word: u32, random: &mut Random, targets: &mut Vec<Target>) {
        targets.clear();
        match &self.targets {
            Targets::Tree(tree) => {
                let path = tree.path(word as usize).iter();
                targets.extend(path.map(|step| Target { row: step.node, yes: !step.second }));
            }
            Targets::Negative(negatives, count) => {
                targets.push(Target { row: word, yes: true });
                self.outputs.touch(word as usize);
                for _ in 0..*count {
                    let drawn = negatives.draw(random) as u32;
                    if drawn != word {
                        self.outputs.touch(drawn as usize);
                        targets.push(Target { row: drawn, yes: false });
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn read_mean<S: Simd>(&self, simd: S, inputs: &[u32], mean: &mut LocalRow, row: &mut LocalRow) {
        if let [input] = inputs {
            self.inputs.load(*input as usize, mean);
            return;
        }
        mean.numbers_mut().fill(0.0);
        let share = 1.0 / inputs.len() as f32;
        for &input in inputs {
            self.inputs.load(input as usize, row);
            add_scaled(simd, share, row.numbers(), mean.numbers_mut());
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Corpus, Settings};
    use couplet_data::Lines;
    use pulp::Arch;
    use std::io::Cursor;

    const RATE: f32 = 0.1;

    struct Learn<'a>(&'a Network, &'a mut Worker);

    impl WithSimd for Learn<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            self.0.learn(simd, self.1, RATE);
        }
    }

    /// A network of the words a, b, c and d, which occur 5, 2, 1 and 1 times.
    fn network(dimension: usize, loss: Loss) -> Network {
        let lines = Lines::read("text", Cursor::new(b"a a a a a b b c d".to_vec())).unwrap();
        let corpus = Corpus::read([lines], &mut |_| ()).unwrap();
        let settings = Settings { dimension, loss, ..Settings::default() };
        Network::new(&Vocabulary::new(&corpus, 1, 0.0).unwrap(), &settings)
    }

    fn set(rows: &SharedRows, number: usize, numbers: &[f32]) {
        let mut row = LocalRow::zeros(numbers.len());
        row.numbers_mut()[..numbers.len()].copy_from_slice(numbers);
        rows.store(number, &row);
    }

    fn get(rows: &SharedRows, number: usize, dimension: usize) -> Vec<f32> {
        let mut row = LocalRow::zeros(dimension);
        rows.load(number, &mut row);
        row.numbers()[..dimension].to_vec()
    }

    fn close(found: &[f32], expected: &[f32]) {
        assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{found:?}, not {expected:?}");
    }

    const TARGETS: [Target; 2] = [Target { row: 1, yes: true }, Target { row: 2, yes: false }];

    /// The input is (0.5, −0.5). Its product with the word's (1, 0) is 0.5, and σ(0.5) = 0.622459 should be 1: a step of 0.1 · 0.377541. With
    /// the drawn word's (0, 2) it is −1, and σ(−1) = 0.268941 should be 0: a step of −0.1 · 0.268941. The input moves by
    /// 0.0377541 · (1, 0) − 0.0268941 · (0, 2), the word by 0.0377541 · (0.5, −0.5), the drawn word by −0.0268941 · (0.5, −0.5).
    #[test]
    fn a_step_of_skip_gram_by_hand() {
        let network = network(2, Loss::Negative(1));
        set(&network.inputs, 0, &[0.5, -0.5]);
        set(&network.outputs, 1, &[1.0, 0.0]);
        set(&network.outputs, 2, &[0.0, 2.0]);
        let mut worker = Worker::new(2);
        worker.inputs = vec![0];
        worker.targets = TARGETS.to_vec();
        Arch::new().dispatch(Learn(&network, &mut worker));
        close(&get(&network.inputs, 0, 2), &[0.537_754_1, -0.553_788_3]);
        close(&get(&network.outputs, 1, 2), &[1.018_877, -0.018_877]);
        close(&get(&network.outputs, 2, 2), &[-0.013_447_1, 2.013_447_1]);
        // −ln 0.622459 − ln (1 − 0.268941)
        assert!((worker.loss - 0.787_338_6).abs() < 1e-6, "{}", worker.loss);
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
        let mut worker = Worker::new(2);
        worker.inputs = vec![0, 3];
        worker.targets = TARGETS.to_vec();
        Arch::new().dispatch(Learn(&network, &mut worker));
        close(&get(&network.inputs, 0, 2), &[1.037_754_1, -0.053_788_3]);
        close(&get(&network.inputs, 3, 2), &[0.037_754_1, -1.053_788_3]);
        close(&get(&network.outputs, 2, 2), &[-0.013_447_1, 2.013_447_1]);
    }

    /// −Σ ln σ(± h·o), in double precision.
    fn loss(hidden: &[f64], outputs: &[Vec<f64>], targets: &[Target]) -> f64 {
        let of = |target: &Target| {
            let score: f64 = hidden.iter().zip(&outputs[target.row as usize]).map(|(h, o)| h * o).sum();
            (1.0 + (if target.yes { -score } else { score }).exp()).ln()
        };
        targets.iter().map(of).sum()
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
            set(&network.inputs, 1, &numbers());
            let wide = |row: Vec<f32>| -> Vec<f64> { row.into_iter().map(f64::from).collect() };
            let hidden = wide(get(&network.inputs, 1, dimension));
            let outputs: Vec<Vec<f64>> =
                (0..4).map(|row| wide(get(&network.outputs, row, dimension))).collect();
            let mut worker = Worker::new(dimension);
            worker.inputs = vec![1];
            network.find_targets(2, &mut Random::new(8), &mut worker.targets);
            // A row that is there twice is changed in between, which the slope knows nothing of.
            worker.targets.sort_by_key(|target| target.row);
            worker.targets.dedup_by_key(|target| target.row);
            let targets = worker.targets.clone();
            Arch::new().dispatch(Learn(&network, &mut worker));
            let slope = |at: &dyn Fn(f64) -> f64| (at(1e-5) - at(-1e-5)) / 2e-5;
            let check = |before: f64, after: f32, slope: f64| {
                let moved = f64::from(after) - before;
                assert!((moved + f64::from(RATE) * slope).abs() < 1e-6, "{kind:?}: {moved}, slope {slope}");
            };
            let after = get(&network.inputs, 1, dimension);
            for i in 0..dimension {
                let moved = |by: f64| {
                    let mut hidden = hidden.clone();
                    hidden[i] += by;
                    loss(&hidden, &outputs, &targets)
                };
                check(hidden[i], after[i], slope(&moved));
            }
            for target in &targets {
                let row = target.row as usize;
                let after = get(&network.outputs, row, dimension);
                for i in 0..dimension {
                    let moved = |by: f64| {
                        let mut outputs = outputs.clone();
                        outputs[row][i] += by;
                        loss(&hidden, &outputs, &targets)
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
        let mut targets = Vec::new();
        let chances = (0..4).map(|word| {
            network.find_targets(word, &mut Random::new(1), &mut targets);
            (-loss(&[0.4, -0.8, 1.1], &outputs, &targets)).exp()
        });
        assert!((chances.sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn drawn_words_are_others() {
        let network = network(3, Loss::Negative(50));
        let mut targets = Vec::new();
        network.find_targets(0, &mut Random::new(1), &mut targets);
        assert_eq!(targets[0], Target { row: 0, yes: true });
        assert!(targets.len() > 10 && targets[1..].iter().all(|target| !target.yes && target.row != 0));
    }
}
