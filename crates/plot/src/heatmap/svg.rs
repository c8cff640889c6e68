//! A heatmap as SVG.

use super::Heatmap;
use crate::label::Label;
use crate::svg::{FONTS, escape, line, write};

/// Labels are cut at so many columns of a terminal, which is about ten ems.
const LABEL: usize = 20;

/// Room around the picture.
const PAD: f32 = 16.0;

/// Room between the labels and the cells.
const GAP: f32 = 8.0;

/// The sine, and the cosine, of the labels' angle where they are slanted.
const SLANT: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// Weights below this leave their cell empty.
const FAINT: f32 = 0.005;

/// Attributes hold the light colours, which every program understands; style sheets are for those that know dark mode.
const DARK: &str = "<style>@media (prefers-color-scheme: dark) { \
     .card { fill: #0d1117 } .grid { fill: #1c2128 } .rule { stroke: #0d1117 } .cell { fill: #4c9ffe } \
     .label, .low { fill: #e6edf3 } .high { fill: #06121f } }</style>";

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
            _ => Self { cell: 18.0, label: 11.0, number: None },
        }
    }
}

pub(super) fn draw(heatmap: &Heatmap) -> String {
    if heatmap.is_empty() {
        return empty();
    }
    let labels = |tokens: &[String]| tokens.iter().map(|token| Label::new(token, LABEL)).collect::<Vec<_>>();
    let (source, target) = (labels(&heatmap.source), labels(&heatmap.target));
    let scale = Scale::new(source.len().max(target.len()));
    let layout = Layout::new(&scale, &source, &target);

    let mut svg = String::new();
    open(&mut svg, layout.width, layout.height, &description(heatmap));
    source_labels(&mut svg, &scale, &layout, &source);
    target_labels(&mut svg, &scale, &layout, &target);
    cells(&mut svg, &scale, &layout, heatmap, [&source, &target]);
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
        let width = (left + columns as f32 * scale.cell + beyond + PAD).ceil();
        let height = top + rows as f32 * scale.cell + PAD;
        Self { left, top, columns, rows, slanted, width, height }
    }
}

fn empty() -> String {
    let mut svg = String::new();
    open(&mut svg, 160.0, 48.0, "An empty heatmap");
    svg.push_str("<text class=\"label\" x=\"80\" y=\"29\" font-size=\"13\" text-anchor=\"middle\">nothing to show</text>\n</svg>\n");
    svg
}

/// For those who cannot see the picture.
fn description(heatmap: &Heatmap) -> String {
    let line = |tokens: &[String]| {
        let line = tokens.iter().map(|token| Label::new(token, LABEL).text).collect::<Vec<_>>();
        line.join(" ")
    };
    format!(
        "Attention: where the model looked in “{}” as it wrote “{}”",
        line(&heatmap.source),
        line(&heatmap.target)
    )
}

fn open(svg: &mut String, width: f32, height: f32, description: &str) {
    let description = escape(description);
    line(
        svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{description}\" \
             font-family=\"{FONTS}\" fill=\"#1f2328\">"
        ),
    );
    line(svg, format_args!("{DARK}"));
    line(
        svg,
        format_args!(
            "<rect class=\"card\" width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#ffffff\"/>"
        ),
    );
}

fn source_labels(svg: &mut String, scale: &Scale, layout: &Layout, labels: &[Label]) {
    let anchor = if layout.slanted { "start" } else { "middle" };
    line(svg, format_args!("<g class=\"label\" font-size=\"{}\" text-anchor=\"{anchor}\">", scale.label));
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
    line(svg, format_args!("<g class=\"label\" font-size=\"{}\" text-anchor=\"end\">", scale.label));
    for (row, label) in labels.iter().enumerate() {
        let y = layout.top + (row as f32 + 0.5) * scale.cell + 0.35 * scale.label;
        text(svg, format_args!("x=\"{}\" y=\"{y:.1}\"", layout.left - GAP), label);
    }
    line(svg, format_args!("</g>"));
}

fn text(svg: &mut String, place: std::fmt::Arguments<'_>, label: &Label) {
    let title =
        label.full.as_ref().map_or_else(String::new, |full| format!("<title>{}</title>", escape(full)));
    line(svg, format_args!("<text {place}>{title}{}</text>", escape(&label.text)));
}

/// The cells that have a weight, lines between all cells, and the numbers above both.
fn cells(
    svg: &mut String,
    scale: &Scale,
    layout: &Layout,
    heatmap: &Heatmap,
    [source, target]: [&[Label]; 2],
) {
    let Layout { left, top, columns, rows, .. } = *layout;
    let (width, height) = (columns as f32 * scale.cell, rows as f32 * scale.cell);
    let size = format!("width=\"{}\" height=\"{}\"", scale.cell, scale.cell);
    let mut numbers = String::new();
    line(
        svg,
        format_args!(
            "<rect class=\"grid\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#f0f3f6\"/>"
        ),
    );
    line(svg, format_args!("<g class=\"cell\" fill=\"#0b5fd6\">"));
    for row in 0..rows {
        for column in 0..columns {
            let (x, y) = (left + column as f32 * scale.cell, top + row as f32 * scale.cell);
            let weight = heatmap.weight(row, column);
            if let Some(weight) = weight.filter(|&weight| weight >= FAINT) {
                let title = format!("{} → {}: {weight:.2}", source[column].text, target[row].text);
                let title = escape(&title);
                line(
                    svg,
                    format_args!(
                        "<rect x=\"{x}\" y=\"{y}\" {size} fill-opacity=\"{weight:.3}\"><title>{title}</title></rect>"
                    ),
                );
            }
            number(&mut numbers, scale, [x, y], weight);
        }
    }
    line(svg, format_args!("</g>"));
    rules(svg, scale, layout);
    let size = scale.number.unwrap_or(scale.label);
    // A pointer passes through the numbers to the cells, which have the titles.
    line(svg, format_args!("<g font-size=\"{size}\" text-anchor=\"middle\" pointer-events=\"none\">"));
    svg.push_str(&numbers);
    line(svg, format_args!("</g>"));
}

fn number(numbers: &mut String, scale: &Scale, [x, y]: [f32; 2], weight: Option<f32>) {
    let size = scale.number.unwrap_or(scale.label);
    let shown = match (weight, scale.number) {
        (None, _) => "?".to_owned(),
        (Some(weight), Some(_)) if weight >= 0.1 => format!("{weight:.2}"),
        _ => return,
    };
    let (class, fill) = if weight.unwrap_or(0.0) > 0.5 { ("high", "#ffffff") } else { ("low", "#1f2328") };
    let (x, y) = (x + 0.5 * scale.cell, y + 0.5 * scale.cell + 0.35 * size);
    line(
        numbers,
        format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y:.1}\" fill=\"{fill}\">{shown}</text>"),
    );
}

/// The lines between the cells.
fn rules(svg: &mut String, scale: &Scale, layout: &Layout) {
    let Layout { left, top, columns, rows, .. } = *layout;
    let (right, bottom) = (left + columns as f32 * scale.cell, top + rows as f32 * scale.cell);
    let mut path = String::new();
    for column in 1..columns {
        write(&mut path, format_args!("M{} {top}V{bottom}", left + column as f32 * scale.cell));
    }
    for row in 1..rows {
        write(&mut path, format_args!("M{left} {}H{right}", top + row as f32 * scale.cell));
    }
    line(svg, format_args!("<path class=\"rule\" d=\"{path}\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>"));
}
