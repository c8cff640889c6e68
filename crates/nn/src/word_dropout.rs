//! What a model reads while it learns, made worse on purpose: tokens that are hidden from it (word dropout), and tokens that it wrote
//! itself (scheduled sampling, Bengio et al., 2015; here with all guesses from one pass, Mihaylova and Martins, 2019).
//!
//! Which tokens these are is a function of the seed, the update, the sequence's own number and the step, as dropout's masks are.

use crate::forward::ForwardPass;
use crate::tokens::{Batch, NextTokens, PackedTokens};

/// The paths that random numbers are drawn for.
const SOURCE_WORDS: &str = "encoder.word_dropout";
const TARGET_WORDS: &str = "decoder.word_dropout";
const GUESSES: &str = "decoder.scheduled_sampling";

impl PackedTokens {
    /// Makes a share of the tokens `unknown`, while training.
    pub fn drop_words(&mut self, fwd: &ForwardPass, share: f32, unknown: u32) {
        self.replace(fwd, share, SOURCE_WORDS, 0, |_| unknown);
    }

    /// Replaces a share of the tokens from a step on; `by` gets the number of the row.
    fn replace(&mut self, fwd: &ForwardPass, share: f32, path: &str, from: usize, by: impl Fn(usize) -> u32) {
        if share == 0.0 {
            return;
        }
        let Some(draws) = fwd.draws(&self.layout, path) else { return };
        for (row, (_, step)) in self.layout.places().enumerate() {
            if step >= from && draws[row] < share {
                self.tokens[row] = by(row);
            }
        }
    }
}

impl Batch {
    /// Makes a share of the tokens that are read `unknown`, of sources and of targets, while training. The token that begins a
    /// target stays.
    pub fn drop_words(&mut self, fwd: &ForwardPass, [sources, targets]: [f32; 2], unknown: u32) {
        self.source.drop_words(fwd, sources, unknown);
        self.input.replace(fwd, targets, TARGET_WORDS, 1, |_| unknown);
    }

    /// Makes a share of the tokens that the decoder reads those that it would have written in their place, given as its guess in
    /// each row, while training.
    pub fn mix_predictions(&mut self, fwd: &ForwardPass, share: f32, guesses: &[u32]) {
        let rows = std::sync::Arc::clone(&self.input.layout);
        let before = |row: usize| {
            let (place, step) = rows.locate(row);
            guesses[rows.row(place, step - 1)]
        };
        self.input.replace(fwd, share, GUESSES, 1, before);
    }
}

impl NextTokens {
    /// Makes a share of the tokens that are read `unknown`, while training. The first of each text stays.
    pub fn drop_words(&mut self, fwd: &ForwardPass, share: f32, unknown: u32) {
        self.input.replace(fwd, share, SOURCE_WORDS, 1, |_| unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::Training;
    use couplet_tensor::{Device, Params, Tape};

    /// Sequences of 300 and 200 tokens, with the numbers 7 and 9.
    fn batch(pairs: &[usize]) -> Batch {
        let (source, target) = (vec![5; 300], vec![6; 200]);
        let pairs: Vec<(&[u32], &[u32])> =
            pairs.iter().map(|&length| (&source[..length], &target[..length.min(200)])).collect();
        Batch::new(&pairs, &[7, 9][..pairs.len()], 2, 3)
    }

    fn with(update: u32, act: impl FnOnce(&ForwardPass)) {
        let (params, tape) = (Params::new(&Device::cpu(), 1), Tape::new());
        act(&ForwardPass::training(&params, Training { tape: &tape, seed: 1, update }));
    }

    fn count(tokens: &[u32], token: u32) -> usize {
        tokens.iter().filter(|&&other| other == token).count()
    }

    /// A quarter of 300 is 75, a half of 200 is 100; five standard deviations are 37 and 35.
    #[test]
    fn a_share_of_the_words_is_hidden() {
        with(3, |fwd| {
            let mut some = batch(&[300]);
            some.drop_words(fwd, [0.25, 0.5], 1);
            assert!((38..=112).contains(&count(&some.source.tokens, 1)), "{:?}", some.source.tokens);
            assert!((65..=135).contains(&count(&some.input.tokens, 1)), "{:?}", some.input.tokens);
            assert_eq!(some.input.tokens[0], 2, "the start stays");
            assert_eq!(count(&some.output, 6), 200, "what is to be written stays");
        });
    }

    /// The same words of a sequence are hidden in whatever batch it is; others in another update, none without training.
    #[test]
    fn the_sequence_and_the_update_decide() {
        let hidden = |update: u32, lengths: &[usize]| {
            let mut some = batch(lengths);
            with(update, |fwd| some.drop_words(fwd, [0.5, 0.0], 1));
            let rows = &some.source.layout;
            let of_first = rows.places().enumerate().filter(|(_, (place, _))| rows.examples()[*place] == 7);
            of_first.map(|(row, _)| some.source.tokens[row]).collect::<Vec<_>>()
        };
        assert_eq!(hidden(3, &[40]), hidden(3, &[40, 300]));
        assert_ne!(hidden(3, &[40]), hidden(4, &[40]));
        let mut some = batch(&[40]);
        some.drop_words(&ForwardPass::inference(&Params::new(&Device::cpu(), 1)), [0.5, 0.5], 1);
        assert_eq!((count(&some.source.tokens, 1), count(&some.input.tokens, 1)), (0, 0));
    }

    /// Of the same sequence, each path draws its own numbers.
    #[test]
    fn each_path_has_its_own_draws() {
        with(1, |fwd| {
            let rows = couplet_tensor::SequenceLayout::new(&[8]);
            let [source, target, guesses] =
                [SOURCE_WORDS, TARGET_WORDS, GUESSES].map(|path| fwd.draws(&rows, path).expect("it trains"));
            assert!(source != target && target != guesses && source != guesses);
        });
    }

    /// With a share of all: only the first token is read as it is, and every one is predicted.
    #[test]
    fn a_language_model_reads_the_first_token() {
        let mut some = NextTokens::new(&[&[2, 6, 7, 3], &[2, 8, 3]], &[0, 1]);
        let output = some.output.clone();
        with(1, |fwd| some.drop_words(fwd, 1.0, 1));
        assert_eq!(some.input.tokens, [2, 2, 1, 1, 1]);
        assert_eq!(some.output, output);
    }

    /// The guess in the row of a step is read in the next one: with guesses 10, 11, 12, … row by row, and all of them read.
    #[test]
    fn a_guess_is_read_one_step_later() {
        let mut some = Batch::new(&[(&[5], &[6, 6]), (&[5], &[6])], &[0, 1], 2, 3);
        // rows: a0 b0 a1 b1 a2
        with(1, |fwd| some.mix_predictions(fwd, 1.0, &[10, 11, 12, 13, 14]));
        assert_eq!(some.input.tokens, [2, 2, 10, 11, 12]);
    }
}
