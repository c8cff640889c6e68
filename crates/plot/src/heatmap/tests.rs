use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::prelude::*;
use roxmltree::Document;
use unicode_width::UnicodeWidthStr;

use super::*;

fn heatmap(source: &str, target: &str, weights: &[&[f32]]) -> Heatmap {
    let words = |line: &str| line.split_whitespace().map(String::from).collect();
    Heatmap {
        source: words(source),
        target: words(target),
        weights: weights.iter().map(|row| row.to_vec()).collect(),
    }
}

/// Two target tokens, three source tokens.
fn small() -> Heatmap {
    heatmap("a b c", "x y", &[&[1.0, 0.0, 0.0], &[0.05, 0.2, 0.75]])
}

fn latin() -> Heatmap {
    heatmap(
        "dieser ungewöhnliche Donaudampfschifffahrtsgesellschaftskapitän",
        "this unusual captain .",
        &[&[0.9, 0.1, 0.0], &[0.02, 0.95, 0.03], &[0.0, 0.0, 1.0], &[f32::NAN, 0.4, 0.6]],
    )
}

fn chinese() -> Heatmap {
    heatmap(
        "the cat in the garden",
        "花园 里 的 猫",
        &[
            &[0.0, 0.0, 0.1, 0.2, 0.7],
            &[0.0, 0.0, 0.9, 0.0, 0.1],
            &[0.0, 0.2, 0.5, 0.3, 0.0],
            &[0.1, 0.9, 0.0, 0.0, 0.0],
        ],
    )
}

fn elements<'a>(document: &'a Document<'_>, name: &str) -> Vec<roxmltree::Node<'a, 'a>> {
    document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name))).collect()
}

/// The first column begins at the padding, a letter of 0.6 · 15 and the gap: 16 + 9 + 8 = 33. The first row begins at the
/// padding, a line of 15 and the gap: 16 + 15 + 8 = 39. A cell is 40 wide, so that of *c* and *y* is at 33 + 2 · 40 = 113
/// and 39 + 40 = 79.
#[test]
fn svg_by_hand() {
    let svg = small().to_svg();
    let document = Document::parse(&svg).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("width"), Some("169")); // 33 + 3 · 40 + 16
    assert_eq!(root.attribute("height"), Some("135")); // 39 + 2 · 40 + 16

    let number = |cell: &roxmltree::Node<'_, '_>, name| cell.attribute(name)?.parse::<f32>().ok();
    let cells: Vec<_> = elements(&document, "rect")
        .iter()
        .filter_map(|cell| Some([number(cell, "x")?, number(cell, "y")?, number(cell, "fill-opacity")?]))
        .collect();
    assert_eq!(
        cells,
        [[33.0, 39.0, 1.0], [33.0, 79.0, 0.05], [73.0, 79.0, 0.2], [113.0, 79.0, 0.75]],
        "a cell without weight is not drawn"
    );
    let texts: Vec<_> = elements(&document, "text").iter().filter_map(roxmltree::Node::text).collect();
    assert_eq!(texts, ["a", "b", "c", "x", "y", "1.00", "0.20", "0.75"], "0.05 has no number");
}

