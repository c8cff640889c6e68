//! Scores, and how they are shown.

use super::super::lines::Output;
use super::input::Input;
use super::measure::{Measured, Resampling, Score, measure};
use super::table::{Align, aligned};
use super::{Arguments, Test};
use crate::failure::{Failure, Outcome};
use serde_json::{Map, Value, json};

/// Below it a difference is called significant.
const SIGNIFICANT: f64 = 0.05;

/// All scores of all systems.
pub(super) struct Report {
    lines: usize,
    systems: Vec<String>,
    measured: Vec<Measured>,
    /// What the p-values mean.
    note: Option<String>,
}

impl Report {
    pub(super) fn new(arguments: &Arguments, input: &Input) -> Result<Report, Failure> {
        let resampling = Resampling::of(arguments);
        let measured = arguments.metrics.iter().map(|&choice| measure(choice, arguments, resampling, input));
        Ok(Report {
            lines: input.lines(),
            systems: input.systems.iter().map(|system| system.path.display().to_string()).collect(),
            measured: measured.collect::<Result<_, _>>()?,
            note: arguments.paired.map(|test| note(test, resampling)),
        })
    }

    /// A row for each metric and each system.
    pub(super) fn table(&self, with_signatures: bool) -> String {
        let several = self.systems.len() > 1;
        let columns = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Left, Align::Left];
        let has_interval = self.scores().any(|score| score.interval.is_some());
        let header = [
            "metric",
            if several { "system" } else { "" },
            "score",
            if has_interval { "mean ± 95 %" } else { "" },
            if self.note.is_some() { "p" } else { "" },
            "",
        ];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        for measured in &self.measured {
            for (system, score) in self.systems.iter().zip(&measured.scores) {
                let system = if several { system.clone() } else { String::new() };
                let interval = score.interval.map_or_else(String::new, |interval| {
                    format!("{:.2} ± {:.2}", interval.mean, interval.half_width())
                });
                let star = |p: f64| if p < SIGNIFICANT { " *" } else { "" };
                let p = score.p.map_or_else(String::new, |p| format!("{p:.4}{}", star(p)));
                let value = format!("{:.2}", score.value);
                rows.push(vec![measured.name.clone(), system, value, interval, p, score.remark.clone()]);
            }
        }
        let mut text = aligned(&columns, &rows);
        if let Some(note) = &self.note {
            text.push_str(&format!("\n{note}\n"));
        }
        if with_signatures {
            let signed = self.measured.iter().filter_map(|measured| {
                Some(vec![measured.name.clone(), measured.signature.as_ref()?.to_string()])
            });
            text.push('\n');
            text.push_str(&aligned(&[Align::Left, Align::Left], &signed.collect::<Vec<_>>()));
        }
        text
    }

    fn scores(&self) -> impl Iterator<Item = &Score> {
        self.measured.iter().flat_map(|measured| &measured.scores)
    }

    pub(super) fn json(&self) -> Value {
        let mut scores = Vec::new();
        for measured in &self.measured {
            for (system, score) in self.systems.iter().zip(&measured.scores) {
                let figures: Map<String, Value> =
                    score.figures.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
                scores.push(json!({
                    "metric": measured.name,
                    "system": system,
                    "score": score.value, // null where it is infinite
                    "figures": figures,
                    "signature": measured.signature.as_ref().map(ToString::to_string),
                    "confidence": score.interval.map(|interval| json!({
                        "mean": interval.mean,
                        "low": interval.low,
                        "high": interval.high,
                        "half_width": interval.half_width(),
                    })),
                    "p": score.p,
                }));
            }
        }
        json!({ "lines": self.lines, "scores": scores })
    }

    /// The scores of each line.
    pub(super) fn print_lines(&self, as_json: bool) -> Outcome {
        let mut out = Output::open(None)?;
        for line in 0..self.lines {
            let scores: Vec<(&str, f64)> =
                self.measured.iter().map(|measured| (measured.name.as_str(), measured.lines[line])).collect();
            let text = if as_json {
                let mut object: Map<String, Value> =
                    scores.iter().map(|(name, score)| ((*name).to_owned(), json!(score))).collect();
                object.insert("line".to_owned(), json!(line + 1));
                Value::from(object).to_string()
            } else {
                scores.iter().map(|(_, score)| format!("{score:.2}")).collect::<Vec<_>>().join("\t")
            };
            if !out.line(&text)? {
                return Ok(());
            }
        }
        out.flush().map(drop)
    }
}

/// What a p-value means, for a reader.
fn note(test: Test, resampling: Resampling) -> String {
    let (name, times) = match test {
        Test::Bs => ("paired bootstrap", format!("{} resamples", resampling.bootstrap)),
        Test::Ar => ("approximate randomization", format!("{} trials", resampling.randomization)),
    };
    format!(
        "p: how likely a system as good as the first would differ from it by more than this one does ({name}, {times}, seed {});\n\
         * below {SIGNIFICANT}",
        resampling.seed
    )
}
