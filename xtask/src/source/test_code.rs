//! Lines of tests inside of a crate's sources.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::SourceFile;
use super::scanner::{Token, code, scan};

/// The lines of the items below `#[cfg(test)]`, with the attribute and an empty line before it.
pub(crate) fn test_lines(source: &str) -> Vec<RangeInclusive<usize>> {
    let code = code(&scan(source));
    let lines: Vec<&str> = source.lines().collect();
    let starts = (0..code.len()).filter(|&at| is_test_attribute(&code[at..]));
    let range = |at: usize| {
        let line = code[at].line;
        let is_after_empty_line = line > 1 && lines[line - 2].trim().is_empty();
        line - usize::from(is_after_empty_line)..=code[item_end(&code, at)].line
    };
    starts.map(range).collect()
}

fn is_test_attribute(code: &[Token<'_>]) -> bool {
    let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
    code.len() > attribute.len() && attribute.iter().zip(code).all(|(text, token)| token.is(text))
}

/// The index of the `;` or `}` that ends the item that starts at `at`.
fn item_end(code: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in code.iter().enumerate().skip(at) {
        match token.text {
            _ if token.is(";") && depth == 0 => return index,
            _ if token.is("{") || token.is("(") || token.is("[") => depth += 1,
            _ if token.is(")") || token.is("]") => depth = depth.saturating_sub(1),
            _ if token.is("}") => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index;
                }
            }
            _ => {}
        }
    }
    code.len() - 1
}

/// The paths of files in `src` that are compiled for tests only, because `#[cfg(test)] mod NAME;` declares them.
pub(crate) fn test_files(files: &[SourceFile]) -> BTreeSet<String> {
    let declared = files.iter().filter(|file| file.is_src()).flat_map(modules_for_tests);
    let paths: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
    declared
        .flat_map(|module| {
            let folder = format!("{module}/");
            let inside = paths.range(folder.clone()..).take_while(move |path| path.starts_with(&folder));
            inside.cloned().chain([format!("{module}.rs")]).collect::<Vec<_>>()
        })
        .filter(|path| paths.contains(path))
        .collect()
}

/// The paths, without `.rs`, of the modules that a file declares for tests in files of their own.
fn modules_for_tests(file: &SourceFile) -> Vec<String> {
    let code = code(&scan(&file.text));
    let attributes = (0..code.len()).filter(|&at| is_test_attribute(&code[at..]));
    let names = attributes.filter_map(|at| match &code[at + 7..] {
        [keyword, name, end, ..] if keyword.is("mod") && end.is(";") => Some(name.text),
        [visibility, open, _, close, keyword, name, end, ..]
            if visibility.is("pub") && open.is("(") && close.is(")") && keyword.is("mod") && end.is(";") =>
        {
            Some(name.text)
        }
        _ => None,
    });
    names.map(|name| format!("{}/{name}", module_folder(&file.path))).collect()
}

/// The folder of a file's child modules.
fn module_folder(path: &str) -> &str {
    let stem = path.trim_end_matches(".rs");
    let named_by_folder = ["/mod", "/lib", "/main"].iter().find_map(|name| stem.strip_suffix(name));
    named_by_folder.unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_tests_reaches_to_its_brace() {
        let source = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        assert_eq!(test_lines(source), [2..=6]);
    }

    #[test]
    fn an_item_for_tests_ends_with_its_semicolon() {
        assert_eq!(test_lines("#[cfg(test)]\nuse a::{b, c};\nfn d() {}"), [1..=2]);
        assert_eq!(test_lines("#[cfg(not(test))]\nfn d() {}"), []);
    }

    #[test]
    fn a_module_in_a_file_of_its_own_is_found() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod tests;"),
            file("crates/a/src/b.rs", "#[cfg(test)]\npub(crate) mod tests;"),
            file("crates/a/src/b/tests.rs", ""),
            file("crates/a/src/tests.rs", ""),
            file("crates/a/src/tests/inner.rs", ""),
        ];
        let expected = ["crates/a/src/b/tests.rs", "crates/a/src/tests.rs", "crates/a/src/tests/inner.rs"];
        assert!(test_files(&files).iter().eq(expected), "{:?}", test_files(&files));
    }
}
