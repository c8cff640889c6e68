//! `cargo xtask shape`: counts of the workspace's structure, as Markdown tables.

mod functions;
mod items;
mod kinds;
mod measures;
mod targets;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::Result;

use crate::source::scanner::{Token, code, scan};
use crate::source::test_code::{test_files, test_lines};
use crate::source::{self, SourceFile};
use crate::words;
use functions::Function;
use measures::Sizes;

/// Print counts of the workspace's structure, as Markdown tables.
///
/// The first table compares the aims of the design with what is measured in the working tree; the second has a row for each crate. Tests inside of a crate's sources are not counted.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {}

const EXAMPLES: &str = "\
Examples:
  cargo xtask shape
  cargo xtask shape > shape.md";

/// A Rust source with its tokens.
pub(crate) struct Source<'a> {
    file: &'a SourceFile,
    /// Tokens outside of tests, without comments.
    code: Vec<Token<'a>>,
    test_lines: Vec<RangeInclusive<usize>>,
}

impl<'a> Source<'a> {
    fn new(file: &'a SourceFile, test_files: &BTreeSet<String>) -> Source<'a> {
        let tokens = scan(&file.text);
        let is_test_file = test_files.contains(&file.path);
        let test_lines =
            if is_test_file { vec![1..=file.text.lines().count()] } else { test_lines(&file.text) };
        let mut code = code(&tokens);
        code.retain(|token| !test_lines.iter().any(|lines| lines.contains(&token.line)));
        Source { file, code, test_lines }
    }

    /// Lines that are not those of tests.
    fn lines(&self) -> usize {
        let is_test = |line: &usize| self.test_lines.iter().any(|lines| lines.contains(line));
        (1..=self.file.text.lines().count()).filter(|line| !is_test(line)).count()
    }

    fn functions(&self) -> Vec<Function> {
        functions::functions(&self.code)
    }
}

/// A line of the first table.
struct Row {
    what: &'static str,
    /// The value of the review before the redesign, where it gives one.
    review: &'static str,
    today: String,
    aim: &'static str,
}

pub(crate) fn run(root: &Path, _: &Arguments) -> Result<()> {
    let files = source::files(root, &["rs"])?;
    let test_files = test_files(&files);
    let sources: Vec<Source<'_>> = files.iter().map(|file| Source::new(file, &test_files)).collect();
    let src: Vec<&Source<'_>> = sources.iter().filter(|source| source.file.is_src()).collect();
    print_aims(&rows(root, &sources, &src)?);
    println!();
    print_crates(&src);
    Ok(())
}

fn print_aims(rows: &[Row]) {
    println!("| what | review | today | then |\n|---|---|---|---|");
    for Row { what, review, today, aim } in rows {
        println!("| {what} | {review} | {today} | {aim} |");
    }
}

fn rows(root: &Path, sources: &[Source<'_>], src: &[&Source<'_>]) -> Result<Vec<Row>> {
    let upper = measures::lines_above_engine(src);
    let mut rows = vec![Row {
        what: "lines of `src` without tests in nn, search, model, train, couplet, cli",
        review: "18,575",
        today: upper.to_string(),
        aim: "not more",
    }];
    rows.extend(kind_rows(src));
    rows.extend(type_rows(src));
    rows.extend([
        Row {
            what: "public names of nn, methods included, that no crate, benchmark, example or test uses",
            review: "46 of 148",
            today: measures::unused_names(sources, "nn"),
            aim: "0",
        },
        Row {
            what: "names that several public types of the workspace have",
            review: "–",
            today: measures::homonyms(src, true),
            aim: "0",
        },
        Row {
            what: "names that several types have, private ones included",
            review: "`Place` × 8, `Row` × 7, `Written` × 6, `Pass` × 5",
            today: measures::homonyms(src, false),
            aim: "–",
        },
    ]);
    rows.extend(size_rows(src, sources));
    rows.extend(target_rows(root)?);
    rows.extend(word_rows(root)?);
    Ok(rows)
}

fn kind_rows(src: &[&Source<'_>]) -> [Row; 3] {
    [
        Row {
            what: "variants of a kind named outside of lists, configs and tests",
            review: "–",
            today: measures::per_kind(src, measures::named_variants),
            aim: "0",
        },
        Row {
            what: "matches over a kind, there",
            review: "8 over decoder kinds and more",
            today: measures::per_kind(src, measures::matches),
            aim: "0",
        },
        Row {
            what: "`_` arms on a kind, lists and configs included",
            review: "4",
            today: measures::per_kind(src, measures::wildcards),
            aim: "0",
        },
    ]
}

fn type_rows(src: &[&Source<'_>]) -> [Row; 3] {
    [
        Row {
            what: "states between search and scan",
            review: "6",
            today: measures::states(src),
            aim: "2: `DecoderState`, `ScanState`",
        },
        Row {
            what: "results between search and scan",
            review: "5",
            today: measures::types_named(src, &measures::RESULTS),
            aim: "3: `StepOutput`, `DecoderOutput`, `ModelStep`",
        },
        Row {
            what: "carriers of a loss",
            review: "6",
            today: measures::types_named(src, &measures::LOSSES),
            aim: "2: `LossStats`, `Event::Update`",
        },
    ]
}

fn size_rows(src: &[&Source<'_>], sources: &[Source<'_>]) -> [Row; 4] {
    let sizes = Sizes::new(src.iter().copied());
    [
        Row {
            what: "functions with more than 7 parameters",
            review: "8",
            today: measures::many_parameters(src),
            aim: "0",
        },
        Row {
            what: "`clippy::too_many_arguments` allowed or expected",
            review: "–",
            today: measures::argument_exceptions(sources).to_string(),
            aim: "0",
        },
        Row {
            what: "lines of a function: median / p90; longest",
            review: "6 / 21; `backward` 127, `hint` 111, `forward` 93",
            today: format!("{} / {}; {}", sizes.median, sizes.p90, measures::longest_functions(src)),
            aim: "–",
        },
        Row {
            what: "files above 400 lines without their tests",
            review: "–",
            today: measures::long_files(src),
            aim: "–",
        },
    ]
}

fn target_rows(root: &Path) -> Result<[Row; 2]> {
    Ok([
        Row {
            what: "test binaries",
            review: "–",
            today: targets::test_binaries(root)?.to_string(),
            aim: "–",
        },
        Row {
            what: "`cargo tree -p couplet --no-default-features -e normal`",
            review: "–",
            today: targets::unwanted_dependencies(root)?,
            aim: "no clap, resvg, cudarc, csv, indicatif",
        },
    ])
}

fn word_rows(root: &Path) -> Result<[Row; 2]> {
    let words = words::summary(root)?;
    let percent = 100.0 * words.openings as f64 / words.doc_comments.max(1) as f64;
    Ok([
        Row {
            what: "words of the glossary's left column (`cargo xtask words`)",
            review: "–",
            today: words.matches.to_string(),
            aim: "0",
        },
        Row {
            what: "doc comments that open with What, How, Where, Whether, Of, That …",
            review: "a fifth",
            today: format!("{} of {} ({percent:.1} %)", words.openings, words.doc_comments),
            aim: "0",
        },
    ])
}

fn print_crates(src: &[&Source<'_>]) {
    println!(
        "| crate | files | lines without tests | public items | functions | median / p90 / longest | > 7 parameters |"
    );
    println!("|---|--:|--:|--:|--:|---|--:|");
    let crates: BTreeSet<&str> = src.iter().map(|source| source.file.folder()).collect();
    for name in crates {
        let sources: Vec<&Source<'_>> =
            src.iter().copied().filter(|source| source.file.folder() == name).collect();
        let sizes = Sizes::new(sources.iter().copied());
        let Sizes { functions, median, p90, longest, many_parameters } = sizes;
        let lines: usize = sources.iter().map(|source| source.lines()).sum();
        let public: usize = sources.iter().map(|source| measures::public_items(source)).sum();
        let files = sources.iter().filter(|source| source.lines() > 0).count();
        println!(
            "| {name} | {files} | {lines} | {public} | {functions} | {median} / {p90} / {longest} | {many_parameters} |"
        );
    }
}
