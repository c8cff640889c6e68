//! A heatmap in characters.

use super::{Attention, Color, LABEL};
use crate::label::{Label, end_line};

/// Each cell has two columns.
const CELL: usize = 2;

/// Below all steps: a dot, so that the eye can follow a row.
const NONE: &str = "· ";

/// From which weight on a cell is how dark.
const SHADES: [(f32, &str); 4] = [(0.05, "░░"), (0.25, "▒▒"), (0.5, "▓▓"), (0.75, "██")];

/// From which weight on a cell has which background: dark to bright, as in the color map viridis.
const BACKGROUNDS: [(f32, u8); 6] = [(0.05, 53), (0.1, 60), (0.2, 30), (0.4, 36), (0.6, 113), (0.8, 226)];

pub(super) fn draw(attention: &Attention, width: usize, color: Color) -> String {
    let [source, target] = attention.labels(LABEL.min(width / 3).max(4));
    let left = target.iter().map(Label::columns).max().unwrap_or(0) + 1;

    let mut text = String::new();
    let mut first = 0;
    while first < source.len() {
        let count = fitting(&source[first..], width.saturating_sub(left));
        header(&mut text, &source[first..first + count], left);
        for (row, label) in target.iter().enumerate() {
            text.push_str(&" ".repeat(left - 1 - label.columns()));
            text.push_str(&label.text);
            text.push(' ');
            for column in first..first + count {
                text.push_str(&cell(attention.weight(row, column), color));
            }
            end_line(&mut text);
        }
        text.push('\n');
        first += count;
    }
    key(&mut text, left, width, color);
    text
}

/// How many columns fit side by side: each label stands two columns to the right of the one before, behind a corner.
fn fitting(labels: &[Label], width: usize) -> usize {
    let fits = |(place, label): &(usize, &Label)| CELL * (place + 1) + label.columns() <= width;
    labels.iter().enumerate().take_while(fits).count().max(1)
}

/// The labels of the columns: a stair that goes down to the right, with a line from each step to its column.
fn header(text: &mut String, labels: &[Label], left: usize) {
    for (place, label) in labels.iter().enumerate() {
        text.push_str(&" ".repeat(left));
        text.push_str(&"│ ".repeat(place));
        text.push_str("╭ ");
        text.push_str(&label.text);
        end_line(text);
    }
}

fn cell(weight: Option<f32>, color: Color) -> String {
    let Some(weight) = weight else { return "? ".to_owned() };
    match color {
        Color::None => step(&SHADES, weight).map_or(NONE, |shade| shade).to_owned(),
        Color::Ansi256 => step(&BACKGROUNDS, weight).map_or_else(|| NONE.to_owned(), background),
    }
}

/// The last step that a weight reaches.
fn step<T: Copy>(steps: &[(f32, T)], weight: f32) -> Option<T> {
    steps.iter().take_while(|(from, _)| weight >= *from).last().map(|&(_, what)| what)
}

fn background(number: u8) -> String {
    format!("\x1b[48;5;{number}m  \x1b[0m")
}

/// What the shades mean, if there is room for it.
fn key(text: &mut String, left: usize, width: usize, color: Color) {
    let samples: Vec<(f32, String)> = match color {
        Color::None => SHADES.map(|(from, shade)| (from, shade.to_owned())).to_vec(),
        Color::Ansi256 => BACKGROUNDS.map(|(from, number)| (from, background(number))).to_vec(),
    };
    super::key_line(text, left, width, &samples);
}
