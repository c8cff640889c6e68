//! One row a model: what it is, what it took, what it reached.

use crate::markdown;
use crate::quality::Metric;
use crate::run::Entry;
use crate::spread::Spread;
use serde::Serialize;

/// The figures of all models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// What the score is; none where no model has one.
    pub metric: Option<Metric>,
    /// A row for each model, in the order of their configs.
    pub rows: Vec<Row>,
}

/// The figures of one model; each is none where no run has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// How many runs it has.
    pub runs: usize,
    /// Numbers in the model.
    pub parameters: Option<usize>,
    /// Updates of a run.
    pub updates: Option<Spread>,
    /// Seconds of training.
    pub seconds: Option<Spread>,
    /// Tokens of both sides, a second, while updates are made.
    pub tokens_per_second: Option<Spread>,
    /// The perplexity of a target.
    pub perplexity: Option<Spread>,
    /// BLEU or accuracy.
    pub score: Option<Spread>,
    /// The share of target tokens that the model finds likeliest after the right ones, from 0 to 100.
    pub token_accuracy: Option<Spread>,
    /// Why there is no more.
    pub failed: Option<String>,
}

/// What stands where there is no figure.
const NOTHING: &str = "–";

impl Table {
    /// Of models.
    pub fn of(entries: &[Entry]) -> Table {
        let mut runs = entries.iter().flat_map(|entry| &entry.runs);
        Table {
            metric: runs.next().map(|run| run.quality.metric),
            rows: entries.iter().map(Row::of).collect(),
        }
    }

    fn header(&self) -> [&str; 8] {
        let score = self.metric.map_or("score", Metric::name);
        ["model", "parameters", "updates", "seconds", "tokens/s", "perplexity", score, "tokens right, %"]
    }

    /// For a page.
    pub fn to_markdown(&self) -> String {
        let rows: Vec<Vec<String>> = self.rows.iter().flat_map(Row::lines).collect();
        markdown::table(&self.header(), &rows)
    }

