//! How numbers change over time: panels below each other, over one axis.

use crate::svg::{Background, COLOURS, INK, escape, line, open, write};

/// Some panels over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// What is shown.
    pub title: String,
    /// What the axis counts.
    pub axis: String,
    /// From top to bottom.
    pub panels: Vec<Panel>,
}

/// Curves of one kind of number.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What the numbers are.
    pub name: String,
    /// The curves.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is called.
    pub name: String,
    /// Where on the axis, and how much. A number that is not finite leaves a gap.
    pub points: Vec<[f64; 2]>,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 44.0;
/// A panel's own height, and what lies between two of them.
const PANEL: f64 = 170.0;
const GAP: f64 = 56.0;
const BOTTOM: f64 = 48.0;
/// About so many numbers stand at an axis.
const TICKS: f64 = 4.0;

/// The numbers between two ends, and round ones among them.
struct Range {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Range {
    /// From the least to the largest number, or around a single one.
    fn of(numbers: impl Iterator<Item = f64>) -> Range {
        let finite = numbers.filter(|x| x.is_finite());
        let (low, high) =
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = match (low <= high, low < high) {
            (false, _) => (0.0, 1.0),
            (true, true) => (low, high),
            (true, false) => (low - low.abs().max(1e-9) / 2.0, low + low.abs().max(1e-9) / 2.0),
        };
        let step = round_step((high - low) / TICKS);
        let first = (low / step).ceil() as i64;
        let ticks = (first..).map(|i| i as f64 * step).take_while(|&tick| tick <= high + step * 1e-6);
        Range { low, high, ticks: ticks.collect() }
    }

    fn place(&self, x: f64) -> f64 {
        (x - self.low) / (self.high - self.low)
    }

