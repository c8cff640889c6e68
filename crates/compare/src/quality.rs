//! How well a trained model does on a test set: as a whole, by the length of the source, and by the place of the source's words.

use crate::places::{LEAST_FOR_PARTS, LENGTHS, PARTS, bin_of, part_of};
use couplet_data::{LabeledTexts, Pair, UNK, in_order};
use couplet_metrics::{Accuracy, bleu};
use couplet_nn::ForwardPass;
use couplet_search::{Loaded, LoadedClassifier, Translator};
use couplet_tensor::SequenceLayout;
use couplet_train::{Examples, LabeledExamples, assess, mean_loss};
use serde::{Deserialize, Serialize};

/// Tokens of both sides that are measured together.
const BATCH_TOKENS: usize = 4096;

/// What a score is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// BLEU of what a search finds.
    Bleu,
    /// The share of labels that are right, from 0 to 100.
    Accuracy,
}

impl Metric {
    /// Its name, to be read.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Bleu => "BLEU",
            Metric::Accuracy => "accuracy, %",
        }
    }
}

/// How well a model does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// How many lines it was measured with.
    pub lines: usize,
    /// The mean loss of a target: a token or a label.
    pub loss: f64,
    /// What the score is.
    pub metric: Metric,
    /// The score.
    pub score: f64,
    /// The share of target tokens that the model finds likeliest after the right ones before them, from 0 to 100; none for a classifier.
    pub token_accuracy: Option<f64>,
    /// The longest source, in tokens.
    pub longest: usize,
    /// By the tokens of the source; bins without a line are left out.
    pub by_length: Vec<OfLength>,
    /// By the part of the source that a target token answers, of sources of more than 10 tokens; none for a classifier.
    pub by_part: Vec<OfPart>,
}

/// Sources of some length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfLength {
    /// Which bin.
    pub bin: usize,
    /// How many lines it has.
    pub lines: usize,
    /// The mean length of its sources.
    pub tokens: f64,
    /// Their score.
    pub score: f64,
    /// The share of their target tokens that the model finds likeliest, from 0 to 100.
    pub token_accuracy: Option<f64>,
}

/// A part of the source.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfPart {
    /// Which part, the first being 0.
    pub part: usize,
    /// How many target tokens answer it.
    pub tokens: usize,
    /// The share of them that the model finds likeliest, from 0 to 100.
    pub token_accuracy: f64,
}

impl Quality {
    /// The perplexity of a target.
    pub fn perplexity(&self) -> f64 {
        self.loss.exp()
    }

    /// Of a translator.
    pub(crate) fn of_translator(loaded: &Loaded, pairs: &[Pair]) -> Quality {
        let examples = Examples::new(pairs, &loaded.source, &loaded.target, loaded.model.supports_copy());
        let sources: Vec<&str> = pairs.iter().map(|pair| pair.source.as_str()).collect();
        let targets: Vec<&str> = pairs.iter().map(|pair| pair.target.as_str()).collect();
        let written = Translator::from(loaded).translate(&sources, &loaded.search);
        let outputs: Vec<&str> = written.iter().map(|translation| translation.text.as_str()).collect();
        let right = right_tokens(loaded, &examples);
        let lengths: Vec<usize> = examples.costs().iter().map(|&(source, _)| source).collect();
        let of_lines = |lines: &[usize]| {
            let chosen = |texts: &[&str]| -> Vec<String> {
                lines.iter().map(|&line| texts[line].to_owned()).collect()
            };
            let tokens = accuracy(lines.iter().flat_map(|&line| right[line].iter().copied()));
            (bleu(&chosen(&outputs), &chosen(&targets)).score, Some(tokens.percent()))
        };
        let all: Vec<usize> = (0..pairs.len()).collect();
        let (score, token_accuracy) = of_lines(&all);
        Quality {
            lines: pairs.len(),
            loss: mean_loss(&loaded.model, &loaded.params, &examples, BATCH_TOKENS),
            metric: Metric::Bleu,
            score,
            token_accuracy,
            longest: lengths.iter().copied().max().unwrap_or(0),
            by_length: by_length(&lengths, of_lines),
            by_part: by_part(&lengths, &right),
        }
    }

    /// Of a classifier.
    pub(crate) fn of_classifier(
        loaded: &LoadedClassifier,
        examples: &LabeledExamples,
        texts: &LabeledTexts,
        labels: &[u32],
    ) -> Quality {
        let assessed = assess(&loaded.model, &loaded.params, examples, BATCH_TOKENS);
        let length = |text: &String| loaded.tokenizer.encode(text).len().min(loaded.cut.tokens);
        let lengths: Vec<usize> = texts.texts.iter().map(length).collect();
        let right: Vec<bool> =
            assessed.predicted.iter().zip(labels).map(|(&found, &label)| found == label as usize).collect();
        let of_lines = |lines: &[usize]| (accuracy(lines.iter().map(|&line| right[line])).percent(), None);
        Quality {
            lines: lengths.len(),
            loss: assessed.loss,
            metric: Metric::Accuracy,
            score: assessed.accuracy,
            token_accuracy: None,
            longest: lengths.iter().copied().max().unwrap_or(0),
            by_length: by_length(&lengths, of_lines),
            by_part: Vec::new(),
        }
    }
}