    /// For a terminal.
    pub fn to_terminal(&self) -> String {
        let header = self.header().map(str::to_owned).to_vec();
        let lines: Vec<Vec<String>> =
            std::iter::once(header).chain(self.rows.iter().flat_map(Row::lines)).collect();
        let columns = lines[0].len();
        let wide = |column: usize| {
            // The reason of a failure stands alone in its line, and may be longer than any figure.
            let cells = lines.iter().filter(|line| line.len() == columns).map(|line| &line[column]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let names = lines.iter().map(|line| line[0].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = std::iter::once(names).chain((1..columns).map(wide)).collect();
        let shown = |line: &Vec<String>| {
            let mut text = format!("{:names$}", line[0]);
            for (cell, &wide) in line.iter().zip(&widths).skip(1) {
                let cell = if line.len() == columns { format!("{cell:>wide$}") } else { cell.clone() };
                text += &format!("  {cell}");
            }
            text.trim_end().to_owned() + "\n"
        };
        lines.iter().map(shown).collect()
    }
}

impl Row {
    fn of(entry: &Entry) -> Row {
        Row {
            name: entry.name.clone(),
            runs: entry.runs.len(),
            parameters: entry.runs.first().map(|run| run.parameters),
            updates: entry.spread(|run| Some(run.updates as f64)),
            seconds: entry.spread(|run| Some(run.seconds)),
            tokens_per_second: entry.times.as_ref().and_then(|times| Spread::of(&times.tokens_per_second)),
            perplexity: entry.spread(|run| Some(run.quality.perplexity())),
            score: entry.spread(|run| Some(run.quality.score)),
            token_accuracy: entry.spread(|run| run.quality.token_accuracy),
            failed: entry.failed.as_ref().map(|failed| failed.message.clone()),
        }
    }

    /// Its lines: the name and the figures, the name and why there are none or no more of them, or both.
    fn lines(&self) -> Vec<Vec<String>> {
        let failed = self.failed.as_ref().map(|reason| vec![self.name.clone(), format!("failed: {reason}")]);
        let figures = (failed.is_none() || self.runs > 0).then(|| self.cells());
        figures.into_iter().chain(failed).collect()
    }

    /// The name and the figures.
    fn cells(&self) -> Vec<String> {
        let figure = |spread: Option<Spread>, places: usize| {
            spread.map_or(NOTHING.to_owned(), |spread| spread.shown(places))
        };
        vec![
            self.name.clone(),
            self.parameters.map_or(NOTHING.to_owned(), |count| count.to_string()),
            // Runs that end when they get no better have different numbers of updates; those of a budget have not.
            self.updates.map_or(NOTHING.to_owned(), |updates| {
                if updates.deviation.is_some_and(|deviation| deviation > 0.0) {
                    updates.shown(0)
                } else {
                    format!("{:.0}", updates.mean)
                }
            }),
            figure(self.seconds, 0),
            figure(self.tokens_per_second, 0),
            figure(self.perplexity, 2),
            figure(self.score, 1),
            figure(self.token_accuracy, 1),
        ]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::quality::{OfLength, Quality};
    use crate::run::Failed;
    use crate::times::Times;

    /// A model with runs of these scores, each of 100 lines in two bins.
    pub(crate) fn entry(name: &str, config: &str, scores: &[f64]) -> Entry {
        let of_bin =
            |bin, tokens, score| OfLength { bin, lines: 50, tokens, score, token_accuracy: Some(50.0) };
        let run = |score: f64| Outcome {
            data: 0,
            configs: [String::new(), String::new()],
            parameters: 1000,
            updates: 30,
            seconds: 2.0,
            quality: Quality {
                lines: 100,
                loss: 0.0,
                metric: Metric::Bleu,
                score,
                token_accuracy: Some(50.0),
                longest: 45,
                by_length: vec![of_bin(0, 4.0, 2.0 * score), of_bin(8, 43.0, score / 2.0)],
                by_part: Vec::new(),
            },
        };
        Entry {
            name: name.to_owned(),
            config: config.parse().unwrap(),
            runs: scores.iter().copied().map(run).collect(),
            times: None,
            failed: None,
        }
    }

    /// Scores 10 and 12 have the mean 11 and the deviation √2; e^0 = 1.
    #[test]
    fn tables_by_hand() {
        let mut timed = entry("a", "", &[10.0, 12.0]);
        timed.times = Some(Times {
            config: String::new(),
            device: "cpu".to_owned(),
            tokens_per_second: vec![1000.0, 1200.0],
            sources: 8,
            costs: Vec::new(),
        });
        let mut half = entry("half", "", &[10.0]);
        half.failed = Some(Failed { message: "the disk is full".to_owned(), hint: None });
        let mut refused = entry("b|c", "", &[]);
        refused.failed = Some(Failed { message: "no such kind".to_owned(), hint: None });
        let table = Table::of(&[timed, half, refused, entry("waits", "", &[])]);
        let markdown = "\
| model | parameters | updates | seconds | tokens/s | perplexity | BLEU | tokens right, % |
|---|--:|--:|--:|--:|--:|--:|--:|
| a | 1000 | 30 | 2 ± 0 | 1100 ± 141 | 1.00 ± 0.00 | 11.0 ± 1.4 | 50.0 ± 0.0 |
| half | 1000 | 30 | 2 | – | 1.00 | 10.0 | 50.0 |
| half | failed: the disk is full |
| b\\|c | failed: no such kind |
| waits | – | – | – | – | – | – | – |
";
        assert_eq!(table.to_markdown(), markdown);
        let terminal = "\
model  parameters  updates  seconds    tokens/s   perplexity        BLEU  tokens right, %
a            1000       30    2 ± 0  1100 ± 141  1.00 ± 0.00  11.0 ± 1.4       50.0 ± 0.0
half         1000       30        2           –         1.00        10.0             50.0
half   failed: the disk is full
b|c    failed: no such kind
waits           –        –        –           –            –           –                –
";
        assert_eq!(table.to_terminal(), terminal);
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(json["metric"], "bleu");
        assert_eq!(json["rows"][0]["score"]["mean"], 11.0);
        assert_eq!(json["rows"][2]["failed"], "no such kind");
    }
}