    fn step(&self) -> f64 {
        round_step((self.high - self.low) / TICKS)
    }
}

/// 1, 2 or 5 times a power of ten, not less than this.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

/// A number at an axis, with as many places as the step needs.
fn label(x: f64, step: f64) -> String {
    if x != 0.0 && step < 1e-3 {
        return format!("{x:.1e}");
    }
    let places = (-step.log10().floor()).max(0.0) as usize;
    format!("{x:.places$}")
}

impl Curves {
    /// An SVG file.
    pub fn to_svg(&self, background: Background) -> String {
        let rows = self.panels.len() as f64;
        let height = TOP + rows * PANEL + (rows - 1.0).max(0.0) * GAP + BOTTOM;
        let mut svg = String::new();
        open(&mut svg, [WIDTH, height], &self.title, background);
        let points = self.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
        let across = Range::of(points.map(|point| point[0]));
        for (row, panel) in self.panels.iter().enumerate() {
            let top = TOP + row as f64 * (PANEL + GAP);
            draw_panel(&mut svg, panel, &across, top);
        }
        let (middle, y) = ((LEFT + WIDTH - RIGHT) / 2.0, height - 12.0);
        text(&mut svg, &format!("x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\""), &escape(&self.axis));
        svg.push_str("</svg>\n");
        svg
    }
}

fn text(svg: &mut String, place: &str, escaped: &str) {
    line(svg, format_args!("<text class=\"text\" fill=\"{INK}\" {place}>{escaped}</text>"));
}

fn draw_panel(svg: &mut String, panel: &Panel, across: &Range, top: f64) {
    let points = || panel.series.iter().flat_map(|series| &series.points);
    let up = Range::of(points().map(|point| point[1]));
    let (width, bottom) = (WIDTH - LEFT - RIGHT, top + PANEL);
    let x = |at: f64| LEFT + across.place(at) * width;
    let y = |at: f64| bottom - up.place(at) * PANEL;
    let mut rules = String::new();
    for &tick in &up.ticks {
        write(&mut rules, format_args!("M{LEFT} {:.1}H{}", y(tick), WIDTH - RIGHT));
        let place = format!("x=\"{}\" y=\"{:.1}\" text-anchor=\"end\"", LEFT - 8.0, y(tick) + 4.0);
        text(svg, &place, &label(tick, up.step()));
    }
    for &tick in &across.ticks {
        write(&mut rules, format_args!("M{:.1} {bottom}v5", x(tick)));
        let place = format!("x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\"", x(tick), bottom + 18.0);
        text(svg, &place, &label(tick, across.step()));
    }
    line(svg, format_args!("<path class=\"rule\" d=\"{rules}\" stroke=\"#d0d7de\" fill=\"none\"/>"));
    let place = format!("x=\"{LEFT}\" y=\"{:.1}\" font-size=\"14\" font-weight=\"600\"", top - 12.0);
    text(svg, &place, &escape(&panel.name));
    for (i, series) in panel.series.iter().enumerate() {
        let colour = i % COLOURS.len();
        draw_curve(svg, series, colour, x, y);
        if panel.series.len() > 1 {
            let right = WIDTH - RIGHT - 90.0 * (panel.series.len() - 1 - i) as f64;
            line(
                svg,
                format_args!(
                    "<text class=\"f{colour}\" fill=\"{}\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    COLOURS[colour],
                    top - 12.0,
                    escape(&series.name)
                ),
            );
        }
    }
}

/// A line through the points; a dot where there is only one.
fn draw_curve(
    svg: &mut String,
    series: &Series,
    colour: usize,
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> f64,
) {
    let (mut path, mut pen) = (String::new(), 'M');
    for [at, number] in &series.points {
        if number.is_finite() {
            write(&mut path, format_args!("{pen}{:.1} {:.1}", x(*at), y(*number)));
            pen = 'L';
        } else {
            pen = 'M';
        }
    }
    if let [[at, number]] = series.points[..]
        && number.is_finite()
    {
        path = format!("M{:.1} {:.1}h0.1", x(at), y(number));
    }
    line(
        svg,
        format_args!(
            "<path class=\"s{colour}\" d=\"{path}\" stroke=\"{}\" fill=\"none\" stroke-width=\"1.8\" \
             stroke-linejoin=\"round\" stroke-linecap=\"round\"/>",
            COLOURS[colour]
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(points: Vec<[f64; 2]>) -> Curves {
        let series = vec![Series { name: "a & b".to_owned(), points }];
        let panels = vec![Panel { name: "loss".to_owned(), series }];
        Curves { title: "a run".to_owned(), axis: "updates".to_owned(), panels }
    }

    /// A step for 0 to 100 in four parts is 50 after rounding 25 up; for 0 to 0.7 it is 0.2, and numbers have one place.
    #[test]
    fn round_numbers_by_hand() {
        assert_eq!(Range::of([0.0, 100.0].into_iter()).ticks, [0.0, 50.0, 100.0]);
        let range = Range::of([0.0, 0.7].into_iter());
        let labels: Vec<String> = range.ticks.iter().map(|&tick| label(tick, range.step())).collect();
        assert_eq!(labels, ["0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(label(0.0005, 0.0001), "5.0e-4");
    }

    /// The panel is 624 wide from 72 on and 170 high from 44 on: the least point is at its lower left, the largest at its upper right.
    #[test]
    fn points_by_hand() {
        let svg = curves(vec![[0.0, 1.0], [5.0, 2.0], [10.0, 3.0]]).to_svg(Background::Page);
        assert!(svg.contains("M72.0 214.0L384.0 129.0L696.0 44.0"), "{svg}");
    }

    #[test]
    fn whatever_the_numbers_it_is_a_picture() {
        let odd = [f64::NAN, f64::INFINITY, -0.0, 1e300, 1e-300];
        let points = odd.iter().enumerate().map(|(i, &x)| [i as f64, x]).collect();
        for points in [Vec::new(), vec![[3.0, 7.0]], vec![[1.0, f64::NAN]], points] {
            let svg = curves(points).to_svg(Background::Page);
            let parsed = roxmltree::Document::parse(&svg).expect("well-formed");
            assert_eq!(parsed.root_element().tag_name().name(), "svg");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
