//! How numbers change over time: panels below each other, over one axis.

use crate::label::{Label, text as label_text};
use crate::svg::{Background, COLORS, INK, escape, line, open, write};

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
    /// How they go up.
    pub scale: Scale,
    /// Numbers that have a place in it besides those of its curves: so that panels can have the same scale.
    pub reach: Vec<f64>,
    /// The curves.
    pub series: Vec<Series>,
}

/// How the numbers of a panel go up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// By equal differences.
    #[default]
    Linear,
    /// By equal factors. A number that is not above 0 leaves a gap.
    Logarithmic,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is called.
    pub name: String,
    /// Where on the axis, and how much. A number that is not finite leaves a gap.
    pub points: Vec<[f64; 2]>,
    /// How far the number of each point spreads, up and down: drawn as whiskers. None for points without.
    pub spread: Vec<f64>,
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

/// At most so many names of curves stand above a panel, so far apart. Where one has more, or they have no room beside its own name, all
/// names stand below the axis, each behind a piece of its line, so many side by side at most.
const NAMES_ABOVE: usize = 4;
const NAMES_APART: f64 = 16.0;
const NAMES_BESIDE: usize = 3;
const NAME_PITCH: f64 = 20.0;
const NAME_LINE: f64 = 28.0;
const BEHIND_LINE: f64 = 8.0;
/// The sizes of names of curves and of panels.
const SIZE: f64 = 12.0;
const TITLE_SIZE: f64 = 14.0;
/// Names below the axis are cut at so many columns of a terminal.
const NAME: usize = 72;
/// How the lines of the first curves, of the next ones and so on are broken, when all colors are used.
const DASHES: [&str; 3] = ["", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 4\""];

/// The numbers between two ends, and round ones among them.
struct Range {
    low: f64,
    high: f64,
    /// Between two of the round ones.
    step: f64,
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
        let by = |step: f64| -> Vec<f64> {
            let first = (low / step).ceil() as i64;
            (first..).map(|i| i as f64 * step).take_while(|&tick| tick <= high + step * 1e-6).collect()
        };
        let wide = round_step((high - low) / TICKS);
        // One number alone says nothing of the scale.
        let step = if by(wide).len() > 1 { wide } else { round_step((high - low) / TICKS / 2.0) };
        Range { low, high, step, ticks: by(step) }
    }

    /// From a whole number to a whole number, with whole ones between.
    fn of_whole_powers(&self) -> Range {
        let low = self.low.floor();
        let range = Range::of([low, self.high.ceil().max(low + 1.0)].into_iter());
        let ticks = range.ticks.into_iter().filter(|tick| tick.fract() == 0.0).collect();
        Range { ticks, ..range }
    }

    fn place(&self, x: f64) -> f64 {
        (x - self.low) / (self.high - self.low)
    }
}

/// 1, 2 or 5 times a power of ten, not less than this.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

impl Scale {
    /// Where a number stands; none where it has no place.
    fn of(self, number: f64) -> Option<f64> {
        let place = match self {
            Scale::Linear => number,
            Scale::Logarithmic if number > 0.0 => number.log10(),
            Scale::Logarithmic => f64::NAN,
        };
        place.is_finite().then_some(place)
    }

    /// The places of numbers.
    fn range(self, numbers: impl Iterator<Item = f64>) -> Range {
        let range = Range::of(numbers.filter_map(|number| self.of(number)));
        match self {
            Scale::Linear => range,
            Scale::Logarithmic => range.of_whole_powers(),
        }
    }

    fn label(self, tick: f64, step: f64) -> String {
        match self {
            Scale::Linear => label(tick, step),
            Scale::Logarithmic => format!("1e{tick:.0}"),
        }
    }
}

/// A number at an axis, with as many places as the step needs.
fn label(x: f64, step: f64) -> String {
    let power = |x: f64| x.abs().log10().floor();
    if x != 0.0 && x.abs() < 0.1 && step < 1e-3 {
        let places = (power(x) - power(step)).max(1.0) as usize;
        return format!("{x:.places$e}");
    }
    let places = (-power(step)).max(0.0) as usize;
    format!("{x:.places$}")
}

impl Series {
    /// All that is drawn of it: its numbers and the ends of its whiskers.
    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        let spread = self.spread.iter().copied().chain(std::iter::repeat(0.0));
        self.points.iter().zip(spread).flat_map(|(&[_, y], by)| [y - by, y, y + by])
    }
}

impl Panel {
    /// Whether the names of its curves have room above it.
    fn has_room_for_names(&self) -> bool {
        let names: f64 = self.series.iter().map(|series| NAMES_APART + text_width(&series.name, SIZE)).sum();
        let room = WIDTH - LEFT - RIGHT - text_width(&self.name, TITLE_SIZE);
        self.series.len() < 2 || self.series.len() <= NAMES_ABOVE && names <= room
    }
}

