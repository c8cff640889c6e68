use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::prelude::*;
use roxmltree::{Document, Node};
use unicode_width::UnicodeWidthStr;

use super::*;

const VIEWS: [View; 2] = [View::Heatmap, View::Lines];

fn attention(source: &str, target: &str, weights: &[&[f32]]) -> Attention {
    let words = |line: &str| line.split_whitespace().map(String::from).collect();
    Attention {
        source: words(source),
        target: words(target),
        weights: weights.iter().map(|row| row.to_vec()).collect(),
    }
}

/// The worked example of the study notes.
fn tom() -> Attention {
    attention("Tom chase Jerry", "汤姆 追逐 杰瑞", &[&[0.6, 0.2, 0.2], &[0.2, 0.7, 0.1], &[0.3, 0.2, 0.5]])
}

/// Two target tokens, three source tokens.
fn small() -> Attention {
    attention("a b c", "x y", &[&[1.0, 0.0, 0.0], &[0.05, 0.2, 0.75]])
}

fn latin() -> Attention {
    attention(
        "dieser ungewöhnliche Donaudampfschifffahrtsgesellschaftskapitän",
        "this unusual captain .",
        &[&[0.9, 0.1, 0.0], &[0.02, 0.95, 0.03], &[0.0, 0.0, 1.0], &[f32::NAN, 0.4, 0.6]],
    )
}

/// As many tokens on each side, each looking at its own.
fn diagonal(tokens: usize) -> Attention {
    let labels = |letter: char| (0..tokens).map(|token| format!("{letter}{token}")).collect();
    let row = |row: usize| (0..tokens).map(|column| if row == column { 1.0 } else { 0.0 }).collect();
    Attention { source: labels('s'), target: labels('t'), weights: (0..tokens).map(row).collect() }
}

fn elements<'a>(document: &'a Document<'_>, name: &str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name))).collect()
}

fn number(element: &Node<'_, '_>, name: &str) -> Option<f32> {
    element.attribute(name)?.parse().ok()
}

/// The texts that have this class, or are in a group of this class.
fn texts<'a>(document: &'a Document<'_>, class: &str) -> Vec<&'a str> {
    let of_class =
        |text: &&Node<'_, '_>| text.ancestors().any(|element| element.attribute("class") == Some(class));
    elements(document, "text").iter().filter(of_class).filter_map(Node::text).collect()
}

/// The first column begins at the padding, a letter of 0.6 · 15 and the gap: 16 + 9 + 8 = 33. The first row begins at the
/// padding, a line of 15 and the gap: 16 + 15 + 8 = 39. A cell is 40 wide, so that of *c* and *y* is at 33 + 2 · 40 = 113
/// and 39 + 40 = 79.
#[test]
fn heatmap_by_hand() {
    let svg = small().to_svg(View::Heatmap, Background::Page);
    let document = Document::parse(&svg).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("width"), Some("175")); // 33 + 126 of the key, which is wider than 3 · 40, + 16
    assert_eq!(root.attribute("height"), Some("163")); // 39 + 2 · 40 + 28 of the key + 16

    let cells: Vec<_> = elements(&document, "rect")
        .iter()
        .filter(|cell| cell.first_element_child().is_some()) // those with a title
        .filter_map(|cell| Some([number(cell, "x")?, number(cell, "y")?, number(cell, "fill-opacity")?]))
        .collect();
    assert_eq!(
        cells,
        [[33.0, 39.0, 1.0], [33.0, 79.0, 0.05], [73.0, 79.0, 0.2], [113.0, 79.0, 0.75]],
        "a cell without weight is not drawn"
    );
    assert_eq!(texts(&document, "text"), ["a", "b", "c", "x", "y"]);
    assert_eq!([texts(&document, "low"), texts(&document, "high")].concat(), ["0.20", "1.00", "0.75"]);
    assert_eq!(texts(&document, "note"), ["0", "1"]);
}

