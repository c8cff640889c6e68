//! Where a model looks: a row of weights for each target token, with one for each source token.

mod heatmap;
mod heatmap_terminal;
mod lines;
mod lines_terminal;

use crate::label::{Label, end_line};
use crate::svg::{Background, open};
use thiserror::Error;

/// The attention of a model while it wrote one sequence.
///
/// Weights below 0 are shown as 0, and those above 1 as 1; what is not a number is shown as `?`, and has no line.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// What was read, a label for each place that a model can look at.
    pub source: Vec<String>,
    /// What was written.
    pub target: Vec<String>,
    /// A row for each target token, with a weight for each source token.
    pub weights: Vec<Vec<f32>>,
}

/// How attention is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// A row for each target token, a column for each source token: the more weight, the darker a cell.
    #[default]
    Heatmap,
    /// The source beside the target, with lines between: the more weight, the thicker a line.
    Lines,
}

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Characters alone.
    None,
    /// The 256 colors of xterm.
    Ansi256,
}

/// The weights do not fit the labels.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "attention of {target} target and {source_count} source tokens, but {} rows of weights with {columns:?} columns",
    columns.len()
)]
pub struct ShapeError {
    target: usize,
    source_count: usize,
    columns: Vec<usize>,
}

/// Labels are cut at so many columns of a terminal, which is about ten ems.
const LABEL: usize = 20;

impl Attention {
    /// An SVG file.
    ///
    /// In a heatmap, a weight stands in its cell where it is 0.1 or more and there is room. Cells and lines have a title with
    /// both labels and the weight, which browsers show at the pointer.
    ///
    /// # Panics
    ///
    /// If the weights do not fit the labels; [`Attention::check`] says so without.
    pub fn to_svg(&self, view: View, background: Background) -> String {
        self.must_fit();
        if self.is_empty() {
            return nothing(background);
        }
        match view {
            View::Heatmap => heatmap::draw(self, background),
            View::Lines => lines::draw(self, background),
        }
    }

    /// Lines of text, at most `width` columns long, each with a line break at its end.
    ///
    /// A cell of a heatmap is two columns wide. Where the source does not fit, it goes on in another panel below. At least
    /// one source token and a few columns of labels are shown in each, even where `width` is too small for them.
    ///
    /// # Panics
    ///
    /// If the weights do not fit the labels; [`Attention::check`] says so without.
    pub fn to_terminal(&self, view: View, width: usize, color: Color) -> String {
        self.must_fit();
        if self.is_empty() {
            return "(nothing to show)\n".to_owned();
        }
        match view {
            View::Heatmap => heatmap_terminal::draw(self, width, color),
            View::Lines => lines_terminal::draw(self, width, color),
        }
    }

    /// Whether there is a row of weights for each target token, and in it a weight for each source token.
    pub fn check(&self) -> Result<(), ShapeError> {
        let (rows, columns) = (self.target.len(), self.source.len());
        if self.weights.len() == rows && self.weights.iter().all(|row| row.len() == columns) {
            return Ok(());
        }
        let found = self.weights.iter().map(Vec::len).collect();
        Err(ShapeError { target: rows, source_count: columns, columns: found })
    }

    fn must_fit(&self) {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
    }

    fn is_empty(&self) -> bool {
        self.source.is_empty() || self.target.is_empty()
    }

    /// A weight between 0 and 1, or none where it is not a number.
    fn weight(&self, row: usize, column: usize) -> Option<f32> {
        let weight = self.weights[row][column];
        // Adding zero makes −0 a plain 0.
        if weight.is_nan() { None } else { Some(weight.clamp(0.0, 1.0) + 0.0) }
    }

    /// The labels of source and target, of at most so many columns of a terminal.
    fn labels(&self, columns: usize) -> [Vec<Label>; 2] {
        [&self.source, &self.target]
            .map(|tokens| tokens.iter().map(|token| Label::new(token, columns)).collect())
    }

    /// For those who cannot see the picture.
    fn description(&self) -> String {
        let [source, target] =
            self.labels(LABEL).map(|labels| labels.into_iter().map(|label| label.text).collect::<Vec<_>>());
        format!(
            "Attention: where the model looked in “{}” as it wrote “{}”",
            source.join(" "),
            target.join(" ")
        )
    }
}

fn nothing(background: Background) -> String {
    let mut svg = String::new();
    open(&mut svg, [160, 48], "No attention", background);
    svg.push_str(
        "<text class=\"text\" x=\"80\" y=\"29\" text-anchor=\"middle\">nothing to show</text>\n</svg>\n",
    );
    svg
}

/// The title of a cell or a line, escaped.
fn title(source: &Label, target: &Label, weight: f32) -> String {
    crate::svg::escape(&format!("{} → {}: {weight:.2}", source.text, target.text))
}

/// What the signs of a picture in a terminal mean, as its last line, if there is room for it. A sign stands for weights from this
/// one up to the next.
fn key_line(text: &mut String, left: usize, width: usize, samples: &[(f32, String)]) {
    let parts: Vec<String> = samples.iter().map(|(from, sample)| format!("{sample} ≥ {from}")).collect();
    // A sample is two columns wide, whatever colors it holds.
    let columns: usize = samples.iter().map(|(from, _)| format!("   ≥ {from}  ").chars().count()).sum();
    if left + columns <= width {
        text.push_str(&" ".repeat(left));
        text.push_str(&parts.join("  "));
        end_line(text);
    } else {
        text.truncate(text.trim_end_matches('\n').len() + 1);
    }
}

#[cfg(test)]
mod tests;
