//! A heatmap in characters.

use super::{Colour, Heatmap};
use crate::label::Label;

/// Labels are cut at so many columns.
const LABEL: usize = 20;

/// Each cell has two columns.
const CELL: usize = 2;

/// From no weight to all of it. The lowest is a dot, so that the eye can follow a row.
const SHADES: [&str; 5] = ["· ", "░░", "▒▒", "▓▓", "██"];

/// Backgrounds from dark to bright, as in the colour map viridis.
const BACKGROUNDS: [u8; 6] = [53, 60, 30, 36, 113, 226];

/// Weights below this are shown as none.
const FAINT: f32 = 0.05;

pub(super) fn draw(heatmap: &Heatmap, width: usize, colour: Colour) -> String {
    if heatmap.is_empty() {
        return "(nothing to show)\n".to_owned();
    }
    let longest = LABEL.min(width / 3).max(4);
    let labels =
        |tokens: &[String]| tokens.iter().map(|token| Label::new(token, longest)).collect::<Vec<_>>();
    let (source, target) = (labels(&heatmap.source), labels(&heatmap.target));
    let left = target.iter().map(Label::columns).max().unwrap_or(0) + 1;

    let mut text = String::new();
    let mut first = 0;
    while first < source.len() {
        if first > 0 {
            text.push('\n');
        }
        let count = fitting(&source[first..], width.saturating_sub(left));
        header(&mut text, &source[first..first + count], left);
        for (row, label) in target.iter().enumerate() {
            text.push_str(&" ".repeat(left - 1 - label.columns()));
            text.push_str(&label.text);
            text.push(' ');
            for column in first..first + count {
                text.push_str(&cell(heatmap.weight(row, column), colour));
            }
            end_line(&mut text);
        }
        first += count;
    }
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

fn cell(weight: Option<f32>, colour: Colour) -> String {
    let Some(weight) = weight else { return "? ".to_owned() };
    if weight < FAINT {
        return SHADES[0].to_owned();
    }
    // The steps above the faintest are equal.
    let step = |count: usize| (((weight - FAINT) / (1.0 - FAINT) * count as f32) as usize).min(count - 1);
    match colour {
        Colour::None => SHADES[1 + step(SHADES.len() - 1)].to_owned(),
        Colour::Ansi256 => format!("\x1b[48;5;{}m  \x1b[0m", BACKGROUNDS[step(BACKGROUNDS.len())]),
    }
}

fn end_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}
