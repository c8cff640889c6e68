//! Numbers beside each other: a bar for each.

use crate::label::{Label, end_line, text};
use crate::svg::{Background, COLORS, FAINT_INK, INK, escape, line, open};

/// Some groups of bars below each other.
///
/// ```
/// use couplet_plot::{Bar, Bars, Group};
///
/// let bar = |name: &str, value| Bar { name: name.to_owned(), value };
/// let bars = Bars {
///     title: "Two models".to_owned(),
///     groups: vec![Group {
///         name: "BLEU".to_owned(),
///         bars: vec![bar("last state", 10.6), bar("attention", 28.7)],
///     }],
/// };
/// assert_eq!(bars.to_terminal(40), "\
/// BLEU
/// last state ████████▉ 10.6
///  attention ████████████████████████ 28.7
/// ");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// What is shown.
    pub title: String,
    /// From top to bottom.
    pub groups: Vec<Group>,
}

/// Bars of one kind of number: the longest is that of the largest number, and they begin at 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What the numbers are.
    pub name: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// One number. One that is below 0 or not finite is written and has no bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Whose number it is.
    pub name: String,
    /// The number.
    pub value: f64,
}

/// Names are cut at so many columns of a terminal.
const NAME: usize = 32;

const WIDTH: f64 = 720.0;
const PAD: f64 = 20.0;
const SIZE: f64 = 13.0;
/// A group's name with the room around it; a bar with the room below it; the bar itself.
const HEADING: f64 = 40.0;
const PITCH: f64 = 26.0;
const THICK: f64 = 18.0;
/// Between a name or a number and its bar.
const GAP: f64 = 8.0;

/// A column of a terminal in eighths, from the left.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

impl Group {
    /// How long each bar is, as a share of the longest.
    fn shares(&self) -> Vec<f64> {
        let length = |bar: &Bar| if bar.value.is_finite() { bar.value.max(0.0) } else { 0.0 };
        let longest = self.bars.iter().map(length).fold(0.0, f64::max);
        self.bars.iter().map(|bar| if longest > 0.0 { length(bar) / longest } else { 0.0 }).collect()
    }

    /// The numbers with as many places as the largest needs; whole ones have none.
    fn numbers(&self) -> Vec<String> {
        let values = || self.bars.iter().map(|bar| bar.value).filter(|value| value.is_finite());
        let largest = values().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let places = match largest {
            _ if values().all(|value| value.fract() == 0.0) => 0,
            1000.0.. => 0,
            10.0.. => 1,
            1.0.. => 2,
            _ => 3,
        };
        self.bars.iter().map(|bar| grouped(&format!("{:.places$}", bar.value))).collect()
    }

    fn labels(&self, columns: usize) -> Vec<Label> {
        self.bars.iter().map(|bar| Label::new(&bar.name, columns)).collect()
    }
}

