//! What a user sees of a training run: a bar on a terminal, plain lines in a log.

use couplet_train::{About, Event, Figure, Reason};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Between two plain lines of progress.
const PLAIN_LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows events on stderr.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    planned: Option<u64>,
    last_line: Option<Instant>,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let colour = if wants_colour() { ".cyan" } else { "" };
            let template = format!("{{bar:30{colour}}} {{pos}}/{{len}}  {{msg}}  {{eta}} left");
            let style = ProgressStyle::with_template(&template);
            ProgressBar::new(0).with_style(style.expect("a template of known words"))
        });
        Progress { bar, planned: None, last_line: None }
    }

    pub(crate) fn show(&mut self, event: &Event) {
        match event {
            Event::Start { about, parameters, updates, .. } => {
                self.planned = *updates;
                if let (Some(bar), Some(updates)) = (&self.bar, updates) {
                    bar.set_length(*updates);
                }
                self.line(&format!("{}; {parameters} parameters", described(*about)));
            }
            Event::Taken { from, parts, parameters, tokenizer } => {
                let tokenizer = if *tokenizer { ", with its tokenizer" } else { "" };
                let (from, parts) = (from.display(), parts.join(", "));
                self.line(&format!("taken from {from}: {parts}; {parameters} parameters{tokenizer}"));
            }
            Event::Vectors { part, path, tokens, found, lowercased } => {
                let share = |count: usize| 100.0 * count as f64 / (*tokens).max(1) as f64;
                self.line(&format!(
                    "{}: vectors of {found} of {tokens} tokens of the {part}, {:.1} %; as they are written {}, {:.1} %",
                    path.display(),
                    share(*found),
                    found - lowercased,
                    share(found - lowercased)
                ));
            }
            Event::Frozen { parts, updates, trained } => {
                let updates = updates.map_or_else(String::new, |updates| format!(" for {updates} updates"));
                self.line(&format!("frozen{updates}: {}; {trained} parameters train", parts.join(", ")));
            }
            Event::Resume { update, seconds, passed_over } => {
                self.bar.iter().for_each(|bar| {
                    bar.set_position(*update);
                    bar.reset_eta();
                });
                passed_over.iter().for_each(|why| self.line(&format!("passed over {why}")));
                self.line(&format!("going on after update {update} and {seconds:.0} s"));
            }
            Event::Step { update, loss, tokens_per_second, rate, .. } => {
                let text = format!("loss {loss:.3}  {tokens_per_second:.0} tokens/s  rate {rate:.1e}");
                match &self.bar {
                    Some(bar) => {
                        bar.set_position(*update);
                        bar.set_message(text);
                    }
                    None if self.last_line.is_none_or(|last| last.elapsed() >= PLAIN_LINE_EVERY) => {
                        self.last_line = Some(Instant::now());
                        let planned = self.planned.map_or_else(String::new, |planned| format!("/{planned}"));
                        say(format_args!("update {update}{planned}  {text}"));
                    }
                    None => {}
                }
            }
            Event::Validation { update, loss, figure, bleu, best, .. } => {
                let best = if *best { "  best so far" } else { "" };
                let figure = match figure {
                    Figure::Perplexity(perplexity) => format!("perplexity {perplexity:.2}"),
                    Figure::Accuracy(percent) => format!("accuracy {percent:.2} %"),
                };
                let bleu = bleu.map_or_else(String::new, |bleu| format!(", BLEU {bleu:.2}"));
                self.line(&format!("update {update}: validation loss {loss:.4}, {figure}{bleu}{best}"));
            }
            Event::Checkpoint { .. } => {}
            Event::NotSaved { message, .. } => self.line(&format!("not saved: {message}")),
            Event::Skipped { update, loss, norm, .. } => {
                self.line(&format!("update {update} left out: its loss is {loss}, its gradients' norm {norm}"));
            }
            Event::Split { update, most_tokens } => self.line(&format!(
                "update {update}: a batch had no room in memory; more than {most_tokens} tokens are computed in parts"
            )),
            Event::End { reason, update, best_loss, skipped, seconds, .. } => {
                self.bar.iter().for_each(ProgressBar::finish_and_clear);
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
                say(format_args!(
                    "{why} after {update} updates and {seconds:.0} s; best validation loss {best_loss:.4}{left_out}"
                ));
            }
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => say(format_args!("{text}")),
        }
    }
}

/// Nobody may be there to read it any more: that is no reason to stop.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Colour on a terminal, unless the user does not want any.
pub(crate) fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// What a run learns from.
fn described(about: About) -> String {
    let long = |count: usize, fate: &str| match count {
        0 => String::new(),
        n => format!(", {n} longer than data.max_tokens {fate}"),
    };
    match about {
        About::Pairs { pairs, left_out, vocabularies: [source, target] } => {
            format!("{pairs} pairs{}; vocabularies {source} and {target}", long(left_out, "left out"))
        }
        About::Lines { lines, pieces, vocabulary } => {
            format!("{lines} texts in {pieces} pieces; vocabulary {vocabulary}")
        }
        About::Texts { texts, cut, vocabulary, labels } => {
            format!("{texts} texts{}; vocabulary {vocabulary}; {labels} labels", long(cut, "cut"))
        }
    }
}
