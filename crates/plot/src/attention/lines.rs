//! Alignment lines as SVG: the source on the left, the target on the right.

use super::{Attention, LABEL, title};
use crate::label::{Label, text};
use crate::svg::{Background, COLORS, FAINT_INK, line, open};

/// Room around the picture.
const PAD: f32 = 16.0;

/// Room between the labels and the lines.
const GAP: f32 = 8.0;

/// The key below the lines: a line for each of these weights, so long, so far apart.
const KEY: [f32; 3] = [0.1, 0.5, 1.0];
const SAMPLE: f32 = 24.0;
const SAMPLE_PITCH: f32 = 60.0;
const KEY_HEIGHT: f32 = 34.0;

/// Sizes that depend on how many tokens there are.
struct Scale {
    label: f32,
    /// From one token to the next.
    pitch: f32,
    /// How thick the line of a weight of 1 is.
    thickest: f32,
    /// Weights below this have no line: the more lines there are, the less the thin ones say.
    faint: f32,
}

impl Scale {
    fn new(tokens: usize) -> Self {
        match tokens {
            0..=16 => Self { label: 15.0, pitch: 32.0, thickest: 10.0, faint: 0.02 },
            17..=44 => Self { label: 13.0, pitch: 24.0, thickest: 8.0, faint: 0.02 },
            45..=120 => Self { label: 12.0, pitch: 18.0, thickest: 7.0, faint: 0.05 },
            _ => Self { label: 9.0, pitch: 13.0, thickest: 5.0, faint: 0.05 },
        }
    }
}

/// Where things are.
struct Layout {
    /// Where lines begin and end.
    left: f32,
    right: f32,
    top: f32,
    /// The height of the longer side; the shorter one is spread over it.
    tall: f32,
    width: f32,
    height: f32,
}

impl Layout {
    fn new(scale: &Scale, source: &[Label], target: &[Label]) -> Self {
        let longest =
            |labels: &[Label]| labels.iter().map(|label| label.ems() * scale.label).fold(0.0, f32::max);
        let tall = source.len().max(target.len()) as f32 * scale.pitch;
        let left = (PAD + longest(source) + GAP).ceil();
        let right = left + (0.6 * tall).clamp(180.0, 360.0).round();
        let width = (right + GAP + longest(target) + PAD).ceil();
        Self { left, right, top: PAD, tall, width, height: PAD + tall + KEY_HEIGHT + PAD }
    }

    /// The height at which one of so many tokens is.
    fn place(&self, token: usize, of: usize) -> f32 {
        self.top + (token as f32 + 0.5) * self.tall / of as f32
    }
}

pub(super) fn draw(attention: &Attention, background: Background) -> String {
    let [source, target] = attention.labels(LABEL);
    let scale = Scale::new(source.len().max(target.len()));
    let layout = Layout::new(&scale, &source, &target);

    let mut svg = String::new();
    open(&mut svg, [layout.width, layout.height], &attention.description(), background);
    lines(&mut svg, &scale, &layout, attention, [&source, &target]);
    labels(&mut svg, &scale, &layout, &source, ["end", &(layout.left - GAP).to_string()]);
    labels(&mut svg, &scale, &layout, &target, ["start", &(layout.right + GAP).to_string()]);
    key(&mut svg, &scale, &layout);
    svg.push_str("</svg>\n");
    svg
}

fn labels(svg: &mut String, scale: &Scale, layout: &Layout, labels: &[Label], [anchor, x]: [&str; 2]) {
    line(svg, format_args!("<g class=\"text\" font-size=\"{}\" text-anchor=\"{anchor}\">", scale.label));
    for (token, label) in labels.iter().enumerate() {
        let y = layout.place(token, labels.len()) + 0.35 * scale.label;
        text(svg, format_args!("x=\"{x}\" y=\"{y:.1}\""), label);
    }
    line(svg, format_args!("</g>"));
}

/// A line for each weight, all those of a target token in one color. Lines leave and arrive level, so that one sees whose they
/// are; where many cross, thin ones lie above thick ones.
fn lines(
    svg: &mut String,
    scale: &Scale,
    layout: &Layout,
    attention: &Attention,
    [source, target]: [&[Label]; 2],
) {
    let mut heaviest_first: Vec<(f32, usize, usize)> = (0..target.len())
        .flat_map(|row| (0..source.len()).map(move |column| (row, column)))
        .filter_map(|(row, column)| Some((attention.weight(row, column)?, row, column)))
        .filter(|&(weight, ..)| weight >= scale.faint)
        .collect();
    heaviest_first.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (left, right) = (layout.left, layout.right);
    let middle = (left + right) / 2.0;
    line(svg, format_args!("<g fill=\"none\" stroke-opacity=\"0.7\">"));
    for (weight, row, column) in heaviest_first {
        let (from, to) = (layout.place(column, source.len()), layout.place(row, target.len()));
        let color = row % COLORS.len();
        line(
            svg,
            format_args!(
                "<path class=\"s{color}\" d=\"M{left} {from:.1}C{middle} {from:.1} {middle} {to:.1} {right} {to:.1}\" \
                 stroke=\"{}\" stroke-width=\"{:.2}\"><title>{}</title></path>",
                COLORS[color],
                weight * scale.thickest,
                title(&source[column], &target[row], weight)
            ),
        );
    }
    line(svg, format_args!("</g>"));
}

/// What the lines' thickness means.
fn key(svg: &mut String, scale: &Scale, layout: &Layout) {
    let wide = SAMPLE_PITCH * KEY.len() as f32 - 12.0;
    let left = (layout.left + layout.right - wide) / 2.0;
    let y = layout.height - PAD - 6.0;
    line(svg, format_args!("<g class=\"note\" fill=\"{FAINT_INK}\">"));
    for (place, weight) in KEY.into_iter().enumerate() {
        let x = left + place as f32 * SAMPLE_PITCH;
        line(
            svg,
            format_args!(
                "<path class=\"s0\" d=\"M{x} {y}h{SAMPLE}\" stroke=\"{}\" stroke-opacity=\"0.7\" stroke-width=\"{:.2}\"/>",
                COLORS[0],
                weight * scale.thickest
            ),
        );
        line(svg, format_args!("<text x=\"{}\" y=\"{}\">{weight}</text>", x + SAMPLE + 5.0, y + 4.0));
    }
    line(svg, format_args!("</g>"));
}
