//! Points with names, in two dimensions.

use crate::label::{Label, text};
use crate::svg::{Background, COLORS, FAINT_INK, INK, escape, line, open};

/// Points in the plane.
///
/// ```
/// use couplet_plot::{Background, Point, Scatter};
///
/// let point = |name: &str, place| Point { name: name.to_owned(), place };
/// let scatter = Scatter {
///     title: "Three words".to_owned(),
///     axes: ["across".to_owned(), "up".to_owned()],
///     points: vec![point("cat", [0.0, 1.0]), point("dog", [0.1, 1.0]), point("car", [-1.0, 0.0])],
/// };
/// assert!(scatter.to_svg(Background::Page).contains(">dog</text>"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// What is shown.
    pub title: String,
    /// What the two numbers of a place are: across and up.
    pub axes: [String; 2],
    /// In the order in which they are drawn.
    pub points: Vec<Point>,
}

/// A point and what it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Written beside it.
    pub name: String,
    /// Across and up. A point that is not finite is left out.
    pub place: [f64; 2],
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 540.0;
/// Room for names at the right, and for the axes' names.
const MARGIN: f64 = 48.0;
const RIGHT: f64 = 120.0;
const RADIUS: f64 = 3.5;
const SIZE: f64 = 13.0;
/// Names are cut at so many columns of a terminal.
const NAME: usize = 24;

impl Scatter {
    /// An SVG file. Both axes have the same scale, so that distances are true. Names that would lie on others move up or down.
    pub fn to_svg(&self, background: Background) -> String {
        let mut svg = String::new();
        open(&mut svg, [WIDTH, HEIGHT], &self.title, background);
        let finite = |point: &&Point| point.place.iter().all(|x| x.is_finite());
        let points: Vec<&Point> = self.points.iter().filter(finite).collect();
        let places = to_page(&points);
        let mut taken: Vec<[f64; 4]> = Vec::new();
        for (point, [x, y]) in points.iter().zip(&places) {
            line(
                &mut svg,
                format_args!(
                    "<circle class=\"f0\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" fill=\"{}\"/>",
                    COLORS[0]
                ),
            );
            let label = Label::new(&point.name, NAME);
            let left = x + RADIUS + 3.0;
            let width = f64::from(label.ems()) * SIZE;
            let base = free_line(&taken, [left, left + width], y + 4.0);
            taken.push([left, left + width, base - SIZE, base]);
            let place = format_args!(
                "class=\"text\" fill=\"{INK}\" x=\"{left:.1}\" y=\"{base:.1}\" font-size=\"{SIZE}\""
            );
            text(&mut svg, place, &label);
        }
        let [across, up] = self.axes.each_ref().map(|name| escape(name));
        let note = format!("class=\"note\" fill=\"{FAINT_INK}\" text-anchor=\"middle\"");
        line(
            &mut svg,
            format_args!("<text {note} x=\"{}\" y=\"{}\">{across}</text>", WIDTH / 2.0, HEIGHT - 14.0),
        );
        line(
            &mut svg,
            format_args!("<text {note} transform=\"translate(20 {}) rotate(-90)\">{up}</text>", HEIGHT / 2.0),
        );
        svg.push_str("</svg>\n");
        svg
    }
}

/// Where points lie on the page, around its middle.
fn to_page(points: &[&Point]) -> Vec<[f64; 2]> {
    let range = |axis: usize| {
        let numbers = points.iter().map(|point| point.place[axis]);
        numbers.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    };
    let room = [WIDTH - MARGIN - RIGHT, HEIGHT - 2.0 * MARGIN];
    let ranges = [range(0), range(1)];
    // Halves, as the whole may be too large for a number.
    let scale = (0..2)
        .map(|axis| room[axis] / 2.0 / (ranges[axis][1] / 2.0 - ranges[axis][0] / 2.0))
        .filter(|scale| scale.is_finite())
        .fold(f64::INFINITY, f64::min);
    let scale = if scale.is_finite() { scale } else { 0.0 };
    let from_middle = |axis: usize, x: f64| (x - (ranges[axis][0] / 2.0 + ranges[axis][1] / 2.0)) * scale;
    let middle = [MARGIN + room[0] / 2.0, MARGIN + room[1] / 2.0];
    let place = |point: &&Point| {
        [middle[0] + from_middle(0, point.place[0]), middle[1] - from_middle(1, point.place[1])]
    };
    points.iter().map(place).collect()
}

/// The base line nearest to the wanted one on which a name covers no other.
fn free_line(taken: &[[f64; 4]], [left, right]: [f64; 2], wanted: f64) -> f64 {
    let is_free = |base: f64| {
        taken
            .iter()
            .all(|&[l, r, top, bottom]| right <= l || left >= r || base <= top || base - SIZE >= bottom)
    };
    let tries = (0..20).flat_map(|step| [1.0, -1.0].map(|way| wanted + way * f64::from(step) * SIZE / 2.0));
    tries.into_iter().find(|&base| is_free(base) && base > SIZE && base < HEIGHT).unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter(places: &[[f64; 2]]) -> String {
        let point = |&place: &[f64; 2]| Point { name: "a & b".to_owned(), place };
        let axes = ["<across>".to_owned(), "up".to_owned()];
        Scatter { title: "words".to_owned(), axes, points: places.iter().map(point).collect() }
            .to_svg(Background::Page)
    }

    /// The room is 552 wide from 48 on and 444 high from 48 on. Two points at the ends of a diagonal of a square use all of its height, and
    /// stand around the middle (324, 270).
    #[test]
    fn points_by_hand() {
        let svg = scatter(&[[0.0, 0.0], [2.0, 2.0]]);
        assert!(svg.contains("cx=\"102.0\" cy=\"492.0\""), "{svg}");
        assert!(svg.contains("cx=\"546.0\" cy=\"48.0\""), "{svg}");
    }

    /// Three names at one place stand on lines of their own, 13 apart.
    #[test]
    fn names_do_not_cover_each_other() {
        let svg = scatter(&[[1.0, 1.0]; 3]);
        for base in ["274.0", "287.0", "261.0"] {
            assert!(svg.contains(&format!("y=\"{base}\" font-size")), "{svg}");
        }
    }

    #[test]
    fn whatever_the_numbers_it_is_a_picture() {
        for places in [
            &[][..],
            &[[f64::NAN, 1.0]],
            &[[1e300, -1e300], [-1e300, f64::INFINITY]],
            &[[1e308, 0.0], [-1e308, 0.0]],
        ] {
            let svg = scatter(places);
            roxmltree::Document::parse(&svg).expect("well-formed");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