/// For each pair, whether each target token and its end is what the model finds likeliest after the right tokens before. A word that its
/// vocabulary does not have is never right: the smaller a vocabulary, the easier it were.
fn right_tokens(loaded: &Loaded, examples: &Examples) -> Vec<Vec<bool>> {
    let mut right = vec![Vec::new(); examples.len()];
    for numbers in in_order(&examples.costs(), BATCH_TOKENS) {
        let batch = examples.batch(&numbers, &loaded.model);
        let predicted = loaded.model.predict_teacher_forced(&ForwardPass::inference(&loaded.params), &batch);
        let of_rows = predicted
            .iter()
            .zip(&batch.output)
            .map(|(&predicted, &wanted)| wanted != UNK && predicted == Some(wanted));
        for (&number, of_pair) in numbers.iter().zip(by_sequence(&batch.input.layout, of_rows)) {
            right[number as usize] = of_pair;
        }
    }
    right
}

/// What stands in the rows of each sequence, step by step, in the order in which the sequences were given.
fn by_sequence<T>(rows: &SequenceLayout, of_rows: impl Iterator<Item = T>) -> Vec<Vec<T>> {
    let mut sequences: Vec<Vec<T>> = (0..rows.batch()).map(|_| Vec::new()).collect();
    for ((place, _), value) in rows.places().zip(of_rows) {
        sequences[rows.sorted_indices()[place] as usize].push(value);
    }
    sequences
}

fn accuracy(right: impl Iterator<Item = bool>) -> Accuracy {
    right.fold(Accuracy { correct: 0, total: 0 }, |sum, right| Accuracy {
        correct: sum.correct + usize::from(right),
        total: sum.total + 1,
    })
}

/// The figures of the lines of each bin: a score, and the accuracy of tokens.
fn by_length(lengths: &[usize], of_lines: impl Fn(&[usize]) -> (f64, Option<f64>)) -> Vec<OfLength> {
    let of_bin = |bin: usize| {
        let lines: Vec<usize> = (0..lengths.len()).filter(|&line| bin_of(lengths[line]) == bin).collect();
        let (score, token_accuracy) = (!lines.is_empty()).then(|| of_lines(&lines))?;
        let tokens = lines.iter().map(|&line| lengths[line]).sum::<usize>() as f64 / lines.len() as f64;
        Some(OfLength { bin, lines: lines.len(), tokens, score, token_accuracy })
    };
    (0..LENGTHS).filter_map(of_bin).collect()
}

/// How many target tokens of each part of long sources are right. The end, which answers no word, does not count.
fn by_part(lengths: &[usize], right: &[Vec<bool>]) -> Vec<OfPart> {
    let mut parts: Vec<Vec<bool>> = vec![Vec::new(); PARTS];
    for (&length, right) in lengths.iter().zip(right).filter(|(length, _)| **length >= LEAST_FOR_PARTS) {
        let tokens = right.len() - 1;
        for i in 0..tokens {
            parts[part_of(i, tokens, length)].push(right[i]);
        }
    }
    let of_part = |(part, right): (usize, &Vec<bool>)| OfPart {
        part,
        tokens: right.len(),
        token_accuracy: accuracy(right.iter().copied()).percent(),
    };
    parts.iter().enumerate().filter(|(_, right)| !right.is_empty()).map(of_part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequences of 1 and of 4 steps: packed, the longer one comes first, and both have a row in the first step. The one that is through
    /// first leaves, and the other one's rows stay its own.
    #[test]
    fn rows_go_back_to_their_sequences() {
        let found = by_sequence(&SequenceLayout::new(&[1, 4]), ["b0", "a0", "b1", "b2", "b3"].into_iter());
        assert_eq!(found, [vec!["a0"], vec!["b0", "b1", "b2", "b3"]]);
    }

    /// Lines of 3, 4 and 12 tokens: two bins, of which the first has the mean length 3.5.
    #[test]
    fn bins_without_lines_are_left_out() {
        let found = by_length(&[3, 12, 4], |lines| (lines.len() as f64, None));
        let bins: Vec<_> = found.iter().map(|of| (of.bin, of.lines, of.tokens, of.score)).collect();
        assert_eq!(bins, [(0, 2, 3.5, 2.0), (2, 1, 12.0, 1.0)]);
    }

    /// 20 source tokens, 4 target tokens of which the second and third are wrong, and the end: they answer the tokens 0, 5, 10 and 15,
    /// which are in the tenths 0, 2, 5 and 7. A short source counts nothing.
    #[test]
    fn parts_by_hand() {
        let right = [vec![true, false, false, true, false], vec![true, true]];
        let found = by_part(&[20, 10], &right);
        let parts: Vec<_> = found.iter().map(|of| (of.part, of.token_accuracy)).collect();
        assert_eq!(parts, [(0, 100.0), (2, 0.0), (5, 0.0), (7, 100.0)]);
    }
}
