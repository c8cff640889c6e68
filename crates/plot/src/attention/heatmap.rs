//! A heatmap as SVG.

use super::{Attention, LABEL, title};
use crate::label::{Label, text};
use crate::svg::{Background, COLORS, FAINT_INK, INK, line, open, write};

/// Room around the picture.
const PAD: f32 = 16.0;

/// Room between the labels and the cells.
const GAP: f32 = 8.0;

/// The sine, and the cosine, of the labels' angle where they are slanted.
const SLANT: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// Weights below this leave their cell empty.
const FAINT: f32 = 0.005;

/// The key below the cells: a swatch of this size for each of these weights, with the first and the last beside them.
const KEY: [f32; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
const SWATCH: [f32; 2] = [18.0, 12.0];
const KEY_WIDTH: f32 = 126.0;
const KEY_HEIGHT: f32 = 28.0;

/// Sizes that depend on how many tokens there are.
struct Scale {
    cell: f32,
    label: f32,
    /// The size of the numbers in the cells, where there is room for them.
    number: Option<f32>,
}

impl Scale {
    fn new(tokens: usize) -> Self {
        match tokens {
            0..=16 => Self { cell: 40.0, label: 15.0, number: Some(12.0) },
            17..=28 => Self { cell: 32.0, label: 13.0, number: Some(10.5) },
            29..=44 => Self { cell: 24.0, label: 12.0, number: None },
            45..=120 => Self { cell: 18.0, label: 11.0, number: None },
            _ => Self { cell: 13.0, label: 9.0, number: None },
        }
    }
}

pub(super) fn draw(attention: &Attention, background: Background) -> String {
    let [source, target] = attention.labels(LABEL);
    let scale = Scale::new(source.len().max(target.len()));
    let layout = Layout::new(&scale, &source, &target);

    let mut svg = String::new();
    open(&mut svg, [layout.width, layout.height], &attention.description(), background);
    source_labels(&mut svg, &scale, &layout, &source);
    target_labels(&mut svg, &scale, &layout, &target);
    cells(&mut svg, &scale, &layout, attention, [&source, &target]);
    key(&mut svg, &layout);
    svg.push_str("</svg>\n");
    svg
}

/// Where things are.
struct Layout {
    /// The corner of the first cell.
    left: f32,
    top: f32,
    columns: usize,
    rows: usize,
    /// Whether the source labels are too long to stand upright above their cells.
    slanted: bool,
    width: f32,
    height: f32,
}

impl Layout {
    fn new(scale: &Scale, source: &[Label], target: &[Label]) -> Self {
        let long = |label: &Label| label.ems() * scale.label;
        let longest = |labels: &[Label]| labels.iter().map(long).fold(0.0, f32::max);
        let slanted = longest(source) > scale.cell - 4.0;
        // A slanted label begins in the middle of its cell and goes up and to the right.
        let (above, beyond) = if slanted {
            let end =
                |(column, label)| (column as f32 + 0.5) * scale.cell + (long(label) + scale.label) * SLANT;
            let rightmost = source.iter().enumerate().map(end).fold(0.0, f32::max);
            let beyond = rightmost - source.len() as f32 * scale.cell;
            ((longest(source) + scale.label) * SLANT, f32::max(beyond, 0.0))
        } else {
            (scale.label, 0.0)
        };
        let left = (PAD + longest(target) + GAP).ceil();
        let top = (PAD + above + GAP).ceil();
        let (columns, rows) = (source.len(), target.len());
        let across = (columns as f32 * scale.cell + beyond).max(KEY_WIDTH);
        let width = (left + across + PAD).ceil();
        let height = top + rows as f32 * scale.cell + KEY_HEIGHT + PAD;
        Self { left, top, columns, rows, slanted, width, height }
    }
}

fn source_labels(svg: &mut String, scale: &Scale, layout: &Layout, labels: &[Label]) {
    let anchor = if layout.slanted { "start" } else { "middle" };
    line(svg, format_args!("<g class=\"text\" font-size=\"{}\" text-anchor=\"{anchor}\">", scale.label));
    for (column, label) in labels.iter().enumerate() {
        let x = layout.left + (column as f32 + 0.5) * scale.cell;
        let y = layout.top - GAP;
        if layout.slanted {
            // Turned about its beginning, the text leans over to the right of the cell's middle.
            let x = x + 0.25 * scale.label;
            text(svg, format_args!("transform=\"translate({x} {y}) rotate(-45)\""), label);
        } else {
            text(svg, format_args!("x=\"{x}\" y=\"{y}\""), label);
        }
    }
    line(svg, format_args!("</g>"));
}

fn target_labels(svg: &mut String, scale: &Scale, layout: &Layout, labels: &[Label]) {
    line(svg, format_args!("<g class=\"text\" font-size=\"{}\" text-anchor=\"end\">", scale.label));
    for (row, label) in labels.iter().enumerate() {
        let y = layout.top + (row as f32 + 0.5) * scale.cell + 0.35 * scale.label;
        text(svg, format_args!("x=\"{}\" y=\"{y:.1}\"", layout.left - GAP), label);
    }
    line(svg, format_args!("</g>"));
}

/// The cells that have a weight, lines between all cells, and the numbers above both.
fn cells(
    svg: &mut String,
    scale: &Scale,
    layout: &Layout,
    attention: &Attention,
    [source, target]: [&[Label]; 2],
) {
    let Layout { left, top, columns, rows, .. } = *layout;
    let (width, height) = (columns as f32 * scale.cell, rows as f32 * scale.cell);
    let mut numbers = String::new();
    line(
        svg,
        format_args!(
            "<rect class=\"grid\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#f0f3f6\"/>"
        ),
    );
    line(svg, format_args!("<g class=\"f0\" fill=\"{}\">", COLORS[0]));
    for row in 0..rows {
        for column in 0..columns {
            let (x, y) = (left + column as f32 * scale.cell, top + row as f32 * scale.cell);
            let weight = attention.weight(row, column);
            if let Some(weight) = weight.filter(|&weight| weight >= FAINT) {
                let title = title(&source[column], &target[row], weight);
                let side = scale.cell;
                line(
                    svg,
                    format_args!(
                        "<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" fill-opacity=\"{}\"><title>{title}</title></rect>",
                        opacity(weight)
                    ),
                );
            }
            number(&mut numbers, scale, [x, y], weight);
        }
    }
    line(svg, format_args!("</g>"));
    gaps(svg, scale, layout);
    let size = scale.number.unwrap_or(scale.label);
    // A pointer passes through the numbers to the cells, which have the titles.
    line(svg, format_args!("<g font-size=\"{size}\" text-anchor=\"middle\" pointer-events=\"none\">"));
    svg.push_str(&numbers);
    line(svg, format_args!("</g>"));
}

/// A weight to three places, without zeros behind.
fn opacity(weight: f32) -> f32 {
    (weight * 1000.0).round() / 1000.0
}

fn number(numbers: &mut String, scale: &Scale, [x, y]: [f32; 2], weight: Option<f32>) {
    let size = scale.number.unwrap_or(scale.label);
    let shown = match (weight, scale.number) {
        (None, _) => "?".to_owned(),
        (Some(weight), Some(_)) if weight >= 0.1 => format!("{weight:.2}"),
        _ => return,
    };
    // Whichever can be read better on the cell: its color is brighter on a dark page.
    let class = if weight.unwrap_or(0.0) < 0.65 { "low" } else { "high" };
    let fill = if weight.unwrap_or(0.0) < 0.8 { INK } else { "#ffffff" };
    let (x, y) = (x + 0.5 * scale.cell, y + 0.5 * scale.cell + 0.35 * size);
    line(
        numbers,
        format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y:.1}\" fill=\"{fill}\">{shown}</text>"),
    );
}

