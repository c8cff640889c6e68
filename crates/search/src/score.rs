//! What a model thinks of given targets.

use crate::translate::{Translator, cut};
use couplet_data::{SourceWords, in_order};
use couplet_nn::ForwardPass;

/// Tokens of both sides that are scored together.
const BATCH_TOKENS: usize = 4096;

/// A target, as probable as the model finds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scored {
    /// The target's tokens, to be read, and the one that ends it.
    pub tokens: Vec<String>,
    /// For each of them, the logarithm of its probability after those before it.
    pub log_probabilities: Vec<f32>,
}

impl Scored {
    /// The logarithm of the probability of the whole target.
    pub fn log_probability(&self) -> f32 {
        self.log_probabilities.iter().sum()
    }

    /// What an average token is worth: `e^(−log p / tokens)`.
    pub fn perplexity(&self) -> f32 {
        (-self.log_probability() / self.log_probabilities.len().max(1) as f32).exp()
    }
}

impl Translator<'_> {
    /// Scores pairs of a source and a target, in their order. An empty source has no score: the result has no tokens.
    pub fn score<S: AsRef<str>>(&self, pairs: &[(S, S)]) -> Vec<Scored> {
        let copies = self.model.supports_copy();
        let words: Vec<SourceWords> =
            pairs.iter().map(|(source, _)| self.words(source.as_ref(), copies)).collect();
        let ids = |((source, target), words): (&(S, S), &SourceWords)| {
            (self.source.encode(source.as_ref()), words.encode(target.as_ref(), self.target))
        };
        let ids: Vec<(Vec<u32>, Vec<u32>)> = pairs.iter().zip(&words).map(ids).collect();
        let lengths: Vec<(usize, usize)> =
            ids.iter().map(|(source, target)| (cut(source).len(), target.len() + 1)).collect();
        let mut scored = vec![Scored::default(); pairs.len()];
        for mut batch in in_order(&lengths, BATCH_TOKENS) {
            batch.retain(|&i| lengths[i as usize].0 > 0);
            if batch.is_empty() {
                continue;
            }
            let of_batch = |&i: &u32| (cut(&ids[i as usize].0), &ids[i as usize].1[..]);
            let copied: Vec<&[u32]> = batch.iter().map(|&i| words[i as usize].ids()).collect();
            let packed = self.batch(&batch.iter().map(of_batch).collect::<Vec<_>>(), &copied, &batch);
            let losses =
                self.model.loss(&ForwardPass::inference(self.params), &packed, 0.0).per_target.to_vec();
            let rows = &packed.input.layout;
            for (row, (place, _)) in rows.places().enumerate() {
                let pair = batch[rows.sorted_indices()[place] as usize] as usize;
                let Scored { tokens, log_probabilities } = &mut scored[pair];
                tokens.push(words[pair].token(packed.output[row], self.target).to_owned());
                log_probabilities.push(-losses[row]);
            }
        }
        scored
    }
}