/// Above 0.05 there are four shades of (1 − 0.05) / 4 = 0.2375 each: up to 0.2875, 0.525, 0.7625 and 1.
#[test]
fn terminal_by_hand() {
    assert_snapshot!(small().to_terminal(80, Colour::None), @r"
      ╭ a
      │ ╭ b
      │ │ ╭ c
    x ██· ·
    y ░░░░▓▓
    ");
}

#[test]
fn svg_snapshots() {
    assert_snapshot!("latin", latin().to_svg());
    assert_snapshot!("chinese", chinese().to_svg());
}

#[test]
fn terminal_with_long_labels() {
    assert_snapshot!(latin().to_terminal(60, Colour::None), @r"
            ╭ dieser
            │ ╭ ungewöhnliche
            │ │ ╭ Donaudampfschifffah…
       this ██░░·
    unusual · ██·
    captain · · ██
          . ? ▒▒▓▓
    ");
}

#[test]
fn terminal_with_chinese_labels() {
    assert_snapshot!(chinese().to_terminal(60, Colour::None), @r"
         ╭ the
         │ ╭ cat
         │ │ ╭ in
         │ │ │ ╭ the
         │ │ │ │ ╭ garden
    花园 · · ░░░░▓▓
      里 · · ██· ░░
      的 · ░░▒▒▒▒·
      猫 ░░██· · ·
    ");
}

#[test]
fn a_narrow_terminal_gets_panels() {
    assert_snapshot!(chinese().to_terminal(18, Colour::None), @r"
         ╭ the
         │ ╭ cat
         │ │ ╭ in
         │ │ │ ╭ the
    花园 · · ░░░░
      里 · · ██·
      的 · ░░▒▒▒▒
      猫 ░░██· ·

         ╭ garden
    花园 ▓▓
      里 ░░
      的 ·
      猫 ·
    ");
}

#[test]
fn colours_are_backgrounds() {
    let shown = small().to_terminal(80, Colour::Ansi256).replace('\x1b', "ESC");
    assert_snapshot!(shown, @r"
      ╭ a
      │ ╭ b
      │ │ ╭ c
    x ESC[48;5;226m  ESC[0m· ·
    y ESC[48;5;53m  ESC[0mESC[48;5;53m  ESC[0mESC[48;5;113m  ESC[0m
    ");
}

#[test]
fn weights_are_clamped() {
    let wild = heatmap("a b c d", "x", &[&[-3.0, 7.5, f32::INFINITY, f32::NEG_INFINITY]]);
    let tame = heatmap("a b c d", "x", &[&[0.0, 1.0, 1.0, 0.0]]);
    assert_eq!(wild.to_svg(), tame.to_svg());
    assert_eq!(wild.to_terminal(80, Colour::None), tame.to_terminal(80, Colour::None));
}

#[test]
fn what_is_not_a_number_is_a_question_mark() {
    let unknown = heatmap("a", "x", &[&[f32::NAN]]);
    assert!(unknown.to_svg().contains(">?</text>"));
    assert_eq!(unknown.to_terminal(80, Colour::Ansi256), "  ╭ a\nx ?\n");
}

#[test]
fn no_tokens_give_a_picture_all_the_same() {
    for empty in [heatmap("", "", &[]), heatmap("a b", "", &[]), heatmap("", "x y", &[&[], &[]])] {
        assert!(Document::parse(&empty.to_svg()).is_ok());
        assert_eq!(empty.to_terminal(80, Colour::None), "(nothing to show)\n");
    }
}

#[test]
fn a_long_label_keeps_its_text_as_a_title() {
    let svg = latin().to_svg();
    assert!(
        svg.contains("<title>Donaudampfschifffahrtsgesellschaftskapitän</title>Donaudampfschifffah…</text>")
    );
}

#[test]
#[should_panic(expected = "2 target and 3 source tokens, but 2 rows of weights with [3, 2] columns")]
fn a_wrong_shape_panics() {
    heatmap("a b c", "x y", &[&[0.0; 3], &[0.0; 2]]).to_svg();
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
        let svg = Heatmap { source, target, weights }.to_svg();
        let document = Document::parse(&svg);
        prop_assert!(document.is_ok(), "{:?}\n{svg}", document.err());
    }

    #[test]
    fn any_labels_keep_to_the_width(source in labels(), target in labels(), width in 12usize..100) {
        let (rows, columns) = (target.len(), source.len());
        let heatmap = Heatmap { source, target, weights: vec![vec![0.5; columns]; rows] };
        let shown = heatmap.to_terminal(width, Colour::None);
        for line in shown.lines() {
            prop_assert!(line.width() <= width, "{} columns: {line:?}", line.width());
        }
        let full_cells = shown.matches("▒▒").count();
        prop_assert!(full_cells >= rows * columns, "{full_cells} cells of {rows} × {columns}");
    }
}