/// The lines between the cells.
fn gaps(svg: &mut String, scale: &Scale, layout: &Layout) {
    let Layout { left, top, columns, rows, .. } = *layout;
    let (right, bottom) = (left + columns as f32 * scale.cell, top + rows as f32 * scale.cell);
    let mut path = String::new();
    for column in 1..columns {
        write(&mut path, format_args!("M{} {top}V{bottom}", left + column as f32 * scale.cell));
    }
    for row in 1..rows {
        write(&mut path, format_args!("M{left} {}H{right}", top + row as f32 * scale.cell));
    }
    if !path.is_empty() {
        line(svg, format_args!("<path class=\"gap\" d=\"{path}\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>"));
    }
}

/// What the shades mean.
fn key(svg: &mut String, layout: &Layout) {
    let [width, height] = SWATCH;
    let (left, top) = (layout.left + 14.0, layout.height - PAD - height);
    let right = left + KEY.len() as f32 * width;
    let size = format!("height=\"{height}\" y=\"{top}\"");
    line(
        svg,
        format_args!(
            "<rect class=\"grid\" x=\"{left}\" {size} width=\"{}\" fill=\"#f0f3f6\"/>",
            right - left
        ),
    );
    line(svg, format_args!("<g class=\"f0\" fill=\"{}\">", COLORS[0]));
    for (place, weight) in KEY.into_iter().enumerate().skip(1) {
        let x = left + place as f32 * width;
        line(svg, format_args!("<rect x=\"{x}\" {size} width=\"{width}\" fill-opacity=\"{weight}\"/>"));
    }
    line(svg, format_args!("</g>"));
    line(svg, format_args!("<g class=\"note\" fill=\"{FAINT_INK}\">"));
    let y = top + height - 2.0;
    line(svg, format_args!("<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{}</text>", left - 5.0, KEY[0]));
    line(svg, format_args!("<text x=\"{}\" y=\"{y}\">{}</text>", right + 5.0, KEY[KEY.len() - 1]));
    line(svg, format_args!("</g>"));
}