/// A number with a comma before every three digits of its whole part.
fn grouped(number: &str) -> String {
    let end = number.find('.').unwrap_or(number.len());
    let begin = number.find(|c: char| c.is_ascii_digit()).unwrap_or(end);
    let mut shown = number[..begin].to_owned();
    for (place, digit) in number[begin..end].chars().enumerate() {
        if place > 0 && (end - begin - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown + &number[end..]
}

impl Bars {
    /// An SVG file.
    pub fn to_svg(&self, background: Background) -> String {
        let rows: usize = self.groups.iter().map(|group| group.bars.len()).sum();
        let height = PAD + HEADING * self.groups.len() as f64 + PITCH * rows as f64 + PAD;
        let mut svg = String::new();
        open(&mut svg, [WIDTH, height], &self.title, background);
        let mut top = PAD;
        for group in &self.groups {
            draw_group(&mut svg, group, top);
            top += HEADING + PITCH * group.bars.len() as f64;
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Lines of text, at most `width` columns long where that is 32 or more, each with a line break at its end.
    pub fn to_terminal(&self, width: usize) -> String {
        let blocks: Vec<String> = self.groups.iter().map(|group| block(group, width)).collect();
        blocks.join("\n")
    }
}

fn draw_group(svg: &mut String, group: &Group, top: f64) {
    let (names, numbers) = (group.labels(NAME), group.numbers());
    let ems = |labels: &[Label]| labels.iter().map(Label::ems).fold(0.0, f32::max);
    let left = (PAD + f64::from(ems(&names)) * SIZE + GAP).ceil();
    let number_labels: Vec<Label> = numbers.iter().map(|number| Label::new(number, NAME)).collect();
    let room = WIDTH - PAD - GAP - f64::from(ems(&number_labels)) * SIZE - left;
    line(
        svg,
        format_args!(
            "<text class=\"text\" fill=\"{INK}\" x=\"{PAD}\" y=\"{}\" font-size=\"14\" font-weight=\"600\">{}</text>",
            top + 16.0,
            escape(&Label::new(&group.name, 2 * NAME).text)
        ),
    );
    line(svg, format_args!("<g font-size=\"{SIZE}\">"));
    for (row, (share, number)) in group.shares().into_iter().zip(numbers).enumerate() {
        let y = top + HEADING - 12.0 + PITCH * row as f64;
        let (base, wide) = (y + THICK / 2.0 + 0.35 * SIZE, (share * room * 10.0).round() / 10.0);
        let place = format!("class=\"text\" x=\"{}\" y=\"{base:.1}\" text-anchor=\"end\"", left - GAP);
        text(svg, format_args!("{place}"), &names[row]);
        line(
            svg,
            format_args!(
                "<rect class=\"f0\" fill=\"{}\" x=\"{left}\" y=\"{y}\" width=\"{wide}\" height=\"{THICK}\" rx=\"2\"/>",
                COLORS[0]
            ),
        );
        line(
            svg,
            format_args!(
                "<text class=\"note\" fill=\"{FAINT_INK}\" x=\"{:.1}\" y=\"{base:.1}\">{number}</text>",
                left + wide + GAP
            ),
        );
    }
    line(svg, format_args!("</g>"));
}

fn block(group: &Group, width: usize) -> String {
    let (names, numbers) = (group.labels(NAME.min(width / 3)), group.numbers());
    let left = names.iter().map(Label::columns).max().unwrap_or(0);
    let right = numbers.iter().map(String::len).max().unwrap_or(0);
    let room = width.saturating_sub(left + right + 2).max(1);
    let mut shown = Label::new(&group.name, width).text;
    end_line(&mut shown);
    for ((label, share), number) in names.iter().zip(group.shares()).zip(numbers) {
        let eighths = (share * room as f64 * 8.0).round() as usize;
        shown.push_str(&" ".repeat(left - label.columns()));
        shown.push_str(&format!("{} {}{}", label.text, "█".repeat(eighths / 8), EIGHTHS[eighths % 8]));
        shown.push_str(if eighths > 0 { " " } else { "" });
        shown.push_str(&number);
        end_line(&mut shown);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(values: &[f64]) -> Group {
        let bar = |(place, &value): (usize, &f64)| Bar { name: format!("bar {place}"), value };
        Group { name: "numbers".to_owned(), bars: values.iter().enumerate().map(bar).collect() }
    }

    fn bars(values: &[f64]) -> Bars {
        Bars { title: "a & b".to_owned(), groups: vec![group(values), group(&[1.0])] }
    }

    /// 5 is half of 10, 2.5 a quarter.
    #[test]
    fn shares_by_hand() {
        assert_eq!(group(&[5.0, 10.0, 2.5]).shares(), [0.5, 1.0, 0.25]);
        assert_eq!(group(&[0.0, -1.0]).shares(), [0.0, 0.0]);
    }

    /// 12 columns are 96 eighths: names take 5, numbers 2 and spaces 2 of 21. A third of 96 is 32 eighths, which is four columns;
    /// a sixteenth is 6 eighths.
    #[test]
    fn blocks_by_hand() {
        let shown = bars(&[16.0, 48.0, 3.0, 0.0]).to_terminal(21);
        let expected = "numbers\nbar 0 ████ 16\nbar 1 ████████████ 48\nbar 2 ▊ 3\nbar 3 0\n\n\
                        numbers\nbar 0 █████████████ 1\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn numbers_have_the_places_that_the_largest_needs() {
        assert_eq!(group(&[28.71, 4.1]).numbers(), ["28.7", "4.1"]);
        assert_eq!(group(&[1_302_218.4, 999.6]).numbers(), ["1,302,218", "1,000"]);
        assert_eq!(group(&[12.0, 100_000.0]).numbers(), ["12", "100,000"]);
        assert_eq!(group(&[0.25, f64::NAN]).numbers(), ["0.250", "NaN"]);
        assert_eq!(group(&[-1234.5]).numbers(), ["-1,234"]);
    }

    /// Names are 5 letters, as wide as b 0.6, a 0.6, r 0.4, space 0.4 and a digit 0.6, together 2.6 · 13 = 33.8: the bars begin at
    /// 20 + 33.8 + 8 = 61.8, rounded up. The numbers take 2 · 0.6 · 13 = 15.6: 720 − 20 − 8 − 15.6 − 62 = 614.4 are left.
    #[test]
    fn svg_by_hand() {
        let svg = bars(&[16.0, 48.0]).to_svg(Background::Page);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let widths: Vec<_> = document
            .descendants()
            .filter(|node| node.attribute("class") == Some("f0"))
            .map(|node| (node.attribute("x").unwrap(), node.attribute("width").unwrap()))
            .collect();
        assert_eq!(widths[..2], [("62", "204.8"), ("62", "614.4")]);
    }

    #[test]
    fn whatever_the_numbers_it_is_a_picture() {
        for values in [&[][..], &[f64::NAN], &[f64::INFINITY, -3.0, 1e300], &[0.0]] {
            assert!(roxmltree::Document::parse(&bars(values).to_svg(Background::Dark)).is_ok());
            assert!(!bars(values).to_terminal(0).is_empty());
        }
    }
}