/// About how wide a text is.
fn text_width(text: &str, size: f64) -> f64 {
    f64::from(Label::new(text, usize::MAX).ems()) * size
}

impl Curves {
    /// An SVG file.
    pub fn to_svg(&self, background: Background) -> String {
        let (rows, names) = (self.panels.len() as f64, self.names());
        let plot = TOP + rows * PANEL + (rows - 1.0).max(0.0) * GAP + BOTTOM;
        // Lines that are broken differently have one color: their names need the line beside them.
        let below = names.len() > COLORS.len() || !self.panels.iter().all(Panel::has_room_for_names);
        let beside = if below { names_beside(&names) } else { names.len() };
        let height = if below { plot + names.len().div_ceil(beside) as f64 * NAME_PITCH } else { plot };
        let mut svg = String::new();
        open(&mut svg, [WIDTH, height], &self.title, background);
        let points = self.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
        let across = Range::of(points.map(|point| point[0]));
        for (row, panel) in self.panels.iter().enumerate() {
            let top = TOP + row as f64 * (PANEL + GAP);
            draw_panel(&mut svg, panel, &names, below, &across, top);
        }
        let (middle, y) = ((LEFT + WIDTH - RIGHT) / 2.0, plot - 12.0);
        text(&mut svg, &format!("x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\""), &escape(&self.axis));
        for (i, name) in names.iter().enumerate().filter(|_| below) {
            draw_name(&mut svg, name, i, beside, plot + 2.0);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The names of all curves, each once: a curve of the same name looks the same in all panels.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }
}

fn text(svg: &mut String, place: &str, escaped: &str) {
    line(svg, format_args!("<text class=\"text\" fill=\"{INK}\" {place}>{escaped}</text>"));
}

/// How curve number `i` is drawn.
fn stroke(i: usize) -> String {
    let (color, dash) = (i % COLORS.len(), DASHES[i / COLORS.len() % DASHES.len()]);
    format!(
        "class=\"s{color}\" stroke=\"{}\" fill=\"none\" stroke-width=\"1.8\" \
         stroke-linejoin=\"round\" stroke-linecap=\"round\"{dash}",
        COLORS[color]
    )
}

/// How many of these names have room side by side below the axis.
fn names_beside(names: &[&str]) -> usize {
    let widest = names.iter().map(|name| text_width(name, SIZE)).fold(0.0, f64::max);
    let wide = NAME_LINE + BEHIND_LINE + widest + NAMES_APART;
    (((WIDTH - LEFT - RIGHT) / wide) as usize).clamp(1, NAMES_BESIDE)
}

/// A name below the axis, behind a piece of its line.
fn draw_name(svg: &mut String, name: &str, i: usize, beside: usize, top: f64) {
    let wide = (WIDTH - LEFT - RIGHT) / beside as f64;
    let x = LEFT + (i % beside) as f64 * wide;
    let y = top + (i / beside) as f64 * NAME_PITCH;
    line(svg, format_args!("<path {} d=\"M{x} {y}h{NAME_LINE}\"/>", stroke(i)));
    let place = format!("class=\"text\" x=\"{}\" y=\"{}\"", x + NAME_LINE + BEHIND_LINE, y + 4.0);
    label_text(svg, format_args!("{place}"), &Label::new(name, NAME));
}

fn draw_panel(svg: &mut String, panel: &Panel, names: &[&str], below: bool, across: &Range, top: f64) {
    let up =
        panel.scale.range(panel.series.iter().flat_map(Series::numbers).chain(panel.reach.iter().copied()));
    let (width, bottom) = (WIDTH - LEFT - RIGHT, top + PANEL);
    let x = |at: f64| LEFT + across.place(at) * width;
    let y = |at: f64| bottom - up.place(at) * PANEL;
    let mut rules = String::new();
    for &tick in &up.ticks {
        write(&mut rules, format_args!("M{LEFT} {:.1}H{}", y(tick), WIDTH - RIGHT));
        let place = format!("x=\"{}\" y=\"{:.1}\" text-anchor=\"end\"", LEFT - 8.0, y(tick) + 4.0);
        text(svg, &place, &panel.scale.label(tick, up.step));
    }
    for &tick in &across.ticks {
        write(&mut rules, format_args!("M{:.1} {bottom}v5", x(tick)));
        let place = format!("x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\"", x(tick), bottom + 18.0);
        text(svg, &place, &label(tick, across.step));
    }
    line(svg, format_args!("<path class=\"rule\" d=\"{rules}\" stroke=\"#d0d7de\" fill=\"none\"/>"));
    let place =
        format!("x=\"{LEFT}\" y=\"{:.1}\" font-size=\"{TITLE_SIZE}\" font-weight=\"600\"", top - 12.0);
    text(svg, &place, &escape(&panel.name));
    let mut right = WIDTH - RIGHT;
    for series in panel.series.iter().rev() {
        let i = names.iter().position(|name| *name == series.name).unwrap_or(0);
        draw_curve(svg, series, i, x, |at| panel.scale.of(at).map(y));
        if !below && panel.series.len() > 1 {
            line(
                svg,
                format_args!(
                    "<text class=\"f{i}\" fill=\"{}\" x=\"{right:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    COLORS[i],
                    top - 12.0,
                    escape(&series.name)
                ),
            );
            right -= text_width(&series.name, SIZE) + NAMES_APART;
        }
    }
}

/// A line through the points, a dot where there is only one, and whiskers where they spread.
fn draw_curve(
    svg: &mut String,
    series: &Series,
    i: usize,
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> Option<f64>,
) {
    let (mut path, mut pen) = (String::new(), 'M');
    for &[at, number] in &series.points {
        if let Some(y) = y(number) {
            write(&mut path, format_args!("{pen}{:.1} {y:.1}", x(at)));
            pen = 'L';
        } else {
            pen = 'M';
        }
    }
    if let [[at, number]] = series.points[..]
        && let Some(y) = y(number)
    {
        path = format!("M{:.1} {y:.1}h0.1", x(at));
    }
    line(svg, format_args!("<path {} d=\"{path}\"/>", stroke(i)));
    let mut whiskers = String::new();
    for (&[at, number], &by) in series.points.iter().zip(&series.spread).filter(|(_, by)| **by > 0.0) {
        if let (Some(low), Some(high)) = (y(number - by), y(number + by)) {
            write(&mut whiskers, format_args!("M{:.1} {low:.1}V{high:.1}", x(at)));
        }
    }
    if !whiskers.is_empty() {
        let color = i % COLORS.len();
        line(
            svg,
            format_args!(
                "<path class=\"s{color}\" stroke=\"{}\" stroke-opacity=\"0.5\" d=\"{whiskers}\"/>",
                COLORS[color]
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(points: Vec<[f64; 2]>) -> Curves {
        let series = vec![Series { name: "a & b".to_owned(), points, spread: Vec::new() }];
        let panels = vec![Panel { name: "loss".to_owned(), scale: Scale::Linear, reach: Vec::new(), series }];
        Curves { title: "a run".to_owned(), axis: "updates".to_owned(), panels }
    }

    /// A step for 0 to 100 in four parts is 50 after rounding 25 up; for 0 to 0.7 it is 0.2, and numbers have one place. For 0.05 to 0.95
    /// it would be 0.5, which stands there only once; with twice as many parts it is 0.2.
    #[test]
    fn round_numbers_by_hand() {
        let labels = |low: f64, high: f64| -> Vec<String> {
            let range = Range::of([low, high].into_iter());
            range.ticks.iter().map(|&tick| label(tick, range.step)).collect()
        };
        assert_eq!(labels(0.0, 100.0), ["0", "50", "100"]);
        assert_eq!(labels(0.0, 0.7), ["0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(labels(0.05, 0.95), ["0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(label(0.0005, 0.0001), "5.0e-4");
        assert_eq!(label(0.01015, 0.00005), "1.015e-2");
        assert_eq!(label(2.3002, 0.0002), "2.3002");
    }

    /// The panel is 624 wide from 72 on and 170 high from 44 on: the least point is at its lower left, the largest at its upper right.
    #[test]
    fn points_by_hand() {
        let svg = curves(vec![[0.0, 1.0], [5.0, 2.0], [10.0, 3.0]]).to_svg(Background::Page);
        assert!(svg.contains("M72.0 214.0L384.0 129.0L696.0 44.0"), "{svg}");
    }

    /// From 0.01 to 100 are four powers of ten on 170 units: 1 stands in the middle. 0 has no place: a gap, and a new line behind it.
    #[test]
    fn powers_of_ten_by_hand() {
        let mut curves =
            curves(vec![[0.0, 0.01], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0], [4.0, 100.0], [5.0, 1.0]]);
        curves.panels[0].scale = Scale::Logarithmic;
        let svg = curves.to_svg(Background::Page);
        assert!(svg.contains("M72.0 214.0L196.8 129.0M446.4 129.0L571.2 44.0L696.0 129.0"), "{svg}");
        assert!(svg.contains(">1e-2</text>") && svg.contains(">1e0</text>"), "{svg}");
    }

    /// 1 ± 1 and 3 ± 1: the panel goes from 0 to 4, and the first whisker from its bottom to its middle.
    #[test]
    fn whiskers_by_hand() {
        let mut curves = curves(vec![[0.0, 1.0], [1.0, 3.0]]);
        curves.panels[0].series[0].spread = vec![1.0, 1.0];
        let svg = curves.to_svg(Background::Page);
        assert!(svg.contains("d=\"M72.0 214.0V129.0M696.0 129.0V44.0\""), "{svg}");
    }

    /// From 1 to 3 with a reach of 5: the largest point stands in the middle.
    #[test]
    fn reach_by_hand() {
        let mut curves = curves(vec![[0.0, 1.0], [1.0, 3.0]]);
        curves.panels[0].reach = vec![5.0, 2.0];
        assert!(curves.to_svg(Background::Page).contains("M72.0 214.0L696.0 129.0"));
    }

    /// Nine curves: their names stand below, in three rows of three, and the ninth has the first color and a broken line.
    #[test]
    fn many_curves_have_their_names_below() {
        let series = |i: usize| Series {
            name: format!("curve {i}"),
            points: vec![[0.0, i as f64], [1.0, 1.0]],
            spread: Vec::new(),
        };
        let mut curves = curves(Vec::new());
        curves.panels[0].series = (0..9).map(series).collect();
        let svg = curves.to_svg(Background::Page);
        assert_eq!(svg.matches("M72 264h28").count(), 1, "{svg}");
        assert_eq!(svg.matches("stroke-dasharray=\"7 4\"").count(), 2, "the ninth, and its name: {svg}");
        assert!(svg.contains("height=\"322\""), "44 + 170 + 48 + 3 · 20: {svg}");
    }

    /// From right to left: `b` ends at 720 − 24, `long` by a letter of 0.6 · 12 and 16 before it. Names of a hundred letters go below.
    #[test]
    fn names_above_do_not_meet() {
        let named = |names: [&str; 2]| {
            let mut curves = curves(Vec::new());
            let series =
                |name: &str| Series { name: name.to_owned(), points: vec![[0.0, 1.0]], spread: Vec::new() };
            curves.panels[0].series = names.map(series).to_vec();
            curves.to_svg(Background::Page)
        };
        let svg = named(["long", "b"]);
        assert!(svg.contains("x=\"696.0\" y=\"32.0\" text-anchor=\"end\">b<"), "{svg}");
        assert!(svg.contains("x=\"672.8\" y=\"32.0\" text-anchor=\"end\">long<"), "{svg}");
        let svg = named(["long", &"b".repeat(100)]);
        assert!(svg.contains("M72 264h28") && !svg.contains(">long</text>\n<text class=\"f1\""), "{svg}");
    }

    /// A curve has the color of its name in every panel, and another name another one, though it is the first of its panel. Names of 50
    /// letters stand one below the other, each as a whole.
    #[test]
    fn a_name_is_a_color() {
        let names = ["a", "b"].map(|name| name.repeat(50));
        let panel = |name: &String| Panel {
            name: name.clone(),
            series: vec![Series { name: name.clone(), points: vec![[0.0, 1.0]], spread: Vec::new() }],
            ..curves(Vec::new()).panels.remove(0)
        };
        let mut curves = Curves { panels: names.iter().map(panel).collect(), ..curves(Vec::new()) };
        let svg = curves.to_svg(Background::Page);
        assert_eq!([0, 1].map(|i| svg.matches(&format!("<path class=\"s{i}\"")).count()), [1, 1], "{svg}");
        curves.panels.push(Panel {
            series: [0, 1].map(|i| curves.panels[i].series[0].clone()).to_vec(),
            ..panel(&names[0])
        });
        let svg = curves.to_svg(Background::Page);
        assert!(svg.contains("M72 716h28") && svg.contains("M72 736h28"), "{svg}");
        assert!(names.iter().all(|name| svg.matches(&format!(">{name}</text>")).count() > 1), "{svg}");
    }

    #[test]
    fn whatever_the_numbers_it_is_a_picture() {
        let odd = [f64::NAN, f64::INFINITY, -0.0, 1e300, 1e-300];
        let points = odd.iter().enumerate().map(|(i, &x)| [i as f64, x]).collect();
        for (points, scale) in [Vec::new(), vec![[3.0, 7.0]], vec![[1.0, f64::NAN]], points]
            .into_iter()
            .flat_map(|points| [Scale::Linear, Scale::Logarithmic].map(|scale| (points.clone(), scale)))
        {
            let mut curves = curves(points);
            curves.panels[0].scale = scale;
            curves.panels[0].series[0].spread = vec![f64::NAN, 1.0];
            let svg = curves.to_svg(Background::Page);
            let parsed = roxmltree::Document::parse(&svg).expect("well-formed");
            assert_eq!(parsed.root_element().tag_name().name(), "svg");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
