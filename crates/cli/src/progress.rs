//! What a user sees of a training run: a bar on a terminal, plain lines in a log.

use crate::bar::{Bar, say};
use couplet_train::{DatasetSummary, Event, MetricValue, Reason};

/// Shows events on stderr.
pub(crate) struct Progress {
    bar: Bar,
    limits: Limits,
}

/// When a run ends, as far as that is known.
#[derive(Clone, Copy, Default)]
struct Limits {
    updates: Option<u64>,
    minutes: Option<f64>,
}

impl Limits {
    /// How many updates there will be: all that are planned, or as many as fit into the minutes if they go on as they did.
    fn expected(self, update: u64, seconds: f64) -> Option<u64> {
        let in_time = self.minutes.map(|minutes| (update as f64 * minutes * 60.0 / seconds.max(1e-9)) as u64);
        [self.updates, in_time].into_iter().flatten().min().map(|updates| updates.max(update))
    }
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { bar: Bar::new("{pos}/{len}  {msg}  {eta} left"), limits: Limits::default() }
    }

    pub(crate) fn show(&mut self, event: &Event) {
        match event {
            Event::Start { about, parameters, updates, minutes, .. } => {
                self.limits = Limits { updates: *updates, minutes: *minutes };
                // With minutes, how many updates there will be is seen by and by.
                updates.iter().filter(|_| minutes.is_none()).for_each(|&updates| self.bar.plan(updates));
                self.bar.line(&format!("{}; {parameters} parameters", described(*about)));
            }
            Event::Initialized { from, modules: parts, parameters, tokenizer } => {
                let tokenizer = if *tokenizer { ", with its tokenizer" } else { "" };
                let (from, parts) = (from.display(), parts.join(", "));
                self.bar.line(&format!("taken from {from}: {parts}; {parameters} parameters{tokenizer}"));
            }
            Event::Vectors { module: part, path, tokens, found, lowercased } => {
                let share = |count: usize| 100.0 * count as f64 / (*tokens).max(1) as f64;
                self.bar.line(&format!(
                    "{}: vectors of {found} of {tokens} tokens of the {part}, {:.1} %; as they are written {}, {:.1} %",
                    path.display(),
                    share(*found),
                    found - lowercased,
                    share(found - lowercased)
                ));
            }
            Event::Frozen { modules: parts, updates, trainable_parameters: trained } => {
                let updates = updates.map_or_else(String::new, |updates| format!(" for {updates} updates"));
                self.bar.line(&format!("frozen{updates}: {}; {trained} parameters train", parts.join(", ")));
            }
            Event::Resume { update, seconds, skipped_checkpoints: passed_over, validation_changed: checked_anew } => {
                self.bar.go_on_from(*update);
                passed_over.iter().for_each(|why| self.bar.line(&format!("passed over {why}")));
                self.bar.line(&format!("going on after update {update} and {seconds:.0} s"));
                if *checked_anew {
                    self.bar.line("the validation set is another one: the best model is chosen anew");
                }
            }
            Event::Update { update, loss, tokens_per_second, learning_rate: rate, seconds, .. } => {
                let expected = self.limits.expected(*update, *seconds);
                expected.iter().for_each(|&expected| self.bar.plan(expected));
                self.bar.show(*update, |alone| {
                    let text = format!("loss {loss:.3}  {tokens_per_second:.0} tokens/s  rate {rate:.1e}");
                    let all = expected.map_or_else(String::new, |expected| format!("/{expected}"));
                    if alone { format!("update {update}{all}  {text}") } else { text }
                });
            }
            Event::Validation { update, loss, figure, bleu, best, .. } => {
                let best = if *best { "  best so far" } else { "" };
                let figure = match figure {
                    MetricValue::Perplexity(perplexity) => format!("perplexity {perplexity:.2}"),
                    MetricValue::Accuracy(percent) => format!("accuracy {percent:.2} %"),
                };
                let bleu = bleu.map_or_else(String::new, |bleu| format!(", BLEU {bleu:.2}"));
                self.bar.line(&format!("update {update}: validation loss {loss:.4}, {figure}{bleu}{best}"));
            }
            Event::Checkpoint { .. } => {}
            Event::SaveFailed { message, .. } => self.bar.line(&format!("not saved: {message}")),
            Event::Skipped { update, loss, grad_norm: norm, .. } => {
                self.bar.line(&format!("update {update} left out: its loss is {loss}, its gradients' norm {norm}"));
            }
            Event::BatchSplit { update, max_tokens: most_tokens } => self.bar.line(&format!(
                "update {update}: a batch had no room in memory; more than {most_tokens} tokens are computed in parts"
            )),
            Event::End { reason, update, best_loss, skipped, seconds, .. } => {
                self.bar.finish();
                let why = match reason {
                    Reason::Done => "done",
                    Reason::Patience => "validation no longer gets better: stopped early",
                    Reason::Time => "time is up",
                    Reason::Stopped => "stopped, the model is saved",
                };
                let left_out = match skipped {
                    0 => String::new(),
                    n => format!("; {n} updates left out"),
                };
                say(&format!(
                    "{why} after {update} updates and {seconds:.0} s; best validation loss {best_loss:.4}{left_out}"
                ));
            }
        }
    }
}

/// What a run learns from.
fn described(about: DatasetSummary) -> String {
    let long = |count: usize, fate: &str| match count {
        0 => String::new(),
        n => format!(", {n} longer than data.max_tokens {fate}"),
    };
    match about {
        DatasetSummary::Pairs { pairs, skipped: left_out, vocabularies: [source, target] } => {
            format!("{pairs} pairs{}; vocabularies {source} and {target}", long(left_out, "left out"))
        }
        DatasetSummary::Lines { lines, chunks: pieces, vocabulary } => {
            format!("{lines} texts in {pieces} pieces; vocabulary {vocabulary}")
        }
        DatasetSummary::Texts { texts, truncated: cut, vocabulary, labels, tabular_features: beside } => {
            let beside =
                if beside > 0 { format!("; {beside} numbers beside each text") } else { String::new() };
            format!("{texts} texts{}; vocabulary {vocabulary}; {labels} labels{beside}", long(cut, "cut"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 30 updates in 20 s are 90 in a minute; 50 that are planned come first, and what is done is done.
    #[test]
    fn expected_updates_by_hand() {
        let of = |updates, minutes, seconds| Limits { updates, minutes }.expected(30, seconds);
        assert_eq!(of(None, Some(1.0), 20.0), Some(90));
        assert_eq!(of(Some(50), Some(1.0), 20.0), Some(50));
        assert_eq!(of(Some(500), Some(1.0), 20.0), Some(90));
        assert_eq!(of(None, Some(1.0), 70.0), Some(30));
        assert_eq!(of(None, None, 20.0), None);
    }
}
