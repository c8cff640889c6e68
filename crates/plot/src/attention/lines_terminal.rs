//! Alignment lines in characters: the source on the left, the target on the right, lines of braille dots between.

use super::{Attention, Color, LABEL};
use crate::braille::{Canvas, Pen};
use crate::label::{Label, end_line};

/// The lines are at most so many columns long.
const LONGEST: usize = 36;

/// Up to so many tokens have an empty line between each other.
const AIRY: usize = 40;

/// From which weight on a line is how thick.
const PENS: [(f32, Pen); 4] =
    [(0.1, Pen::Dotted), (0.25, Pen::Solid(1)), (0.5, Pen::Solid(2)), (0.75, Pen::Solid(3))];

/// The colors of the target's tokens, in turn: they can be told apart on black and on white.
const COLORS: [u8; 6] = [33, 166, 35, 134, 160, 37];

pub(super) fn draw(attention: &Attention, width: usize, color: Color) -> String {
    let labels = attention.labels(LABEL.min(width / 3).max(4));
    let [left, right] = labels.each_ref().map(|of| of.iter().map(Label::columns).max().unwrap_or(0));
    let columns = width.saturating_sub(left + right + 2).clamp(1, LONGEST);
    let [source, target] = &labels;
    let tokens = source.len().max(target.len());
    let rows = if tokens <= AIRY { 2 * tokens - 1 } else { tokens };

    let mut canvas = Canvas::new(columns, rows);
    for (weight, row, column) in lightest_first(attention) {
        let Some((_, pen)) = PENS.into_iter().rev().find(|(from, _)| weight >= *from) else { continue };
        canvas.line(place(column, source.len(), rows), place(row, target.len(), rows), pen, row);
    }
    let mut text = String::new();
    for row in 0..rows {
        let label_at =
            |labels: &[Label]| (0..labels.len()).find(|&token| place(token, labels.len(), rows) == row);
        if let Some(token) = label_at(source) {
            text.push_str(&" ".repeat(left - source[token].columns()));
            text.push_str(&source[token].text);
        } else {
            text.push_str(&" ".repeat(left));
        }
        text.push(' ');
        let painted = |shown: &str, owner: Option<usize>| match (color, owner) {
            (Color::Ansi256, Some(owner)) => {
                format!("\x1b[38;5;{}m{shown}\x1b[0m", COLORS[owner % COLORS.len()])
            }
            _ => shown.to_owned(),
        };
        for column in 0..columns {
            let (shown, owner) = canvas.cell(column, row);
            text.push_str(&painted(&shown.to_string(), owner));
        }
        if let Some(token) = label_at(target) {
            text.push(' ');
            text.push_str(&painted(&target[token].text, Some(token)));
        }
        end_line(&mut text);
    }
    text.push('\n');
    let samples = PENS.map(|(from, pen)| (from, sample(pen)));
    super::key_line(&mut text, left + 1, width, &samples);
    text
}

/// The row of one of so many tokens: the shorter side is spread over the height of the longer.
fn place(token: usize, of: usize, rows: usize) -> usize {
    (2 * token + 1) * rows / (2 * of)
}

/// All weights with their row and column; where lines cross, the heavier one has the color.
fn lightest_first(attention: &Attention) -> Vec<(f32, usize, usize)> {
    let (rows, columns) = (attention.target.len(), attention.source.len());
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let mut weights: Vec<_> =
        places.filter_map(|(row, column)| Some((attention.weight(row, column)?, row, column))).collect();
    weights.sort_by(|a, b| a.0.total_cmp(&b.0));
    weights
}

/// A short level line.
fn sample(pen: Pen) -> String {
    let mut canvas = Canvas::new(2, 1);
    canvas.line(0, 0, pen, 0);
    (0..2).map(|column| canvas.cell(column, 0).0).collect()
}
