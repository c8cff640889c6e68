//! Token sequences, packed for a model.

use couplet_tensor::SequenceLayout;
use couplet_tensor::ops::CopySource;
use std::sync::Arc;

/// Sequences of tokens, packed: row by row as [`SequenceLayout`] orders them.
#[derive(Clone, Debug)]
pub struct PackedTokens {
    /// The tokens of all rows.
    pub tokens: Vec<u32>,
    /// Layout of the sequences.
    pub layout: Arc<SequenceLayout>,
}

impl PackedTokens {
    /// Packs sequences; each has a number that stays the same in every batch.
    pub fn new(sequences: &[&[u32]], examples: &[u32]) -> PackedTokens {
        let lengths: Vec<usize> = sequences.iter().map(|tokens| tokens.len()).collect();
        let layout = SequenceLayout::with_examples(&lengths, examples);
        let token =
            |(sequence, step): (usize, usize)| sequences[layout.sorted_indices()[sequence] as usize][step];
        PackedTokens { tokens: layout.places().map(token).collect(), layout: Arc::new(layout) }
    }
}

/// Sources and targets of a training batch.
#[derive(Clone, Debug)]
pub struct Batch {
    /// What the encoder reads.
    pub source: PackedTokens,
    /// What the decoder reads: the start token, then the target.
    pub input: PackedTokens,
    /// What it should write, row by row: the target, then the end token.
    pub output: Vec<u32>,
    /// For each place of the target's order, the place of its source.
    pub source_of: Arc<[u32]>,
    /// What each row of the target can copy, for a model that does.
    pub copied: Option<CopySource>,
}

impl Batch {
    /// Packs pairs of token sequences without special tokens, and puts `start` and `end` around the targets.
    pub fn new(pairs: &[(&[u32], &[u32])], examples: &[u32], start: u32, end: u32) -> Batch {
        let sources: Vec<&[u32]> = pairs.iter().map(|(source, _)| *source).collect();
        let inputs: Vec<Vec<u32>> = pairs.iter().map(|(_, target)| [&[start], *target].concat()).collect();
        let source = PackedTokens::new(&sources, examples);
        let input = PackedTokens::new(&inputs.iter().map(Vec::as_slice).collect::<Vec<_>>(), examples);
        let (rows, order) = (&input.layout, input.layout.sorted_indices());
        let next =
            |(place, step): (usize, usize)| pairs[order[place] as usize].1.get(step).copied().unwrap_or(end);
        let place_of = source.layout.unsorted_indices();
        let source_of = order.iter().map(|&pair| place_of[pair as usize]).collect();
        Batch { output: rows.places().map(next).collect(), source_of, source, input, copied: None }
    }

    /// The same for a model that copies, of pairs whose tokens are also known as tokens of the target: from `vocabulary` on, those that
    /// its vocabulary does not have. The decoder reads these as `unknown`.
    #[must_use]
    pub fn copying(mut self, sources: &[&[u32]], vocabulary: usize, unknown: u32) -> Batch {
        let behind = |token: &&mut u32| **token as usize >= vocabulary;
        self.input.tokens.iter_mut().filter(behind).for_each(|token| *token = unknown);
        let rows = &self.input.layout;
        let of = rows.places().map(|(place, _)| rows.sorted_indices()[place]).collect();
        Batch { copied: Some(CopySource::new(sources, of)), ..self }
    }

    /// How many tokens the decoder has to write.
    pub fn targets(&self) -> usize {
        self.output.len()
    }

    /// How many tokens there are on both sides.
    pub fn tokens(&self) -> usize {
        self.source.tokens.len() + self.output.len()
    }
}

/// Texts of a training batch, and what comes next in each.
#[derive(Clone, Debug)]
pub struct NextTokens {
    /// What the model reads: all tokens but the last of each text.
    pub input: PackedTokens,
    /// The token behind each of these, row by row.
    pub output: Vec<u32>,
}

impl NextTokens {
    /// Packs texts of two tokens or more; each has a number that stays the same in every batch.
    pub fn new(texts: &[&[u32]], examples: &[u32]) -> NextTokens {
        let inputs: Vec<&[u32]> = texts.iter().map(|text| &text[..text.len() - 1]).collect();
        let input = PackedTokens::new(&inputs, examples);
        let order = input.layout.sorted_indices();
        let next = |(place, step): (usize, usize)| texts[order[place] as usize][step + 1];
        NextTokens { output: input.layout.places().map(next).collect(), input }
    }

    /// How many tokens are to be predicted.
    pub fn targets(&self) -> usize {
        self.output.len()
    }
}

/// Texts of a training batch, and what they are.
#[derive(Clone, Debug)]
pub struct LabeledBatch {
    /// What the encoder reads.
    pub texts: PackedTokens,
    /// The tabular features of each text, in the order in which the texts were given: one vector after the other.
    pub features: Vec<f32>,
    /// The label of the text at each place.
    pub labels: Vec<u32>,
}

impl LabeledBatch {
    /// Packs texts with their labels; each has a number that stays the same in every batch.
    pub fn new(texts: &[&[u32]], labels: &[u32], examples: &[u32]) -> LabeledBatch {
        assert_eq!(texts.len(), labels.len(), "a label for each text");
        let texts = PackedTokens::new(texts, examples);
        let labels = texts.layout.sorted_indices().iter().map(|&text| labels[text as usize]).collect();
        LabeledBatch { texts, features: Vec::new(), labels }
    }

    /// With the tabular features of each text, one vector after the other.
    pub fn with_features(self, features: Vec<f32>) -> LabeledBatch {
        LabeledBatch { features, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sources ab, c and targets x, yz: the first target is the shorter one, so the sides are ordered differently.
    #[test]
    fn both_sides_are_packed_in_their_own_order() {
        let batch = Batch::new(&[(&[10, 11], &[20]), (&[12], &[21, 22])], &[0, 1], 2, 3);
        assert_eq!(batch.source.tokens, [10, 12, 11]);
        // places: pair 1 (start 21 22), pair 0 (start 20)
        assert_eq!(batch.input.tokens, [2, 2, 21, 20, 22]);
        assert_eq!(batch.output, [21, 20, 22, 3, 3]);
        assert_eq!(&batch.source_of[..], [1, 0]);
    }

    /// As above, with the vocabulary up to 20: 21 and 22 are words of the second source, which the decoder reads as 1 and writes as
    /// they are.
    #[test]
    fn what_is_copied_is_read_as_unknown() {
        let batch = Batch::new(&[(&[10, 11], &[20]), (&[12], &[21, 22])], &[0, 1], 2, 3);
        let sources: [&[u32]; 2] = [&[4, 20], &[21, 22]];
        let batch = batch.copying(&sources, 21, 1);
        assert_eq!(batch.input.tokens, [2, 2, 1, 20, 1]);
        assert_eq!(batch.output, [21, 20, 22, 3, 3]);
        assert_eq!(batch.copied, Some(CopySource::new(&sources, [1, 0, 1, 0, 1].into())));
    }

    /// The longer text comes first, and its label with it.
    #[test]
    fn labels_are_packed_in_the_order_of_their_texts() {
        let batch = LabeledBatch::new(&[&[10], &[11, 12]], &[0, 1], &[0, 1]);
        assert_eq!((batch.texts.tokens, batch.labels), (vec![11, 10, 12], vec![1, 0]));
    }
}