/// The shades of a row are its weights.
#[test]
fn heatmap_of_the_worked_example() {
    let svg = tom().to_svg(View::Heatmap, Background::Page);
    let document = Document::parse(&svg).unwrap();
    let cells = elements(&document, "rect").into_iter().filter(|cell| cell.first_element_child().is_some());
    let shades: Vec<f32> = cells.filter_map(|cell| number(&cell, "fill-opacity")).collect();
    assert_eq!(shades, [0.6, 0.2, 0.2, 0.2, 0.7, 0.1, 0.3, 0.2, 0.5]);
    assert_snapshot!(tom().to_terminal(View::Heatmap, 80, Color::None), @r"
         ╭ Tom
         │ ╭ chase
         │ │ ╭ Jerry
    汤姆 ▓▓░░░░
    追逐 ░░▓▓░░
    杰瑞 ▒▒░░▓▓

         ░░ ≥ 0.05  ▒▒ ≥ 0.25  ▓▓ ≥ 0.5  ██ ≥ 0.75
    ");
}

/// Up to 16 tokens, a line is ten times as thick as its weight. The source is 0.72 + 0.6 + 0.95 ems of 15 wide at *Tom* (2.27),
/// 0.6 · 5 = 3 at *chase* and 0.72 + 0.6 + 0.4 + 0.4 + 0.6 = 2.72 at *Jerry*: lines begin at 16 + 45 + 8 = 69 and are as long as
/// can be, 180. Three tokens are 32 apart: at 32, 64 and 96.
#[test]
fn lines_of_the_worked_example() {
    let svg = tom().to_svg(View::Lines, Background::Page);
    let document = Document::parse(&svg).unwrap();
    let lines: Vec<_> = elements(&document, "path")
        .into_iter()
        .filter_map(|line| {
            let title = line.first_element_child()?.text()?;
            Some((title.to_owned(), number(&line, "stroke-width")?, line.attribute("d")?.to_owned()))
        })
        .collect();
    let expected = [
        ("chase → 追逐: 0.70", 7.0, "M69 64.0C159 64.0 159 64.0 249 64.0"),
        ("Tom → 汤姆: 0.60", 6.0, "M69 32.0C159 32.0 159 32.0 249 32.0"),
        ("Jerry → 杰瑞: 0.50", 5.0, "M69 96.0C159 96.0 159 96.0 249 96.0"),
        ("Tom → 杰瑞: 0.30", 3.0, "M69 32.0C159 32.0 159 96.0 249 96.0"),
    ];
    for ((title, thick, path), line) in expected.into_iter().zip(&lines) {
        assert_eq!(*line, (title.to_owned(), thick, path.to_owned()));
    }
    assert_eq!(lines.len(), 9);
    assert_snapshot!(tom().to_terminal(View::Lines, 32, Color::None));
}

#[test]
fn svg_snapshots() {
    for (name, attention) in [("latin", latin()), ("tom", tom())] {
        assert_snapshot!(format!("{name}_heatmap"), attention.to_svg(View::Heatmap, Background::Page));
        assert_snapshot!(format!("{name}_lines"), attention.to_svg(View::Lines, Background::Dark));
    }
}

#[test]
fn terminal_with_long_labels() {
    assert_snapshot!(latin().to_terminal(View::Heatmap, 60, Color::None), @r"
            ╭ dieser
            │ ╭ ungewöhnliche
            │ │ ╭ Donaudampfschifffah…
       this ██░░·
    unusual · ██·
    captain · · ██
          . ? ▒▒▓▓

            ░░ ≥ 0.05  ▒▒ ≥ 0.25  ▓▓ ≥ 0.5  ██ ≥ 0.75
    ");
}

#[test]
fn a_narrow_terminal_gets_panels_and_no_key() {
    assert_snapshot!(tom().to_terminal(View::Heatmap, 13, Color::None), @r"
         ╭ Tom
         │ ╭ cha…
    汤姆 ▓▓░░
    追逐 ░░▓▓
    杰瑞 ▒▒░░

         ╭ Jer…
    汤姆 ░░
    追逐 ░░
    杰瑞 ▓▓
    ");
}

#[test]
fn colors_are_backgrounds_of_cells() {
    let shown = small().to_terminal(View::Heatmap, 80, Color::Ansi256).replace('\x1b', "ESC");
    assert_snapshot!(shown);
}

/// A line has the color of its target's label.
#[test]
fn colors_tell_lines_apart() {
    let one = attention("a b", "x y", &[&[1.0, 0.0], &[0.0, 1.0]]);
    let shown = one.to_terminal(View::Lines, 7, Color::Ansi256).replace('\x1b', "ESC");
    let of = |number: u8, shown: &str| format!("ESC[38;5;{number}m{shown}ESC[0m");
    let [first, second] =
        [(33, "x"), (166, "y")].map(|(number, label)| of(number, "⣶").repeat(3) + " " + &of(number, label));
    assert_eq!(shown, format!("a {first}\n\nb {second}\n"));
}

/// Beyond forty tokens there are no empty lines between them.
#[test]
fn a_long_side_has_a_line_for_each_token() {
    let shown = diagonal(70).to_terminal(View::Lines, 60, Color::None);
    assert_eq!(shown.lines().count(), 70 + 2, "and the key behind an empty line");
    for (token, line) in shown.lines().take(70).enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!([words[0], words[2]], [format!("s{token}"), format!("t{token}")], "{line}");
    }
}

/// Of one token beside three, the line begins in the middle.
#[test]
fn the_shorter_side_is_spread() {
    let one = attention("a", "x y z", &[&[1.0], &[0.0], &[0.0]]);
    let shown = one.to_terminal(View::Lines, 7, Color::None);
    let labels: Vec<char> = shown.lines().map(|line| line.chars().next().unwrap_or(' ')).collect();
    assert_eq!(labels, [' ', ' ', 'a', ' ', ' ']);
}

#[test]
fn weights_are_clamped() {
    let wild = attention("a b c d", "x", &[&[-3.0, 7.5, f32::INFINITY, f32::NEG_INFINITY]]);
    let tame = attention("a b c d", "x", &[&[0.0, 1.0, 1.0, 0.0]]);
    for view in VIEWS {
        assert_eq!(wild.to_svg(view, Background::Page), tame.to_svg(view, Background::Page));
        assert_eq!(wild.to_terminal(view, 80, Color::None), tame.to_terminal(view, 80, Color::None));
    }
}

#[test]
fn what_is_not_a_number_is_a_question_mark_or_no_line() {
    let unknown = attention("a", "x", &[&[f32::NAN]]);
    assert!(unknown.to_svg(View::Heatmap, Background::Page).contains(">?</text>"));
    assert_eq!(unknown.to_terminal(View::Heatmap, 10, Color::Ansi256), "  ╭ a\nx ?\n");
    assert_eq!(unknown.to_terminal(View::Lines, 5, Color::None), "a   x\n");
}

#[test]
fn no_tokens_give_a_picture_all_the_same() {
    for empty in [attention("", "", &[]), attention("a b", "", &[]), attention("", "x y", &[&[], &[]])] {
        for view in VIEWS {
            assert!(Document::parse(&empty.to_svg(view, Background::Page)).is_ok());
            assert_eq!(empty.to_terminal(view, 80, Color::None), "(nothing to show)\n");
        }
    }
}

#[test]
fn a_long_label_keeps_its_text_as_a_title() {
    let title = "<title>Donaudampfschifffahrtsgesellschaftskapitän</title>Donaudampfschifffah…</text>";
    for view in VIEWS {
        assert!(latin().to_svg(view, Background::Page).contains(title));
    }
}

/// The page decides by a media query; a dark picture has none.
#[test]
fn a_dark_picture_is_dark_on_every_page() {
    let query = "@media (prefers-color-scheme: dark)";
    for view in VIEWS {
        assert!(tom().to_svg(view, Background::Page).contains(query));
        let dark = tom().to_svg(view, Background::Dark);
        assert!(!dark.contains(query) && dark.contains(".card { fill: #0d1117 }"));
    }
}

#[test]
fn many_tokens_make_small_cells() {
    let side = |tokens| {
        let svg = diagonal(tokens).to_svg(View::Heatmap, Background::Page);
        number(&Document::parse(&svg).unwrap().root_element(), "height").unwrap() as usize / tokens
    };
    assert!(side(60) < side(30) && side(30) < side(10) && side(200) < side(60));
}

#[test]
#[should_panic(expected = "2 target and 3 source tokens, but 2 rows of weights with [3, 2] columns")]
fn a_wrong_shape_panics() {
    attention("a b c", "x y", &[&[0.0; 3], &[0.0; 2]]).to_svg(View::Lines, Background::Page);
}

fn labels() -> impl Strategy<Value = Vec<String>> {
    let any_characters = vec(any::<char>(), 0..40).prop_map(String::from_iter);
    vec(prop_oneof![any_characters, "[ -~]{0,12}", "\\PC{0,12}"], 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_labels_give_well_formed_xml(source in labels(), target in labels(), weight in any::<f32>()) {
        let weights = vec![vec![weight; source.len()]; target.len()];
        let attention = Attention { source, target, weights };
        for view in VIEWS {
            let svg = attention.to_svg(view, Background::Page);
            let document = Document::parse(&svg);
            prop_assert!(document.is_ok(), "{:?}\n{svg}", document.err());
        }
    }

    #[test]
    fn any_labels_keep_to_the_width(source in labels(), target in labels(), width in 12usize..100) {
        let (rows, columns) = (target.len(), source.len());
        let attention = Attention { source, target, weights: vec![vec![0.3; columns]; rows] };
        let shown = attention.to_terminal(View::Heatmap, width, Color::None);
        let full_cells = shown.matches("▒▒").count();
        prop_assert!(full_cells >= rows * columns, "{full_cells} cells of {rows} × {columns}");
        for line in shown.lines().chain(attention.to_terminal(View::Lines, width, Color::None).lines()) {
            prop_assert!(line.width() <= width, "{} columns: {line:?}", line.width());
        }
    }
}
